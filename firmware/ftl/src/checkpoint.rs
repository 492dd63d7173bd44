//! Storing the map and the block table on NAND, and reading them back.
//!
//! The pages of the block table come first, those of the map follow; pages of the map on which nothing is
//! mapped are left out, and the table begins with a bit for each page of the map that is there. Pages of
//! parity stand between them (see `map_stripes`). What is at place `i` stands in block `i mod n` of the `n`
//! blocks that hold a stored map, so that the LUNs work side by side; where whole word lines are programmed,
//! line `i`.
//!
//! A map is stored while the drive serves, and waits for nobody: its pages are of different moments. That
//! does no harm, since recovery replays from the log what has happened from the beginning of the storing on.
//! What the log has not been told has not happened for the map either; the page of the log that names it
//! lists what recovery finds and must not take for newer. It counts once a log page names it; then the blocks
//! of the one before become ordinary blocks without valid pages, which garbage collection erases when it
//! needs them.

use crate::blocks::{BlockEntry, BlockIndex, BlockState, Blocks};
use crate::config::{BLOCK_ENTRY_BYTES, MAP_ENTRY_BYTES};
use crate::drive::Drive;
use crate::flash::Cause;
use crate::log::{Commit, Written};
use crate::log_page::StoredMap;
use crate::map_stripes::{self, Part};
use crate::oob::{OobRecord, PageKind};
use crate::root::{LogPlace, Root};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c_of;
use aster_ports::flash::{FlashStatus, Tag};
use aster_ports::host::HostStatus;
use aster_units::{BufferId, LunIndex, Ppa, mix64};

/// Times that storing the map begins anew after a block failed under it. Without the map nothing is found
/// again, so there are as many as a medium can need of which half of the programs fail.
const STORE_ATTEMPTS: u32 = 64;
/// Pages of data between two stored maps, for each page of a stored map, where the profile doesn't say.
const PAGES_A_MAP_PAGE: u64 = 256;

/// How the table has the state of a free block that nobody has looked at since a loss of power.
pub(crate) const FREE_SUSPECT: u8 = 8;

/// Why a stored map could not be written.
enum StoreError {
    NoRoom,
    Failed(BlockIndex),
}

/// A map on its way to NAND.
struct Storing {
    blocks: Vec<BlockIndex>,
    // Pages of the map on which something is mapped.
    present: Vec<u32>,
    // Over the pages of content, one after the other.
    checksum: u32,
    // Of the stripe so far.
    parity: Vec<u8>,
    // Of all groups, one after the other; as many as there are places for.
    group_parity: Vec<u8>,
}

