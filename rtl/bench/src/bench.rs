//! Benches: `rtl/<block>/tb/<name>_tb.sv` prints a line `PASS` if everything is as expected, and `FAIL`
//! lines otherwise.

use crate::sources;
use crate::tools::{self, Output};
use std::path::Path;

/// A block's sources with the checker's, which any bench may instantiate, and then the bench itself.
///
/// # Panics
/// When a file list can't be read.
pub fn sources(rtl: &Path, block: &str, bench: &str) -> Vec<String> {
    let mut files = sources::of_block(rtl, block);
    for file in sources::of_block(rtl, "checker") {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files.push(rtl.join(block).join("tb").join(format!("{bench}.sv")));
    files.iter().map(|file| file.display().to_string()).collect()
}

/// Builds and runs a bench on Icarus.
///
/// # Panics
/// When Icarus is missing, or doesn't take the sources.
pub fn on_icarus(rtl: &Path, block: &str, bench: &str) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut arguments: Vec<String> =
        ["-g2012", "-Wall", "-o", "bench", "-s", bench].map(String::from).to_vec();
    arguments.extend(sources::includes(rtl));
    arguments.extend(sources(rtl, block, bench));
    let built = tools::run(folder.path(), "iverilog", &arguments).expect(&format!("Icarus on {bench}"));
    assert!(!built.text.contains("error"), "{bench}:\n{}", built.text);
    tools::run(folder.path(), "vvp", &["-n", "bench"])
}

/// Builds and runs a bench on Verilator, with what the checker asserts.
///
/// # Panics
/// When Verilator is missing, or doesn't take the sources.
pub fn on_verilator(rtl: &Path, block: &str, bench: &str) -> Output {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = ["--binary", "--assert", "-Wall", "--Mdir", "build", "-o", "bench", "--top-module", bench];
    let mut arguments: Vec<String> = options.map(String::from).to_vec();
    // Compiling a bench takes longer than running it.
    arguments.extend(["-MAKEFLAGS", "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"].map(String::from));
    arguments.extend(sources::includes(rtl));
    arguments.extend(sources(rtl, block, bench));
    tools::run(folder.path(), "verilator", &arguments).expect(&format!("Verilator on {bench}"));
    tools::run::<&str>(folder.path(), "build/bench", &[])
}

/// Whether the bench has passed.
pub fn passed(output: &Output) -> bool {
    let text = &output.text;
    output.good && text.lines().any(|line| line.trim() == "PASS") && !text.contains("FAIL")
}
