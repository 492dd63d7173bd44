//! What the FTL tells of its work, by events: commands and what they wait for, vectors as flash operations,
//! the map, and collection.
//!
//! A vector is told as one operation for each page in all planes that it names. Between `FlashQueued` and
//! `FlashIssued` it waits for its LUN (C90).

use crate::ftl::Ftl;
use crate::shape::{LineId, SectorAddr};
use aster_events::{Event, Wait};
use aster_exec::WaitQueue;
use aster_openchannel::VectorError;
use aster_parties::{tell_began, tell_ended};
use aster_ports::host::HostCommand;
use aster_units::{BlockAddr, PageInBlock, Ppa, RowAddr};

/// The numbers of jobs as firmware tasks begin here. The FTL has fewer tasks.
const JOBS_FROM: u32 = 2048;
/// Jobs with different numbers: more than are in flight.
const JOBS: u32 = 2048;
/// No buffer in particular.
const ANY: u32 = u32::MAX;

/// The kind of a flash operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Read = 0,
    Program = 1,
    Erase = 2,
}

impl Ftl {
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        self.recorder.emit(self.exec.now(), event);
    }
    /// The task that runs.
    pub(crate) fn task(&self) -> u32 {
        self.exec.current().number()
    }
    /// A number for a job that is made.
    pub(crate) fn next_job(&self) -> u32 {
        let number = self.jobs_made.get();
        self.jobs_made.set(number.wrapping_add(1));
        JOBS_FROM + number % JOBS
    }

    /// A command begins, and its only slice.
    pub(crate) fn began(&self, command: &HostCommand) {
        tell_began(&self.recorder, &self.exec, command);
    }
    /// It has ended.
    pub(crate) fn ended(&self, command: &HostCommand) {
        tell_ended(&self.recorder, &self.exec, command);
    }
    /// Tells that `job` waits while `work` goes on.
    pub(crate) async fn job_waits<T>(&self, job: u32, reason: Wait, work: impl Future<Output = T>) -> T {
        self.emit(|| Event::WaitStarted { task: job, reason: reason.number(), buffer: ANY });
        let done = work.await;
        self.emit(|| Event::WaitEnded { task: job });
        done
    }
    /// Waits until something is ready, and tells what for: `ready` gives the reason as long as it isn't. Each
    /// program that makes room ends a wait and begins the next, so that each part of the time is told by the
    /// program that it took.
    pub(crate) async fn wait_for<T>(
        &self,
        queue: &WaitQueue,
        mut ready: impl FnMut() -> Result<T, Wait>,
    ) -> T {
        let mut told = None;
        let task = self.task();
        let looked = || {
            let now = ready();
            let reason = now.as_ref().err().map(|&reason| (reason, self.retired.get()));
            if told != reason {
                if told.is_some() {
                    self.emit(|| Event::WaitEnded { task });
                }
                if let Some((reason, _)) = reason {
                    self.emit(|| Event::WaitStarted { task, reason: reason.number(), buffer: ANY });
                }
                told = reason;
            }
            now.ok()
        };
        queue.wait(&self.exec, looked).await
    }
    /// Sectors have left the write buffer by the program of this job.
    pub(crate) fn made_room(&self, job: u32) {
        self.retired.set(self.retired.get().wrapping_add(1));
        self.emit(|| Event::EntryReleased { task: job, buffer: ANY });
    }

    fn place_of(&self, sector: SectorAddr) -> (u32, RowAddr) {
        let place = self.shape.place(sector);
        let g = &self.config.geometry;
        let block = BlockAddr(place.block * u32::from(g.planes) + u32::from(place.plane));
        let chip_lun = place.lun / u16::from(g.ways);
        (self.shape.lun_of(sector), g.row(chip_lun as u8, block, PageInBlock(place.page)))
    }
    /// An operation on this page waits for its LUN.
    pub(crate) fn queued(&self, task: u32, operation: Operation, page: SectorAddr) {
        self.emit(|| {
            let (lun, row) = self.place_of(page);
            Event::FlashQueued { task, lun, kind: operation as u8, row: row.0, buffer: ANY }
        });
    }
    /// Each page in all planes that these sectors are on.
    fn each_page(&self, sectors: &[SectorAddr], mut each: impl FnMut(SectorAddr)) {
        if !self.recorder.is_on() {
            return;
        }
        let page = |sector: SectorAddr| sector.0 / self.shape.unit_sectors();
        let mut before = None;
        for &sector in sectors {
            if before.replace(page(sector)) != Some(page(sector)) {
                each(sector);
            }
        }
    }
    /// A read of these sectors is sent, which doesn't wait for its LUN here.
    pub(crate) fn read_issued(&self, sectors: &[SectorAddr]) {
        let task = self.task();
        self.each_page(sectors, |page| self.queued(task, Operation::Read, page));
        self.issued(Operation::Read, sectors);
    }
    /// A vector of these sectors is sent.
    pub(crate) fn issued(&self, operation: Operation, sectors: &[SectorAddr]) {
        self.each_page(sectors, |page| {
            let (lun, row) = self.place_of(page);
            self.emit(|| Event::FlashIssued { lun, kind: operation as u8, row: row.0 });
        });
    }
    /// It has ended.
    pub(crate) fn finished(
        &self,
        operation: Operation,
        sectors: &[SectorAddr],
        ended: &Result<(), VectorError>,
    ) {
        let status = match (ended, operation) {
            (Ok(()), _) => 0,
            (Err(error), _) if error.is_high_ecc() => 0,
            (Err(VectorError::Failed { failed, .. }), Operation::Read) if *failed != 0 => 2,
            (Err(VectorError::Failed { failed, .. }), _) if *failed != 0 => 1,
            (Err(_), _) => 3,
        };
        self.each_page(sectors, |page| {
            let (lun, row) = self.place_of(page);
            let kind = operation as u8;
            self.emit(|| Event::FlashFinished { lun, kind, row: row.0, status, corrected: 0 });
        });
    }
    /// The map says that a block is at this sector. Addresses are those of physical pages times a page's
    /// sectors, plus the sector.
    pub(crate) fn mapped(&self, block: u32, sector: Option<SectorAddr>) {
        self.emit(|| {
            let ppa = sector.map_or(u32::MAX, |sector| self.address_of(sector));
            Event::MapUpdated { lpn: block, ppa }
        });
    }
    /// Collection has moved a block to this sector.
    pub(crate) fn moved(&self, block: u32, sector: SectorAddr) {
        self.emit(|| Event::PageMoved { lpn: block, ppa: self.address_of(sector) });
    }
    /// Collection empties a line.
    pub(crate) fn chosen(&self, line: LineId) {
        let valid = self.state.borrow().lines.valid_count(line);
        self.emit(|| Event::VictimChosen { lun: u32::MAX, block: line.0, valid });
    }
    /// The physical page of a sector.
    pub(crate) fn page_of(&self, sector: SectorAddr) -> Ppa {
        let place = self.shape.place(sector);
        let g = &self.config.geometry;
        let block = BlockAddr(place.block * u32::from(g.planes) + u32::from(place.plane));
        g.ppa(aster_units::LunIndex(self.shape.lun_of(sector)), block, PageInBlock(place.page))
    }
    fn address_of(&self, sector: SectorAddr) -> u32 {
        let sectors = self.shape.page_sectors();
        self.page_of(sector).0 * sectors + sector.0 % sectors
    }
}
