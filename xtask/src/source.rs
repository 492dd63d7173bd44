//! What source files must hold and must not name.
//!
//! Clippy bans most of it already (the `clippy.toml` of each room), but an `#[allow]` switches clippy off and
//! nothing switches this off.

use crate::Violation;
use crate::code::{Token, tokens};

/// A file of the tree, read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Path from the workspace root, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The rooms whose behaviour is a function of (profile, workload, seed) and of nothing else (design §1).
pub const DETERMINISTIC_ROOMS: [&str; 4] = ["base", "firmware", "hardware", "host"];

/// Crates that may hold `unsafe`; clippy's `undocumented_unsafe_blocks` asks each block for its `// SAFETY:`
/// comment.
const UNSAFE_CRATES: [&str; 2] = ["base/exec", "base/codec"];

/// From here on a file is listed as one to split.
pub const LONG_FILE_LINES: usize = 800;

/// Above this a file is refused.
pub const FILE_LINES_MAX: usize = 1000;

/// Modules of `std` that a deterministic room must not reach into.
const FORBIDDEN_MODULES: [(&str, &str); 2] = [
    ("time", "wall time: use aster_units::Instant, handed in by the run mode"),
    ("thread", "threads: a device is one value on one thread"),
];

/// Names that a deterministic room must not use.
const FORBIDDEN_NAMES: [(&str, &str); 4] = [
    ("SystemTime", "wall time: use aster_units::Instant, handed in by the run mode"),
    ("HashMap", "its order differs from run to run: use BTreeMap or a table indexed by the address"),
    ("HashSet", "its order differs from run to run: use BTreeSet or a bitmap"),
    ("RandomState", "unseeded randomness: use aster_units::Rng"),
];

/// Runs every rule on source files over `sources`.
pub fn check(sources: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in sources {
        violations.extend(too_long(file));
        if file.path.ends_with(".rs") {
            let code = match tokens(&file.text) {
                Ok(code) => code,
                Err(line) => {
                    violations.push(Violation::new(format!("{}:{line}", file.path), "this is no Rust"));
                    continue;
                }
            };
            violations.extend(ignored_tests(file, &code));
            if in_deterministic_room(&file.path) {
                violations.extend(crate_attributes(file, &code));
                violations.extend(forbidden_names(file, &code));
            }
        }
    }
    violations
}

fn in_deterministic_room(path: &str) -> bool {
    path.split_once('/').is_some_and(|(room, _)| DETERMINISTIC_ROOMS.contains(&room))
}

fn lines(file: &SourceFile) -> usize {
    file.text.lines().count()
}

fn too_long(file: &SourceFile) -> Option<Violation> {
    let lines = lines(file);
    (lines > FILE_LINES_MAX).then(|| {
        Violation::new(&*file.path, format!("{lines} lines, more than {FILE_LINES_MAX}: one concept a file"))
    })
}

/// Files over [`LONG_FILE_LINES`] that still pass: a list to print, not a failure.
pub fn long_files(sources: &[SourceFile]) -> Vec<Violation> {
    let long = sources.iter().filter(|file| (LONG_FILE_LINES + 1..=FILE_LINES_MAX).contains(&lines(file)));
    long.map(|file| Violation::new(&*file.path, format!("{} lines: think of splitting it", lines(file))))
        .collect()
}

/// Library roots of the rooms are `no_std` and, but for two crates, free of `unsafe`.
fn crate_attributes(file: &SourceFile, code: &[Token]) -> Vec<Violation> {
    let Some(folder) = file.path.strip_suffix("/src/lib.rs") else { return Vec::new() };
    let mut wanted = vec![("no_std", ["no_std"].as_slice())];
    if !UNSAFE_CRATES.contains(&folder) {
        wanted.push(("forbid(unsafe_code)", ["forbid", "(", "unsafe_code", ")"].as_slice()));
    }
    let missing = wanted.into_iter().filter(|(_, inner)| !has_crate_attribute(code, inner));
    missing.map(|(name, _)| Violation::new(&*file.path, format!("`#![{name}]` is missing"))).collect()
}

fn has_crate_attribute(code: &[Token], inner: &[&str]) -> bool {
    let wanted: Vec<&str> = ["#", "!", "["].iter().chain(inner).chain(&["]"]).copied().collect();
    code.windows(wanted.len())
        .any(|window| window.iter().map(|token| token.text.as_str()).eq(wanted.iter().copied()))
}

