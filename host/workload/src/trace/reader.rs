//! The lines of a trace, taken apart one after the other.

use super::error::{At, TraceError, TraceProblem};
use super::format::{Format, Parser};
use super::record::{Line, TraceRecord};
use alloc::string::{String, ToString};

/// A line that the caller has read from the file.
pub trait TraceLine {
    /// Its text without the line's end, or why it can't be read.
    ///
    /// # Errors
    /// The reason, as a message for the user.
    fn text(&self) -> Result<&str, &str>;
}

impl TraceLine for &str {
    fn text(&self) -> Result<&str, &str> {
        Ok(self)
    }
}

impl TraceLine for String {
    fn text(&self) -> Result<&str, &str> {
        Ok(self)
    }
}

impl TraceLine for Result<String, String> {
    fn text(&self) -> Result<&str, &str> {
        self.as_deref().map_err(String::as_str)
    }
}

/// Reads a line when it needs one, and keeps none. After an error it gives nothing.
#[derive(Clone, Debug)]
pub(super) struct Reader<L> {
    lines: L,
    parser: Parser,
    line: usize,
    failed: bool,
}

impl<L> Reader<L> {
    pub(super) fn new(lines: L, format: Format) -> Self {
        Reader { lines, parser: Parser::new(format), line: 0, failed: false }
    }

    /// The last line, from 1; 0 before the first.
    pub(super) fn line(&self) -> usize {
        self.line
    }
}

impl<L> Reader<L>
where
    L: Iterator,
    L::Item: TraceLine,
{
    /// Hands records to `take` until it makes something of one; `None` at the end of the trace.
    pub(super) fn next<T>(
        &mut self,
        mut take: impl FnMut(&TraceRecord<'_>) -> Result<Option<T>, At>,
    ) -> Result<Option<T>, TraceError> {
        while !self.failed {
            let Some(line) = self.lines.next() else { return Ok(None) };
            self.line += 1;
            let text = line.text().map_err(|problem| {
                self.failed = true;
                let problem = TraceProblem::Unreadable(problem.to_string());
                TraceError { line: self.line, column: 1, problem }
            })?;
            let taken = match self.parser.line(text) {
                Ok(Line::Request(record)) => take(&record),
                Ok(Line::Nothing) => Ok(None),
                Err(at) => Err(at),
            };
            match taken {
                Ok(None) => {}
                Ok(some) => return Ok(some),
                Err(At { byte, problem }) => {
                    self.failed = true;
                    let column = text.char_indices().take_while(|(i, _)| *i < byte).count() + 1;
                    return Err(TraceError { line: self.line, column, problem });
                }
            }
        }
        Ok(None)
    }
}
