//! The work of a host's firmware and PCI layer before a driver sees the function.

use aster_device::Device;
use aster_wire::pcie::{
    Bar, CAPABILITIES_BEGIN, CapabilityId, Command, MSIX_ENTRY_BYTES, MsixControl, MsixPointer,
};

/// Where BAR0 is put.
const BAR0_ADDRESS: u64 = 0xfe00_0000;
/// The address of MSI-X messages on a PC.
pub(crate) const MESSAGE_ADDRESS: u64 = 0xfee0_0000;

const COMMAND: u16 = 0x04;
const CAPABILITIES_POINTER: u16 = 0x34;
const BAR0: u16 = 0x10;

/// Places BAR0, enables memory and bus mastering, and gives every MSI-X vector its message: data = vector.
/// `None` when the function isn't an NVMe drive.
pub(crate) fn enumerate(device: &Device) -> Option<()> {
    if device.config_read(0, 2) == 0xffff || device.config_read(0x08, 4) >> 8 != 0x01_0802 {
        return None;
    }
    device.config_write(BAR0, 4, u32::MAX);
    device.config_write(BAR0 + 4, 4, u32::MAX);
    let size = Bar::size_from_probe(device.config_read(BAR0, 4), device.config_read(BAR0 + 4, 4))?;
    if !BAR0_ADDRESS.is_multiple_of(size) {
        return None;
    }
    device.config_write(BAR0, 4, BAR0_ADDRESS as u32);
    device.config_write(BAR0 + 4, 4, (BAR0_ADDRESS >> 32) as u32);
    let command = Command(0).with_memory_space(true).with_bus_master(true);
    device.config_write(COMMAND, 2, u32::from(command.0));

    let msix = find_capability(device, CapabilityId::MsiX)?;
    let control = MsixControl(device.config_read(msix + 2, 2) as u16);
    let table = MsixPointer(device.config_read(msix + 4, 4)).offset();
    for vector in 0..=u32::from(control.table_size_zero_based()) {
        let entry = table + vector * MSIX_ENTRY_BYTES as u32;
        device.bar_write(0, entry, 8, MESSAGE_ADDRESS);
        device.bar_write(0, entry + 8, 4, u64::from(vector));
        device.bar_write(0, entry + 12, 4, 0);
    }
    device.config_write(msix + 2, 2, u32::from(control.with_enable(true).0));
    Some(())
}

fn find_capability(device: &Device, wanted: CapabilityId) -> Option<u16> {
    let mut at = device.config_read(CAPABILITIES_POINTER, 1) as u16;
    // Configuration space has room for no more capabilities.
    for _ in 0..48 {
        if at < u16::from(CAPABILITIES_BEGIN) {
            return None;
        }
        if device.config_read(at, 1) == u32::from(wanted.raw()) {
            return Some(at);
        }
        at = device.config_read(at + 1, 1) as u16;
    }
    None
}
