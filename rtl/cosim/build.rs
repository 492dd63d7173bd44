//! Verilates the channel and compiles it with its shim. `ASTER_RTL_DIR` names another folder with the
//! same layout as `rtl`: your own variant of the channel, or one with an error that tests have to find.
//! If Verilator is missing, the build fails, since a user who builds this crate wants the hardware.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The module that is built, and its chip enables: as many as Chip Control's bitmap has bits.
const TOP: &str = "aster_channel";
const WAYS: u32 = 32;

fn main() {
    if let Err(error) = build() {
        eprintln!("error: the RTL channel could not be built: {error}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("{name} is not set"));
    let here = variable("CARGO_MANIFEST_DIR")?;
    println!("cargo:rerun-if-env-changed=ASTER_RTL_DIR");
    let beside = here.parent().ok_or("the crate lies in rtl/cosim")?.to_owned();
    let rtl = &env::var_os("ASTER_RTL_DIR").map_or(beside, PathBuf::from);
    let verilated = variable("OUT_DIR")?.join("verilated");
    for folder in ["ufsm", "sequencer", "packetizer", "channel", "include"] {
        println!("cargo:rerun-if-changed={}", rtl.join(folder).display());
    }
    println!("cargo:rerun-if-changed={}", here.join("src/shim.cpp").display());
    println!("cargo:rerun-if-env-changed=VERILATOR_ROOT");
    if verilated.exists() {
        fs::remove_dir_all(&verilated).map_err(|e| format!("{}: {e}", verilated.display()))?;
    }
    verilate(rtl, &verilated)?;
    compile(&here, &verilated)
}

fn verilator(arguments: &[&str], folder: &Path) -> Result<String, String> {
    let output =
        Command::new("verilator").args(arguments).current_dir(folder).output().map_err(
            |error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    "Verilator is not installed: `make setup` installs it".to_owned()
                }
                _ => format!("Verilator can't be run: {error}"),
            },
        )?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("Verilator says:\n{}", String::from_utf8_lossy(&output.stderr)))
}

fn verilate(rtl: &Path, into: &Path) -> Result<(), String> {
    let ways = format!("-GWAYS={WAYS}");
    let into = into.to_str().ok_or("the output folder's name is not Unicode")?;
    let arguments = [
        "--cc",
        "-Wall",
        "-O3",
        "--x-assign",
        "fast",
        "--x-initial",
        "fast",
        "--no-timing",
        "--noassert",
        "--top-module",
        TOP,
        "--prefix",
        "VChannel",
        "-Iinclude",
        &ways,
        "--Mdir",
        into,
    ];
    let mut files = Vec::new();
    collect(rtl, "channel/channel.f", &mut files)?;
    let arguments: Vec<&str> = arguments.into_iter().chain(files.iter().map(String::as_str)).collect();
    verilator(&arguments, rtl).map(drop)
}

/// The files that `list` names, each once, with those of the lists that it names (`-f`) in their place.
fn collect(rtl: &Path, list: &str, files: &mut Vec<String>) -> Result<(), String> {
    let text = fs::read_to_string(rtl.join(list)).map_err(|e| format!("rtl/{list}: {e}"))?;
    let mut words = text.lines().map(|l| l.split("//").next().unwrap_or("")).flat_map(str::split_whitespace);
    while let Some(word) = words.next() {
        match word {
            "-f" => {
                collect(rtl, words.next().ok_or_else(|| format!("rtl/{list}: -f names no list"))?, files)?
            }
            option if option.starts_with(['+', '-']) => {}
            file if files.iter().any(|f| f == file) => {}
            file => files.push(file.to_owned()),
        }
    }
    Ok(())
}

fn compile(here: &Path, verilated: &Path) -> Result<(), String> {
    let root = verilator(&["--getenv", "VERILATOR_ROOT"], here)?;
    let include = Path::new(root.trim()).join("include");
    let files = fs::read_dir(verilated).map_err(|e| format!("{}: {e}", verilated.display()))?;
    let mut sources: Vec<PathBuf> = files.filter_map(|entry| Some(entry.ok()?.path())).collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "cpp"));
    sources.sort();
    // Verilator 5 has its thread support in a separate file.
    let library = ["verilated.cpp", "verilated_threads.cpp"].map(|name| include.join(name));
    sources.extend(library.into_iter().filter(|path| path.exists()));
    sources.push(here.join("src/shim.cpp"));
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        // The tests are only as fast as the model, so it is optimised in every build profile.
        .opt_level(2)
        .debug(false)
        // No C++ warnings for Verilator's headers and output. Verilator's own warnings about the RTL are
        // errors above.
        .warnings(false)
        .include(verilated)
        .include(&include)
        .include(include.join("vltstd"))
        .define("VM_COVERAGE", "0")
        .define("VM_SC", "0")
        .define("VM_TRACE", "0")
        .flag("-faligned-new")
        .files(sources)
        .try_compile(TOP)
        .map_err(|error| format!("the C++ compiler says: {error}"))
}
