use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a function's extended configuration space (PCIe 4.0 §7.2).
pub const CONFIG_BYTES: usize = 4096;
/// Bytes of the type 0 header (PCIe 4.0 §7.5.1).
pub const HEADER_BYTES: usize = 64;
/// Where capabilities may begin (PCIe 4.0 §7.5.1).
pub const CAPABILITIES_BEGIN: u8 = 0x40;

bit_fields! {
    /// Command register (PCIe 4.0 §7.5.1.1.3).
    pub struct Command(u16) {
        /// Answer I/O space accesses.
        io_space, with_io_space: 0, 1 => bool;
        /// Answer memory space accesses.
        memory_space, with_memory_space: 1, 1 => bool;
        /// May issue memory requests: DMA and MSI-X need it.
        bus_master, with_bus_master: 2, 1 => bool;
        /// Report poisoned TLPs as parity errors.
        parity_error_response, with_parity_error_response: 6, 1 => bool;
        /// Report errors to the root complex.
        serr_enable, with_serr_enable: 8, 1 => bool;
        /// Don't raise INTx.
        interrupt_disable, with_interrupt_disable: 10, 1 => bool;
    }
}

impl Command {
    /// The bits that software can write on a memory-only endpoint.
    pub const WRITABLE: Command = Command(0)
        .with_memory_space(true)
        .with_bus_master(true)
        .with_parity_error_response(true)
        .with_serr_enable(true)
        .with_interrupt_disable(true);
}

bit_fields! {
    /// Status register (PCIe 4.0 §7.5.1.1.4).
    pub struct Status(u16) {
        /// INTx is pending.
        interrupt, with_interrupt: 3, 1 => bool;
        /// A capability list is present; always set in PCI Express.
        capability_list, with_capability_list: 4, 1 => bool;
        /// A poisoned TLP was received or sent as master.
        master_data_parity_error, with_master_data_parity_error: 8, 1 => bool;
        /// A request was completed with Completer Abort.
        signaled_target_abort, with_signaled_target_abort: 11, 1 => bool;
        /// A completion with Completer Abort was received.
        received_target_abort, with_received_target_abort: 12, 1 => bool;
        /// A completion with Unsupported Request was received.
        received_master_abort, with_received_master_abort: 13, 1 => bool;
        /// An error message was sent.
        signaled_system_error, with_signaled_system_error: 14, 1 => bool;
        /// A poisoned TLP was received.
        detected_parity_error, with_detected_parity_error: 15, 1 => bool;
    }
}

/// Class code: programming interface, sub-class, base class (PCIe 4.0 §7.5.1.1.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ClassCode {
    /// Programming interface.
    pub interface: u8,
    /// Sub-class.
    pub sub_class: u8,
    /// Base class.
    pub base_class: u8,
}

impl ClassCode {
    /// NVM Express controller: 010802h (NVMe 1.4 §2.1.5).
    pub const NVME: ClassCode = ClassCode { interface: 0x02, sub_class: 0x08, base_class: 0x01 };
}

/// Type 0 configuration header: 64 bytes (PCIe 4.0 §7.5.1, §7.5.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Header {
    /// Vendor ID.
    pub vendor_id: U16,
    /// Device ID.
    pub device_id: U16,
    /// See [`Command`].
    pub command: U16,
    /// See [`Status`].
    pub status: U16,
    /// Revision ID.
    pub revision_id: u8,
    /// Class code.
    pub class_code: ClassCode,
    /// Cache line size; has no effect in PCI Express.
    pub cache_line_size: u8,
    /// Latency timer; 0 in PCI Express.
    pub latency_timer: u8,
    /// Header type: 0, bit 7 for a multi-function device.
    pub header_type: u8,
    /// Built-in self test; 0 when absent.
    pub bist: u8,
    /// Base address registers, see [`super::Bar`].
    pub bars: [U32; 6],
    /// CardBus CIS pointer; 0.
    pub cardbus_cis: U32,
    /// Subsystem vendor ID.
    pub subsystem_vendor_id: U16,
    /// Subsystem ID.
    pub subsystem_id: U16,
    /// Expansion ROM base address; 0 when absent.
    pub expansion_rom: U32,
    /// Offset of the first capability.
    pub capabilities_pointer: u8,
    reserved_53: [u8; 7],
    /// Interrupt line: software's note to itself.
    pub interrupt_line: u8,
    /// INTx pin: 0 none, 1 INTA.
    pub interrupt_pin: u8,
    /// Minimum grant; 0 in PCI Express.
    pub min_gnt: u8,
    /// Maximum latency; 0 in PCI Express.
    pub max_lat: u8,
}

impl Header {
    /// The command register.
    pub const fn command(&self) -> Command {
        Command(self.command.get())
    }
    /// The status register.
    pub const fn status(&self) -> Status {
        Status(self.status.get())
    }
}

impl Default for Header {
    fn default() -> Self {
        Header::new_zeroed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::{offset_of, size_of};

    #[test]
    fn header_fields_lie_where_the_standard_puts_them() {
        assert_eq!(size_of::<Header>(), HEADER_BYTES);
        assert_eq!(offset_of!(Header, command), 0x04);
        assert_eq!(offset_of!(Header, class_code), 0x09);
        assert_eq!(offset_of!(Header, header_type), 0x0e);
        assert_eq!(offset_of!(Header, bars), 0x10);
        assert_eq!(offset_of!(Header, subsystem_vendor_id), 0x2c);
        assert_eq!(offset_of!(Header, capabilities_pointer), 0x34);
        assert_eq!(offset_of!(Header, interrupt_line), 0x3c);
    }

    #[test]
    fn the_class_code_of_an_nvme_controller_is_010802h() {
        assert_eq!(ClassCode::NVME.as_bytes(), [0x02, 0x08, 0x01]);
    }

    #[test]
    fn a_memory_endpoint_lets_software_write_five_command_bits() {
        assert_eq!(Command::WRITABLE.0, 0x0546);
    }
}
