//! Programs that a loss of power could still undo.
//!
//! A program that is cut off takes the lower pages of its word line along (MLC's lost LSB). So a page is safe
//! only once its whole word line is programmed, or its block takes no more programs. Until then
//! - what it replaces stays valid, so that no block is erased that may be needed again;
//! - the change isn't journaled; recovery finds the new page by reading the block.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use aster_units::{Lpn, LunIndex, Ppa};

/// A logical page has moved: the inverse is what recovery goes back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    pub(crate) lpn: Lpn,
    pub(crate) from: Ppa,
    pub(crate) to: Ppa,
}

#[derive(Clone, Copy)]
struct UnsafeProgram {
    ppa: Ppa,
    // The host waits for it to be safe, sooner or later; what garbage collection copies is safe where it
    // comes from.
    is_host: bool,
    // Counts programs.
    order: u64,
    ended: bool,
    // Of a copy: the logical page, and where it is copied from.
    copy_of: Option<(Lpn, Ppa)>,
    // The change that the program made, its order among changes, and whether a later one supersedes it in the
    // log.
    change: Option<(Lpn, Ppa)>,
    changed_at: u64,
    superseded: bool,
}

/// A change that no loss of power can undo any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DurableChange {
    pub(crate) change: Change,
    /// The change is to be journaled: no later one supersedes it.
    pub(crate) journals: bool,
    pub(crate) is_host: bool,
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

/// The programs of a drive that are not safe yet, in the order of their beginning, a list a LUN.
pub(crate) struct UnsafePrograms {
    luns: Box<[VecDeque<UnsafeProgram>]>,
    order: u64,
    changes: u64,
}

impl UnsafePrograms {
    /// Room for `depth` programs a LUN.
    pub(crate) fn new(luns: u32, depth: usize) -> Self {
        let list = |_| VecDeque::with_capacity(depth);
        UnsafePrograms { luns: (0..luns).map(list).collect(), order: 0, changes: 0 }
    }
    /// A program begins; `copy_of` says what it copies, and from where.
    #[inline]
    pub(crate) fn begin(&mut self, lun: LunIndex, ppa: Ppa, is_host: bool, copy_of: Option<(Lpn, Ppa)>) {
        self.order += 1;
        self.luns[lun.index()].push_back(UnsafeProgram {
            ppa,
            is_host,
            order: self.order,
            ended: false,
            copy_of,
            change: None,
            changed_at: 0,
            superseded: false,
        });
    }
    /// Programs that are not safe yet.
    pub(crate) fn len(&self) -> usize {
        self.luns.iter().map(VecDeque::len).sum()
    }
    fn find(&mut self, lun: LunIndex, ppa: Ppa) -> &mut UnsafeProgram {
        let record = self.luns[lun.index()].iter_mut().find(|record| record.ppa == ppa);
        record.expect("a program that ends or counts has begun")
    }
    /// The program has ended.
    #[inline]
    pub(crate) fn end(&mut self, lun: LunIndex, ppa: Ppa) {
        self.find(lun, ppa).ended = true;
    }
    /// The page has become a logical page's, which lay at `from` before.
    #[inline]
    pub(crate) fn changed(&mut self, lun: LunIndex, change: Change) {
        self.changes += 1;
        let at = self.changes;
        let record = self.find(lun, change.to);
        record.change = Some((change.lpn, change.from));
        record.changed_at = at;
    }
    /// The logical page was unmapped: where it has moved to must not be journaled any more.
    pub(crate) fn unmapped(&mut self, lun: LunIndex, lpn: Lpn) {
        self.supersede_before(lun, lpn, u64::MAX);
    }
    fn supersede_before(&mut self, lun: LunIndex, lpn: Lpn, at: u64) {
        for record in &mut self.luns[lun.index()] {
            if record.changed_at < at && record.change.is_some_and(|(of, _)| of == lpn) {
                record.superseded = true;
            }
        }
    }

    /// Takes out a program that has ended in a word line, `line`, of which `closed` says that no program will
    /// come to it any more; `None` while one of the line is in flight, or when there is none left. Gives what
    /// it changed.
    pub(crate) fn take_durable(
        &mut self,
        lun: LunIndex,
        line: core::ops::Range<u32>,
        closed: bool,
    ) -> Option<Option<DurableChange>> {
        let list = &mut self.luns[lun.index()];
        let inside = |record: &&UnsafeProgram| line.contains(&record.ppa.0);
        if !closed || list.iter().filter(inside).any(|record| !record.ended) {
            return None;
        }
        let at = list.iter().position(|record| line.contains(&record.ppa.0))?;
        let record = list.remove(at)?;
        let Some((lpn, from)) = record.change else { return Some(None) };
        if !record.superseded {
            // Earlier changes of the page are superseded, later ones are not.
            self.supersede_before(lun, lpn, record.changed_at);
        }
        let change = Change { lpn, from, to: record.ppa };
        Some(Some(DurableChange {
            change,
            journals: !record.superseded,
            is_host: record.is_host,
            at: record.changed_at,
        }))
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
        if !list.iter().any(|record| record.ppa == ppa) {
            return Safety::Safe;
        }
        let in_flight = list.iter().any(|record| !record.ended && line.contains(&record.ppa.0));
        if closed || in_flight { Safety::Pending } else { Safety::Open }
    }
    /// True when a later place of a logical page, not safe yet, stands for `ppa`.
    #[inline]
    pub(crate) fn is_replaced(&self, lun: LunIndex, ppa: Ppa) -> bool {
        self.luns[lun.index()].iter().any(|record| record.change.is_some_and(|(_, from)| from == ppa))
    }
    /// The number of programs begun so far.
    pub(crate) fn begun(&self) -> u64 {
        self.order
    }
    /// True when every program of the host's up to the `order`th is safe in the LUN.
    pub(crate) fn all_safe(&self, lun: LunIndex, order: u64) -> bool {
        !self.luns[lun.index()].iter().any(|record| record.is_host && record.order <= order)
    }
    /// The pages of a LUN that are not safe.
    pub(crate) fn pages(&self, lun: LunIndex) -> impl Iterator<Item = Ppa> {
        self.luns[lun.index()].iter().map(|record| record.ppa)
    }
    /// The changes of a LUN that aren't journaled and may yet be, with their order.
    pub(crate) fn unjournaled(&self, lun: LunIndex) -> impl Iterator<Item = (u64, Lpn, Ppa)> {
        let records = self.luns[lun.index()].iter().filter(|record| !record.superseded);
        records.filter_map(|record| record.change.map(|(lpn, from)| (record.changed_at, lpn, from)))
    }
    /// The pages of a LUN that were replaced by programs which are superseded themselves.
    pub(crate) fn superseded_origins(&self, lun: LunIndex) -> impl Iterator<Item = Ppa> {
        let records = self.luns[lun.index()].iter().filter(|record| record.superseded);
        records.filter_map(|record| record.change.map(|(_, from)| from))
    }
    /// The programs of a LUN that have not ended, and what they copy.
    pub(crate) fn in_flight(&self, lun: LunIndex) -> impl Iterator<Item = (Ppa, Option<(Lpn, Ppa)>)> {
        self.luns[lun.index()]
            .iter()
            .filter(|record| !record.ended)
            .map(|record| (record.ppa, record.copy_of))
    }
}
