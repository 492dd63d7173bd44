//! The paper's FTL: a map in the host's memory, pages and composite pages of groups, and sectors that wait
//! for their page (H19 to H23, H25).
//!
//! Decisions, which send no command:
//!
//! - `place`: a sector's place as one number of 32 bits
//! - `map`: the place of each logical sector
//! - `block_table`: which blocks a group has
//! - `groups`: a group is a block of each lane of a channel, of one die
//! - `fading`: which groups hold data that fade
//! - `frontier`: which page is written next
//! - `gather`: sectors that wait in memory for their page
//! - `recent`: what was written lately, and isn't cold
//! - `oob`: what is stored beside each sector
//!
//! What carries them out: `piece` starts the FTL as a target, `recover` finds what is on the drive, `intake`
//! serves the host's commands, `shared` has what is in memory and on its way, `collect` makes groups free,
//! `lost` goes on after a loss of power of the drive, `rows` writes rows with parity, `rebuild` and `others`
//! make pages of them that can't be read, `flash` makes commands of frames, `root` and `retired` are what is
//! kept in NVRAM, and `spare` counts blocks. `keep_table` stores the block group table, `keeping` is
//! what it knows, `find_table` finds the table at power-on, `mended` drops members that can't be,
//! `table_copies` tells which pages make one, `table_pages` is what they hold, and `table_place` is what
//! NVRAM says of it.

mod block_table;
mod collect;
mod config;
mod fading;
mod find_table;
mod flash;
mod frontier;
mod gather;
mod groups;
mod intake;
mod keep_table;
mod keeping;
mod lost;
mod map;
mod mended;
mod oob;
mod operation;
mod others;
mod piece;
mod place;
mod rebuild;
mod recent;
mod recover;
mod retired;
mod root;
mod rows;
mod shared;
mod spare;
mod table_copies;
mod table_pages;
mod table_place;
mod told;
mod twice;

pub use config::{CompositeConfig, HostFtlConfig, Parity, StatusFrames};
pub use groups::RegionConfig;
pub use piece::HostFtl;

#[cfg(test)]
mod tests;
