//! The reservation station (Fig 11): operations that may be carried out, in queues (C35).

use crate::loop_operation::Operation;
use alloc::vec::Vec;
use aster_exec::Fifo;
use aster_units::LunIndex;

/// One queue for host DMA, and one per way, which the way's flash operations and flash DMA operations
/// share. Only heads are candidates. A way's head stays until it has been completed, since it may have to
/// be repeated (C37).
pub struct ReservationStation {
    host: Fifo<Operation>,
    ways: Vec<Fifo<Operation>>,
    queued: usize,
}

impl ReservationStation {
    /// For `ways` ways, with room for `operations` in each queue.
    pub fn new(ways: u32, operations: usize) -> Self {
        ReservationStation {
            host: Fifo::with_capacity(operations),
            ways: (0..ways).map(|_| Fifo::with_capacity(operations)).collect(),
            queued: 0,
        }
    }
    /// True when it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.queued == 0
    }
    /// Queues an operation.
    #[inline]
    pub fn push(&mut self, operation: Operation) {
        self.queued += 1;
        match operation.kind.is_host_dma() {
            true => self.host.push_back(operation),
            false => self.ways[operation.lun.index()].push_back(operation),
        }
    }
    /// The host DMA operation that is next.
    pub fn host_head(&self) -> Option<&Operation> {
        self.host.front()
    }
    /// Takes the head: the host interface controller has its own queue, and host DMA is never repeated.
    #[inline]
    pub fn take_host(&mut self) -> Option<Operation> {
        let head = self.host.pop_front();
        self.queued -= usize::from(head.is_some());
        head
    }
    /// A way's head.
    #[inline]
    pub fn head(&self, lun: LunIndex) -> Option<&Operation> {
        self.ways[lun.index()].front()
    }
    /// Removes a way's head, which is over.
    #[inline]
    pub fn release(&mut self, lun: LunIndex) -> Operation {
        self.queued -= 1;
        self.ways[lun.index()].pop_front().expect("a way that works has a head")
    }
    /// Puts an operation before a way's head: the one that must be repeated first.
    pub fn put_before(&mut self, operation: Operation) {
        self.queued += 1;
        self.ways[operation.lun.index()].push_front(operation);
    }
}
