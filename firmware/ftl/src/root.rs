//! The root record: where a drive's stored map is, and whether it is the truth. It stands twice in NVRAM.

use crate::blocks::BlockIndex;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c;
use aster_ports::medium::Nvram;

/// Bytes of one copy.
pub(crate) const ROOT_BYTES: usize = 4096;
/// Blocks of a stored map that a root record can list.
pub(crate) const MAP_BLOCKS_MAX: usize = 1000;
const MAGIC: [u8; 4] = *b"ASTF";
const VERSION: u32 = 1;
const BLOCKS_AT: usize = 56;
/// Counters beyond this are no drive's: half of what their 48 bits hold, so that none runs out while it is in use.
const COUNT_MAX: u64 = 1 << 47;
const CRC_AT: usize = ROOT_BYTES - 4;
const _: () = assert!(BLOCKS_AT + 4 * MAP_BLOCKS_MAX <= CRC_AT);

/// The root record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Root {
    /// The stored map is what the drive held when it stopped.
    pub(crate) clean: bool,
    /// Counts stored maps.
    pub(crate) generation: u64,
    /// The last sequence number given out.
    pub(crate) sequence: u64,
    /// Of geometry and capacity: a drive is opened as what it was.
    pub(crate) shape: u64,
    /// Pages of the stored map and block table.
    pub(crate) pages: u32,
    /// Over their content, page after page.
    pub(crate) checksum: u32,
    /// The blocks they are in, interleaved.
    pub(crate) blocks: Vec<BlockIndex>,
}

/// What NVRAM says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stored {
    /// Never written: a drive from the factory.
    Fresh,
    /// A record.
    Root(Root),
    /// Neither copy is readable.
    Damaged,
}

impl Root {
    /// Writes both copies, one after the other: one is whole at any time.
    pub(crate) fn store(&self, nvram: &Nvram) {
        let bytes = self.encode();
        nvram.write(0, &bytes);
        nvram.write(ROOT_BYTES, &bytes);
    }
    /// Reads the first copy that is whole. Copies differ only when the power went between their writes, before anything
    /// was done on the strength of the first.
    pub(crate) fn load(nvram: &Nvram) -> Stored {
        let mut copies = vec![0; 2 * ROOT_BYTES];
        nvram.read(0, &mut copies);
        if copies.iter().all(|&b| b == 0) {
            return Stored::Fresh;
        }
        copies.chunks_exact(ROOT_BYTES).find_map(Root::decode).map_or(Stored::Damaged, Stored::Root)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; ROOT_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.generation.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.shape.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.pages.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.checksum.to_le_bytes());
        bytes[40..44].copy_from_slice(&(self.blocks.len() as u32).to_le_bytes());
        bytes[44] = u8::from(self.clean);
        for (into, block) in bytes[BLOCKS_AT..CRC_AT].chunks_exact_mut(4).zip(&self.blocks) {
            into.copy_from_slice(&block.0.to_le_bytes());
        }
        let crc = crc32c(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
    fn decode(bytes: &[u8]) -> Option<Root> {
        let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let count = u32_at(40)? as usize;
        if bytes[..4] != MAGIC
            || u32_at(4)? != VERSION
            || u32_at(CRC_AT)? != crc32c(&bytes[..CRC_AT])
            || count > MAP_BLOCKS_MAX
            || u64_at(8)? > COUNT_MAX
            || u64_at(16)? > COUNT_MAX
        {
            return None;
        }
        let block = |n| u32_at(BLOCKS_AT + 4 * n).map(BlockIndex);
        Some(Root {
            clean: bytes[44] == 1,
            generation: u64_at(8)?,
            sequence: u64_at(16)?,
            shape: u64_at(24)?,
            pages: u32_at(32)?,
            checksum: u32_at(36)?,
            blocks: (0..count).map(block).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> Root {
        Root {
            clean: true,
            generation: 3,
            sequence: 1 << 40,
            shape: 77,
            pages: 9,
            checksum: 5,
            blocks: (0..MAP_BLOCKS_MAX as u32).map(BlockIndex).collect(),
        }
    }

    #[test]
    fn an_empty_nvram_is_a_fresh_drive() {
        assert_eq!(Root::load(&Nvram::volatile(2 * ROOT_BYTES)), Stored::Fresh);
    }

    #[test]
    fn a_record_survives_the_loss_of_either_copy_but_not_of_both() {
        let nvram = Nvram::volatile(2 * ROOT_BYTES);
        for lost in 0..2 {
            root().store(&nvram);
            nvram.write(lost * ROOT_BYTES + 60, &[0xEE]);
            assert_eq!(Root::load(&nvram), Stored::Root(root()));
        }
        nvram.write(60, &[0xEE]);
        assert_eq!(Root::load(&nvram), Stored::Damaged);
    }

    #[test]
    fn counters_beyond_any_drives_are_damage_not_a_start() {
        for spoil in [|r: &mut Root| r.sequence = COUNT_MAX + 1, |r: &mut Root| r.generation = COUNT_MAX + 1]
        {
            let mut root = root();
            spoil(&mut root);
            let nvram = Nvram::volatile(2 * ROOT_BYTES);
            root.store(&nvram);
            assert_eq!(Root::load(&nvram), Stored::Damaged);
        }
    }
}
