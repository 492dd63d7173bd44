//! The state of a map on flash.

use crate::journal::state::Journal;
use crate::mapping::demand::budget::{Budget, Whose};
use crate::mapping::demand::clean::Clean;
use crate::mapping::demand::directory::Directory;
use crate::mapping::demand::rows::Rows;
use crate::mapping::store::MapStore;
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Wait;
use aster_exec::WaitQueue;
use aster_units::{BufferId, Lpn, LunIndex, Ppa};
use core::cell::{Cell, RefCell};

/// What a map has done since power-on.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    /// Look-ups that found their entry in memory, and those that did not.
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    /// Of these, those that another task was reading the page for.
    pub(crate) joined: u64,
    /// Translation pages read and programmed, and the changes that went with them.
    pub(crate) page_reads: u64,
    pub(crate) page_programs: u64,
    pub(crate) changes: u64,
    /// Times that a task has waited for room.
    pub(crate) room_waits: u64,
}

/// A translation page that is being read.
pub(super) struct Loading {
    pub(super) page: u32,
    /// It was written since the read began: what comes is of before.
    pub(super) is_stale: bool,
}

/// A map on flash, and what memory has of it.
pub(super) struct Demand {
    pub(super) store: MapStore,
    pub(super) host_units: u32,
    pub(super) entries: u32,
    pub(super) pages: u32,
    pub(super) stored_rows_at: u32,
    pub(super) stored_rows: u32,
    pub(super) directory: RefCell<Directory>,
    pub(super) rows: RefCell<Rows>,
    pub(super) clean: RefCell<Clean>,
    pub(super) budget: RefCell<Budget>,
    pub(super) loading: RefCell<Vec<Loading>>,
    pub(super) load_waiters: WaitQueue,
    pub(super) buffers: RefCell<Vec<BufferId>>,
    pub(super) buffer_waiters: WaitQueue,
    /// Per translation page: it is being written, or what was written isn't safe yet.
    pub(super) busy: RefCell<Vec<bool>>,
    /// It can't be read any more.
    pub(super) lost: RefCell<Vec<bool>>,
    /// Pages written that a loss of power could still undo.
    pub(super) written: RefCell<Vec<(u32, Ppa)>>,
    /// Pages in which nothing is mapped any more, each with the number of the log entry that says so.
    pub(super) unmapped: RefCell<Vec<(u32, u64)>>,
    /// Tasks that write.
    pub(super) active: Cell<u32>,
    pub(super) idle_waiters: WaitQueue,
    pub(super) room_waiters: WaitQueue,
    /// Per LUN: garbage collection that waits for room.
    pub(super) collector_waits: Box<[Cell<bool>]>,
    /// There will be no room any more.
    pub(super) is_hopeless: Cell<bool>,
    pub(super) is_booting: Cell<bool>,
    pub(super) counts: Cell<Counts>,
}

