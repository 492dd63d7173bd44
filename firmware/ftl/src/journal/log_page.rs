//! A page of the log: what has changed since the stored map, and where to look for changes that the log
//! doesn't have yet.

use crate::durability::moves::{Coding, Context, NEAR};
use crate::durability::outbox::{LogEntry, PendingEntries};
use crate::terms::block::BlockIndex;
use crate::terms::oob::COUNT_MAX;
use crate::terms::sizes::{BLOCK_BYTES, HEADER_BYTES, RANGE_BYTES};
use alloc::vec::Vec;
use aster_codec::checksum::crc32c;
use aster_units::{Lpn, Upa};

const MAGIC: [u8; 4] = *b"ALG5";
const CRC_AT: usize = 4;
const CHECKED_FROM: usize = 8;
const IS_STORED: u32 = 1;
const IS_READ_ONLY: u32 = 2;

impl LogEntry {
    fn encode(self, context: &mut Context, into: &mut Writer<'_>) {
        match self {
            LogEntry::Map { lpn, at } => match context.encode(lpn, at) {
                Coding::Expected { track } => into.put(&[7, track]),
                Coding::Near { track, lpn, at } => {
                    into.put(&[NEAR as u8 | at, track]);
                    into.varint(lpn);
                }
                Coding::Far { track, lpn, at } => {
                    into.put(&[6, track]);
                    into.varint(lpn);
                    into.varint(at);
                }
                Coding::Full => {
                    into.put(&[1]);
                    into.u32(lpn.0);
                    into.u32(at.0);
                }
            },
            LogEntry::Trim { first, count, sequence } => {
                into.put(&[2]);
                into.u32(first.0);
                into.u32(count);
                into.u64(sequence);
            }
            LogEntry::Opened(block) => into.tagged(3, block),
            LogEntry::Erased { block, erases } => {
                into.tagged(4, block);
                into.u32(erases);
            }
            LogEntry::Retired(block) => into.tagged(5, block),
        }
    }
    fn decode(context: &mut Context, from: &mut Reader<'_>) -> Option<LogEntry> {
        let [kind] = from.take()?;
        let moved = |(lpn, at)| LogEntry::Map { lpn, at };
        let entry = match kind {
            1 => moved(context.heard_full(Lpn(from.u32()?), Upa(from.u32()?))),
            2 => LogEntry::Trim { first: Lpn(from.u32()?), count: from.u32()?, sequence: from.u64()? },
            3 => LogEntry::Opened(BlockIndex(from.u32()?)),
            4 => LogEntry::Erased { block: BlockIndex(from.u32()?), erases: from.u32()? },
            5 => LogEntry::Retired(BlockIndex(from.u32()?)),
            6 => {
                let [track] = from.take()?;
                moved(context.heard_distances(track, from.varint()?, from.varint()?))
            }
            7 => {
                let [track] = from.take()?;
                moved(context.heard_expected(track))
            }
            near if u32::from(near) >= NEAR => {
                let [track] = from.take()?;
                moved(context.heard_distances(track, from.varint()?, u32::from(near) - NEAR))
            }
            _ => return None,
        };
        Some(entry)
    }
}

/// The stored map that the log continues from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct StoredMap {
    /// Counts stored maps.
    pub(crate) generation: u64,
    /// Pages of the block table and the map.
    pub(crate) pages: u32,
    /// The checksum of their content, page after page.
    pub(crate) checksum: u32,
    /// The blocks that hold the pages, interleaved.
    pub(crate) blocks: Vec<BlockIndex>,
}

/// What a log page says apart from its entries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Header {
    /// Identifies geometry and capacity: a drive can only be opened with the shape that it was made with.
    pub(crate) shape: u64,
    /// Counts log pages over the drive's life.
    pub(crate) number: u64,
    /// The last sequence number given out.
    pub(crate) sequence: u64,
    /// The log page that says where the stored map is.
    pub(crate) commit: u64,
    /// The first log page whose entries the stored map may lack.
    pub(crate) replay_from: u64,
    /// Where the stored map is, if this is the page that says so.
    pub(crate) stored: Option<StoredMap>,
    /// Blocks with pages that no entry up to here mentions, and the first such page of each.
    pub(crate) ranges: Vec<(BlockIndex, u32)>,
    /// Erased blocks that may be written after this page without a further log page.
    pub(crate) free_list: Vec<BlockIndex>,
    /// Runs of units inside `ranges` that don't count any more, each with its length: they were trimmed or
    /// replaced before `replay_from`. Only pages that belong to a stored map have them.
    pub(crate) stale: Vec<(Upa, u32)>,
    /// Blocks that have been collected but not erased yet: copies out of them count.
    pub(crate) collected: Vec<BlockIndex>,
    /// The drive takes no more writes.
    pub(crate) read_only: bool,
}

