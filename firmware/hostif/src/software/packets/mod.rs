//! The transport over packets (I6, S3 to S7): firmware is the transaction layer.
//!
//! A transfer is cut into requests. For each, firmware builds a header in memory and has the board's DMA
//! controller send it, with data where it is a write (S5). A write is posted: it has ended for the drive when
//! its last packet has been sent, and nobody says whether it arrived. A read takes one of 64 tags and is
//! answered by one or more completions.
//!
//! Who moves the data of completions is a choice (S6, S7). With the *completion offload*, firmware fills the
//! tag's entry of the descriptor table before it sends the read; the board's data mover brings the data to
//! their place and sets the tag's bit of the completion bitmap after the last one. Without it, firmware looks
//! at each completion in the receive buffer and copies its data. What the mover leaves, because it brings no
//! good data, is firmware's in both.
//!
//! The host's accesses to registers are packets as well, if the configuration says so: `completer` serves
//! them.
//!
//! # Errors
//! A read that is answered by Unsupported Request, Completer Abort or poisoned data, or not within
//! [`COMPLETION_TIMEOUT`](aster_ports::tlp::COMPLETION_TIMEOUT), fails its transfer: the controller answers
//! the command with Data Transfer Error, or stops if it was an entry of a queue. A completion that is for no
//! read, or doesn't continue one, is counted and dropped.
//!
//! # Resets
//! When the host's memory is taken away, descriptors of outstanding reads are taken back, so that
//! completions that come later go to firmware, which drops their data. A transfer of an epoch that is over
//! never succeeds.

mod completer;
mod config;
mod layer;
mod parts;
mod reads;
mod tasks;
mod transfers;

pub(super) use completer::{Completer, completer};
pub use config::{PacketConfig, PacketCosts};
pub(super) use layer::Packets;
pub(super) use tasks::{notices, receiver};

#[cfg(test)]
mod tests;