impl Demand {
    /// An empty map. All memory is taken now.
    pub(super) fn new(store: MapStore, pages: u32) -> Self {
        let journal = Rc::clone(store.journal());
        let config = &journal.runtime().config;
        let sizes = config.map_sizes().expect("a configuration that was checked has a cache for its map");
        let cache = config.map_cache().expect("a map on flash has a cache");
        let (luns, workers) = (config.geometry.total_luns(), usize::from(config.host.slice_workers));
        let host_units = journal.own.host_units();
        let entries = cache.entries(config.geometry.page_bytes);
        assert_eq!(pages, host_units + sizes.pages, "a map has as many units as it was asked for");
        let metadata = |n| journal.pages().dram().borrow().metadata_buffer(n);
        let buffers: Vec<_> =
            (0..config.buffers().loads()).map(|n| metadata(config.buffers().load(n))).collect();
        Demand {
            host_units,
            entries,
            pages: sizes.pages,
            stored_rows_at: config.stored_map().rows_at(),
            stored_rows: config.stored_map().rows(),
            directory: RefCell::new(Directory::new(sizes.pages, config.physical_units())),
            rows: RefCell::new(Rows::new(sizes.layout, sizes.pages, entries, sizes.rows, config.pins())),
            clean: RefCell::new(Clean::new(sizes.pages, entries, sizes.clean_pages)),
            budget: RefCell::new(Budget::new(sizes.host_rows, luns, sizes.collector_rows)),
            loading: RefCell::new(Vec::with_capacity(workers + luns as usize)),
            load_waiters: WaitQueue::with_capacity(workers + luns as usize),
            buffer_waiters: WaitQueue::with_capacity(workers + luns as usize),
            buffers: RefCell::new(buffers),
            busy: RefCell::new(vec![false; sizes.pages as usize]),
            lost: RefCell::new(vec![false; sizes.pages as usize]),
            written: RefCell::new(Vec::with_capacity(sizes.pages as usize)),
            unmapped: RefCell::new(Vec::with_capacity(sizes.pages as usize)),
            active: Cell::new(0),
            idle_waiters: WaitQueue::with_capacity(1),
            room_waiters: WaitQueue::with_capacity(workers + luns as usize),
            collector_waits: (0..luns).map(|_| Cell::new(false)).collect(),
            is_hopeless: Cell::new(false),
            is_booting: Cell::new(true),
            counts: Cell::default(),
            store,
        }
    }
    pub(super) fn journal(&self) -> &Journal {
        self.store.journal()
    }
    pub(super) fn runtime(&self) -> &Runtime {
        self.store.journal().runtime()
    }
    pub(super) fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }
    /// The unit that a translation page is.
    pub(super) fn unit_of(&self, page: u32) -> Lpn {
        Lpn(self.host_units + page)
    }
    /// The translation page that a unit is, if it is one.
    pub(super) fn own_page(&self, unit: Lpn) -> Option<u32> {
        unit.0.checked_sub(self.host_units)
    }
    /// The translation page that has the place of a unit of the host's, and which of its entries that is.
    pub(super) fn entry_of(&self, unit: Lpn) -> (u32, u32) {
        (unit.0 / self.entries, unit.0 % self.entries)
    }
    /// Puts the entries of a page in a buffer into `into`, complemented as they are.
    pub(super) fn copy_entries(&self, from: BufferId, into: &mut [u32]) {
        let dram = self.journal().pages().dram().borrow();
        for (entry, bytes) in into.iter_mut().zip(dram.page(from).chunks_exact(4)) {
            *entry = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
    }

    // ---- room ----

    /// Takes room for changes.
    pub(super) fn take_room(&self, whose: Whose, changes: u32) -> Option<Whose> {
        self.budget.borrow_mut().take(whose, changes)
    }
    /// Waits for room, and says of whose share it is; `None` when there will never be any.
    pub(super) async fn wait_room(&self, whose: Whose, changes: u32) -> Option<Whose> {
        self.count(|counts| counts.room_waits += 1);
        let waits = |is: bool| {
            if let Whose::Collector(lun) = whose {
                self.collector_waits[lun.index()].set(is);
            }
        };
        waits(true);
        let taken = self.room_waiters.wait(self.runtime().exec(), || {
            let taken = self.take_room(whose, changes);
            if taken.is_none() {
                // Each time: who writes may have looked for work while nobody waited, since all were about to
                // look for room.
                self.journal().blocks().queues.ask_flush();
            }
            if taken.is_some() { Some(taken) } else { self.is_hopeless.get().then_some(None) }
        });
        let taken = self.runtime().waiting(Wait::MapRoom, taken).await;
        waits(false);
        taken
    }
    /// Rows have become clean.
    pub(super) fn cleaned(&self, rows: u32) {
        if rows > 0 {
            let waits = |lun: LunIndex| self.collector_waits[lun.index()].get();
            self.budget.borrow_mut().cleaned(rows, waits);
            self.is_hopeless.set(false);
            self.room_waiters.wake_all(self.runtime().exec());
        }
    }
}
