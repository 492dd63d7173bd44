//! An audit in lines.

use super::heard::{FLASH_KINDS, Heard, LunWork, Phase};
use crate::explain::kind_name;
use aster_device::{Device, DriveStats};
use aster_events::Wait;
use aster_observe::{FlashKind, LatencyHistogram, Stage};
use aster_units::{Duration, Instant, LunIndex};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Submission queues that `queues` names: those with the most commands in the drive.
const QUEUES_MAX: usize = 64;

/// Lines of a text.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn say(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }
    /// The head of a table of times.
    fn head(&mut self, what: &str) {
        let _ = writeln!(
            self.0,
            "{what:<36} {:>7} {:>8} {:>8} {:>8} {:>8}",
            "count", "mean us", "p50", "p99", "max"
        );
    }
    fn times(&mut self, what: &str, times: &LatencyHistogram) {
        let quantile = |parts| times.quantile(parts, 100).as_micros_f64();
        let all = [times.mean().as_micros_f64(), quantile(50), quantile(99), times.max().as_micros_f64()];
        let cells = all.map(|us| if times.count() == 0 { "-".to_owned() } else { format!("{us:.1}") });
        let [mean, p50, p99, max] = cells;
        let name = format!("  {what}");
        let count = times.count();
        let _ = writeln!(self.0, "{name:<36} {count:>7} {mean:>8} {p50:>8} {p99:>8} {max:>8}");
    }
    /// A quantity and its name.
    fn value(&mut self, what: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{what:<36} {value}");
    }
}

/// Durations print in units that aren't ASCII.
fn seconds(time: Duration) -> String {
    format!("{:.6} s", time.as_secs_f64())
}

fn share(part: u64, of: u64) -> String {
    match of {
        0 => "none".to_owned(),
        of => format!("{:.1} %", 100.0 * part as f64 / of as f64),
    }
}

fn hits(hits: u64, misses: u64) -> String {
    format!("{hits} hits, {misses} misses (hits: {})", share(hits, hits + misses))
}

const fn stage_words(stage: Stage) -> &'static str {
    match stage {
        Stage::Doorbell => "doorbell",
        Stage::Fetched => "from doorbell to fetch",
        Stage::Started => "parsed, taken by the FTL",
        Stage::FirstSlice => "divided, first slice begun",
        Stage::Finished => "data moved, FTL done",
        Stage::Completed => "completion entry written",
    }
}

/// What a task of the FTL waits for.
const fn wait_words(reason: Wait) -> &'static str {
    match reason {
        Wait::BufferEntry => "a data buffer entry",
        Wait::Room => "room from collection",
        Wait::LogPage => "a log page",
        Wait::MergeBuffer => "a merge buffer",
        Wait::FlashQueue => "room for a flash request",
        Wait::Slices => "the command's other slices",
        Wait::WordLine => "pages of the same word line",
        Wait::WriteBuffer => "room in the write buffer",
        Wait::Flush => "programs of the write buffer",
        Wait::PageCache => "a page of the page cache",
        Wait::Drive => "the drive's answer",
        Wait::Erase => "an erase",
        Wait::MapRoom => "room for changes of the map",
    }
}

/// The translation's own counters.
fn counters(device: &Device) -> BTreeMap<&'static str, u64> {
    let mut counters = BTreeMap::new();
    device.translation().counters(&mut |name, value| {
        counters.insert(name, value);
    });
    counters
}

