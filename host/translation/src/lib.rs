//! A translation of a drive's own, unchanged, at work on the host: its flash requests (I3) go to a drive that
//! has no map.
//!
//! | where | what |
//! |---|---|
//! | [`TranslationTarget`] | the target of a drive: starts any translation on the host's clock, with a flash port |
//! | [`frames`] | serves that port by command frames, over a message unit (H6) |
//! | [`vectors`] | serves it by vectors, over an open-channel drive of version 1.2 (O1) |
//!
//! What a translation learns of a factory's marks comes from the drive's reports of its blocks, since neither
//! kind of drive lets a host read raw bytes by default.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod frames;
mod mark;
mod target;
pub mod vectors;

pub use target::{Carrier, Connect, Connection, TranslationTarget, Wiring};
