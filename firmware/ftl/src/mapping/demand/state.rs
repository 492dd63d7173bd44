//! The state of a map on flash.

use crate::journal::state::Journal;
use crate::mapping::demand::budget::Budget;
use crate::mapping::demand::clean::Clean;
use crate::mapping::demand::directory::Directory;
use crate::mapping::demand::flushes::Flushes;
use crate::mapping::demand::loads::Loads;
use crate::mapping::demand::room::RowRoom;
use crate::mapping::demand::rows::Rows;
use crate::mapping::demand::shape::Shape;
use crate::mapping::store::MapStore;
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use aster_units::BufferId;
use core::cell::{Cell, RefCell};

/// What a map has done since power-on.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    /// Look-ups that found their entry in memory, and those that didn't.
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    /// Misses for which another task was already reading the page.
    pub(crate) joined: u64,
    /// Translation pages read and programmed, and the changes written with them.
    pub(crate) page_reads: u64,
    pub(crate) page_programs: u64,
    pub(crate) changes: u64,
    /// Times that a task has waited for room.
    pub(crate) room_waits: u64,
}

/// A map on flash, and the part that is in memory.
pub(super) struct Demand {
    pub(super) store: MapStore,
    pub(super) shape: Shape,
    pub(super) directory: RefCell<Directory>,
    pub(super) rows: RefCell<Rows>,
    pub(super) clean: RefCell<Clean>,
    pub(super) room: RowRoom,
    pub(super) loads: Loads,
    pub(super) flushes: Flushes,
    pub(super) is_booting: Cell<bool>,
    pub(super) counts: Cell<Counts>,
}

impl Demand {
    /// An empty map. All memory is taken now.
    pub(super) fn new(store: MapStore, pages: u32) -> Self {
        let journal = Rc::clone(store.journal());
        let (runtime, blocks) = (journal.runtime(), journal.blocks());
        let config = &runtime.config;
        let sizes = config.map_sizes().expect("a configuration that was checked has a cache for its map");
        let luns = config.geometry.total_luns();
        let bound = usize::from(config.host.slice_workers) + luns as usize;
        let shape = Shape::new(config, journal.own.host_units(), sizes.pages);
        assert_eq!(pages, shape.host_units + sizes.pages, "a map has as many units as it was asked for");
        let metadata = |n| journal.pages().dram().borrow().metadata_buffer(n);
        let buffers = (0..config.buffers().loads()).map(|n| metadata(config.buffers().load(n)));
        let budget = Budget::new(sizes.host_rows, luns, sizes.collector_rows);
        let rows = Rows::new(sizes.layout, sizes.pages, shape.entries, sizes.rows, config.pins());
        Demand {
            directory: RefCell::new(Directory::new(sizes.pages, config.physical_units())),
            rows: RefCell::new(rows),
            clean: RefCell::new(Clean::new(sizes.pages, shape.entries, sizes.clean_pages)),
            room: RowRoom::new(runtime, blocks, budget, bound),
            loads: Loads::new(runtime, buffers, bound),
            flushes: Flushes::new(runtime, sizes.pages),
            is_booting: Cell::new(true),
            counts: Cell::default(),
            shape,
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
    /// Copies the entries of the page in a buffer to `into`. They stay complemented.
    pub(super) fn copy_entries(&self, from: BufferId, into: &mut [u32]) {
        let dram = self.journal().pages().dram().borrow();
        for (entry, bytes) in into.iter_mut().zip(dram.page(from).chunks_exact(4)) {
            *entry = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
    }
}
