//! Storing the map and the block table on NAND, and reading them back.
//!
//! The pages of the block table come first, then those of the map. Pages of the map without mapped units are
//! left out: the table begins with a bit for each page of the map, which says whether it is there. Parity
//! pages lie in between (see `map_stripes`). The page at place `i` lies in block `i mod n` of the `n` blocks
//! that hold a stored map, so that the LUNs work in parallel. If whole word lines are programmed, this is
//! true of line `i`.
//!
//! A map is stored while the drive serves the host, without waiting for operations in flight. So its pages
//! are snapshots of different moments. This does no harm, since recovery replays the log from the moment at
//! which storing began. The stored map leaves out changes that aren't journaled yet. The log page that names
//! the map lists stale pages, which recovery would otherwise mistake for newer ones.
//!
//! A stored map counts once a log page names it. Then the blocks of the map before it become ordinary blocks
//! without valid pages, which garbage collection erases when it needs them.

use crate::blocks::table::Blocks;
use crate::checkpoint::directory_copies::{Directory, MapId};
use crate::checkpoint::state::Checkpoint;
use crate::checkpoint::table_page::encode_entry;
use crate::journal::log::{Commit, Written};
use crate::journal::log_page::StoredMap;
use crate::journal::map_stripes::{self, StripePart};
use crate::mapping::Mapping;
use crate::terms::block::{BlockIndex, BlockState};
use crate::terms::cause::Cause;
use crate::terms::oob::{OobRecord, PageKind};
use crate::terms::sizes::{BLOCK_ENTRY_BYTES, MAP_ENTRY_BYTES};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c_of;
use aster_ports::flash::{FlashStatus, Tag};
use aster_units::{BufferId, Lpn, LunIndex, Upa};

/// Attempts at storing the map. A block that fails ends an attempt. Since the drive is lost without its map,
/// there are enough attempts for a medium on which half of the programs fail.
const STORE_ATTEMPTS: u32 = 64;

/// Why a stored map could not be written.
enum StoreError {
    NoRoom,
    Failed(BlockIndex),
}

/// A map that is being stored.
struct Storing {
    blocks: Vec<BlockIndex>,
    // Pages of the map with mapped units.
    present: Vec<u32>,
    // The next of these pages, as encoded by the mapping.
    map_page: Vec<u8>,
    // The directory, as far as its pages have been stored.
    directory: Box<Directory>,
    // The checksum of the content so far, page after page.
    checksum: u32,
    // The parity of the stripe so far.
    parity: Vec<u8>,
    // The parities of all groups that have a place for one, one after the other.
    group_parity: Vec<u8>,
}

/// Stores the map whenever it is due. Never ends.
pub(crate) async fn run_checkpoints<M: Mapping>(checkpoint: Rc<Checkpoint<M>>) {
    loop {
        checkpoint.journal.due.checkpoint_due().await;
        if !checkpoint.store_while_serving().await {
            // Garbage collection may make room, as long as the log has room for its erases.
            checkpoint.journal.due.room_for_map().await;
        }
    }
}

