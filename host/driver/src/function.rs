//! The work of a host's firmware and PCI layer before a driver sees the function.

use crate::Bar;
use alloc::rc::Rc;
use aster_parties::{BarRead, DriveFunction, ReadTag};
use aster_wire::pcie::{
    Bar as BaseAddress, CAPABILITIES_BEGIN, CapabilityId, Command, DeviceCapabilities, DeviceControl,
    MSIX_ENTRY_BYTES, MsixControl, MsixPointer, PcieCapability,
};
use core::mem::offset_of;

/// The address of MSI-X messages on a PC.
pub const MESSAGE_ADDRESS: u64 = 0xfee0_0000;
/// Where BAR0 is put.
const BAR0_ADDRESS: u64 = 0xfe00_0000;
const COMMAND: u16 = 0x04;
const CLASS: u16 = 0x08;
const BAR0: u16 = 0x10;
const CAPABILITIES_POINTER: u16 = 0x34;
/// Base class, sub class and interface of an NVMe controller.
const NVME: u32 = 0x01_0802;

/// The driver's view of BAR0 of a function.
pub struct FunctionBar(pub Rc<dyn DriveFunction>);

impl Bar for FunctionBar {
    fn read(&mut self, offset: u32, size: u8) -> BarRead {
        self.0.begin_bar_read(0, offset, size)
    }
    fn take_read(&mut self, tag: ReadTag) -> Option<u64> {
        self.0.take_bar_read(tag)
    }
    fn write(&mut self, offset: u32, size: u8, value: u64) {
        self.0.bar_write(0, offset, size, value);
    }
}

/// The largest read that the host lets a function ask for, in bytes: what firmware of PCs sets.
const READ_REQUEST: u32 = 512;

/// Places BAR0, sets Device Control, enables memory and bus mastering, and gives every MSI-X vector its
/// message: data = vector.
/// `None` when the function isn't an NVMe controller.
pub fn enumerate(function: &dyn DriveFunction) -> Option<()> {
    if function.config_read(0, 2) == 0xffff || function.config_read(CLASS, 4) >> 8 != NVME {
        return None;
    }
    function.config_write(BAR0, 4, u32::MAX);
    function.config_write(BAR0 + 4, 4, u32::MAX);
    let size =
        BaseAddress::size_from_probe(function.config_read(BAR0, 4), function.config_read(BAR0 + 4, 4))?;
    if !BAR0_ADDRESS.is_multiple_of(size) {
        return None;
    }
    function.config_write(BAR0, 4, BAR0_ADDRESS as u32);
    function.config_write(BAR0 + 4, 4, (BAR0_ADDRESS >> 32) as u32);
    set_device_control(function)?;
    let command = Command(0).with_memory_space(true).with_bus_master(true);
    function.config_write(COMMAND, 2, u32::from(command.0));

    let msix = find_capability(function, CapabilityId::MsiX)?;
    let control = MsixControl(function.config_read(msix + 2, 2) as u16);
    let table = MsixPointer(function.config_read(msix + 4, 4)).offset();
    for vector in 0..=u32::from(control.table_size_zero_based()) {
        let entry = table + vector * MSIX_ENTRY_BYTES as u32;
        function.bar_write(0, entry, 8, MESSAGE_ADDRESS);
        function.bar_write(0, entry + 8, 4, u64::from(vector));
        function.bar_write(0, entry + 12, 4, 0);
    }
    function.config_write(msix + 2, 2, u32::from(control.with_enable(true).0));
    Some(())
}

/// Lets the function send as large packets as it can, read [`READ_REQUEST`] bytes at once, and use all its
/// tags (PCIe 4.0 §7.5.3.4). The root complex of this host takes every size.
fn set_device_control(function: &dyn DriveFunction) -> Option<()> {
    let pcie = find_capability(function, CapabilityId::PciExpress)?;
    let capabilities = pcie + offset_of!(PcieCapability, device_capabilities) as u16;
    let offered = DeviceCapabilities(function.config_read(capabilities, 4));
    let register = pcie + offset_of!(PcieCapability, device_control) as u16;
    let control = DeviceControl(function.config_read(register, 2) as u16)
        .with_max_payload(offered.max_payload())
        .with_max_read_request((READ_REQUEST / 128).ilog2() as u8)
        .with_extended_tag(offered.extended_tag());
    function.config_write(register, 2, u32::from(control.0));
    Some(())
}

fn find_capability(function: &dyn DriveFunction, wanted: CapabilityId) -> Option<u16> {
    let mut at = function.config_read(CAPABILITIES_POINTER, 1) as u16;
    // Configuration space has room for no more capabilities.
    for _ in 0..48 {
        if at < u16::from(CAPABILITIES_BEGIN) {
            return None;
        }
        if function.config_read(at, 1) == u32::from(wanted.raw()) {
            return Some(at);
        }
        at = function.config_read(at + 1, 1) as u16;
    }
    None
}