struct Writer<'a> {
    page: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.page[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
    fn u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }
    // A number of pages, within a block.
    fn run(&mut self, (at, pages): (u32, u32)) {
        self.u32(at);
        self.put(&(pages as u16).to_le_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }
    // Seven bits per byte, low bits first. The high bit is clear in the last byte.
    #[inline]
    fn varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.put(&[value as u8 | 0x80]);
            value >>= 7;
        }
        self.put(&[value as u8]);
    }
    fn tagged(&mut self, tag: u8, block: BlockIndex) {
        self.put(&[tag]);
        self.u32(block.0);
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
    fn varint(&mut self) -> Option<u32> {
        let mut value = 0u64;
        for shift in (0..32).step_by(7) {
            let [byte] = self.take()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).ok();
            }
        }
        None
    }
    fn run(&mut self) -> Option<(u32, u32)> {
        Some((self.u32()?, u32::from(self.take().map(u16::from_le_bytes)?)))
    }
    fn blocks(&mut self, count: u32) -> Option<Vec<BlockIndex>> {
        (0..count).map(|_| self.u32().map(BlockIndex)).collect()
    }
}

impl Header {
    /// Bytes of header and lists.
    pub(crate) fn bytes(&self) -> usize {
        let stored = self.stored.as_ref().map_or(0, |stored| stored.blocks.len());
        self.bytes_of_any() + BLOCK_BYTES * stored + RANGE_BYTES * self.stale.len()
    }
    /// Bytes of the header and of those lists that all pages have, not only pages that belong to a stored
    /// map.
    pub(crate) fn bytes_of_any(&self) -> usize {
        HEADER_BYTES
            + BLOCK_BYTES * (self.free_list.len() + self.collected.len())
            + RANGE_BYTES * self.ranges.len()
    }

    /// Writes header, lists and the oldest `count` entries over `page`. They must fit.
    pub(crate) fn encode(&self, pending: &PendingEntries, count: usize, page: &mut [u8]) {
        page.fill(0);
        let mut w = Writer { page, at: CHECKED_FROM };
        let none = StoredMap::default();
        let stored = self.stored.as_ref().unwrap_or(&none);
        for wide in [self.shape, self.number, self.sequence, self.commit, self.replay_from, stored.generation]
        {
            w.u64(wide);
        }
        w.u32(stored.pages);
        w.u32(stored.checksum);
        let is_stored = if self.stored.is_some() { IS_STORED } else { 0 };
        w.u32(is_stored | if self.read_only { IS_READ_ONLY } else { 0 });
        let lists = [
            stored.blocks.len(),
            self.ranges.len(),
            self.free_list.len(),
            self.stale.len(),
            self.collected.len(),
            count,
        ];
        lists.into_iter().for_each(|length| w.u32(length as u32));
        w.u32(pending.track_units());
        debug_assert_eq!(w.at, HEADER_BYTES);
        stored.blocks.iter().for_each(|block| w.u32(block.0));
        self.ranges.iter().for_each(|&(block, page)| w.run((block.0, page)));
        self.free_list.iter().for_each(|block| w.u32(block.0));
        self.stale.iter().for_each(|&(first, count)| w.run((first.0, count)));
        self.collected.iter().for_each(|block| w.u32(block.0));
        let mut context = Context::new(pending.track_units());
        pending.entries().iter().take(count).for_each(|entry| entry.encode(&mut context, &mut w));
        page[..4].copy_from_slice(&MAGIC);
        let crc = crc32c(&page[CHECKED_FROM..]);
        page[CRC_AT..CHECKED_FROM].copy_from_slice(&crc.to_le_bytes());
    }

