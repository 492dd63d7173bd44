//! Programs that a loss of power could still undo.
//!
//! A program that is cut off takes the lower pages of its word line along (MLC's lost LSB). So a page is safe
//! only once its whole word line is programmed, or its block takes no more programs. Until then
//! - what its units replace stays valid, so that no block is erased that may be needed again;
//! - their changes aren't journaled; recovery finds the new page by reading the block.

use crate::space::layout::BlockLayout;
use crate::terms::bits::Bits;
use crate::terms::block::Stream;
use crate::terms::units::UnitShape;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_units::{Lpn, LunIndex, Ppa, Upa};

/// A logical unit has moved: the inverse is what recovery goes back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    pub(crate) lpn: Lpn,
    pub(crate) from: Upa,
    pub(crate) to: Upa,
}

#[derive(Clone, Copy)]
struct UnsafeProgram {
    ppa: Ppa,
    // Where the states of its units begin.
    units: u32,
    // The host waits for its own to be safe, sooner or later; what garbage collection copies is safe where it
    // comes from, and changes of a translation page are in the log.
    by: Stream,
    ended: bool,
    // Counts programs.
    order: u64,
}

/// What a program does with one slot of its page.
#[derive(Clone, Copy)]
struct UnitState {
    // Of a copy: the logical unit, and where it is copied from.
    copy_of: Option<(Lpn, Upa)>,
    // The change that the program made, its order among changes, and whether a later one supersedes it in the
    // log.
    change: Option<(Lpn, Upa)>,
    changed_at: u64,
    superseded: bool,
}

const UNTOUCHED: UnitState = UnitState { copy_of: None, change: None, changed_at: 0, superseded: false };

/// A change that no loss of power can undo any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DurableChange {
    pub(crate) change: Change,
    /// The change is to be journaled: no later one supersedes it.
    pub(crate) journals: bool,
    /// It is no copy, whose change waits for those of all others of its block.
    pub(crate) is_new: bool,
    /// Its order among all changes.
    pub(crate) at: u64,
}

/// What has become of a page that was programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Safety {
    /// No loss of power can undo it.
    Safe,
    /// It will be once programs end that have begun.
    Pending,
    /// Its word line waits for further pages.
    Open,
}

/// The programs of a drive that are not safe yet: a list per LUN, in the order of their beginning.
pub(crate) struct UnsafePrograms {
    shape: UnitShape,
    pages_per_lun: u32,
    luns: Box<[VecDeque<UnsafeProgram>]>,
    // States of the units of all programs, a page's one after the other, and where there is room for another
    // page's.
    units: Vec<UnitState>,
    free: Vec<u32>,
    // Units that a change has replaced which is not safe yet, one bit each.
    replaced: Bits,
    order: u64,
    changes: u64,
}

impl UnsafePrograms {
    /// None; room for `depth` programs per LUN.
    pub(crate) fn of(layout: &BlockLayout, depth: usize) -> Self {
        let (luns, shape) = (layout.total_luns(), layout.shape());
        let units = luns * layout.units_per_lun() as usize;
        UnsafePrograms {
            shape,
            pages_per_lun: layout.blocks_per_lun() * layout.pages_per_block(),
            luns: (0..luns).map(|_| VecDeque::with_capacity(depth)).collect(),
            units: Vec::with_capacity(luns * depth * shape.per_page() as usize),
            free: Vec::with_capacity(luns * depth),
            replaced: Bits::new(units),
            order: 0,
            changes: 0,
        }
    }
    /// A program begins; where it copies, `copies` says of each slot what, and from where: from nowhere for a
    /// slot that is empty.
    #[inline]
    pub(crate) fn begin(&mut self, lun: LunIndex, ppa: Ppa, by: Stream, copies: &[(Lpn, Upa)]) {
        let per_page = self.shape.per_page() as usize;
        debug_assert!(self.find(ppa).is_none(), "{ppa:?} is programmed twice");
        assert!(copies.len() <= per_page, "a page has {per_page} slots");
        let units = self.free.pop().unwrap_or_else(|| {
            let end = self.units.len();
            self.units.resize(end + per_page, UNTOUCHED);
            end as u32
        });
        let states = &mut self.units[units as usize..][..per_page];
        states.fill(UNTOUCHED);
        for (state, &copy_of) in states.iter_mut().zip(copies) {
            state.copy_of = copy_of.1.is_some().then_some(copy_of);
        }
        self.order += 1;
        let program = UnsafeProgram { ppa, units, by, ended: false, order: self.order };
        self.luns[lun.index()].push_back(program);
    }
    fn lun_of(&self, ppa: Ppa) -> LunIndex {
        LunIndex(ppa.0 / self.pages_per_lun)
    }
    fn states(&self, program: &UnsafeProgram) -> &[UnitState] {
        &self.units[program.units as usize..][..self.shape.per_page() as usize]
    }
    fn find(&self, ppa: Ppa) -> Option<&UnsafeProgram> {
        self.luns[self.lun_of(ppa).index()].iter().find(|program| program.ppa == ppa)
    }
    /// The state of a unit that a program which isn't safe has put in its place.
    fn state_at(&mut self, at: Upa) -> Option<&mut UnitState> {
        let units = self.find(self.shape.page_of(at))?.units;
        Some(&mut self.units[(units + self.shape.slot_of(at)) as usize])
    }
    /// The program has ended.
    #[inline]
    pub(crate) fn end(&mut self, lun: LunIndex, ppa: Ppa) {
        let program = self.luns[lun.index()].iter_mut().find(|program| program.ppa == ppa);
        let program = program.expect("a program that ends has begun");
        assert!(!program.ended, "a program of {ppa:?} ends twice");
        program.ended = true;
    }
    /// A unit of the page has become a logical unit's, which lay at `from` before.
    #[inline]
    pub(crate) fn changed(&mut self, Change { lpn, from, to }: Change) {
        self.changes += 1;
        let at = self.changes;
        if from.is_some() {
            debug_assert!(!self.is_replaced(from), "{from:?} is replaced twice");
            self.replaced.set(from.0 as usize);
        }
        let state = self.state_at(to).expect("a program that counts has begun");
        debug_assert!(state.change.is_none(), "{to:?} is one place of one unit");
        (state.change, state.changed_at) = (Some((lpn, from)), at);
    }
    /// The logical unit at `place` was unmapped: no change that brought it there, or to where it was before,
    /// may be journaled any more.
    pub(crate) fn unmapped(&mut self, place: Upa) {
        self.supersede(place);
    }
    // Each change of a logical unit came from where the one before had led to.
    fn supersede(&mut self, mut place: Upa) {
        while place.is_some()
            && let Some(state) = self.state_at(place)
            && let Some((_, from)) = state.change
        {
            state.superseded = true;
            place = from;
        }
    }

