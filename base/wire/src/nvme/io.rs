//! Commands of the NVM command set, decoded (NVMe 1.4 §6).
//!
//! Each command is a value that encodes to a [`Sqe`] and decodes from one. Command identifier and PRPs
//! stay in the entry: they belong to the queue and the transfer, not to the command.

use super::directive::DirectiveType;
use super::opcode::IoOpcode;
use super::sqe::{DecodeError, Sqe};

bit_fields! {
    /// Command dword 12 of the commands that name a range of logical blocks (NVMe 1.4 §6.6, §6.9, §6.15,
    /// §6.17).
    pub struct RangeDword12(u32) {
        /// Number of logical blocks, zero-based (NLB).
        nlb, with_nlb: 0, 16 => u16;
        /// Directive type (DTYPE); Write only.
        directive_type, with_directive_type: 20, 4 => u8;
        /// Deallocate (DEAC); Write Zeroes only.
        deallocate, with_deallocate: 25, 1 => bool;
        /// Protection information field (PRINFO).
        protection, with_protection: 26, 4 => u8;
        /// Force unit access (FUA).
        force_unit_access, with_force_unit_access: 30, 1 => bool;
        /// Limited retry (LR).
        limited_retry, with_limited_retry: 31, 1 => bool;
    }
}

bit_fields! {
    /// Dataset management hints of Read and Write, and Write's directive (command dword 13, NVMe 1.4 §6.9,
    /// §6.15).
    pub struct HintDword13(u32) {
        /// Access frequency.
        access_frequency, with_access_frequency: 0, 4 => u8;
        /// Access latency.
        access_latency, with_access_latency: 4, 2 => u8;
        /// The command is part of a sequential request.
        sequential, with_sequential: 6, 1 => bool;
        /// The data is not compressible.
        incompressible, with_incompressible: 7, 1 => bool;
        /// Directive specific; Write only.
        directive_specific, with_directive_specific: 16, 16 => u16;
    }
}

bit_fields! {
    /// Command dword 15: the protection tags that a range command expects or carries.
    pub struct TagDword15(u32) {
        /// Logical block application tag.
        application_tag, with_application_tag: 0, 16 => u16;
        /// Its mask.
        application_tag_mask, with_application_tag_mask: 16, 16 => u16;
    }
}

/// A command over a range of logical blocks: Read, Write, Compare, Write Zeroes, Write Uncorrectable, Verify.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockRange {
    /// Starting LBA (SLBA).
    pub slba: u64,
    /// Length and flags.
    pub control: RangeDword12,
    /// Hints; zero except for Read and Write.
    pub hints: HintDword13,
    /// Expected initial (or initial) logical block reference tag.
    pub reference_tag: u32,
    /// Application tag and mask.
    pub tags: TagDword15,
}

impl BlockRange {
    /// `blocks` logical blocks from `slba`. Asserts that `blocks` is in 1..=65,536.
    #[inline]
    pub const fn new(slba: u64, blocks: u32) -> Self {
        assert!(blocks >= 1 && blocks <= 1 << 16, "a range command covers 1 to 65,536 blocks");
        BlockRange {
            slba,
            control: RangeDword12(0).with_nlb((blocks - 1) as u16),
            hints: HintDword13(0),
            reference_tag: 0,
            tags: TagDword15(0),
        }
    }
    /// The same with FUA set or cleared.
    #[must_use]
    #[inline]
    pub const fn with_force_unit_access(mut self, fua: bool) -> Self {
        self.control = self.control.with_force_unit_access(fua);
        self
    }
    /// The same as a part of a stream (§9.3); 0 for none.
    #[must_use]
    #[inline]
    pub const fn with_stream(mut self, identifier: u16) -> Self {
        if identifier != 0 {
            self.control = self.control.with_directive_type(DirectiveType::Streams.raw());
            self.hints = self.hints.with_directive_specific(identifier);
        }
        self
    }
    /// Logical blocks covered: 1 to 65,536.
    #[inline]
    pub const fn blocks(&self) -> u32 {
        self.control.nlb() as u32 + 1
    }
    /// One past the last LBA; `None` when that overflows, which is LBA Out of Range.
    #[inline]
    pub const fn end(&self) -> Option<u64> {
        self.slba.checked_add(self.blocks() as u64)
    }

