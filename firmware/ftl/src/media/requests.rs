//! Flash requests, one at a time: a page's row in the packages, the queue that a request waits for, and the
//! count of its cause.

use crate::page::buffers::PageBuffers;
use crate::terms::cause::Cause;
use crate::terms::oob::OobRecord;
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::{Event, Wait};
use aster_exec::WaitQueue;
use aster_ports::flash::{
    FlashError, FlashOp, FlashPort, FlashRequest, FlashSource, FlashStatus, Outcome, PageOwner, Tag, Target,
};
use aster_units::{BlockAddr, BufferId, LunIndex, PageInBlock, Ppa, RowAddr, SectorRange};
use core::future::Future;

/// The flash, as the FTL sees it: pages and blocks.
pub(crate) struct Media {
    runtime: Rc<Runtime>,
    pages: Rc<PageBuffers>,
    port: Rc<FlashPort>,
    // Tasks that wait for room among the port's requests.
    waiters: WaitQueue,
    // By LUN, or by plane if planes are allocated one by one.
    places: Box<[Place]>,
    planes_apart: u32,
}

/// The place in the array of a LUN, or of a plane that is allocated by itself.
struct Place {
    lun: LunIndex,
    // The number of the LUN behind its chip enable: the top of its row addresses.
    lun_of_row: u8,
    plane: u32,
}

impl Media {
    /// The flash behind `port`.
    pub(crate) fn new(runtime: &Rc<Runtime>, pages: &Rc<PageBuffers>, port: Rc<FlashPort>) -> Self {
        let config = &runtime.config;
        let (luns, array) = (config.geometry.total_luns(), config.planes().lun_geometry());
        let place = |unit| {
            let (lun, plane) = config.planes().lun_and_plane(LunIndex(unit));
            Place { lun, lun_of_row: array.lun_addr(lun).lun, plane: plane.into() }
        };
        Media {
            runtime: Rc::clone(runtime),
            pages: Rc::clone(pages),
            port,
            waiters: WaitQueue::with_capacity(usize::from(config.host.slice_workers) + luns as usize + 5),
            places: (0..luns).map(place).collect(),
            planes_apart: config.planes_apart.into(),
        }
    }

    // ---- reads ----

    /// Begins to read sectors of a page.
    pub(crate) async fn begin_read(
        &self,
        ppa: Ppa,
        sectors: SectorRange,
        into: BufferId,
        cause: Cause,
    ) -> Tag {
        self.runtime.count(|s| *cause.of(&mut s.flash_reads) += 1);
        self.submit(self.request(FlashOp::Read, ppa, sectors, into).asked_by(cause.source())).await
    }
    /// As [`Media::begin_read`], without waiting: `Err` is the request, which [`Media::submit_later`] submits
    /// when there is room for it.
    #[inline]
    pub(crate) fn begin_read_now(
        &self,
        ppa: Ppa,
        sectors: SectorRange,
        into: BufferId,
        cause: Cause,
    ) -> Result<Tag, FlashRequest> {
        self.runtime.count(|s| *cause.of(&mut s.flash_reads) += 1);
        let request = self.request(FlashOp::Read, ppa, sectors, into).asked_by(cause.source());
        self.emit_queued(&request);
        self.port.submit(request).ok_or(request)
    }
    /// As [`Media::begin_read`] if there is room for the request now.
    pub(crate) fn try_read(
        &self,
        ppa: Ppa,
        sectors: SectorRange,
        into: BufferId,
        cause: Cause,
    ) -> Option<Tag> {
        let request = self.request(FlashOp::Read, ppa, sectors, into).asked_by(cause.source());
        let tag = self.port.submit(request)?;
        self.runtime.count(|s| *cause.of(&mut s.flash_reads) += 1);
        self.emit_queued(&request);
        Some(tag)
    }
    /// As [`Media::begin_read`], of a page that should belong to `owner`. Calls `also` at the moment at which
    /// the read is submitted.
    pub(crate) async fn begin_read_expecting(
        &self,
        owner: PageOwner,
        ppa: Ppa,
        sectors: SectorRange,
        into: BufferId,
        mut also: impl FnMut(Tag),
    ) -> Tag {
        let request = self.request(FlashOp::Read, ppa, sectors, into).expecting(owner);
        self.emit_queued(&request);
        let submitted = self.queued(|| {
            let tag = self.port.submit(request)?;
            also(tag);
            Some(tag)
        });
        self.runtime.waiting(Wait::FlashQueue, submitted).await
    }
    /// Begins a raw read of the first spare bytes of a block's first or last page (P4) into the buffer's OOB.
    pub(crate) async fn begin_read_mark(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        last: bool,
        into: BufferId,
    ) -> Tag {
        let (place, block) = self.place_of(lun, block);
        let row = self.runtime.restriction.mark_row(place.lun_of_row, block, last);
        let target = Target { row, sectors: self.pages.whole(), buffer: into };
        let mut request =
            FlashRequest::single(FlashOp::Read, place.lun, target).asked_by(Cause::Metadata.source());
        request.flags.raw = true;
        self.runtime.count(|s| s.flash_reads.metadata += 1);
        self.submit(request).await
    }

