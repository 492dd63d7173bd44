//! `firmware-costs`: what the steps of the big loop and of the FTL below it cost, in instructions that
//! callgrind counts on this machine while a board's drive serves reads and writes. Prints the counted part
//! of costs/cosmos.toml.
//!
//! Each count is a difference: a drive serves a number of requests and then twice as many. The additional
//! instructions in a step's functions are divided by how many more times the second run took that step.
//! Instructions are attributed by the source line that they were compiled from, so inlining doesn't move
//! them. Instructions of the standard library count for the function into which it was inlined. The
//! executor, ports and hardware stand for what the board has in hardware, and are left out.

use aster_device::Media;
use aster_device::big_loop::{LoopStats, OperationKind};
use aster_device::profile::{CellUse, Profile};
use aster_events::Recorder;
use aster_tests::{drive, job, machine, profile, run};
use aster_units::Content;
use aster_workload::runner::Contents;
use aster_workload::{Access, Mix};
use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

/// Requests of the first run of a pair, in each direction. Reads come after writes.
const REQUESTS: u64 = 3_000;
/// Requests outstanding, enough to give every way work.
const OUTSTANDING: u32 = 64;
/// What the measured drive prints before its counters.
const MARK: &str = "counters";

/// Cycles that each step takes here, whatever the profile says: enough to keep the core always busy.
const STEP_CYCLES: u64 = 500;

/// The board's drive, small.
fn counted_profile() -> Profile {
    profile("cosmos-board", |p| {
        p.restrict.blocks_per_lun = Some(40);
        p.package.factory_bad_per_mille = 0;
        p.package.cells = CellUse::Slc;
        p.package.read_us = vec![99.0];
        p.package.program_us = vec![486.0];
        p.geometry.pages_per_block /= 2;
        let c = &mut p.costs;
        for step in [
            &mut c.command,
            &mut c.slice,
            &mut c.translate,
            &mut c.buffer,
            &mut c.dma,
            &mut c.loop_pass,
            &mut c.loop_status,
            &mut c.loop_compare,
            &mut c.loop_issue,
            &mut c.loop_finish,
        ] {
            *step = STEP_CYCLES;
        }
        p.board.buses.register_cycles = 4.0;
    })
}

/// How often each step was taken.
fn steps(stats: &LoopStats) -> BTreeMap<&'static str, u64> {
    let of = |kind: OperationKind| stats.operations[usize::from(kind.code())];
    let transfers = of(OperationKind::RxDma) + of(OperationKind::TxDma);
    let flash: u64 = [OperationKind::ReadTrigger, OperationKind::ReadTransfer, OperationKind::Write]
        .into_iter()
        .map(of)
        .sum();
    // Four units of host DMA a page.
    let issued = 4 * transfers + flash + of(OperationKind::StatusCheck);
    BTreeMap::from([
        ("loop_pass", stats.passes - stats.idle_passes),
        ("loop_status", stats.looks),
        ("loop_compare", stats.candidates),
        ("loop_issue", issued),
        ("loop_finish", transfers + flash),
        ("command", stats.commands),
        ("slice", stats.commands),
        ("buffer", stats.commands),
        ("translate", stats.commands),
        ("dma", transfers),
    ])
}

/// Files and folders of the FTL that exist only for recovery, which the board's firmware doesn't have
/// (P9). The journal's functions that program pages belong to the translation.
const RECOVERY: [&str; 5] =
    ["checkpoint/", "journal/", "recovery/", "page/lost.rs", "blocks/unsafe_programs.rs"];
const PROGRAMS: &str = "journal/append.rs";
/// Files of the FTL whose functions belong to another step than the translation.
const STEPS: [(&str, &str); 6] = [
    ("host/intake.rs", "command"),
    ("host/commands.rs", "command"),
    ("host/slices.rs", "slice"),
    ("host/worker.rs", "slice"),
    ("cache/buffer.rs", "buffer"),
    ("host/transfer.rs", "dma"),
];
/// Garbage collection is covered by `costs.move_page`, and none happens here.
const COLLECTOR: &str = "collector/gc.rs";

/// The step that a function of a file belongs to.
fn step_of(file: &str, function: &str) -> Option<&'static str> {
    if let Some(file) = file.strip_prefix("firmware/sched/src/cosmos/") {
        return Some(match (file, function) {
            ("big_loop.rs", "run") | ("exchange.rs", "take_operations" | "deliver") => "loop_pass",
            // Counters, the bell and the buses: the board has these in hardware or not at all.
            ("big_loop.rs" | "stats.rs", _) => return None,
            ("exchange.rs", "take_command" | "answer_commands") => "command",
            (
                "status.rs",
                "check_status" | "check_host_dma" | "check_channel" | "check_way" | "set_alarm",
            )
            | ("state.rs", "of") => "loop_status",
            ("issue.rs", "issue" | "find_candidates") | ("priority.rs", _) | ("station.rs", "head") => {
                "loop_compare"
            }
            ("issue.rs", _) | ("state.rs", "begin" | "advance") => "loop_issue",
            _ => "loop_finish",
        });
    }
    let file = file.strip_prefix("firmware/ftl/src/")?;
    let is_recovery = file != PROGRAMS && RECOVERY.iter().any(|part| file.starts_with(part));
    if is_recovery || file == COLLECTOR {
        return None;
    }
    let step = STEPS.iter().find(|(of_step, _)| *of_step == file);
    Some(step.map_or("translate", |(_, step)| step))
}

