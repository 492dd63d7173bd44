//! PCI Express as software sees it: the type 0 configuration space, BARs, capabilities, MSI and MSI-X; and
//! [`tlp`], the packets that cross the link.
//!
//! Clauses are those of the PCI Express Base Specification 4.0 (`PCIe 4.0`). An NVMe controller's own rules
//! on top are NVMe 1.4 §2.

mod bar;
mod capability;
mod header;
mod msi;
mod msix;
pub mod tlp;

pub use bar::{Bar, BarKind, BarRegister, BarSizeError};
pub use capability::{
    CapabilityId, CapabilityWalk, DeviceCapabilities, DeviceControl, LinkCapabilities, LinkStatus,
    PcieCapabilities, PcieCapability, PowerManagementCapabilities, PowerManagementCapability,
    PowerManagementControl,
};
pub use header::{CAPABILITIES_BEGIN, CONFIG_BYTES, ClassCode, Command, HEADER_BYTES, Header, Status};
pub use msi::{MSI_VECTORS_LOG2_MAX, MsiCapability, MsiControl};
pub use msix::{
    MSIX_ENTRY_BYTES, MSIX_VECTORS_MAX, MsixCapability, MsixControl, MsixEntry, MsixPointer,
    MsixVectorControl, pba_bytes, pba_word_and_bit,
};
