//! Flash operations of the FTL, counted by cause.

use crate::blocks::{Next, Stream};
use crate::config::PAGES_PER_WORD_LINE_MAX;
use crate::drive::Drive;
use crate::oob::OobRecord;
use aster_events::{Event, Function, Wait};
use aster_parties::FlashCounts;
use aster_ports::flash::{FlashError, FlashRequest, Outcome, PageCheck, PageOwner, Phase, Tag, Target};
use aster_ports::host::{DmaError, DmaRequest, DmaTag};
use aster_units::{BlockAddr, BufferId, Lpn, LunIndex, PageInBlock, Ppa, SectorRange};

/// Why a flash operation is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Host,
    Gc,
    Metadata,
    Merge,
    Padding,
    Scan,
}

/// Programs that have begun together, of pages one after the other: one, or a whole word line.
pub(crate) struct Programs {
    first: Ppa,
    tags: [Option<Tag>; PAGES_PER_WORD_LINE_MAX],
    // How many of them hold data; the others are padding.
    data: usize,
}

impl Programs {
    fn all(&self) -> impl Iterator<Item = (Ppa, Tag)> + use<> {
        let first = self.first.0;
        (first..).zip(self.tags).map_while(|(page, tag)| Some((Ppa(page), tag?)))
    }
    /// Pages that hold data, in the order in which their buffers were given.
    pub(crate) fn data(&self) -> impl Iterator<Item = (Ppa, Tag)> + use<> {
        self.all().take(self.data)
    }
    /// The page that holds the first data.
    pub(crate) fn first(&self) -> (Ppa, Tag) {
        (self.first, self.tags[0].expect("programs that have begun are one at least"))
    }
    /// Pages that complete the line: to be waited for with [`Drive::padded`] once the data have been.
    pub(crate) fn padding(&self) -> impl Iterator<Item = (Ppa, Tag)> + use<> {
        self.all().skip(self.data)
    }
}

/// A transfer to the host of what is to be read from flash.
pub(crate) struct HostTransfer {
    pub(crate) request: DmaRequest,
    /// It goes on by itself.
    pub(crate) begun: Option<DmaTag>,
}

/// What came of beginning programs.
enum Begun {
    Programs(Programs),
    Unlisted,
    NoRoom,
}

