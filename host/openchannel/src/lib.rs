//! Open-channel drives as a host uses them: their geometry, and vectors of sectors by place, over version 1.2
//! or 2.0 (O1, P22 to P27, P29).
//!
//! | where | what |
//! |---|---|
//! | [`Drive`] | a drive that the NVMe driver has brought up: identify, erase, write, read, bad blocks, chunks |
//! | [`Format`] | how it writes addresses |
//! | [`VectorError`] | which sector failed, and how |
//! | [`Notification`] | what a drive of 2.0 tells of sectors without being asked |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod drive;
mod error;
mod format;
mod notices;

pub use aster_driver::Moved;
pub use aster_wire::nvme::Status;
pub use aster_wire::ocssd::v2::{ChunkDescriptor, ChunkFlags, Geometry20, NoticeState};
pub use aster_wire::ocssd::{
    ADDRESSES_MAX, AddressFormat, BlockFlags, FieldBits, Identity12, METADATA_BYTES, Place,
};
pub use drive::{Drive, Identity};
pub use error::{OpenError, VectorError, meaning};
pub use format::Format;
pub use notices::Notification;
