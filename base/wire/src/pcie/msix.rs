use super::CapabilityId;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of one MSI-X table entry (PCIe 4.0 §7.7.2).
pub const MSIX_ENTRY_BYTES: usize = 16;
/// Most vectors of a function.
pub const MSIX_VECTORS_MAX: u16 = 2048;

bit_fields! {
    /// MSI-X message control (PCIe 4.0 §7.7.2.2).
    pub struct MsixControl(u16) {
        /// Vectors, zero-based. Read only.
        table_size_zero_based, with_table_size_zero_based: 0, 11 => u16;
        /// All vectors are masked.
        function_mask, with_function_mask: 14, 1 => bool;
        /// MSI-X is on; INTx and MSI are off.
        enable, with_enable: 15, 1 => bool;
    }
}

impl MsixControl {
    /// The bits that software can write.
    pub const WRITABLE: MsixControl = MsixControl(0).with_function_mask(true).with_enable(true);
}

bit_fields! {
    /// Where the table or the pending bit array is (PCIe 4.0 §7.7.2.3, §7.7.2.4).
    pub struct MsixPointer(u32) {
        /// BAR index, 0 to 5.
        bar, with_bar: 0, 3 => u8;
        /// Offset in the BAR, in units of 8 bytes.
        offset_qwords, with_offset_qwords: 3, 29 => u32;
    }
}

impl MsixPointer {
    /// `offset` bytes into a BAR. Asserts that the offset is a multiple of 8.
    pub const fn of(bar: u8, offset: u32) -> Self {
        assert!(offset.is_multiple_of(8), "MSI-X structures are 8-byte aligned");
        MsixPointer(0).with_bar(bar).with_offset_qwords(offset >> 3)
    }
    /// Byte offset in the BAR.
    pub const fn offset(self) -> u32 {
        self.offset_qwords() << 3
    }
}

/// MSI-X capability: 12 bytes (PCIe 4.0 §7.7.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct MsixCapability {
    /// Capability ID, 11h.
    pub id: u8,
    /// Offset of the next capability.
    pub next: u8,
    /// See [`MsixControl`].
    pub control: U16,
    /// Where the table is.
    pub table: U32,
    /// Where the pending bit array is.
    pub pending: U32,
}

impl MsixCapability {
    /// A capability of `vectors` vectors, disabled. Asserts 1 to 2,048.
    pub const fn new(next: u8, vectors: u16, table: MsixPointer, pending: MsixPointer) -> Self {
        assert!(vectors >= 1 && vectors <= MSIX_VECTORS_MAX, "MSI-X has 1 to 2,048 vectors");
        MsixCapability {
            id: CapabilityId::MsiX.raw(),
            next,
            control: U16::new(MsixControl(0).with_table_size_zero_based(vectors - 1).0),
            table: U32::new(table.0),
            pending: U32::new(pending.0),
        }
    }
    /// The message control register.
    pub const fn control(&self) -> MsixControl {
        MsixControl(self.control.get())
    }
    /// Vectors of the function.
    pub const fn vectors(&self) -> u16 {
        self.control().table_size_zero_based() + 1
    }
}

bit_fields! {
    /// Vector control of a table entry (PCIe 4.0 §7.7.2.8).
    pub struct MsixVectorControl(u32) {
        /// The vector is masked: a message becomes a pending bit.
        masked, with_masked: 0, 1 => bool;
    }
}

/// One MSI-X table entry: 16 bytes (PCIe 4.0 §7.7.2). Masked after reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct MsixEntry {
    /// Address that the message is written to.
    pub address: U64,
    /// The dword that is written.
    pub data: U32,
    /// See [`MsixVectorControl`].
    pub vector_control: U32,
}

impl MsixEntry {
    /// Whether the vector is masked.
    pub const fn is_masked(&self) -> bool {
        MsixVectorControl(self.vector_control.get()).masked()
    }
}

impl Default for MsixEntry {
    fn default() -> Self {
        MsixEntry {
            address: U64::ZERO,
            data: U32::ZERO,
            vector_control: U32::new(MsixVectorControl(0).with_masked(true).0),
        }
    }
}

/// Bytes of the pending bit array: a bit per vector, in whole 8-byte words (PCIe 4.0 §7.7.2.9).
pub const fn pba_bytes(vectors: u16) -> u32 {
    (vectors as u32).div_ceil(64) * 8
}

/// The 8-byte word of the pending bit array that holds a vector, and its bit.
pub const fn pba_word_and_bit(vector: u16) -> (usize, u32) {
    (vector as usize / 64, vector as u32 % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capability_packs_size_and_pointers() {
        let msix = MsixCapability::new(0x60, 65, MsixPointer::of(0, 0x2000), MsixPointer::of(4, 0x3000));
        assert_eq!(msix.as_bytes(), [0x11, 0x60, 0x40, 0, 0x00, 0x20, 0, 0, 0x04, 0x30, 0, 0]);
        assert_eq!((msix.vectors(), MsixPointer(msix.pending.get()).offset()), (65, 0x3000));
        assert_eq!(MsixControl::WRITABLE.0, 0xc000);
    }

    #[test]
    fn an_entry_is_masked_after_reset() {
        assert!(MsixEntry::default().is_masked());
        assert_eq!(size_of::<MsixEntry>(), MSIX_ENTRY_BYTES);
        let entry = MsixEntry::read_from_bytes(&[0, 0, 0xe0, 0xfe, 0, 0, 0, 0, 0x21, 0x40, 0, 0, 0, 0, 0, 0])
            .unwrap();
        assert_eq!((entry.address.get(), entry.data.get(), entry.is_masked()), (0xfee0_0000, 0x4021, false));
    }

    #[test]
    fn the_pending_array_is_whole_words() {
        assert_eq!([1, 64, 65].map(pba_bytes), [8, 8, 16]);
        assert_eq!(pba_word_and_bit(65), (1, 1));
    }
}
