//! Storing the map and the block table on NAND at shutdown, and reading them back.
//!
//! The pages of the map come first, those of the block table follow. Page `i` stands in block `i mod n` of the `n`
//! blocks that the root record lists, so that the LUNs work side by side. The blocks of the generation before become
//! ordinary blocks without valid pages, which garbage collection erases when it needs them.

use crate::blocks::{BlockEntry, BlockIndex, BlockState, Stream};
use crate::boot::BootError;
use crate::config::{Assigner, BLOCK_ENTRY_BYTES, MAP_ENTRY_BYTES};
use crate::drive::Drive;
use crate::flash::Cause;
use crate::oob::{OobRecord, PageKind};
use crate::root::Root;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c_of;
use aster_ports::flash::{FlashStatus, Tag};
use aster_ports::host::HostStatus;
use aster_units::{BufferId, LunIndex, Ppa, SectorRange, mix64};

/// Times that storing the map begins anew after a block failed under it. Without the map nothing is found again, so there
/// are as many as a medium can need of which half of the programs fail.
const STORE_ATTEMPTS: u32 = 64;

/// Why a stored map could not be written.
enum StoreError {
    NoRoom,
    Failed(BlockIndex),
}

impl Drive {
    /// Marks the stored map as outdated, before the first change after it was stored or loaded.
    #[inline]
    pub(crate) fn mark_dirty(&self) {
        if !self.marked_dirty.replace(true) {
            self.root(false, 0).store(&self.nvram);
        }
    }
    fn root(&self, clean: bool, checksum: u32) -> Root {
        Root {
            clean,
            generation: self.generation.get(),
            sequence: self.sequence.get(),
            shape: self.shape(),
            pages: self.map_pages() + self.table_pages(),
            checksum,
            blocks: self.map_blocks.borrow().clone(),
        }
    }
    /// A number that differs between drives whose stored maps don't fit each other.
    pub(crate) fn shape(&self) -> u64 {
        let g = &self.geometry;
        let parts = [
            u64::from(g.channels),
            u64::from(g.ways),
            u64::from(g.luns),
            u64::from(g.blocks_per_lun),
            u64::from(g.pages_per_block),
            u64::from(g.page_bytes),
            u64::from(self.logical_pages),
            match self.config.assigner {
                Assigner::ChannelFirst => 0,
                Assigner::WayFirst => 1,
                Assigner::Random { seed } => mix64(seed) | 2,
            },
            self.config.content as u64,
        ];
        parts.iter().fold(0, |all, part| mix64(all ^ part.wrapping_add(0x9e37_79b9)))
    }
    fn map_pages(&self) -> u32 {
        (u64::from(self.logical_pages) * MAP_ENTRY_BYTES).div_ceil(u64::from(self.geometry.page_bytes)) as u32
    }
    fn table_pages(&self) -> u32 {
        let bytes = u64::from(self.blocks.borrow().total()) * BLOCK_ENTRY_BYTES;
        bytes.div_ceil(u64::from(self.geometry.page_bytes)) as u32
    }

    fn blocks_wanted(&self) -> u32 {
        (self.map_pages() + self.table_pages()).div_ceil(u32::from(self.geometry.pages_per_block))
    }

