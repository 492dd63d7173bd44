//! What is kept in NVRAM: the bad-block table, which is the blocks that aren't free, in two records in turn
//! (P26), and of a drive of chunks how many erases each LUN has had (P29).
//!
//! A record of all blocks, a byte each, would not fit: the board at full size has 524,288 of them. The
//! list has room for eight in a thousand.

use crate::config::VectorsConfig;
use crate::table::BlockTable;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c;
use aster_parties::{DamagedRecord, NvramSlice};
use aster_ports::host::BlockState;
use aster_units::{BlockAddr, LunIndex};
use aster_wire::ocssd::BlockFlags;
use core::mem::{offset_of, size_of};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The most blocks that aren't free.
const EXCEPTIONS_MAX: usize = 4096;
const SIGNATURE: [u8; 4] = *b"AVBT";
/// The bit of [`Entry::state`] for a block whose chunk was closed early.
const CLOSED: u8 = 1 << 7;
/// Its bit for a block with a page whose program has failed.
const FAILED: u8 = 1 << 6;

/// What stands before the entries of a record.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    signature: [u8; 4],
    /// How many there are, of which a record holds [`EXCEPTIONS_MAX`] at most. If there are more, the drive
    /// takes no more writes.
    entries: U32,
    /// The record with the higher one counts.
    sequence: U64,
    /// CRC-32C of the header with this field zero, and of the entries.
    checksum: U32,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Entry {
    lun: U16,
    block: U16,
    /// See [`BlockFlags`], [`CLOSED`] and [`FAILED`].
    state: u8,
}

const RECORD_BYTES: usize = size_of::<Header>() + EXCEPTIONS_MAX * size_of::<Entry>();
/// Where the erases of each LUN are: their number, and the same inverted.
const ERASES_AT: usize = 2 * RECORD_BYTES;
const ERASES_BYTES: usize = 2 * size_of::<U32>();

/// Bytes of NVRAM that a drive takes.
pub(crate) fn bytes_of(config: &VectorsConfig) -> usize {
    let luns = if config.chunks { config.geometry.total_luns() as usize } else { 0 };
    ERASES_AT + luns * ERASES_BYTES
}

pub(crate) const fn flags_of(state: BlockState) -> BlockFlags {
    match state {
        BlockState::Free => BlockFlags::Free,
        BlockState::FactoryBad => BlockFlags::FactoryBad,
        BlockState::GrownBad => BlockFlags::GrownBad,
        BlockState::Device => BlockFlags::Device,
        BlockState::Host => BlockFlags::Host,
    }
}
const fn state_of(flags: BlockFlags) -> BlockState {
    match flags {
        BlockFlags::Free => BlockState::Free,
        BlockFlags::FactoryBad => BlockState::FactoryBad,
        BlockFlags::GrownBad => BlockState::GrownBad,
        BlockFlags::Device => BlockState::Device,
        BlockFlags::Host => BlockState::Host,
    }
}

/// What one record holds.
enum Slot {
    /// It was never written.
    Blank,
    Damaged,
    Whole {
        sequence: u64,
        entries: Vec<Entry>,
        /// There were more than fit.
        overfull: bool,
    },
}

fn read(nvram: &NvramSlice, slot: usize) -> Slot {
    let mut record = vec![0; RECORD_BYTES];
    nvram.read(slot * RECORD_BYTES, &mut record);
    if record.iter().all(|byte| *byte == 0) {
        return Slot::Blank;
    }
    let whole = || {
        let (header, rest) = Header::read_from_prefix(&record).ok()?;
        let all = header.entries.get() as usize;
        let count = all.min(EXCEPTIONS_MAX);
        let bytes = rest.get(..count.checked_mul(size_of::<Entry>())?)?;
        let good = header.signature == SIGNATURE && header.checksum.get() == checksum(header, bytes);
        let entries = <[Entry]>::ref_from_bytes(bytes).ok().filter(|_| good)?;
        let (sequence, entries) = (header.sequence.get(), entries.to_vec());
        Some(Slot::Whole { sequence, entries, overfull: all > count })
    };
    whole().unwrap_or(Slot::Damaged)
}

fn checksum(header: Header, entries: &[u8]) -> u32 {
    let mut bytes = Header { checksum: U32::ZERO, ..header }.as_bytes().to_vec();
    bytes.extend(entries);
    crc32c(&bytes)
}

/// The damaged records in NVRAM.
pub(crate) fn damaged(nvram: &NvramSlice) -> Vec<DamagedRecord> {
    let instead = "the other record counts; without one the factory's marks are read again, and blocks \
                   that went bad in use are found by their failures";
    let is_damaged = |slot: &usize| matches!(read(nvram, *slot), Slot::Damaged);
    let what = "a copy of the bad-block table";
    (0..2).filter(is_damaged).map(|slot| DamagedRecord { at: slot * RECORD_BYTES, what, instead }).collect()
}

