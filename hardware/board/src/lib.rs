//! The board around cores and channels: the PCIe link, the function behind it with configuration space, BARs
//! and interrupts, the eMMC, and how warm all of it gets.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config_space;
mod emmc;
mod heat;
mod link;
mod msix;
mod pci;
mod thermal;
mod tlp;

pub use config_space::PciLink;
pub use emmc::{EmmcCard, EmmcCells, EmmcStats, EmmcTimes, SharedEmmcCells};
pub use heat::{Critical, Heat, SensorConfig, Slowness, Throttling, Work};
pub use link::{Link, LinkConfig, LinkStats};
pub use pci::PciFunction;
pub use thermal::{JunctionConfig, Power, Temperatures, Thermal, ThermalConfig, ZERO_CELSIUS};
pub use tlp::{AccessErrors, RootStats, TlpLink, TlpLinkConfig, WireConfig};
