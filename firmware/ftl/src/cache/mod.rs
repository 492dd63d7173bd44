//! The data buffer: its entries, how they are filled from flash, and how they are evicted to flash.

pub(crate) mod buffer;
mod entries;
mod evict;
mod fill;
pub(crate) mod host_read;
mod merge;
pub(crate) mod state;
mod word_line;
