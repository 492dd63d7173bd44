//! The driver of a message unit (H6 to H9, H13).
//!
//! Commands that are submitted at one instant go into one frame (`frames`), which lies in the host's memory
//! until the drive has fetched it. Status frames come into the host's status buffer and say by a number which
//! commands have ended (`status`). [`ArrayDriver`] holds the commands in flight: no more than the unit has
//! slots, and no more frames than its FIFO holds, since a host that overflows it stops the drive (H10).
//!
//! A drive that breaks the rules, stops, or doesn't answer is given up: every command then ends with
//! [`Gone`], and [`ArrayDriver::fault`] says why in words.

mod bring_up;
mod error;
mod frames;
mod layout;
mod run;
mod status;
mod tags;
mod thermometer;

pub use bring_up::ArrayInfo;
pub use error::ArrayError;
pub use layout::REGION_BYTES;
pub use run::ArrayDriver;
pub use tags::{CommandTag, Ended, Gone, TAGS};
pub(crate) use thermometer::TemperatureWatcher;
