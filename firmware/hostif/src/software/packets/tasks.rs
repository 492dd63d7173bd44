//! The tasks that look at what comes back.

use super::layer::Packets;
use super::reads::{EndedRead, Heard, Mover};
use alloc::rc::Rc;
use aster_wire::pcie::tlp::{Completion, Tlp, TlpHeader};

/// Looks at the packets in the receive buffer: all completions without the offload, and with it those that
/// the mover leaves. Waits for nothing that waits for it.
pub(in super::super) async fn receiver(packets: Rc<Packets>) {
    let costs = packets.config.costs;
    loop {
        packets.port.wait_received().await;
        packets.spend(costs.receive).await;
        let (copied, ended) = packets.take_received();
        if copied > 0 {
            packets.spend((u64::from(copied) * costs.copy_kib).div_ceil(1024)).await;
        }
        if let Some(ended) = ended {
            packets.end_read(ended);
        }
    }
}

/// Looks at the completion bitmap whenever the data mover has told of it (S6).
pub(in super::super) async fn notices(packets: Rc<Packets>) {
    loop {
        packets.port.wait_completed().await;
        packets.spend(packets.config.costs.notice).await;
        let mut bits = packets.port.take_completed();
        while bits != 0 {
            let tag = bits.trailing_zeros() as u16;
            bits &= bits - 1;
            let ended = packets.reads.borrow_mut().end(tag);
            packets.end_read(ended);
        }
    }
}

impl Packets {
    /// Takes the oldest packet of the receive buffer. Returns how many bytes of it were copied, and the read
    /// that has ended by it.
    fn take_received(&self) -> (u32, Option<EndedRead>) {
        let mut heard = None;
        let taken = self.port.with_received(|packet| {
            let tlp = Tlp::parse(packet).ok()?;
            let TlpHeader::Completion(completion) = tlp.header else { return None };
            heard = self.hear(&completion);
            let (place, bytes) = heard?.copy?;
            let skip = usize::from(completion.lower_address & 3);
            let data = tlp.payload.get(skip..skip + bytes as usize)?;
            self.memory.borrow_mut().write(place, data);
            Some(bytes)
        });
        self.port.drop_received();
        let copied = taken.flatten().unwrap_or(0);
        self.port.count(|stats| {
            stats.handled += 1;
            stats.copies += u64::from(copied > 0);
            stats.copied_bytes += u64::from(copied);
            stats.unexpected += u64::from(heard.is_none());
        });
        (copied, heard.and_then(|heard| heard.ended))
    }
    fn hear(&self, completion: &Completion) -> Option<Heard> {
        let tag = completion.tag.number();
        let read = *self.reads.borrow().get(tag)?;
        // The read is firmware's from now on, unless the mover has ended it.
        if read.mover == Mover::Board && !self.take_over(tag) {
            return None;
        }
        let is_lost = self.reads.borrow().is_lost(tag);
        let wanted = !is_lost && self.transfers.borrow_mut().epoch(read.transfer) == self.port.epoch();
        self.reads.borrow_mut().hear(completion, wanted)
    }
}
