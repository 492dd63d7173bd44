use super::header::{CAPABILITIES_BEGIN, Header, Status};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

wire_enum! {
    /// Capability IDs that an NVMe endpoint uses (PCI Code and ID Assignment 1.11 §2).
    pub enum CapabilityId(u8) {
        PowerManagement = 0x01, "power management";
        Msi = 0x05, "MSI";
        PciExpress = 0x10, "PCI Express";
        MsiX = 0x11, "MSI-X";
    }
}

/// Finds the capabilities in a configuration space from outside. It ends at a null pointer or at a
/// pointer out of the space. It also ends after as many steps as capabilities fit, so that a loop in the
/// list ends, too.
#[derive(Clone, Debug)]
pub struct CapabilityWalk<'a> {
    config: &'a [u8],
    next: u8,
    steps_left: u8,
}

impl<'a> CapabilityWalk<'a> {
    /// A walk over `config`, which begins with the header.
    pub fn new(config: &'a [u8]) -> Self {
        let next = Header::ref_from_prefix(config)
            .ok()
            .filter(|(header, _)| Status(header.status.get()).capability_list())
            .map_or(0, |(header, _)| header.capabilities_pointer);
        CapabilityWalk { config, next, steps_left: (256 - CAPABILITIES_BEGIN as usize).div_ceil(4) as u8 }
    }
}

impl Iterator for CapabilityWalk<'_> {
    /// Raw capability ID and its offset.
    type Item = (u8, u8);

    fn next(&mut self) -> Option<(u8, u8)> {
        let at = self.next & !0b11;
        if at < CAPABILITIES_BEGIN || self.steps_left == 0 {
            return None;
        }
        self.steps_left -= 1;
        let &[id, next] = self.config.get(usize::from(at)..usize::from(at) + 2)? else { return None };
        self.next = next;
        Some((id, at))
    }
}

bit_fields! {
    /// Power management capabilities (PCIe 4.0 §7.5.2.1).
    pub struct PowerManagementCapabilities(u16) {
        /// Version: 3.
        version, with_version: 0, 3 => u8;
        /// Immediate readiness on return to D0.
        immediate_readiness, with_immediate_readiness: 4, 1 => bool;
        /// D1 is supported.
        d1, with_d1: 9, 1 => bool;
        /// D2 is supported.
        d2, with_d2: 10, 1 => bool;
    }
}

bit_fields! {
    /// Power management control and status (PCIe 4.0 §7.5.2.2).
    pub struct PowerManagementControl(u16) {
        /// Power state: 0 D0, 3 D3hot.
        power_state, with_power_state: 0, 2 => u8;
        /// Going from D3hot to D0 does not reset the function.
        no_soft_reset, with_no_soft_reset: 3, 1 => bool;
        /// Which value [`PowerManagementCapability::data`] shows: 0 to 3 what the function takes in D0 to D3,
        /// 4 to 7 what it gives off as heat. Always 0 where there is no data register.
        data_select, with_data_select: 9, 4 => u8;
        /// The unit of the value shown: 0 unknown, else 10⁻ⁿ watts.
        data_scale, with_data_scale: 13, 2 => u8;
    }
}

/// Power management capability: 8 bytes (PCIe 4.0 §7.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct PowerManagementCapability {
    /// Capability ID, 01h.
    pub id: u8,
    /// Offset of the next capability.
    pub next: u8,
    /// See [`PowerManagementCapabilities`].
    pub capabilities: U16,
    /// See [`PowerManagementControl`].
    pub control: U16,
    reserved_6: u8,
    /// The value that [`PowerManagementControl::data_select`] chose (PCIe 4.0 §7.5.2.3).
    pub data: u8,
}

impl PowerManagementCapability {
    /// Version 3, D0 and D3hot, state kept over D3hot.
    pub const fn new(next: u8) -> Self {
        PowerManagementCapability {
            id: CapabilityId::PowerManagement.raw(),
            next,
            capabilities: U16::new(PowerManagementCapabilities(0).with_version(3).0),
            control: U16::new(PowerManagementControl(0).with_no_soft_reset(true).0),
            reserved_6: 0,
            data: 0,
        }
    }
}