/// The kept table, and where the next record goes.
pub(crate) struct Kept {
    nvram: NvramSlice,
    sequence: u64,
    overfull: bool,
}

impl Kept {
    /// Looks for the newest whole record.
    pub fn new(nvram: NvramSlice) -> Self {
        Kept { nvram, sequence: 0, overfull: false }
    }
    /// Whether there have been more blocks to keep than fit. Those that did not fit are forgotten with the
    /// power, so that this holds for good.
    pub fn is_overfull(&self) -> bool {
        self.overfull
    }
    /// Whether this many blocks more than those of `table` fit.
    pub fn has_room(&self, table: &BlockTable, more: usize) -> bool {
        more == 0 || table.exceptions().count() + more <= EXCEPTIONS_MAX
    }
    /// Sets the states of the newest whole record in `table`. Returns whether there was one. An entry that
    /// names no block of this drive is left out.
    pub fn load(&mut self, config: &VectorsConfig, table: &mut BlockTable) -> bool {
        let whole = |slot| match read(&self.nvram, slot) {
            Slot::Whole { sequence, entries, overfull } => Some((sequence, entries, overfull)),
            Slot::Blank | Slot::Damaged => None,
        };
        let newest = (0..2).filter_map(whole).max_by_key(|(sequence, ..)| *sequence);
        let Some((sequence, entries, overfull)) = newest else { return false };
        (self.sequence, self.overfull) = (sequence, overfull);
        for entry in entries {
            let (lun, block) = (u32::from(entry.lun.get()), u32::from(entry.block.get()));
            let exists = lun < config.geometry.total_luns() && block < config.geometry.blocks_per_lun;
            if let Some(flags) = BlockFlags::from_raw(entry.state & !(CLOSED | FAILED)).filter(|_| exists) {
                let block = table.get_mut(LunIndex(lun), BlockAddr(block));
                (block.state, block.closed) = (state_of(flags), entry.state & CLOSED != 0);
                block.failed_page = entry.state & FAILED != 0;
                block.failures = block.failed_page.into();
            }
        }
        true
    }
    /// The erases that the blocks of a LUN have had together; `None` if none were counted, or the number is
    /// damaged.
    pub fn erases(&self, lun: LunIndex) -> Option<u32> {
        let mut kept = [0; ERASES_BYTES];
        self.nvram.read(ERASES_AT + lun.index() * ERASES_BYTES, &mut kept);
        let [erases, inverted] = [0, 1].map(|n| U32::from_bytes([0, 1, 2, 3].map(|byte| kept[4 * n + byte])));
        (inverted.get() == !erases.get()).then_some(erases.get())
    }
    /// Counts erases of blocks of these LUNs, one for each time that a LUN is named.
    pub fn count_erases(&mut self, luns: impl Iterator<Item = LunIndex>) {
        for lun in luns {
            let erases = self.erases(lun).unwrap_or(0).saturating_add(1);
            let kept = [erases, !erases].map(U32::new);
            self.nvram.write(ERASES_AT + lun.index() * ERASES_BYTES, kept.as_bytes());
        }
        self.nvram.save();
    }
    /// Keeps the states of `table`, the first ones if not all fit.
    pub fn save(&mut self, table: &BlockTable) {
        let entry = |(lun, block, of): (LunIndex, BlockAddr, &crate::table::Block)| Entry {
            lun: U16::new(lun.0 as u16),
            block: U16::new(block.0 as u16),
            state: flags_of(of.state).raw()
                | if of.closed { CLOSED } else { 0 }
                | if of.failed_page { FAILED } else { 0 },
        };
        let mut entries: Vec<Entry> = table.exceptions().map(entry).collect();
        self.overfull |= entries.len() > EXCEPTIONS_MAX;
        entries.truncate(EXCEPTIONS_MAX);
        let all = if self.overfull { EXCEPTIONS_MAX + 1 } else { entries.len() };
        self.sequence += 1;
        let mut header = Header {
            signature: SIGNATURE,
            entries: U32::new(all as u32),
            sequence: U64::new(self.sequence),
            checksum: U32::ZERO,
        };
        header.checksum = U32::new(checksum(header, entries.as_bytes()));
        let at = (self.sequence % 2) as usize * RECORD_BYTES;
        // The checksum goes last, and the old one first: a record that was cut off is never whole.
        let header_bytes = header.as_bytes();
        let (before, after) = header_bytes.split_at(offset_of!(Header, checksum));
        self.nvram.write(at + before.len(), &[0; size_of::<U32>()]);
        self.nvram.write(at + header_bytes.len(), entries.as_bytes());
        self.nvram.write(at, before);
        self.nvram.write(at + before.len(), after);
        self.nvram.save();
    }
}
