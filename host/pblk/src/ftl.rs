//! What the tasks of a running FTL share.

use crate::config::PblkConfig;
use crate::lines::Lines;
use crate::map::Map;
use crate::record::{Left, Record};
use crate::ring::{Kind, Position, Ring};
use crate::shape::{LineId, SectorAddr, Shape};
use crate::spent::Spent;
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use aster_driver::{Driver, FunctionBar, QueueId, SharedMemory};
use aster_events::{Recorder, Wait};
use aster_exec::{Core, Exec, Ring as Queue, WaitQueue};
use aster_openchannel::{ADDRESSES_MAX, Drive, Place};
use aster_parties::{DriveFunction, DriveState, MediaState, NvramSlice, TranslationStats};
use aster_ports::dram::SharedDram;
use aster_ports::host::CommandPort;
use core::cell::{Cell, OnceCell, RefCell};

/// The queue of writes and erases: the drive carries those of a LUN out in the order in which they are
/// fetched.
pub(crate) const WRITES: QueueId = QueueId(1);
/// The queue of reads.
pub(crate) const READS: QueueId = QueueId(2);

/// Why a line can't be released.
pub(crate) const SPENT_FULL: &str = "the list of bad chunks in NVRAM is full";

/// Is told when the media have changed.
pub(crate) type Watcher = Box<dyn Fn(MediaState)>;

/// A vector of writes, or an erase.
#[expect(clippy::large_enum_variant, reason = "jobs lie in a ring, and none is to allocate")]
pub(crate) enum Job {
    /// Sectors of the write buffer.
    Data {
        /// Its number, as events tell it.
        job: u32,
        /// The first one's place in the buffer.
        first: Position,
        /// How many there are. The other sectors are padding.
        entries: u8,
        /// Where they go.
        sectors: [SectorAddr; ADDRESSES_MAX],
        /// How many sectors that are.
        count: u8,
    },
    /// Part of a line's head or tail.
    Meta {
        /// The unit's first sector.
        unit: SectorAddr,
        /// What is written, and from which byte on.
        bytes: Rc<[u8]>,
        /// The unit's first byte in `bytes`.
        from: usize,
        /// Whether the line is of no use without it.
        is_head: bool,
    },
    /// A page that a loss of power left unwritten between others.
    Pad {
        /// The page's first sector.
        first: SectorAddr,
    },
    /// A chunk.
    Erase {
        /// Its line.
        line: LineId,
        /// Its LUN.
        lun: u32,
    },
}

/// The line that is being written.
pub(crate) struct Open {
    pub(crate) line: LineId,
    /// Units that have been given away, with those of bad chunks.
    pub(crate) unit: u32,
    /// Units of data that are left.
    pub(crate) left: u32,
    /// The logical block of each data sector, for the tail.
    pub(crate) blocks: Vec<u32>,
    /// The head is on flash.
    pub(crate) has_head: bool,
}

/// The line that is written next.
pub(crate) struct Next {
    pub(crate) line: LineId,
    /// LUNs whose chunk has been erased, or is being erased.
    pub(crate) begun: Vec<bool>,
    /// Erases that haven't ended.
    pub(crate) in_flight: u32,
}

/// Everything that changes, borrowed only between waits.
pub(crate) struct State {
    pub(crate) ring: Ring,
    pub(crate) map: Map,
    pub(crate) lines: Lines,
    pub(crate) open: Option<Open>,
    pub(crate) next: Option<Next>,
    /// Pages of the open line to pad before it is written on, by their first sectors.
    pub(crate) pads: Vec<SectorAddr>,
    pub(crate) sequence: u64,
    /// Everything before this place in the buffer is to be written without waiting for more.
    pub(crate) flush_to: Position,
    /// The first place in the buffer whose write failed.
    pub(crate) failed_from: Option<Position>,
    /// The drive has lost its power: what was planned before isn't sent any more, until it is known what is
    /// on the open line.
    pub(crate) is_void: bool,
    /// A chunk was lost by a write that failed, and not only the drive's power.
    pub(crate) chunk_failed: bool,
    /// Writes in flight.
    pub(crate) writes: u32,
    /// LUNs with a write or an erase in flight.
    pub(crate) busy: Vec<u32>,
    /// A victim is being emptied.
    pub(crate) collecting: bool,
    /// What was valid on the victim is in the write buffer.
    pub(crate) moving: bool,
    /// No line is left, and none will be: what is in the write buffer stays there.
    pub(crate) starved: bool,
    /// Commands in work, and whether new ones must wait.
    pub(crate) commands: u32,
    pub(crate) closed: bool,
    pub(crate) record: Record,
    pub(crate) spent: Spent,
}