bit_fields! {
    /// PCI Express capabilities register (PCIe 4.0 §7.5.3.2).
    pub struct PcieCapabilities(u16) {
        /// Capability version: 2.
        version, with_version: 0, 4 => u8;
        /// Device or port type: 0 for an endpoint.
        port_type, with_port_type: 4, 4 => u8;
        /// MSI-X vector for interrupts of the capability itself.
        interrupt_message, with_interrupt_message: 9, 5 => u8;
    }
}

bit_fields! {
    /// Device capabilities (PCIe 4.0 §7.5.3.3).
    pub struct DeviceCapabilities(u32) {
        /// Largest payload supported: `128 << n` bytes.
        max_payload, with_max_payload: 0, 3 => u8;
        /// Tags of 8 bits are supported.
        extended_tag, with_extended_tag: 5, 1 => bool;
        /// L0s latency that the endpoint accepts.
        l0s_latency, with_l0s_latency: 6, 3 => u8;
        /// L1 latency that the endpoint accepts.
        l1_latency, with_l1_latency: 9, 3 => u8;
        /// Role-based error reporting; set since PCIe 1.1.
        role_based_errors, with_role_based_errors: 15, 1 => bool;
        /// Function level reset is supported, as NVMe 1.4 §2.5.3 requires.
        function_level_reset, with_function_level_reset: 28, 1 => bool;
    }
}

bit_fields! {
    /// Device control (PCIe 4.0 §7.5.3.4).
    pub struct DeviceControl(u16) {
        /// Largest payload to send: `128 << n` bytes.
        max_payload, with_max_payload: 5, 3 => u8;
        /// Use tags of 8 bits.
        extended_tag, with_extended_tag: 8, 1 => bool;
        /// Largest read request to send: `128 << n` bytes.
        max_read_request, with_max_read_request: 12, 3 => u8;
        /// Writing 1 resets the function; reads as 0.
        initiate_function_level_reset, with_initiate_function_level_reset: 15, 1 => bool;
    }
}

bit_fields! {
    /// Link capabilities (PCIe 4.0 §7.5.3.6).
    pub struct LinkCapabilities(u32) {
        /// Highest speed: 1 for 2.5, 2 for 5, 3 for 8, 4 for 16 GT/s.
        max_speed, with_max_speed: 0, 4 => u8;
        /// Widest link in lanes.
        max_width, with_max_width: 4, 6 => u8;
        /// ASPM states: bit 0 L0s, bit 1 L1.
        aspm, with_aspm: 10, 2 => u8;
        /// ASPM optionality compliance; set by newer parts.
        aspm_optionality, with_aspm_optionality: 22, 1 => bool;
        /// Port number.
        port, with_port: 24, 8 => u8;
    }
}

bit_fields! {
    /// Link status (PCIe 4.0 §7.5.3.8).
    pub struct LinkStatus(u16) {
        /// Present speed, coded as in [`LinkCapabilities::max_speed`].
        speed, with_speed: 0, 4 => u8;
        /// Present width in lanes.
        width, with_width: 4, 6 => u8;
    }
}

/// PCI Express capability, version 2: 60 bytes (PCIe 4.0 §7.5.3). The slot and root registers of an endpoint
/// are zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct PcieCapability {
    /// Capability ID, 10h.
    pub id: u8,
    /// Offset of the next capability.
    pub next: u8,
    /// See [`PcieCapabilities`].
    pub capabilities: U16,
    /// See [`DeviceCapabilities`].
    pub device_capabilities: U32,
    /// See [`DeviceControl`].
    pub device_control: U16,
    /// Device status.
    pub device_status: U16,
    /// See [`LinkCapabilities`].
    pub link_capabilities: U32,
    /// Link control.
    pub link_control: U16,
    /// See [`LinkStatus`].
    pub link_status: U16,
    reserved_slot_and_root: [u8; 16],
    /// Device capabilities 2.
    pub device_capabilities_2: U32,
    /// Device control 2.
    pub device_control_2: U16,
    /// Device status 2.
    pub device_status_2: U16,
    /// Link capabilities 2: bits 7:1 are the speeds supported.
    pub link_capabilities_2: U32,
    /// Link control 2.
    pub link_control_2: U16,
    /// Link status 2.
    pub link_status_2: U16,
    reserved_slot_2: [u8; 8],
}

