//! Open-channel drives as a host uses them: their geometry, and vectors of sectors by place (O1, P22 to P27).
//!
//! | where | what |
//! |---|---|
//! | [`Drive`] | a drive that the NVMe driver has brought up: identify, erase, write, read, bad-block table |
//! | [`FunctionBar`], [`enumerate`] | the driver's way to a drive that is known by its PCIe function alone |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod drive;
mod function;

pub use aster_wire::ocssd::{ADDRESSES_MAX, AddressFormat, BlockFlags, METADATA_BYTES, Place};
pub use drive::{Drive, OpenError, VectorError};
pub use function::{FunctionBar, MESSAGE_ADDRESS, enumerate};