impl State {
    /// What is in the buffer from this place on is to be written anew.
    pub(crate) fn fail_from(&mut self, at: Position) {
        self.failed_from = Some(self.failed_from.map_or(at, |before| before.min(at)));
    }
    /// Before anything is known of the media. The list of spent chunks is in `spent`.
    pub(crate) fn new(shape: Shape, blocks: u32, config: &PblkConfig, spent: NvramSlice) -> Self {
        State {
            ring: Ring::new(PblkConfig::buffer_sectors(&shape), config.content.sector_len()),
            map: Map::new(blocks),
            lines: Lines::new(shape),
            open: None,
            next: None,
            pads: Vec::new(),
            sequence: 1,
            flush_to: 0,
            failed_from: None,
            is_void: false,
            chunk_failed: false,
            writes: 0,
            busy: vec![0; shape.luns() as usize],
            collecting: false,
            moving: false,
            starved: false,
            commands: 0,
            closed: false,
            record: Record::MISSING,
            spent: Spent::new(spent, (shape.lines() * shape.luns()) as usize),
        }
    }
    /// Nothing on a line counts any more. Its bad chunks, which can't be erased, are noted first. Returns
    /// `false`, and leaves the line as it is, if there is no room for that.
    #[must_use]
    pub(crate) fn release(&mut self, line: LineId, luns: u32) -> bool {
        let State { lines, spent, .. } = self;
        let noted =
            (0..luns).filter(|&lun| lines.is_bad(line, lun)).all(|lun| spent.add(lines.chunk(line, lun)));
        if noted {
            lines.release(line);
        }
        noted
    }
}

/// Turns, taken in the order of arrival.
#[derive(Default)]
pub(crate) struct Turns {
    next: Cell<u64>,
    up: Cell<u64>,
}

impl Turns {
    /// A turn behind all others.
    pub(crate) fn take(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }
    /// Whether all turns before this one have ended.
    pub(crate) fn is_up(&self, turn: u64) -> bool {
        self.up.get() == turn
    }
    /// The turn that is up ends.
    pub(crate) fn end(&self) {
        self.up.set(self.up.get() + 1);
    }
}

/// What only this FTL counts.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) vectors: Cell<u64>,
    pub(crate) padded: Cell<u64>,
    pub(crate) erased_ahead: Cell<u64>,
    pub(crate) lun_waits: Cell<u64>,
    pub(crate) limited: Cell<u64>,
    pub(crate) rewritten: Cell<u64>,
    /// Lines of which boot found by their tail what they hold, and by the metadata of all sectors.
    pub(crate) tails_read: Cell<u64>,
    pub(crate) lines_scanned: Cell<u64>,
}

pub(crate) fn count(counter: &Cell<u64>, more: u64) {
    counter.set(counter.get() + more);
}

