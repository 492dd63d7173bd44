//! How firmware moves bytes to and from the host: the calls of S8.
//!
//! | S8 | here |
//! |---|---|
//! | DMA read, DMA write, completion | [`Transport::begin`], whose end comes as [`Ended`] |
//! | DMA read for the firmware itself | [`Transport::read`] |
//! | MSI | [`Transport::message`] |
//! | read and write callbacks | the front end's `read` and `write`, which the board calls; see `registers`. Or packets of the host, see `packets` |
//!
//! There are two: `operations` has a DMA engine carry whole operations out, and in `packets` firmware is the
//! transaction layer itself.

use super::asker::Ended;
use super::operations::Operations;
use super::packets::Packets;
use alloc::rc::Rc;
use aster_ports::link::{BadAddress, LinkOp, Local, Segment};

/// A way to the host's memory.
pub(super) enum Transport {
    /// By operations of the link.
    Operations(Operations),
    /// By packets (I6).
    Packets(Rc<Packets>),
}

impl Transport {
    /// Begins a DMA that the controller asked for. It has begun when the caller may go on to the next one.
    pub(super) async fn begin(&self, op: LinkOp) {
        match self {
            Transport::Operations(link) => link.begin(op),
            Transport::Packets(packets) => packets.begin(op).await,
        }
    }
    /// Reads host memory for task `task`, and waits until it is there.
    ///
    /// # Errors
    /// When host memory can't be reached, or a reset has come between.
    pub(super) async fn read(&self, task: u32, from: Segment, local: Local) -> Result<(), BadAddress> {
        match self {
            Transport::Operations(link) => link.read(task, from, local).await,
            Transport::Packets(packets) => packets.read(task, from, local).await,
        }
    }
    /// Sends a message. It follows what was sent to the host before.
    pub(super) async fn message(&self, vector: u16) {
        match self {
            Transport::Operations(link) => link.message(vector),
            Transport::Packets(packets) => packets.message(vector).await,
        }
    }
    /// Takes the next answer that is the controller's; tasks get theirs.
    pub(super) fn next_ended(&self) -> Option<Ended> {
        match self {
            Transport::Operations(link) => link.next_ended(),
            Transport::Packets(packets) => packets.next_ended(),
        }
    }
    /// The host's memory is no longer the drive's: what is on its way ends without being carried out.
    pub(super) fn forget_host(&self) {
        match self {
            Transport::Operations(link) => link.forget_host(),
            Transport::Packets(packets) => packets.forget_host(),
        }
    }
    /// The packets, if it sends any.
    pub(super) fn packets(&self) -> Option<&Rc<Packets>> {
        match self {
            Transport::Operations(_) => None,
            Transport::Packets(packets) => Some(packets),
        }
    }
}