pub(super) fn report(heard: &Heard, device: &Device) -> String {
    let mut out = Lines::default();
    let (stats, state) = (device.stats(), device.translation().state());
    out.value("time since power-on, simulated", seconds(device.now().since(Instant::ZERO)));
    out.value("state", format!("{state:?}"));
    commands(&mut out, heard, device);
    flash(&mut out, heard);
    let times = |out: &mut Lines, what: &str, times: &LatencyHistogram| {
        if times.count() > 0 {
            out.times(what, times);
        }
    };
    out.head("waits of the FTL's tasks");
    times(&mut out, "host DMA of a slice", &heard.transfers.times);
    times(&mut out, "a translation page", &heard.map.times);
    heard.waits().for_each(|(reason, waits)| times(&mut out, wait_words(reason), &waits.times));
    errors(&mut out, heard, &stats);
    out.value("data buffer", hits(stats.ftl.buffer_hits, stats.ftl.buffer_misses));
    out.value("map", map_hits(&counters(device)));
    packets(&mut out, &stats);
    for (core, busy) in &heard.cores {
        let passed = device.now().since(Instant::ZERO);
        let name = format!("{} at work", device.firmware().core_name(*core));
        out.value(&name, format!("{}, {}", seconds(*busy), share(busy.as_picos(), passed.as_picos())));
    }
    out.0
}

fn commands(out: &mut Lines, heard: &Heard, device: &Device) {
    let requests = heard.requests.borrow();
    if !device.is_nvme() {
        return out.value("requests", "none: the front end takes no NVMe commands");
    }
    out.head("requests, from fetch to completion");
    requests.kinds().for_each(|(name, times)| out.times(&name, times));
    out.head("phases of requests of I/O queues");
    for stage in &Stage::ALL[2..] {
        out.times(stage_words(*stage), requests.steps.step(*stage));
    }
}

fn flash(out: &mut Lines, heard: &Heard) {
    out.head("flash operations, from issue to end");
    for kind in FlashKind::ALL {
        let times = heard.flash.latency(kind);
        if kind != FlashKind::Other || times.count() > 0 {
            out.times(kind.name(), times);
        }
    }
    let failed: u64 = FlashKind::ALL.iter().map(|&kind| heard.flash.unsuccessful(kind)).sum();
    out.value("  unsuccessful", failed);
    if !heard.phases.is_empty() {
        out.head("phases of flash transactions");
        heard.phases.iter().for_each(|(phase, times)| out.times(&phase_words(*phase), times));
    }
    out.head("channels and arrays");
    out.times("transaction on a channel", &heard.transactions);
    for kind in 0..FLASH_KINDS {
        if heard.arrays[kind].count() > 0 {
            out.times(&format!("array at work: {}", kind_name(kind as u8)), &heard.arrays[kind]);
        }
    }
}

fn phase_words((kind, transfer): Phase) -> String {
    format!("{}, {}", kind_name(kind), if transfer { "transfer" } else { "command" })
}

fn errors(out: &mut Lines, heard: &Heard, stats: &DriveStats) {
    let errors = &heard.errors;
    let flagged = format!("{} of {} flash reads", errors.flagged, errors.reads);
    out.value("ECC: with wrong bits", flagged);
    let most = format!("{}, {} at most in a read", errors.corrected_bits, errors.most_in_a_read);
    out.value("ECC: corrected bits", most);
    out.value("ECC: uncorrectable reads", errors.uncorrectable);
    match &stats.ecc {
        Some(ecc) => {
            let frames = format!("{}, {} uncorrectable, {} sound", ecc.frames, ecc.uncorrectable, ecc.sound);
            out.value("ECC: frames in software", frames);
        }
        None => out.value("ECC: frames in software", "none: the channels correct"),
    }
}

fn packets(out: &mut Lines, stats: &DriveStats) {
    let Some(packets) = &stats.packets else {
        return out.value("packets", "carried by hardware, which counts none");
    };
    out.value("packets sent", packets.sent);
    out.value("packets received", packets.received);
    out.value("packets in the firmware's hands", packets.touched());
    out.value("bytes copied by firmware", packets.copied_bytes);
    out.value("bytes moved by the data mover", packets.moved_bytes);
    out.value("reads of host memory that failed", packets.failed);
    out.value("reads of host memory, timed out", packets.timed_out);
    out.value("unexpected completions", packets.unexpected);
}

