//! Programs that a loss of power could still undo.
//!
//! A program that is cut off destroys the lower pages of its word line, too (lost LSB pages in MLC). So a
//! page is safe only once its whole word line is programmed, or its block takes no more programs. Until then
//! - the units that it replaces stay valid, so that no block is erased that may be needed again;
//! - its changes aren't journaled; recovery finds the new page by reading the block.

use crate::space::layout::BlockLayout;
use crate::terms::bits::Bits;
use crate::terms::block::Stream;
use crate::terms::units::UnitShape;
use alloc::boxed::Box;
use alloc::vec::Vec;
use aster_units::{Lpn, LunIndex, Ppa, Upa};

/// A logical unit has moved. Recovery may have to undo this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    pub(crate) lpn: Lpn,
    pub(crate) from: Upa,
    pub(crate) to: Upa,
}

#[derive(Clone, Copy)]
struct UnsafeProgram {
    ppa: Ppa,
    // The index of its first unit's state.
    units: u32,
    // Who programs it. Sooner or later the host waits for its own programs to be safe. Copies of garbage
    // collection still have their originals, and the changes in a translation page are in the log.
    by: Stream,
    ended: bool,
    // The number of the program.
    order: u64,
}

/// What a program does with one slot of its page.
#[derive(Clone, Copy)]
struct UnitState {
    // For a copy: the logical unit, and the place that it is copied from.
    copy_of: Option<(Lpn, Upa)>,
    // The change that the program made, its place in the order of all changes, and whether a later change
    // supersedes it in the log.
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
    /// It isn't a copy. The change of a copy waits for those of all other pages of its block.
    pub(crate) is_new: bool,
    /// Its order among all changes.
    pub(crate) at: u64,
}

/// What has become of a page that was programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Safety {
    /// No loss of power can undo it.
    Safe,
    /// It will be safe once the programs in flight have ended.
    Pending,
    /// Its word line waits for further pages.
    Open,
}

/// The programs of a drive that are not safe yet: a list per LUN, in the order in which they began.
pub(crate) struct UnsafePrograms {
    shape: UnitShape,
    pages_per_lun: u32,
    luns: Box<[Vec<UnsafeProgram>]>,
    // The states of the units of all programs, page after page, and the free slots for further pages.
    units: Vec<UnitState>,
    free: Vec<u32>,
    // Units replaced by a change that is not safe yet, one bit each.
    replaced: Bits,
    order: u64,
    changes: u64,
}

impl UnsafePrograms {
    /// No programs. Has room for `depth` of them per LUN.
    pub(crate) fn of(layout: &BlockLayout, depth: usize) -> Self {
        let (luns, shape) = (layout.total_luns(), layout.shape());
        let units = luns * layout.units_per_lun() as usize;
        UnsafePrograms {
            shape,
            pages_per_lun: layout.blocks_per_lun() * layout.pages_per_block(),
            luns: (0..luns).map(|_| Vec::with_capacity(depth)).collect(),
            units: Vec::with_capacity(luns * depth * shape.per_page() as usize),
            free: Vec::with_capacity(luns * depth),
            replaced: Bits::new(units),
            order: 0,
            changes: 0,
        }
    }
    /// A program begins. If it makes copies, `copies` has for each slot the logical unit and the place that
    /// it comes from, [`Upa::NONE`] for an empty slot.
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
        self.luns[lun.index()].push(program);
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
    /// The state of a unit, if an unsafe program has written it.
    #[inline]
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
    /// The logical unit that was at `from` now lies in a slot of this page.
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
    /// The logical unit at `place` was unmapped: neither the change that brought it there nor any earlier one
    /// may be journaled any more.
    pub(crate) fn unmapped(&mut self, place: Upa) {
        self.supersede(place);
    }
    // Each change of a logical unit begins where the previous one ended.
    #[inline]
    fn supersede(&mut self, mut place: Upa) {
        while place.is_some()
            && let Some(state) = self.state_at(place)
            && let Some((_, from)) = state.change
        {
            state.superseded = true;
            place = from;
        }
    }

    /// Removes the programs of the word line `line` if all of them have ended and the line is `closed`: it
    /// gets no further program. Appends their changes to `into`. Returns false if none was removed.
    pub(crate) fn take_durable(
        &mut self,
        lun: LunIndex,
        line: core::ops::Range<u32>,
        closed: bool,
        into: &mut Vec<DurableChange>,
    ) -> bool {
        let inside = |program: &UnsafeProgram| line.contains(&program.ppa.0);
        let list = &self.luns[lun.index()];
        let Some(first) = list.iter().position(inside).filter(|_| closed) else { return false };
        if list[first..].iter().any(|program| inside(program) && !program.ended) {
            return false;
        }
        let mut next = first;
        while let Some(further) = self.luns[lun.index()][next..].iter().position(inside) {
            next += further;
            let program = self.luns[lun.index()].remove(next);
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
        true
    }

    /// How safe the page is. `line` is its word line, and `closed` says that the line gets no further
    /// program.
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
    /// Whether the unit at `place` has been replaced by a version that is not safe yet.
    #[inline]
    pub(crate) fn is_replaced(&self, place: Upa) -> bool {
        self.replaced.is_set(place.0 as usize)
    }
    /// The number of programs begun so far.
    pub(crate) fn begun(&self) -> u64 {
        self.order
    }
    /// Whether all of the host's programs up to number `order` are safe in the LUN.
    pub(crate) fn all_safe(&self, lun: LunIndex, order: u64) -> bool {
        !self.luns[lun.index()].iter().any(|program| program.by.is_host() && program.order <= order)
    }
    /// The pages of a LUN that are not safe.
    pub(crate) fn pages(&self, lun: LunIndex) -> impl Iterator<Item = Ppa> {
        self.luns[lun.index()].iter().map(|program| program.ppa)
    }
    /// The pages of a LUN's programs that have replaced a unit in `units`.
    pub(crate) fn replacing(&self, lun: LunIndex, units: core::ops::Range<u32>) -> impl Iterator<Item = Ppa> {
        let replaces = move |state: &UnitState| state.change.is_some_and(|(_, from)| units.contains(&from.0));
        let programs = self.luns[lun.index()].iter();
        programs.filter(move |program| self.states(program).iter().any(&replaces)).map(|program| program.ppa)
    }
    /// The number of units that there is room for.
    pub(crate) fn units(&self) -> usize {
        self.luns.iter().map(Vec::len).sum::<usize>() * self.shape.per_page() as usize
    }
    /// The changes of a LUN that aren't journaled but may be later, each with its place in the order of
    /// changes.
    pub(crate) fn unjournaled(&self, lun: LunIndex) -> impl Iterator<Item = (u64, Lpn, Upa)> {
        let states = self.luns[lun.index()].iter().flat_map(|program| self.states(program));
        let changes = states.filter(|state| !state.superseded);
        changes.filter_map(|state| state.change.map(|(lpn, from)| (state.changed_at, lpn, from)))
    }
    /// The old places of units in a LUN's superseded changes.
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
