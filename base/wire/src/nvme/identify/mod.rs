//! Identify data structures (NVMe 1.4 §5.15): 4,096 bytes each.

mod controller;
mod lists;
mod namespace;

pub use controller::{
    AdminSupport, AsyncEventsSupported, ControllerAttributes, FirmwareUpdates, FormatAttributes,
    IdentifyController, IoSupport, LogAttributes, PowerState, PowerStateFlags, QueueEntrySizes,
    SanitizeCapabilities, WriteCacheAttributes,
};
pub use lists::{
    CONTROLLER_LIST_MAX, ControllerList, DescriptorError, DescriptorType, NAMESPACE_LIST_MAX,
    NamespaceDescriptor, NamespaceDescriptors, NamespaceList, write_descriptors,
};
pub use namespace::{
    DeallocateFeatures, FormattedSize, IdentifyNamespace, LBA_FORMATS_MAX, LbaFormat, NamespaceFeatures,
};

/// Bytes of every identify data structure.
pub const IDENTIFY_BYTES: usize = 4096;

wire_enum! {
    /// Controller or namespace structure: what Identify returns (NVMe 1.4 §5.15.1, and NVMe 2.0 §5.17.2.6 for
    /// what depends on a command set).
    pub enum Cns(u8) {
        Namespace = 0x00, "identify namespace";
        Controller = 0x01, "identify controller";
        ActiveNamespaces = 0x02, "active namespace ID list";
        NamespaceDescriptors = 0x03, "namespace identification descriptor list";
        NvmSets = 0x04, "NVM set list";
        CommandSetController = 0x06, "identify controller for a command set";
        AllocatedNamespaces = 0x10, "allocated namespace ID list";
        AllocatedNamespace = 0x11, "identify namespace for an allocated namespace ID";
        NamespaceControllers = 0x12, "controllers attached to a namespace";
        SubsystemControllers = 0x13, "controllers in the NVM subsystem";
        PrimaryControllerCapabilities = 0x14, "primary controller capabilities";
        SecondaryControllers = 0x15, "secondary controller list";
        NamespaceGranularity = 0x16, "namespace granularity list";
        Uuids = 0x17, "UUID list";
    }
}

/// Fills an ASCII field of the standard: left justified, padded with spaces (NVMe 1.4 §1.6). Characters
/// outside 20h–7Eh become `?`; what does not fit is cut.
pub fn ascii_field<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (to, c) in field.iter_mut().zip(text.chars()) {
        *to = if matches!(c, ' '..='~') { c as u8 } else { b'?' };
    }
    field
}

/// Reads an ASCII field without its padding; `None` if it isn't printable ASCII.
pub fn ascii_text(field: &[u8]) -> Option<&str> {
    let text = core::str::from_utf8(field).ok()?.trim_end_matches([' ', '\0']);
    text.bytes().all(|b| matches!(b, b' '..=b'~')).then_some(text)
}

#[cfg(test)]
mod tests;
