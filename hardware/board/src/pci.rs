//! The drive as a PCIe function: configuration space, BAR0, MSI-X (PCIe 4.0 §7).

use alloc::vec;
use alloc::vec::Vec;
use aster_wire::pcie::{
    Bar, BarKind, CAPABILITIES_BEGIN, CONFIG_BYTES, CapabilityId, ClassCode, Command, DeviceControl, Header,
    MSIX_ENTRY_BYTES, MsixCapability, MsixControl, MsixEntry, MsixPointer, PcieCapability,
    PowerManagementCapability, PowerManagementControl, Status, pba_word_and_bit,
};
use zerocopy::{FromZeros, IntoBytes};

/// Size of BAR0: NVMe registers and doorbells, then the MSI-X table and its pending bits.
pub const BAR0_BYTES: u64 = 0x4000;
/// Where the MSI-X table begins in BAR0: behind the doorbells of 64 queue pairs.
pub const MSIX_TABLE_OFFSET: u32 = 0x2000;
/// Where the pending bits begin in BAR0.
pub const MSIX_PBA_OFFSET: u32 = 0x3000;

const HEADER_COMMAND: usize = 0x04;
const HEADER_STATUS: usize = 0x06;
/// Errors of the status register: a host clears those that it writes a one to (PCIe 4.0 §7.5.1.1.4).
const STATUS_ERRORS: u16 = 0xf900;
/// The power state in which a function works.
const D0: u8 = 0;
const HEADER_BARS: usize = 0x10;
const PM: usize = CAPABILITIES_BEGIN as usize;
const PCIE: usize = PM + 0x10;
const MSIX: usize = PCIE + 0x40;
/// Vector control in an entry of the MSI-X table; bit 0 masks (PCI 3.0 §6.8.2.9).
const VECTOR_CONTROL: u32 = 12;
const PM_CONTROL: usize = PM + 4;
const DEVICE_CONTROL: usize = PCIE + 8;
const MSIX_CONTROL: usize = MSIX + 2;

/// Who the function says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciIds {
    /// Vendor and subsystem vendor.
    pub vendor: u16,
    /// Device and subsystem.
    pub device: u16,
    /// Link speed: 1 for 2.5 GT/s, 2 for 5 GT/s and so on.
    pub link_speed: u8,
    /// Lanes.
    pub lanes: u8,
}

/// A type 0 function with one 64-bit BAR, power management, PCI Express and MSI-X capabilities.
pub struct PciFunction {
    ids: PciIds,
    config: Vec<u8>,
    bar0: Bar,
    table: Vec<MsixEntry>,
    pending: Vec<u64>,
    reset_asked: bool,
    decoded_outside: bool,
}

impl PciFunction {
    /// A function with `vectors` MSI-X vectors, in its state after power-on. Asserts 1 to 256 vectors.
    pub fn new(ids: PciIds, vectors: u16) -> Self {
        assert!((1..=256).contains(&vectors), "the MSI-X table has room for 256 vectors");
        let bar0 = Bar::new(BarKind::Memory64, false, BAR0_BYTES).expect("BAR0 is a power of two");
        let mut function = PciFunction {
            ids,
            config: Vec::new(),
            bar0,
            table: vec![MsixEntry::default(); usize::from(vectors)],
            pending: vec![0; usize::from(vectors).div_ceil(64)],
            reset_asked: false,
            decoded_outside: false,
        };
        function.reset();
        function
    }

