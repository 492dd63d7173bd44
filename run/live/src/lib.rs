//! Runs a drive live: a PCI function behind a vfio-user socket, to which QEMU and others attach (design §6).
//!
//! The device is the same as in every other run mode. Here its clock follows the wall clock ([`Pace::Real`])
//! or runs ahead as fast as the machine can ([`Pace::Fast`]). Its DMA goes to memory that the client shares,
//! its interrupt messages to eventfds. The server polls doorbells in memory, so that a busy queue needs no
//! message. One thread does everything, in turns: [`Server::run`].
//!
//! A client may change what `memory` and `doorbells` access at any time; both copy data before they interpret
//! them.
#![forbid(unsafe_code)]

mod connection;
mod doorbells;
mod interrupts;
mod mapping;
mod memory;
mod obstacles;
mod pace;
mod requests;
mod room;
mod serve;
mod status;

pub use connection::MESSAGE_BYTES_MAX;
pub use pace::Pace;
pub use serve::{ServeError, Server};
pub use status::{Lateness, Status};
