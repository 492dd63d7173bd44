//! The reads that are outstanding, by tag.

use alloc::boxed::Box;
use alloc::vec;
use aster_ports::link::Local;
use aster_ports::tlp::{COMPLETION_TIMEOUT, RECEIVE_PLACES, TLP_TAGS};
use aster_units::Instant;
use aster_wire::pcie::tlp::{Completion, CompletionStatus};

/// Who moves the data of a read's completions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mover {
    /// The board, by the read's descriptor.
    Board,
    /// Firmware.
    Firmware,
}

/// A read whose answer isn't complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Read {
    /// The transfer that it is a part of.
    pub(super) transfer: u32,
    /// Where its first byte goes.
    pub(super) place: Local,
    /// Address of its first byte in host memory.
    pub(super) address: u64,
    /// Bytes asked for.
    pub(super) bytes: u32,
    /// Places of the receive buffer that are kept for it.
    pub(super) places: u32,
    /// When it was sent.
    pub(super) since: Instant,
    pub(super) mover: Mover,
}

struct Outstanding {
    read: Read,
    /// Bytes that have come to firmware.
    done: u32,
    poisoned: bool,
    /// It wasn't answered in time, and its transfer doesn't wait for it any more.
    lost: bool,
}

/// A tag, or why there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Free {
    Tag(u16),
    /// There will be one.
    Later,
    /// All that there might be belong to reads that were not answered.
    Never,
}

/// What a completion is to its read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Heard {
    /// Its data go there; `None` if they are not wanted.
    pub(super) copy: Option<(Local, u32)>,
    /// The read has ended by it; `good` unless data are missing.
    pub(super) ended: Option<EndedRead>,
}

/// A read that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EndedRead {
    pub(super) transfer: u32,
    pub(super) good: bool,
    /// It was given up before.
    pub(super) lost: bool,
}

/// The reads by tag, and what is left of the receive buffer (PCIe 4.0 §2.6.1: an endpoint takes all
/// completions, so it has room before it asks).
pub(super) struct Reads {
    outstanding: Box<[Option<Outstanding>]>,
    places: u32,
}

impl Reads {
    pub(super) fn new() -> Self {
        let outstanding = (0..TLP_TAGS).map(|_| None).collect::<vec::Vec<_>>().into_boxed_slice();
        Reads { outstanding, places: RECEIVE_PLACES }
    }
    /// Looks for a tag below `tags` for a read that needs `places` places.
    pub(super) fn free(&self, tags: u16, places: u32) -> Free {
        let tag = self.outstanding[..usize::from(tags)].iter().position(Option::is_none);
        match tag {
            Some(tag) if places <= self.places => Free::Tag(tag as u16),
            _ if self.outstanding.iter().flatten().any(|one| !one.lost) => Free::Later,
            _ => Free::Never,
        }
    }
    /// A read begins with a tag that is free.
    pub(super) fn begin(&mut self, tag: u16, read: Read) {
        self.places -= read.places;
        let one = Outstanding { read, done: 0, poisoned: false, lost: false };
        let before = self.outstanding[usize::from(tag)].replace(one);
        assert!(before.is_none(), "tag {tag} was free");
    }
    /// It has been sent only now.
    pub(super) fn sent(&mut self, tag: u16, now: Instant) {
        if let Some(one) = &mut self.outstanding[usize::from(tag)] {
            one.read.since = now;
        }
    }
    /// The read with this tag.
    pub(super) fn get(&self, tag: u16) -> Option<&Read> {
        self.outstanding.get(usize::from(tag))?.as_ref().map(|one| &one.read)
    }
    /// Whether this read was given up.
    pub(super) fn is_lost(&self, tag: u16) -> bool {
        self.outstanding[usize::from(tag)].as_ref().is_some_and(|one| one.lost)
    }
    /// Firmware moves the data of this read from now on. The board has moved `done` bytes.
    pub(super) fn take_over(&mut self, tag: u16, done: u32) {
        if let Some(one) = &mut self.outstanding[usize::from(tag)] {
            (one.read.mover, one.done) = (Mover::Firmware, done);
        }
    }
    /// Ends the read with this tag.
    pub(super) fn end(&mut self, tag: u16) -> EndedRead {
        let one = self.outstanding[usize::from(tag)].take().expect("it is outstanding");
        self.places += one.read.places;
        EndedRead { transfer: one.read.transfer, good: !one.poisoned, lost: one.lost }
    }
    /// A completion has come for a read whose data firmware moves. `wanted` says whether the place where they
    /// go is still the read's. `None` if it is not what the read waits for.
    pub(super) fn hear(&mut self, completion: &Completion, wanted: bool) -> Option<Heard> {
        let tag = completion.tag.number();
        let one = self.outstanding.get_mut(usize::from(tag))?.as_mut()?;
        if completion.status != CompletionStatus::Success || completion.dwords == 0 {
            let ended = EndedRead { good: false, ..self.end(tag) };
            return Some(Heard { copy: None, ended: Some(ended) });
        }
        let (left, at) = (one.read.bytes - one.done, one.read.address + u64::from(one.done));
        let goes_on = u32::from(completion.byte_count) == left
            && u64::from(completion.lower_address) == at % 128
            && one.read.mover == Mover::Firmware;
        if !goes_on {
            return None;
        }
        let (bytes, poisoned) = (completion.bytes(), completion.attributes.poisoned);
        one.poisoned |= poisoned;
        let copy = (wanted && !poisoned && !one.lost).then(|| (one.read.place.plus(one.done), bytes));
        one.done += bytes;
        let ended = (bytes == left).then(|| self.end(tag));
        Some(Heard { copy, ended })
    }
    /// A read that should have been answered by `now`.
    pub(super) fn overdue(&self, now: Instant) -> Option<u16> {
        let late = |one: &Outstanding| !one.lost && one.read.since + COMPLETION_TIMEOUT <= now;
        self.outstanding.iter().position(|one| one.as_ref().is_some_and(late)).map(|tag| tag as u16)
    }
    /// Gives a read up. Its tag and its places stay taken until its last completion comes, since another
    /// read with that tag would take it for its own.
    pub(super) fn give_up(&mut self, tag: u16) -> u32 {
        let one = self.outstanding[usize::from(tag)].as_mut().expect("it is outstanding");
        one.lost = true;
        one.read.transfer
    }
    /// When the next read is overdue.
    pub(super) fn next_overdue(&self) -> Option<Instant> {
        let waiting = self.outstanding.iter().flatten().filter(|one| !one.lost);
        waiting.map(|one| one.read.since + COMPLETION_TIMEOUT).min()
    }
    /// The tags of reads whose data the board moves.
    pub(super) fn of_board(&self) -> impl Iterator<Item = u16> + use<> {
        let tags = (0u16..).zip(self.outstanding.iter());
        let of_board = tags.filter(|(_, one)| one.as_ref().is_some_and(|o| o.read.mover == Mover::Board));
        let bits = of_board.fold(0u64, |bits, (tag, _)| bits | 1 << tag);
        (0..TLP_TAGS).filter(move |tag| bits >> tag & 1 == 1)
    }
}
