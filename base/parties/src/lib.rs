//! The parties of a drive: parts that are alternatives of one another, and what is asked of them (docs/adr/0012).
//!
//! | party | between | here |
//! |---|---|---|
//! | translation | I5 and I3 | [`TranslationStats`], [`DriveState`], [`Boot`], [`MediaState`] |
//!
//! What goes from one to another crosses the ports of `aster_ports`; what a whole drive asks of a party is here.
#![no_std]
#![forbid(unsafe_code)]

mod state;
mod stats;

pub use state::{Boot, DriveState, MediaState};
pub use stats::{FlashCounts, TranslationStats};
