//! What all LUNs share: the plan of the drive, the commands in work, and what the rest of the drive asks.

use aster_device::{BuildError, plug::*, profile::Profile, units::*};
use std::{cell::Cell, cell::RefCell, rc::Rc};

/// Where a logical page is that was never written, or trimmed; the number of a page that is nobody's.
pub const NOWHERE: u32 = u32::MAX;
/// Blocks of a LUN that hold no logical pages: room to collect into, and for blocks that go bad.
const SPARE_BLOCKS: u32 = 6;
/// What the FTL is built for: the same at each power-on.
#[derive(Clone, Copy)]
pub struct Plan {
    pub geometry: Geometry,
    pub restriction: Restriction,
    /// Pages that a program which is cut off takes along: those of its word line, or 1.
    pub lost_together: u32,
    /// Logical pages of a LUN.
    pub pages: u32,
    /// Cycles of the core for a command, and for each part of it.
    pub cycles: (u64, u64),
}

impl Plan {
    /// The FTL for a profile, which chooses it by `ftl.kind`.
    pub fn new(profile: &Profile, facts: &MediaFacts) -> Result<Self, BuildError> {
        if facts.whole_lines {
            return Err(PieceError::new("scheduler.one_shot", "must be false for this FTL").into());
        }
        let (geometry, restriction) = (facts.geometry, facts.restriction);
        let blocks = geometry.blocks_per_lun.saturating_sub(SPARE_BLOCKS);
        let physical = f64::from(blocks * u32::from(geometry.pages_per_block));
        let pages = (physical / (1.0 + profile.ftl.over_provisioning_percent / 100.0)) as u32;
        let cycles = (profile.costs.command, profile.costs.slice);
        Ok(Plan { geometry, restriction, lost_together: facts.lost_together.into(), pages, cycles })
    }
    /// The pages of a byte range, one part each, with the LUN that it belongs to.
    pub fn parts(&self, range: ByteRange) -> impl Iterator<Item = (LunIndex, Part)> + Clone + use<> {
        let (size, luns) = (u64::from(self.geometry.page_bytes), u64::from(self.geometry.total_luns()));
        let ByteRange { offset, length } = range;
        (offset / size..(offset + length).div_ceil(size)).map(move |page| {
            let from = offset.max(page * size);
            let length = ((offset + length).min((page + 1) * size) - from) as u32;
            let (start, data_offset) = ((from % size) as u32, (from - offset) as u32);
            (LunIndex((page % luns) as u32), Part { page: (page / luns) as u32, start, length, data_offset })
        })
    }
}

/// A part of a command that lies on one page.
#[derive(Clone, Copy)]
pub struct Part {
    /// The page, counted among those of its LUN.
    pub page: u32,
    /// Its bytes on the page.
    pub start: u32,
    pub length: u32,
    /// Where they are in the command's data.
    pub data_offset: u32,
}

/// Whoever wants to know how the media are.
type Watcher = Box<dyn Fn(MediaState)>;
/// What is to be done for commands on a LUN.
type Queue = Ring<(HostCommand, Part)>;

/// What all LUNs share.
pub struct Shared {
    pub plan: Plan,
    pub ports: TranslationPorts,
    /// Of each LUN: where its logical pages are, and what is to be done. Reads, writes and writes of
    /// zeroes go there page by page. Any other command goes there once, as a whole: its part means
    /// nothing.
    pub luns: Vec<(Rc<[Cell<u32>]>, Queue)>,
    /// Of each command in work: how many parts are not done yet, and how it will complete.
    pub active: RefCell<Vec<(u32, Completion)>>,
    pub stats: RefCell<TranslationStats>,
    pub boot_error: RefCell<Option<String>>,
    pub booting: Cell<u32>,
    pub watcher: RefCell<Option<Watcher>>,
}

impl Shared {
    /// A part of a command is done; with the last the command completes. Its first error counts.
    pub fn part_ended(&self, id: CommandId, done: Result<(), HostStatus>, at: u64) {
        let (left, completion) = &mut self.active.borrow_mut()[usize::from(id.0)];
        *left -= 1;
        if let (Err(error), HostStatus::Success) = (done, completion.status) {
            completion.status = error;
            completion.failed_at = (error == HostStatus::UnrecoveredRead).then_some(at);
        }
        if *left == 0 {
            self.stats.borrow_mut().commands += 1;
            self.ports.commands.complete(*completion);
        }
    }
    /// A LUN has found what is there; true when it is the last to do so. The drive serves from then on, if
    /// none has met an error. Only if all were shut down, it was.
    pub fn booted(&self, found: Result<Boot, String>) -> bool {
        let mut stats = self.stats.borrow_mut();
        match found {
            Ok(boot) if stats.boot == Boot::None || stats.boot == boot => stats.boot = boot,
            Ok(_) => stats.boot = Boot::Recovered,
            Err(error) => *self.boot_error.borrow_mut() = Some(error),
        }
        self.booting.set(self.booting.get() - 1);
        if self.booting.get() == 0 {
            stats.state =
                if self.boot_error.borrow().is_none() { DriveState::Ready } else { DriveState::Failed };
            stats.boot_nanos = self.ports.core.now().as_picos() / 1000;
            stats.boot_reads = stats.flash_reads.total();
        }
        self.booting.get() == 0
    }
    /// A block was erased or went bad, or the drive has become read-only.
    pub fn tell_media(&self) {
        let (read_only, erases) = (self.state() == DriveState::ReadOnly, self.stats().flash_erases.total());
        if let Some(watcher) = &*self.watcher.borrow() {
            let available_spare = if read_only { 0 } else { 100 };
            watcher(MediaState { available_spare, read_only, rebuilt: false, erases });
        }
    }
}

impl TranslationView for Shared {
    fn state(&self) -> DriveState {
        self.stats.borrow().state
    }
    fn boot_error(&self) -> Option<String> {
        self.boot_error.borrow().clone()
    }
    fn stats(&self) -> TranslationStats {
        *self.stats.borrow()
    }
    fn promises(&self) -> Promises {
        // Only the map in memory knows of a trim.
        Promises { flush: true, fua: true, trim: false }
    }
    fn watch_media(&self, watcher: Watcher) {
        *self.watcher.borrow_mut() = Some(watcher);
        self.tell_media();
    }
    fn location_of(&self, page: Lpn) -> Option<Ppa> {
        let luns = self.luns.len() as u32;
        let at = self.luns[(page.0 % luns) as usize].0.get((page.0 / luns) as usize)?.get();
        (at != NOWHERE).then(|| Ppa(page.0 % luns * self.plan.geometry.pages_per_lun() + at))
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}
