//! The parts of the paper's FTL that are decisions alone (H19, H20, H21, H23): where sectors are, which
//! blocks form groups, and how sectors become pages. Nothing here sends a command.
//!
//! - [`place`]: a sector's place as one number of 32 bits
//! - [`map`]: the place of each logical sector
//! - [`groups`]: a group is a block of each lane of a channel, of one die
//! - [`frontier`]: which page is written next
//! - [`gather`]: sectors that wait in memory for their page
//! - [`oob`]: what is stored beside each sector

pub mod frontier;
pub mod gather;
pub mod groups;
pub mod map;
pub mod oob;
pub mod place;

#[cfg(test)]
mod tests;
