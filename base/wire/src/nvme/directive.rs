//! Directives: what a host tells of its data beside them (NVMe 1.4 §9).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

bit_fields! {
    /// Command dword 11 of Directive Send and Directive Receive (NVMe 1.4 §5.9, §5.10).
    pub struct DirectiveDword11(u32) {
        /// Directive operation (DOPER), see [`operation`].
        operation, with_operation: 0, 8 => u8;
        /// Directive type (DTYPE), see [`DirectiveType`].
        directive, with_directive: 8, 8 => u8;
        /// Directive specific (DSPEC); of streams the stream identifier.
        specific, with_specific: 16, 16 => u16;
    }
}

bit_fields! {
    /// Command dword 12 of Enable Directive (NVMe 1.4 §9.2.2).
    pub struct EnableDword12(u32) {
        /// Enable the directive (ENDIR), or disable it.
        enable, with_enable: 0, 1 => bool;
        /// The type of the directive to be enabled or disabled (TDTYPE).
        directive, with_directive: 8, 8 => u8;
    }
}

wire_enum! {
    /// Directive types (NVMe 1.4 §9.1).
    pub enum DirectiveType(u8) {
        Identify = 0x00, "Identify";
        Streams = 0x01, "Streams";
    }
}

/// Directive operations. Their numbers mean different things for each type, and for Send and Receive.
pub mod operation {
    /// Send, Identify: enable or disable a directive (NVMe 1.4 §9.2.2.1).
    pub const ENABLE: u8 = 1;
    /// Receive, Identify: which directives there are (§9.2.1.1).
    pub const DIRECTIVES: u8 = 1;
    /// Send, Streams: the host has no more use for a stream identifier (§9.3.2.1).
    pub const RELEASE_IDENTIFIER: u8 = 1;
    /// Send, Streams: the namespace gives back what was allocated (§9.3.2.2).
    pub const RELEASE_RESOURCES: u8 = 2;
    /// Receive, Streams: sizes and numbers (§9.3.1.1).
    pub const PARAMETERS: u8 = 1;
    /// Receive, Streams: the open stream identifiers (§9.3.1.2).
    pub const STATUS: u8 = 2;
    /// Receive, Streams: streams for the namespace alone (§9.3.1.3).
    pub const ALLOCATE_RESOURCES: u8 = 3;
}

/// Directive Send or Directive Receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Directive {
    /// Number of dwords, zero-based (NUMD).
    pub dwords_zero_based: u32,
    /// What is done, of which directive.
    pub control: DirectiveDword11,
    /// What the operation takes beside.
    pub dword12: u32,
}

impl Directive {
    /// An operation of a directive, whose data have `bytes` bytes: a multiple of 4, or 0 for none.
    pub const fn new(directive: DirectiveType, operation: u8, bytes: u32) -> Self {
        Directive {
            dwords_zero_based: (bytes / 4).saturating_sub(1),
            control: DirectiveDword11(0).with_operation(operation).with_directive(directive.raw()),
            dword12: 0,
        }
    }
    /// Enables a directive or disables it.
    pub const fn enable(directive: DirectiveType, enable: bool) -> Self {
        let dword12 = EnableDword12(0).with_enable(enable).with_directive(directive.raw()).0;
        Directive { dword12, ..Directive::new(DirectiveType::Identify, operation::ENABLE, 0) }
    }
    /// Bytes of the data.
    pub const fn bytes(&self) -> u64 {
        (self.dwords_zero_based as u64 + 1) * 4
    }
}

/// Which directives a namespace has: 4096 bytes, a bit for each type (NVMe 1.4 §9.2.1.1).
#[derive(Clone, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DirectivesSupported {
    /// Directives supported.
    pub supported: [u8; 32],
    /// Directives enabled.
    pub enabled: [u8; 32],
    reserved_64: [u8; 4032],
}

impl Default for DirectivesSupported {
    fn default() -> Self {
        DirectivesSupported::new_zeroed()
    }
}

/// Sizes and numbers of streams: 32 bytes (NVMe 1.4 §9.3.1.1).
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct StreamParameters {
    /// The most streams that may be open at a time (MSL).
    pub streams_max: U16,
    /// Streams that are allocated to no namespace (NSSA).
    pub available: U16,
    /// Open streams of namespaces to which none are allocated (NSSO).
    pub open: U16,
    reserved_6: [u8; 10],
    /// The size and alignment of writes that suit a stream, in logical blocks (SWS).
    pub write_blocks: U32,
    /// What the medium prepares at a time for a stream, in [`write_blocks`](Self::write_blocks) (SGS).
    pub granularity: U16,
    /// Streams allocated to the namespace (NSA).
    pub namespace_allocated: U16,
    /// Open streams of the namespace (NSO).
    pub namespace_open: U16,
    reserved_26: [u8; 6],
}

/// Bytes of [`StreamParameters`].
pub const STREAM_PARAMETERS_BYTES: usize = size_of::<StreamParameters>();

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    #[test]
    fn fields_are_where_the_standard_has_them() {
        assert_eq!(size_of::<DirectivesSupported>(), 4096);
        assert_eq!(offset_of!(DirectivesSupported, enabled), 32);
        assert_eq!(STREAM_PARAMETERS_BYTES, 32);
        let offsets = [
            offset_of!(StreamParameters, open),
            offset_of!(StreamParameters, write_blocks),
            offset_of!(StreamParameters, granularity),
            offset_of!(StreamParameters, namespace_allocated),
            offset_of!(StreamParameters, namespace_open),
        ];
        assert_eq!(offsets, [4, 16, 20, 22, 24]);
    }

    #[test]
    fn an_operation_has_its_numbers_in_two_dwords() {
        let enable = Directive::enable(DirectiveType::Streams, true);
        assert_eq!((enable.control.0, enable.dword12, enable.dwords_zero_based), (0x0000_0001, 0x101, 0));
        let status = Directive::new(DirectiveType::Streams, operation::STATUS, 32);
        assert_eq!((status.control.0, status.dwords_zero_based, status.bytes()), (0x0000_0102, 7, 32));
    }
}
