//! Cosmos+: the steps of the big loop and of the FTL below it.

use crate::callgrind::{Places, tell};
use crate::serve;
use aster_device::big_loop::{LoopStats, OperationKind};
use aster_device::profile::{CellUse, Profile};
use aster_events::Recorder;
use aster_tests::profile;
use std::collections::BTreeMap;

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
const RECOVERY: [&str; 5] = ["checkpoint/", "journal/", "recovery/", "page/lost.rs", "durability/"];
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

/// Where the instructions belong.
pub const PLACES: Places = Places { step_of, shared: &[] };

/// The step that a function of a file belongs to.
fn step_of(file: &str, function: &str) -> Option<&'static str> {
    if file == "firmware/sched/src/loop_operation.rs" {
        return Some("loop_finish");
    }
    if let Some(file) = file.strip_prefix("firmware/sched/src/cosmos/") {
        return Some(match (file, function) {
            ("big_loop.rs", "run") | ("exchange.rs", "take_operations" | "deliver") => "loop_pass",
            // Counters, the bell and the buses: the board has these in hardware or not at all.
            ("big_loop.rs", _) => return None,
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
    of_ftl(file)
}

/// The step that a file of the FTL belongs to.
pub fn of_ftl(file: &str) -> Option<&'static str> {
    let file = file.strip_prefix("firmware/ftl/src/")?;
    let is_recovery = file != PROGRAMS && RECOVERY.iter().any(|part| file.starts_with(part));
    if is_recovery || file == COLLECTOR {
        return None;
    }
    let step = STEPS.iter().find(|(of_step, _)| *of_step == file);
    Some(step.map_or("translate", |(_, step)| step))
}

/// Serves `requests` writes and as many reads, and prints how often each step was taken.
pub fn run(requests: u64) {
    let machine = serve::machine_of(&counted_profile(), &Recorder::default());
    serve::serve(&machine, requests);
    let stats = machine.device().stats().big_loop.expect("the board's firmware is a big loop");
    tell(&steps(&stats));
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
