//! Reading a stored map and its block table back.

use crate::checkpoint::directory_copies::Directory;
use crate::checkpoint::error::BootError;
use crate::checkpoint::state::Checkpoint;
use crate::checkpoint::table_page::decode_entry;
use crate::journal::log_page::StoredMap;
use crate::journal::map_stripes::{self, StripePart};
use crate::mapping::Mapping;
use crate::terms::block::{BlockEntry, BlockState};
use crate::terms::cause::Cause;
use crate::terms::sizes::BLOCK_ENTRY_BYTES;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c_of;
use aster_units::Lpn;

/// A stored map that is being loaded.
struct Loading {
    table: Vec<BlockEntry>,
    // A bit for each page of the map that was stored, and then the numbers of those pages.
    present: Vec<u64>,
    pages: Vec<u32>,
    // The first of these pages are taken from here instead of NAND.
    directory: Option<Directory>,
    checksum: u32,
}

impl Loading {
    /// Whether the `nth` stored page of the map need not be read.
    fn is_at_hand(&self, nth: u32) -> bool {
        self.directory.as_ref().is_some_and(|directory| nth < directory.pages)
    }
}

fn invalid<T>(why: &'static str) -> Result<T, BootError> {
    Err(BootError::MapInvalid { why })
}

impl<M: Mapping> Checkpoint<M> {
    /// Loads a stored map into the mapping. Returns the block table that was stored with it.
    pub(crate) async fn load_map(&self, stored: &StoredMap) -> Result<Vec<BlockEntry>, BootError> {
        if let Some(copy) = self.read_copy(stored).await {
            let loaded = self.load_map_with(stored, Some(copy)).await;
            if loaded.is_ok() {
                self.took_copy();
                return loaded;
            }
            // NAND alone decides whether the map can be loaded.
            self.mapping.forget_everything();
        }
        self.load_map_with(stored, None).await
    }
    async fn load_map_with(
        &self,
        stored: &StoredMap,
        directory: Option<Directory>,
    ) -> Result<Vec<BlockEntry>, BootError> {
        let total = self.blocks.table().layout.total();
        let capacity = stored.blocks.len() as u64 * u64::from(self.runtime.geometry.pages_per_block);
        // The first check bounds `pages`, so that the number of places can't overflow.
        if u64::from(stored.pages) > capacity
            || u64::from(map_stripes::places(stored.pages)) > capacity
            || stored.pages < self.journal.own.table_pages()
            || stored.blocks.iter().any(|block| block.0 >= total)
        {
            return invalid("its root record names blocks that can't hold it");
        }
        let mut loading = Loading {
            table: Vec::with_capacity(total as usize),
            present: vec![0; self.journal.own.present_bytes() / 8],
            pages: Vec::new(),
            directory,
            checksum: 0,
        };
        self.generation.set(stored.generation);
        self.load_pages(stored, &mut loading).await?;
        if loading.table.len() != total as usize || loading.checksum != stored.checksum {
            return invalid("its checksum is another");
        }
        // When the table was stored, the blocks of the older map were still in state `Map`.
        for entry in loading.table.iter_mut().filter(|entry| entry.state == BlockState::Map) {
            entry.state = BlockState::Closed;
        }
        for block in &stored.blocks {
            loading.table[block.0 as usize].state = BlockState::Map;
        }
        Ok(loading.table)
    }
    async fn load_pages(&self, stored: &StoredMap, loading: &mut Loading) -> Result<(), BootError> {
        let whole = self.pages.whole();
        let mut in_flight = VecDeque::new();
        let (mut next, mut result) = (0, Ok(()));
        loop {
            while next < stored.pages
                && result.is_ok()
                && in_flight.len() < self.runtime.geometry.total_luns() as usize
            {
                let nth = next.checked_sub(self.journal.own.table_pages());
                let tag = if nth.is_some_and(|nth| loading.is_at_hand(nth)) {
                    None
                } else {
                    let at = self.journal.own.map_place(&stored.blocks, map_stripes::place_of(next));
                    let blocks = &self.blocks;
                    Some(blocks.begin_read(at, whole, self.map_buffer(next), Cause::Metadata).await)
                };
                in_flight.push_back((next, tag));
                next += 1;
            }
            let Some((page, tag)) = in_flight.pop_front() else { break };
            let content = match tag {
                Some(tag) => {
                    let outcome = self.media.done(tag).await;
                    let buffer = self.map_buffer(page);
                    let is_there =
                        self.journal.own.is_part(stored, StripePart::Content(page), &outcome, buffer);
                    if result.is_ok() && !is_there && !self.restore_map_page(stored, page, buffer).await {
                        result = Err(BootError::MapUnreadable { page });
                    }
                    Some(self.pages.dram().borrow().page(buffer).to_vec())
                }
                None => self.page_at_hand(page, loading),
            };
            if result.is_ok() {
                result = match content {
                    Some(content) => self.decode_page(page, &content, stored.pages, loading).await,
                    None => invalid("its directory ends before its pages"),
                };
            }
        }
        result
    }
    /// A page of content that need not be read. The table, which says which page of the map this is, has
    /// already been decoded.
    fn page_at_hand(&self, page: u32, loading: &Loading) -> Option<Vec<u8>> {
        let nth = page.checked_sub(self.journal.own.table_pages())?;
        let of_map = *loading.pages.get(nth as usize)?;
        loading.directory.as_ref()?.page(of_map, self.runtime.geometry.page_bytes as usize)
    }
    async fn decode_page(
        &self,
        page: u32,
        content: &[u8],
        pages: u32,
        loading: &mut Loading,
    ) -> Result<(), BootError> {
        loading.checksum = crc32c_of([&loading.checksum.to_le_bytes()[..], content]);
        let Some(nth) = page.checked_sub(self.journal.own.table_pages()) else {
            self.decode_table(page, content, loading)?;
            if page + 1 == self.journal.own.table_pages() {
                let bit = |&page: &u32| loading.present[page as usize / 64] >> (page % 64) & 1 == 1;
                loading.pages = (0..self.journal.own.map_pages()).filter(bit).collect();
                if loading.pages.len() as u32 != pages - self.journal.own.table_pages() {
                    return invalid("its table tells of other pages than there are");
                }
            }
            return Ok(());
        };
        let first = loading.pages[nth as usize] * self.journal.own.entries_per_page() as u32;
        self.mapping.load(Lpn(first), content).await;
        Ok(())
    }
    fn decode_table(&self, page: u32, content: &[u8], loading: &mut Loading) -> Result<(), BootError> {
        let total = self.blocks.table().layout.total() as usize;
        let (words, _) = content.as_chunks::<{ BLOCK_ENTRY_BYTES as usize }>();
        for (word, bytes) in (page as usize * words.len()..).zip(words) {
            if let Some(present) = loading.present.get_mut(word) {
                *present = u64::from_le_bytes(*bytes);
            } else if loading.table.len() < total {
                let unknown = BootError::MapInvalid { why: "a block is in no state that there is" };
                loading.table.push(decode_entry(bytes).ok_or(unknown)?);
            }
        }
        Ok(())
    }
}
