//! The FTL against an host, without hardware: [`flash`] stands in for channels and packages, [`bench`] for
//! the front end and the host; [`inside`] is how tests look into the drive.

mod answered;
mod behaviour;
pub(crate) mod bench;
mod cache_alone;
mod checked_host;
mod collecting;
mod collector_alone;
mod crafted;
pub(crate) mod demand;
mod endless;
mod fair;
mod faults;
mod first_access;
mod flash;
mod format;
mod futures;
mod idle_erase;
mod inside;
mod log_end;
mod log_pages;
mod map_units;
mod metadata_scan;
mod paged;
pub(crate) mod parts;
mod planes;
mod power;
mod recovery;
mod refresh;
mod speed;
mod stale_runs;
mod stored_map;
mod suspects;
mod units;
mod upper_parts;
mod waits;
mod wear;
