//! Where a command's time went: every instant of it has one name.

use super::{Followed, Share};
use aster_run_virtual::events::{Activity, CommandSpan, Piece, Stage, Wait};
use aster_units::{Duration, Instant};
use std::collections::BTreeMap;

pub(super) const QUEUE: &str = "submission queue, fetching the entry";
pub(super) const FRONT: &str = "front end: decoding, checking, waiting for the FTL";
pub(super) const DIVIDE: &str = "FTL: dividing the command, waiting for a worker";
pub(super) const FIRMWARE: &str = "FTL: firmware at work";
pub(super) const CORE: &str = "FTL: waiting for the core";
pub(super) const LUN: &str = "waiting for the LUN";
pub(super) const DEPENDENCY: &str = "big loop: waiting for the dependency checker";
pub(super) const STATION: &str = "big loop: waiting in the reservation station";
pub(super) const READ_ARRAY: &str = "array: reading";
pub(super) const PROGRAM_ARRAY: &str = "array: programming";
pub(super) const ERASE_ARRAY: &str = "array: erasing";
pub(super) const CHANNEL: &str = "channel: commands and data";
pub(super) const OPERATION: &str = "flash operation: waiting for the channel, polling, ECC, firmware";
pub(super) const LINK_QUEUED: &str = "host DMA: waiting for the link";
pub(super) const LINK: &str = "host DMA: on the link";
pub(super) const TRANSFER: &str = "host DMA: what the front end adds";
pub(super) const LAST: &str = "FTL: the command's end";
pub(super) const COMPLETION: &str = "completion entry, in its turn on the link";
pub(super) const REST: &str = "FTL";

/// What a slice waits for.
pub(super) const fn wait_name(reason: Wait) -> &'static str {
    match reason {
        Wait::BufferEntry => "FTL: waiting for a data buffer entry that others hold or bring to flash",
        Wait::Room => "FTL: waiting for garbage collection to make room in the LUN",
        Wait::LogPage => "FTL: waiting for a log page",
        Wait::MergeBuffer => "FTL: waiting for a merge buffer",
        Wait::FlashQueue => "FTL: waiting for room in the queue of flash requests",
        Wait::Slices => "FTL: waiting for the command's other slices",
        Wait::WordLine => "FTL: waiting for others' pages of the same word line",
    }
}

/// All names of shares, in the order in which they are told.
fn names() -> impl Iterator<Item = &'static str> {
    let first = [QUEUE, FRONT, REST, DIVIDE, FIRMWARE, CORE];
    let last = [
        DEPENDENCY,
        STATION,
        LUN,
        READ_ARRAY,
        PROGRAM_ARRAY,
        ERASE_ARRAY,
        CHANNEL,
        OPERATION,
        LINK_QUEUED,
        LINK,
        TRANSFER,
        LAST,
        COMPLETION,
    ];
    first.into_iter().chain(Wait::ALL.map(wait_name)).chain(last)
}

/// What an instant within a slice is spent on, the higher number before the lower where several go on at
/// once.
pub(super) fn rank(activity: &Activity) -> Option<(u8, &'static str)> {
    Some(match *activity {
        Activity::Link { .. } => (9, LINK),
        Activity::LinkQueued { .. } => (8, LINK_QUEUED),
        // While an operation of host DMA waits, its task knows of a transfer.
        Activity::Dependent { kind: 0 | 1 } => (7, DEPENDENCY),
        Activity::Reserved { kind: 0 | 1 } => (7, STATION),
        Activity::Transfer { .. } => (6, TRANSFER),
        Activity::Array { kind: 0, .. } => (5, READ_ARRAY),
        Activity::Array { kind: 1, .. } => (5, PROGRAM_ARRAY),
        Activity::Array { kind: 2, .. } => (5, ERASE_ARRAY),
        Activity::Transaction { .. } => (4, CHANNEL),
        Activity::Dependent { .. } => (3, DEPENDENCY),
        Activity::Reserved { .. } => (3, STATION),
        Activity::Flash { .. } => (2, OPERATION),
        Activity::Queued { .. } => (1, LUN),
        Activity::Waiting { reason, .. } => (1, wait_name(reason)),
        Activity::Firmware { .. } => (0, FIRMWARE),
        Activity::Array { .. } | Activity::Command(_) | Activity::Slice { .. } => return None,
    })
}

/// On what a part of the time was spent, by whom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct What {
    /// By the holder of a data buffer entry for which the command waited.
    holder: bool,
    name: &'static str,
}

impl What {
    const fn own(name: &'static str) -> Self {
        What { holder: false, name }
    }
    fn told(self) -> String {
        if self.holder {
            format!("waiting for a data buffer entry, its holder: {}", self.name)
        } else {
            self.name.to_owned()
        }
    }
}

/// The ends of parts that follow each other, each with what it was.
type Parts = Vec<(Instant, What)>;

/// Something between two instants: how far it was followed, its rank and name.
type Ranked = (Instant, Instant, (u8, u8, &'static str));

fn first_of(all: &[Ranked], from: Instant, to: Instant) -> Option<&'static str> {
    let here = all.iter().filter(|(a, b, _)| *a <= from && *b >= to).map(|(.., rank)| *rank);
    here.max().map(|(.., name)| name)
}

/// A command's slices, and what was done for them.
struct Slices<'a> {
    pieces: &'a [Piece],
    followed: &'a [Followed],
    slices: Vec<&'a Piece>,
}