    #[inline]
    fn decode(sqe: &Sqe) -> Self {
        BlockRange {
            slba: u64::from(sqe.dword(10)) | u64::from(sqe.dword(11)) << 32,
            control: RangeDword12(sqe.dword(12)),
            hints: HintDword13(sqe.dword(13)),
            reference_tag: sqe.dword(14),
            tags: TagDword15(sqe.dword(15)),
        }
    }
    #[inline]
    fn encode(&self, opcode: IoOpcode, nsid: u32) -> Sqe {
        Sqe::new(opcode.raw(), nsid)
            .with_dword(10, self.slba as u32)
            .with_dword(11, (self.slba >> 32) as u32)
            .with_dword(12, self.control.0)
            .with_dword(13, self.hints.0)
            .with_dword(14, self.reference_tag)
            .with_dword(15, self.tags.0)
    }
}

bit_fields! {
    /// Command dword 10 of Dataset Management (NVMe 1.4 §6.7).
    pub struct DatasetDword10(u32) {
        /// Number of ranges, zero-based (NR).
        number_of_ranges, with_number_of_ranges: 0, 8 => u8;
    }
}

bit_fields! {
    /// Command dword 11 of Dataset Management (NVMe 1.4 §6.7).
    pub struct DatasetDword11(u32) {
        /// Integral dataset for read (IDR).
        integral_read, with_integral_read: 0, 1 => bool;
        /// Integral dataset for write (IDW).
        integral_write, with_integral_write: 1, 1 => bool;
        /// Deallocate (AD).
        deallocate, with_deallocate: 2, 1 => bool;
    }
}

/// Dataset Management (NVMe 1.4 §6.7). The ranges themselves are data, see [`super::dsm`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DatasetManagement {
    /// Number of ranges.
    pub ranges: DatasetDword10,
    /// What to do with them.
    pub attributes: DatasetDword11,
}

impl DatasetManagement {
    /// Deallocates `ranges` ranges. Asserts that `ranges` is in 1..=256.
    pub const fn deallocate(ranges: u16) -> Self {
        assert!(ranges >= 1 && ranges <= 256, "dataset management takes 1 to 256 ranges");
        DatasetManagement {
            ranges: DatasetDword10(0).with_number_of_ranges((ranges - 1) as u8),
            attributes: DatasetDword11(0).with_deallocate(true),
        }
    }
    /// How many ranges the data holds: 1 to 256.
    pub const fn range_count(&self) -> u16 {
        self.ranges.number_of_ranges() as u16 + 1
    }
}

/// A command of the NVM command set, except reservations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoCommand {
    /// Commit volatile data (§6.8).
    Flush,
    /// Write logical blocks (§6.15).
    Write(BlockRange),
    /// Read logical blocks (§6.9).
    Read(BlockRange),
    /// Mark logical blocks unreadable (§6.16).
    WriteUncorrectable(BlockRange),
    /// Compare logical blocks with host data (§6.6).
    Compare(BlockRange),
    /// Zero logical blocks (§6.17).
    WriteZeroes(BlockRange),
    /// Hints and deallocation (§6.7).
    DatasetManagement(DatasetManagement),
    /// Check stored blocks without transfer (§6.14).
    Verify(BlockRange),
}

impl IoCommand {
    /// Decodes an entry of an I/O submission queue.
    ///
    /// # Errors
    /// [`DecodeError::UnknownOpcode`] for reservations, vendor specific and reserved opcodes;
    /// [`DecodeError::ReservedValue`] for fused commands and SGLs.
    #[inline]
    pub fn decode(sqe: &Sqe) -> Result<Self, DecodeError> {
        let unknown = DecodeError::UnknownOpcode(sqe.opcode());
        let opcode = IoOpcode::from_raw(sqe.opcode()).ok_or(unknown)?;
        sqe.check_plain()?;
        Ok(match opcode {
            IoOpcode::Flush => IoCommand::Flush,
            IoOpcode::Write => IoCommand::Write(BlockRange::decode(sqe)),
            IoOpcode::Read => IoCommand::Read(BlockRange::decode(sqe)),
            IoOpcode::WriteUncorrectable => IoCommand::WriteUncorrectable(BlockRange::decode(sqe)),
            IoOpcode::Compare => IoCommand::Compare(BlockRange::decode(sqe)),
            IoOpcode::WriteZeroes => IoCommand::WriteZeroes(BlockRange::decode(sqe)),
            IoOpcode::Verify => IoCommand::Verify(BlockRange::decode(sqe)),
            IoOpcode::DatasetManagement => IoCommand::DatasetManagement(DatasetManagement {
                ranges: DatasetDword10(sqe.dword(10)),
                attributes: DatasetDword11(sqe.dword(11)),
            }),
            IoOpcode::ReservationRegister
            | IoOpcode::ReservationReport
            | IoOpcode::ReservationAcquire
            | IoOpcode::ReservationRelease => return Err(unknown),
        })
    }

