//! The tasks of NVMe in software.

use super::desk::Desk;
use super::mailbox::Work;
use alloc::rc::Rc;
use aster_ports::link::{BadAddress, LinkOp, Local, Segment};
use aster_wire::nvme::sqe::SQE_BYTES;

/// Worker `number` of submission queue `queue`: takes an entry, carries its command to its end, and takes
/// the next (S13, S18).
pub(super) async fn worker(desk: Rc<Desk>, queue: u16, number: u16) {
    let me = desk.task_of(queue, number);
    loop {
        let entry = desk.next_entry(queue, number).await;
        desk.spend(desk.costs.fetch).await;
        let from = Segment { address: entry.address, length: SQE_BYTES as u32 };
        let read = match desk.is_overtaken(&entry) {
            // The memory at its address may be another host's by now.
            true => Err(BadAddress(0)),
            false => desk.transport.read(me, from, Local::Sram { offset: entry.landing }).await,
        };
        desk.spend(desk.costs.parse).await;
        if !desk.entry_fetched(me, entry, read) {
            continue;
        }
        while let Some(work) = desk.mailbox(me).next(&desk.exec).await {
            carry(&desk, work).await;
        }
    }
}

/// Carries what no worker's command is for.
pub(super) async fn late(desk: Rc<Desk>) {
    while let Some(work) = desk.mailbox(desk.late()).next(&desk.exec).await {
        carry(&desk, work).await;
    }
}

async fn carry(desk: &Desk, work: Work) {
    match work {
        Work::Message { vector } => send_message(desk, vector).await,
        Work::Dma { op, entry: None } => {
            desk.spend(desk.costs.transfer).await;
            begin(desk, op).await;
        }
        Work::Dma { op, entry: Some(number) } => {
            desk.spend(desk.costs.complete).await;
            begin(desk, op).await;
            desk.entry_sent(number);
            while let Some(vector) = desk.next_message() {
                send_message(desk, vector).await;
            }
        }
    }
}

async fn send_message(desk: &Desk, vector: u16) {
    desk.spend(desk.costs.interrupt).await;
    desk.transport.message(vector).await;
}

/// Begins a DMA, unless a reset has taken host memory away since the controller asked for it.
async fn begin(desk: &Desk, op: LinkOp) {
    if desk.is_stale(&op) {
        return desk.ended(&op, Err(BadAddress(0)));
    }
    desk.transport.begin(op).await;
}
