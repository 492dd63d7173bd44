//! One command's life: what happened when, and where each microsecond of it went.

mod holders;
mod names;
mod shares;

pub use shares::Share;

use crate::words::counted;
use aster_driver::{CommandName, QueueId};
use aster_events::Function;
use aster_observe::{Activity, CommandSpan, Holder, Piece, Stage};
use aster_units::{Geometry, Instant, LunIndex};
use holders::{Followed, Histories};
use names::{AT_WORK, COMPLETION, DIVIDE, FRONT, QUEUE, served, wait_name};
use serde::Serialize;
use shares::shares;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

/// Which command is to be explained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The one that took longest; of equals the first.
    Slowest,
    /// So many that took longest; of equals the first.
    SlowestOf(usize),
    /// The n-th of the work, from 1, in the order in which the front end fetched them.
    Number(u64),
}

/// The number of a command, from 1, that was the `fetched`-th of a run from 0; `first` is the first of the
/// work. `None` when it came before that.
pub(crate) fn in_work(fetched: u64, first: u64) -> Option<u64> {
    fetched.checked_sub(first).map(|before| before + 1)
}

/// Pieces that are kept of one command; what is beyond is counted.
const PIECES_MAX: usize = 100_000;

#[derive(Default)]
struct Kept {
    pieces: Vec<Piece>,
    followed: Vec<Followed>,
    left_out: u64,
}

impl Kept {
    fn hear(&mut self, piece: &Piece, histories: &Histories) {
        if self.pieces.len() + self.followed.len() < PIECES_MAX {
            self.pieces.push(*piece);
            self.followed.extend(histories.follow(piece));
        } else {
            self.left_out += 1;
        }
    }
}

/// Receives the pieces of a run and keeps those of the requested command.
pub struct Collector {
    which: Which,
    first: u64,
    work_began: Instant,
    /// A command that doesn't begin from the first until the second of these is not the slowest.
    within: Option<(Instant, Instant)>,
    histories: Histories,
    open: BTreeMap<u64, Kept>,
    /// The longest first.
    found: Vec<(u64, CommandSpan, Kept)>,
}

impl Collector {
    /// Ignores everything before [`Collector::begin`].
    pub fn new(which: Which) -> Self {
        Collector {
            which,
            first: u64::MAX,
            work_began: Instant::ZERO,
            within: None,
            histories: Histories::default(),
            open: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    /// The work begins at `now`: the command that is fetched next, the `first` of the run, is its number 1.
    /// Commands that begin before the first moment of `within`, or at or after the second, can't be the
    /// slowest.
    pub fn begin(&mut self, first: u64, now: Instant, within: Option<(Instant, Instant)>) {
        self.first = first;
        self.work_began = now;
        self.within = within;
    }

    /// Takes a piece that has ended.
    pub fn hear(&mut self, piece: &Piece) {
        self.histories.hear(piece);
        let Some(number) = piece.command.and_then(|command| in_work(command, self.first)) else { return };
        if matches!(self.which, Which::Number(wanted) if wanted != number) {
            return;
        }
        if let Activity::Command(span) = piece.activity {
            let kept = self.open.remove(&number).unwrap_or_default();
            let began = span.ends().0;
            let (by_number, most) = match self.which {
                Which::Number(_) => (true, 1),
                Which::Slowest => (false, 1),
                Which::SlowestOf(most) => (false, most),
            };
            if !by_number && self.within.is_some_and(|(first, end)| began < first || began >= end) {
                return;
            }
            // Behind those that took as long.
            let place = self.found.partition_point(|(_, other, _)| other.total() >= span.total());
            if place < most {
                self.found.insert(place, (number, span, kept));
                self.found.truncate(most);
            }
            return;
        }
        self.open.entry(number).or_default().hear(piece, &self.histories);
    }

    /// The explanations, the slowest command first; none when no such command has ended. `on_host` tells that
    /// a target serves the commands, and so the host's software.
    pub fn explanations(&self, geometry: &Geometry, on_host: bool) -> Vec<Explanation> {
        let explain = |(number, span, kept): &(u64, CommandSpan, Kept)| {
            Explanation::of(*number, self.work_began, span, kept, (geometry, on_host))
        };
        self.found.iter().map(explain).collect()
    }
}

/// Something in a command's life.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExplainedStep {
    /// When it began, in microseconds after the command did.
    pub at_us: f64,
    /// How long it took, in microseconds.
    pub took_us: f64,
    /// Its level in the drive: 0 the command, 1 its slices, 2 what a slice waits for, 3 channel and array,
    /// and what the holder of a data buffer entry did for which the slice waited.
    pub depth: u8,
    /// What it was.
    pub what: String,
    /// Of transfers over the link that belong to one host DMA, how many are in this line; else 1.
    pub transfers: u32,
}

/// A command's life.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// Its number in the work, from 1.
    pub command: u64,
    /// Its NVMe name.
    pub name: String,
    /// Submission queue.
    pub queue: u16,
    /// The host's command identifier.
    pub host_id: u16,
    /// First byte in the namespace.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// NVMe status field, 0 for success.
    pub status: u16,
    /// Simulated time at which it began, in microseconds from the beginning of the work, as `--from` counts.
    pub began_us: f64,
    /// The same from power-on.
    pub began_since_power_on_us: f64,
    /// How long it took, in microseconds.
    pub total_us: f64,
    /// What happened, in the order of time.
    pub steps: Vec<ExplainedStep>,
    /// Where the time went: the shares of the path that ended last add up to the total.
    pub shares: Vec<Share>,
    /// Steps that are not shown, because there were too many.
    pub left_out: u64,
}

