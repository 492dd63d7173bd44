//! The data buffer: entries, how they are filled from flash, and how they come to flash.

pub(crate) mod buffer;
mod entries;
mod evict;
mod fill;
pub(crate) mod host_read;
mod merge;
pub(crate) mod state;
mod word_line;
