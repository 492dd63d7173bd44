use core::fmt;

bit_fields! {
    /// The low dword of a memory base address register (PCIe 4.0 §7.5.1.2.1).
    pub struct BarRegister(u32) {
        /// Set for I/O space.
        io_space, with_io_space: 0, 1 => bool;
        /// Memory type: 0 for 32-bit, 2 for 64-bit.
        memory_type, with_memory_type: 1, 2 => u8;
        /// Reads have no side effects and writes may be merged.
        prefetchable, with_prefetchable: 3, 1 => bool;
    }
}

/// How wide a memory BAR's address is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarKind {
    /// One register.
    Memory32,
    /// Two registers, low half first. NVMe's BAR0 and BAR1 are one of these (NVMe 1.4 §2.1.10).
    Memory64,
}

/// Why a BAR cannot have a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarSizeError {
    /// The size asked for.
    pub bytes: u64,
}

impl fmt::Display for BarSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a BAR of {} bytes: must be a power of two of at least 16 that its address width holds",
            self.bytes
        )
    }
}

impl core::error::Error for BarSizeError {}

/// A memory base address register, or a pair of them, with the sizing rule: software writes all ones and
/// reads back the address bits that exist (PCIe 4.0 §7.5.1.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    kind: BarKind,
    prefetchable: bool,
    bytes: u64,
    address: u64,
}

impl Bar {
    /// A BAR of `bytes` bytes at address 0.
    ///
    /// # Errors
    /// If `bytes` is not a power of two, is below 16, or does not fit the address width.
    pub const fn new(kind: BarKind, prefetchable: bool, bytes: u64) -> Result<Self, BarSizeError> {
        let max = match kind {
            BarKind::Memory32 => 1 << 31,
            BarKind::Memory64 => 1 << 63,
        };
        if !bytes.is_power_of_two() || bytes < 16 || bytes > max {
            return Err(BarSizeError { bytes });
        }
        Ok(Bar { kind, prefetchable, bytes, address: 0 })
    }
    /// Size in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
    /// The address that software programmed: a multiple of the size.
    pub const fn address(&self) -> u64 {
        self.address
    }
    /// The low register as software reads it.
    pub const fn read_low(&self) -> u32 {
        let memory_type = match self.kind {
            BarKind::Memory32 => 0b00,
            BarKind::Memory64 => 0b10,
        };
        let flags = BarRegister(0).with_memory_type(memory_type).with_prefetchable(self.prefetchable);
        self.address as u32 | flags.0
    }
    /// The high register as software reads it; 0 for a 32-bit BAR, whose next register is another BAR.
    pub const fn read_high(&self) -> u32 {
        (self.address >> 32) as u32
    }
    /// Software writes the low register: only address bits at or above the size are kept.
    pub const fn write_low(&mut self, value: u32) {
        self.address = ((self.address & !0xffff_ffff) | value as u64) & !(self.bytes - 1);
    }
    /// Software writes the high register; ignored by a 32-bit BAR.
    pub const fn write_high(&mut self, value: u32) {
        if matches!(self.kind, BarKind::Memory64) {
            self.address = ((self.address & 0xffff_ffff) | (value as u64) << 32) & !(self.bytes - 1);
        }
    }
    /// The offset of an address in the BAR; `None` outside.
    pub const fn offset_of(&self, address: u64) -> Option<u64> {
        match address.checked_sub(self.address) {
            Some(offset) if offset < self.bytes => Some(offset),
            _ => None,
        }
    }
    /// The size that a driver computes from what a register pair reads after all ones were written to it.
    /// `None` if there is no BAR. Pass 0 as `high` for a 32-bit BAR.
    pub const fn size_from_probe(low: u32, high: u32) -> Option<u64> {
        let is_64 = BarRegister(low).memory_type() == 0b10;
        let address = (low & !0xf) as u64 | if is_64 { (high as u64) << 32 } else { 0xffff_ffff << 32 };
        if low & !0xf == 0 && (!is_64 || high == 0) { None } else { Some((!address).wrapping_add(1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_64_bit_bar_answers_its_size_and_keeps_its_address() {
        let mut bar = Bar::new(BarKind::Memory64, false, 16 * 1024).unwrap();
        assert_eq!((bar.read_low(), bar.read_high()), (0x4, 0));
        bar.write_low(u32::MAX);
        bar.write_high(u32::MAX);
        assert_eq!((bar.read_low(), bar.read_high()), (0xffff_c004, 0xffff_ffff));
        assert_eq!(Bar::size_from_probe(bar.read_low(), bar.read_high()), Some(16 * 1024));
        bar.write_low(0xfebf_1234);
        bar.write_high(0x1);
        assert_eq!(bar.address(), 0x1_febf_0000);
        assert_eq!(bar.offset_of(0x1_febf_1000), Some(0x1000));
        assert_eq!(bar.offset_of(0x1_febf_4000), None);
        assert_eq!(bar.offset_of(0xfebf_0000), None);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for (kind, bytes) in [
            (BarKind::Memory32, 1 << 32),
            (BarKind::Memory64, 0),
            (BarKind::Memory64, 24),
            (BarKind::Memory64, 8),
        ] {
            assert_eq!(Bar::new(kind, false, bytes), Err(BarSizeError { bytes }));
        }
    }

    proptest! {
        #[test]
        fn a_probe_finds_every_size(log2 in 4u32..32, wide: bool, prefetchable: bool) {
            let kind = if wide { BarKind::Memory64 } else { BarKind::Memory32 };
            let bytes = 1u64 << if wide { log2 * 2 - 1 } else { log2 };
            let mut bar = Bar::new(kind, prefetchable, bytes).unwrap();
            bar.write_low(u32::MAX);
            bar.write_high(u32::MAX);
            prop_assert_eq!(Bar::size_from_probe(bar.read_low(), bar.read_high()), Some(bytes));
            prop_assert_eq!(BarRegister(bar.read_low()).prefetchable(), prefetchable);
        }
    }
}
