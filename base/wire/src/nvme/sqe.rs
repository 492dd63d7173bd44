//! The submission queue entry (NVMe 1.4 §4.2).

use super::status::Status;
use core::fmt;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a submission queue entry; `CC.IOSQES` is its logarithm.
pub const SQE_BYTES: usize = 64;
/// The value of `CC.IOSQES` that the NVM command set requires.
pub const SQE_LOG2: u8 = 6;

bit_fields! {
    /// Command dword 0 (NVMe 1.4 §4.2).
    pub struct CommandDword0(u32) {
        /// Opcode (OPC).
        opcode, with_opcode: 0, 8 => u8;
        /// Fused operation (FUSE), see [`Fuse`].
        fuse, with_fuse: 8, 2 => u8;
        /// PRP or SGL for data transfer (PSDT), see [`DataTransfer`].
        psdt, with_psdt: 14, 2 => u8;
        /// Command identifier (CID).
        cid, with_cid: 16, 16 => u16;
    }
}

wire_enum! {
    /// Fused operation (NVMe 1.4 §4.2).
    pub enum Fuse(u8) {
        Normal = 0b00, "normal operation";
        First = 0b01, "fused operation, first command";
        Second = 0b10, "fused operation, second command";
    }
}

wire_enum! {
    /// What the data and metadata pointers are (NVMe 1.4 §4.2).
    pub enum DataTransfer(u8) {
        Prp = 0b00, "PRPs";
        SglContiguousMetadata = 0b01, "SGLs, metadata in one contiguous buffer";
        SglMetadataSgl = 0b10, "SGLs, metadata by an SGL segment";
    }
}

/// A submission queue entry: 64 bytes (NVMe 1.4 §4.2). All zeroes by default.
#[derive(Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Sqe {
    dword0: U32,
    /// Namespace identifier (NSID); 0 where the command uses none.
    pub nsid: U32,
    /// Dwords 2 and 3: reserved in NVMe 1.4, used by some vendor and open-channel commands.
    pub dwords_2_3: [U32; 2],
    /// Metadata pointer (MPTR).
    pub mptr: U64,
    /// PRP entry 1: where the data begins.
    pub prp1: U64,
    /// PRP entry 2: the second page, or a PRP list (§4.3).
    pub prp2: U64,
    /// Command dwords 10 to 15.
    pub dwords_10_15: [U32; 6],
}

impl Default for Sqe {
    fn default() -> Self {
        Sqe::new(0, 0)
    }
}

impl Sqe {
    /// An entry with an opcode and a namespace, everything else zero.
    #[inline]
    pub const fn new(opcode: u8, nsid: u32) -> Self {
        Sqe {
            dword0: U32::new(CommandDword0(0).with_opcode(opcode).0),
            nsid: U32::new(nsid),
            dwords_2_3: [U32::ZERO; 2],
            mptr: U64::ZERO,
            prp1: U64::ZERO,
            prp2: U64::ZERO,
            dwords_10_15: [U32::ZERO; 6],
        }
    }
    /// Command dword 0.
    #[inline]
    pub const fn dword0(&self) -> CommandDword0 {
        CommandDword0(self.dword0.get())
    }
    /// The opcode.
    #[inline]
    pub const fn opcode(&self) -> u8 {
        self.dword0().opcode()
    }
    /// The command identifier.
    #[inline]
    pub const fn cid(&self) -> u16 {
        self.dword0().cid()
    }
    /// Fused or not; `None` for the reserved value.
    pub const fn fuse(&self) -> Option<Fuse> {
        Fuse::from_raw(self.dword0().fuse())
    }
    /// PRPs or SGLs; `None` for the reserved value.
    pub const fn data_transfer(&self) -> Option<DataTransfer> {
        DataTransfer::from_raw(self.dword0().psdt())
    }
    /// Command dword `n`, 10 to 15. Panics outside: `n` comes from the caller's code, never from input.
    #[inline]
    pub const fn dword(&self, n: usize) -> u32 {
        self.dwords_10_15[n - 10].get()
    }
    /// This entry with command dword `n` (10 to 15) replaced. Panics outside.
    #[must_use]
    pub const fn with_dword(mut self, n: usize, value: u32) -> Self {
        self.dwords_10_15[n - 10] = U32::new(value);
        self
    }
    /// This entry with its command identifier replaced.
    #[must_use]
    #[inline]
    pub const fn with_cid(mut self, cid: u16) -> Self {
        self.dword0 = U32::new(self.dword0().with_cid(cid).0);
        self
    }
    /// This entry with its FUSE field replaced.
    #[must_use]
    pub const fn with_fuse(mut self, fuse: Fuse) -> Self {
        self.dword0 = U32::new(self.dword0().with_fuse(fuse.raw()).0);
        self
    }
    /// This entry with its PSDT field replaced.
    #[must_use]
    pub const fn with_data_transfer(mut self, transfer: DataTransfer) -> Self {
        self.dword0 = U32::new(self.dword0().with_psdt(transfer.raw()).0);
        self
    }
    /// This entry with its PRP entries replaced.
    #[must_use]
    pub const fn with_prps(mut self, prp1: u64, prp2: u64) -> Self {
        self.prp1 = U64::new(prp1);
        self.prp2 = U64::new(prp2);
        self
    }
    /// Refuses what a PRP-only controller doesn't take: fused commands and SGLs (§4.2). Every decoder
    /// calls this first.
    ///
    /// # Errors
    /// [`DecodeError::ReservedValue`] naming FUSE or PSDT.
    pub(super) const fn check_plain(&self) -> Result<(), DecodeError> {
        if self.dword0().fuse() != Fuse::Normal.raw() {
            return Err(DecodeError::ReservedValue { field: "FUSE" });
        }
        if self.dword0().psdt() != DataTransfer::Prp.raw() {
            return Err(DecodeError::ReservedValue { field: "PSDT" });
        }
        Ok(())
    }
}

