//! Makes every change of flash, and keeps the records that are needed to find everything again.

use crate::blocks::pool::BlockPool;
use crate::journal::append::Writer;
use crate::journal::due::Due;
use crate::journal::health::Health;
use crate::journal::log::LogWriter;
use crate::journal::log_state::LogState;
use crate::journal::own_pages::OwnPages;
use crate::journal::record::RootRecord;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::setup::Setup;
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use aster_events::Recorder;
use aster_exec::Core;
use aster_parties::NvramSlice;
use aster_ports::dram::SharedDram;
use aster_ports::flash::FlashPort;
use core::cell::RefCell;

/// The parts of the journal, bottom up, and the modules that they use. No borrow of a cell lives across an
/// await.
pub(crate) struct Journal {
    runtime: Rc<Runtime>,
    pages: Rc<PageBuffers>,
    media: Rc<Media>,
    blocks: Rc<BlockPool>,
    /// Sizes and places of the drive's own pages.
    pub(crate) own: Rc<OwnPages>,
    /// Where the log stands.
    pub(crate) log: Rc<LogState>,
    /// The root record in NVRAM, and the stored map.
    pub(crate) root: Rc<RootRecord>,
    /// Tasks that wait for the log, or for a map to be stored.
    pub(crate) due: Rc<Due>,
    /// The drive's state, and who is told about it.
    pub(crate) health: Rc<Health>,
    /// Programs and erases.
    pub(crate) writer: Rc<Writer>,
    /// What writes the log.
    pub(crate) log_writer: Rc<LogWriter>,
}

impl Journal {
    pub(crate) fn new(
        core: &Core,
        Setup { config, victims, streams, lun_order, placed, .. }: Setup,
        dram: SharedDram,
        flash: Rc<FlashPort>,
        nvram: NvramSlice,
        recorder: Recorder,
    ) -> Self {
        let runtime = Rc::new(Runtime::new(core, config, recorder));
        let pages = Rc::new(PageBuffers::new(&config, dram));
        let media = Rc::new(Media::new(&runtime, &pages, flash));
        let blocks = Rc::new(BlockPool::new(&runtime, &media, victims, streams, lun_order));
        let own = Rc::new(OwnPages::new(&runtime, &pages, &media, placed));
        let log = Rc::new(LogState::new(&runtime, &blocks, &own));
        let root = Rc::new(RootRecord::new(nvram, &blocks, &own, &log));
        let due = Rc::new(Due::new(&runtime, &blocks, &own, &log, &root));
        let health = Rc::new(Health::new(&runtime, &blocks, &log, &root, &due));
        let writer = Rc::new(Writer {
            runtime: Rc::clone(&runtime),
            pages: Rc::clone(&pages),
            media: Rc::clone(&media),
            blocks: Rc::clone(&blocks),
            root: Rc::clone(&root),
            due: Rc::clone(&due),
            health: Rc::clone(&health),
        });
        let log_writer = Rc::new(LogWriter {
            runtime: Rc::clone(&runtime),
            pages: Rc::clone(&pages),
            media: Rc::clone(&media),
            blocks: Rc::clone(&blocks),
            own: Rc::clone(&own),
            log: Rc::clone(&log),
            root: Rc::clone(&root),
            due: Rc::clone(&due),
            health: Rc::clone(&health),
            writer: Rc::clone(&writer),
            end_watchers: RefCell::default(),
        });
        Journal { runtime, pages, media, blocks, own, log, root, due, health, writer, log_writer }
    }

    // ---- the modules below ----

    /// Core, configuration, statistics and events.
    #[inline]
    pub(crate) fn runtime(&self) -> &Rc<Runtime> {
        &self.runtime
    }
    /// The pages in their buffers.
    #[inline]
    pub(crate) fn pages(&self) -> &Rc<PageBuffers> {
        &self.pages
    }
    /// The flash. Changes go through the journal.
    #[inline]
    pub(crate) fn media(&self) -> &Rc<Media> {
        &self.media
    }
    /// The blocks.
    #[inline]
    pub(crate) fn blocks(&self) -> &Rc<BlockPool> {
        &self.blocks
    }
}
