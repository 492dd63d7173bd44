//! Journal, mapping, cache and collector by themselves, over a flash array: no host and no boot.

use super::bench::part;
use super::flash::{Cells, SharedCells, serve};
use crate::cache::buffer::Want;
use crate::cache::state::Cache;
use crate::collector::gc;
use crate::collector::state::Collector;
use crate::journal::log;
use crate::journal::state::Journal;
use crate::mapping::mapped::Mapped;
use crate::mapping::resident::ResidentMap;
use crate::page::buffers::Granules;
use crate::terms::block::{BlockEntry, BlockIndex, BlockState, Stream};
use crate::terms::oob::OobRecord;
use crate::{DriveState, FtlConfig, NVRAM_BYTES, Setup};
use aster_events::Recorder;
use aster_exec::{Core, Exec};
use aster_ports::cores::Interrupt;
use aster_ports::dram::{Dram, SharedDram};
use aster_ports::flash::FlashPort;
use aster_ports::host::CommandPort;
use aster_ports::medium::Nvram;
use aster_units::{BufferId, Frequency, Lpn, LunIndex, Ppa};
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

/// The parts above blocks, of an empty drive that is ready. Garbage collection is paused.
pub struct UpperParts {
    pub exec: Exec,
    pub cells: SharedCells,
    pub dram: SharedDram,
    pub journal: Rc<Journal>,
    pub mapping: Rc<Mapped<ResidentMap>>,
    pub cache: Rc<Cache<ResidentMap>>,
    pub collector: Rc<Collector<ResidentMap>>,
}

impl UpperParts {
    pub fn new(config: FtlConfig) -> UpperParts {
        let exec = Exec::new();
        let core = Core::new(&exec, Frequency::from_hertz(1_000_000_000).unwrap());
        let (sectors, luns) = (config.geometry.sectors_per_page(), config.geometry.total_luns());
        let (data, metadata) = (config.buffers().data(), config.buffers().metadata());
        let dram = Dram::new(config.content, sectors, config.oob_bytes() as u8, data, metadata, 0);
        OobRecord::padding()
            .encode_as(config.units(), dram.borrow_mut().oob_mut(BufferId(config.buffers().padding())));
        let flash = FlashPort::new(&exec, luns, 8, Interrupt::default());
        let cells = Cells::new(config.geometry, 1);
        serve(&core, &cells, &flash, &dram);
        let nvram = part(&Nvram::volatile(NVRAM_BYTES));
        let (setup, recorder) = (Setup::from(config), Recorder::default());
        let journal = Rc::new(Journal::new(&core, setup, dram.clone(), flash, nvram, recorder));
        let map = ResidentMap::new(journal.own.all_units());
        let mapping = Rc::new(Mapped::new(Rc::clone(&journal), map));
        let commands = CommandPort::new(&exec, config.host.command_slots, 2 * config.host.command_slots);
        let cache = Rc::new(Cache::new(commands, &mapping));
        let collector = Rc::new(Collector::new(&mapping));
        have_erased_blocks(&journal);
        journal.health.set_state(DriveState::Ready);
        exec.spawn(log::run(Rc::clone(&journal.log_writer)));
        for lun in (0..luns).map(LunIndex) {
            exec.spawn(gc::run(Rc::clone(&collector), lun));
        }
        UpperParts { exec, cells, dram, journal, mapping, cache, collector }
    }
    /// Runs something to its end.
    pub fn run<T: 'static>(&self, work: impl Future<Output = T> + 'static) -> T {
        let result: Rc<RefCell<Option<T>>> = Rc::default();
        let into = Rc::clone(&result);
        self.exec.spawn(async move {
            let value = work.await;
            *into.borrow_mut() = Some(value);
        });
        loop {
            self.exec.advance_to(self.exec.now());
            if let Some(value) = result.take() {
                return value;
            }
            self.step();
        }
    }
    /// Lets time pass to the next thing that is due.
    pub fn step(&self) {
        self.exec.advance_to(self.exec.next_deadline().expect("something is in work"));
    }
    /// Lets everything come to rest.
    pub fn rest(&self) {
        while let Some(deadline) = self.exec.next_deadline() {
            self.exec.advance_to(deadline);
        }
    }
    /// Writes some granules of a page through the cache to flash; gives where the page stands then.
    pub fn write(&self, page: Lpn, granules: Granules, byte: u8) -> Ppa {
        let (cache, journal) = (Rc::clone(&self.cache), Rc::clone(&self.journal));
        let len = journal.pages().granule_bytes() as usize;
        self.run(async move {
            cache.reserve_dirty().await.unwrap();
            let frame = journal.runtime().units.frame_of(page);
            let (entry, _) = cache.lock(frame, Want::Write).await.unwrap();
            let into = BufferId(entry.0);
            for (nth, bytes) in journal.pages().dram().borrow_mut().page_mut(into).chunks_mut(len).enumerate()
            {
                if granules >> nth & 1 == 1 {
                    bytes.fill(byte);
                }
            }
            cache.entries.written(entry, granules, 0);
            cache.evict_locked(entry).await.unwrap().1
        })
    }
    /// Writes a whole page.
    pub fn write_page(&self, page: Lpn, byte: u8) -> Ppa {
        self.write(page, self.journal.pages().whole_page(), byte)
    }
    /// The physical page that a logical page is in.
    pub fn page_of(&self, page: Lpn) -> Ppa {
        self.journal.runtime().units.page_of(self.mapping.place_of_pinned(page))
    }
    /// Whether a physical page's first unit is valid.
    pub fn is_valid(&self, page: Ppa) -> bool {
        self.journal.blocks().table().valid.is_valid(self.journal.runtime().units.first_in(page))
    }
    /// Takes a page out of the cache.
    pub fn forget(&self, page: Lpn) {
        let (cache, frame) = (Rc::clone(&self.cache), self.journal.runtime().units.frame_of(page));
        self.run(async move {
            let (entry, _) = cache.lock(frame, Want::Write).await.unwrap();
            cache.entries.discard(entry);
        });
    }
    /// What stands in a physical page: its content and its record.
    pub fn stored(&self, at: Ppa) -> (std::vec::Vec<u8>, OobRecord) {
        let cells = self.cells.borrow();
        (cells.content(at).unwrap(), cells.record(at).unwrap())
    }
}

impl Drop for UpperParts {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

/// Sets blocks aside for the log; all others are free.
fn have_erased_blocks(journal: &Journal) {
    journal.log.forget();
    let of_log = journal.log.slot_blocks();
    let total = journal.blocks().table().layout.total();
    for block in (0..total).map(BlockIndex) {
        let state = if of_log.contains(&block) { BlockState::Log } else { BlockState::Free };
        let entry = BlockEntry { state, stream: Stream::Host(0), next: 0, erases: 0, unverified: false };
        journal.blocks().table().adopt(block, entry).unwrap();
    }
    journal.log.end_boot();
}