impl Cause {
    fn of(self, counts: &mut FlashCounts) -> &mut u64 {
        match self {
            Cause::Host => &mut counts.host,
            Cause::Gc => &mut counts.gc,
            Cause::Metadata => &mut counts.metadata,
            Cause::Merge => &mut counts.merge,
            Cause::Padding => &mut counts.padding,
            Cause::Scan => &mut counts.scan,
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
        let row = self.restriction.row(self.lun_of_row[lun.index()], block, page);
        FlashRequest::single(phase, lun, Target { row, sectors, buffer })
    }
    pub(crate) fn whole(&self) -> SectorRange {
        SectorRange::whole(self.geometry.sectors_per_page())
    }
    async fn submit(&self, request: FlashRequest) -> Tag {
        self.tell(&request);
        let submitted = self.flash_waiters.wait(self.exec(), || self.flash.submit(request));
        self.waiting(Wait::FlashQueue, submitted).await
    }
    fn tell(&self, request: &FlashRequest) {
        self.emit(|| Event::FlashQueued {
            task: self.task(),
            lun: request.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
            buffer: request.targets()[0].buffer.0,
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
        self.count_disturbance(ppa);
        self.submit(self.request(Phase::Read, ppa, sectors, into)).await
    }
    /// As [`Drive::read`]. Where operation sets are kept below, the transfer goes along with the read as the
    /// last of its set (Fig 10), unless there is no room for it.
    pub(crate) async fn read_for_host(
        &self,
        ppa: Ppa,
        lpn: Lpn,
        sectors: SectorRange,
        into: BufferId,
        transfer: &mut HostTransfer,
    ) -> Outcome {
        if !self.host.chains_dma() {
            return self.read(ppa, sectors, into, Cause::Host).await;
        }
        self.count(|s| s.flash_reads.host += 1);
        self.count_disturbance(ppa);
        self.spend(Function::HostDma, self.config.costs.dma);
        self.core.settle().await;
        let request = self.request(Phase::Read, ppa, sectors, into).expecting(PageOwner(lpn.0));
        self.tell(&request);
        let submitted = self.flash_waiters.wait(self.exec(), || {
            let tag = self.flash.submit(request)?;
            transfer.begun = self.host.submit_dma(DmaRequest { after: Some(tag), ..transfer.request });
            Some(tag)
        });
        let tag = self.waiting(Wait::FlashQueue, submitted).await;
        let outcome = self.flash_done(tag).await;
        // What has not been begun has been answered before the read was.
        if let Some(begun) = transfer.begun
            && outcome.page != PageCheck::Expected
        {
            let answer = self.host.dma_finished(begun).await;
            assert_eq!(answer, Err(DmaError::Abandoned), "only the expected page goes to the host");
            transfer.begun = None;
        }
        outcome
    }
    /// Reads sectors of a page.
    pub(crate) async fn read(&self, ppa: Ppa, sectors: SectorRange, into: BufferId, cause: Cause) -> Outcome {
        let tag = self.begin_read(ppa, sectors, into, cause).await;
        self.flash_done(tag).await
    }
    /// Begins to read the first spare bytes of a block's first or last page as they are (P4) into the
    /// buffer's OOB.
    pub(crate) async fn begin_read_mark(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        last: bool,
        into: BufferId,
    ) -> Tag {
        let row = self.restriction.mark_row(self.lun_of_row[lun.index()], block, last);
        let target = Target { row, sectors: self.whole(), buffer: into };
        let mut request = FlashRequest::single(Phase::Read, lun, target);
        request.flags.raw = true;
        self.count(|s| s.flash_reads.metadata += 1);
        self.submit(request).await
    }
    /// Begins to program the next pages of a LUN's open block from `from`, one buffer a page, as many as
    /// begin together at most; where whole lines begin, padding completes them. `copies` says which logical
    /// page each buffer holds a copy of, and from where; one that has moved on meanwhile becomes padding, for
    /// no loss of power to bring it back. Nothing may come between the choice of the pages and their
    /// submission. `None` when the LUN has no room.
    pub(crate) async fn begin_programs(
        &self,
        lun: LunIndex,
        stream: Stream,
        from: &[BufferId],
        copies: &[(Lpn, Ppa)],
        cause: Cause,
    ) -> Option<Programs> {
        self.core.settle().await;
        loop {
            let tried = self.flash_waiters.wait(self.exec(), || self.try_programs(lun, stream, from, copies));
            let begun = self.waiting(Wait::FlashQueue, tried).await;
            match begun {
                Begun::Programs(programs) => {
                    for at in 0..programs.all().count() {
                        self.count_program(if at < from.len() { cause } else { Cause::Padding });
                    }
                    self.after_program(lun);
                    return Some(programs);
                }
                Begun::Unlisted => self.next_log_page().await,
                Begun::NoRoom => return None,
            }
        }
    }
    /// As [`Drive::begin_programs`] for one page, but only where the log names the block already. `None`
    /// where it does not.
    pub(crate) async fn begin_where_named(&self, lun: LunIndex, from: BufferId) -> Option<Programs> {
        let begin = || self.try_programs(lun, Stream::Host, &[from], &[]);
        let Begun::Programs(programs) = self.flash_waiters.wait(self.exec(), begin).await else {
            return None;
        };
        self.count_program(Cause::Metadata);
        (1..programs.all().count()).for_each(|_| self.count_program(Cause::Padding));
        Some(programs)
    }
    fn try_programs(
        &self,
        lun: LunIndex,
        stream: Stream,
        from: &[BufferId],
        copies: &[(Lpn, Ppa)],
    ) -> Option<Begun> {
        let count = self.config.pages_at_once() as usize;
        let next = self.blocks.borrow_mut().next_page(lun, stream);
        let first = match next {
            Next::Page(first) => first,
            Next::Unlisted => return Some(Begun::Unlisted),
            Next::None => return Some(Begun::NoRoom),
        };
        if self.flash.room() < count {
            return None;
        }
        let padding = BufferId(self.config.padding_buffer());
        let mut tags = [None; PAGES_PER_WORD_LINE_MAX];
        for (page, tag) in (first.0..).zip(&mut tags[..count]) {
            let nth = (page - first.0) as usize;
            let buffer = from.get(nth).copied().unwrap_or(padding);
            let copy_of = copies.get(nth).copied();
            if copy_of.is_some_and(|(lpn, from)| self.map.borrow().get(lpn) != from) {
                OobRecord::padding().encode(self.dram.borrow_mut().oob_mut(buffer));
            }
            let request = self.request(Phase::Program, Ppa(page), self.whole(), buffer);
            *tag = self.flash.submit(request);
            self.tell(&request);
            self.took_page(lun, Ppa(page), copy_of);
        }
        Some(Begun::Programs(Programs { first, tags, data: from.len() }))
    }
    fn took_page(&self, lun: LunIndex, ppa: Ppa, copy_of: Option<(Lpn, Ppa)>) {
        if self.blocks.borrow_mut().take_page(ppa, copy_of) {
            self.gc_waiters[lun.index()].wake(self.exec());
        }
    }
    /// Begins to program a page that completes the word line which the stream has begun in a LUN. `None` when
    /// none is begun.
    pub(crate) async fn begin_padding(&self, lun: LunIndex, stream: Stream) -> Option<(Ppa, Tag)> {
        let from = BufferId(self.config.padding_buffer());
        let tried = self.flash_waiters.wait(self.exec(), || {
            let next = self.blocks.borrow().next_of_line(lun, stream);
            let Some(ppa) = next else { return Some(None) };
            let request = self.request(Phase::Program, ppa, self.whole(), from);
            let tag = self.flash.submit(request)?;
            self.tell(&request);
            self.took_page(lun, ppa, None);
            Some(Some((ppa, tag)))
        });
        let begun = self.waiting(Wait::FlashQueue, tried).await;
        begun.inspect(|_| self.count_program(Cause::Padding))
    }
    fn count_program(&self, cause: Cause) {
        self.mark_dirty();
        self.count(|s| {
            *cause.of(&mut s.flash_programs) += 1;
            s.flash_bytes_written += u64::from(self.geometry.page_bytes);
        });
    }
    /// Begins to program a page of the stored map or of the log, or padding behind it.
    pub(crate) async fn begin_map_program(&self, ppa: Ppa, from: BufferId, cause: Cause) -> Tag {
        self.count_program(cause);
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
