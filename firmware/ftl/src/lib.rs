//! The flash translation layer: page mapping, data buffer, garbage collection, bad blocks, clean shutdown and
//! boot.
//!
//! Above it stands a front end on `aster_ports::host::CommandPort` (I5), below it a channel controller on
//! `aster_ports::flash::FlashPort` (I3); the library knows neither. To a drive it is one of the translations
//! that it can have, [`PageMapping`].
//!
//! A command is cut into slices of one mapping unit, a flash page (C28). Slices are carried out by a fixed
//! number of workers, each a coroutine that reads like the algorithm: take a data buffer entry, fill what is
//! missing, move the data, release. One more worker a LUN collects garbage. Everything is allocated in
//! [`Ftl::start`].
//!
//! | module | holds |
//! |---|---|
//! | [`config`](FtlConfig) | what is configurable, and what follows from it |
//! | `map` | logical to physical pages |
//! | `blocks` | block states, free lists, open blocks, victims |
//! | `buffer` | data buffer entries: index, LRU, locks |
//! | `intake`, `slice`, `read`, `write`, `evict`, `unmap` | commands, slices and what they do |
//! | `flash` | flash operations, counted by cause |
//! | `gc` | garbage collection |
//! | `idle_erase` | erasing ahead what holds nothing |
//! | `scan`, `scan_metadata`, `metadata_round` | finding data that fades, and the drive's own pages that do |
//! | `format` | erasing all that the host wrote |
//! | `unsettled`, `durable` | what a loss of power could undo, and how it is made safe |
//! | `log`, `log_page`, `moves`, `checkpoint`, `root` | what is stored to find everything again |
//! | `boot`, `map_load`, `map_restore` | power-on after a shutdown |
//! | `recover`, `log_read`, `rebuild` | power-on without one |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod assigner;
mod blocks;
mod boot;
mod buffer;
mod checkpoint;
mod config;
mod drive;
mod durable;
mod evict;
mod flash;
mod format;
mod gc;
mod idle_erase;
mod intake;
mod log;
mod log_page;
mod log_read;
mod lost;
mod map;
mod map_load;
mod map_restore;
mod map_stripes;
mod metadata_round;
mod moves;
mod oob;
mod piece;
mod read;
mod rebuild;
mod recover;
mod root;
mod scan;
mod scan_metadata;
mod setup;
mod slice;
mod unmap;
mod unsettled;
mod victims;
mod waits;
mod word_line;
mod write;

pub use assigner::{Assigner, RANDOM_ROUNDS};
pub use aster_parties::{Boot, DriveState, FlashCounts, MediaState, TranslationStats as Stats};
pub use boot::BootError;
pub use config::{
    Capacity, ConfigError, FtlConfig, FtlCosts, GC_DEPTH_MAX, NVRAM_BYTES, Refresh, WearLevelling,
};
pub use drive::{Ftl, FtlHandle};
pub use oob::{OOB_BYTES, OobRecord, PageKind};
pub use piece::PageMapping;
pub use root::damaged_root_copies;
pub use setup::Setup;
pub use victims::{CostBenefit, Greedy};

#[cfg(test)]
mod tests;