fn map_hits(counters: &BTreeMap<&str, u64>) -> String {
    match (counters.get("map_hits"), counters.get("map_misses")) {
        (Some(&found), Some(&missed)) => hits(found, missed),
        _ if counters.contains_key("valid_units") => "as a whole in memory: no look-up misses".to_owned(),
        _ => NO_MAP.to_owned(),
    }
}

const NO_MAP: &str = "not told: the translation counts no map";

pub(super) fn queues(heard: &Heard, device: &Device) -> String {
    let mut out = Lines::default();
    let now = device.now();
    let early = device.commands_completed_early();
    let there = format!("{}, {early} of them completed early", device.commands_in_flight());
    out.value("commands in the drive", there);
    match device.is_nvme() {
        true => submission_queues(&mut out, heard, now),
        false => out.say("no queues: the front end takes no NVMe commands"),
    }
    let tasks = [("host DMA", &heard.transfers), ("translation pages", &heard.map)];
    for (what, waits) in tasks {
        out.value(&format!("waiting: {what}"), waits.waiting());
    }
    for (reason, waits) in heard.waits().filter(|(_, waits)| waits.waiting() > 0) {
        out.value(&format!("waiting: {}", wait_words(reason)), waits.waiting());
    }
    let all = heard.luns.iter().fold(LunWork::default(), sum);
    let there = format!("{} wait, {} are under way", all.waiting, all.issued);
    out.value("flash operations", there);
    let geometry = device.geometry();
    let luns = usize::try_from(geometry.luns_per_channel()).unwrap_or(1).max(1);
    for channel in 0..usize::from(geometry.channels) {
        let of = (0..heard.luns.len())
            .filter(|&lun| usize::from(geometry.lun_addr(LunIndex(lun as u32)).channel) == channel)
            .map(|lun| &heard.luns[lun]);
        let (busy, work) = of.fold((0, LunWork::default()), |(busy, all), lun| {
            (busy + u32::from(lun.issued > 0), sum(all, lun))
        });
        if work.waiting + work.issued > 0 {
            let there = format!("{} wait, {} under way", work.waiting, work.issued);
            out.value(&format!("  channel {channel}"), format!("{there}, on {busy} of {luns} LUNs"));
        }
    }
    out.0
}

fn sum(all: LunWork, lun: &LunWork) -> LunWork {
    LunWork { waiting: all.waiting + lun.waiting, issued: all.issued + lun.issued }
}

fn submission_queues(out: &mut Lines, heard: &Heard, now: Instant) {
    let mut open: BTreeMap<u16, (u64, Instant)> = BTreeMap::new();
    for command in heard.open.iter().flatten() {
        let (count, oldest) = open.entry(command.queue).or_insert((0, command.since));
        *count += 1;
        *oldest = command.since.min(*oldest);
    }
    let there = |queue: &u16| open.get(queue).map_or(0, |(count, _)| *count);
    let mut rows: Vec<u16> = heard.queues.keys().copied().collect();
    rows.sort_by_key(|queue| (core::cmp::Reverse(there(queue)), *queue));
    let left_out = rows.len().saturating_sub(QUEUES_MAX);
    rows.truncate(QUEUES_MAX);
    rows.sort_unstable();
    let head = ["fetched", "completed", "in drive", "oldest us"];
    let [fetched, completed, in_drive, oldest] = head;
    out.say(&format!("submission queue {fetched:>12} {completed:>12} {in_drive:>9} {oldest:>12}"));
    for queue in rows {
        let counts = heard.queues[&queue];
        let age = open.get(&queue).map(|(_, oldest)| now.since(*oldest).as_micros_f64());
        let age = age.map_or("-".to_owned(), |us| format!("{us:.1}"));
        let name = if queue == 0 { "0 (admin)".to_owned() } else { queue.to_string() };
        let (fetched, completed, in_drive) = (counts.fetched, counts.completed, there(&queue));
        out.say(&format!("{name:<16} {fetched:>12} {completed:>12} {in_drive:>9} {age:>12}"));
    }
    if left_out > 0 {
        out.say(&format!("and {left_out} more, with no more commands than these"));
    }
}

