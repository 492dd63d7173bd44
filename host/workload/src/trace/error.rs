use alloc::string::String;
use core::fmt;

/// Why a trace cannot be replayed further.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceError {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: TraceProblem,
}

/// What can be wrong with a line of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TraceProblem {
    /// The text is not what the format has at this place.
    Expected {
        /// What the format has there.
        what: &'static str,
        /// The field as written; empty at the end of the line.
        found: String,
    },
    /// The line can't be read; the reader gives the reason.
    Unreadable(String),
    /// The trace names more devices than this.
    TooManyDevices(usize),
    /// The request reaches beyond the drive.
    BeyondDrive {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
        /// Bytes of the drive.
        drive: u64,
    },
    /// The request reaches beyond what 64 bits can address.
    BeyondAddresses {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// The request is not made of whole logical blocks.
    Unaligned {
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
        /// Bytes of a logical block.
        block: u32,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}
impl core::error::Error for TraceError {}

impl fmt::Display for TraceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceProblem::Expected { what, found } if found.is_empty() => {
                write!(f, "expected {what}, found the end of the line")
            }
            TraceProblem::Expected { what, found } => write!(f, "expected {what}, found \"{found}\""),
            TraceProblem::Unreadable(why) => f.write_str(why),
            TraceProblem::TooManyDevices(most) => {
                write!(f, "a device beyond the {most} that a trace may name: is this column the device?")
            }
            TraceProblem::BeyondDrive { offset, length, drive } => write!(
                f,
                "{length} bytes at {offset} reach beyond the drive, which has {drive}; --trace-wrap folds \
                 them into it"
            ),
            TraceProblem::BeyondAddresses { offset, length } => write!(
                f,
                "{length} bytes at {offset} reach beyond the 2^64 bytes of the largest disk: is this column \
                 the offset?"
            ),
            TraceProblem::Unaligned { offset, length, block } => write!(
                f,
                "{length} bytes at {offset} are not whole blocks of {block}; --trace-round widens them to \
                 whole blocks"
            ),
        }
    }
}

/// A problem at a byte of a line, before the line's number is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct At {
    pub(super) byte: usize,
    pub(super) problem: TraceProblem,
}

/// Most characters of a line that an error repeats.
const FOUND_CHARS_MAX: usize = 40;

/// A field of a line and where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) byte: usize,
    pub(super) text: &'a str,
}

impl<'a> Field<'a> {
    /// Makes the error that something else was expected here.
    pub(super) fn expected(self, what: &'static str) -> At {
        let found = self.text.chars().take(FOUND_CHARS_MAX).collect();
        At { byte: self.byte, problem: TraceProblem::Expected { what, found } }
    }

    /// A decimal number without sign.
    pub(super) fn number(self, what: &'static str) -> Result<u64, At> {
        let digits = !self.text.is_empty() && self.text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| self.text.parse().ok()).flatten().ok_or_else(|| self.expected(what))
    }

    /// The rest of the field from `byte` on.
    pub(super) fn from(self, byte: usize) -> Field<'a> {
        Field { byte: self.byte + byte, text: &self.text[byte..] }
    }
}

/// The fields of a line between white space. After the last field come empty ones at the line's end.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    line: &'a str,
    byte: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Words { line, byte: 0 }
    }

    pub(super) fn word(&mut self) -> Field<'a> {
        let rest = &self.line[self.byte..];
        let start = self.byte + (rest.len() - rest.trim_start().len());
        let text = self.line[start..].split(char::is_whitespace).next().unwrap_or("");
        self.byte = start + text.len();
        Field { byte: start, text }
    }
}
