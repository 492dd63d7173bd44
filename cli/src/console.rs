//! Standard output and standard error, for people and programs that may stop reading at any time.

use aster_lab::asked::failure::Failure;
use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};

/// `text` with control characters escaped, since names in images, traces and reports may come from anywhere.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) { plain.extend(c.escape_debug()) } else { plain.push(c) }
    }
    Cow::Owned(plain)
}

/// Prints a line on standard output.
///
/// # Errors
/// When it is closed or full.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    print(&format!("{text}\n"))
}

/// Prints `text` on standard output.
///
/// # Errors
/// When it is closed or full.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_as_it_is(&harmless(text))
}

fn print_as_it_is(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::run(format!("standard output: {error}")),
    })
}

/// Prints a report as JSON on standard output.
///
/// # Errors
/// When it is closed or full.
pub(crate) fn json(report: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(report).map_err(Failure::run)?;
    print_as_it_is(&format!("{text}\n"))
}

/// Prints a value as JSON on a line of standard output.
///
/// # Errors
/// When it is closed or full.
pub(crate) fn json_line(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(Failure::run)?;
    print_as_it_is(&format!("{text}\n"))
}

/// Prints a line on standard error. Errors are ignored: there is nowhere to report them.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", harmless(text));
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        assert_eq!(harmless("a\tb\nµ"), "a\tb\nµ");
        assert_eq!(harmless("\u{1b}[31mred\r\u{7f}\u{9b}"), "\\u{1b}[31mred\\r\\u{7f}\\u{9b}");
    }
}
