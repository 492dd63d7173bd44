//! What the FTL tells of its work, by events: commands and what they wait for, operations of the flash by
//! page, the map, and collection.
//!
//! A command of a frame is told as one operation for each page that it names. Between `FlashQueued` and
//! `FlashIssued` it waits for a slot of the message unit.

use super::groups::GroupPlace;
use super::operation::{Done, Operation};
use super::place::{PagePlace, SectorPlace};
use crate::driver::ArrayInfo;
use aster_events::{Event, Recorder, Wait};
use aster_exec::{Exec, WaitQueue};
use aster_parties::{tell_began, tell_ended};
use aster_ports::host::HostCommand;
use aster_units::{BlockAddr, Geometry, LunAddr, LunIndex, PageInBlock, RowAddr};
use aster_wire::array::{NO_BLOCK, StatusCode};
use core::cell::Cell;

/// The numbers of programs and erases as firmware tasks begin here. The FTL has fewer tasks.
const JOBS_FROM: u32 = 2048;
/// Programs and erases with different numbers: more than are in flight.
const JOBS: u32 = 2048;
/// No buffer in particular.
const ANY: u32 = u32::MAX;

/// What the FTL tells, and whom.
pub(super) struct Told {
    exec: Exec,
    recorder: Recorder,
    geometry: Geometry,
    info: ArrayInfo,
    jobs: Cell<u32>,
    /// The program of a page that waits for a group.
    homeless: Cell<Option<u32>>,
    /// Pages of the host's are given places.
    placing: Cell<bool>,
    /// Pages that have left the write buffer.
    left: Cell<u32>,
}

impl Told {
    /// Tells `recorder` of the work on this array.
    pub fn new(exec: &Exec, recorder: Recorder, geometry: Geometry, info: ArrayInfo) -> Self {
        Told {
            exec: exec.clone(),
            recorder,
            geometry,
            info,
            jobs: Cell::new(0),
            homeless: Cell::new(None),
            placing: Cell::new(false),
            left: Cell::new(0),
        }
    }
    pub fn emit(&self, event: impl FnOnce() -> Event) {
        self.recorder.emit(self.exec.now(), event);
    }
    /// The task that runs.
    pub fn task(&self) -> u32 {
        self.exec.current().number()
    }
    fn next_job(&self) -> u32 {
        let number = self.jobs.get();
        self.jobs.set(number.wrapping_add(1));
        JOBS_FROM + number % JOBS
    }

    // ---- commands ----

    /// A command begins, and its only slice.
    pub fn began(&self, command: &HostCommand) {
        tell_began(&self.recorder, &self.exec, command);
    }
    /// It has ended.
    pub fn ended(&self, command: &HostCommand) {
        tell_ended(&self.recorder, &self.exec, command);
    }
    /// Waits on a queue, and tells what for. Each page that leaves the write buffer ends a wait and begins
    /// the next, so that each part of the time is told by the program that it took.
    pub async fn wait_on<T>(
        &self,
        queue: &WaitQueue,
        reason: Wait,
        mut ready: impl FnMut() -> Option<T>,
    ) -> T {
        let (task, mut told) = (self.task(), None);
        let looked = || {
            let now = ready();
            let left = now.is_none().then(|| self.left.get());
            if told != left {
                if told.is_some() {
                    self.emit(|| Event::WaitEnded { task });
                }
                if left.is_some() {
                    self.emit(|| Event::WaitStarted { task, reason: reason.number(), buffer: ANY });
                }
                told = left;
            }
            now
        };
        queue.wait(&self.exec, looked).await
    }
    /// The page of this program has left the write buffer.
    pub fn made_room(&self, job: u32) {
        self.left.set(self.left.get().wrapping_add(1));
        self.emit(|| Event::EntryReleased { task: job, buffer: ANY });
    }
    /// The host's pages are being given places by `place`, which returns whether some of them find none.
    pub fn placing(&self, place: impl FnOnce() -> bool) {
        self.placing.set(true);
        let none = place();
        self.placing.set(false);
        if none && self.homeless.get().is_none() && self.recorder.is_on() {
            let task = self.next_job();
            self.homeless.set(Some(task));
            self.emit(|| Event::WaitStarted { task, reason: Wait::Room.number(), buffer: ANY });
        }
    }

    // ---- flash ----

