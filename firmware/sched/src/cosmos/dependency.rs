//! The dependency checker (Fig 8): it decides which operations of a set may go to the reservation station
//! (C32, C33).

use crate::loop_operation::{Operation, OperationKind, SetId};
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::Fifo;
use aster_units::{BufferId, LunIndex};

/// The most operations in a set: read-trigger, read-transfer, TxDMA (Fig 10).
pub const SET_MAX: usize = 3;

#[derive(Clone, Copy)]
struct Set {
    kinds: [OperationKind; SET_MAX],
    length: u8,
    delivered: u8,
    completed: u8,
    lun: LunIndex,
    buffer: BufferId,
}

/// Keeps the operations of each set in order. An operation leaves only when all earlier ones of its set have
/// been completed. A read-transfer is the exception: it leaves with its read-trigger, since both go into the
/// same queue, which keeps their order.
pub struct DependencyChecker {
    sets: Vec<Option<Set>>,
    free: Vec<u16>,
    // Sets whose next operation may be delivered, in the order in which they became deliverable.
    deliverable: Fifo<SetId>,
}

impl DependencyChecker {
    /// Room for `sets` sets; allocates all memory now.
    pub fn new(sets: u16) -> Self {
        DependencyChecker {
            sets: vec![None; usize::from(sets)],
            free: (0..sets).rev().collect(),
            deliverable: Fifo::with_capacity(usize::from(sets)),
        }
    }

    /// True when no further set fits.
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Takes a set of one to [`SET_MAX`] operations, in their order. There must be room.
    #[inline]
    pub fn deposit(&mut self, kinds: &[OperationKind], lun: LunIndex, buffer: BufferId) -> SetId {
        assert!((1..=SET_MAX).contains(&kinds.len()), "a set of {} operations", kinds.len());
        let slot = self.free.pop().expect("whoever deposits has looked whether there is room");
        let mut all = [kinds[0]; SET_MAX];
        all[..kinds.len()].copy_from_slice(kinds);
        let set = Set { kinds: all, length: kinds.len() as u8, delivered: 0, completed: 0, lun, buffer };
        self.sets[usize::from(slot)] = Some(set);
        self.deliverable.push_back(SetId(slot));
        SetId(slot)
    }

    /// Delivers the next deliverable operation, with the read-transfer that follows a read-trigger (C33).
    #[inline]
    pub fn deliver(&mut self) -> Option<(Operation, Option<Operation>)> {
        let id = self.deliverable.pop_front()?;
        let first = self.take(id);
        let set = self.set(id);
        let follows = first.kind == OperationKind::ReadTrigger
            && set.delivered < set.length
            && set.kinds[usize::from(set.delivered)] == OperationKind::ReadTransfer;
        let second = follows.then(|| self.take(id));
        Some((first, second))
    }
    fn set(&mut self, id: SetId) -> &mut Set {
        self.sets[id.index()].as_mut().expect("a set in the checker's hands")
    }
    fn take(&mut self, id: SetId) -> Operation {
        let set = self.set(id);
        let step = set.delivered;
        set.delivered += 1;
        let (kind, buffer) = (set.kinds[usize::from(step)], set.buffer);
        let lun = if kind.is_host_dma() { LunIndex(0) } else { set.lun };
        Operation { kind, lun, buffer, set: id, step, again: false }
    }

    /// `operation` has been completed, so the next one of its set becomes deliverable. Returns true when it
    /// was the set's last.
    #[inline]
    pub fn completed(&mut self, operation: &Operation) -> bool {
        let id = operation.set;
        let set = self.set(id);
        assert_eq!(
            operation.step, set.completed,
            "{:?} was completed out of its set's order",
            operation.kind
        );
        set.completed += 1;
        if set.completed == set.length {
            self.remove(id);
            return true;
        }
        if set.completed == set.delivered {
            self.deliverable.push_back(id);
        }
        false
    }
    /// Drops the rest of the set. None of it may be deliverable: the failed operation was the last one
    /// delivered, or was delivered together with one that the caller takes back.
    pub fn abandon(&mut self, id: SetId) {
        self.set(id);
        self.remove(id);
    }
    fn remove(&mut self, id: SetId) {
        self.sets[id.index()] = None;
        self.free.push(id.0);
    }
}