    /// Reads a page. Returns `None` if it isn't a log page or is damaged.
    pub(crate) fn decode(page: &[u8]) -> Option<(Header, Vec<LogEntry>)> {
        let crc = page.get(CRC_AT..CHECKED_FROM)?;
        if !page.starts_with(&MAGIC) || crc != crc32c(&page[CHECKED_FROM..]).to_le_bytes() {
            return None;
        }
        let mut r = Reader(page.get(CHECKED_FROM..)?);
        let mut wide = || r.u64();
        let [shape, number, sequence, commit, replay_from] = [wide()?, wide()?, wide()?, wide()?, wide()?];
        let (generation, pages, checksum, flags) = (r.u64()?, r.u32()?, r.u32()?, r.u32()?);
        if [number, sequence, commit, replay_from, generation].iter().any(|&count| count > COUNT_MAX) {
            return None;
        }
        // No list can be longer than the page.
        let mut length = || r.u32().filter(|&count| count as usize <= page.len());
        let [blocks, ranges, free_list] = [length()?, length()?, length()?];
        let [stale, collected, entries] = [length()?, length()?, length()?];
        let mut context = Context::new(r.u32()?);
        let mut r = Reader(page.get(HEADER_BYTES..)?);
        let blocks = r.blocks(blocks)?;
        let range = |(block, page)| (BlockIndex(block), page);
        let ranges = (0..ranges).map(|_| r.run().map(range)).collect::<Option<_>>()?;
        let free_list = r.blocks(free_list)?;
        let run = |(first, count)| (Upa(first), count);
        let stale = (0..stale).map(|_| r.run().map(run)).collect::<Option<_>>()?;
        let collected = r.blocks(collected)?;
        let entries = (0..entries).map(|_| LogEntry::decode(&mut context, &mut r)).collect::<Option<_>>()?;
        let stored = StoredMap { generation, pages, checksum, blocks };
        let stored = (flags & IS_STORED != 0).then_some(stored);
        let read_only = flags & IS_READ_ONLY != 0;
        let header = Header {
            shape,
            number,
            sequence,
            commit,
            replay_from,
            stored,
            ranges,
            free_list,
            stale,
            collected,
            read_only,
        };
        Some((header, entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::sizes::MOVE_BYTES_MAX;
    use alloc::vec;
    use proptest::prelude::*;

    fn header() -> Header {
        Header {
            shape: 7,
            number: 9,
            sequence: 1 << 40,
            commit: 5,
            replay_from: 4,
            stored: Some(StoredMap {
                generation: 3,
                pages: 2,
                checksum: 77,
                blocks: vec![BlockIndex(4), BlockIndex(9)],
            }),
            ranges: vec![(BlockIndex(3), 2), (BlockIndex(8), 0)],
            free_list: vec![BlockIndex(11)],
            stale: vec![(Upa(40), 3), (Upa(77), 1)],
            collected: vec![BlockIndex(2)],
            read_only: true,
        }
    }
    fn pending() -> PendingEntries {
        PendingEntries::new(1 << 20)
    }
    fn entry(kind: u8, a: u32, b: u32) -> LogEntry {
        match kind % 5 {
            0 => LogEntry::Map { lpn: Lpn(a), at: Upa(b) },
            1 => LogEntry::Trim { first: Lpn(a), count: 1 + b % 1000, sequence: u64::from(b) << 8 },
            2 => LogEntry::Opened(BlockIndex(a)),
            3 => LogEntry::Erased { block: BlockIndex(a), erases: b },
            _ => LogEntry::Retired(BlockIndex(a)),
        }
    }

    proptest! {
        #[test]
        fn pages_round_trip(
            words in prop::collection::vec((any::<u8>(), 0u32..1 << 30, any::<u32>()), 0..100),
            commit: bool,
        ) {
            let mut pending = pending();
            words.iter().for_each(|&(kind, a, b)| pending.push(entry(kind, a, b)));
            let mut header = header();
            if !commit {
                (header.stored, header.stale, header.read_only) = (None, vec![], false);
            }
            let mut page = vec![0xEE; 4096];
            let room = 4096 - header.bytes();
            let count = pending.fitting(room);
            prop_assert!(count == pending.entries().len() || pending.bytes() > room);
            header.encode(&pending, count, &mut page);
            let (read, entries) = Header::decode(&page).expect("a whole page");
            prop_assert_eq!(&read, &header);
            prop_assert_eq!(
                &entries[..],
                &pending.entries().iter().copied().take(count).collect::<Vec<_>>()[..]
            );
        }

        /// Typical moves: forwards or backwards through the pages of a LUN, of logical pages at any distance.
        #[test]
        fn moves_round_trip_in_each_form(
            moves in prop::collection::vec(
                (0u32..3, -3i32..70, prop_oneof![Just(8), -70..70, any::<i32>()]),
                1..300,
            ),
            track_units in prop_oneof![Just(0u32), Just(1 << 20)],
        ) {
            let mut pending = PendingEntries::new(track_units);
            let mut at = [(0u32, 0u32); 3];
            for (lun, pages, logical) in moves {
                let (lpn, ppa) = &mut at[lun as usize];
                (*lpn, *ppa) = (lpn.wrapping_add_signed(logical), ppa.wrapping_add_signed(pages));
                pending.push(LogEntry::Map { lpn: Lpn(*lpn), at: Upa(ppa.wrapping_add(lun << 20)) });
            }
            let mut page = vec![0; 4096];
            let count = pending.fitting(4096 - HEADER_BYTES);
            Header::default().encode(&pending, count, &mut page);
            let (_, read) = Header::decode(&page).expect("a whole page");
            prop_assert!(read.iter().eq(pending.entries().iter().take(count)));
        }

        #[test]
        fn a_flipped_bit_is_noticed(bit in 0usize..8 * 4096) {
            let mut page = vec![0; 4096];
            let mut pending = pending();
            pending.push(LogEntry::Opened(BlockIndex(5)));
            header().encode(&pending, 1, &mut page);
            page[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Header::decode(&page).is_none());
        }
    }

    /// Data written in sequence over eight LUNs, two pages of a word line at a time, takes two bytes per
    /// move, except for the first two of each LUN.
    #[test]
    fn moves_in_sequence_are_short() {
        let mut pending = pending();
        let moves: Vec<_> = (0..1024u32)
            .map(|n| {
                let (line, lun, of_line) = (n / 16, n / 2 % 8, n % 2);
                let lpn = Lpn(5_000 + line * 16 + of_line * 8 + lun);
                LogEntry::Map { lpn, at: Upa((lun << 20) + 300 + 2 * line + of_line) }
            })
            .collect();
        moves.iter().for_each(|&entry| pending.push(entry));
        assert!(pending.bytes() <= 2 * 1024 + 16 * MOVE_BYTES_MAX, "{} bytes", pending.bytes());
        let mut page = vec![0; 8192];
        Header::default().encode(&pending, 1024, &mut page);
        assert_eq!(Header::decode(&page), Some((Header::default(), moves)));
        // The coding starts afresh with each page.
        assert_eq!(pending.take(1000), 1000);
        let left = pending.bytes();
        Header::default().encode(&pending, 24, &mut page);
        let (_, read) = Header::decode(&page).expect("a whole page");
        assert!(
            read.iter().eq(pending.entries())
                && pending.fitting(left) == 24
                && pending.fitting(left - 1) == 23
        );
    }

    /// Random logical pages, each written to the next page of its LUN, take four bytes less than in full if
    /// the drive has few pages, and three bytes less if it has 64 million.
    #[test]
    fn moves_at_random_save_the_bytes_of_their_place() {
        for (pages, bytes) in [(1 << 19, 5), (1 << 26, 6)] {
            let mut pending = pending();
            let mut rng = aster_units::Rng::new(1);
            for n in 0..1024u32 {
                let lpn = Lpn(rng.below(pages) as u32);
                pending.push(LogEntry::Map { lpn, at: Upa(((n % 8) << 20) + n / 8) });
            }
            assert!(pending.bytes() <= bytes * 1024 + 16, "{} bytes", pending.bytes());
        }
    }

    /// Checks the bytes of moves in full and in the short form of any distance. No page of another format is
    /// read.
    #[test]
    fn a_page_is_what_its_bytes_say_and_of_this_format_alone() {
        let mut page = vec![0; 4096];
        header().encode(&pending(), 0, &mut page);
        let entries = [
            &[1, 100, 0, 0, 0, 7, 0, 0x30, 0][..],
            // On the third track: a logical page on, a physical page on; then five back, and 200 on.
            &[6, 3, 2, 2],
            &[6, 3, 9, 0x90, 3],
            &[3, 9, 0, 0, 0],
        ];
        let at = header().bytes();
        page[at..at + entries.concat().len()].copy_from_slice(&entries.concat());
        page[88..92].copy_from_slice(&4u32.to_le_bytes());
        let crc = crc32c(&page[8..]);
        page[4..8].copy_from_slice(&crc.to_le_bytes());
        let (read, entries) = Header::decode(&page).expect("a whole page");
        let map = |lpn, at| LogEntry::Map { lpn: Lpn(lpn), at: Upa(at) };
        let on = 0x30_0007;
        assert_eq!(read, header());
        assert_eq!(
            entries,
            [map(100, on), map(101, on + 1), map(96, on + 201), LogEntry::Opened(BlockIndex(9))]
        );
        page[..4].copy_from_slice(b"ALG4");
        assert!(Header::decode(&page).is_none());
    }

    #[test]
    fn trims_in_a_row_are_one_entry_until_a_number_comes_between() {
        let mut pending = pending();
        let trim = |first: u32, sequence| LogEntry::Trim { first: Lpn(first), count: 4, sequence };
        [trim(0, 10), trim(4, 11), trim(8, 13), trim(12, 14), trim(40, 15)]
            .into_iter()
            .for_each(|t| pending.push(t));
        let runs: Vec<_> = pending.entries().iter().copied().collect();
        let run = |first: u32, count, sequence| LogEntry::Trim { first: Lpn(first), count, sequence };
        assert_eq!(runs, [run(0, 8, 11), run(8, 8, 14), run(40, 4, 15)]);
        assert_eq!(pending.last_trim(), 3);
        assert_eq!((pending.take(3), pending.bytes()), (3, 0));
    }
}
