//! Flash operations of the FTL, counted by cause.

use crate::blocks::Stream;
use crate::drive::Drive;
use crate::stats::FlashCounts;
use aster_events::Event;
use aster_ports::flash::{FlashError, FlashRequest, Outcome, Phase, Tag, Target};
use aster_units::{BlockAddr, BufferId, LunIndex, PageInBlock, Ppa, SectorRange};

/// Why a flash operation is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Host,
    Gc,
    Metadata,
    Merge,
}

impl Cause {
    fn of(self, counts: &mut FlashCounts) -> &mut u64 {
        match self {
            Cause::Host => &mut counts.host,
            Cause::Gc => &mut counts.gc,
            Cause::Metadata => &mut counts.metadata,
            Cause::Merge => &mut counts.merge,
        }
    }
}

impl Drive {
    fn request(&self, phase: Phase, ppa: Ppa, sectors: SectorRange, buffer: BufferId) -> FlashRequest {
        let (lun, block, page) = self.geometry.split_ppa(ppa);
        self.request_at(phase, lun, block, page, sectors, buffer)
    }
    fn request_at(
        &self,
        phase: Phase,
        lun: LunIndex,
        block: BlockAddr,
        page: PageInBlock,
        sectors: SectorRange,
        buffer: BufferId,
    ) -> FlashRequest {
        let row = self.geometry.row(self.lun_of_row[lun.index()], block, page);
        FlashRequest::single(phase, lun, Target { row, sectors, buffer })
    }
    fn whole(&self) -> SectorRange {
        SectorRange::whole(self.geometry.sectors_per_page())
    }
    async fn submit(&self, request: FlashRequest) -> Tag {
        self.tell(&request);
        self.flash_waiters.wait(self.exec(), || self.flash.submit(request)).await
    }
    fn tell(&self, request: &FlashRequest) {
        self.emit(|| Event::FlashQueued {
            task: self.task(),
            lun: request.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
        });
    }
    /// Waits for the end of an operation that was begun.
    #[inline]
    pub(crate) async fn flash_done(&self, tag: Tag) -> Outcome {
        let outcomes = self.flash.finished(tag).await;
        self.flash_waiters.wake_all(self.exec());
        outcomes[0]
    }
    /// Begins to read sectors of a page.
    pub(crate) async fn begin_read(
        &self,
        ppa: Ppa,
        sectors: SectorRange,
        into: BufferId,
        cause: Cause,
    ) -> Tag {
        self.count(|s| *cause.of(&mut s.flash_reads) += 1);
        self.submit(self.request(Phase::Read, ppa, sectors, into)).await
    }
    /// Reads sectors of a page.
    pub(crate) async fn read(&self, ppa: Ppa, sectors: SectorRange, into: BufferId, cause: Cause) -> Outcome {
        let tag = self.begin_read(ppa, sectors, into, cause).await;
        self.flash_done(tag).await
    }
    /// Reads the first spare bytes of a page as they are (P4) into the buffer's OOB.
    pub(crate) async fn read_raw(&self, ppa: Ppa, into: BufferId) -> Outcome {
        let mut request = self.request(Phase::Read, ppa, self.whole(), into);
        request.flags.raw = true;
        self.count(|s| s.flash_reads.metadata += 1);
        let tag = self.submit(request).await;
        self.flash_done(tag).await
    }
    /// Begins to program the next page of a LUN's open block; nothing may come between the choice of the page and the
    /// submission. `None` when the LUN has no room; `prepare` gets the page before it is sent.
    pub(crate) async fn begin_program(
        &self,
        lun: LunIndex,
        stream: Stream,
        from: BufferId,
        cause: Cause,
    ) -> Option<(Ppa, Tag)> {
        self.core.settle().await;
        self.flash_waiters
            .wait(self.exec(), || {
                let Some(ppa) = self.blocks.borrow_mut().next_page(lun, stream) else { return Some(None) };
                let request = self.request(Phase::Program, ppa, self.whole(), from);
                let tag = self.flash.submit(request)?;
                self.tell(&request);
                if self.blocks.borrow_mut().take_page(ppa) {
                    self.gc_waiters[lun.index()].wake(self.exec());
                }
                Some(Some((ppa, tag)))
            })
            .await
            .inspect(|_| self.count_program(cause))
    }
    fn count_program(&self, cause: Cause) {
        self.mark_dirty();
        self.count(|s| {
            *cause.of(&mut s.flash_programs) += 1;
            s.flash_bytes_written += u64::from(self.geometry.page_bytes);
        });
    }
    /// Begins to program a page of the stored map.
    pub(crate) async fn begin_map_program(&self, ppa: Ppa, from: BufferId) -> Tag {
        self.count_program(Cause::Metadata);
        self.submit(self.request(Phase::Program, ppa, self.whole(), from)).await
    }
    /// Begins to erase a block.
    pub(crate) async fn begin_erase(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        buffer: BufferId,
        cause: Cause,
    ) -> Tag {
        self.mark_dirty();
        self.count(|s| *cause.of(&mut s.flash_erases) += 1);
        self.submit(self.request_at(Phase::Erase, lun, block, PageInBlock(0), self.whole(), buffer)).await
    }
    /// Erases a block to write it anew.
    pub(crate) async fn erase(&self, lun: LunIndex, block: BlockAddr, buffer: BufferId) -> Outcome {
        let tag = self.begin_erase(lun, block, buffer, Cause::Gc).await;
        self.flash_done(tag).await
    }

    /// What the channel controller said about the LUN's last fault.
    pub(crate) fn last_fault(&self, lun: LunIndex) -> Option<FlashError> {
        self.flash.faults().into_iter().rev().find(|(at, _)| *at == lun).map(|(_, error)| error)
    }
}
