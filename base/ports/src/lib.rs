//! The interfaces where the floors meet (design §3). Nothing else is shared between firmware and hardware.
//!
//! | | between | module |
//! |---|---|---|
//! | I1 | engine or RTL ↔ package | [`package`], or [`pins`] to the cycle |
//! | I2 | flash operation ↔ engine | [`channel`] |
//! | I3 | FTL and scheduler ↔ channel controller | [`flash`] |
//! | I4 | core ↔ core | [`cores`] |
//! | I5 | front end ↔ FTL | [`host`] |
//! | I6 | transaction layer in firmware ↔ PCIe, packet by packet | [`tlp`] |
//! | below I6 | front end ↔ PCIe, at the level of BARs and DMA | [`link`] |
//! | beside I3 | FTL ↔ the board's eMMC | [`emmc`] |
//!
//! Ports are rings and slots with wait queues. Every one has a bound that is set when the device is built.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod admission;
pub mod channel;
pub mod codes;
pub mod cores;
pub mod credits;
pub mod dram;
pub mod emmc;
pub mod flash;
pub mod host;
pub mod layout;
pub mod link;
mod lists;
mod local;
pub mod medium;
pub mod order;
mod outcome;
pub mod package;
mod page_check;
pub mod pins;
mod request;
pub mod resource;
mod source;
pub mod tlp;
