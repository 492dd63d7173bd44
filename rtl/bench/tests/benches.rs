//! Each bench passes on Icarus and on Verilator, and all three tools take every module.

use aster_rtl_bench::{bench, long, rtl, sources, tools};
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

fn expect_pass(bench: &Path, tool: &str, output: tools::Output) {
    assert!(bench::passed(&output), "{} on {tool}:\n{}", bench.display(), output.text);
}

#[test]
fn every_bench_passes_on_icarus() {
    for block in blocks() {
        let benches = sources::files(&rtl(), &block, "tb", "_tb.sv");
        assert!(!benches.is_empty(), "rtl/{block} has no bench");
        for file in benches {
            expect_pass(&file, "Icarus", bench::on_icarus(&rtl(), &block, &sources::module(&file)));
        }
    }
}

/// Normally only the channel's bench, which contains all blocks, since compiling takes long for each
/// bench. All benches with `ASTER_LONG=1`.
#[test]
fn every_bench_passes_on_verilator() {
    for block in blocks().into_iter().filter(|block| long() || block == "channel") {
        for file in sources::files(&rtl(), &block, "tb", "_tb.sv") {
            let top = sources::module(&file);
            expect_pass(&file, "Verilator", bench::on_verilator(&rtl(), &block, &top));
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