    /// The lost sectors of a page just read, and its OOB record, with the unit in its first slot. Without a
    /// record nothing vouches for the content.
    #[inline]
    pub(crate) fn judge(
        &self,
        outcome: &Outcome,
        sectors: SectorRange,
        buffer: BufferId,
    ) -> (u16, Option<OobRecord>) {
        let readable = match outcome.status {
            FlashStatus::Done => !outcome.oob_failed && !outcome.erased,
            FlashStatus::Uncorrectable => !outcome.oob_failed,
            FlashStatus::Failed | FlashStatus::Error | FlashStatus::Busy | FlashStatus::Dead => false,
        };
        let record = if readable { self.pages.record(buffer) } else { None };
        let lost = match record {
            Some(record) => record.lost_sectors | outcome.failed_sectors,
            None => u16::MAX,
        };
        let lost = lost & sectors.mask();
        if lost != 0 {
            self.runtime.count(|s| s.uncorrectable_sectors += u64::from(lost.count_ones()));
        }
        (lost, record)
    }

    // ---- programs and erases ----

    /// Begins to program a page of the stored map or of the log, or the padding after it.
    pub(crate) async fn begin_map_program(&self, ppa: Ppa, from: BufferId, cause: Cause) -> Tag {
        self.count_program(cause);
        let request = self.request(FlashOp::Program, ppa, self.pages.whole(), from);
        self.submit(request.asked_by(FlashSource::Mapping)).await
    }
    /// Begins to program a page of a block that `source` fills, if there is room for the request now. Doesn't
    /// count it.
    #[inline]
    pub(crate) fn try_program(&self, ppa: Ppa, from: BufferId, source: FlashSource) -> Option<Tag> {
        let request = self.request(FlashOp::Program, ppa, self.pages.whole(), from).asked_by(source);
        let tag = self.port.submit(request)?;
        self.emit_queued(&request);
        Some(tag)
    }
    /// Counts a program that has begun.
    pub(crate) fn count_program(&self, cause: Cause) {
        self.runtime.count(|s| {
            *cause.of(&mut s.flash_programs) += 1;
            s.flash_bytes_written += u64::from(self.runtime.geometry.page_bytes);
        });
    }
    /// Begins to erase a block.
    pub(crate) async fn begin_erase(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        buffer: BufferId,
        cause: Cause,
    ) -> Tag {
        self.runtime.count(|s| *cause.of(&mut s.flash_erases) += 1);
        let whole = self.pages.whole();
        let request = self.request_at(FlashOp::Erase, lun, block, PageInBlock(0), whole, buffer);
        self.submit(request.asked_by(cause.source())).await
    }

    // ---- the queue ----

    /// Requests that can be submitted now.
    pub(crate) fn room(&self) -> usize {
        self.port.room()
    }
    /// Waits until `begin` has submitted something: calls it now, and whenever a request has ended.
    pub(crate) async fn queued<T>(&self, begin: impl FnMut() -> Option<T>) -> T {
        self.waiters.wait(self.runtime.exec(), begin).await
    }
    /// Wakes the tasks that wait in [`Media::queued`].
    #[inline]
    pub(crate) fn ask_again(&self) {
        self.waiters.wake_all(self.runtime.exec());
    }
    /// Waits for the end of an operation that was begun.
    #[inline]
    pub(crate) fn done(&self, tag: Tag) -> impl Future<Output = Outcome> {
        self.port.finished_as(tag, |outcomes| {
            self.ask_again();
            outcomes[0]
        })
    }
    /// What the channel controller said about the LUN's last fault.
    pub(crate) fn last_fault(&self, lun: LunIndex) -> Option<FlashError> {
        let lun = self.places[lun.index()].lun;
        self.port.faults().into_iter().rev().find(|(at, _)| *at == lun).map(|(_, error)| error)
    }
    #[cfg(test)]
    pub(crate) fn port(&self) -> &Rc<FlashPort> {
        &self.port
    }

