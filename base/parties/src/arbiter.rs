//! Arbiter: which transaction has a channel next.

use alloc::boxed::Box;
use aster_ports::channel::ChannelPort;

/// Decides which of several waiting transactions owns the channel next: BABOL's transaction scheduler
/// (B18). A controller in hardware has an order of its own (B29).
///
/// # Who calls, in what order
/// A controller in software asks one transaction ahead. Its queue holds the transaction on the channel and
/// the one that follows, so it asks as soon as a transaction waits and the second place is free.
///
/// # What survives a power cut
/// Nothing.
pub trait Arbiter {
    /// Chooses one of `waiting` and returns its index. `waiting` holds slots of `channel` in the order in
    /// which they were issued and is never empty. [`ChannelPort::waiting`] gives each slot's transaction.
    fn grant(&mut self, channel: &ChannelPort, waiting: &[u16]) -> usize;
}

impl dyn Arbiter {
    /// Lets it choose on `channel` from now on.
    pub fn serve(mut self: Box<Self>, channel: &ChannelPort) {
        channel.set_chooser(Box::new(move |channel, waiting| self.grant(channel, waiting)));
    }
}
