//! SoftSSD: NVMe, PCIe's transaction layer, the flash interface layer, the ECC engine and the FTL.
//!
//! A step is taken whenever a core is charged for it. Each step has another charge here, so that whoever
//! hears the charges knows the steps.

use crate::callgrind::{Places, tell};
use crate::{cosmos, serve};
use aster_device::profile::Profile;
use aster_events::{Event, EventSink, Function, Recorder};
use aster_tests::profile;
use aster_units::Instant;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Where the instructions belong. What takes structures of NVMe and PCIe apart, or puts them together, works
/// for whoever calls it.
pub const PLACES: Places = Places { step_of, shared: &["base/wire/", "base/ports/src/codes.rs"] };

/// Cycles of each step: all differ, and are enough to keep the cores busy.
const CYCLES: [(&str, u64); 20] = [
    ("nvme_fetch", 501),
    ("nvme_parse", 502),
    ("nvme_transfer", 503),
    ("nvme_complete", 504),
    ("nvme_interrupt", 505),
    ("nvme_register", 506),
    ("tlp_receive", 507),
    ("tlp_notice", 508),
    ("command", 509),
    ("complete", 510),
    ("slice", 511),
    ("translate", 512),
    ("buffer", 513),
    ("dma", 514),
    ("fil_take", 515),
    ("fil_dispatch", 516),
    ("fil_poll", 517),
    ("fil_finish", 518),
    ("ecc_submit", 519),
    ("ecc_frame", 520),
];
/// Headers and entries of the descriptor table are charged for several at a time.
const BUILD: u64 = 1_000;
const DESCRIBE: u64 = 7;

fn cycles(step: &str) -> u64 {
    CYCLES.iter().find(|(name, _)| *name == step).map_or(0, |(_, cycles)| *cycles)
}

/// The whole drive, cut down so that it boots at once. One read in a few has wrong bits.
fn counted_profile() -> Profile {
    profile("softssd", |p| {
        p.restrict.blocks_per_lun = Some(40);
        p.ftl.over_provisioning_percent = 60.0;
        p.ftl.buffer_entries = 512;
        p.package.errors.fresh = 1e-5;
        let c = &mut p.costs;
        for (step, cost) in [
            ("nvme_fetch", &mut c.nvme_fetch),
            ("nvme_parse", &mut c.nvme_parse),
            ("nvme_transfer", &mut c.nvme_transfer),
            ("nvme_complete", &mut c.nvme_complete),
            ("nvme_interrupt", &mut c.nvme_interrupt),
            ("nvme_register", &mut c.nvme_register),
            ("tlp_receive", &mut c.tlp_receive),
            ("tlp_notice", &mut c.tlp_notice),
            ("command", &mut c.command),
            ("complete", &mut c.complete),
            ("slice", &mut c.slice),
            ("translate", &mut c.translate),
            ("buffer", &mut c.buffer),
            ("dma", &mut c.dma),
            ("fil_take", &mut c.fil_take),
            ("fil_dispatch", &mut c.fil_dispatch),
            ("fil_poll", &mut c.fil_poll),
            ("fil_finish", &mut c.fil_finish),
            ("ecc_submit", &mut c.ecc_submit),
            ("ecc_frame", &mut c.ecc_frame),
        ] {
            *cost = cycles(step);
        }
        (c.tlp_build, c.tlp_describe, c.ecc_error) = (BUILD, DESCRIBE, 0);
    })
}

/// Hears what the cores are charged.
struct Charges {
    /// Clocks of the cores, MHz: of the first, of the flash core, of the engine's.
    clocks: [f64; 3],
    steps: BTreeMap<&'static str, u64>,
    unknown: BTreeMap<(u8, u64), u64>,
}

impl Charges {
    fn of(profile: &Profile) -> Self {
        let c = &profile.cores;
        let clocks =
            [c.frequency_mhz, c.flash_mhz.unwrap_or(c.frequency_mhz), c.ecc_mhz.unwrap_or(c.frequency_mhz)];
        Charges { clocks, steps: BTreeMap::new(), unknown: BTreeMap::new() }
    }
    fn take(&mut self, step: &'static str, count: u64) {
        *self.steps.entry(step).or_insert(0) += count;
    }
    fn hear(&mut self, core: u8, function: u8, picoseconds: u64) {
        let cycles = (picoseconds as f64 * self.clocks[usize::from(core).min(2)] / 1e6).round() as u64;
        let described = BUILD + DESCRIBE;
        if let Some((step, _)) = CYCLES.iter().find(|(_, of)| *of == cycles) {
            self.take(step, 1);
        } else if function != Function::TransactionLayer.number() {
            *self.unknown.entry((function, cycles)).or_insert(0) += 1;
        } else if cycles.is_multiple_of(described) {
            self.take("tlp_build", cycles / described);
            self.take("tlp_describe", cycles / described);
        } else if cycles.is_multiple_of(BUILD) {
            self.take("tlp_build", cycles / BUILD);
        } else {
            *self.unknown.entry((function, cycles)).or_insert(0) += 1;
        }
    }
}

