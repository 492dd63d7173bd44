//! What is on its way out of a victim: pages that are read, units that are packed, copies in flight.

use crate::blocks::ages::Age;
use crate::page::buffers::Granules;
use crate::terms::oob::UnitRecord;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_ports::flash::Tag;
use aster_units::{BufferId, Lpn, Ppa, Upa};

/// A page on its way out of a victim.
pub(super) struct Move<P> {
    pub(super) buffer: BufferId,
    pub(super) from: Ppa,
    pub(super) tag: Tag,
    pub(super) stage: MoveStage<P>,
}

/// A unit on its way out of a victim.
pub(super) struct MovedUnit<P> {
    // Held from the end of the read until the map has the unit's new place.
    pub(super) pin: P,
    pub(super) from: Upa,
    // Its slot in the buffer.
    pub(super) slot: u32,
    // The record of the copy. Its content is unknown if the unit's own record can't be read.
    pub(super) record: UnitRecord,
    pub(super) is_known: bool,
}

pub(super) enum MoveStage<P> {
    Reading,
    Programming { units: Vec<MovedUnit<P>>, to: Ppa, attempt: u32 },
}

/// The result of one stage of a move.
pub(super) enum MoveResult<P> {
    /// The move has ended: the page is stale or has its new place.
    Over,
    /// The page has been read and is to be programmed as it is in its buffer; `attempt` counts the programs
    /// that have failed.
    Program { units: Vec<MovedUnit<P>>, attempt: u32 },
    /// These units of the page are to be packed with others; these granules of it are lost.
    Pack { units: Vec<MovedUnit<P>>, lost: Granules },
}

/// A page that waits to be programmed together with others.
pub(super) struct Ready<P> {
    pub(super) buffer: BufferId,
    pub(super) units: Vec<MovedUnit<P>>,
    pub(super) attempt: u32,
}

/// A page that is being packed.
pub(super) struct Packing<P> {
    pub(super) buffer: BufferId,
    pub(super) units: Vec<MovedUnit<P>>,
    pub(super) lost: Granules,
}

/// The pages that a collector is moving, oldest first, and the free buffers.
pub(super) struct Moves<P, R> {
    pub(super) in_flight: VecDeque<Move<P>>,
    pub(super) ready: VecDeque<Ready<P>>,
    pub(super) packing: Option<Packing<P>>,
    // Padding programs that complete the word lines of the pages in flight.
    pub(super) padding: VecDeque<(Ppa, Tag)>,
    pub(super) buffers: VecDeque<BufferId>,
    // How many free buffers reads must leave over.
    pub(super) kept: usize,
    // The buffer for a page of the map itself, of which one at a time is moved. `None` if the map has no such
    // pages.
    pub(super) own: Option<BufferId>,
    // Room for the map changes, while a victim is being emptied.
    pub(super) room: Option<R>,
    // The age of the victim that is being emptied.
    pub(super) age: Age,
    // Empty lists, kept to reuse their memory.
    pub(super) lists: Vec<Vec<MovedUnit<P>>>,
    pub(super) copies: Vec<(Lpn, Upa)>,
}

impl<P, R> Moves<P, R> {
    /// Whether no move is in progress.
    pub(super) fn is_at_rest(&self) -> bool {
        self.in_flight.is_empty()
            && self.ready.is_empty()
            && self.packing.is_none()
            && self.padding.is_empty()
    }
    /// A buffer is free again.
    pub(super) fn give(&mut self, buffer: BufferId, data_buffers: u32) {
        if buffer.0 < data_buffers {
            self.buffers.push_back(buffer);
        } else {
            self.own = Some(buffer);
        }
    }
    /// Takes a buffer that was found to be free.
    pub(super) fn take(&mut self, buffer: BufferId) {
        if self.own == Some(buffer) {
            self.own = None;
        } else {
            self.buffers.pop_front();
        }
    }
    pub(super) fn list(&mut self) -> Vec<MovedUnit<P>> {
        self.lists.pop().unwrap_or_default()
    }
    pub(super) fn keep(&mut self, mut list: Vec<MovedUnit<P>>) {
        list.clear();
        self.lists.push(list);
    }
}
