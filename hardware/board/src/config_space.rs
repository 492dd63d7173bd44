//! A function's configuration space: its bytes, and the bits that a host may write (PCIe 4.0 §7.5).

use alloc::vec;
use alloc::vec::Vec;
use aster_parties::{FunctionSpec, Interrupts, PowerReport};
use aster_wire::pcie::{
    Bar, CAPABILITIES_BEGIN, CONFIG_BYTES, Command, DeviceControl, Header, MsiCapability, MsiControl,
    MsixCapability, MsixControl, MsixPointer, PcieCapability, PowerManagementCapability,
    PowerManagementControl, Status,
};
use core::mem::offset_of;
use zerocopy::{FromZeros, IntoBytes};

pub(crate) const COMMAND: usize = offset_of!(Header, command);
pub(crate) const STATUS: usize = offset_of!(Header, status);
/// Error bits of the status register. A host clears a bit by writing a one to it (PCIe 4.0 §7.5.1.1.4).
const STATUS_ERRORS: u16 = 0xf900;
pub(crate) const PM: usize = CAPABILITIES_BEGIN as usize;
pub(crate) const PM_CONTROL: usize = PM + offset_of!(PowerManagementCapability, control);
const PM_DATA: usize = PM + offset_of!(PowerManagementCapability, data);
pub(crate) const PCIE: usize = PM + 0x10;
pub(crate) const DEVICE_CONTROL: usize = PCIE + offset_of!(PcieCapability, device_control);
/// Where the MSI or MSI-X capability is: a function has one of them.
pub(crate) const INTERRUPTS: usize = PCIE + 0x40;
/// Both capabilities have their control register at the same place.
pub(crate) const INTERRUPT_CONTROL: usize = INTERRUPTS + offset_of!(MsixCapability, control);
const _: () = assert!(offset_of!(MsixCapability, control) == offset_of!(MsiCapability, control));

/// The link that a function is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciLink {
    /// Link speed: 1 for 2.5 GT/s, 2 for 5 GT/s and so on.
    pub speed: u8,
    /// Lanes.
    pub lanes: u8,
    /// Max_Payload_Size Supported in bytes: a power of two from 128 to 4,096 (PCIe 4.0 §7.5.3.3).
    pub max_payload: u32,
}

impl PciLink {
    /// The code of its Max_Payload_Size Supported: `128 << code` bytes.
    pub(crate) fn max_payload_code(self) -> u8 {
        let bytes = self.max_payload;
        let good = bytes.is_power_of_two() && (128..=4096).contains(&bytes);
        assert!(good, "packets of {bytes} bytes");
        (bytes / 128).ilog2() as u8
    }
}

/// Configuration space.
pub(crate) struct ConfigSpace {
    bytes: Vec<u8>,
    /// The bytes after reset.
    initial: Vec<u8>,
    /// Bits that a host may write.
    writable: Vec<u8>,
    /// What the data register shows, if there is one.
    power: Option<PowerReport>,
}

