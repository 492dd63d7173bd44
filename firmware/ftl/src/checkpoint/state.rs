use crate::collector::state::Collector;
use crate::journal::state::Journal;
use crate::mapping::Mapping;
use crate::mapping::mapped::Mapped;
use alloc::rc::Rc;
use core::cell::Cell;

/// What brings the drive's state to NAND and back.
pub(crate) struct Checkpoint<M> {
    pub(super) generation: Cell<u64>,
    pub(crate) collector: Rc<Collector<M>>,
    pub(crate) mapping: Rc<Mapped<M>>,
    pub(crate) journal: Rc<Journal>,
}

impl<M: Mapping> Checkpoint<M> {
    pub(crate) fn new(collector: Rc<Collector<M>>, mapping: &Rc<Mapped<M>>) -> Self {
        Checkpoint {
            generation: Cell::new(0),
            collector,
            mapping: Rc::clone(mapping),
            journal: Rc::clone(&mapping.journal),
        }
    }
    /// Of the newest stored map, or of the one that is being stored.
    pub(crate) fn generation(&self) -> &Cell<u64> {
        &self.generation
    }
}
