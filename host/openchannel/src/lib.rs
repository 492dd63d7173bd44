//! Open-channel drives as a host uses them: their geometry, and vectors of sectors by place (O1, P22 to P27).
//!
//! | where | what |
//! |---|---|
//! | [`Drive`] | a drive that the NVMe driver has brought up: identify, erase, write, read, bad-block table |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod drive;

pub use aster_driver::Moved;
pub use aster_wire::nvme::Status;
pub use aster_wire::ocssd::status::meaning;
pub use aster_wire::ocssd::{
    ADDRESSES_MAX, AddressFormat, BlockFlags, FieldBits, Identity12, METADATA_BYTES, Place,
};
pub use drive::{Drive, OpenError, VectorError};
