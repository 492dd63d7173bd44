//! The flash translation layer: page mapping, data buffer, garbage collection, bad blocks, clean shutdown and
//! boot.
//!
//! Above it stands a front end on `aster_ports::host::CommandPort` (I5), below it a channel controller on
//! `aster_ports::flash::FlashPort` (I3); the library knows neither. To a drive it is one of several possible
//! translations, [`PageMapping`].
//!
//! A command is cut into slices of one mapping unit, a flash page (C28). Slices are carried out by a fixed
//! number of workers, each a coroutine that reads like the algorithm: take a data buffer entry, fill what is
//! missing, move the data, release. One more worker per LUN collects garbage. Everything is allocated in
//! [`Ftl::start`].
//!
//! | module | holds |
//! |---|---|
//! | `host` | commands, slices, and the workers that carry them out |
//! | `recovery` | power-on: the ways to the drive's state, recovery from a loss of power |
//! | `prefill` | what a fresh drive would hold after many writes, put there without the writes |
//! | `checkpoint` | storing the map and loading it again: shutdown, format |
//! | `collector` | garbage collection, levelling, refresh, the scan for data that fades, erasing ahead |
//! | `cache` | data buffer entries: index, LRU, locks; how they are filled and evicted |
//! | `mapping` | logical to physical pages |
//! | `journal` | every change of flash; the log, its pages, the root record; what makes writes durable; health |
//! | `blocks` | what happens to blocks, told to the parts that know them; who waits; victim policies, placements |
//! | `durability` | what a loss of power could still undo, and what has yet to be logged |
//! | `media` | flash operations, counted by cause |
//! | `page` | pages in their buffers |
//! | `space` | what there is to know of blocks: states, free lists, open blocks, valid units, candidates, wear |
//! | `terms` | what all share: [configuration](FtlConfig), OOB records, names of blocks and causes |
//!
//! Each module uses only those below it in this table; `start` puts them together.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod blocks;
mod cache;
mod checkpoint;
mod collector;
mod durability;
mod host;
mod journal;
mod mapping;
mod media;
mod page;
mod piece;
mod prefill;
mod recovery;
mod setup;
mod space;
mod start;
mod terms;

pub use aster_parties::{Boot, DriveState, FlashCounts, MediaState, Refresh, TranslationStats as Stats};
pub use blocks::assigner::{Assigner, RANDOM_ROUNDS};
pub use blocks::plane_order::{PLANE_ORDERS, PlaneOrder};
pub use blocks::streams::{HostDirective, OneStream, UpdateDistance};
pub use blocks::victims::{CostBenefit, DChoices, Fifo, Greedy, WindowedGreedy};
pub use checkpoint::error::BootError;
pub use mapping::demand::DemandMap;
pub use mapping::resident::ResidentMap;
pub use mapping::store::MapStore;
pub use mapping::{Mapping, MappingFault, MappingPorts, NoMapRoom};
pub use piece::PageMapping;
pub use setup::Setup;
pub use start::{Ftl, FtlHandle};
pub use terms::areas::Areas;
pub use terms::buffers::BufferLayout;
pub use terms::config::{
    Capacity, CareConfig, Collection, FirstAccess, FtlConfig, FtlCosts, GC_DEPTH_MAX, GcConfig, HostConfig,
    LineConfig, NVRAM_BYTES, Pools, STREAMS_MAX, WearLevelling, oob_bytes,
};
pub use terms::config_error::ConfigError;
pub use terms::map_cache::{MapCache, MapKind};
pub use terms::oob::{OOB_BYTES, OobRecord, PageKind};
pub use terms::planes::Planes;

#[cfg(test)]
mod tests;
