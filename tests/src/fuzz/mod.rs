//! The bodies of the fuzz targets in `fuzz/`: what a host, a client or a file may do to a drive, drawn
//! from arbitrary bytes.
//!
//! Each is an ordinary function that panics if the drive misbehaves. `tests/tests/drive/fuzz.rs` runs all of
//! them on bytes from a seed and on earlier findings; `fuzz/` passes them to libFuzzer (docs/fuzzing.md).

mod bar;
mod doorbells;
mod entries;
mod frames;
mod function;
mod image;
mod input;
mod maps;
mod message_unit;
mod messages;
mod pblk_media;
mod prp_lists;
mod rings;
mod script;
mod shadow;
mod tlps;
mod vectors;

pub use function::{Function, Memory};

/// A fuzz target.
pub struct Target {
    /// Its name, which is also that of its program in `fuzz/fuzz_targets` and of its folder in
    /// `fuzz/regressions`.
    pub name: &'static str,
    /// Runs it once; panics if the drive misbehaves.
    pub run: fn(&[u8]),
    /// Enough bytes for a long run.
    pub bytes: usize,
}

/// All targets.
pub const TARGETS: [Target; 16] = [
    Target { name: "bar", run: bar::run, bytes: 600 },
    Target { name: "registers", run: bar::run_in_firmware, bytes: 600 },
    Target { name: "register_packets", run: bar::run_by_packets, bytes: 600 },
    Target { name: "entries", run: entries::run, bytes: 1_500 },
    Target { name: "prp_lists", run: prp_lists::run, bytes: 900 },
    Target { name: "doorbells", run: doorbells::run, bytes: 400 },
    Target { name: "maps", run: maps::run, bytes: 300 },
    Target { name: "messages", run: messages::run, bytes: 2_000 },
    Target { name: "shadow", run: shadow::run, bytes: 400 },
    Target { name: "frames", run: frames::run, bytes: 900 },
    Target { name: "message_unit", run: message_unit::run, bytes: 900 },
    Target { name: "rings", run: rings::run, bytes: 800 },
    Target { name: "tlps", run: tlps::run, bytes: 1_500 },
    Target { name: "vectors", run: vectors::run, bytes: 1_500 },
    Target { name: "pblk_media", run: pblk_media::run, bytes: 300 },
    Target { name: "image", run: image::run, bytes: 60 },
];

/// The target of that name; panics when there is none.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("no fuzz target is called {name}")).run)(bytes);
}
