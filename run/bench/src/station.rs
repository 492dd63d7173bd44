//! One LUN at work on flash operations ([`FlashOperation`]), one after the other.

use crate::content::{READ_BLOCKS, content_tag};
use crate::operation::{FlashOperation, FlashOperation as Op, GANG};
use crate::sample::{Sample, WorkKind};
use crate::work::Pattern;
use aster_events::Function;
use aster_flash::{Lun, operations as flash};
use aster_ports::channel::FrameReport;
use aster_ports::dram::SharedDram;
use aster_ports::flash::{FlashError, FlashStatus, Outcome, Target};
use aster_units::{
    BlockAddr, BufferId, Geometry, Instant, LunIndex, PageInBlock, Rng, RowAddr, SECTOR_BYTES, SectorRange,
};
use aster_wire::onfi::Status;
use std::cell::{Cell, RefCell};

/// One LUN, or the LUNs of a gang, at work.
pub(crate) struct Station {
    pub(crate) operation: FlashOperation,
    pub(crate) pattern: Pattern,
    pub(crate) sectors: SectorRange,
    /// Data come from the first one's chip enable unless the other one of a gang is ready sooner.
    pub(crate) luns: Vec<Lun>,
    pub(crate) index: LunIndex,
    pub(crate) behind: u8,
    pub(crate) geometry: Geometry,
    pub(crate) dram: SharedDram,
    pub(crate) first_buffer: u32,
    pub(crate) buffers: u32,
    /// Pages of a block, fewer when it is used as SLC.
    pub(crate) pages: u16,
    /// Blocks that are used together, one of each plane or one alone.
    pub(crate) sets: Vec<Vec<BlockAddr>>,
    /// How often each set was filled.
    pub(crate) generations: Vec<u32>,
    pub(crate) next_read: u32,
    /// Where the next program goes, and the set that the next erase takes.
    pub(crate) open: usize,
    pub(crate) page: u16,
    pub(crate) rng: Rng,
}

/// Consecutive pages of a set.
#[derive(Clone, Copy)]
struct Pages {
    set: usize,
    first: u16,
    count: u16,
}

/// What all stations share.
pub(crate) struct Turns {
    pub(crate) left: Cell<u64>,
    pub(crate) until: Instant,
    pub(crate) stop: Cell<bool>,
    pub(crate) samples: RefCell<Vec<Sample>>,
}

impl Turns {
    fn take(&self, now: Instant) -> bool {
        let go = !self.stop.get() && now < self.until && self.left.get() > 0;
        if go {
            self.left.set(self.left.get() - 1);
        }
        go
    }
}

impl Station {
    fn lead(&self) -> &Lun {
        &self.luns[0]
    }
    fn now(&self) -> Instant {
        self.lead().core().exec().now()
    }
    fn row(&self, set: usize, plane: usize, page: u16) -> RowAddr {
        self.geometry.row(self.behind, self.sets[set][plane], PageInBlock(page))
    }

    /// The targets of `pages`, each with a buffer of its own from `buffer` on.
    fn targets(&self, pages: Pages, sectors: SectorRange, buffer: usize) -> Vec<Target> {
        let planes = self.sets[pages.set].len();
        let rows = (0..pages.count).flat_map(|i| (0..planes).map(move |plane| (plane, pages.first + i)));
        let target = |(i, (plane, page)): (usize, (usize, u16))| Target {
            row: self.row(pages.set, plane, page),
            sectors,
            buffer: BufferId(self.first_buffer + ((buffer + i) as u32) % self.buffers),
        };
        rows.enumerate().map(target).collect()
    }

    fn put(&self, target: &Target, generation: u32) {
        let mut dram = self.dram.borrow_mut();
        let len = dram.content_of(target.buffer).sector_len();
        let page = dram.page_mut(target.buffer);
        for sector in 0..usize::from(self.geometry.sectors_per_page()) {
            let tag = content_tag(self.index, target.row, generation, sector as u64);
            page[sector * len..][..8].copy_from_slice(&tag);
        }
    }
    fn is_right(&self, target: &Target, generation: u32) -> bool {
        let dram = self.dram.borrow();
        let len = dram.content_of(target.buffer).sector_len();
        let page = dram.page(target.buffer);
        (0..usize::from(target.sectors.count)).all(|sector| {
            page[sector * len..][..8] == content_tag(self.index, target.row, generation, sector as u64)
        })
    }

