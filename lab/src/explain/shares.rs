//! Where a command's time went: every instant of it has one name.

use super::holders::Followed;
use super::names::{
    COMPLETION, CORE, DIVIDE, FRONT, LAST, QUEUE, REST, holder_name, names, rank, served, wait_name,
};
use aster_events::Wait;
use aster_observe::{Activity, CommandSpan, Piece, Stage};
use aster_units::{Duration, Instant};
use serde::Serialize;
use std::collections::BTreeMap;

/// A part of the command's time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Share {
    /// What it was spent on.
    pub what: String,
    /// Microseconds.
    pub us: f64,
    /// Of the whole.
    pub percent: f64,
}

/// What a part of the time was spent on, and by whom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct What {
    /// By the holder of what the command waited for.
    holder: Option<Wait>,
    name: &'static str,
}

impl What {
    const fn own(name: &'static str) -> Self {
        What { holder: None, name }
    }
    fn told(self, on_host: bool) -> String {
        let name = served(self.name, on_host);
        match self.holder.and_then(holder_name) {
            Some(holder) => format!("{holder}: {name}"),
            None => name.to_owned(),
        }
    }
}

/// The ends of parts that follow each other, each with what it was.
type Parts = Vec<(Instant, What)>;

/// An activity between two instants: how far it was followed, its rank and its name.
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
            // A holder without an activity waits for its core.
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
            let waits = Wait::ALL.into_iter().find(|&wait| own == wait_name(wait));
            let held = waits.filter(|&wait| holder_name(wait).is_some());
            match held.and_then(|wait| Some((wait, first_of(&of_holder, at, edge)?))) {
                _ if waits == Some(Wait::Slices) => self.others(slice, at, edge, parts),
                Some((wait, name)) => parts.push((edge, What { holder: Some(wait), name })),
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
                // A slice that takes no time ends at its beginning, but doesn't precede itself.
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

/// The command's time, divided without gap or overlap. `on_host` tells that the host's software serves it.
pub(super) fn shares(
    span: &CommandSpan,
    pieces: &[Piece],
    followed: &[Followed],
    total: Duration,
    on_host: bool,
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
    let held = Wait::ALL.into_iter().flat_map(|wait| of(Some(wait)));
    let told = of(None).chain(held).filter_map(|what| Some((what, *spent.get(&what)?)));
    told.map(|(what, part)| Share {
        what: what.told(on_host),
        us: part.as_micros_f64(),
        percent: percent(part),
    })
    .collect()
}
