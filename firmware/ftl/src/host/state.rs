use crate::cache::state::Cache;
use crate::checkpoint::state::Checkpoint;
use crate::collector::state::Collector;
use crate::host::commands::Commands;
use crate::host::slices::Slices;
use crate::journal::state::Journal;
use crate::mapping::mapped::Mapped;
use alloc::rc::Rc;
use aster_exec::WaitQueue;
use aster_ports::host::CommandPort;
use core::cell::RefCell;

/// The commands in work, and what carries them out. No borrow of a cell lives across an await.
pub(crate) struct Host {
    pub(super) port: Rc<CommandPort>,
    pub(super) commands: RefCell<Commands>,
    pub(super) slices: Slices,
    // Flushes waiting for their slices, and the intake for the writes that came before one.
    pub(super) flush_waiters: WaitQueue,
    pub(super) checkpoint: Rc<Checkpoint>,
    pub(super) collector: Rc<Collector>,
    pub(super) cache: Rc<Cache>,
    pub(super) mapping: Rc<Mapped>,
    pub(super) journal: Rc<Journal>,
}

impl Host {
    pub(crate) fn new(port: Rc<CommandPort>, checkpoint: Rc<Checkpoint>, cache: Rc<Cache>) -> Self {
        let (collector, mapping) = (Rc::clone(&checkpoint.collector), Rc::clone(&checkpoint.mapping));
        let journal = Rc::clone(&checkpoint.journal);
        Host {
            port,
            commands: RefCell::new(Commands::new(journal.config.command_slots)),
            slices: Slices::new(journal.config.slice_workers),
            flush_waiters: WaitQueue::with_capacity(usize::from(journal.config.slice_workers) + 1),
            checkpoint,
            collector,
            cache,
            mapping,
            journal,
        }
    }
    /// What is waiting in front of the workers.
    #[cfg(test)]
    pub(crate) fn slices_queued(&self) -> usize {
        self.slices.queued()
    }
}