    /// Programs the sets that will be read, page after page.
    pub(crate) async fn fill(&mut self, turns: &Turns) {
        if !self.operation.reads() {
            return;
        }
        for set in 0..READ_BLOCKS {
            self.generations[set] += 1;
            for first in 0..self.pages {
                if turns.stop.get() {
                    return;
                }
                let began = self.now();
                let result = self.program_plainly(Pages { set, first, count: 1 }).await;
                turns.samples.borrow_mut().push(self.written(WorkKind::Program, began, 1, result));
            }
        }
    }

    /// Each page by a PROGRAM of its own.
    async fn program_plainly(&self, pages: Pages) -> Result<bool, FlashError> {
        let whole = SectorRange::whole(self.geometry.sectors_per_page());
        let mut failed = false;
        for target in self.targets(pages, whole, 0) {
            self.put(&target, self.generations[pages.set]);
            failed |= match self.operation {
                _ if self.operation.uses_slc() => {
                    flash::slc_program(self.lead(), target.row, target.buffer).await?.fail()
                }
                Op::ReadGang | Op::ProgramGang => self.program_gang(&target).await?,
                _ => flash::program_page(self.lead(), target.row, target.buffer).await?.fail(),
            };
        }
        Ok(failed)
    }

    async fn program_gang(&self, target: &Target) -> Result<bool, FlashError> {
        let luns: Vec<&Lun> = self.luns.iter().collect();
        let mut failed = [false; GANG];
        flash::gang_program(luns[0], &luns[1..], target.row, target.buffer, &mut failed).await?;
        Ok(failed.contains(&true))
    }

    /// Takes turns until none are left.
    pub(crate) async fn run(&mut self, turns: &Turns) {
        while turns.take(self.now()) {
            self.lead().spend(Function::FlashRequest, self.lead().config().costs.request);
            match self.operation {
                Op::EraseSuspend | Op::ProgramSuspend => self.suspend(turns).await,
                _ if self.operation.kind() == WorkKind::Read => {
                    let sample = self.read().await;
                    turns.samples.borrow_mut().push(sample);
                }
                _ if self.operation.kind() == WorkKind::Erase => {
                    let set = self.open;
                    self.open = (set + 1) % self.sets.len();
                    let sample = self.erase(set).await;
                    turns.samples.borrow_mut().push(sample);
                }
                _ => {
                    let pages = self.next_program(turns).await;
                    let sample = self.program(pages).await;
                    turns.samples.borrow_mut().push(sample);
                }
            }
        }
    }

    /// Pages to read: at most `count`, in one set.
    fn next_read(&mut self, count: u32) -> Pages {
        let (per_set, total) = (u32::from(self.pages), READ_BLOCKS as u32 * u32::from(self.pages));
        let at = match self.pattern {
            Pattern::Sequential => self.next_read,
            Pattern::Random => self.rng.below(u64::from(total)) as u32,
        };
        let count = count.min(per_set - at % per_set);
        self.next_read = (at + count) % total;
        Pages { set: (at / per_set) as usize, first: (at % per_set) as u16, count: count as u16 }
    }

    /// Pages to program, in order; a set that is full already is erased first.
    async fn next_program(&mut self, turns: &Turns) -> Pages {
        let step = self.operation.pages(1, self.buffers).min(u32::from(self.pages)) as u16;
        let cached = self.operation == Op::ProgramCache;
        let left = self.pages - self.page;
        if left == 0 || (left < step && !cached) {
            self.page = 0;
            let first = if self.operation.reads() { READ_BLOCKS } else { 0 };
            self.open = if self.open + 1 == self.sets.len() { first } else { self.open + 1 };
        }
        if self.page == 0 {
            if self.generations[self.open] > 0 {
                let sample = self.erase(self.open).await;
                turns.samples.borrow_mut().push(sample);
            }
            self.generations[self.open] += 1;
        }
        let count = step.min(self.pages - self.page);
        let pages = Pages { set: self.open, first: self.page, count };
        self.page += count;
        pages
    }

    async fn read(&mut self) -> Sample {
        let count = self.operation.pages(1, self.buffers);
        let runs: Vec<Pages> = match self.operation {
            Op::ReadCacheRandom => (0..count).map(|_| self.next_read(1)).collect(),
            _ => vec![self.next_read(count)],
        };
        let mut targets = Vec::new();
        let mut generations = Vec::new();
        for run in runs {
            targets.extend(self.targets(run, self.sectors, targets.len()));
            generations.resize(targets.len(), self.generations[run.set]);
        }
        let began = self.now();
        let mut found = vec![FrameReport::default(); targets.len()];
        let result = self.read_targets(&targets, &mut found).await;
        let is_right = targets.iter().zip(generations).all(|(target, g)| self.is_right(target, g));
        self.readings(began, result, &found, is_right)
    }