impl fmt::Debug for Sqe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqe")
            .field("dword0", &self.dword0())
            .field("nsid", &self.nsid.get())
            .field("mptr", &self.mptr)
            .field("prp1", &self.prp1)
            .field("prp2", &self.prp2)
            .field("dwords_10_15", &self.dwords_10_15)
            .finish()
    }
}

/// Why an entry is not a command that NVMe 1.4 defines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// The command set has no such opcode.
    UnknownOpcode(u8),
    /// A field holds a value that the standard reserves, or that a PRP-only controller cannot take.
    ReservedValue {
        /// The field, by the standard's name.
        field: &'static str,
    },
}

impl DecodeError {
    /// The status that the standard requires, with "do not retry" set.
    pub const fn status(self) -> Status {
        match self {
            DecodeError::UnknownOpcode(_) => Status::INVALID_OPCODE.with_dnr(true),
            DecodeError::ReservedValue { .. } => Status::INVALID_FIELD.with_dnr(true),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::UnknownOpcode(opcode) => write!(f, "unknown opcode {opcode:02X}h"),
            DecodeError::ReservedValue { field } => write!(f, "field {field} holds a reserved value"),
        }
    }
}

impl core::error::Error for DecodeError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fields_lie_where_section_4_2_puts_them() {
        let sqe = Sqe::new(0x02, 0x0102_0304)
            .with_cid(0xabcd)
            .with_fuse(Fuse::Second)
            .with_data_transfer(DataTransfer::SglContiguousMetadata)
            .with_prps(0x1111_2222_3333_4444, 0x5555_6666_7777_8888)
            .with_dword(10, 0xdead_beef)
            .with_dword(15, 0x0bad_cafe);
        let b = sqe.as_bytes();
        assert_eq!(b.len(), SQE_BYTES);
        assert_eq!(b[0..8], [0x02, 0x42, 0xcd, 0xab, 0x04, 0x03, 0x02, 0x01]);
        assert_eq!(b[24..32], 0x1111_2222_3333_4444u64.to_le_bytes());
        assert_eq!(b[32..40], 0x5555_6666_7777_8888u64.to_le_bytes());
        assert_eq!(b[40..44], 0xdead_beefu32.to_le_bytes());
        assert_eq!(b[60..64], 0x0bad_cafeu32.to_le_bytes());
        assert!(b[8..24].iter().chain(&b[44..60]).all(|&x| x == 0));
    }

    #[test]
    fn fused_commands_and_sgls_are_refused_by_name() {
        let fused = Sqe::new(2, 1).with_fuse(Fuse::First);
        assert_eq!(fused.check_plain(), Err(DecodeError::ReservedValue { field: "FUSE" }));
        let sgl = Sqe::new(2, 1).with_data_transfer(DataTransfer::SglMetadataSgl);
        assert_eq!(sgl.check_plain(), Err(DecodeError::ReservedValue { field: "PSDT" }));
    }

    proptest! {
        #[test]
        fn any_sixty_four_bytes_are_an_entry_that_round_trips(bytes: [u8; 32], more: [u8; 32]) {
            let mut all = [0; SQE_BYTES];
            all[..32].copy_from_slice(&bytes);
            all[32..].copy_from_slice(&more);
            let sqe = Sqe::read_from_bytes(&all).unwrap();
            prop_assert_eq!(sqe.as_bytes(), &all);
            let _ = (sqe.fuse(), sqe.data_transfer(), sqe.check_plain());
        }
    }
}