    /// Stores the map, unless what is stored is still the truth. Nothing else may be in work.
    pub(crate) async fn store_checkpoint(&self) -> HostStatus {
        if !self.marked_dirty.get() {
            return HostStatus::Success;
        }
        self.release_gc();
        self.collect_ahead(self.blocks_wanted().div_ceil(self.geometry.total_luns())).await;
        self.hold_gc().await;
        let mut reclaimed = false;
        for _ in 0..STORE_ATTEMPTS {
            match self.store_once().await {
                Ok(checksum) => {
                    self.root(true, checksum).store(&self.nvram);
                    self.marked_dirty.set(false);
                    return HostStatus::Success;
                }
                Err(StoreError::Failed(block)) => {
                    self.blocks.borrow_mut().fail_map_block(block);
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
        self.release_gc();
        HostStatus::WriteFault
    }

    /// Erases the blocks that hold nothing any more. Garbage collection, which is held, may not be able to: it does nothing
    /// for a LUN where it once found no room.
    async fn erase_empty_blocks(&self) {
        let buffer = self.dram.borrow().metadata_buffer(0);
        loop {
            let Some(block) = self.blocks.borrow_mut().take_empty() else { return };
            let (lun, addr) = {
                let blocks = self.blocks.borrow();
                (blocks.lun_of(block), blocks.block_addr(block))
            };
            match self.erase(lun, addr, buffer).await.status {
                FlashStatus::Done => self.blocks.borrow_mut().erased(block),
                _ => self.retire(lun, block),
            }
        }
    }

    async fn store_once(&self) -> Result<u32, StoreError> {
        self.generation.set(self.generation.get() + 1);
        self.take_map_blocks()?;
        let pages = self.map_pages() + self.table_pages();
        let mut in_flight: VecDeque<(Tag, BlockIndex)> = VecDeque::new();
        let mut checksum = 0;
        let mut failed = None;
        for page in 0..pages {
            if in_flight.len() == self.config.metadata_buffers() as usize {
                failed = failed.or(self.map_page_stored(&mut in_flight).await);
            }
            if failed.is_some() {
                break;
            }
            let buffer = self.map_buffer(page);
            checksum = self.encode_page(page, buffer, checksum);
            let at = self.map_page_at(page);
            let block = self.blocks.borrow().block_of(at);
            in_flight.push_back((self.begin_map_program(at, buffer).await, block));
        }
        while !in_flight.is_empty() {
            let one = self.map_page_stored(&mut in_flight).await;
            failed = failed.or(one);
        }
        failed.map_or(Ok(checksum), |block| Err(StoreError::Failed(block)))
    }
    /// Waits for the oldest program; gives its block if it failed.
    async fn map_page_stored(&self, in_flight: &mut VecDeque<(Tag, BlockIndex)>) -> Option<BlockIndex> {
        let (tag, block) = in_flight.pop_front()?;
        let outcome = self.flash_done(tag).await;
        (outcome.status != FlashStatus::Done).then_some(block)
    }

    /// Takes the blocks for a new generation, in turn from all LUNs, and gives up those of the one before.
    fn take_map_blocks(&self) -> Result<(), StoreError> {
        let wanted = self.blocks_wanted();
        let luns = self.geometry.total_luns();
        let mut blocks = self.blocks.borrow_mut();
        let mut new = Vec::with_capacity(wanted as usize);
        let start = (self.generation.get().wrapping_mul(u64::from(wanted)) % u64::from(luns)) as u32;
        let (mut at, mut refused) = (start, 0);
        while (new.len() as u32) < wanted && refused < luns {
            match blocks.take_for_map(LunIndex(at)) {
                Some(block) => {
                    new.push(block);
                    refused = 0;
                }
                None => refused += 1,
            }
            at = (at + 1) % luns;
        }
        let enough = new.len() as u32 == wanted;
        let old = self.map_blocks.replace(new);
        for block in old {
            if blocks.state(block) == BlockState::Map {
                blocks.release_from_map(block);
            }
        }
        if enough { Ok(()) } else { Err(StoreError::NoRoom) }
    }
    fn map_page_at(&self, page: u32) -> Ppa {
        let map_blocks = self.map_blocks.borrow();
        let count = map_blocks.len() as u32;
        let first = self.blocks.borrow().first_page(map_blocks[(page % count) as usize]);
        Ppa(first.0 + page / count)
    }
    fn map_buffer(&self, page: u32) -> BufferId {
        self.dram.borrow().metadata_buffer(page % self.config.metadata_buffers())
    }

    fn encode_page(&self, page: u32, buffer: BufferId, checksum: u32) -> u32 {
        let mut dram = self.dram.borrow_mut();
        let (content, oob) = dram.page_and_oob_mut(buffer);
        match page.checked_sub(self.map_pages()) {
            None => {
                self.map.borrow().store(page as usize * content.len() / MAP_ENTRY_BYTES as usize, content)
            }
            Some(page) => self.encode_table(page, content),
        }
        let sequence = self.generation.get();
        OobRecord { kind: PageKind::Map, lpn: page, sequence, lost_sectors: 0 }.encode(oob);
        crc32c_of([&checksum.to_le_bytes()[..], content])
    }
    fn encode_table(&self, page: u32, content: &mut [u8]) {
        let blocks = self.blocks.borrow();
        let first = page * (content.len() as u32 / BLOCK_ENTRY_BYTES as u32);
        content.fill(0);
        for (block, into) in (first..blocks.total()).zip(content.chunks_exact_mut(BLOCK_ENTRY_BYTES as usize))
        {
            into.copy_from_slice(&encode_entry(blocks.entry(BlockIndex(block))));
        }
    }

    // ---- reading it back ----

    /// Takes over the state that a clean root record points to.
    pub(crate) async fn load_checkpoint(&self, root: &Root) -> Result<(), BootError> {
        let pages = self.map_pages() + self.table_pages();
        let total = self.blocks.borrow().total();
        if root.shape != self.shape() || root.pages != pages {
            return Err(BootError::OtherDrive);
        }
        let capacity = root.blocks.len() as u64 * u64::from(self.geometry.pages_per_block);
        if u64::from(pages) > capacity || root.blocks.iter().any(|block| block.0 >= total) {
            return invalid("its root record names blocks that can't hold it");
        }
        self.map_blocks.replace(root.blocks.clone());
        self.generation.set(root.generation);
        self.sequence.set(root.sequence);
        let checksum = self.load_pages(pages).await?;
        if checksum != root.checksum {
            return invalid("its checksum is another");
        }
        self.count_valid_pages()
    }
    async fn load_pages(&self, pages: u32) -> Result<u32, BootError> {
        let whole = SectorRange::whole(self.geometry.sectors_per_page());
        let mut in_flight = VecDeque::new();
        let (mut next, mut checksum, mut result) = (0, 0, Ok(()));
        loop {
            while next < pages && result.is_ok() && in_flight.len() < self.config.metadata_buffers() as usize
            {
                let at = self.map_page_at(next);
                let tag = self.begin_read(at, whole, self.map_buffer(next), Cause::Metadata).await;
                in_flight.push_back((next, tag));
                next += 1;
            }
            let Some((page, tag)) = in_flight.pop_front() else { break };
            let outcome = self.flash_done(tag).await;
            let (lost, record) = self.judge(&outcome, whole, self.map_buffer(page));
            let expected =
                |r: OobRecord| (r.kind, r.lpn, r.sequence) == (PageKind::Map, page, self.generation.get());
            if lost != 0 || !record.is_some_and(expected) {
                result = Err(BootError::MapUnreadable { page });
            }
            if result.is_ok() {
                result = self.decode_page(page, &mut checksum);
            }
        }
        result.map(|()| checksum)
    }
    fn decode_page(&self, page: u32, checksum: &mut u32) -> Result<(), BootError> {
        let dram = self.dram.borrow();
        let content = dram.page(dram.metadata_buffer(page % self.config.metadata_buffers()));
        *checksum = crc32c_of([&checksum.to_le_bytes()[..], content]);
        let Some(page) = page.checked_sub(self.map_pages()) else {
            self.map.borrow_mut().load(page as usize * content.len() / MAP_ENTRY_BYTES as usize, content);
            return Ok(());
        };
        let mut blocks = self.blocks.borrow_mut();
        let first = page * (content.len() as u32 / BLOCK_ENTRY_BYTES as u32);
        for (block, bytes) in (first..blocks.total()).zip(content.chunks_exact(BLOCK_ENTRY_BYTES as usize)) {
            let unknown = BootError::MapInvalid { why: "a block is in no state that there is" };
            let entry = decode_entry(bytes).ok_or(unknown)?;
            blocks.adopt(BlockIndex(block), entry).map_err(|why| BootError::MapInvalid { why })?;
        }
        Ok(())
    }
    fn count_valid_pages(&self) -> Result<(), BootError> {
        let map = self.map.borrow();
        let mut blocks = self.blocks.borrow_mut();
        for lpn in 0..map.len() {
            let ppa = map.get(aster_units::Lpn(lpn));
            if !ppa.is_some() {
                continue;
            }
            if u64::from(ppa.0) >= self.geometry.total_pages() {
                return invalid("a logical page lies beyond the drive");
            }
            if blocks.is_valid(ppa) {
                return invalid("two logical pages lie on the same physical page");
            }
            if !blocks.may_hold_data(ppa) {
                return invalid("a logical page lies where nothing is programmed");
            }
            blocks.set_valid(ppa);
        }
        Ok(())
    }
}

fn invalid(why: &'static str) -> Result<(), BootError> {
    Err(BootError::MapInvalid { why })
}

fn encode_entry(entry: BlockEntry) -> [u8; BLOCK_ENTRY_BYTES as usize] {
    let state = match entry.state {
        BlockState::Free => 0,
        BlockState::Open => 1,
        BlockState::Closed => 2,
        BlockState::Failing => 3,
        BlockState::Bad => 4,
        BlockState::Map => 5,
        BlockState::Retired => 6,
    };
    let [n0, n1] = entry.next.to_le_bytes();
    let [e0, e1, e2, e3] = entry.erases.to_le_bytes();
    [state, entry.stream as u8, n0, n1, e0, e1, e2, e3]
}

fn decode_entry(bytes: &[u8]) -> Option<BlockEntry> {
    let &[state, stream, n0, n1, e0, e1, e2, e3] = bytes else { return None };
    let state = match state {
        0 => BlockState::Free,
        1 => BlockState::Open,
        2 => BlockState::Closed,
        3 => BlockState::Failing,
        4 => BlockState::Bad,
        5 => BlockState::Map,
        6 => BlockState::Retired,
        _ => return None,
    };
    let stream = if stream == 0 { Stream::Host } else { Stream::Gc };
    let (next, erases) = (u16::from_le_bytes([n0, n1]), u32::from_le_bytes([e0, e1, e2, e3]));
    Some(BlockEntry { state, stream, next, erases })
}
