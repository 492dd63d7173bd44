//! Writing the copies of a directory to eMMC, and loading the directory from one of them at power-on.

use crate::checkpoint::directory_copies::{
    COPIES, Counts, Directory, HEADER_BLOCKS, Header, MapId, copy_blocks,
};
use crate::checkpoint::state::Checkpoint;
use crate::journal::log_page::StoredMap;
use crate::mapping::Mapping;
use crate::terms::sizes::MAP_ENTRY_BYTES;
use alloc::vec;
use aster_codec::checksum::crc32c;
use aster_ports::emmc::{EMMC_BLOCK_BYTES, EmmcPort};

impl<M: Mapping> Checkpoint<M> {
    /// The eMMC, if it has something to keep.
    fn emmc(&self) -> Option<&EmmcPort> {
        self.copies.emmc.as_deref().filter(|_| self.mapping.map().directory_entries() > 0)
    }
    /// Blocks of a copy.
    fn copy_blocks(&self) -> u32 {
        copy_blocks(self.mapping.map().directory_entries())
    }
    /// An empty directory. Without an eMMC it stays empty.
    pub(super) fn no_directory(&self) -> Directory {
        let entries = if self.emmc().is_some() { self.mapping.map().directory_entries() } else { 0 };
        Directory { bytes: vec![0; entries as usize * MAP_ENTRY_BYTES as usize], pages: 0 }
    }
    /// The counters of the copies, if there are any.
    pub(crate) fn copy_counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        if self.emmc().is_none() {
            return;
        }
        let Counts { found, taken, written } = self.copies.counts.get();
        each("gtd_copy_blocks", self.copy_blocks().into());
        each("gtd_copies_found", found);
        each("gtd_from_emmc", taken);
        each("gtd_copies_written", written);
    }

    // ---- power-on ----

    /// Finds out which copies exist. Boot does this first.
    pub(crate) async fn find_copies(&self) {
        let mut of = [None; COPIES];
        for (copy, of) in (0..).zip(&mut of) {
            *of = self.read_header(copy).await.map(|header| header.of);
        }
        self.copies.of.set(of);
        self.copies.count(|counts| counts.found = of.iter().flatten().count() as u64);
    }
    async fn read_header(&self, copy: u32) -> Option<Header> {
        let mut block = vec![0; EMMC_BLOCK_BYTES];
        self.emmc()?.read(&self.runtime.core, copy * self.copy_blocks(), &mut block).await;
        Header::decode(&block)
    }
    /// The directory of a stored map, if a copy of it is intact.
    pub(super) async fn read_copy(&self, stored: &StoredMap) -> Option<Directory> {
        let is_of_map = |of: &Option<MapId>| *of == Some(MapId::of(stored));
        let copy = self.copies.of.get().iter().position(is_of_map)? as u32;
        let header = self.read_header(copy).await?;
        let Directory { mut bytes, .. } = self.no_directory();
        let first = copy * self.copy_blocks() + HEADER_BLOCKS;
        for (block, part) in (first..).zip(bytes.chunks_mut(EMMC_BLOCK_BYTES)) {
            self.emmc()?.read(&self.runtime.core, block, part).await;
        }
        let is_whole = header.of == MapId::of(stored)
            && header.entries == self.mapping.map().directory_entries()
            && header.checksum == crc32c(&bytes);
        is_whole.then_some(Directory { bytes, pages: header.pages })
    }
    /// Power-on has taken the directory from a copy.
    pub(super) fn took_copy(&self) {
        self.copies.count(|counts| counts.taken = 1);
    }

    // ---- storing ----

    /// Writes the directory of the map that was stored last, which must already count, to the older copy.
    /// Nobody else may store a map meanwhile.
    pub(super) async fn write_copy(&self, of: MapId) {
        let (Some(emmc), Some(directory)) = (self.emmc(), self.copies.stored.take()) else { return };
        let mut all = self.copies.of.get();
        let copy = usize::from(all[1] < all[0]);
        let header = Header {
            of,
            entries: self.mapping.map().directory_entries(),
            pages: directory.pages,
            checksum: crc32c(&directory.bytes),
        };
        let first = copy as u32 * self.copy_blocks();
        let blocks = directory.bytes.chunks(EMMC_BLOCK_BYTES);
        for (block, part) in (first + HEADER_BLOCKS..).zip(blocks) {
            emmc.write(&self.runtime.core, block, part).await;
        }
        emmc.write(&self.runtime.core, first, &header.encode()).await;
        all[copy] = Some(header.of);
        self.copies.of.set(all);
        self.copies.count(|counts| counts.written += 1);
    }
}
