//! Running the examples as parts of a test and as crates of a reader, and comparing their code with the pages
//! that show it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Whether the long tests run (`make test-all`).
pub fn is_long() -> bool {
    std::env::var("ASTER_LONG").as_deref() == Ok("1")
}

/// The folder of an example.
pub fn folder(example: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(example)
}

/// The test `the_example_runs` of this program, in a process of its own for what it prints.
pub fn in_a_process() -> Command {
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--exact", "the_example_runs", "--nocapture"]);
    this
}

/// The crate as a reader's is: outside of the workspace, so that cargo builds all of Aster once more for it.
/// Only the long tests do so.
pub fn as_a_crate(example: &str) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--locked"]).current_dir(folder(example));
    cargo.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join(".."));
    cargo
}

/// What a program has printed. It must have succeeded.
pub fn said(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The blocks of code of a page.
pub fn blocks<'a>(page: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!("```{language}\n");
    let parts: Vec<&str> = page.split(begin.as_str()).skip(1).collect();
    parts.into_iter().filter_map(|rest| rest.split("```").next())
}