/// The FTL.
pub(crate) struct Ftl {
    pub(crate) exec: Exec,
    pub(crate) core: Core,
    pub(crate) commands: Rc<CommandPort>,
    pub(crate) command_cycles: u64,
    pub(crate) buffers: SharedDram,
    pub(crate) nvram: NvramSlice,
    pub(crate) spent_nvram: NvramSlice,
    /// Logical blocks.
    pub(crate) blocks: u32,
    pub(crate) function: Rc<dyn DriveFunction>,
    pub(crate) memory: SharedMemory,
    pub(crate) driver: Rc<Driver<FunctionBar>>,
    pub(crate) drive: OnceCell<Drive<FunctionBar>>,
    pub(crate) config: PblkConfig,
    pub(crate) shape: Shape,
    pub(crate) state: RefCell<State>,
    pub(crate) condition: Cell<DriveState>,
    /// The drive takes commands.
    pub(crate) is_attached: Cell<bool>,
    /// How often the drive has lost its power and got it again.
    pub(crate) restarts: Cell<u32>,
    /// How often it had when boot began, for the last time.
    pub(crate) boot_began_after: Cell<u32>,
    /// Waits for the drive to come back, or to get lost.
    pub(crate) attach: WaitQueue,
    pub(crate) error: RefCell<Option<String>>,
    pub(crate) stats: Cell<TranslationStats>,
    pub(crate) counters: Counters,
    pub(crate) watcher: RefCell<Option<Watcher>>,
    pub(crate) jobs: Queue<Job>,
    pub(crate) jobs_made: Cell<u32>,
    /// How often sectors have left the write buffer.
    pub(crate) retired: Cell<u32>,
    pub(crate) recorder: Recorder,
    /// Chunks that are bad, which the drive's table must say.
    pub(crate) marks: Queue<(LineId, u32)>,
    /// The media have changed, which the front end must be told at once: it may be asked next.
    pub(crate) changed: Queue<()>,
    /// Waits for room in the write buffer, or the right to take it.
    pub(crate) room: WaitQueue,
    /// Whose turn it is to put sectors of the host into the write buffer.
    pub(crate) turns: Turns,
    /// The writer waits for work, for a LUN, a line, or the end of writes.
    pub(crate) work: WaitQueue,
    /// Waits until the buffer's oldest sectors have left it.
    pub(crate) left: WaitQueue,
    /// Collection waits.
    pub(crate) collect: WaitQueue,
    /// Commands wait for a format, and the format for commands.
    pub(crate) gate: WaitQueue,
}

