//! An FTL of the host for open-channel drives, in the manner of Linux's pblk (O7, O10, O11, C89, P30; P30 has
//! its source). The code and the format on the media are Aster's own.
//!
//! | part | what |
//! |---|---|
//! | [`Shape`] | lines: the blocks of one number on all LUNs and planes, and the order of their sectors |
//! | [`Ring`] | the write buffer: sectors on their way to flash, in the order of their arrival |
//! | [`Map`] | where the newest durable version of each logical block is |
//! | [`Lines`] | what each line holds, and which one is emptied next |
//!
//! All of these are plain values that know nothing of time.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod lines;
mod map;
mod ring;
mod shape;

pub use lines::{LineState, Lines};
pub use map::Map;
pub use ring::{Kind, Position, Retired, Ring};
pub use shape::{LineId, SectorAddr, Shape};
