//! The board around cores and channels: the PCIe link, and the function behind it with configuration space,
//! BARs and interrupts.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config_space;
mod link;
mod msix;
mod pci;
mod tlp;

pub use config_space::PciLink;
pub use link::{Link, LinkConfig, LinkStats};
pub use pci::PciFunction;
pub use tlp::{RootStats, TlpLink, TlpLinkConfig, WireConfig};