    /// A page's LUN in the packages, and its row there.
    pub(crate) fn row_of(&self, lun: LunIndex, block: BlockAddr, page: PageInBlock) -> (LunIndex, RowAddr) {
        let (place, block) = self.place_of(lun, block);
        (place.lun, self.runtime.restriction.row_in(self.runtime.rows, place.lun_of_row, block, page))
    }
    #[inline]
    fn request(&self, phase: FlashOp, ppa: Ppa, sectors: SectorRange, buffer: BufferId) -> FlashRequest {
        let (lun, block, page) = self.runtime.geometry.split_ppa(ppa);
        self.request_at(phase, lun, block, page, sectors, buffer)
    }
    #[inline]
    fn request_at(
        &self,
        phase: FlashOp,
        lun: LunIndex,
        block: BlockAddr,
        page: PageInBlock,
        sectors: SectorRange,
        buffer: BufferId,
    ) -> FlashRequest {
        let (place, block) = self.place_of(lun, block);
        let row = self.runtime.restriction.row_in(self.runtime.rows, place.lun_of_row, block, page);
        FlashRequest::single(phase, place.lun, Target { row, sectors, buffer })
    }
    /// The place of an allocated LUN or plane, and the address of its block there.
    #[inline]
    fn place_of(&self, lun: LunIndex, block: BlockAddr) -> (&Place, BlockAddr) {
        let place = &self.places[lun.index()];
        (place, BlockAddr(block.0 * self.planes_apart + place.plane))
    }
    async fn submit(&self, request: FlashRequest) -> Tag {
        self.emit_queued(&request);
        // As `submit_later`, whose future would hold the request once more.
        let submitted = self.queued(|| self.port.submit(request));
        self.runtime.waiting(Wait::FlashQueue, submitted).await
    }
    /// Submits a request as soon as there is room for it.
    pub(crate) async fn submit_later(&self, request: FlashRequest) -> Tag {
        let submitted = self.queued(|| self.port.submit(request));
        self.runtime.waiting(Wait::FlashQueue, submitted).await
    }
    #[inline]
    fn emit_queued(&self, request: &FlashRequest) {
        self.runtime.emit(|| Event::FlashQueued {
            task: self.runtime.task(),
            lun: request.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
            buffer: request.targets()[0].buffer.0,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::bench::config;
    use crate::tests::parts::LowerParts;
    use aster_units::Content;
    use std::cell::RefCell;
    use std::vec::Vec;

    /// The test's controller takes the LUN's next request.
    fn next(media: &Media, lun: LunIndex) -> Option<(Tag, FlashRequest)> {
        media.port.try_next(lun, |_| 0)
    }

    #[test]
    fn a_request_names_the_row_of_its_page_and_counts_for_its_cause() {
        let parts = LowerParts::new(config(Content::Fingerprint), 4);
        let media = Rc::clone(&parts.media);
        let geometry = media.runtime.geometry;
        let page = geometry.total_luns() * geometry.blocks_per_lun * u32::from(geometry.pages_per_block) - 2;
        let (lun, block, of_block) = geometry.split_ppa(Ppa(page));
        let asking = Rc::clone(&media);
        parts.exec.spawn(async move {
            let whole = asking.pages.whole();
            let tag = asking.begin_read(Ppa(page), whole, BufferId(1), Cause::Scan).await;
            asking.done(tag).await;
            asking.begin_map_program(Ppa(page), BufferId(2), Cause::Padding).await;
            asking.begin_erase(lun, block, BufferId(3), Cause::Metadata).await;
        });
        parts.run();
        let (tag, read) = next(&media, lun).expect("the read");
        let row = media.runtime.restriction.row(geometry.lun_addr(lun).lun, block, of_block);
        assert_eq!(
            (read.phase, read.targets()[0].row, read.targets()[0].buffer),
            (FlashOp::Read, row, BufferId(1))
        );
        assert_eq!(read.source, FlashSource::Gc, "a scan is background work");
        assert!(next(&media, lun).is_none(), "the program comes after the read has ended");
        media.port.complete(tag, [Outcome::default(); 4]);
        parts.run();
        let of = |request: FlashRequest| (request.phase, request.source);
        let ours = |phase| Some((phase, FlashSource::Mapping));
        assert_eq!(next(&media, lun).map(|(_, request)| of(request)), ours(FlashOp::Program));
        assert_eq!(next(&media, lun).map(|(_, request)| of(request)), ours(FlashOp::Erase));
        let stats = media.runtime.stats();
        assert_eq!(
            (stats.flash_reads.scan, stats.flash_programs.padding, stats.flash_erases.metadata),
            (1, 1, 1)
        );
        assert_eq!(stats.flash_bytes_written, u64::from(geometry.page_bytes));
    }

    /// Only two of three reads fit the port: the third is submitted when one has ended, and not before.
    #[test]
    fn a_request_waits_for_room_and_gets_it_when_another_ends() {
        let parts = LowerParts::new(config(Content::Fingerprint), 2);
        let media = Rc::clone(&parts.media);
        let begun: Rc<RefCell<Vec<u32>>> = Rc::default();
        for page in 0..3 {
            let (asking, begun) = (Rc::clone(&media), Rc::clone(&begun));
            parts.exec.spawn(async move {
                let whole = asking.pages.whole();
                let tag = asking.begin_read(Ppa(page), whole, BufferId(page), Cause::Host).await;
                begun.borrow_mut().push(page);
                asking.done(tag).await;
            });
        }
        parts.run();
        assert_eq!((begun.borrow().as_slice(), media.room()), (&[0, 1][..], 0));
        assert!(media.try_program(Ppa(0), BufferId(0), FlashSource::User).is_none());
        let (tag, _) = next(&media, LunIndex(0)).expect("a read");
        media.port.complete(tag, [Outcome::default(); 4]);
        parts.run();
        assert_eq!(begun.borrow().as_slice(), [0, 1, 2]);
    }
}
