//! The root record: where a drive's stored map and its log are, and whether the map is up to date. NVRAM has
//! two copies of it. Recovery can do without the record, but with it need not search for the log.

use crate::journal::log_page::StoredMap;
use crate::terms::block::BlockIndex;
use crate::terms::oob::COUNT_MAX;
use crate::terms::sizes::{MAP_BLOCKS_MAX, ROOT_BYTES, SLOTS_MAX};
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c;
use aster_parties::NvramSlice;

const MAGIC: [u8; 4] = *b"ASTF";
const VERSION: u32 = 3;
const BLOCKS_AT: usize = 96;
const SLOTS_AT: usize = BLOCKS_AT + 4 * MAP_BLOCKS_MAX;
const CRC_AT: usize = ROOT_BYTES - 4;
const IS_DEAD: u32 = 1;
const IS_READ_ONLY: u32 = 2;
const _: () = assert!(SLOTS_AT + 8 * SLOTS_MAX <= CRC_AT);

/// Where the log stood.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LogPlace {
    /// The number of its last page.
    pub(crate) number: u64,
    /// The number of the page that names the stored map, and of the first whose entries the map may lack.
    pub(crate) commit: u64,
    pub(crate) replay_from: u64,
    /// The slot in use and the next line in it.
    pub(crate) at: Option<(u32, u32)>,
    /// The log has ended.
    pub(crate) ended: bool,
    /// The drive takes no more writes.
    pub(crate) read_only: bool,
    /// The highest number of each slot's pages.
    pub(crate) slots: Vec<u64>,
}

/// The root record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Root {
    /// The stored map is what the drive held when it stopped.
    pub(crate) clean: bool,
    /// The last sequence number given out.
    pub(crate) sequence: u64,
    /// Identifies geometry and capacity: a drive can only be opened with the shape that it was made with.
    pub(crate) shape: u64,
    /// The map stored last.
    pub(crate) stored: StoredMap,
    pub(crate) log: LogPlace,
}

/// What NVRAM says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stored {
    /// Nothing: a drive from the factory, or one that lost its power.
    Empty,
    /// A record.
    Root(Root),
    /// Neither copy is readable.
    Damaged,
}

impl Root {
    /// Writes both copies one after the other, so that one is intact at any time.
    pub(crate) fn store(&self, nvram: &NvramSlice) {
        let bytes = self.encode();
        nvram.write(0, &bytes);
        nvram.write(ROOT_BYTES, &bytes);
    }
    /// Reads the first intact copy. Copies differ only when the power went between their writes, before
    /// anything relied on the first.
    pub(crate) fn load(nvram: &NvramSlice) -> Stored {
        let mut copies = vec![0; 2 * ROOT_BYTES];
        nvram.read(0, &mut copies);
        if copies.iter().all(|&b| b == 0) {
            return Stored::Empty;
        }
        copies.chunks_exact(ROOT_BYTES).find_map(Root::decode).map_or(Stored::Damaged, Stored::Root)
    }