impl Drive {
    /// Marks what NVRAM says as outdated, before the first change after a shutdown or power-on.
    #[inline]
    pub(crate) fn mark_dirty(&self) {
        if !self.marked_dirty.replace(true) {
            self.store_root(false);
        }
    }
    /// Writes the root record into NVRAM.
    pub(crate) fn store_root(&self, clean: bool) {
        let log = self.log.borrow();
        let place = LogPlace {
            number: log.number,
            commit: log.commit,
            replay_from: log.replay_from,
            at: log.at.map(|(slot, line)| (slot as u32, line)),
            dead: log.dead,
            read_only: self.takes_no_writes(),
            slots: log.slots.iter().map(|slot| slot.last).collect(),
        };
        let root = Root {
            clean,
            sequence: self.sequence.get(),
            shape: self.shape(),
            stored: self.stored.borrow().clone(),
            log: place,
        };
        root.store(&self.nvram);
    }
    /// A number that differs between drives whose stored maps don't fit each other.
    pub(crate) fn shape(&self) -> u64 {
        let (g, rows) = (&self.geometry, &self.restriction);
        let parts = [
            u64::from(g.channels),
            u64::from(g.ways),
            u64::from(g.luns),
            u64::from(g.blocks_per_lun),
            u64::from(g.pages_per_block),
            u64::from(g.page_bytes),
            u64::from(self.logical_pages),
            self.placed,
            self.config.content as u64
                | u64::from(self.config.pages_at_once() - 1) << 8
                | u64::from(rows.page_step - 1) << 16
                | u64::from(rows.array.planes - rows.planes) << 32,
        ];
        parts.iter().fold(0, |all, part| mix64(all ^ part.wrapping_add(0x9e37_79b9)))
    }
    pub(crate) fn entries_per_page(&self) -> usize {
        self.geometry.page_bytes as usize / MAP_ENTRY_BYTES as usize
    }
    pub(crate) fn map_pages(&self) -> u32 {
        (self.logical_pages as usize).div_ceil(self.entries_per_page()) as u32
    }
    // The bits before the block table, in bytes.
    pub(crate) fn present_bytes(&self) -> usize {
        (self.map_pages() as usize).div_ceil(64) * 8
    }
    pub(crate) fn table_pages(&self) -> u32 {
        let bytes = u64::from(self.blocks.borrow().total()) * BLOCK_ENTRY_BYTES + self.present_bytes() as u64;
        bytes.div_ceil(u64::from(self.geometry.page_bytes)) as u32
    }
    fn blocks_for(&self, pages: u32) -> u32 {
        let places = map_stripes::places(pages) + self.group_parities(pages);
        places.div_ceil(u32::from(self.geometry.pages_per_block))
    }
    /// Groups whose parity is stored: all, but where the blocks set aside for a map end before. A drive on
    /// which nothing was ever written has nothing to lose.
    fn group_parities(&self, pages: u32) -> u32 {
        if self.sequence.get() == 0 {
            return 0;
        }
        let most = self.config.map_blocks() * u64::from(self.geometry.pages_per_block);
        let left = most.saturating_sub(u64::from(map_stripes::places(pages)));
        map_stripes::groups(pages).min(left as u32)
    }
    /// Pages of data after which the map is stored again.
    pub(crate) fn checkpoint_pages(&self) -> u64 {
        match self.config.checkpoint_pages {
            0 => PAGES_A_MAP_PAGE * u64::from(self.map_pages() + self.table_pages()),
            pages => u64::from(pages),
        }
    }

    // ---- storing it ----

    /// Stores the map and says in NVRAM that it is the truth, unless it is so already. Nothing else may be in
    /// work.
    pub(crate) async fn store_checkpoint(&self) -> HostStatus {
        if !self.marked_dirty.get() {
            // What only looks after data at rest comes to rest as well. It may have begun to move some of it.
            self.hold_gc().await;
            if !self.marked_dirty.get() {
                return HostStatus::Success;
            }
        }
        // What it would store has a number that the next power-on would take for damage. It comes back from
        // what there is.
        if self.has_counted_out() {
            return HostStatus::Success;
        }
        self.release_gc();
        let blocks = self.blocks_for(self.map_pages() + self.table_pages());
        self.collect_ahead(blocks.div_ceil(self.geometry.total_luns())).await;
        self.hold_gc().await;
        self.lock_storing().await;
        let stored = self.store_map(true).await;
        if stored {
            self.store_root(true);
            self.nvram.save();
            self.marked_dirty.set(false);
        }
        self.unlock_storing();
        if stored {
            return HostStatus::Success;
        }
        let found_again = self.end_without_map().await;
        self.release_gc();
        match found_again {
            Ok(()) => HostStatus::Success,
            Err(_) => HostStatus::WriteFault,
        }
    }
    /// A shutdown finds no room for another map. The one before stays, since without it a loss of power would
    /// leave nothing that tells of trims: the log, which is told of all that it does not know, leads on from
    /// there at the next power-on.
    #[cold]
    async fn end_without_map(&self) -> Result<(), HostStatus> {
        if !self.log_has_room() {
            self.give_up_storing();
        }
        self.log_trims().await
    }
    /// Stores the map if that is still due, among other work. Where the log runs out of room because that
    /// fails, the drive takes no more writes. False when there was no room for the map.
    pub(crate) async fn store_while_serving(&self) -> bool {
        self.lock_storing().await;
        let stored = !self.checkpoint_is_due() || self.store_map(false).await;
        if (!stored || self.log_is_worn_out()) && !self.log_has_room() {
            self.give_up_storing();
        }
        self.unlock_storing();
        stored
    }
    async fn lock_storing(&self) {
        self.log_waiters.wait(self.exec(), || (!self.storing.replace(true)).then_some(())).await;
    }
    fn unlock_storing(&self) {
        self.storing.set(false);
        self.log_waiters.wake_all(self.exec());
        self.rest_waiter.wake(self.exec());
    }