/// Benchmarks measure wall time by nature; clippy still asks each of them to say so.
fn is_bench(path: &str) -> bool {
    path.contains("/benches/")
}

fn forbidden_names(file: &SourceFile, code: &[Token]) -> Vec<Violation> {
    if is_bench(&file.path) {
        return Vec::new();
    }
    let reached = std_modules(code).into_iter().filter_map(|token| {
        let (name, why) = FORBIDDEN_MODULES.iter().find(|(name, _)| *name == token.text)?;
        Some((token.line, format!("std::{name}"), *why))
    });
    let named = code.iter().filter_map(|token| {
        let (name, why) = FORBIDDEN_NAMES.iter().find(|(name, _)| *name == token.text)?;
        Some((token.line, name.to_string(), *why))
    });
    reached
        .chain(named)
        .map(|(line, name, why)| {
            Violation::new(format!("{}:{line}", file.path), format!("`{name}` brings {why}"))
        })
        .collect()
}

/// The names that directly follow `std::`, also inside `std::{a, b::c}`.
fn std_modules(code: &[Token]) -> Vec<&Token> {
    let mut found = Vec::new();
    for at in 0..code.len() {
        let [root, first, second, next, ..] = &code[at..] else { break };
        if root.text != "std" || first.text != ":" || second.text != ":" {
            continue;
        }
        if next.text != "{" {
            found.push(next);
            continue;
        }
        let mut depth = 0;
        let mut expects_name = false;
        for token in &code[at + 3..] {
            match token.text.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ if depth == 1 && expects_name => found.push(token),
                _ => {}
            }
            expects_name = depth == 1 && matches!(token.text.as_str(), "{" | ",");
            if depth == 0 {
                break;
            }
        }
    }
    found
}

/// A skipped test is a failure: long tests scale with `ASTER_LONG` instead (CONTRIBUTING.md).
fn ignored_tests(file: &SourceFile, code: &[Token]) -> Vec<Violation> {
    let message = "an ignored test is a skipped test: scale it with ASTER_LONG instead (CONTRIBUTING.md)";
    let attributes = code.iter().enumerate().filter_map(|(at, token)| {
        let after = &code[at + 1..];
        let opens = token.text == "#" && after.first()?.text == "[";
        let name = opens.then(|| after.get(1)).flatten()?;
        let ignores = match name.text.as_str() {
            "ignore" => true,
            "cfg_attr" => {
                after.iter().take_while(|inner| inner.text != "]").any(|inner| inner.text == "ignore")
            }
            _ => false,
        };
        ignores.then_some(token.line)
    });
    let doc_tests = file.text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.trim_start();
        let fence = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))?
            .trim_start()
            .strip_prefix("```")?;
        fence.split(',').any(|word| word.trim() == "ignore").then_some(index + 1)
    });
    attributes.chain(doc_tests).map(|line| Violation::new(format!("{}:{line}", file.path), message)).collect()
}