    /// Takes out the programs of a word line, `line`, if all have ended, and `closed` says that no program
    /// will come to it any more. Appends what they changed to `into`. False when none is taken out.
    pub(crate) fn take_durable(
        &mut self,
        lun: LunIndex,
        line: core::ops::Range<u32>,
        closed: bool,
        into: &mut Vec<DurableChange>,
    ) -> bool {
        let list = &self.luns[lun.index()];
        let inside = |program: &&UnsafeProgram| line.contains(&program.ppa.0);
        if !closed || list.iter().filter(inside).any(|program| !program.ended) {
            return false;
        }
        let mut any = false;
        while let Some(at) = self.luns[lun.index()].iter().position(|program| line.contains(&program.ppa.0))
            && let Some(program) = self.luns[lun.index()].remove(at)
        {
            any = true;
            debug_assert!(program.ended, "{:?} is safe before it is programmed", program.ppa);
            for slot in 0..self.shape.per_page() {
                let state = self.units[(program.units + slot) as usize];
                let Some((lpn, from)) = state.change else { continue };
                if !state.superseded {
                    // Earlier changes of the unit are superseded, later ones are not.
                    self.supersede(from);
                }
                if from.is_some() {
                    debug_assert!(self.is_replaced(from), "{from:?} gives way to what didn't replace it");
                    self.replaced.clear(from.0 as usize);
                }
                let change = Change { lpn, from, to: self.shape.at(program.ppa, slot) };
                let (journals, is_new) = (!state.superseded, program.by != Stream::Gc);
                into.push(DurableChange { change, journals, is_new, at: state.changed_at });
            }
            self.free.push(program.units);
        }
        any
    }

    /// How safe the page is; `line` is its word line, `closed` says that no program comes to it any more.
    pub(crate) fn safety(
        &self,
        lun: LunIndex,
        ppa: Ppa,
        line: core::ops::Range<u32>,
        closed: bool,
    ) -> Safety {
        let list = &self.luns[lun.index()];
        if !list.iter().any(|program| program.ppa == ppa) {
            return Safety::Safe;
        }
        let in_flight = list.iter().any(|program| !program.ended && line.contains(&program.ppa.0));
        if closed || in_flight { Safety::Pending } else { Safety::Open }
    }
    /// True when a later place of a logical unit, not safe yet, stands for `place`.
    #[inline]
    pub(crate) fn is_replaced(&self, place: Upa) -> bool {
        self.replaced.is_set(place.0 as usize)
    }
    /// The number of programs begun so far.
    pub(crate) fn begun(&self) -> u64 {
        self.order
    }
    /// True when every program of the host's up to the `order`th is safe in the LUN.
    pub(crate) fn all_safe(&self, lun: LunIndex, order: u64) -> bool {
        !self.luns[lun.index()].iter().any(|program| program.by == Stream::Host && program.order <= order)
    }
    /// The pages of a LUN that are not safe.
    pub(crate) fn pages(&self, lun: LunIndex) -> impl Iterator<Item = Ppa> {
        self.luns[lun.index()].iter().map(|program| program.ppa)
    }
    /// Units that the programs of the drive have room for.
    pub(crate) fn units(&self) -> usize {
        self.luns.iter().map(VecDeque::len).sum::<usize>() * self.shape.per_page() as usize
    }
    /// The changes of a LUN that aren't journaled and may yet be, with their order.
    pub(crate) fn unjournaled(&self, lun: LunIndex) -> impl Iterator<Item = (u64, Lpn, Upa)> {
        let states = self.luns[lun.index()].iter().flat_map(|program| self.states(program));
        let changes = states.filter(|state| !state.superseded);
        changes.filter_map(|state| state.change.map(|(lpn, from)| (state.changed_at, lpn, from)))
    }
    /// The places in a LUN's changes that were replaced by changes which are superseded themselves.
    pub(crate) fn superseded_origins(&self, lun: LunIndex) -> impl Iterator<Item = Upa> {
        let states = self.luns[lun.index()].iter().flat_map(|program| self.states(program));
        states.filter(|state| state.superseded).filter_map(|state| state.change.map(|(_, from)| from))
    }
    /// The units of a LUN's programs that have not ended, and what they copy.
    pub(crate) fn in_flight(&self, lun: LunIndex) -> impl Iterator<Item = (Upa, Option<(Lpn, Upa)>)> {
        let programs = self.luns[lun.index()].iter().filter(|program| !program.ended);
        programs.flat_map(|program| {
            let slots = (0..).zip(self.states(program));
            slots.map(|(slot, state)| (self.shape.at(program.ppa, slot), state.copy_of))
        })
    }
}
