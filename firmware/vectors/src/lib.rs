//! A drive without a map: the host addresses sectors of flash directly, in vectors of up to 64, and keeps
//! the translation layer itself (O1, O2, C85, C89, G14).
//!
//! Where an address lies is a formula (`shape`). The drive checks each vector against the state of the
//! blocks that it names, does all of it or refuses all of it, and tells of each address whether it failed.
//! It keeps a bad-block table in NVRAM. Write pointers are not kept: the first write to a block after
//! power-on finds its pointer by reading.
//!
//! The way of a command: a worker takes it, and in the same moment a ticket for each LUN that it names
//! (`turns`). When it stands first at all of them it plans (`plan`), takes page buffers (`buffers`), submits
//! its flash requests in one go and gives the tickets back. So commands that meet on a LUN are checked and
//! submitted in the order of their arrival, while those of different LUNs, and what is in the flash, overlap.
//!
//! With [`VectorsConfig::chunks`] the drive is one of 2.0: the blocks of all planes are a chunk (`chunks`),
//! whose write pointer is found at power-on, since the host may ask for it.
//!
//! With [`VectorsConfig::lanes`] the requests for one page of several lanes of an array controller are
//! submitted together (`group`), and carried out as one operation.
//!
//! Nothing is allocated after start.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod boot;
mod buffers;
mod chunks;
mod config;
mod copy;
mod drive;
mod erase;
mod group;
mod kept;
mod piece;
mod plan;
mod raw;
mod read;
mod report;
mod shape;
mod table;
mod turns;
mod wear;
mod worker;
mod write;

pub use config::{ConfigError, TableBlocks, VectorCosts, VectorsConfig, WORKERS};
pub use piece::Vectors;
pub use raw::raw_spare_of_sector;
pub use wear::WEAR_BYTES;
