use crate::blocks::buffer_pool::Pool;
use crate::blocks::pool::BlockPool;
use crate::cache::entries::Entries;
use crate::cache::packed::Packing;
use crate::cache::scattered::Scattered;
use crate::journal::state::Journal;
use crate::mapping::Mapping;
use crate::mapping::mapped::Mapped;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::terms::reused::Reused;
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_ports::host::CommandPort;
use aster_units::BufferId;

/// The data buffer: its entries, and the buffers in which pages are put together.
pub(crate) struct Cache<M: Mapping> {
    /// The entries.
    pub(crate) entries: Entries,
    /// Buffers for assembling a page outside of its entry.
    pub(crate) merging: Pool,
    // Buffers for packing units into a page, if that needs buffers of its own.
    packing: Option<Pool>,
    // The pages that tasks assemble, and those that they read together.
    pub(super) packings: Reused<Packing<M::Pin>>,
    pub(super) scattered: Reused<Scattered>,
    // Takes the transfers that are submitted together with a read.
    pub(super) port: Rc<CommandPort>,
    pub(super) mapping: Rc<Mapped<M>>,
    pub(super) journal: Rc<Journal>,
    pub(super) blocks: Rc<BlockPool>,
    pub(crate) media: Rc<Media>,
    pub(super) pages: Rc<PageBuffers>,
    pub(super) runtime: Rc<Runtime>,
}

impl<M: Mapping> Cache<M> {
    pub(crate) fn new(port: Rc<CommandPort>, mapping: &Rc<Mapped<M>>) -> Self {
        let (mapping, journal) = (Rc::clone(mapping), Rc::clone(&mapping.journal));
        let runtime = journal.runtime();
        let workers = usize::from(runtime.config.host.slice_workers);
        let buffers = runtime.buffers;
        let entries = Entries::new(runtime, journal.pages());
        journal.blocks().queues.when_full(Box::new(entries.waker()));
        Cache {
            entries,
            merging: Pool::new(runtime, buffers.merge().map(BufferId), workers),
            packing: (!buffers.packing().is_empty())
                .then(|| Pool::new(runtime, buffers.packing().map(BufferId), workers)),
            packings: Reused::with_capacity(workers),
            scattered: Reused::with_capacity(workers),
            port,
            mapping,
            blocks: Rc::clone(journal.blocks()),
            media: Rc::clone(journal.media()),
            pages: Rc::clone(journal.pages()),
            runtime: Rc::clone(runtime),
            journal,
        }
    }
    /// Buffers for pages that can't be programmed directly from an entry.
    pub(super) fn packing(&self) -> &Pool {
        self.packing.as_ref().unwrap_or(&self.merging)
    }
}
