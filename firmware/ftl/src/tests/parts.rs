//! Lower parts of the FTL by themselves, on a flash port that the test answers.

use crate::journal::state::Journal;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::terms::block::{BlockEntry, BlockIndex, BlockState, Stream};
use crate::terms::runtime::Runtime;
use crate::{DriveState, FtlConfig, NVRAM_BYTES, Setup};
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_parties::NvramSlice;
use aster_ports::cores::Interrupt;
use aster_ports::dram::Dram;
use aster_ports::flash::{FlashOp, FlashPort, FlashStatus, Outcome};
use aster_ports::medium::Nvram;
use aster_units::{Frequency, Instant, LunIndex};
use core::future::Future;
use core::task::{Context, Poll, Waker};
use std::pin::pin;
use std::rc::Rc;
use std::vec::Vec;

/// What a future gives that has nothing to wait for.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("this waits"),
    }
}

/// The parts below blocks, of a drive that is ready.
pub struct LowerParts {
    pub exec: Exec,
    pub runtime: Rc<Runtime>,
    pub media: Rc<Media>,
}

impl LowerParts {
    /// With room for `depth` flash requests.
    pub fn new(config: FtlConfig, depth: u16) -> LowerParts {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let runtime = Rc::new(Runtime::new(&core, config, Recorder::default()));
        runtime.count(|stats| stats.state = DriveState::Ready);
        let sectors = config.geometry.sectors_per_page();
        let dram = Dram::new(config.content, sectors, config.oob_bytes() as u8, 4, 1, 0);
        let pages = Rc::new(PageBuffers::new(&config, dram));
        let port =
            FlashPort::new(&exec, config.planes().lun_geometry().total_luns(), depth, Interrupt::default());
        let media = Rc::new(Media::new(&runtime, &pages, port));
        LowerParts { exec, runtime, media }
    }
    /// Lets all tasks run as far as they come without time passing.
    pub fn run(&self) {
        self.exec.advance_to(Instant::ZERO);
    }
}

/// A journal and what is below it, of a drive that is ready; all blocks are free.
pub struct JournalAlone {
    pub exec: Exec,
    pub journal: Rc<Journal>,
}

impl JournalAlone {
    /// With room for `depth` flash requests.
    pub fn new(config: FtlConfig, depth: u16) -> JournalAlone {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let sectors = config.geometry.sectors_per_page();
        let dram =
            Dram::new(config.content, sectors, config.oob_bytes() as u8, config.buffers().data(), 4, 0);
        let flash = FlashPort::new(&exec, config.geometry.total_luns(), depth, Interrupt::default());
        let nvram = NvramSlice::new(&Nvram::volatile(NVRAM_BYTES), 0, NVRAM_BYTES);
        let journal =
            Rc::new(Journal::new(&core, Setup::from(config), dram, flash, nvram, Recorder::default()));
        journal.runtime().count(|stats| stats.state = DriveState::Ready);
        let total = journal.blocks().table().layout.total();
        for block in (0..total).map(BlockIndex) {
            let (state, stream) = (BlockState::Free, Stream::Host(0));
            let entry = BlockEntry { state, stream, next: 0, erases: 0, unverified: false };
            journal.blocks().table().adopt(block, entry).unwrap();
        }
        JournalAlone { exec, journal }
    }
    /// As after a log page that lists free blocks of each LUN.
    pub fn list_free_blocks(&self) {
        let (blocks, mut listed) = (self.journal.blocks().table(), Vec::new());
        for lun in 0..self.journal.runtime().geometry.total_luns() {
            blocks.free.list(LunIndex(lun), 2, &mut listed);
        }
        blocks.free.page_is_written();
    }
    /// Lets all tasks run as far as they come without time passing.
    pub fn run(&self) {
        self.exec.advance_to(Instant::ZERO);
    }
    /// Answers all flash requests, and those that come of that. Gives how many programs there were.
    pub fn answer(&self, status: FlashStatus) -> usize {
        let mut programs = 0;
        loop {
            self.run();
            let luns = (0..self.journal.runtime().geometry.total_luns()).map(LunIndex);
            let port = self.journal.media().port();
            let begun: Vec<_> = luns.filter_map(|lun| port.try_next(lun, |_| 0)).collect();
            if begun.is_empty() {
                return programs;
            }
            for (tag, request) in begun {
                programs += usize::from(request.phase == FlashOp::Program);
                port.complete(tag, [Outcome { status, ..Outcome::default() }; 4]);
            }
        }
    }
}