impl Explanation {
    fn of(
        number: u64,
        work_began: Instant,
        span: &CommandSpan,
        kept: &Kept,
        (geometry, on_host): (&Geometry, bool),
    ) -> Self {
        let (began, ended) = span.ends();
        let mut steps: Vec<(Instant, ExplainedStep)> = stages(span, on_host)
            .chain(below(kept, geometry))
            .map(|step| {
                let Drawn { from, to, depth, what, transfers } = step;
                (
                    from,
                    ExplainedStep {
                        at_us: from.since(began).as_micros_f64(),
                        took_us: to.since(from).as_micros_f64(),
                        depth,
                        what,
                        transfers,
                    },
                )
            })
            .collect();
        steps.sort_by_key(|(from, step)| (*from, step.depth));
        let total = ended.since(began);
        Explanation {
            command: number,
            name: CommandName { queue: QueueId(span.queue), opcode: span.opcode }.to_string(),
            queue: span.queue,
            host_id: span.host_id,
            offset: span.offset,
            length: span.length,
            status: span.status,
            began_us: began.since(work_began).as_micros_f64(),
            began_since_power_on_us: began.since(Instant::ZERO).as_micros_f64(),
            total_us: total.as_micros_f64(),
            steps: steps.into_iter().map(|(_, step)| step).collect(),
            shares: shares(span, &kept.pieces, &kept.followed, total, on_host),
            left_out: kept.left_out,
        }
    }

    /// As tables for people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let Explanation { command, name, queue, offset, length, total_us, status, .. } = self;
        let _ = write!(out, "command {command}: {name} on queue {queue}");
        if *length > 0 {
            let _ = write!(out, ", {length} B at {offset}");
        }
        let _ = writeln!(out, ", {total_us:.3} µs, status {status:03X}h");
        let _ = writeln!(
            out,
            "it began {:.3} µs after the work, {:.3} µs after power-on\n",
            self.began_us, self.began_since_power_on_us
        );
        let _ = writeln!(out, "{:>12}  {:>12}  what", "at µs", "took µs");
        for step in &self.steps {
            let indent = usize::from(step.depth) * 2;
            let _ =
                writeln!(out, "{:>12.3}  {:>12.3}  {:indent$}{}", step.at_us, step.took_us, "", step.what);
        }
        if self.left_out > 0 {
            let are = if self.left_out == 1 { "is" } else { "are" };
            let _ = writeln!(out, "{} more {are} left out.", counted(self.left_out, "step"));
        }
        let _ = writeln!(out, "\n{:>12}  {:>7}  where the time went", "µs", "%");
        for Share { what, us, percent } in &self.shares {
            let _ = writeln!(out, "{us:>12.3}  {percent:>6.1}%  {what}");
        }
        let _ = writeln!(out, "{total_us:>12.3}  {:>6.1}%  in all", 100.0);
        if self.steps.iter().any(|step| step.depth == 1) {
            out.push_str(
                "Within the FTL this is the slice that the command ended with; where that waited for the \
                 others, the last of them.\n",
            );
        }
        out
    }
}

