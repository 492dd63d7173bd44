//! The board around cores and channels: the PCIe link with its configuration space and MSI-X, and the clocks
//! and rates of memory and buses.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod link;
mod pci;

pub use link::{Link, LinkConfig, LinkStats};
pub use pci::{BAR0_BYTES, MSIX_PBA_OFFSET, MSIX_TABLE_OFFSET, PciFunction, PciIds};