    async fn read_targets(&self, targets: &[Target], found: &mut [FrameReport]) -> Result<(), FlashError> {
        let (lun, Target { row, sectors, buffer }) = (self.lead(), targets[0]);
        match self.operation {
            Op::ReadCache => flash::read_cache_sequential(lun, targets, found).await?,
            Op::ReadCacheRandom => flash::read_cache_random(lun, targets, found).await?,
            Op::ReadPlanes => flash::read_planes(lun, targets, found).await?,
            Op::ReadSlc => found[0] = flash::slc_read(lun, row, sectors, buffer).await?,
            Op::ReadRetry => found[0] = flash::read_with_retry(lun, row, sectors, buffer).await?.0,
            Op::ReadGang => {
                let luns: Vec<&Lun> = self.luns.iter().collect();
                found[0] = flash::gang_read(luns[0], &luns[1..], row, sectors, buffer).await?.1;
            }
            _ => found[0] = flash::read_page(lun, row, sectors, buffer).await?,
        }
        Ok(())
    }

    async fn program(&mut self, pages: Pages) -> Sample {
        let began = self.now();
        let whole = SectorRange::whole(self.geometry.sectors_per_page());
        let targets = self.targets(pages, whole, 0);
        if matches!(self.operation, Op::Copyback | Op::CopybackChanged) {
            return self.copy(targets[0]).await;
        }
        for target in &targets {
            self.put(target, self.generations[pages.set]);
        }
        let result = self.program_targets(&targets, pages).await;
        self.written(WorkKind::Program, began, targets.len(), result)
    }

    async fn program_targets(&self, targets: &[Target], pages: Pages) -> Result<bool, FlashError> {
        let lun = self.lead();
        let mut failed = vec![false; targets.len()];
        match (self.operation, targets) {
            (Op::ProgramCache, _) => flash::program_cache(lun, targets, &mut failed).await?,
            (Op::ProgramPlanes, _) => flash::program_planes(lun, targets, &mut failed).await?,
            (Op::ProgramPair, &[lsb, msb]) => {
                failed.copy_from_slice(&flash::program_pair(lun, [lsb, msb]).await?);
            }
            (Op::ProgramOneShot, &[lsb, csb, msb]) => {
                failed[0] = flash::program_one_shot(lun, [lsb, csb, msb]).await?.fail();
            }
            _ => failed[0] = self.program_plainly(pages).await?,
        }
        Ok(failed.contains(&true))
    }

    /// Copies a page that was programmed before to `to`.
    async fn copy(&mut self, to: Target) -> Sample {
        let source = self.next_read(1);
        let from = self.targets(source, to.sectors, 0)[0];
        let began = self.now();
        if self.operation == Op::Copyback {
            let result = flash::copyback(self.lead(), from.row, to.row).await;
            return self.written(WorkKind::Program, began, 1, result.map(Status::fail));
        }
        let generation = self.generations[source.set];
        let mut right = true;
        let result = flash::copyback_changed(self.lead(), from.row, to.row, to.buffer, |_| {
            right = self.is_right(&from, generation);
            true
        });
        let result = result.await;
        let frame = result.as_ref().map_or_else(|_| FrameReport::default(), |(frame, _)| *frame);
        let failed = result.map(|(_, status)| status.is_some_and(Status::fail));
        let mut sample = self.written(WorkKind::Program, began, 1, failed);
        sample.corrected = frame.corrected;
        if sample.status == FlashStatus::Done {
            sample.status = Outcome::from(frame).status;
        }
        sample.right = right || sample.status != FlashStatus::Done;
        sample
    }

    /// Suspends a program or erase halfway for a read: gives a sample of each.
    async fn suspend(&mut self, turns: &Turns) {
        let source = self.next_read(1);
        let read = self.targets(source, self.sectors, 0)[0];
        let erases = self.operation == Op::EraseSuspend;
        let kind = self.operation.kind();
        let pages = if erases {
            let set = self.open;
            self.open = if set + 1 == self.sets.len() { READ_BLOCKS } else { set + 1 };
            Pages { set, first: 0, count: 1 }
        } else {
            self.next_program(turns).await
        };
        let whole = SectorRange::whole(self.geometry.sectors_per_page());
        let stopped = self.targets(pages, whole, 0)[0];
        if !erases {
            self.put(&stopped, self.generations[pages.set]);
        }
        let began = self.now();
        let mut asked = began;
        let result = self.read_amid(&stopped, &read, &mut asked).await;
        let (status, frame, over) = match result {
            Ok(found) => found,
            Err(error) => {
                turns.samples.borrow_mut().push(self.written(kind, began, 1, Err(error)));
                return;
            }
        };
        let right = self.is_right(&read, self.generations[source.set]);
        let mut sample = self.readings(asked, Ok(()), &[frame], right);
        sample.latency = over.since(asked);
        let mut samples = turns.samples.borrow_mut();
        samples.push(sample);
        samples.push(self.written(kind, began, 1, Ok(status.fail())));
    }