impl PcieCapability {
    /// An endpoint whose link runs at `speed` (1 to 4, see [`LinkCapabilities::max_speed`]) over `lanes`
    /// lanes, with function level reset, payloads up to `128 << max_payload` bytes and read requests of 512
    /// bytes.
    pub fn endpoint(next: u8, speed: u8, lanes: u8, max_payload: u8) -> Self {
        let mut capability = PcieCapability::new_zeroed();
        capability.id = CapabilityId::PciExpress.raw();
        capability.next = next;
        capability.capabilities = U16::new(PcieCapabilities(0).with_version(2).0);
        let device = DeviceCapabilities(0)
            .with_max_payload(max_payload)
            .with_extended_tag(true)
            .with_role_based_errors(true)
            .with_function_level_reset(true);
        capability.device_capabilities = U32::new(device.0);
        capability.device_control = U16::new(DeviceControl(0).with_max_read_request(2).0);
        let link =
            LinkCapabilities(0).with_max_speed(speed).with_max_width(lanes).with_aspm_optionality(true);
        capability.link_capabilities = U32::new(link.0);
        capability.link_status = U16::new(LinkStatus(0).with_speed(speed).with_width(lanes).0);
        capability.link_capabilities_2 = U32::new(((1 << speed) - 1) << 1);
        capability.link_control_2 = U16::new(u16::from(speed));
        capability
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::msix::{MsixCapability, MsixPointer};
    use super::*;
    use core::mem::{offset_of, size_of};
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    fn config() -> Vec<u8> {
        let mut config = vec![0; 256];
        let mut header = Header::default();
        header.status = U16::new(Status(0).with_capability_list(true).0);
        header.capabilities_pointer = 0x40;
        config[..64].copy_from_slice(header.as_bytes());
        config[0x40..0x48].copy_from_slice(PowerManagementCapability::new(0x50).as_bytes());
        let msix = MsixCapability::new(0x60, 9, MsixPointer::of(0, 0x2000), MsixPointer::of(0, 0x3000));
        config[0x50..0x5c].copy_from_slice(msix.as_bytes());
        config[0x60..0x9c].copy_from_slice(PcieCapability::endpoint(0, 3, 4, 1).as_bytes());
        config
    }

    #[test]
    fn a_walk_finds_every_capability() {
        let found: Vec<_> = CapabilityWalk::new(&config()).collect();
        assert_eq!(found, [(0x01, 0x40), (0x11, 0x50), (0x10, 0x60)]);
    }

    #[test]
    fn a_list_that_loops_ends() {
        let mut config = config();
        config[0x61] = 0x40;
        assert!(CapabilityWalk::new(&config).count() <= 48);
        config[6] = 0;
        assert_eq!(CapabilityWalk::new(&config).count(), 0);
    }

    #[test]
    fn the_express_capability_lies_where_the_standard_puts_it() {
        assert_eq!(size_of::<PcieCapability>(), 0x3c);
        assert_eq!(offset_of!(PcieCapability, device_control), 0x08);
        assert_eq!(offset_of!(PcieCapability, link_capabilities), 0x0c);
        assert_eq!(offset_of!(PcieCapability, link_status), 0x12);
        assert_eq!(offset_of!(PcieCapability, device_capabilities_2), 0x24);
        assert_eq!(offset_of!(PcieCapability, link_capabilities_2), 0x2c);
        let capability = PcieCapability::endpoint(0, 3, 8, 1);
        assert_eq!(capability.capabilities.get(), 0x0002);
        assert_eq!(capability.device_capabilities.get(), 0x1000_8021);
        assert_eq!(capability.link_status.get(), 0x0083);
        assert_eq!(capability.link_capabilities_2.get(), 0b1110);
    }

    proptest! {
        #[test]
        fn arbitrary_configuration_space_never_panics(bytes in proptest::collection::vec(any::<u8>(),
            0..300)) {
            prop_assert!(CapabilityWalk::new(&bytes).count() <= 48);
        }
    }
}
