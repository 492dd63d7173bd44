//! NVMe in software (S1, S8, S15, S18): the same controller, with firmware in the place of its DMA engine.
//!
//! [`crate::Controller`] speaks to an *inner* [`LinkPort`](aster_ports::link::LinkPort) whose far end is
//! not a link but the `desk`. It files what the controller asks for under the command that it is for, and
//! the `worker` that fetched that command carries it out: it spends the core's time and passes it to the
//! `transport`, which moves the bytes over the drive's link. So decoding, checks, admin commands, statuses,
//! PRPs and resets are the controller's, shared to the line with NVMe in hardware; fetching is not: each
//! submission queue has workers, which take entries one by one, and sleep while there is none.
//!
//! A worker has a command from its entry until the controller no longer needs it: until the slot is free,
//! or the command waits for an event or for a deletion, or has been completed early. What the controller
//! asks for after that, and interrupts that nobody's completion entry is about to bring about, one more
//! task carries, the *late* one. It keeps four Asynchronous Event Requests from holding four workers.
//!
//! # Order
//! A message may reach the host only behind the completion entries that it announces. Entries are carried
//! by many workers, so `messages` holds each message back until all entries filed before it have been
//! sent; whoever sends the last of these sends the message.

mod asker;
mod desk;
mod mailbox;
mod messages;
mod operations;
mod packets;
mod piece;
mod registers;
mod time;
mod transport;
mod way;
mod worker;

pub use desk::{SoftwareCosts, WorkerCounts};
pub use packets::{PacketConfig, PacketCosts};
pub use piece::{SoftwareConfig, SoftwareFrontEnd, SoftwareNvme};
#[cfg(test)]
pub(crate) use {piece::with_workers, way::HostWay};
