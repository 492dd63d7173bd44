//! Runs the binary in a folder of its own.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The result of a run.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A folder to run in.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aster"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    pub fn aster(&self, arguments: &[&str]) -> Ran {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code().expect("no signal ended it"), out: text(stdout), err: text(stderr) }
    }

    /// Runs the binary and returns the JSON on standard output; the run must succeed.
    pub fn report(&self, arguments: &[&str]) -> serde_json::Value {
        let ran = self.aster(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Runs the binary and returns the error; the process must end with `code` and without a panic.
    pub fn refused(&self, code: i32, arguments: &[&str]) -> String {
        let ran = self.aster(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("error: ") && !ran.err.contains("panicked"), "{arguments:?}: {}", ran.err);
        ran.err
    }
}
