//! Programs that a loss of power could still undo.
//!
//! A program that is cut off takes the lower pages of its word line along (MLC's lost LSB). So a page is safe only once
//! its whole word line is programmed, or its block takes no more programs. Until then
//! - what it replaces stays valid, so that no block is erased that may be needed again;
//! - the log does not say that the logical page has moved; recovery finds the new page by looking.

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
struct Record {
    ppa: Ppa,
    // The host waits for it to be safe, sooner or later; what garbage collection copies is safe where it comes from.
    is_host: bool,
    // Counts programs.
    order: u64,
    ended: bool,
    // What the program changed, when, and whether something later has made it void for the log.
    change: Option<(Lpn, Ppa)>,
    changed_at: u64,
    void: bool,
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
pub(crate) struct Unsettled {
    luns: Box<[VecDeque<Record>]>,
    order: u64,
    changes: u64,
}

impl Unsettled {
    /// Room for `depth` programs a LUN.
    pub(crate) fn new(luns: u32, depth: usize) -> Self {
        let list = |_| VecDeque::with_capacity(depth);
        Unsettled { luns: (0..luns).map(list).collect(), order: 0, changes: 0 }
    }
    /// A program begins.
    #[inline]
    pub(crate) fn begin(&mut self, lun: LunIndex, ppa: Ppa, is_host: bool) {
        self.order += 1;
        self.luns[lun.index()].push_back(Record {
            ppa,
            is_host,
            order: self.order,
            ended: false,
            change: None,
            changed_at: 0,
            void: false,
        });
    }
    fn find(&mut self, lun: LunIndex, ppa: Ppa) -> &mut Record {
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
    /// The logical page was unmapped: the log must not say any more where it has moved to.
    pub(crate) fn unmapped(&mut self, lun: LunIndex, lpn: Lpn) {
        self.void_before(lun, lpn, u64::MAX);
    }
    fn void_before(&mut self, lun: LunIndex, lpn: Lpn, at: u64) {
        for record in &mut self.luns[lun.index()] {
            if record.changed_at < at && record.change.is_some_and(|(of, _)| of == lpn) {
                record.void = true;
            }
        }
    }

    /// Takes out a program that has ended in a word line, `line`, of which `closed` says that no program will come to it
    /// any more; `None` while one of the line is in flight, or when there is none left. Gives what it changed, whether
    /// the log is to say so, and whether it is the host's.
    pub(crate) fn settle(
        &mut self,
        lun: LunIndex,
        line: core::ops::Range<u32>,
        closed: bool,
    ) -> Option<Option<(Change, bool, bool)>> {
        let list = &mut self.luns[lun.index()];
        let inside = |record: &&Record| line.contains(&record.ppa.0);
        if !closed || list.iter().filter(inside).any(|record| !record.ended) {
            return None;
        }
        let at = list.iter().position(|record| line.contains(&record.ppa.0))?;
        let record = list.remove(at)?;
        let Some((lpn, from)) = record.change else { return Some(None) };
        if !record.void {
            // Later changes of the page keep their turn, earlier ones have missed it.
            self.void_before(lun, lpn, record.changed_at);
        }
        Some(Some((Change { lpn, from, to: record.ppa }, !record.void, record.is_host)))
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
    /// True when every program of the drive up to the `order`th has ended.
    pub(crate) fn all_ended(&self, order: u64) -> bool {
        let waits = |list: &VecDeque<Record>| list.iter().any(|r| !r.ended && r.order <= order);
        !self.luns.iter().any(waits)
    }
    /// The pages of a LUN that are not safe.
    pub(crate) fn pages(&self, lun: LunIndex) -> impl Iterator<Item = Ppa> {
        self.luns[lun.index()].iter().map(|record| record.ppa)
    }
    /// Changes that the log has not been told, latest first: undone in this order they lead to what it says.
    pub(crate) fn to_undo(&self) -> alloc::vec::Vec<(Lpn, Ppa)> {
        let told = |record: &&Record| record.change.is_some() && !record.void;
        let mut changes: alloc::vec::Vec<&Record> = self.luns.iter().flatten().filter(told).collect();
        changes.sort_by_key(|record| core::cmp::Reverse(record.changed_at));
        changes.into_iter().filter_map(|record| record.change).collect()
    }
}