impl<M: Mapping> Checkpoint<M> {
    /// Stores the map if that is still due, while the drive serves the host. If that fails and the log has
    /// run out of room, the drive becomes read-only. Returns false if there was no room for the map.
    pub(crate) async fn store_while_serving(&self) -> bool {
        self.journal.due.lock_storing().await;
        let stored = !self.journal.due.checkpoint_is_due() || self.store_map(false).await;
        if (!stored || self.journal.log.is_worn_out()) && !self.journal.log.has_room() {
            self.journal.log_writer.give_up_storing();
        }
        self.unlock_storing();
        stored
    }
    /// The next map may be stored.
    pub(crate) fn unlock_storing(&self) {
        self.journal.due.unlock_storing();
        self.collector.look_for_rest();
    }
    /// Stores the map. Returns true if the next power-on finds it. A shutdown names the map in NVRAM, so it
    /// needs no log page.
    pub(crate) async fn store_map(&self, shutdown: bool) -> bool {
        if !self.mapping.map().is_storable() {
            return false;
        }
        let mut reclaimed = false;
        for _ in 0..STORE_ATTEMPTS {
            let replay_from = self.journal.due.checkpoint_begins();
            match self.store_once().await {
                Ok(stored) => {
                    // Only called for copies that are being programmed: garbage collection has pinned their
                    // pages.
                    let place_of = |page| self.mapping.place_of_pinned(page);
                    let mut commit = Commit {
                        map: stored.clone(),
                        replay_from,
                        stale_from: Upa(0),
                        leaves_none: shutdown,
                        place_of: &place_of,
                    };
                    // Runs of stale pages that don't fit one log page go to other log pages before it. At a
                    // shutdown the same is done with entries.
                    let committed = loop {
                        match self.journal.log_writer.write_log(Some(&mut commit)).await {
                            Written::Part => {}
                            Written::All => break true,
                            Written::No => break false,
                        }
                    };
                    let counts = committed || shutdown;
                    if !counts {
                        self.release_map_blocks(&stored.blocks);
                        return false;
                    }
                    let of = MapId::of(&stored);
                    let before = self.journal.root.replace_stored_map(stored);
                    self.release_map_blocks(&before.blocks);
                    self.runtime.count(|s| s.checkpoints += 1);
                    // Boxed, so that the futures of all tasks that store a map stay small.
                    Box::pin(self.write_copy(of)).await;
                    return true;
                }
                Err(StoreError::Failed(block)) => {
                    self.blocks.table().fail_map_block(block);
                    self.journal.health.media_changed();
                    reclaimed = false;
                }
                // The blocks of earlier attempts and of older maps can be erased and used again, once.
                Err(StoreError::NoRoom) if !reclaimed => {
                    self.erase_empty_blocks().await;
                    reclaimed = true;
                }
                Err(StoreError::NoRoom) => break,
            }
        }
        false
    }
    /// Erases the blocks without valid pages. Garbage collection can't do it here: it may be paused, and it
    /// gives up on a LUN once it has found no room there.
    async fn erase_empty_blocks(&self) {
        self.erase_all(|blocks| blocks.map.take_old()).await;
        // The other blocks may hold trimmed data. The trims are journaled before they are erased.
        if self.journal.due.log_trims_if_room().await {
            self.erase_all(|blocks| blocks.candidates.take_empty()).await;
        }
    }
    async fn erase_all(&self, take: impl Fn(&Blocks) -> Option<BlockIndex>) {
        let buffer = self.pages.dram().borrow().metadata_buffer(0);
        loop {
            let blocks = self.blocks.table();
            let Some(block) = take(blocks) else { return };
            let (lun, addr) = (blocks.layout.lun_of(block), blocks.layout.block_addr(block));
            blocks.in_flight.erase_begins(lun);
            match self.journal.writer.erase(lun, addr, buffer).await.status {
                FlashStatus::Done => blocks.erased(block),
                _ => self.journal.health.retire(lun, block),
            }
            blocks.in_flight.erase_ends(lun);
            let pool = blocks.layout.pool_of(lun);
            self.blocks.collection.ask(pool);
            self.blocks.queues.room_changed(pool);
        }
    }
    async fn store_once(&self) -> Result<StoredMap, StoreError> {
        let present: Vec<_> = {
            let per_page = self.journal.own.entries_per_page() as u32;
            (0..self.journal.own.map_pages())
                .filter(|&page| !self.mapping.is_empty(Lpn(page * per_page), per_page))
                .collect()
        };
        let page_bytes = self.runtime.geometry.page_bytes as usize;
        let pages = self.journal.own.table_pages() + present.len() as u32;
        let groups = self.group_parities(pages);
        let mut storing = Storing {
            blocks: Vec::new(),
            present,
            map_page: vec![0; page_bytes],
            directory: Box::new(self.no_directory()),
            checksum: 0,
            parity: vec![0; page_bytes],
            group_parity: vec![0; page_bytes * groups as usize],
        };
        storing.blocks = self.take_map_blocks(self.blocks_for(pages))?;
        self.generation.set(self.generation.get() + 1);
        let mut in_flight: VecDeque<(Tag, BlockIndex)> = VecDeque::new();
        let (mut failed, mut begun) = (None, 0);
        for place in 0..map_stripes::places(pages) + groups {
            if in_flight.len() == self.runtime.buffers.map() as usize {
                failed = failed.or(self.map_page_stored(&mut in_flight).await);
            }
            if failed.is_some() {
                break;
            }
            let buffer = self.map_buffer(place);
            let part = map_stripes::part_at(place, pages);
            if let Some(page) = self.map_page_in(&storing, part) {
                let first = Lpn(page * self.journal.own.entries_per_page() as u32);
                self.mapping.encode(first, &mut storing.map_page).await;
                storing.directory.keep(page, &storing.map_page);
            }
            self.encode_part(&mut storing, part, buffer);
            let at = self.journal.own.map_place(&storing.blocks, place);
            let block = self.blocks.table().layout.block_of(at);
            in_flight
                .push_back((self.journal.writer.begin_map_program(at, buffer, Cause::Metadata).await, block));
            begun = place + 1;
        }
        // A word line that was begun is completed even after a failure, since its pages wait for each other.
        for place in begun..begun.next_multiple_of(self.runtime.config.lines.at_once()) {
            let at = self.journal.own.map_place(&storing.blocks, place);
            let block = self.blocks.table().layout.block_of(at);
            let padding = BufferId(self.runtime.buffers.padding());
            in_flight
                .push_back((self.journal.writer.begin_map_program(at, padding, Cause::Padding).await, block));
        }
        while !in_flight.is_empty() {
            let one = self.map_page_stored(&mut in_flight).await;
            failed = failed.or(one);
        }
        let Some(block) = failed else {
            self.copies.stored.set(Some(*storing.directory));
            let (generation, checksum) = (self.generation.get(), storing.checksum);
            return Ok(StoredMap { generation, pages, checksum, blocks: storing.blocks });
        };
        storing.blocks.retain(|&of| of != block);
        self.release_map_blocks(&storing.blocks);
        Err(StoreError::Failed(block))
    }
    /// Waits for the oldest program. Returns its block if it has failed.
    async fn map_page_stored(&self, in_flight: &mut VecDeque<(Tag, BlockIndex)>) -> Option<BlockIndex> {
        let (tag, block) = in_flight.pop_front()?;
        let outcome = self.media.done(tag).await;
        (outcome.status != FlashStatus::Done).then_some(block)
    }
    /// Takes blocks for a stored map from all LUNs in turn.
    fn take_map_blocks(&self, wanted: u32) -> Result<Vec<BlockIndex>, StoreError> {
        let luns = self.runtime.geometry.total_luns();
        let mut new = Vec::with_capacity(wanted as usize);
        let start = (self.generation.get().wrapping_mul(u64::from(wanted)) % u64::from(luns)) as u32;
        // A LUN that already has its share of the older map's blocks gives more only if no other LUN can:
        // these blocks are needed for data.
        for within_share in [true, false] {
            let (mut at, mut refused) = (start, 0);
            while (new.len() as u32) < wanted && refused < luns {
                match self.blocks.table().take_for_map(LunIndex(at), within_share) {
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
        let blocks = self.blocks.table();
        for &block in given_up {
            if blocks.states.of(block) == BlockState::Map {
                blocks.release_from_map(block);
            }
        }
    }
    pub(crate) fn map_buffer(&self, place: u32) -> BufferId {
        self.pages.dram().borrow().metadata_buffer(place % self.runtime.buffers.map())
    }
    pub(crate) fn blocks_for(&self, pages: u32) -> u32 {
        let places = map_stripes::places(pages) + self.group_parities(pages);
        places.div_ceil(u32::from(self.runtime.geometry.pages_per_block))
    }
    /// The number of groups whose parity is stored: as many as the blocks set aside for a map have room for.
    /// A drive that was never written has nothing to lose and stores none.
    fn group_parities(&self, pages: u32) -> u32 {
        if self.blocks.sequence.last() == 0 {
            return 0;
        }
        let most =
            self.runtime.config.areas().map_blocks() * u64::from(self.runtime.geometry.pages_per_block);
        let left = most.saturating_sub(u64::from(map_stripes::places(pages)));
        map_stripes::groups(pages).min(left as u32)
    }
    /// Which page of the map a part of its stored form is, if any.
    fn map_page_in(&self, storing: &Storing, part: StripePart) -> Option<u32> {
        let StripePart::Content(page) = part else { return None };
        let nth = page.checked_sub(self.journal.own.table_pages())?;
        Some(storing.present[nth as usize])
    }
    // Parts come in the order of their places. If this one is a page of the map, its content is already in
    // `storing`.
    fn encode_part(&self, storing: &mut Storing, part: StripePart, buffer: BufferId) {
        let mut dram = self.pages.dram().borrow_mut();
        let (content, oob) = dram.page_and_oob_mut(buffer);
        match part {
            StripePart::Content(page) => {
                match page.checked_sub(self.journal.own.table_pages()) {
                    None => self.encode_table(&storing.present, page, content),
                    Some(nth) => {
                        content.copy_from_slice(&storing.map_page);
                        if M::STORES_UNITS {
                            self.undo_in_map(storing.present[nth as usize], content);
                        }
                    }
                }
                storing.checksum = crc32c_of([&storing.checksum.to_le_bytes()[..], content]);
                map_stripes::add(&mut storing.parity, content);
                let of_group = (page / map_stripes::GROUP_PAGES) as usize * content.len();
                if let Some(parity) = storing.group_parity.get_mut(of_group..of_group + content.len()) {
                    map_stripes::add_to_group(parity, page, content);
                }
            }
            StripePart::Parity(_) => {
                content.copy_from_slice(&storing.parity);
                storing.parity.fill(0);
            }
            StripePart::GroupParity(group) => {
                let at = group as usize * content.len();
                content.copy_from_slice(&storing.group_parity[at..at + content.len()]);
            }
        }
        let (lpn, sequence) = (part.lpn(), self.generation.get());
        OobRecord { kind: PageKind::Map, lpn, sequence, lost_sectors: 0, copy: 0 }
            .encode_as(self.runtime.units, oob);
    }
    /// Changes a page of the map back to what the log says, without changes that a loss of power could still
    /// undo.
    fn undo_in_map(&self, page: u32, content: &mut [u8]) {
        let per_page = self.journal.own.entries_per_page();
        let first = page as usize * per_page;
        let pages = first as u32..(first + per_page) as u32;
        for (lpn, from) in self.blocks.table().durability.to_undo(pages) {
            let at = (lpn.index() - first) * MAP_ENTRY_BYTES as usize;
            content[at..at + MAP_ENTRY_BYTES as usize].copy_from_slice(&(!from.0).to_le_bytes());
        }
    }
    fn encode_table(&self, present: &[u32], page: u32, content: &mut [u8]) {
        content.fill(0);
        let blocks = self.blocks.table();
        let entry_bytes = BLOCK_ENTRY_BYTES as usize;
        let present_words = self.journal.own.present_bytes() / entry_bytes;
        let first = page as usize * (content.len() / entry_bytes);
        for (word, into) in (first..).zip(content.chunks_exact_mut(entry_bytes)) {
            if word < present_words {
                let bits = present.iter().filter(|&&page| page as usize / 64 == word);
                let bits = bits.fold(0u64, |all, page| all | 1 << (page % 64));
                into.copy_from_slice(&bits.to_le_bytes());
            } else if word - present_words < blocks.layout.total() as usize {
                let block = BlockIndex((word - present_words) as u32);
                into.copy_from_slice(&encode_entry(blocks.entry(block)));
            }
        }
    }
}