    /// Stores the map; true when it is found again after a loss of power. For a shutdown the NVRAM will do
    /// where there is no log.
    pub(crate) async fn store_map(&self, shutdown: bool) -> bool {
        let mut reclaimed = false;
        for _ in 0..STORE_ATTEMPTS {
            let replay_from = self.checkpoint_begins();
            match self.store_once().await {
                Ok(stored) => {
                    let mut commit = Commit { map: stored.clone(), replay_from, void_from: Ppa(0) };
                    // Runs of void pages that don't fit one log page take others before it.
                    let committed = loop {
                        match self.write_log(Some(&mut commit)).await {
                            Written::Part => {}
                            Written::All => break true,
                            Written::No => break false,
                        }
                    };
                    let counts = committed || shutdown;
                    let given_up = if counts { self.stored.replace(stored).blocks } else { stored.blocks };
                    self.release_map_blocks(&given_up);
                    self.count(|s| s.checkpoints += u64::from(counts));
                    return counts;
                }
                Err(StoreError::Failed(block)) => {
                    self.blocks.borrow_mut().fail_map_block(block);
                    self.media_changed();
                    reclaimed = false;
                }
                // What earlier attempts and generations were written to can be used again, once.
                Err(StoreError::NoRoom) if !reclaimed => {
                    self.erase_empty_blocks().await;
                    reclaimed = true;
                }
                Err(StoreError::NoRoom) => break,
            }
        }
        false
    }

    /// Erases the blocks that hold nothing any more. Garbage collection, which is held, may not be able to:
    /// it does nothing for a LUN where it once found no room.
    async fn erase_empty_blocks(&self) {
        self.erase_all(Blocks::take_old_map).await;
        // What was trimmed in the others must not seem to be there after a loss of power.
        if self.log_trims_if_room().await {
            self.erase_all(Blocks::take_empty).await;
        }
    }
    async fn erase_all(&self, take: impl Fn(&mut Blocks) -> Option<BlockIndex>) {
        let buffer = self.dram.borrow().metadata_buffer(0);
        loop {
            let Some(block) = take(&mut self.blocks.borrow_mut()) else { return };
            let (lun, addr) = {
                let blocks = self.blocks.borrow();
                (blocks.lun_of(block), blocks.block_addr(block))
            };
            match self.erase(lun, addr, buffer).await.status {
                FlashStatus::Done => self.blocks.borrow_mut().erased(block),
                _ => self.retire(lun, block),
            }
            self.blocks.borrow_mut().erase_ended(lun);
            self.gc_waiters[lun.index()].wake(self.exec());
            self.room_waiters[lun.index()].wake_all(self.exec());
        }
    }

