//! The host's block layer: a plain NVMe drive as a target, and a page cache over any target.
//!
//! | part | what |
//! |---|---|
//! | [`Plain`] | a target that hands each command to an NVMe drive by our driver |
//! | [`Cached`] | a target with a page cache before it, in the manner of Linux's (O16) |
//! | [`Pages`] | the cache's memory: which blocks it holds, which are dirty, and which is replaced next |
//! | [`Readahead`] | which blocks to read before they are asked for |
//!
//! A write ends once it is copied into the cache. Runs of adjacent dirty pages are written back when they
//! are many or old, and a flush writes all of them back first. A read of blocks that the cache lacks reads
//! them in runs as well, and those that a sequential reader will want next.
//!
//! Between the cache and the target that it stands over is a port of commands like the one above the cache:
//! the target knows nothing of it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod cache;
mod clean;
mod discard;
mod lower;
mod pages;
mod piece;
mod plain;
mod readahead;
mod serve;
mod told;

pub use pages::{Pages, Room};
pub use piece::{CacheConfig, Cached};
pub use plain::{Plain, PlainConfig};
pub use readahead::{Readahead, WINDOW};
