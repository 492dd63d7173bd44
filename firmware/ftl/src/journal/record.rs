//! The root record in NVRAM, and the stored map that it names.

use crate::blocks::pool::BlockPool;
use crate::journal::log_page::StoredMap;
use crate::journal::log_state::LogState;
use crate::journal::own_pages::OwnPages;
use crate::journal::root::{LogPlace, Root, Stored};
use alloc::rc::Rc;
use aster_parties::NvramSlice;
use core::cell::{Cell, RefCell};

/// What the next power-on begins with.
pub(crate) struct RootRecord {
    nvram: NvramSlice,
    blocks: Rc<BlockPool>,
    own: Rc<OwnPages>,
    log: Rc<LogState>,
    // NVRAM says that the map on NAND is outdated.
    marked_dirty: Cell<bool>,
    stored: RefCell<StoredMap>,
}

impl RootRecord {
    pub(crate) fn new(
        nvram: NvramSlice,
        blocks: &Rc<BlockPool>,
        own: &Rc<OwnPages>,
        log: &Rc<LogState>,
    ) -> Self {
        RootRecord {
            nvram,
            blocks: Rc::clone(blocks),
            own: Rc::clone(own),
            log: Rc::clone(log),
            marked_dirty: Cell::new(false),
            stored: RefCell::default(),
        }
    }
    /// Marks the root record as outdated, before the first change after a shutdown or power-on.
    #[inline]
    pub(crate) fn mark_dirty(&self) {
        if !self.marked_dirty.replace(true) {
            self.store(false);
        }
    }
    /// Whether nothing has changed since a shutdown: the root record says where the drive's entire state is.
    pub(crate) fn is_as_shut_down(&self) -> bool {
        !self.marked_dirty.get()
    }
    /// What NVRAM says.
    pub(crate) fn load(&self) -> Stored {
        Root::load(&self.nvram)
    }
    /// Writes into NVRAM that the stored map is the drive's state.
    pub(crate) fn store_clean(&self) {
        self.store(true);
        self.nvram.save();
        self.marked_dirty.set(false);
    }
    /// Writes the root record into NVRAM.
    pub(super) fn store(&self, clean: bool) {
        let log = self.log.state.borrow();
        let place = LogPlace {
            number: log.number,
            commit: log.map.commit,
            replay_from: log.map.replay_from,
            at: log.at.map(|(slot, line)| (slot as u32, line)),
            ended: log.ended,
            read_only: self.log.takes_no_writes(),
            slots: log.slots.iter().map(|slot| slot.last).collect(),
        };
        let root = Root {
            clean,
            sequence: self.blocks.sequence.last(),
            shape: self.own.shape(),
            stored: self.stored.borrow().clone(),
            log: place,
        };
        root.store(&self.nvram);
    }

    // ---- the stored map ----

    /// The result of `read` on the stored map that the next recovery would begin with.
    pub(crate) fn read_stored_map<T>(&self, read: impl FnOnce(&StoredMap) -> T) -> T {
        read(&self.stored.borrow())
    }
    /// Replaces the stored map, and returns the one before.
    pub(crate) fn replace_stored_map(&self, stored: StoredMap) -> StoredMap {
        self.stored.replace(stored)
    }
    /// The generation of the stored map.
    pub(crate) fn generation(&self) -> u64 {
        self.stored.borrow().generation
    }
}
