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
//! | `terms` | what all share: [configuration](FtlConfig), OOB records, names of blocks and causes |
//! | `page` | pages in their buffers |
//! | `media` | flash operations, counted by cause |
//! | `blocks` | block states, free lists, open blocks, victims; what a loss of power could undo |
//! | `journal` | the log, its pages, the root record |
//! | `map` | logical to physical pages |
//! | `buffer` | data buffer entries: index, LRU, locks |
//! | `intake`, `slice`, `read`, `write`, `evict`, `unmap` | commands, slices and what they do |
//! | `gc` | garbage collection |
//! | `idle_erase` | erasing ahead what holds nothing |
//! | `scan`, `scan_metadata`, `metadata_round` | finding data that fades, and the drive's own pages that do |
//! | `format` | erasing all that the host wrote |
//! | `durable` | how what was written is made safe from a loss of power |
//! | `checkpoint` | storing the map |
//! | `boot`, `map_load`, `map_restore` | power-on after a shutdown |
//! | `recover`, `log_read`, `rebuild` | power-on without one |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod blocks;
mod boot;
mod buffer;
mod checkpoint;
mod drive;
mod durable;
mod evict;
mod format;
mod gc;
mod idle_erase;
mod intake;
mod journal;
mod log_read;
mod map;
mod map_load;
mod map_restore;
mod map_stripes;
mod media;
mod metadata_round;
mod page;
mod piece;
mod read;
mod rebuild;
mod recover;
mod scan;
mod scan_metadata;
mod slice;
mod terms;
mod unmap;
mod waits;
mod word_line;
mod write;

pub use aster_parties::{Boot, DriveState, FlashCounts, MediaState, TranslationStats as Stats};
pub use boot::BootError;
pub use drive::{Ftl, FtlHandle};
pub use journal::root::damaged_root_copies;
pub use piece::PageMapping;
pub use terms::config::{
    Assigner, Capacity, ConfigError, FtlConfig, FtlCosts, GC_DEPTH_MAX, NVRAM_BYTES, RANDOM_ROUNDS, Refresh,
    WearLevelling,
};
pub use terms::oob::{OOB_BYTES, OobRecord, PageKind};

#[cfg(test)]
mod tests;