impl EventSink for Charges {
    fn event(&mut self, _: Instant, event: &Event) {
        if let Event::FirmwareWorked { core, function, picoseconds, .. } = *event {
            self.hear(core, function, picoseconds);
        }
    }
}

/// The step that a function of a file belongs to.
fn step_of(file: &str, function: &str) -> Option<&'static str> {
    if let Some(file) = file.strip_prefix("firmware/hostif/src/software/packets/") {
        return Some(of_packets(file, function));
    }
    if let Some(file) = file.strip_prefix("firmware/hostif/src/") {
        return of_nvme(file, function);
    }
    if let Some(file) = file.strip_prefix("firmware/sched/src/fil/") {
        return of_layer(file, function);
    }
    if let Some(file) = file.strip_prefix("firmware/ecc/src/") {
        return Some(of_engine(file, function));
    }
    match (file, function) {
        ("firmware/ftl/src/host/intake.rs", "part_ended") | ("firmware/ftl/src/host/commands.rs", "end") => {
            Some("complete")
        }
        // A chain has as many rows as its translation page has entries in memory. A map that is in memory as
        // a whole, as the board's, needs no chains.
        ("firmware/ftl/src/mapping/demand/rows.rs", "find")
        | ("firmware/ftl/src/terms/row_layout.rs", "is_of" | "link") => None,
        _ => cosmos::of_ftl(file),
    }
}

/// The ECC engine.
fn of_engine(file: &str, function: &str) -> &'static str {
    match (file, function) {
        ("engine.rs", "enter" | "next_flagged") => "ecc_submit",
        _ => "ecc_frame",
    }
}

/// NVMe's controller and the workers that carry it.
fn of_nvme(file: &str, function: &str) -> Option<&'static str> {
    Some(match (file, function) {
        // It charges the core, which is no work of the board's.
        ("software/time.rs", _) => return None,
        (
            "software/desk.rs",
            "next_entry" | "take_entry" | "may_take" | "note_starved" | "serve_starved" | "is_overtaken",
        )
        | ("software/worker.rs", "worker")
        | ("controller/fetch_by_workers.rs", "is_stale" | "next_entry" | "has_entry" | "has_slot")
        | ("frontend.rs", "next_entry")
        | ("slots.rs", "available" | "reserve" | "release" | "list")
        | ("queues.rs", "take_entry" | "has_entry")
        | (
            "submission.rs",
            "exists" | "may_park" | "has_untaken" | "address_of" | "take_entry" | "operation_began",
        )
        | ("ring.rs", "capacity" | "distance" | "used" | "index") => "nvme_fetch",
        ("software/desk.rs", "release_owners")
        | ("controller/complete.rs", _)
        | ("controller/io.rs", "ftl_completed" | "tell_of_failure")
        | ("health.rs", "ended" | "count_media_errors")
        | ("queues.rs", "completion_of" | "completion" | "post")
        | ("completion.rs", "is_full" | "may_post" | "post")
        | ("ring.rs", "is_full" | "add" | "tail")
        | ("frontend.rs", "next_left")
        | (
            "slots.rs",
            "part" | "next_left" | "has_left" | "leave" | "free" | "give" | "complete" | "post" | "take_back",
        ) => "nvme_complete",
        ("software/desk.rs", "entry_sent" | "next_message")
        | ("software/messages.rs" | "interrupt.rs", _)
        | ("software/worker.rs", "send_message")
        | ("controller/mod.rs", "send_interrupts") => "nvme_interrupt",
        ("software/desk.rs", "look_at_news")
        | ("software/registers.rs" | "controller/mmio.rs" | "registers.rs" | "bar.rs" | "doorbells.rs", _)
        | ("frontend.rs", "mmio_read" | "mmio_write" | "next_woken")
        | ("queues.rs", "ring" | "mark_ready" | "next_woken" | "has_news" | "tell_news")
        | ("controller/fetch_by_workers.rs", "next_woken" | "take_news")
        | ("submission.rs", "ring" | "wake" | "heard")
        | ("completion.rs", "ring")
        | ("ring.rs", "move_tail" | "move_head") => "nvme_register",
        ("software/desk.rs" | "software/mailbox.rs" | "software/worker.rs", _)
        | ("software/transport.rs" | "software/operations.rs" | "software/asker.rs", _)
        | ("controller/mod.rs" | "ports.rs" | "frontend.rs", _)
        | (
            "controller/data.rs",
            "start_transfer" | "start_metadata" | "data_answered" | "push_scratch" | "scratch_answered"
            | "scratch_runs" | "send_scratch",
        )
        | ("controller/io.rs", "moved")
        | ("slots.rs", "count_moved")
        | ("dma.rs", "began" | "push" | "begin_transfer" | "part_ended" | "transfer" | "pages")
        | ("pages.rs", "locate" | "segments") => "nvme_transfer",
        _ => "nvme_parse",
    })
}

