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
//! These are plain values that know nothing of time. [`Pblk`] is the FTL as a target: a writer gives sectors
//! of the buffer their addresses in order, and tasks of their own send each command (`writer`, `submit`); a
//! collector empties lines (`collect`); workers serve the host's commands (`intake`); power-on reads the
//! tails of lines (`tails`), or the metadata of all sectors where there is none (`recover`), and the line
//! that was being written is written on (`resume`).
//!
//! What is durable when: a sector counts as written once it has left the buffer, and they leave in the order
//! in which they came. Only then does the map change, and only then is the version before no longer valid.
//! So a line is only erased when all that it held has newer versions on flash, or was deallocated.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod attach;
mod collect;
mod config;
mod ftl;
mod intake;
mod lines;
mod map;
mod media;
mod piece;
mod record;
mod recover;
mod resume;
mod ring;
mod shape;
mod spent;
mod submit;
mod tails;
mod told;
mod writer;

pub use config::PblkConfig;
pub use lines::{LineState, Lines};
pub use map::Map;
pub use piece::Pblk;
pub use ring::{Kind, Position, Retired, Ring};
pub use shape::{LineId, SectorAddr, Shape};
