//! `cargo xtask`: the project's own checks, for `make lint` and for use during development.
#![forbid(unsafe_code)]

use std::process::{Command, ExitCode};
use std::{env, io};

use aster_xtask::beside::Beside;
use aster_xtask::requirements::Entry;
use aster_xtask::workspace::{Workspace, cargo};
use aster_xtask::{interface, requirements};

const HELP: &str = "\
Usage: cargo xtask <COMMAND>

Commands:
  check    Who may use whom, and what manifests and source files must hold
  book     Build the book into target/book by mdBook, with what its pages link to
  no-std   Check base/* and firmware/* for a bare-metal target
  requirements [ID...]
           Each requirement of docs/requirements.md with how often it is cited; of ID where
  generate Write the Rust and SystemVerilog that rtl/interface.toml declares";

/// A target without an operating system. A crate that builds for it needs no `std`.
const BARE_METAL_TARGET: &str = "riscv64gc-unknown-none-elf";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["check"] => Workspace::read().map(|workspace| check(&workspace)),
        ["book"] => Workspace::read().and_then(|workspace| book(&workspace)),
        ["no-std"] => Workspace::read().and_then(|workspace| no_std(&workspace)),
        ["requirements", ids @ ..] => Workspace::read().map(|workspace| list(&workspace, ids)),
        ["generate"] => Workspace::read().and_then(|workspace| generate(&workspace.root)),
        ["help" | "-h" | "--help"] => {
            println!("{HELP}");
            Ok(true)
        }
        _ => {
            eprintln!("{HELP}");
            Ok(false)
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints what [`aster_xtask::check`] finds; true when nothing is broken.
fn check(workspace: &Workspace) -> bool {
    let report = aster_xtask::check(workspace);
    for warning in &report.warnings {
        println!("warning: {warning}");
    }
    for violation in &report.violations {
        println!("error: {violation}");
    }
    let (crates, files) = (workspace.members.len(), workspace.sources.len());
    println!("{crates} crates, {files} source files: {} rules broken", report.violations.len());
    report.violations.is_empty()
}

/// Prints where requirements are cited. Returns false if one of `wanted` doesn't exist.
fn list(workspace: &Workspace, wanted: &[&str]) -> bool {
    let listing = match requirements::listing(&workspace.files()) {
        Ok(listing) => listing,
        Err(violations) => {
            violations.iter().for_each(|violation| eprintln!("error: {violation}"));
            return false;
        }
    };
    let names: Vec<String> = listing.iter().map(|entry| entry.id.to_string()).collect();
    let unknown: Vec<&str> =
        wanted.iter().filter(|id| !names.iter().any(|name| name == *id)).copied().collect();
    for id in &unknown {
        eprintln!("error: {id} has no line in {}", requirements::PAGE);
    }
    for (name, Entry { text, places, .. }) in names.iter().zip(&listing) {
        if wanted.is_empty() {
            println!("{name:<4} {:>3}  {text}", places.len());
        } else if wanted.contains(&name.as_str()) {
            println!("{name}: {text}");
            places.iter().for_each(|place| println!("  {place}"));
        }
    }
    let open = listing.iter().filter(|entry| entry.places.is_empty()).count();
    if wanted.is_empty() {
        println!("{} requirements, {open} of them cited nowhere", listing.len());
    }
    unknown.is_empty()
}

/// Writes the files that are generated from `rtl/interface.toml`; the Rust file is formatted by rustfmt.
fn generate(root: &std::path::Path) -> io::Result<bool> {
    for (path, text) in interface::generated(root)? {
        std::fs::write(root.join(path), text)?;
        println!("wrote {path}");
    }
    Ok(true)
}

/// Builds the book; false if mdBook refuses it.
fn book(workspace: &Workspace) -> io::Result<bool> {
    let mdbook = Command::new("mdbook").arg("build").current_dir(&workspace.root).status();
    let status = mdbook.map_err(|error| {
        io::Error::other(format!("mdbook can't be run ({error}); `scripts/setup.sh --book` installs it"))
    })?;
    let folder = workspace.root.join("target/book");
    Beside::of(workspace).write(&workspace.root, &folder)?;
    println!("the book begins at {}", folder.join("index.html").display());
    Ok(status.success())
}

/// Type-checks every crate that must run on the SSD's own cores, for a target that has no `std`.
fn no_std(workspace: &Workspace) -> io::Result<bool> {
    let firmware = workspace
        .members
        .iter()
        .filter(|member| member.folder.starts_with("base/") || member.folder.starts_with("firmware/"));
    let packages = firmware.flat_map(|member| ["--package", &member.name]);
    let status = cargo()
        .args(["check", "--lib", "--target", BARE_METAL_TARGET])
        .args(packages)
        .current_dir(&workspace.root)
        .status()?;
    Ok(status.success())
}