    /// The number of the firmware task in an operation's events. A read has that of the task that runs. A
    /// program or an erase has one of its own, since the task goes on without it.
    pub fn number(&self, operation: &Operation) -> u32 {
        match operation {
            Operation::Read { .. } | Operation::ReadRow(_) => self.task(),
            Operation::Program { .. } | Operation::ProgramRow(_) if self.placing.get() => {
                let waits = self.homeless.take();
                if let Some(task) = waits {
                    self.emit(|| Event::WaitEnded { task });
                }
                waits.unwrap_or_else(|| self.next_job())
            }
            _ => self.next_job(),
        }
    }
    fn lun_of(&self, at: PagePlace) -> (LunIndex, u8) {
        let (g, die) = (&self.geometry, u16::from(at.die));
        let channel = u16::from(at.channel) * u16::from(self.info.lanes) + u16::from(at.lane);
        let (way, lun) = ((die % u16::from(g.ways)) as u8, (die / u16::from(g.ways)) as u8);
        (g.lun_index(LunAddr { channel, way, lun }), lun)
    }
    fn row_of(&self, at: PagePlace, block: u16) -> (u32, RowAddr) {
        let (index, lun) = self.lun_of(at);
        (index.0, self.geometry.row(lun, BlockAddr(block.into()), PageInBlock(at.page)))
    }
    /// Each page that an operation names, with its block.
    fn each_page(&self, operation: &Operation, mut each: impl FnMut(PagePlace, u32, RowAddr)) {
        if !self.recorder.is_on() {
            return;
        }
        let mut named = |at: PagePlace, block: u16| {
            let (lun, row) = self.row_of(at, block);
            each(at, lun, row);
        };
        let mut members = |of: GroupPlace, page: u16, blocks: &[u16]| {
            let blocks = (0..).zip(blocks).filter(|&(_, &block)| block != NO_BLOCK);
            blocks.for_each(|(lane, &block)| named(of.page(page, lane), block));
        };
        match operation {
            Operation::Read { span, .. } | Operation::Program { span, .. } => named(span.page, span.block),
            Operation::ReadRow(row) | Operation::ProgramRow(row) => {
                members(row.group, row.page, &row.members);
            }
            Operation::Erase { channel, die, members: blocks } => {
                members(GroupPlace { channel: *channel, die: *die, group: 0 }, 0, blocks);
            }
        }
    }
    /// An operation was asked for.
    pub fn queued(&self, task: u32, operation: &Operation) {
        let kind = kind_of(operation);
        self.each_page(operation, |_, lun, row| {
            self.emit(|| Event::FlashQueued { task, lun, kind, row: row.0, buffer: ANY });
        });
    }
    /// It was sent to the drive.
    pub fn issued(&self, operation: &Operation) {
        let kind = kind_of(operation);
        self.each_page(operation, |_, lun, row| {
            self.emit(|| Event::FlashIssued { lun, kind, row: row.0 });
        });
    }
    /// It has ended.
    pub fn finished(&self, operation: &Operation, done: &Done) {
        let kind = kind_of(operation);
        let is_of_page = matches!(operation, Operation::Read { .. } | Operation::Program { .. });
        self.each_page(operation, |at, lun, row| {
            let is_good = if is_of_page { done.is_good() } else { done.is_good_on(at.lane) };
            let status = match done.code {
                _ if done.lost => 3,
                _ if is_good => 0,
                Ok(StatusCode::Uncorrectable | StatusCode::OobLost) => 2,
                Ok(StatusCode::ProgramFailed | StatusCode::EraseFailed) => 1,
                Ok(StatusCode::LaneDead) => 5,
                _ => 3,
            };
            let corrected = if status == 0 { done.corrected.into() } else { 0 };
            self.emit(|| Event::FlashFinished { lun, kind, row: row.0, status, corrected });
        });
    }

    // ---- map and collection ----

    /// The address of a sector in events: that of its physical page times a page's sectors, plus the sector.
    fn address_of(&self, block: u16, at: SectorPlace) -> u32 {
        let g = &self.geometry;
        let page = g.ppa(self.lun_of(at.page).0, BlockAddr(block.into()), PageInBlock(at.page.page));
        page.0 * u32::from(g.sectors_per_page()) + u32::from(at.slot)
    }
    /// The map leads to this place for a sector, of a block with this number.
    pub fn mapped(&self, sector: u32, to: Option<(u16, SectorPlace)>) {
        self.emit(|| Event::MapUpdated {
            lpn: sector,
            ppa: to.map_or(u32::MAX, |(block, at)| self.address_of(block, at)),
        });
    }
    /// Collection has moved a sector to this place.
    pub fn moved(&self, sector: u32, block: u16, to: SectorPlace) {
        self.emit(|| Event::PageMoved { lpn: sector, ppa: self.address_of(block, to) });
    }
    /// Collection empties a group.
    pub fn chosen(&self, at: GroupPlace, valid: u32) {
        self.emit(|| Event::VictimChosen { lun: u32::MAX, block: at.group.into(), valid });
    }
}

fn kind_of(operation: &Operation) -> u8 {
    match operation {
        Operation::Read { .. } | Operation::ReadRow(_) => 0,
        Operation::Program { .. } | Operation::ProgramRow(_) => 1,
        Operation::Erase { .. } => 2,
    }
}
