use crate::config::{Config, PAGE};
use crate::memory::{GuestMemory, HOST_PAGE_BYTES, OutOfMemory};
use aster_ports::link::BadAddress;
use aster_units::{Content, SECTOR_BYTES};
use aster_wire::nvme::prp::{PRP_ENTRY_BYTES, PrpShape};

/// A data buffer's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// One little-endian tag per 4 KiB sector.
    Tags(&'a [[u8; 8]]),
}

/// A data buffer's content, mutable.
#[derive(PartialEq, Eq, Debug)]
pub enum DataMut<'a> {
    /// Bytes.
    Bytes(&'a mut [u8]),
    /// One little-endian tag per 4 KiB sector.
    Tags(&'a mut [[u8; 8]]),
}

/// The memory of a queue pair's request slots. Each slot has a data buffer, its PRP list, and one page for
/// the ranges of Dataset Management, which are bytes even if the drive's content is tags.
///
/// A PRP list is written once, when it is made: entry `k` names page `k + 1` of the buffer, and the last
/// entry of each list page but the last points to the next (NVMe 1.4 §4.3). Only a transfer of more than
/// 512 pages rewrites the last entries of its list pages, because their values depend on its length.
pub(crate) struct Buffers {
    content: Content,
    offset: u64,
    data: u64,
    data_stride: u64,
    lists: u64,
    list_pages: u64,
    ranges: u64,
}

/// Entries of a full list page that name data. The last entry points to the next list page.
const CHAINED: u64 = PAGE.entries() - 1;

impl Buffers {
    /// Allocates and prepares the memory of `slots` slots.
    ///
    /// # Errors
    /// When the memory is smaller than the configuration needs.
    pub(crate) fn new(config: &Config, slots: u64, memory: &mut GuestMemory) -> Result<Self, OutOfMemory> {
        let data_stride = match config.content {
            Content::Full => config.data_pages() * HOST_PAGE_BYTES,
            Content::Fingerprint => u64::from(config.transfer_bytes_max),
        };
        let data = match config.content {
            Content::Full => memory.alloc(slots * data_stride, HOST_PAGE_BYTES)?,
            Content::Fingerprint => memory.alloc_tags(slots * data_stride / SECTOR_BYTES as u64)?,
        };
        let list_pages = config.list_pages();
        let lists = memory.alloc(slots * list_pages * HOST_PAGE_BYTES, HOST_PAGE_BYTES)?;
        let ranges = memory.alloc(slots * HOST_PAGE_BYTES, HOST_PAGE_BYTES)?;
        let offset = u64::from(config.buffer_offset);
        let buffers =
            Buffers { content: config.content, offset, data, data_stride, lists, list_pages, ranges };
        for slot in 0..slots {
            buffers.write_lists(slot, memory);
        }
        Ok(buffers)
    }

    /// Where the data of a slot begins.
    fn data_of(&self, slot: u16) -> u64 {
        self.data + u64::from(slot) * self.data_stride + self.offset
    }
    /// The page that holds a slot's Dataset Management ranges.
    pub(crate) fn ranges_of(&self, slot: u16) -> u64 {
        self.ranges + u64::from(slot) * HOST_PAGE_BYTES
    }
    fn list_of(&self, slot: u64, page: u64) -> u64 {
        self.lists + (slot * self.list_pages + page) * HOST_PAGE_BYTES
    }

    fn write_lists(&self, slot: u64, memory: &mut GuestMemory) {
        for page in 0..self.list_pages {
            let first = self.data + slot * self.data_stride + (1 + page * CHAINED) * HOST_PAGE_BYTES;
            for index in 0..CHAINED {
                self.set_entry(slot, page, index, first + index * HOST_PAGE_BYTES, memory);
            }
        }
        // Entries past the buffer's end are never read: the transfer's length ends the list.
    }

    fn set_entry(&self, slot: u64, page: u64, index: u64, value: u64, memory: &mut GuestMemory) {
        let at = self.list_of(slot, page) + index * PRP_ENTRY_BYTES as u64;
        memory
            .bytes_mut(at, PRP_ENTRY_BYTES)
            .expect("the lists were allocated")
            .copy_from_slice(&value.to_le_bytes());
    }

    /// PRP1 and PRP2 for a transfer of `bytes` bytes from or to a slot's data buffer.
    #[inline]
    pub(crate) fn prps(&self, slot: u16, bytes: u64, memory: &mut GuestMemory) -> (u64, u64) {
        let start = self.data_of(slot);
        let second = start - self.offset + HOST_PAGE_BYTES;
        match PrpShape::of(self.offset, bytes, PAGE) {
            PrpShape::None => (0, 0),
            PrpShape::One => (start, 0),
            PrpShape::Two => (start, second),
            PrpShape::List { data_entries, list_pages } => {
                if data_entries >= PAGE.entries() {
                    self.write_boundaries(u64::from(slot), data_entries, list_pages, memory);
                }
                (start, self.list_of(u64::from(slot), 0))
            }
        }
    }

    /// Writes the last entry of each list page that a transfer uses.
    fn write_boundaries(&self, slot: u64, data_entries: u64, list_pages: u64, memory: &mut GuestMemory) {
        for page in 0..list_pages - 1 {
            self.set_entry(slot, page, CHAINED, self.list_of(slot, page + 1), memory);
        }
        let last = list_pages - 1;
        if data_entries - last * CHAINED == PAGE.entries() {
            let data = self.data + slot * self.data_stride + (1 + last * CHAINED + CHAINED) * HOST_PAGE_BYTES;
            self.set_entry(slot, last, CHAINED, data, memory);
        }
    }

    /// The first `bytes` bytes of a slot's data, a multiple of 4 KiB for tags.
    #[inline]
    pub(crate) fn data<'a>(
        &self,
        slot: u16,
        bytes: usize,
        memory: &'a GuestMemory,
    ) -> Result<Data<'a>, BadAddress> {
        let at = self.data_of(slot);
        Ok(match self.content {
            Content::Full => Data::Bytes(memory.bytes(at, bytes)?),
            Content::Fingerprint => Data::Tags(memory.tags(at, bytes / SECTOR_BYTES)?),
        })
    }
    /// The first `bytes` bytes of a slot's data, a multiple of 4 KiB for tags, mutable.
    #[inline]
    pub(crate) fn data_mut<'a>(
        &self,
        slot: u16,
        bytes: usize,
        memory: &'a mut GuestMemory,
    ) -> Result<DataMut<'a>, BadAddress> {
        let at = self.data_of(slot);
        Ok(match self.content {
            Content::Full => DataMut::Bytes(memory.bytes_mut(at, bytes)?),
            Content::Fingerprint => DataMut::Tags(memory.tags_mut(at, bytes / SECTOR_BYTES)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use aster_wire::nvme::prp::{PrpStep, PrpWalk};
    use proptest::prelude::*;

    /// The (address, length) runs that a controller's walk finds.
    fn walk(prp1: u64, prp2: u64, bytes: u64, memory: &GuestMemory) -> Vec<(u64, u32)> {
        let mut walk = PrpWalk::new(prp1, prp2, bytes, PAGE).unwrap();
        let (mut list, mut runs) = (Vec::new(), Vec::new());
        loop {
            match walk.step(&list).unwrap() {
                PrpStep::Segment(s) => runs.push((s.address, s.bytes)),
                PrpStep::NeedList { address, entries } => {
                    list = memory.bytes(address, entries as usize * PRP_ENTRY_BYTES).unwrap().to_vec();
                }
                PrpStep::Done => return runs,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn a_controller_walks_the_buffer_from_end_to_end(
            offset in 0u32..1024, lengths in proptest::collection::vec(1u64..(6 << 20), 1..4),
                pages in 1u32..1537,
            round in any::<bool>(),
        ) {
            let config = Config {
                buffer_offset: offset * 4, transfer_bytes_max: pages * 4096, depth: 2, ..Config::default()
            };
            let mut memory = config.memory();
            let buffers = Buffers::new(&config, 2, &mut memory).unwrap();
            for length in lengths {
                let length = if round { length.next_multiple_of(4096) } else { length };
                let length = length.min(u64::from(config.transfer_bytes_max));
                let (prp1, prp2) = buffers.prps(1, length, &mut memory);
                let mut at = buffers.data_of(1);
                for (address, bytes) in walk(prp1, prp2, length, &memory) {
                    prop_assert_eq!(address, at);
                    at += u64::from(bytes);
                }
                prop_assert_eq!(at - buffers.data_of(1), length);
            }
        }
    }

    #[test]
    fn a_list_page_that_is_full_to_the_last_entry_has_no_pointer() {
        let config = Config { transfer_bytes_max: 1100 * 4096, depth: 1, ..Config::default() };
        let mut memory = config.memory();
        let buffers = Buffers::new(&config, 1, &mut memory).unwrap();
        // 513 and 1,024 pages fill a list page exactly. The other lengths must still work before and after
        // these.
        for pages in [513u64, 514, 513, 1024, 1025, 512, 1100, 3] {
            let (prp1, prp2) = buffers.prps(0, pages * 4096, &mut memory);
            let runs = walk(prp1, prp2, pages * 4096, &memory);
            assert_eq!(runs.len() as u64, pages);
            assert!(runs.iter().zip(0..).all(|(run, i)| *run == (buffers.data + i * 4096, 4096)));
        }
    }
}
