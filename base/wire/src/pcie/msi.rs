use super::CapabilityId;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Most vectors of MSI, as a power of two: 32 (PCIe 4.0 §7.7.1.2).
pub const MSI_VECTORS_LOG2_MAX: u8 = 5;

bit_fields! {
    /// MSI message control (PCIe 4.0 §7.7.1.2).
    pub struct MsiControl(u16) {
        /// MSI is on; INTx is off.
        enable, with_enable: 0, 1 => bool;
        /// Vectors that the function asks for, as a power of two. Read only.
        capable_log2, with_capable_log2: 1, 3 => u8;
        /// Vectors that software has enabled, as a power of two.
        enabled_log2, with_enabled_log2: 4, 3 => u8;
        /// The address has 64 bits. Read only.
        is_64_bit, with_is_64_bit: 7, 1 => bool;
        /// Each vector has a mask bit and a pending bit. Read only.
        per_vector_masking, with_per_vector_masking: 8, 1 => bool;
    }
}

impl MsiControl {
    /// The bits that software can write.
    pub const WRITABLE: MsiControl = MsiControl(0).with_enable(true).with_enabled_log2(7);
}

/// MSI capability of a function with a 64-bit message address and a mask bit per vector: 24 bytes (PCIe 4.0
/// §7.7.1.1). No vector is masked after reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct MsiCapability {
    /// Capability ID, 05h.
    pub id: u8,
    /// Offset of the next capability.
    pub next: u8,
    /// See [`MsiControl`].
    pub control: U16,
    /// Lower half of the address that messages are written to: a multiple of 4.
    pub address_low: U32,
    /// Upper half of that address.
    pub address_high: U32,
    /// The data of vector 0's message; the other vectors change its low bits.
    pub data: U16,
    reserved_14: [u8; 2],
    /// A bit per vector: while it is set, the vector's message is held pending.
    pub mask: U32,
    /// A bit per vector: a message is pending. Read only.
    pub pending: U32,
}

impl MsiCapability {
    /// A capability of `2^vectors_log2` vectors, disabled. Asserts [`MSI_VECTORS_LOG2_MAX`].
    pub fn new(next: u8, vectors_log2: u8) -> Self {
        assert!(vectors_log2 <= MSI_VECTORS_LOG2_MAX, "MSI has 1 to 32 vectors");
        let control =
            MsiControl(0).with_capable_log2(vectors_log2).with_is_64_bit(true).with_per_vector_masking(true);
        let mut capability = MsiCapability::new_zeroed();
        capability.id = CapabilityId::Msi.raw();
        capability.next = next;
        capability.control = U16::new(control.0);
        capability
    }
    /// The message control register.
    pub const fn control(&self) -> MsiControl {
        MsiControl(self.control.get())
    }
    /// The message of `vector` as (address, data). The low bits of the data name the vector, as many bits
    /// as the enabled vectors need. A function that has fewer enabled vectors than it asked for shares
    /// them (PCIe 4.0 §6.1.4.2).
    pub fn message(&self, vector: u16) -> (u64, u32) {
        let control = self.control();
        let given = (1u16 << control.enabled_log2().min(control.capable_log2())) - 1;
        let address = u64::from(self.address_low.get()) | u64::from(self.address_high.get()) << 32;
        (address, u32::from(self.data.get() & !given | vector & given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::{offset_of, size_of};

    #[test]
    fn fields_lie_where_the_standard_puts_them() {
        assert_eq!(size_of::<MsiCapability>(), 0x18);
        assert_eq!(offset_of!(MsiCapability, address_high), 0x08);
        assert_eq!(offset_of!(MsiCapability, data), 0x0c);
        assert_eq!(offset_of!(MsiCapability, mask), 0x10);
        assert_eq!(offset_of!(MsiCapability, pending), 0x14);
        assert_eq!(MsiCapability::new(0x60, 3).as_bytes()[..4], [0x05, 0x60, 0x86, 0x01]);
        assert_eq!(MsiControl::WRITABLE.0, 0x0071);
    }

    #[test]
    fn a_vector_changes_as_many_low_bits_of_the_data_as_vectors_were_given() {
        let mut msi = MsiCapability::new(0, 3);
        (msi.address_low, msi.address_high, msi.data) = (0xfee0_0000.into(), 1.into(), 0x40f8.into());
        assert_eq!(msi.message(5), (0x1_fee0_0000, 0x40f8), "one vector was given");
        msi.control = msi.control().with_enabled_log2(2).0.into();
        assert_eq!(msi.message(5), (0x1_fee0_0000, 0x40f9));
        msi.control = msi.control().with_enabled_log2(7).0.into();
        assert_eq!(msi.message(5), (0x1_fee0_0000, 0x40fd), "it asked for eight");
    }
}
