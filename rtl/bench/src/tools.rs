//! The tools: Icarus, Verilator and yosys with its ABC and cvc5. Missing ones are an error that says how to
//! get them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A tool's output, and whether it succeeded.
#[derive(Debug)]
pub struct Output {
    /// Whether it ended with status 0.
    pub good: bool,
    /// Standard output and standard error.
    pub text: String,
    /// How long it took.
    pub took: Duration,
}

impl Output {
    /// Fails the test with everything that the tool printed, unless the tool succeeded.
    #[track_caller]
    pub fn expect(self, what: &str) -> Self {
        assert!(self.good, "{what} failed:\n{}", self.text);
        self
    }
}

/// Runs `tool` in `folder` until it ends.
///
/// # Panics
/// When the tool is not installed, or can't be run.
pub fn run<S: AsRef<std::ffi::OsStr>>(folder: &Path, tool: &str, arguments: &[S]) -> Output {
    let from = Instant::now();
    let done = Command::new(tool).args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    let done = done.unwrap_or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => panic!("`{tool}` is not installed: `make setup` installs it"),
        _ => panic!("`{tool}` can't be run: {error}"),
    });
    let mut text = String::from_utf8_lossy(&done.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&done.stderr));
    Output { good: done.status.success(), text, took: from.elapsed() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "make setup")]
    fn a_missing_tool_is_an_error_that_says_how_to_get_it() {
        run(Path::new("."), "a-tool-that-nobody-has", &["--version"]);
    }

    #[test]
    fn what_a_tool_says_and_how_it_ends_is_kept() {
        let output = run(Path::new("."), "yosys", &["-V"]);
        assert!(output.good && output.text.contains("Yosys"), "{output:?}");
        assert!(!run(Path::new("."), "yosys", &["-p", "no_such_command"]).good);
    }
}