impl ConfigSpace {
    pub(crate) fn new(spec: &FunctionSpec, link: PciLink) -> Self {
        let mut space = ConfigSpace {
            bytes: Vec::new(),
            initial: vec![0; CONFIG_BYTES],
            writable: vec![0; CONFIG_BYTES],
            power: spec.power,
        };
        space.add_header(spec);
        space.put(PM, PowerManagementCapability::new(PCIE as u8).as_bytes());
        let select = if spec.power.is_some() { 0xf } else { 0 };
        let control = PowerManagementControl(0).with_power_state(3).with_data_select(select);
        space.allow(PM_CONTROL, &control.0.to_le_bytes());
        space.put(
            PCIE,
            PcieCapability::endpoint(INTERRUPTS as u8, link.speed, link.lanes, link.max_payload_code())
                .as_bytes(),
        );
        let initiate = DeviceControl(0).with_initiate_function_level_reset(true);
        space.allow(DEVICE_CONTROL, &(!initiate.0).to_le_bytes());
        space.add_interrupts(&spec.interrupts);
        space.bytes = space.initial.clone();
        space.show_power();
        space
    }
    fn add_header(&mut self, spec: &FunctionSpec) {
        let mut header = Header::new_zeroed();
        header.vendor_id = spec.ids.vendor.into();
        header.device_id = spec.ids.device.into();
        header.status = Status(0).with_capability_list(true).0.into();
        header.revision_id = spec.ids.revision;
        header.class_code = spec.class;
        header.subsystem_vendor_id = spec.ids.subsystem_vendor.into();
        header.subsystem_id = spec.ids.subsystem.into();
        header.capabilities_pointer = CAPABILITIES_BEGIN;
        self.put(0, header.as_bytes());
        self.allow(COMMAND, &Command::WRITABLE.0.to_le_bytes());
        self.allow(offset_of!(Header, cache_line_size), &[0xff]);
        self.allow(offset_of!(Header, interrupt_line), &[0xff]);
        for spec in &spec.bars {
            let mut bar = Bar::new(spec.kind, spec.prefetchable, spec.bytes).expect("the spec was checked");
            let at = offset_of!(Header, bars) + 4 * usize::from(spec.register);
            // A host may write the address bits that keep a one.
            let flags = bar.read_low();
            bar.write_low(u32::MAX);
            bar.write_high(u32::MAX);
            self.put(at, &flags.to_le_bytes());
            self.allow(at, &(bar.read_low() & !flags).to_le_bytes());
            if spec.kind == aster_wire::pcie::BarKind::Memory64 {
                self.allow(at + 4, &bar.read_high().to_le_bytes());
            }
        }
    }
    fn add_interrupts(&mut self, interrupts: &Interrupts) {
        match *interrupts {
            Interrupts::MsiX { vectors, bar, table, pending } => {
                let (table, pending) = (MsixPointer::of(bar, table), MsixPointer::of(bar, pending));
                self.put(INTERRUPTS, MsixCapability::new(0, vectors, table, pending).as_bytes());
                self.allow(INTERRUPT_CONTROL, &MsixControl::WRITABLE.0.to_le_bytes());
            }
            Interrupts::Msi { vectors_log2 } => {
                self.put(INTERRUPTS, MsiCapability::new(0, vectors_log2).as_bytes());
                let mut writable = MsiCapability::new_zeroed();
                writable.control = MsiControl::WRITABLE.0.into();
                writable.address_low = (!0b11).into();
                writable.address_high = u32::MAX.into();
                writable.data = u16::MAX.into();
                writable.mask = (u32::MAX >> (32 - (1 << vectors_log2))).into();
                self.allow(INTERRUPTS, writable.as_bytes());
            }
        }
    }
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.initial[at..at + bytes.len()].copy_from_slice(bytes);
    }
    fn allow(&mut self, at: usize, bits: &[u8]) {
        self.writable[at..at + bits.len()].copy_from_slice(bits);
    }

    /// Sets all bytes to their values after power-on.
    pub(crate) fn reset(&mut self) {
        self.bytes.copy_from_slice(&self.initial);
        self.show_power();
    }
    /// Shows the power that the host has selected, and its unit (PCIe 4.0 §7.5.2.2, §7.5.2.3).
    fn show_power(&mut self) {
        let Some(power) = self.power else { return };
        let control = PowerManagementControl(self.word(PM_CONTROL));
        let shown = power.value(control.data_select());
        self.set(PM_CONTROL, &control.with_data_scale(shown.scale).0.to_le_bytes());
        self.set(PM_DATA, &[shown.data]);
    }
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }
    /// A change by the function itself, of any bits.
    pub(crate) fn set(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Reads 1, 2 or 4 bytes. Offsets beyond the space read as ones.
    pub(crate) fn read(&self, offset: u16, size: u8) -> u32 {
        let (at, size) = (usize::from(offset), usize::from(size.clamp(1, 4)));
        let Some(found) = self.bytes.get(at..at + size) else { return u32::MAX };
        let mut value = [0; 4];
        value[..size].copy_from_slice(found);
        u32::from_le_bytes(value)
    }
    /// Writes 1, 2 or 4 bytes; bytes beyond the space are dropped. True if the write asks for a
    /// function-level reset.
    pub(crate) fn write(&mut self, offset: u16, size: u8, value: u32) -> bool {
        let (at, size) = (usize::from(offset), usize::from(size.clamp(1, 4)));
        if at + size > self.bytes.len() {
            return false;
        }
        let written = value.to_le_bytes();
        let asks = (at..at + size).zip(written).map(|(at, value)| self.write_byte(at, value));
        let asked = asks.fold(false, |asked, asks| asked | asks);
        self.show_power();
        asked
    }
    fn write_byte(&mut self, at: usize, value: u8) -> bool {
        let of_word = |word: u16| word.to_le_bytes()[at & 1];
        if at & !1 == STATUS {
            self.bytes[at] &= !(value & of_word(STATUS_ERRORS));
            return false;
        }
        let writable = self.writable[at];
        self.bytes[at] = self.bytes[at] & !writable | value & writable;
        let initiate = DeviceControl(0).with_initiate_function_level_reset(true);
        at & !1 == DEVICE_CONTROL && value & of_word(initiate.0) != 0
    }
}
