//! The blocks of stored maps.

use crate::space::candidates::Candidates;
use crate::space::free::FreeLists;
use crate::space::layout::BlockLayout;
use crate::terms::block::BlockIndex;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_units::LunIndex;
use core::cell::RefCell;

/// Blocks that hold a stored map, and free blocks set aside for the next one: there must be room for it even
/// if failures have used up all other blocks.
pub(crate) struct MapBlocks {
    layout: BlockLayout,
    free: Rc<FreeLists>,
    candidates: Rc<Candidates>,
    // The most blocks of a LUN that maps take, unless no other LUN has any left.
    share: usize,
    // Free blocks of a LUN that garbage collection keeps.
    reserve: usize,
    luns: Box<[RefCell<OfLun>]>,
    // Blocks of earlier maps that aren't erased yet.
    old: RefCell<Vec<BlockIndex>>,
}

struct OfLun {
    set_aside: VecDeque<BlockIndex>,
    used: usize,
}

impl OfLun {
    fn new(share: usize) -> Self {
        OfLun { set_aside: VecDeque::with_capacity(share), used: 0 }
    }
}

impl MapBlocks {
    /// Maps take at most `share` blocks of each LUN, and garbage collection keeps `reserve` free ones.
    pub(crate) fn new(
        layout: BlockLayout,
        (share, reserve): (usize, usize),
        free: &Rc<FreeLists>,
        candidates: &Rc<Candidates>,
    ) -> Self {
        MapBlocks {
            layout,
            free: Rc::clone(free),
            candidates: Rc::clone(candidates),
            share,
            reserve,
            luns: layout.all_luns().map(|_| RefCell::new(OfLun::new(share))).collect(),
            old: RefCell::default(),
        }
    }
    pub(crate) fn forget(&self) {
        for lun in &self.luns {
            let mut lun = lun.borrow_mut();
            lun.set_aside.clear();
            lun.used = 0;
        }
        self.old.borrow_mut().clear();
    }
    fn lun_of(&self, block: BlockIndex) -> &RefCell<OfLun> {
        &self.luns[self.layout.lun_of(block).index()]
    }
    /// A block is found to hold a stored map.
    pub(crate) fn adopt(&self, block: BlockIndex) {
        self.lun_of(block).borrow_mut().used += 1;
    }
    /// Sets free blocks aside for the stored map, up to the LUN's share, as long as garbage collection keeps
    /// its reserve. Called after boot, and again after each erase.
    pub(crate) fn set_aside(&self, lun: LunIndex) {
        let mut at = self.luns[lun.index()].borrow_mut();
        while at.used + at.set_aside.len() < self.share
            && self.free.in_pool(self.layout.pool_of(lun)) > self.reserve
        {
            let Some(block) = self.free.take_unlisted(lun) else { return };
            at.set_aside.push_back(block);
        }
    }
    /// Takes a free block for a map: one that is set aside, else another one. `keeps_one` leaves one to
    /// garbage collection. With `within_share` the LUN gives no more than its share.
    pub(crate) fn take(&self, lun: LunIndex, within_share: bool, keeps_one: bool) -> Option<BlockIndex> {
        let mut at = self.luns[lun.index()].borrow_mut();
        if within_share && at.used >= self.share {
            return None;
        }
        let block = match at.set_aside.pop_front() {
            Some(block) => block,
            None if self.free.in_pool(self.layout.pool_of(lun)) < 2 && keeps_one => return None,
            None => self.free.take_unlisted(lun)?,
        };
        at.used += 1;
        assert!(at.used <= self.layout.blocks_per_lun() as usize, "a map takes more blocks than a LUN has");
        Some(block)
    }
    /// A block no longer holds a stored map.
    pub(crate) fn leave(&self, block: BlockIndex) {
        let mut lun = self.lun_of(block).borrow_mut();
        assert!(lun.used > 0, "{block:?} was not counted as one of a stored map");
        lun.used -= 1;
    }
    /// The block belongs to a map that is no longer needed.
    pub(crate) fn keep_old(&self, block: BlockIndex) {
        let mut old = self.old.borrow_mut();
        assert!(!old.contains(&block), "{block:?} is of an old map already");
        old.push(block);
    }
    /// Takes a block of a map that is no longer needed out of the candidates for collection.
    pub(crate) fn take_old(&self) -> Option<BlockIndex> {
        loop {
            let block = self.old.borrow_mut().pop()?;
            if self.candidates.take_if_empty(block) {
                return Some(block);
            }
        }
    }
    /// A block was erased.
    pub(crate) fn erased(&self, block: BlockIndex) {
        self.old.borrow_mut().retain(|&of_map| of_map != block);
    }
}
