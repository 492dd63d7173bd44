//! What is on its way between host memory and the drive: the operations in flight, what the FTL has asked
//! for, and where a command's data are.

use crate::config::{HostIfConfig, SramLayout};
use crate::delayed::Delayed;
use crate::pages::{HostRuns, PageTable};
use crate::ports::{ControllerPorts, DmaPurpose};
use alloc::boxed::Box;
use aster_ports::host::{DmaDirection, DmaRequest, DmaTag};
use aster_ports::link::{LinkOp, Local, MAX_SEGMENTS, Segment};
use aster_units::Instant;

/// A DMA request of the FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Transfer {
    /// The command's slot.
    pub slot: u16,
    /// The command's submission queue.
    pub queue: u16,
    pub bytes: u32,
}

/// A transfer, and how much of it is under way.
#[derive(Clone, Copy, Debug, Default)]
struct UnderWay {
    transfer: Transfer,
    /// Link operations without an answer.
    operations: u32,
    failed: bool,
}

/// The DMA of the controller.
#[derive(Debug)]
pub(crate) struct Dma {
    layout: SramLayout,
    pages: PageTable,
    /// Link operations without an answer. An answer from before the last reset only counts this down.
    in_flight: u32,
    /// Requests of the FTL whose latency is running.
    requested: Delayed<(DmaTag, DmaRequest)>,
    /// By DMA tag.
    transfers: Box<[UnderWay]>,
}

impl Dma {
    /// The DMA of a controller with this many command slots.
    pub fn new(config: &HostIfConfig, slots: usize) -> Self {
        Dma {
            layout: SramLayout::of(config),
            pages: PageTable::new(slots, config.transfer_pages_log2),
            in_flight: 0,
            requested: Delayed::with_capacity(usize::from(config.dma_requests)),
            transfers: (0..config.dma_requests).map(|_| UnderWay::default()).collect(),
        }
    }
    /// Where things lie in the SRAM.
    #[inline]
    pub fn layout(&self) -> &SramLayout {
        &self.layout
    }
    /// Where commands' data are in host memory.
    #[inline]
    pub fn pages(&self) -> &PageTable {
        &self.pages
    }
    /// The pages, for a walk over a command's PRPs.
    #[inline]
    pub fn walks(&mut self) -> &mut PageTable {
        &mut self.pages
    }

    /// Whether the link has answered everything.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0
    }
    /// An operation goes to the link.
    #[inline]
    pub fn began(&mut self) {
        self.in_flight += 1;
    }
    /// The link has answered an operation.
    #[inline]
    pub fn ended(&mut self) {
        debug_assert!(self.in_flight > 0, "an answer to what was asked");
        self.in_flight -= 1;
    }
    /// Pushes an operation over one run of host memory to the link. It is part of whoever calls it, so that
    /// the operation is put together in its place.
    #[inline(always)]
    pub fn push_run(
        &mut self,
        ports: &ControllerPorts,
        direction: DmaDirection,
        local: Local,
        run: Segment,
        purpose: DmaPurpose,
    ) {
        self.began();
        let mut segments = [Segment::default(); MAX_SEGMENTS];
        segments[0] = run;
        let (count, token) = (1, purpose.to_wire());
        ports.link.push(LinkOp::Dma { direction, local, segments, count, token, epoch: ports.link.epoch() });
    }
    /// Pushes an operation to the link.
    #[inline]
    pub fn push(
        &mut self,
        ports: &ControllerPorts,
        direction: DmaDirection,
        local: Local,
        (segments, count): HostRuns,
        purpose: DmaPurpose,
    ) {
        debug_assert!(count > 0 && count <= segments.len(), "{count} segments");
        self.began();
        let (count, token) = (count as u8, purpose.to_wire());
        ports.link.push(LinkOp::Dma { direction, local, segments, count, token, epoch: ports.link.epoch() });
    }

    /// Keeps a request of the FTL until `at`. Returns whether a timer is needed.
    #[inline]
    pub fn delay(&mut self, at: Instant, tag: DmaTag, request: DmaRequest) -> bool {
        self.requested.push(at, (tag, request))
    }
    /// Takes a request of the FTL that begins now.
    #[inline]
    pub fn next_request(&mut self, now: Instant) -> Option<(DmaTag, DmaRequest)> {
        self.requested.next_due(now)
    }
    /// A request of the FTL has begun, by so many operations.
    #[inline]
    pub fn begin_transfer(&mut self, tag: DmaTag, transfer: Transfer, operations: u32) {
        let place = &mut self.transfers[usize::from(tag.0)];
        debug_assert!(place.operations == 0, "tag {} is free", tag.0);
        debug_assert!(operations > 0 && operations <= self.in_flight, "a transfer moves something");
        *place = UnderWay { transfer, operations, failed: false };
    }
    #[inline]
    pub fn transfer(&self, tag: u16) -> &Transfer {
        &self.transfers[usize::from(tag)].transfer
    }
    /// The link has answered an operation of a transfer. With the last one it returns the transfer, and
    /// whether an operation has failed.
    #[inline]
    pub fn part_ended(&mut self, tag: u16, failed: bool) -> Option<(Transfer, bool)> {
        let under_way = &mut self.transfers[usize::from(tag)];
        debug_assert!(under_way.operations > 0, "an answer to what was asked");
        under_way.operations -= 1;
        under_way.failed |= failed;
        (under_way.operations == 0).then_some((under_way.transfer, under_way.failed))
    }
}