impl<'a> Slices<'a> {
    fn of(pieces: &'a [Piece], followed: &'a [Followed]) -> Self {
        let slices = pieces.iter().filter(|piece| matches!(piece.activity, Activity::Slice { .. })).collect();
        Slices { pieces, followed, slices }
    }

    /// The slice on which the command waited longest. Where the front end completes it by itself, at
    /// `finished`, that is the one whose data were moved last: the FTL ends them all later, in whatever
    /// order.
    fn last(&self, finished: Option<Instant>) -> Option<&'a Piece> {
        let moved = |slice: &Piece| {
            let of_slice = |p: &&Piece| p.task == slice.task && p.from >= slice.from && p.to <= slice.to;
            let on_link = |p: &&Piece| matches!(p.activity, Activity::Link { .. });
            self.pieces.iter().filter(of_slice).filter(on_link).map(|p| p.to).max()
        };
        let key = |slice: &Piece| (finished.map_or(slice.to, |at| slice.to.min(at)), moved(slice), slice.to);
        self.slices.iter().copied().max_by_key(|slice| key(slice))
    }

    /// What a slice's time between two instants was spent on.
    fn walk(&self, slice: &Piece, from: Instant, to: Instant, parts: &mut Parts) {
        let inside: Vec<_> = self
            .pieces
            .iter()
            .filter(|p| p.task == slice.task && p.to > from && p.from < to)
            .filter_map(|p| {
                let (rank, name) = rank(&p.activity)?;
                Some((p.from, p.to, (0, rank, name)))
            })
            .collect();
        let of_holder: Vec<_> = self
            .followed
            .iter()
            .filter(|f| f.waiter == slice.task && f.piece.to > from && f.piece.from < to)
            // A holder for which nothing is done waits for its core.
            .map(|Followed { piece, depth, .. }| {
                let (rank, name) = rank(&piece.activity).unwrap_or((0, CORE));
                (piece.from, piece.to, (*depth, rank, name))
            })
            .collect();
        let mut edges: Vec<_> = inside
            .iter()
            .chain(&of_holder)
            .flat_map(|(a, b, _)| [*a, *b])
            .filter(|t| *t > from && *t < to)
            .collect();
        edges.push(to);
        edges.sort_unstable();
        let mut at = from;
        for edge in edges {
            let own = first_of(&inside, at, edge).unwrap_or(CORE);
            let holder = (own == wait_name(Wait::BufferEntry)).then(|| first_of(&of_holder, at, edge));
            match holder.flatten() {
                _ if own == wait_name(Wait::Slices) => self.others(slice, at, edge, parts),
                Some(name) => parts.push((edge, What { holder: true, name })),
                None => parts.push((edge, What::own(own))),
            }
            at = edge;
        }
    }

    /// While a slice waits for the command's others, the one that ends last counts.
    fn others(&self, slice: &Piece, from: Instant, to: Instant, parts: &mut Parts) {
        let others = self.slices.iter().filter(|other| other.task != slice.task || other.to <= slice.from);
        let last = others.filter(|other| other.to > from && other.to <= to).max_by_key(|other| other.to);
        if let Some(last) = last {
            self.up_to(last, from, parts);
        }
        parts.push((to, What::own(wait_name(Wait::Slices))));
    }

    /// The time from `from` to the end of a slice: before it came to its worker, that had others of the
    /// command to carry out.
    fn up_to(&self, last: &'a Piece, from: Instant, parts: &mut Parts) {
        let mut chain = vec![last];
        let mut first = last;
        while first.from > from {
            let before = self
                .slices
                .iter()
                // A slice that takes no time ends where it begins, but is not before itself.
                .filter(|one| one.task == last.task && one.to <= first.from && one.to > from)
                .filter(|one| one.from < first.from);
            let Some(one) = before.max_by_key(|one| one.to) else { break };
            first = one;
            chain.push(one);
        }
        for one in chain.into_iter().rev() {
            if one.from > from {
                parts.push((one.from, What::own(DIVIDE)));
            }
            self.walk(one, one.from.max(from), one.to, parts);
        }
    }
}

/// The command's time, divided without gap or overlap.
pub(super) fn shares(
    span: &CommandSpan,
    pieces: &[Piece],
    followed: &[Followed],
    total: Duration,
) -> Vec<Share> {
    let mut spent: BTreeMap<What, Duration> = BTreeMap::new();
    let mut at = span.ends().0;
    let mut until = |to: Option<Instant>, what| {
        if let Some(to) = to.filter(|to| *to > at) {
            *spent.entry(what).or_default() += to.since(at);
            at = to;
        }
    };
    until(span.at(Stage::Fetched), What::own(QUEUE));
    until(span.at(Stage::Started), What::own(FRONT));
    let slices = Slices::of(pieces, followed);
    let finished = span.at(Stage::Finished);
    if let Some(last) = slices.last(finished) {
        let mut parts = Parts::new();
        slices.up_to(last, span.at(Stage::Started).unwrap_or(last.from), &mut parts);
        for (to, what) in parts {
            until(Some(finished.map_or(to, |at| to.min(at))), what);
        }
        until(finished, What::own(LAST));
    } else {
        until(finished, What::own(REST));
    }
    until(span.at(Stage::Completed), What::own(COMPLETION));
    let percent = |part: Duration| 100.0 * part.as_picos() as f64 / (total.as_picos().max(1)) as f64;
    let of = |holder| names().map(move |name| What { holder, name });
    let told = of(false).chain(of(true)).filter_map(|what| Some((what, *spent.get(&what)?)));
    told.map(|(what, part)| Share { what: what.told(), us: part.as_micros_f64(), percent: percent(part) })
        .collect()
}