/// Each deterministic room carries the same `clippy.toml`: clippy takes the nearest one upwards from a
/// package, so a room without it would be unguarded. `files` holds (room, text), one entry a room that has
/// the file.
pub fn check_clippy_files(files: &[(String, String)]) -> Vec<Violation> {
    let text_of = |room: &str| files.iter().find(|(name, _)| name == room).map(|(_, text)| text);
    let reference = text_of(DETERMINISTIC_ROOMS[0]);
    let unequal =
        DETERMINISTIC_ROOMS.iter().filter(|room| text_of(room).is_none() || text_of(room) != reference);
    unequal
        .map(|room| Violation::new(format!("{room}/clippy.toml"), "must exist and equal base/clippy.toml"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &str = "//! Doc.\n#![no_std]\n#![forbid(unsafe_code)]\n";

    fn found(path: &str, text: &str) -> Vec<Violation> {
        check(&[SourceFile { path: path.into(), text: text.into() }])
    }

    fn places(path: &str, text: &str) -> Vec<String> {
        found(path, text).into_iter().map(|violation| violation.place).collect()
    }

    #[test]
    fn a_kept_library_root_passes() {
        assert_eq!(found("base/units/src/lib.rs", KEPT), []);
    }

    #[test]
    fn a_room_without_no_std_or_forbid_is_refused() {
        assert_eq!(found("host/driver/src/lib.rs", "").len(), 2);
        assert_eq!(found("host/driver/src/lib.rs", "#![no_std]").len(), 1);
        assert_eq!(found("host/driver/src/lib.rs", "// #![no_std]\n#![forbid(unsafe_code)]").len(), 1);
        assert_eq!(found("run/virtual/src/lib.rs", ""), [], "run/ knows an OS");
    }

    #[test]
    fn only_exec_and_codec_may_hold_unsafe() {
        assert_eq!(found("base/exec/src/lib.rs", "#![no_std]"), []);
        assert_eq!(found("base/codec/src/lib.rs", "#![no_std]"), []);
        assert_eq!(found("base/txn/src/lib.rs", "#![no_std]").len(), 1);
    }

    #[test]
    fn wall_time_threads_and_hash_order_are_refused_in_the_rooms() {
        let path = "hardware/nand/src/x.rs";
        for text in [
            "let t = std::time::Instant::now();",
            "use std::{fmt, time::Instant};",
            "use std::{thread};",
            "std::thread::spawn(f);",
            "fn f(t: SystemTime) {}",
            "let m = HashMap::new();",
            "use std::collections::{BTreeMap, HashSet};",
            "let s = RandomState::new();",
        ] {
            assert_eq!(places(path, text), ["hardware/nand/src/x.rs:1"], "{text}");
            assert_eq!(found("run/live/src/x.rs", text), [], "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_it_passes() {
        let path = "firmware/ftl/src/x.rs";
        for text in [
            "// a HashMap would iterate in another order",
            "let s = \"std::thread\";",
            "fn f(now: aster_units::Instant, time: u64) {}",
            "use std::{fmt::{time, thread}, vec};",
            "let std = 3; let time = std;",
        ] {
            assert_eq!(found(path, text), [], "{text}");
        }
    }

    #[test]
    fn a_bench_may_read_the_clock() {
        assert_eq!(found("base/codec/benches/bch.rs", "use std::time::Instant;"), []);
    }

    #[test]
    fn ignored_tests_are_refused_everywhere() {
        let path = "tests/src/x.rs";
        assert_eq!(places(path, "\n#[test]\n#[ignore]\nfn f() {}"), ["tests/src/x.rs:3"]);
        assert_eq!(places(path, "#[ignore = \"slow\"]"), ["tests/src/x.rs:1"]);
        assert_eq!(places(path, "#[cfg_attr(miri, ignore)]"), ["tests/src/x.rs:1"]);
        assert_eq!(places(path, "/// ```ignore\n/// x\n/// ```"), ["tests/src/x.rs:1"]);
        assert_eq!(places(path, "//! ```rust,ignore"), ["tests/src/x.rs:1"]);
        assert_eq!(
            found(path, "// #[ignore]\n#[cfg_attr(test, derive(Debug))]\nfn ignore() {}\n/// ```no_run"),
            []
        );
    }

    #[test]
    fn a_long_file_warns_and_a_longer_one_fails() {
        let file = |lines| SourceFile { path: "lab/src/x.rs".into(), text: "\n".repeat(lines) };
        for (lines, warnings, violations) in [
            (LONG_FILE_LINES, 0, 0),
            (LONG_FILE_LINES + 1, 1, 0),
            (FILE_LINES_MAX, 1, 0),
            (FILE_LINES_MAX + 1, 0, 1),
        ] {
            let sources = [file(lines)];
            assert_eq!(long_files(&sources).len(), warnings, "{lines} lines");
            assert_eq!(check(&sources).len(), violations, "{lines} lines");
        }
    }

    #[test]
    fn the_four_clippy_files_must_exist_and_agree() {
        let all = |text: &str| DETERMINISTIC_ROOMS.map(|room| (room.to_string(), text.to_string())).to_vec();
        assert_eq!(check_clippy_files(&all("x")), []);
        assert_eq!(check_clippy_files(&[]).len(), 4);
        let mut differs = all("x");
        differs[2].1 = "y".into();
        assert_eq!(check_clippy_files(&differs)[0].place, "hardware/clippy.toml");
        assert_eq!(check_clippy_files(&all("x")[..3])[0].place, "host/clippy.toml");
    }
}