/// A step before its times are put in relation to the command's.
struct Drawn {
    from: Instant,
    to: Instant,
    depth: u8,
    what: String,
    transfers: u32,
}

/// What leads to each stage of a command, beside the work itself.
const fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Doorbell => "doorbell",
        Stage::Fetched => QUEUE,
        Stage::Started => FRONT,
        Stage::FirstSlice => DIVIDE,
        Stage::Finished => AT_WORK,
        Stage::Completed => COMPLETION,
    }
}

fn stages(span: &CommandSpan, on_host: bool) -> impl Iterator<Item = Drawn> + '_ {
    let mut before = None;
    span.steps().filter_map(move |(stage, _)| {
        let to = span.at(stage)?;
        let from = before.replace(to).unwrap_or(to);
        let what = served(stage_name(stage), on_host).to_owned();
        Some(Drawn { from, to, depth: 0, what, transfers: 1 })
    })
}

fn lun_name(lun: LunIndex, geometry: &Geometry) -> String {
    let at = geometry.lun_addr(lun);
    match geometry.luns {
        1 => format!("channel {} way {}", at.channel, at.way),
        _ => format!("channel {} way {} LUN {}", at.channel, at.way, at.lun),
    }
}

/// A flash operation's kind, as events number it.
pub(crate) const fn kind_name(kind: u8) -> &'static str {
    match kind {
        0 => "read",
        1 => "program",
        2 => "erase",
        _ => "other operation",
    }
}

/// An operation's kind, as events number it (Cosmos+ Table 2).
const fn operation_name(kind: u8) -> &'static str {
    match kind {
        0 => "RxDMA",
        1 => "TxDMA",
        2 => "status-check",
        3 => "read-trigger",
        4 => "erase",
        5 => "write",
        6 => "read-transfer",
        _ => "other operation",
    }
}

/// A function of the firmware for people.
pub(crate) fn function_name(function: Function) -> String {
    function.name().replace('_', " ")
}

const fn kind(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}

const fn direction(from_host: bool) -> &'static str {
    if from_host { "from the host" } else { "to the host" }
}

/// An activity's name and its level in the drive.
pub(crate) fn described(activity: &Activity, geometry: &Geometry) -> (u8, String) {
    let lun_name = |lun| lun_name(lun, geometry);
    match *activity {
        Activity::Command(span) => {
            (0, CommandName { queue: QueueId(span.queue), opcode: span.opcode }.to_string())
        }
        Activity::Slice { lpn, write } => (1, format!("slice: logical page {lpn}, {}", kind(write))),
        Activity::Transfer { from_host, bytes } => {
            (2, format!("host DMA, {bytes} B {}", direction(from_host)))
        }
        Activity::Waiting { reason, holder: Some(Holder { slice: Some((lpn, write)), .. }) } => {
            (2, format!("{}, last a {} of logical page {lpn}", wait_name(reason), kind(write)))
        }
        Activity::Waiting { reason, .. } => (2, wait_name(reason).to_owned()),
        Activity::MapRead { page } => (2, format!("waiting for translation page {page} of the map")),
        Activity::Dependent { kind } => {
            (2, format!("{} waits for the dependency checker", operation_name(kind)))
        }
        Activity::Reserved { kind } => {
            (2, format!("{} waits in the reservation station", operation_name(kind)))
        }
        Activity::Firmware { function, .. } => (2, format!("firmware: {}", function_name(function))),
        Activity::Queued { lun, kind, .. } => (2, format!("{} waits for {}", kind_name(kind), lun_name(lun))),
        Activity::Flash { lun, kind, row, status, corrected } => {
            let mut what = format!("flash {} on {}, row {row:06X}h", kind_name(kind), lun_name(lun));
            what += match status {
                0 => "",
                1 => ", failed",
                2 => ", uncorrectable",
                _ => ", error",
            };
            if corrected > 0 {
                let _ = write!(what, ", {} corrected", counted(corrected, "bit"));
            }
            (2, what)
        }
        Activity::Corrected { lun, row, frames, corrected } => (
            2,
            format!(
                "{} of {}, row {row:06X}h, corrected in software: {}",
                counted(frames, "frame"),
                lun_name(lun),
                counted(corrected, "bit")
            ),
        ),
        Activity::Transaction { channel, bytes: 0, .. } => (3, format!("channel {channel}: command")),
        Activity::Transaction { channel, bytes, .. } => (3, format!("channel {channel}: {bytes} B")),
        Activity::Array { lun, kind } => (3, format!("array of {}: {}", lun_name(lun), kind_name(kind))),
        Activity::LinkQueued { from_host, bytes } => {
            (3, format!("{bytes} B {} wait for the link", direction(from_host)))
        }
        Activity::Link { from_host, bytes } => (3, format!("link: {bytes} B {}", direction(from_host))),
    }
}