    /// Starts to program or erase `stopped`, suspends it halfway, reads, and resumes it. Returns its status,
    /// the read's result and when the read ended; sets `asked` to the time of the suspend.
    async fn read_amid(
        &self,
        stopped: &Target,
        read: &Target,
        asked: &mut Instant,
    ) -> Result<(Status, FrameReport, Instant), FlashError> {
        let (lun, row) = (self.lead(), stopped.row);
        let exec = lun.core().exec().clone();
        let erases = self.operation == Op::EraseSuspend;
        let (since, takes) = if erases {
            (flash::start_erase(lun, row).await?, lun.config().t_bers)
        } else {
            let takes = lun.config().t_prog[lun.config().shape.page_type(row) as usize];
            (flash::start_program(lun, row, stopped.buffer).await?, takes)
        };
        exec.sleep(takes / 2).await;
        *asked = exec.now();
        let flash::Suspended { status, worked } = if erases {
            flash::suspend_erase(lun, row, since).await?
        } else {
            flash::suspend_program(lun, row, since).await?
        };
        let frame = flash::read_page(lun, read.row, read.sectors, read.buffer).await?;
        let over = exec.now();
        let status = match (status.command_specific(), erases) {
            (false, _) => status,
            (true, true) => flash::resume_erase(lun, row, worked).await?,
            (true, false) => flash::resume_program(lun, row, worked).await?,
        };
        Ok((status, frame, over))
    }

    async fn erase(&self, set: usize) -> Sample {
        let began = self.now();
        let result = self.erase_set(set).await;
        self.written(WorkKind::Erase, began, 0, result)
    }

    async fn erase_set(&self, set: usize) -> Result<bool, FlashError> {
        let none = SectorRange::whole(0);
        let targets = self.targets(Pages { set, first: 0, count: 1 }, none, 0);
        if self.operation.uses_planes() {
            let mut failed = vec![false; targets.len()];
            flash::erase_planes(self.lead(), &targets, &mut failed).await?;
            return Ok(failed.contains(&true));
        }
        if self.operation.uses_slc() {
            return Ok(flash::slc_erase(self.lead(), targets[0].row).await?.fail());
        }
        let mut failed = false;
        for lun in &self.luns {
            failed |= flash::erase_block(lun, targets[0].row).await?.fail();
        }
        Ok(failed)
    }

    /// The samples of reads to `frames`, requested at `began`.
    fn readings(
        &self,
        began: Instant,
        result: Result<(), FlashError>,
        frames: &[FrameReport],
        is_right: bool,
    ) -> Sample {
        let bad = frames.iter().any(|&frame| Outcome::from(frame).status == FlashStatus::Uncorrectable);
        let status = match &result {
            Err(_) => FlashStatus::Error,
            Ok(()) if bad => FlashStatus::Uncorrectable,
            Ok(()) => FlashStatus::Done,
        };
        Sample {
            kind: WorkKind::Read,
            latency: self.now().since(began),
            bytes: frames.len() as u32 * u32::from(self.sectors.count) * SECTOR_BYTES as u32,
            status,
            right: status != FlashStatus::Done || is_right,
            corrected: frames.iter().fold(0, |sum: u16, frame| sum.saturating_add(frame.corrected)),
            fault: result.err(),
        }
    }

    /// The sample of a program of several pages, or of an erase.
    fn written(
        &self,
        kind: WorkKind,
        began: Instant,
        pages: usize,
        failed: Result<bool, FlashError>,
    ) -> Sample {
        let bytes = if kind == WorkKind::Erase { 0 } else { pages as u32 * self.geometry.page_bytes };
        let status = match &failed {
            Err(_) => FlashStatus::Error,
            Ok(true) => FlashStatus::Failed,
            Ok(false) => FlashStatus::Done,
        };
        Sample {
            kind,
            latency: self.now().since(began),
            bytes,
            status,
            right: true,
            corrected: 0,
            fault: failed.err(),
        }
    }
}