/// Serves `requests` writes and as many reads, and prints how often each step was taken.
fn serve(requests: u64) {
    let machine =
        machine(&counted_profile(), Some(Content::Fingerprint), Media::fresh(), &Recorder::default());
    let contents = Contents::unversioned(drive(&machine), 1);
    let of = |name, mix| aster_workload::Job {
        queue_depth: OUTSTANDING,
        ..job(name, Access::Sequential, mix, 16 << 10, requests)
    };
    run(&machine, &[of("write", Mix::Write), of("read", Mix::Read)], contents);
    let stats = machine.device().stats().big_loop.expect("the board's firmware is a big loop");
    println!("{MARK}");
    steps(&stats).iter().for_each(|(step, count)| println!("{step} {count}"));
}

/// The instructions of a run by step, and how often each step was taken.
struct Run {
    instructions: BTreeMap<&'static str, u64>,
    taken: BTreeMap<String, u64>,
}

/// The functions of a source file by the line that each begins on.
struct Functions(Vec<(u64, String)>);

impl Functions {
    fn of(path: &str) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let begins = text.lines().zip(1..).filter_map(|(line, at)| {
            let (_, rest) = line.split_once("fn ")?;
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            (!line.trim_start().starts_with("//") && !name.is_empty()).then_some((at, name))
        });
        Functions(begins.collect())
    }
    fn at(&self, line: u64) -> &str {
        self.0.iter().rev().find(|(begin, _)| *begin <= line).map_or("", |(_, name)| name)
    }
}

/// Sums callgrind's lines by step (the format is described in Valgrind's manual, "Callgrind Format
/// Specification").
fn by_step(profile: &str) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    let mut sources: BTreeMap<String, Functions> = BTreeMap::new();
    // The file of the current line, and our last line in the current function.
    let (mut file, mut ours): (String, Option<&'static str>) = Default::default();
    let mut inclusive = false;
    for line in profile.lines() {
        if let Some((kind, name)) = line.split_once('=') {
            match kind {
                "fn" => ours = None,
                "fl" | "fi" | "fe" => {
                    let at = name.find("firmware/").unwrap_or(0);
                    name[at..].clone_into(&mut file);
                }
                "calls" => inclusive = true,
                _ => {}
            }
            continue;
        }
        let mut numbers = line.split(' ').map(str::parse::<u64>);
        let (Some(Ok(at)), Some(Ok(cost))) = (numbers.next(), numbers.next()) else { continue };
        if std::mem::take(&mut inclusive) {
            continue;
        }
        let library = file.contains("/library/") || file.contains("/rustc/");
        if file.starts_with("firmware/") {
            let functions = sources.entry(file.clone()).or_insert_with(|| Functions::of(&file));
            ours = step_of(&file, functions.at(at));
        } else if !library {
            continue;
        }
        if let Some(step) = ours {
            *sums.entry(step).or_insert(0) += cost;
        }
    }
    sums
}

fn counted(requests: u64) -> Result<Run, String> {
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let out = folder.path().join("callgrind.out");
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(this)
        .arg(requests.to_string())
        .output()
        .map_err(|e| format!("valgrind: {e}"))?;
    if !run.status.success() {
        return Err(format!("valgrind failed: {}", String::from_utf8_lossy(&run.stderr)));
    }
    let profile = std::fs::read_to_string(&out).map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&run.stdout);
    let taken = said.lines().skip_while(|line| *line != MARK).filter_map(|line| {
        let (step, count) = line.split_once(' ')?;
        Some((step.to_owned(), count.parse().ok()?))
    });
    Ok(Run { instructions: by_step(&profile), taken: taken.collect() })
}

fn measure() -> Result<(), String> {
    let (once, twice) = (counted(REQUESTS)?, counted(2 * REQUESTS)?);
    for (step, count) in &twice.taken {
        let of = |run: &Run| run.instructions.get(step.as_str()).copied().unwrap_or(0);
        let steps = count - once.taken[step];
        let instructions = of(&twice).saturating_sub(of(&once));
        if instructions == 0 {
            return Err(format!(
                "no instruction of {step} was seen: build with line tables, and run in the project's folder"
            ));
        }
        println!(
            "[[counted]]\nkey = \"costs.{step}\"\ninstructions = {}",
            (instructions + steps / 2) / steps
        );
    }
    Ok(())
}

fn main() -> ExitCode {
    if let Some(requests) = std::env::args().nth(1).and_then(|n| n.parse().ok()) {
        serve(requests);
        return ExitCode::SUCCESS;
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("firmware-costs: {problem}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// If a file were moved, its functions would count for another step.
    #[test]
    fn the_files_that_are_told_apart_are_there() {
        let ftl = Path::new(env!("CARGO_MANIFEST_DIR")).join("../firmware/ftl/src");
        let files = STEPS.iter().map(|(file, _)| *file).chain(RECOVERY).chain([PROGRAMS, COLLECTOR]);
        for file in files {
            assert!(ftl.join(file).exists(), "{file}");
        }
        let of = |file: &str| step_of(&format!("firmware/ftl/src/{file}"), "any");
        assert_eq!(of("host/intake.rs"), Some("command"));
        assert_eq!((of("journal/log.rs"), of(PROGRAMS)), (None, Some("translate")));
    }
}