    async fn store_once(&self) -> Result<StoredMap, StoreError> {
        let present: Vec<_> = {
            let (map, per_page) = (self.map.borrow(), self.entries_per_page());
            (0..self.map_pages()).filter(|&page| !map.is_empty(page as usize * per_page, per_page)).collect()
        };
        let page_bytes = self.geometry.page_bytes as usize;
        let pages = self.table_pages() + present.len() as u32;
        let groups = self.group_parities(pages);
        let mut storing = Storing {
            blocks: Vec::new(),
            present,
            checksum: 0,
            parity: vec![0; page_bytes],
            group_parity: vec![0; page_bytes * groups as usize],
        };
        storing.blocks = self.take_map_blocks(self.blocks_for(pages))?;
        self.generation.set(self.generation.get() + 1);
        let mut in_flight: VecDeque<(Tag, BlockIndex)> = VecDeque::new();
        let (mut failed, mut begun) = (None, 0);
        for place in 0..map_stripes::places(pages) + groups {
            if in_flight.len() == self.config.map_buffers() as usize {
                failed = failed.or(self.map_page_stored(&mut in_flight).await);
            }
            if failed.is_some() {
                break;
            }
            let buffer = self.map_buffer(place);
            self.encode_part(&mut storing, map_stripes::part_at(place, pages), buffer);
            let at = self.map_place(&storing.blocks, place);
            let block = self.blocks.borrow().block_of(at);
            in_flight.push_back((self.begin_map_program(at, buffer, Cause::Metadata).await, block));
            begun = place + 1;
        }
        // A line that is begun is completed, whatever has failed: its pages wait for each other.
        for place in begun..begun.next_multiple_of(self.config.pages_at_once()) {
            let at = self.map_place(&storing.blocks, place);
            let block = self.blocks.borrow().block_of(at);
            let padding = BufferId(self.config.padding_buffer());
            in_flight.push_back((self.begin_map_program(at, padding, Cause::Padding).await, block));
        }
        while !in_flight.is_empty() {
            let one = self.map_page_stored(&mut in_flight).await;
            failed = failed.or(one);
        }
        let Some(block) = failed else {
            return Ok(StoredMap {
                generation: self.generation.get(),
                pages,
                checksum: storing.checksum,
                blocks: storing.blocks,
            });
        };
        storing.blocks.retain(|&of| of != block);
        self.release_map_blocks(&storing.blocks);
        Err(StoreError::Failed(block))
    }
    /// Waits for the oldest program; gives its block if it failed.
    async fn map_page_stored(&self, in_flight: &mut VecDeque<(Tag, BlockIndex)>) -> Option<BlockIndex> {
        let (tag, block) = in_flight.pop_front()?;
        let outcome = self.flash_done(tag).await;
        (outcome.status != FlashStatus::Done).then_some(block)
    }

    /// Takes blocks for a stored map, in turn from all LUNs.
    fn take_map_blocks(&self, wanted: u32) -> Result<Vec<BlockIndex>, StoreError> {
        let luns = self.geometry.total_luns();
        let mut new = Vec::with_capacity(wanted as usize);
        let start = (self.generation.get().wrapping_mul(u64::from(wanted)) % u64::from(luns)) as u32;
        // A LUN that has its share already, the map's before this one, gives what others keep for their data:
        // only where no other has any.
        for within_share in [true, false] {
            let (mut at, mut refused) = (start, 0);
            while (new.len() as u32) < wanted && refused < luns {
                match self.blocks.borrow_mut().take_for_map(LunIndex(at), within_share) {
                    Some(block) => {
                        new.push(block);
                        refused = 0;
                    }
                    None => refused += 1,
                }
                at = (at + 1) % luns;
            }
        }
        if new.len() as u32 == wanted {
            return Ok(new);
        }
        self.release_map_blocks(&new);
        Err(StoreError::NoRoom)
    }
    fn release_map_blocks(&self, given_up: &[BlockIndex]) {
        let mut blocks = self.blocks.borrow_mut();
        for &block in given_up {
            if blocks.state(block) == BlockState::Map {
                blocks.release_from_map(block);
            }
        }
    }
    pub(crate) fn map_place(&self, map_blocks: &[BlockIndex], place: u32) -> Ppa {
        let (count, at_once) = (map_blocks.len() as u32, self.config.pages_at_once());
        let (line, in_line) = (place / at_once, place % at_once);
        let first = self.blocks.borrow().first_page(map_blocks[(line % count) as usize]);
        Ppa(first.0 + line / count * at_once + in_line)
    }
    pub(crate) fn map_buffer(&self, place: u32) -> BufferId {
        self.dram.borrow().metadata_buffer(place % self.config.map_buffers())
    }

