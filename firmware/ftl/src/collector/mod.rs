//! Garbage collection, levelling, refresh, the scan for data that fades, and erasing ahead.

mod activity;
pub(crate) mod gc;
pub(crate) mod idle_erase;
mod metadata_round;
mod moves;
mod payment;
mod reuse;
pub(crate) mod scan;
mod scan_metadata;
mod scan_place;
pub(crate) mod state;
