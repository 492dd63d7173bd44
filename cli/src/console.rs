//! Standard output and standard error, for people and programs that may stop reading at any time.

use crate::failure::Failure;
use std::io::{self, ErrorKind, Write};

/// Prints a line on standard output.
///
/// # Errors
/// When it is closed or full.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    print(&format!("{text}\n"))
}

/// Prints `text` as it is on standard output.
///
/// # Errors
/// When it is closed or full.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
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
    line(&text)
}

/// Prints a value as JSON on a line of standard output.
///
/// # Errors
/// When it is closed or full.
pub(crate) fn json_line(value: &impl serde::Serialize) -> Result<(), Failure> {
    line(&serde_json::to_string(value).map_err(Failure::run)?)
}

/// Says something on standard error. If nobody listens there is nobody to tell.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