    // Parts come in the order of their places.
    fn encode_part(&self, storing: &mut Storing, part: Part, buffer: BufferId) {
        let mut dram = self.dram.borrow_mut();
        let (content, oob) = dram.page_and_oob_mut(buffer);
        match part {
            Part::Content(page) => {
                match page.checked_sub(self.table_pages()) {
                    None => self.encode_table(&storing.present, page, content),
                    Some(nth) => self.encode_map(storing.present[nth as usize], content),
                }
                storing.checksum = crc32c_of([&storing.checksum.to_le_bytes()[..], content]);
                map_stripes::add(&mut storing.parity, content);
                let of_group = (page / map_stripes::GROUP_PAGES) as usize * content.len();
                if let Some(parity) = storing.group_parity.get_mut(of_group..of_group + content.len()) {
                    map_stripes::add_to_group(parity, page, content);
                }
            }
            Part::Parity(_) => {
                content.copy_from_slice(&storing.parity);
                storing.parity.fill(0);
            }
            Part::GroupParity(group) => {
                let at = group as usize * content.len();
                content.copy_from_slice(&storing.group_parity[at..at + content.len()]);
            }
        }
        let (lpn, sequence) = (part.lpn(), self.generation.get());
        OobRecord { kind: PageKind::Map, lpn, sequence, lost_sectors: 0, copy: 0 }.encode(oob);
    }
    /// A page of the map as the log has it: without what a loss of power could still undo.
    fn encode_map(&self, page: u32, content: &mut [u8]) {
        let per_page = self.entries_per_page();
        let first = page as usize * per_page;
        self.map.borrow().store(first, content);
        let pages = first as u32..(first + per_page) as u32;
        for (lpn, from) in self.blocks.borrow().to_undo(pages) {
            let at = (lpn.index() - first) * MAP_ENTRY_BYTES as usize;
            content[at..at + MAP_ENTRY_BYTES as usize].copy_from_slice(&(!from.0).to_le_bytes());
        }
    }
    fn encode_table(&self, present: &[u32], page: u32, content: &mut [u8]) {
        content.fill(0);
        let blocks = self.blocks.borrow();
        let entry_bytes = BLOCK_ENTRY_BYTES as usize;
        let present_words = self.present_bytes() / entry_bytes;
        let first = page as usize * (content.len() / entry_bytes);
        for (word, into) in (first..).zip(content.chunks_exact_mut(entry_bytes)) {
            if word < present_words {
                let bits = present.iter().filter(|&&page| page as usize / 64 == word);
                let bits = bits.fold(0u64, |all, page| all | 1 << (page % 64));
                into.copy_from_slice(&bits.to_le_bytes());
            } else if word - present_words < blocks.total() as usize {
                let block = BlockIndex((word - present_words) as u32);
                into.copy_from_slice(&encode_entry(blocks.entry(block)));
            }
        }
    }
}

fn encode_entry(entry: BlockEntry) -> [u8; BLOCK_ENTRY_BYTES as usize] {
    let state = match entry.state {
        BlockState::Free if entry.suspect => FREE_SUSPECT,
        BlockState::Free => 0,
        BlockState::Open => 1,
        BlockState::Closed => 2,
        BlockState::Failing => 3,
        BlockState::Bad => 4,
        BlockState::Map => 5,
        BlockState::Retired => 6,
        BlockState::Log => 7,
    };
    let [n0, n1] = entry.next.to_le_bytes();
    let [e0, e1, e2, e3] = entry.erases.to_le_bytes();
    [state, entry.stream as u8, n0, n1, e0, e1, e2, e3]
}