pub(super) fn map(heard: &Heard, device: &Device) -> String {
    let mut out = Lines::default();
    let (counters, stats) = (counters(device), device.translation().stats());
    let counted = |name: &str| counters.get(name).copied();
    let (Some(valid), Some(units)) = (counted("valid_units"), counted("host_units")) else {
        out.value("map", NO_MAP);
        return out.0;
    };
    out.value("logical units of the host", units);
    out.value("units on flash that count", format!("{valid}, {} of the host's", share(valid, units)));
    match counted("map_pages") {
        None => out.value("map", "as a whole in memory: no look-up misses"),
        Some(pages) => {
            out.value("translation pages, units, too", pages);
            out.value("look-ups", map_hits(&counters));
            let of = |name| counted(name).unwrap_or(0);
            out.value("misses served by another's read", of("map_joined"));
            out.value("translation pages read", of("map_page_reads"));
            out.value("translation pages programmed", of("map_page_programs"));
            out.value("changes held in memory", of("map_changes_held"));
            out.value("changes written to flash", of("map_changes_written"));
            out.value("waits for room for changes", of("map_room_waits"));
            if let Some(written) = counted("gtd_copies_written") {
                let from = if of("gtd_from_emmc") == 1 { "eMMC" } else { "NAND" };
                out.value("directory at power-on", format!("from {from}"));
                out.value("copies of it found", format!("{} of 2", of("gtd_copies_found")));
                out.value("copies of it written", written);
            }
            out.head("waits");
            out.times("a translation page", &heard.map.times);
        }
    }
    out.value("unmapped units read", stats.host_pages_unmapped);
    out.value("maps stored", stats.checkpoints);
    out.value("log pages written", stats.log_pages);
    out.0
}

pub(super) fn gc(heard: &Heard, device: &Device) -> String {
    let mut out = Lines::default();
    let (counters, ftl) = (counters(device), device.translation().stats());
    let geometry = device.geometry();
    let blocks = u64::from(geometry.total_luns()) * u64::from(geometry.blocks_per_lun);
    match (counters.get("free_blocks"), counters.get("free_blocks_least")) {
        (Some(&free), Some(least)) => {
            out.value("free blocks", format!("{free} of {blocks}, {}", share(free, blocks)));
            out.value("  of the LUN with the fewest", least);
        }
        _ => out.value("free blocks", "not told: the translation counts none"),
    }
    // Translations of other kinds count in units of their own.
    let known = |name: &str| name.starts_with("free_blocks") || name.starts_with("map_");
    for (name, value) in counters.iter().filter(|(name, _)| name.starts_with("free_") && !known(name)) {
        out.value(&name.replace('_', " "), value);
    }
    out.value("blocks collected", ftl.gc_runs);
    out.value("  for wear levelling", ftl.levelled);
    out.value("  to refresh their data", ftl.refreshed);
    out.value("units moved", heard.moved_units);
    let programs = &ftl.flash_programs;
    out.value("pages programmed for the host", programs.host);
    out.value("  by collection", programs.gc);
    out.value("  for map and log", programs.metadata);
    out.value("  as padding", programs.padding);
    let waf = match ftl.host_bytes_written {
        0 => "-".to_owned(),
        _ => format!("{:.3}", ftl.waf()),
    };
    out.value("write amplification", waf);
    let stats = device.stats();
    out.value("blocks erased", stats.nand.erases);
    let erases = &stats.erases;
    let spread = format!("{} to {}, {:.2} on average", erases.min, erases.max, erases.mean);
    out.value("erases of a block", spread);
    out.value("bad blocks from the factory", ftl.factory_bad_blocks);
    out.value("bad blocks grown", ftl.grown_bad_blocks);
    out.0
}
