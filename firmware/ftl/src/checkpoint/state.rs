use crate::blocks::pool::BlockPool;
use crate::checkpoint::directory_copies::DirectoryCopies;
use crate::collector::state::Collector;
use crate::journal::state::Journal;
use crate::mapping::Mapping;
use crate::mapping::mapped::Mapped;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use aster_ports::emmc::EmmcPort;
use core::cell::Cell;

/// Brings the drive's state to NAND and back.
pub(crate) struct Checkpoint<M: Mapping> {
    pub(super) generation: Cell<u64>,
    pub(super) copies: DirectoryCopies,
    pub(crate) collector: Rc<Collector<M>>,
    pub(crate) mapping: Rc<Mapped<M>>,
    pub(crate) journal: Rc<Journal>,
    pub(super) blocks: Rc<BlockPool>,
    pub(super) media: Rc<Media>,
    pub(super) pages: Rc<PageBuffers>,
    pub(super) runtime: Rc<Runtime>,
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
            blocks: Rc::clone(mapping.journal.blocks()),
            media: Rc::clone(mapping.journal.media()),
            pages: Rc::clone(mapping.journal.pages()),
            runtime: Rc::clone(mapping.journal.runtime()),
        }
    }
    /// The generation of the newest stored map, or of the one that is being stored.
    pub(crate) fn generation(&self) -> &Cell<u64> {
        &self.generation
    }
}
