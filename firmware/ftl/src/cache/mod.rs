//! The data buffer: its entries, how they are filled from flash, and how they are evicted to flash.

pub(crate) mod buffer;
pub(crate) mod entries;
mod evict;
pub(crate) mod fill;
mod gather;
pub(crate) mod host_read;
mod locking;
mod packed;
mod packing;
mod scattered;
pub(crate) mod state;
