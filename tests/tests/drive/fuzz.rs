//! Runs the fuzz targets' bodies on bytes from a seed, and on every input that once found an error
//! (`fuzz/regressions/TARGET`).

use aster_tests::cases;
use aster_tests::fuzz::{TARGETS, Target};
use aster_units::Rng;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Random bytes, many of them small, since every byte is a choice.
fn bytes(target: &Target, random: &mut Rng) -> Vec<u8> {
    let length = random.below(target.bytes as u64 + 1);
    let skewed = random.below(2) == 0;
    (0..length).map(|_| random.next_u64() as u8 >> if skewed { random.below(8) } else { 0 }).collect()
}

/// The inputs that once found an error in a target.
fn regressions(name: &str) -> Vec<PathBuf> {
    let folder = root().join("fuzz/regressions").join(name);
    match std::fs::read_dir(&folder) {
        // There are none yet.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        files => {
            let files = files.unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
            files.map(|file| file.expect("an entry").path()).collect()
        }
    }
}

fn holds(name: &str, short: u64, long: u64) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of that name");
    for path in regressions(name) {
        println!("{name}: {}", path.display());
        (target.run)(&std::fs::read(&path).expect("a readable file"));
    }
    for seed in 0..cases(short, long) {
        let input = bytes(target, &mut Rng::new(seed));
        // If the test fails, this shows the input.
        println!("{name}: seed {seed}");
        (target.run)(&input);
    }
}

#[test]
fn register_accesses() {
    holds("bar", 40, 4_000);
}

/// S3: the same where firmware answers them.
#[test]
fn register_accesses_that_firmware_answers() {
    holds("registers", 30, 3_000);
}

/// And where they come as packets.
#[test]
fn register_accesses_by_packets() {
    holds("register_packets", 30, 3_000);
}

/// H8 to H13: whatever a host hands over, the unit works after a reset.
#[test]
fn the_message_unit() {
    holds("message_unit", 20, 2_000);
}

#[test]
fn submission_queue_entries() {
    holds("entries", 40, 4_000);
}

#[test]
fn lists_of_physical_pages() {
    holds("prp_lists", 40, 4_000);
}

#[test]
fn doorbells() {
    holds("doorbells", 40, 4_000);
}

#[test]
fn maps_that_come_go_and_shrink() {
    holds("maps", 40, 2_000);
}

#[test]
fn messages_of_clients() {
    holds("messages", 40, 2_000);
}

#[test]
fn transaction_layer_packets() {
    holds("tlps", 400, 40_000);
}

#[test]
fn command_frames() {
    holds("frames", 400, 40_000);
}

#[test]
fn shadow_doorbells() {
    holds("shadow", 40, 2_000);
}

#[test]
fn rings_between_cores() {
    holds("rings", 400, 40_000);
}

#[test]
fn vectors_of_open_channel_drives() {
    holds("vectors", 40, 4_000);
}

#[test]
fn what_pblk_finds_on_the_media() {
    holds("pblk_media", 20, 1_000);
}

#[test]
fn image_files() {
    holds("image", 40, 4_000);
}

#[test]
fn what_was_found_belongs_to_a_target() {
    let folder = root().join("fuzz/regressions");
    let folders = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in folders {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        assert!(TARGETS.iter().any(|target| target.name == name), "no target is called {name}");
        assert!(!regressions(&name).is_empty(), "{name}");
    }
}

#[test]
fn every_target_has_its_program() {
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("fuzz/Cargo.toml");
    for target in &TARGETS {
        let program = root().join(format!("fuzz/fuzz_targets/{}.rs", target.name));
        let code = std::fs::read_to_string(&program).unwrap_or_else(|e| panic!("{}: {e}", program.display()));
        assert!(code.contains(&format!("fuzz::run(\"{}\"", target.name)), "{}", program.display());
        assert!(
            manifest.contains(&format!("name = \"{}\"", target.name)),
            "{} in fuzz/Cargo.toml",
            target.name
        );
    }
}
