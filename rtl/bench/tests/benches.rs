//! Each bench passes on Icarus and on Verilator, and all three tools take every module.

use aster_rtl_bench::{rtl, sources, tools};
use std::path::{Path, PathBuf};

/// Blocks whose folder holds hardware: each must have a file list and a bench.
fn blocks() -> Vec<String> {
    let blocks = sources::blocks(&rtl());
    assert!(blocks.contains(&"checker".to_string()), "rtl/checker/checker.f is gone");
    blocks
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

/// A block's sources with the checker's, which any bench may instantiate.
fn bench_sources(block: &str) -> Vec<String> {
    let mut files = sources::of_block(&rtl(), block);
    for file in sources::of_block(&rtl(), "checker") {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    names(&files)
}

fn expect_pass(bench: &Path, tool: &str, output: tools::Output) {
    let text = &output.text;
    let passed = output.good && text.lines().any(|line| line.trim() == "PASS") && !text.contains("FAIL");
    assert!(passed, "{} on {tool}:\n{text}", bench.display());
}

#[test]
fn every_bench_passes_on_icarus() {
    for block in blocks() {
        let benches = sources::files(&rtl(), &block, "tb", "_tb.sv");
        assert!(!benches.is_empty(), "rtl/{block} has no bench");
        for bench in benches {
            let build = tempfile::tempdir().unwrap();
            let mut arguments: Vec<String> =
                ["-g2012", "-Wall", "-o", "bench", "-s"].map(String::from).to_vec();
            arguments.push(sources::module(&bench));
            arguments.extend(sources::includes(&rtl()));
            arguments.extend(bench_sources(&block));
            arguments.push(bench.display().to_string());
            let built = tools::run(build.path(), "iverilog", &arguments).expect("Icarus");
            assert!(!built.text.contains("error"), "{}:\n{}", bench.display(), built.text);
            expect_pass(&bench, "Icarus", tools::run(build.path(), "vvp", &["-n", "bench"]));
        }
    }
}

#[test]
fn every_bench_passes_on_verilator() {
    for block in blocks() {
        for bench in sources::files(&rtl(), &block, "tb", "_tb.sv") {
            let build = tempfile::tempdir().unwrap();
            let mut arguments: Vec<String> =
                ["--binary", "--assert", "-Wall", "--Mdir", "build", "-o", "bench", "--top-module"]
                    .map(String::from)
                    .to_vec();
            arguments.push(sources::module(&bench));
            arguments.extend(sources::includes(&rtl()));
            arguments.extend(bench_sources(&block));
            arguments.push(bench.display().to_string());
            tools::run(build.path(), "verilator", &arguments)
                .expect(&format!("Verilator on {}", bench.display()));
            expect_pass(&bench, "Verilator", tools::run::<&str>(build.path(), "build/bench", &[]));
        }
    }
}

#[test]
fn all_three_tools_take_every_module_without_a_warning() {
    for block in blocks() {
        let files = sources::of_block(&rtl(), &block);
        let includes = sources::includes(&rtl());
        for module in sources::files(&rtl(), &block, "rtl", ".sv") {
            assert!(files.contains(&module), "{} isn't in rtl/{block}/{block}.f", module.display());
            let top = sources::module(&module);
            let folder = tempfile::tempdir().unwrap();
            let with = |options: &[&str]| -> Vec<String> {
                let options = options.iter().map(|option| option.replace("TOP", &top));
                options.chain(includes.clone()).chain(names(&files)).collect()
            };
            let lint = tools::run(
                folder.path(),
                "verilator",
                &with(&["--lint-only", "--assert", "-Wall", "--top-module", "TOP"]),
            );
            lint.expect(&format!("Verilator on {top}"));
            let icarus =
                tools::run(folder.path(), "iverilog", &with(&["-g2012", "-Wall", "-tnull", "-s", "TOP"]));
            let icarus = icarus.expect(&format!("Icarus on {top}"));
            assert!(icarus.text.trim().is_empty(), "Icarus on {top}:\n{}", icarus.text);
            let read = format!("read_verilog -sv {} {}", includes.join(" "), names(&files).join(" "));
            let script = format!("{read}; hierarchy -check -top {top}; proc; check -assert");
            tools::run(folder.path(), "yosys", &["-q", "-e", ".*", "-p", &script])
                .expect(&format!("yosys on {top}"));
        }
    }
}