    /// Back to the state after power-on: conventional or function-level reset (PCIe 4.0 §6.6).
    pub fn reset(&mut self) {
        let mut config = vec![0; CONFIG_BYTES];
        let mut header = Header::new_zeroed();
        header.vendor_id = self.ids.vendor.into();
        header.device_id = self.ids.device.into();
        header.status = Status(0).with_capability_list(true).0.into();
        header.revision_id = 1;
        header.class_code = ClassCode::NVME;
        header.subsystem_vendor_id = self.ids.vendor.into();
        header.subsystem_id = self.ids.device.into();
        header.capabilities_pointer = CAPABILITIES_BEGIN;
        let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, header.as_bytes());
        put(PM, PowerManagementCapability::new(PCIE as u8).as_bytes());
        put(PCIE, PcieCapability::endpoint(MSIX as u8, self.ids.link_speed, self.ids.lanes, 1).as_bytes());
        let vectors = self.table.len() as u16;
        let (table, pba) = (MsixPointer::of(0, MSIX_TABLE_OFFSET), MsixPointer::of(0, MSIX_PBA_OFFSET));
        put(MSIX, MsixCapability::new(0, vectors, table, pba).as_bytes());
        self.config = config;
        self.bar0 = Bar::new(BarKind::Memory64, false, BAR0_BYTES).expect("BAR0 is a power of two");
        self.table.fill(MsixEntry::default());
        self.pending.fill(0);
        self.reset_asked = false;
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.config[at], self.config[at + 1]])
    }
    fn set_word(&mut self, at: usize, value: u16) {
        self.config[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// True when the function may read and write host memory: the host lets it, and it is in D0 (PCIe 4.0
    /// §5.3.1.4.1).
    #[inline]
    pub fn is_bus_master(&self) -> bool {
        Command(self.word(HEADER_COMMAND)).bus_master() && self.power_state() == D0
    }
    /// True when BAR0 answers: the function is in D0, and Memory Space is on or nobody's business here
    /// ([`PciFunction::decode_outside`]).
    #[inline]
    pub fn answers_memory(&self) -> bool {
        let claimed = self.decoded_outside || Command(self.word(HEADER_COMMAND)).memory_space();
        claimed && self.power_state() == D0
    }
    /// From now on, and over resets, whoever brings an access has found out that it is meant for BAR0.
    ///
    /// Memory Space Enable says whether the function claims addresses on its bus (PCIe 4.0 §7.5.1.1.3). A
    /// vfio-user client names region and offset instead: addresses are decoded on its side, if at all. Its
    /// virtual machine keeps the bit for its guest, and a driver without a bus never sets it.
    pub fn decode_outside(&mut self) {
        self.decoded_outside = true;
    }
    /// Where the host placed BAR0.
    pub fn bar0(&self) -> &Bar {
        &self.bar0
    }
    /// True once after the host asked for a function-level reset.
    pub fn take_reset_request(&mut self) -> bool {
        core::mem::take(&mut self.reset_asked)
    }

    /// Reads 1, 2 or 4 bytes of configuration space. Outside it everything reads as ones.
    pub fn config_read(&self, offset: u16, size: u8) -> u32 {
        let (at, size) = (usize::from(offset), usize::from(size.clamp(1, 4)));
        if at + size > self.config.len() {
            return u32::MAX;
        }
        let mut bytes = [0; 4];
        for (i, byte) in bytes[..size].iter_mut().enumerate() {
            *byte = match at + i {
                b @ HEADER_BARS..0x14 => self.bar0.read_low().to_le_bytes()[b - HEADER_BARS],
                b @ 0x14..0x18 => self.bar0.read_high().to_le_bytes()[b - 0x14],
                b => self.config[b],
            };
        }
        u32::from_le_bytes(bytes)
    }

    /// Writes 1, 2 or 4 bytes of configuration space. Read-only bits keep their value.
    pub fn config_write(&mut self, offset: u16, size: u8, value: u32) {
        let size = size.clamp(1, 4);
        if usize::from(offset) + usize::from(size) > self.config.len() {
            return;
        }
        match usize::from(offset) & !3 {
            HEADER_BARS if size == 4 => self.bar0.write_low(value),
            0x14 if size == 4 => self.bar0.write_high(value),
            _ => {
                for i in 0..u16::from(size) {
                    self.write_byte(usize::from(offset + i), (value >> (8 * i)) as u8);
                }
            }
        }
    }

    fn write_byte(&mut self, at: usize, value: u8) {
        let writable = match at & !1 {
            HEADER_COMMAND => Command::WRITABLE.0,
            0x0c => 0x00ff,
            0x3c => 0x00ff,
            PM_CONTROL => PowerManagementControl(0).with_power_state(3).0,
            DEVICE_CONTROL => !DeviceControl(0).with_initiate_function_level_reset(true).0,
            MSIX_CONTROL => MsixControl::WRITABLE.0,
            _ => 0,
        };
        let shift = 8 * (at & 1);
        if at & !1 == HEADER_STATUS {
            self.config[at] &= !(value & (STATUS_ERRORS >> shift) as u8);
            return;
        }
        let mask = (writable >> shift) as u8;
        self.config[at] = self.config[at] & !mask | value & mask;
        if at & !1 == DEVICE_CONTROL
            && DeviceControl(u16::from(value) << shift).initiate_function_level_reset()
        {
            self.reset_asked = true;
        }
    }

    /// Reads the MSI-X structures in BAR0; `None` when `offset` is not in them.
    pub fn bar_read(&self, offset: u32, size: u8) -> Option<u64> {
        let bytes = usize::from(size.clamp(1, 8));
        let mut value = [0u8; 8];
        for (i, byte) in value[..bytes].iter_mut().enumerate() {
            *byte = self.bar_byte(offset + i as u32)?;
        }
        Some(u64::from_le_bytes(value))
    }

    fn bar_byte(&self, offset: u32) -> Option<u8> {
        if offset >= MSIX_PBA_OFFSET {
            let at = (offset - MSIX_PBA_OFFSET) as usize;
            return self.pending.as_bytes().get(at).copied();
        }
        let at = offset.checked_sub(MSIX_TABLE_OFFSET)? as usize;
        self.table.as_bytes().get(at).copied()
    }

    /// Writes the MSI-X table in BAR0; `false` when `offset` is not in it. Pending bits are read-only.
    pub fn bar_write(&mut self, offset: u32, size: u8, value: u64) -> bool {
        let Some(at) = offset.checked_sub(MSIX_TABLE_OFFSET) else { return false };
        let (at, size) = (at as usize, usize::from(size.clamp(1, 8)));
        let table = self.table.as_mut_bytes();
        let Some(bytes) = table.get_mut(at..at + size) else { return offset >= MSIX_PBA_OFFSET };
        bytes.copy_from_slice(&value.to_le_bytes()[..size]);
        debug_assert_eq!(MSIX_ENTRY_BYTES, 16);
        true
    }

    /// The message of `vector` as (address, data), to be written to host memory. While the vector or the
    /// function is masked the message becomes a pending bit; while MSI-X is off there is none.
    pub fn message(&mut self, vector: u16) -> Option<(u64, u32)> {
        let control = MsixControl(self.word(MSIX_CONTROL));
        let entry = self.table.get(usize::from(vector))?;
        if !control.enable() || !self.is_bus_master() {
            return None;
        }
        if control.function_mask() || entry.is_masked() {
            let (word, bit) = pba_word_and_bit(vector);
            self.pending[word] |= 1 << bit;
            return None;
        }
        Some((entry.address.get(), entry.data.get()))
    }

    /// Masks or unmasks `vector` as a write of its table entry's vector control does; of a vector that isn't,
    /// nothing.
    pub fn set_vector_mask(&mut self, vector: u16, masked: bool) {
        let offset = MSIX_TABLE_OFFSET + u32::from(vector) * MSIX_ENTRY_BYTES as u32 + VECTOR_CONTROL;
        self.bar_write(offset, 4, u64::from(masked));
    }
    /// Vectors in the MSI-X table.
    pub fn vectors(&self) -> u16 {
        self.table.len() as u16
    }
    /// The vector of a message that was pending and may go now; it isn't pending any more. Ask after every
    /// write to configuration space or to the MSI-X table until there is none.
    pub fn next_released(&mut self) -> Option<u16> {
        let control = MsixControl(self.word(MSIX_CONTROL));
        if !control.enable() || control.function_mask() || !self.is_bus_master() {
            return None;
        }
        let vector = (0..self.table.len() as u16).find(|&vector| {
            let (word, bit) = pba_word_and_bit(vector);
            self.pending[word] >> bit & 1 == 1 && !self.table[usize::from(vector)].is_masked()
        })?;
        let (word, bit) = pba_word_and_bit(vector);
        self.pending[word] &= !(1 << bit);
        Some(vector)
    }

    /// The capability list's identifiers in order: what a host walks.
    pub fn capabilities(&self) -> impl Iterator<Item = CapabilityId> + '_ {
        aster_wire::pcie::CapabilityWalk::new(&self.config).filter_map(|(id, _)| CapabilityId::from_raw(id))
    }

    /// The power state of PMCSR: 0 is D0, 3 is D3hot. The function keeps its state in D3hot, but neither
    /// answers in BAR0 nor reaches host memory.
    #[inline]
    pub fn power_state(&self) -> u8 {
        PowerManagementControl(self.word(PM_CONTROL)).power_state()
    }

    /// Sets the status register's received-master-abort bit: a DMA found no memory.
    pub fn note_master_abort(&mut self) {
        let status = Status(self.word(HEADER_STATUS)).with_received_master_abort(true);
        self.set_word(HEADER_STATUS, status.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function() -> PciFunction {
        PciFunction::new(PciIds { vendor: 0x1d1d, device: 0x2807, link_speed: 2, lanes: 8 }, 65)
    }

    #[test]
    fn a_host_finds_an_nvme_function_and_sizes_its_bar() {
        let mut f = function();
        assert_eq!(f.config_read(0, 4), 0x2807_1d1d);
        assert_eq!(f.config_read(8, 4) >> 8, 0x01_08_02);
        f.config_write(0x10, 4, u32::MAX);
        f.config_write(0x14, 4, u32::MAX);
        let (low, high) = (f.config_read(0x10, 4), f.config_read(0x14, 4));
        assert_eq!(Bar::size_from_probe(low, high), Some(BAR0_BYTES));
        f.config_write(0x10, 4, 0xfebf_0000);
        f.config_write(0x14, 4, 0);
        assert_eq!(f.bar0().address(), 0xfebf_0000);
        let found: Vec<_> = f.capabilities().collect();
        assert_eq!(found, [CapabilityId::PowerManagement, CapabilityId::PciExpress, CapabilityId::MsiX]);
    }

    #[test]
    fn identity_bits_are_read_only_and_the_command_register_is_not() {
        let mut f = function();
        f.config_write(0, 4, 0);
        assert_eq!(f.config_read(0, 4), 0x2807_1d1d);
        assert!(!f.is_bus_master());
        f.config_write(4, 2, 0x0006);
        assert!(f.is_bus_master() && f.answers_memory());
    }

    #[test]
    fn without_memory_space_or_out_of_d0_the_function_neither_answers_nor_reaches_memory() {
        let mut f = function();
        assert!(!f.answers_memory(), "Memory Space is off after reset");
        f.config_write(4, 2, 0x0006);
        f.config_write(PM_CONTROL as u16, 2, 3);
        assert!(!f.answers_memory() && !f.is_bus_master(), "D3hot");
        f.config_write(PM_CONTROL as u16, 2, 0);
        assert!(f.answers_memory() && f.is_bus_master());
        f.config_write(4, 2, 0x0004);
        assert!(!f.answers_memory() && f.is_bus_master());
    }

    #[test]
    fn memory_space_means_nothing_where_addresses_are_decoded_outside() {
        let mut f = function();
        f.decode_outside();
        assert!(f.answers_memory(), "Memory Space is off after reset");
        assert!(!f.is_bus_master(), "its own accesses still need leave");
        f.config_write(4, 2, 0x0404);
        assert!(f.is_bus_master() && f.answers_memory());
        f.config_write(PM_CONTROL as u16, 2, 3);
        assert!(!f.answers_memory() && !f.is_bus_master(), "D3hot");
        f.reset();
        assert!(f.answers_memory() && !f.is_bus_master(), "and after another reset");
    }

    #[test]
    fn error_bits_of_the_status_register_are_cleared_by_ones_and_nothing_else_is() {
        let mut f = function();
        f.note_master_abort();
        assert_eq!(f.config_read(6, 2), 0x2010);
        f.config_write(4, 4, 0xd7ff_0006);
        assert_eq!(f.config_read(6, 2), 0x2010, "no one was written to bit 13");
        f.config_write(6, 2, 0x2010);
        assert_eq!(f.config_read(4, 4), 0x0010_0006, "the capability list stays");
        f.note_master_abort();
        f.config_write(7, 1, 0x20);
        assert_eq!(f.config_read(6, 2), 0x0010, "written as a byte, too");
    }

    #[test]
    fn a_masked_vector_keeps_its_message_until_it_is_unmasked() {
        let mut f = function();
        f.config_write(4, 2, 0x0006);
        assert_eq!(f.message(2), None, "MSI-X is off");
        f.config_write(MSIX as u16, 4, 0x8000_0000);
        let entry = MSIX_TABLE_OFFSET + 2 * 16;
        assert!(f.bar_write(entry, 8, 0xfee0_0000));
        assert!(f.bar_write(entry + 8, 4, 7));
        assert_eq!(f.message(2), None, "masked after reset");
        assert_eq!(f.bar_read(MSIX_PBA_OFFSET, 8), Some(1 << 2));
        assert!(f.bar_write(entry + 12, 4, 0));
        assert_eq!(f.next_released(), Some(2));
        assert_eq!(f.bar_read(MSIX_PBA_OFFSET, 8), Some(0));
        assert_eq!(f.next_released(), None);
        assert_eq!(f.message(2), Some((0xfee0_0000, 7)));
    }

    #[test]
    fn a_function_level_reset_is_asked_for_once_and_clears_everything() {
        let mut f = function();
        f.config_write(4, 2, 0x0006);
        f.config_write(DEVICE_CONTROL as u16, 2, 0x8000);
        assert!(f.take_reset_request());
        assert!(!f.take_reset_request());
        f.reset();
        assert!(!f.is_bus_master());
    }

    #[test]
    fn accesses_outside_read_as_ones_and_change_nothing() {
        let mut f = function();
        assert_eq!(f.config_read(4095, 4), u32::MAX);
        f.config_write(4095, 4, 0);
        assert_eq!(f.bar_read(0x100, 4), None);
        assert!(!f.bar_write(0x100, 4, 0));
        assert_eq!(f.bar_read(MSIX_PBA_OFFSET + 16, 8), None);
    }
}