impl Ftl {
    pub(crate) fn drive(&self) -> &Drive<FunctionBar> {
        self.drive.get().expect("the drive has been opened before anything is sent to it")
    }
    /// The drive can't be used any more.
    pub(crate) fn fail(&self, why: &dyn core::fmt::Display) {
        if self.condition.get() != DriveState::Failed {
            *self.error.borrow_mut() = Some(format!("the FTL on the host gave up: {why}"));
            self.condition.set(DriveState::Failed);
        }
        self.wake_all();
    }
    /// The list of spent chunks is full, which the drive's own table would have been before.
    pub(crate) fn fail_full(&self) {
        self.fail(&SPENT_FULL);
    }
    pub(crate) fn is_failed(&self) -> bool {
        self.condition.get() == DriveState::Failed
    }
    pub(crate) fn count(&self, change: impl FnOnce(&mut TranslationStats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }
    pub(crate) fn wake_all(&self) {
        for queue in [&self.room, &self.work, &self.left, &self.collect, &self.gate, &self.attach] {
            queue.wake_all(&self.exec);
        }
    }

    /// Sectors for data that can be written before a line must be freed, less what waits in the buffer. Each
    /// sector of the host counts as a unit, since a flush after it makes it one.
    pub(crate) fn available(&self, state: &State) -> i64 {
        let unit = i64::from(self.shape.unit_sectors());
        let open = state.open.as_ref().map_or(0, |open| i64::from(open.left) * unit);
        let next = state.next.as_ref().map_or(0, |next| i64::from(state.lines.data_sectors(next.line)));
        let (waiting, of_users) = state.ring.waiting();
        let (of_users, of_others) = (of_users as i64, (waiting - of_users) as i64);
        open + next + state.lines.free_sectors() as i64 - of_users * unit - of_others
    }
    /// What collection must find: room for two lines.
    pub(crate) fn reserve(&self) -> i64 {
        2 * i64::from(self.shape.data_sectors(self.shape.luns()))
    }
    /// Below this, lines are collected.
    pub(crate) fn collect_below(&self) -> i64 {
        3 * i64::from(self.shape.data_sectors(self.shape.luns()))
    }

    /// Puts a sector of the host into the write buffer, if it may come in now (G15): collection keeps a part
    /// of the buffer, and room for what it copies.
    ///
    /// # Errors
    /// What it waits for, if it may not.
    pub(crate) fn try_put(&self, block: u32, data: &[u8]) -> Result<(), Wait> {
        let state = &mut *self.state.borrow_mut();
        let for_users = state.ring.capacity() - (state.ring.capacity() / 8).max(1);
        if state.ring.room() == 0 || state.ring.users() >= for_users {
            return Err(Wait::WriteBuffer);
        }
        if self.available(state) <= self.reserve() {
            count(&self.counters.limited, 1);
            self.collect.wake_all(&self.exec);
            return Err(Wait::Room);
        }
        state.ring.push(block, Kind::User, data);
        if self.available(state) < self.collect_below() {
            self.collect.wake_all(&self.exec);
        }
        self.work.wake_all(&self.exec);
        Ok(())
    }

    /// Waits until what is before `end` in the write buffer is on flash.
    pub(crate) async fn flush_to(&self, end: Position) {
        {
            let mut state = self.state.borrow_mut();
            state.flush_to = state.flush_to.max(end);
        }
        self.work.wake_all(&self.exec);
        let done = || {
            let state = self.state.borrow();
            let is_done = state.ring.sync() >= end || state.starved || self.is_failed();
            is_done.then_some(()).ok_or(Wait::Flush)
        };
        self.wait_for(&self.left, done).await;
    }

    /// Only reads are possible from now on.
    pub(crate) fn be_read_only(&self) {
        if self.condition.get() == DriveState::Ready {
            self.condition.set(DriveState::ReadOnly);
            let _ = self.changed.try_push(&self.exec, ());
            self.wake_all();
        }
    }

    /// Sectors that have been written leave the buffer, the last of them by the program of `job`, and the map
    /// says where they are.
    pub(crate) fn retire(&self, job: u32) {
        let state = &mut *self.state.borrow_mut();
        let mut any = false;
        while let Some(retired) = state.ring.retire() {
            any = true;
            state.lines.let_go(self.shape.line_of(retired.sector));
            let Some(block) = retired.block else { continue };
            let is_newest = match retired.kind {
                Kind::User => true,
                Kind::Moved { from } => state.map.get(block) == Some(from),
            };
            if is_newest {
                if let Some(before) = state.map.set(block, Some(retired.sector)) {
                    state.lines.invalidate(before);
                }
                state.lines.validate(retired.sector);
                self.mapped(block, Some(retired.sector));
                if matches!(retired.kind, Kind::Moved { .. }) {
                    self.moved(block, retired.sector);
                }
            }
        }
        if any {
            self.made_room(job);
            self.room.wake_all(&self.exec);
            self.left.wake_all(&self.exec);
            self.collect.wake_all(&self.exec);
        }
    }

    /// A chunk has lost a block: nothing more is written to it, and the drive's table says so.
    pub(crate) fn lose(&self, line: LineId, lun: u32) {
        if self.state.borrow_mut().lines.mark_bad(line, lun) {
            self.count(|stats| stats.grown_bad_blocks += u64::from(self.shape.planes()));
            // Without room the drive's own mark must do.
            let _ = self.marks.try_push(&self.exec, (line, lun));
            let _ = self.changed.try_push(&self.exec, ());
        }
    }
    /// Tells the front end what is left of the spare.
    pub(crate) fn tell_media(&self) {
        if let Some(watcher) = &*self.watcher.borrow() {
            watcher(self.media());
        }
    }
    pub(crate) fn media(&self) -> MediaState {
        let state = self.state.borrow();
        let read_only = self.condition.get() == DriveState::ReadOnly;
        let line = |bad: u64| bad * u64::from(self.shape.pages() * self.shape.unit_sectors());
        let whole = u64::from(self.shape.lines()) * u64::from(self.shape.data_sectors(self.shape.luns()));
        let spare = whole.saturating_sub(u64::from(state.map.blocks())).max(1);
        let lost = line(state.lines.bad_chunks() as u64);
        let left = spare.saturating_sub(lost) * 100 / spare;
        MediaState {
            available_spare: if read_only { 0 } else { left.max(1) as u8 },
            read_only,
            rebuilt: false,
            erases: self.stats.get().flash_erases.total(),
        }
    }

    /// The places of sectors.
    pub(crate) fn places(&self, sectors: &[SectorAddr]) -> [Place; ADDRESSES_MAX] {
        let mut places = [Place::default(); ADDRESSES_MAX];
        places.iter_mut().zip(sectors).for_each(|(to, sector)| *to = self.shape.place(*sector));
        places
    }
    /// Changes the record in NVRAM, if it isn't so already.
    pub(crate) fn keep_record(&self, left: Left) {
        let mut state = self.state.borrow_mut();
        if state.record.left != left {
            state.record.left = left;
            state.record.write(&self.nvram);
        }
    }
    /// Notes in NVRAM that a format has begun: nothing that was written counts any more.
    pub(crate) fn begin_format(&self) {
        let mut state = self.state.borrow_mut();
        state.record = Record { left: Left::Formatting, counts_from: state.sequence };
        state.record.write(&self.nvram);
    }
}
