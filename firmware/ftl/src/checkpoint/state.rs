use crate::collector::state::Collector;
use crate::journal::state::Journal;
use crate::mapping::mapped::Mapped;
use alloc::rc::Rc;
use core::cell::Cell;

/// What brings the drive's state to NAND and back.
pub(crate) struct Checkpoint {
    pub(super) generation: Cell<u64>,
    pub(crate) collector: Rc<Collector>,
    pub(crate) mapping: Rc<Mapped>,
    pub(crate) journal: Rc<Journal>,
}

impl Checkpoint {
    pub(crate) fn new(collector: Rc<Collector>, mapping: &Rc<Mapped>) -> Self {
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