/// Whether it is a transfer over the link, or its wait for the link.
fn is_over_link(piece: &Piece) -> bool {
    matches!(piece.activity, Activity::Link { .. } | Activity::LinkQueued { .. })
}

/// Transfers over the link, and waits for it, those of one host DMA as one step: where firmware builds
/// packets, there is one for each.
fn gathered(over_link: &[&Piece], moves: &[&Piece], geometry: &Geometry) -> Vec<Drawn> {
    let mut steps: Vec<Drawn> = Vec::new();
    let mut of_move: BTreeMap<(usize, bool, bool), (usize, u64)> = BTreeMap::new();
    for piece in over_link {
        let (waits, from_host, bytes) = match piece.activity {
            Activity::LinkQueued { from_host, bytes } => (true, from_host, bytes),
            Activity::Link { from_host, bytes } => (false, from_host, bytes),
            _ => continue,
        };
        let (depth, what) = described(&piece.activity, geometry);
        let drawn = Drawn { from: piece.from, to: piece.to, depth, what, transfers: 1 };
        let holds = |of: &&Piece| of.task == piece.task && of.from <= piece.from && piece.from <= of.to;
        let Some(of) = moves.iter().position(holds) else {
            steps.push(drawn);
            continue;
        };
        match of_move.entry((of, waits, from_host)) {
            Entry::Vacant(free) => {
                free.insert((steps.len(), u64::from(bytes)));
                steps.push(drawn);
            }
            Entry::Occupied(mut taken) => {
                let (at, all) = taken.get_mut();
                *all += u64::from(bytes);
                let step = &mut steps[*at];
                (step.from, step.to) = (step.from.min(drawn.from), step.to.max(drawn.to));
                step.transfers += 1;
                let (transfers, direction) = (step.transfers, direction(from_host));
                step.what = match waits {
                    true => format!("{all} B in {transfers} transfers {direction} wait for the link"),
                    false => format!("link: {all} B {direction} in {transfers} transfers"),
                };
            }
        }
    }
    steps
}

fn below<'a>(kept: &'a Kept, geometry: &'a Geometry) -> impl Iterator<Item = Drawn> + 'a {
    let (over_link, others): (Vec<&Piece>, Vec<&Piece>) =
        kept.pieces.iter().partition(|piece| is_over_link(piece));
    let moves: Vec<&Piece> =
        others.iter().copied().filter(|piece| matches!(piece.activity, Activity::Transfer { .. })).collect();
    let own = others.into_iter().map(|piece| {
        let (depth, what) = described(&piece.activity, geometry);
        Drawn { from: piece.from, to: piece.to, depth, what, transfers: 1 }
    });
    let own = own.chain(gathered(&over_link, &moves, geometry));
    let holders = kept.followed.iter().map(|Followed { piece, .. }| {
        let (_, what) = described(&piece.activity, geometry);
        let what = format!("its holder: {what}");
        Drawn { from: piece.from, to: piece.to, depth: 3, what, transfers: 1 }
    });
    own.chain(holders)
}

#[cfg(test)]
mod drives;
#[cfg(test)]
mod tests;
