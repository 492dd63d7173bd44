use crate::blocks::pool::BlockPool;
use crate::cache::state::Cache;
use crate::checkpoint::state::Checkpoint;
use crate::collector::state::Collector;
use crate::host::commands::Commands;
use crate::host::slices::Slices;
use crate::journal::state::Journal;
use crate::mapping::Mapping;
use crate::mapping::mapped::Mapped;
use crate::page::buffers::PageBuffers;
use crate::terms::reused::Reused;
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::WaitQueue;
use aster_ports::flash::Tag;
use aster_ports::host::CommandPort;
use aster_units::Ppa;
use core::cell::RefCell;

/// The commands in progress, and the parts of the FTL that carry them out. No borrow of a cell lives across
/// an await.
pub(crate) struct Host<M: Mapping> {
    pub(super) port: Rc<CommandPort>,
    pub(super) commands: RefCell<Commands>,
    pub(super) slices: Slices,
    // Flushes wait here for their other slices, and the intake for the writes that came before a flush.
    pub(super) flush_waiters: WaitQueue,
    // Padding that flushes have begun.
    pub(super) padding: Reused<Vec<(Ppa, Tag)>>,
    pub(super) checkpoint: Rc<Checkpoint<M>>,
    pub(super) collector: Rc<Collector<M>>,
    pub(super) cache: Rc<Cache<M>>,
    pub(super) mapping: Rc<Mapped<M>>,
    pub(super) journal: Rc<Journal>,
    pub(super) blocks: Rc<BlockPool>,
    pub(super) pages: Rc<PageBuffers>,
    pub(super) runtime: Rc<Runtime>,
    /// Reads take the general way, also where a shorter one does the same.
    #[cfg(test)]
    pub(crate) in_steps: core::cell::Cell<bool>,
}

impl<M: Mapping> Host<M> {
    pub(crate) fn new(port: Rc<CommandPort>, checkpoint: Rc<Checkpoint<M>>, cache: Rc<Cache<M>>) -> Self {
        let (collector, mapping) = (Rc::clone(&checkpoint.collector), Rc::clone(&checkpoint.mapping));
        let journal = Rc::clone(&checkpoint.journal);
        Host {
            port,
            commands: RefCell::new(Commands::new(journal.runtime().config.host.command_slots)),
            slices: Slices::new(journal.runtime().config.host.slice_workers),
            flush_waiters: WaitQueue::with_capacity(
                usize::from(journal.runtime().config.host.slice_workers) + 1,
            ),
            padding: Reused::with_capacity(usize::from(journal.runtime().config.host.slice_workers)),
            checkpoint,
            collector,
            cache,
            mapping,
            blocks: Rc::clone(journal.blocks()),
            pages: Rc::clone(journal.pages()),
            runtime: Rc::clone(journal.runtime()),
            journal,
            #[cfg(test)]
            in_steps: core::cell::Cell::default(),
        }
    }
    /// How many slices wait for a worker.
    #[cfg(test)]
    pub(crate) fn slices_queued(&self) -> usize {
        self.slices.queued()
    }
}