    /// Each copy with its place in NVRAM, and whether it is damaged: neither intact nor never written.
    pub(crate) fn damaged_copies(nvram: &NvramSlice) -> [(usize, bool); 2] {
        let mut bytes = vec![0; ROOT_BYTES];
        [0, ROOT_BYTES].map(|at| {
            nvram.read(at, &mut bytes);
            let is_empty = bytes.iter().all(|&b| b == 0);
            (at, !is_empty && Root::decode(&bytes).is_none())
        })
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; ROOT_BYTES];
        let Root { clean, sequence, shape, stored, log } = self;
        let (slot, line) = log.at.unwrap_or((u32::MAX, 0));
        let slots = if log.slots.len() <= SLOTS_MAX { &log.slots[..] } else { &[] };
        bytes[0..4].copy_from_slice(&MAGIC);
        let state = (u32::from(log.ended) * IS_DEAD) | (u32::from(log.read_only) * IS_READ_ONLY);
        let words = [VERSION, u32::from(*clean), state, stored.pages, stored.checksum, slot, line];
        let words = words.into_iter().chain([stored.blocks.len() as u32, slots.len() as u32]);
        for (into, word) in bytes[4..40].chunks_exact_mut(4).zip(words) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        let wide = [*sequence, *shape, stored.generation, log.number, log.commit, log.replay_from];
        for (into, word) in bytes[40..88].chunks_exact_mut(8).zip(wide) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        for (into, block) in bytes[BLOCKS_AT..SLOTS_AT].chunks_exact_mut(4).zip(&stored.blocks) {
            into.copy_from_slice(&block.0.to_le_bytes());
        }
        for (into, last) in bytes[SLOTS_AT..CRC_AT].chunks_exact_mut(8).zip(slots) {
            into.copy_from_slice(&last.to_le_bytes());
        }
        let crc = crc32c(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
    fn decode(bytes: &[u8]) -> Option<Root> {
        let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        if bytes[..4] != MAGIC || u32_at(4)? != VERSION || u32_at(CRC_AT)? != crc32c(&bytes[..CRC_AT]) {
            return None;
        }
        let (blocks, slots) = (u32_at(32)? as usize, u32_at(36)? as usize);
        let counts = [u64_at(40)?, u64_at(56)?, u64_at(64)?, u64_at(72)?, u64_at(80)?];
        if blocks > MAP_BLOCKS_MAX || slots > SLOTS_MAX || counts.iter().any(|&count| count > COUNT_MAX) {
            return None;
        }
        let [sequence, generation, number, commit, replay_from] = counts;
        let (slot, line) = (u32_at(24)?, u32_at(28)?);
        let block = |n| u32_at(BLOCKS_AT + 4 * n).map(BlockIndex);
        let blocks = (0..blocks).map(block).collect::<Option<_>>()?;
        let slots = (0..slots).map(|n| u64_at(SLOTS_AT + 8 * n)).collect::<Option<_>>()?;
        let at = (slot != u32::MAX).then_some((slot, line));
        Some(Root {
            clean: u32_at(8)? == 1,
            sequence,
            shape: u64_at(48)?,
            stored: StoredMap { generation, pages: u32_at(16)?, checksum: u32_at(20)?, blocks },
            log: LogPlace {
                number,
                commit,
                replay_from,
                at,
                ended: u32_at(12)? & IS_DEAD != 0,
                read_only: u32_at(12)? & IS_READ_ONLY != 0,
                slots,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::medium::Nvram;

    fn nvram() -> NvramSlice {
        NvramSlice::new(&Nvram::volatile(2 * ROOT_BYTES), 0, 2 * ROOT_BYTES)
    }

    fn root() -> Root {
        let blocks = (0..MAP_BLOCKS_MAX as u32).map(BlockIndex).collect();
        Root {
            clean: true,
            sequence: 1 << 40,
            shape: 77,
            stored: StoredMap { generation: 3, pages: 9, checksum: 5, blocks },
            log: LogPlace {
                number: 12,
                commit: 11,
                replay_from: 10,
                at: Some((3, 1)),
                ended: false,
                read_only: true,
                slots: (0..SLOTS_MAX as u64).collect(),
            },
        }
    }

    #[test]
    fn an_empty_nvram_says_nothing() {
        let nvram = nvram();
        assert_eq!(Root::load(&nvram), Stored::Empty);
        assert!(Root::damaged_copies(&nvram).iter().all(|(_, damaged)| !damaged));
    }

    #[test]
    fn a_record_survives_the_loss_of_either_copy_but_not_of_both() {
        let nvram = nvram();
        for lost in 0..2 {
            root().store(&nvram);
            assert!(Root::damaged_copies(&nvram).iter().all(|(_, damaged)| !damaged));
            nvram.write(lost * ROOT_BYTES + 60, &[0xEE]);
            assert_eq!(Root::load(&nvram), Stored::Root(root()));
            let damaged = Root::damaged_copies(&nvram);
            assert_eq!((damaged[lost], damaged[1 - lost].1), ((lost * ROOT_BYTES, true), false));
        }
        nvram.write(60, &[0xEE]);
        assert_eq!(Root::load(&nvram), Stored::Damaged);
    }

    #[test]
    fn counters_beyond_any_drives_are_damage_not_a_start() {
        for spoil in
            [|r: &mut Root| r.sequence = COUNT_MAX + 1, |r: &mut Root| r.stored.generation = COUNT_MAX + 1]
        {
            let mut root = root();
            spoil(&mut root);
            let nvram = nvram();
            root.store(&nvram);
            assert_eq!(Root::load(&nvram), Stored::Damaged);
        }
    }
}