/// The transaction layer.
fn of_packets(file: &str, function: &str) -> &'static str {
    match (file, function) {
        ("completer.rs", "carry_out" | "read" | "write") => "nvme_register",
        ("completer.rs", "completion") => "tlp_build",
        ("completer.rs", _) | ("tasks.rs", "receiver" | "take_received" | "hear") => "tlp_receive",
        ("reads.rs", "hear" | "get" | "is_lost" | "take_over") => "tlp_receive",
        ("layer.rs", "take_tag" | "watch_from") | ("reads.rs", "free" | "begin" | "sent") => "tlp_describe",
        ("tasks.rs", _) | ("reads.rs", _) => "tlp_notice",
        ("layer.rs", "close" | "next_ended" | "end_read") | ("transfers.rs", "close") => "tlp_notice",
        _ => "tlp_build",
    }
}

/// The flash interface layer.
fn of_layer(file: &str, function: &str) -> Option<&'static str> {
    Some(match (file, function) {
        ("stats.rs", _) | ("run.rs", "spend" | "count") => return None,
        ("run.rs", "take_requests" | "refuse")
        | ("queues.rs", "push" | "queue_of_block" | "of")
        | ("turns.rs", "push")
        | ("under_way.rs", "take" | "transactions" | "is_one_transaction" | "goes_alone" | "work_of")
        | ("vector.rs", "of") => "fil_take",
        ("run.rs", "end" | "complete" | "last_phase" | "never_ready")
        | ("under_way.rs", "ended" | "set")
        | ("turns.rs", "ended") => "fil_finish",
        ("run.rs", "run" | "look" | "answered" | "is_whole" | "pause" | "set_alarm")
        | ("under_way.rs", "typical")
        | ("turns.rs", "passed" | "executes" | "loaded" | "next_poll") => "fil_poll",
        _ => "fil_dispatch",
    })
}

/// Serves `requests` writes and as many reads, and prints how often each step was taken.
pub fn run(requests: u64) {
    let profile = counted_profile();
    let recorder = Recorder::default();
    let heard = Rc::new(RefCell::new(Charges::of(&profile)));
    let machine = serve::machine_of(&profile, &recorder);
    recorder.attach(Rc::clone(&heard));
    serve::serve(&machine, requests);
    recorder.detach();
    let heard = heard.borrow();
    assert!(heard.unknown.is_empty(), "charges of no step: {:?}", heard.unknown);
    tell(&heard.steps);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The folder of the files that each function above tells apart.
    const FOLDERS: [(&str, &str); 5] = [
        ("fn step_of(", ""),
        ("fn of_engine(", "firmware/ecc/src"),
        ("fn of_nvme(", "firmware/hostif/src"),
        ("fn of_packets(", "firmware/hostif/src/software/packets"),
        ("fn of_layer(", "firmware/sched/src/fil"),
    ];

    /// If a file were moved, its functions would count for another step.
    #[test]
    fn the_files_that_are_told_apart_are_there() {
        let (project, text) = (Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), include_str!("softssd.rs"));
        for (function, folder) in FOLDERS {
            let body = text.split("\n}\n").find(|body| body.contains(&format!("\n{function}")));
            let words = body.expect(function).split('"').skip(1).step_by(2);
            let files: Vec<&str> = words.filter(|word| word.ends_with(".rs")).collect();
            assert!(!files.is_empty(), "{function}");
            for file in files {
                assert!(project.join(folder).join(file).is_file(), "{function} {file}");
            }
        }
        let of = |file: &str| step_of(file, "any");
        assert_eq!(of("firmware/ecc/src/engine.rs"), Some("ecc_frame"));
        assert_eq!(of("firmware/sched/src/fil/stats.rs"), None);
        assert_eq!(of("firmware/ftl/src/host/intake.rs"), Some("command"));
    }
}