    /// The opcode.
    pub const fn opcode(&self) -> IoOpcode {
        match self {
            IoCommand::Flush => IoOpcode::Flush,
            IoCommand::Write(_) => IoOpcode::Write,
            IoCommand::Read(_) => IoOpcode::Read,
            IoCommand::WriteUncorrectable(_) => IoOpcode::WriteUncorrectable,
            IoCommand::Compare(_) => IoOpcode::Compare,
            IoCommand::WriteZeroes(_) => IoOpcode::WriteZeroes,
            IoCommand::DatasetManagement(_) => IoOpcode::DatasetManagement,
            IoCommand::Verify(_) => IoOpcode::Verify,
        }
    }

    /// The entry for a namespace, with command identifier and PRPs still zero.
    pub fn encode(&self, nsid: u32) -> Sqe {
        match self {
            IoCommand::Flush => Sqe::new(self.opcode().raw(), nsid),
            IoCommand::Write(range)
            | IoCommand::Read(range)
            | IoCommand::WriteUncorrectable(range)
            | IoCommand::Compare(range)
            | IoCommand::WriteZeroes(range)
            | IoCommand::Verify(range) => range.encode(self.opcode(), nsid),
            IoCommand::DatasetManagement(dsm) => Sqe::new(self.opcode().raw(), nsid)
                .with_dword(10, dsm.ranges.0)
                .with_dword(11, dsm.attributes.0),
        }
    }

    /// The entry with command identifier and PRPs filled in.
    #[inline]
    pub fn to_sqe(&self, nsid: u32, cid: u16, prp1: u64, prp2: u64) -> Sqe {
        self.encode(nsid).with_cid(cid).with_prps(prp1, prp2)
    }
}

#[cfg(test)]
mod tests {
    use super::super::status::Status;
    use super::*;
    use proptest::prelude::*;
    use zerocopy::FromBytes;

    #[test]
    fn a_read_lies_in_the_dwords_of_section_6_9() {
        let read = BlockRange::new(0x1_2345_6789, 8).with_force_unit_access(true);
        let sqe = IoCommand::Read(read).to_sqe(1, 7, 0x1000, 0x2000);
        assert_eq!((sqe.opcode(), sqe.cid(), sqe.nsid.get()), (0x02, 7, 1));
        assert_eq!([sqe.dword(10), sqe.dword(11), sqe.dword(12)], [0x2345_6789, 1, 0x4000_0007]);
        assert_eq!((sqe.prp1.get(), sqe.prp2.get()), (0x1000, 0x2000));
    }

    #[test]
    fn a_range_that_passes_the_last_lba_has_no_end() {
        assert_eq!(BlockRange::new(u64::MAX, 1).end(), None);
        assert_eq!(BlockRange::new(u64::MAX - 1, 1).end(), Some(u64::MAX));
        assert_eq!(BlockRange::new(0, 65_536).blocks(), 65_536);
    }

    #[test]
    fn reservations_and_reserved_opcodes_are_invalid_opcodes() {
        for opcode in [0x0d, 0x15, 0x03, 0x90, 0xff] {
            let e = IoCommand::decode(&Sqe::new(opcode, 1)).unwrap_err();
            assert_eq!(e, DecodeError::UnknownOpcode(opcode));
            assert!(e.status().is(Status::INVALID_OPCODE));
        }
    }

    proptest! {
        #[test]
        fn whatever_decodes_encodes_to_the_same_command(low: [u8; 32], high: [u8; 32], opcode in 0u8..0x10) {
            let mut bytes = [0; 64];
            bytes[..32].copy_from_slice(&low);
            bytes[32..].copy_from_slice(&high);
            bytes[0] = opcode;
            bytes[1] &= 0x3c; // plain PRP commands
            let sqe = Sqe::read_from_bytes(&bytes).unwrap();
            if let Ok(command) = IoCommand::decode(&sqe) {
                let again = command.encode(sqe.nsid.get());
                prop_assert_eq!(IoCommand::decode(&again), Ok(command));
                prop_assert_eq!(again.nsid, sqe.nsid);
            }
        }

        #[test]
        fn any_bytes_decode_or_are_refused(low: [u8; 32], high: [u8; 32]) {
            let mut bytes = [0; 64];
            bytes[..32].copy_from_slice(&low);
            bytes[32..].copy_from_slice(&high);
            let _ = IoCommand::decode(&Sqe::read_from_bytes(&bytes).unwrap());
        }
    }
}
