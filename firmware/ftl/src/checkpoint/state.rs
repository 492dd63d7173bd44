use crate::checkpoint::directory_copies::DirectoryCopies;
use crate::collector::state::Collector;
use crate::journal::state::Journal;
use crate::mapping::Mapping;
use crate::mapping::mapped::Mapped;
use alloc::rc::Rc;
use aster_ports::emmc::EmmcPort;
use core::cell::Cell;

/// What brings the drive's state to NAND and back.
pub(crate) struct Checkpoint<M: Mapping> {
    pub(super) generation: Cell<u64>,
    pub(super) copies: DirectoryCopies,
    pub(crate) collector: Rc<Collector<M>>,
    pub(crate) mapping: Rc<Mapped<M>>,
    pub(crate) journal: Rc<Journal>,
}

impl<M: Mapping> Checkpoint<M> {
    pub(crate) fn new(
        collector: Rc<Collector<M>>,
        mapping: &Rc<Mapped<M>>,
        emmc: Option<Rc<EmmcPort>>,
    ) -> Self {
        Checkpoint {
            generation: Cell::new(0),
            copies: DirectoryCopies::new(emmc),
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
