//! Activities with their beginning, their end and the command that they were for. Traces and explanations
//! are made of these.

mod luns;
mod owner;
mod releases;
mod station;
mod transfers;

use crate::{CommandSpan, Spans};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::{Event, EventSink, Function, Wait};
use aster_units::{Duration, Geometry, Instant, LunAddr, LunIndex, RowAddr};
use core::cell::Cell;
use luns::{ArrayOperation, LunState};
use owner::Owner;
pub use releases::Holder;
use releases::Releases;
use station::{READ_TRANSFER, Station, flash_kind};
use transfers::{Asked, Transfers};

/// What a [`Piece`] of time was spent on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// A whole command.
    Command(CommandSpan),
    /// A slice of a command.
    Slice {
        /// Logical page.
        lpn: u32,
        /// True when it changes data.
        write: bool,
    },
    /// A slice waits for the host DMA of its data.
    Transfer {
        /// True from host to device.
        from_host: bool,
        /// Bytes.
        bytes: u32,
    },
    /// A task of the FTL waits for something that is neither flash nor host DMA.
    Waiting {
        /// What it waits for.
        reason: Wait,
        /// If it waited for a data buffer entry, or for the write buffer: the task that had the entry, or
        /// whose program made the room.
        holder: Option<Holder>,
    },
    /// A task waits for a translation page of the map, which it or another task reads. Its reads and waits
    /// meanwhile are pieces of their own.
    MapRead {
        /// Translation page.
        page: u32,
    },
    /// Under the big loop: an operation waits for those before it, and for the dependency checker to take
    /// it (C32).
    Dependent {
        /// The number in events: 0 RxDMA, 1 TxDMA, 3 read-trigger, 4 erase, 5 write, 6 read-transfer.
        kind: u8,
    },
    /// Under the big loop: an operation in the reservation station waits for its way and the issuer (C33).
    Reserved {
        /// As above.
        kind: u8,
    },
    /// A core works on a function of the firmware.
    Firmware {
        /// Core: 0 the FTL's, then those of flash software and the ECC engine's, where there are any.
        core: u8,
        /// What it works on.
        function: Function,
    },
    /// A flash operation waits for its LUN.
    Queued {
        /// LUN over the drive.
        lun: LunIndex,
        /// The number in events: 0 read, 1 program, 2 erase, 3 other.
        kind: u8,
        /// Row address.
        row: u32,
    },
    /// A flash operation, from its issue to its end.
    Flash {
        /// LUN over the drive.
        lun: LunIndex,
        /// The number in events.
        kind: u8,
        /// Row address.
        row: u32,
        /// 0 done, 1 failed, 2 uncorrectable, 3 error, 5 given up.
        status: u8,
        /// Corrected bits.
        corrected: u16,
    },
    /// A page that was read with wrong bits is corrected in software: from the end of the flash operation to
    /// the end of the correction.
    Corrected {
        /// LUN over the drive.
        lun: LunIndex,
        /// Row address.
        row: u32,
        /// Frames with wrong bits.
        frames: u16,
        /// Corrected bits.
        corrected: u16,
    },
    /// A transaction on a channel.
    Transaction {
        /// Channel.
        channel: u16,
        /// LUN over the drive that it is for.
        lun: LunIndex,
        /// Bus bytes moved by its bursts.
        bytes: u32,
    },
    /// A LUN's array at work.
    Array {
        /// LUN over the drive.
        lun: LunIndex,
        /// The number in events.
        kind: u8,
    },
    /// Data wait until the link has moved the data before them.
    LinkQueued {
        /// True from host to device.
        from_host: bool,
        /// Bytes.
        bytes: u32,
    },
    /// The link moves data, with its latency and the memory's bandwidth.
    Link {
        /// True from host to device.
        from_host: bool,
        /// Bytes.
        bytes: u32,
    },
}

/// A piece of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// What happened.
    pub activity: Activity,
    /// The command that it was for. Commands are numbered in the order in which the front end fetched
    /// them. `None` for work in the background, and if the command isn't known.
    pub command: Option<u64>,
    /// The firmware task that it was for, if known.
    pub task: Option<u32>,
    /// When it began.
    pub from: Instant,
    /// When it ended.
    pub to: Instant,
}

#[derive(Clone, Copy, Default)]
struct Worker {
    command: Option<u64>,
    slice: Option<(Instant, u32, bool)>,
    transfer: Option<(Instant, bool, u32)>,
    wait: Option<Waits>,
    map: Option<(Instant, u32)>,
}

/// What a task waits for, or has waited for. A wait that has ended may still continue: a task that is
/// woken for an entry and finds it taken waits again.
#[derive(Clone, Copy)]
struct Waits {
    since: Instant,
    reason: Wait,
    buffer: u32,
    ended: Option<Instant>,
}

/// The most operations that are followed per LUN; further ones have an unknown origin. A port's ring is
/// shorter.
const QUEUED_MAX: usize = 4096;
/// The most reads that are kept per LUN until they have been corrected.
const READ_MAX: usize = 64;

/// Takes the span of a command that has ended.
type Ended = Box<dyn FnMut(&CommandSpan)>;

/// Puts [`Piece`]s together and passes each to a function when it ends.
///
/// It sees only beginnings after it was attached, and ignores ends without a beginning. It assigns a
/// LUN's transactions to the LUN's oldest operation, and the work of the array to the oldest one of its kind
/// for which the array hasn't worked yet, because a page read may start while the page before is being
/// transferred, and a host may have sent several operations. Where the FTL is on the host,
/// [`Lives::below`] tells it what the drive has really begun.
pub struct Lives<F> {
    geometry: Geometry,
    spans: Spans<Ended>,
    ended: Rc<Cell<Option<CommandSpan>>>,
    commands: Vec<Option<u64>>,
    fetched: u64,
    workers: Vec<Worker>,
    luns: Box<[LunState]>,
    channels: Box<[Option<(Instant, LunIndex)>]>,
    transfers: Transfers,
    releases: Releases,
    station: Station,
    /// What the drive below has begun, by LUN. One operation that the host sent may be several of the
    /// drive's: one for each plane.
    below: Option<Box<[LunState]>>,
    each: F,
}

impl<F: FnMut(&Piece)> Lives<F> {
    /// For a drive of this geometry, whose front end has at most `slots` command slots.
    pub fn new(geometry: Geometry, slots: u16, each: F) -> Self {
        let ended = Rc::new(Cell::new(None));
        let sink = Rc::clone(&ended);
        Lives {
            geometry,
            spans: Spans::new(slots, Box::new(move |span| sink.set(Some(*span)))),
            ended,
            commands: vec![None; usize::from(slots)],
            fetched: 0,
            workers: Vec::new(),
            luns: vec![LunState::default(); geometry.total_luns() as usize].into_boxed_slice(),
            channels: vec![None; usize::from(geometry.channels)].into_boxed_slice(),
            transfers: Transfers::default(),
            releases: Releases::default(),
            station: Station::default(),
            below: None,
            each,
        }
    }

    /// As [`Spans::queue_created`]: without it a command begins when it is fetched.
    pub fn queue_created(&mut self, id: u16, entries: u16) {
        self.spans.queue_created(id, entries);
    }

    /// Commands seen to be fetched, which is also the number of the next one.
    pub fn fetched(&self) -> u64 {
        self.fetched
    }

    fn tell(&mut self, activity: Activity, owner: Owner, from: Instant, to: Instant) {
        let Owner { command, task } = owner;
        (self.each)(&Piece { activity, command, task, from, to: to.max(from) });
    }

    fn command_of(&self, slot: u16) -> Option<u64> {
        self.commands.get(usize::from(slot)).copied().flatten()
    }
    fn worker(&mut self, task: u32) -> &mut Worker {
        let at = task as usize;
        if at >= self.workers.len() {
            self.workers.resize(at + 1, Worker::default());
        }
        &mut self.workers[at]
    }
    fn owner(&self, task: u32) -> Owner {
        let command = self.workers.get(task as usize).and_then(|w| w.slice.and(w.command));
        Owner { command, task: Some(task) }
    }
    /// A task starts to wait, or continues a wait.
    fn wait_started(&mut self, at: Instant, task: u32, reason: Wait, buffer: u32) {
        let goes_on = |wait: &Waits| {
            (wait.ended, wait.reason, wait.buffer) == (Some(at), Wait::BufferEntry, buffer)
                && reason == Wait::BufferEntry
        };
        let worker = self.worker(task);
        if let Some(wait) = worker.wait.as_mut().filter(|wait| goes_on(wait)) {
            wait.ended = None;
            return;
        }
        self.wait_over(task, None);
        self.worker(task).wait = Some(Waits { since: at, reason, buffer, ended: None });
    }
    fn wait_ended(&mut self, at: Instant, task: u32) {
        if let Some(wait) = &mut self.worker(task).wait {
            wait.ended = Some(at);
            if !wait.reason.has_holder() {
                self.wait_over(task, None);
            }
        }
    }
    /// A task's wait is over. The task continues, perhaps with the entry that it `got`.
    fn wait_over(&mut self, task: u32, got: Option<u32>) {
        let Some(Waits { since, reason, buffer, ended: Some(ended) }) = self.worker(task).wait else {
            return;
        };
        self.worker(task).wait = None;
        let holder = if reason.has_holder() { self.releases.behind(task, since, buffer, got) } else { None };
        self.tell(Activity::Waiting { reason, holder }, self.owner(task), since, ended);
    }
    fn released(&mut self, at: Instant, task: u32, buffer: u32) {
        let slice = self.worker(task).slice;
        let since = slice.map_or(Instant::ZERO, |(since, ..)| since);
        let slice = slice.map(|(_, lpn, write)| (lpn, write));
        self.releases.told(at, buffer, Holder { task, since, slice });
    }
    fn lun_of_slot(&self, channel: u16, slot: u16) -> LunIndex {
        let ways = u16::from(self.geometry.ways);
        self.geometry.lun_index(LunAddr { channel, way: (slot % ways) as u8, lun: (slot / ways) as u8 })
    }

    fn issued(&mut self, at: Instant, lun: u32, kind: u8, row: u32) {
        let Some(state) = self.luns.get_mut(lun as usize) else { return };
        let asked = state.queued.iter().position(|o| (o.kind, o.row) == (kind, row));
        let asked = asked.and_then(|at| state.queued.remove(at));
        let (owner, buffer) = asked.map_or((Owner::default(), u32::MAX), |o| (o.owner, o.buffer));
        state.open.push_back(ArrayOperation::new(at, (kind, row), buffer, owner));
        if let Some(ArrayOperation { since, .. }) = asked {
            self.tell(Activity::Queued { lun: LunIndex(lun), kind, row }, owner, since, at);
        }
    }
    fn finished(&mut self, at: Instant, lun: u32, row: u32, (kind, status, corrected): (u8, u8, u16)) {
        let Some(state) = self.luns.get_mut(lun as usize) else { return };
        let Some(place) = state.open.iter().position(|o| (o.kind, o.row) == (kind, row)) else { return };
        let Some(operation) = state.open.remove(place) else { return };
        let ArrayOperation { since, owner, began, .. } = operation;
        if kind == 0 {
            if state.read.len() == READ_MAX {
                state.read.pop_front();
            }
            state.read.push_back(ArrayOperation { since: at, ..operation });
        }
        let lun = LunIndex(lun);
        // The drive had other operations of the LUN before it.
        if let Some(began) = began.filter(|&began| began > since) {
            self.tell(Activity::Queued { lun, kind, row }, owner, since, began);
        }
        let since = began.unwrap_or(since);
        self.tell(Activity::Flash { lun, kind, row, status, corrected }, owner, since, at);
    }
    fn corrected(&mut self, at: Instant, lun: u32, row: u32, (frames, corrected): (u16, u16)) {
        let Some(state) = self.luns.get_mut(lun as usize) else { return };
        let Some(place) = state.read.iter().position(|o| o.row == row) else { return };
        let Some(ArrayOperation { since, owner, .. }) = state.read.remove(place) else { return };
        self.tell(Activity::Corrected { lun: LunIndex(lun), row, frames, corrected }, owner, since, at);
    }
}

impl<F: FnMut(&Piece)> Lives<F> {
    /// The dependency checker hands an operation on.
    fn delivered(&mut self, at: Instant, (kind, lun, buffer): (u8, u32, u32)) {
        let of_flash = flash_kind(kind).and_then(|class| {
            let queued = &self.luns.get(lun as usize)?.queued;
            let asked = queued.iter().find(|o| (o.kind, o.buffer) == (class, buffer))?;
            Some((asked.since, asked.owner))
        });
        let Some((since, owner)) = of_flash.or_else(|| self.station.take_asked(kind, buffer)) else { return };
        self.station.delivered(at, (kind, lun, buffer), owner);
        // A read's transfer depends on its trigger, which has a piece of its own.
        if kind != READ_TRANSFER {
            self.tell(Activity::Dependent { kind }, owner, since, at);
        }
    }
}

/// The number of an erase in events.
const ERASE: u8 = 2;

impl<F: FnMut(&Piece)> Lives<F> {
    /// Takes an event of the drive below, where the events that [`EventSink::event`] gets are those of an FTL
    /// on the host. The FTL may have several operations of a LUN in the drive at once: until the drive begins
    /// one, it waits for its LUN, and channel and array are at work for what the drive has begun.
    pub fn below(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::FlashIssued { lun, kind, row } => {
                let mut begun = ArrayOperation::new(at, (kind, row), u32::MAX, Owner::default());
                if let Some(sent) = self.sent(lun, kind, row) {
                    sent.began.get_or_insert(at);
                    begun.owner = sent.owner;
                }
                let luns = self.luns.len();
                let below =
                    self.below.get_or_insert_with(|| vec![LunState::default(); luns].into_boxed_slice());
                if let Some(state) = below.get_mut(lun as usize) {
                    state.open.push_back(begun);
                }
            }
            Event::FlashFinished { lun, kind, row, .. } => {
                let state = self.below.as_mut().and_then(|below| below.get_mut(lun as usize));
                let Some(state) = state else { return };
                let place = state.open.iter().position(|o| (o.kind, o.row) == (kind, row));
                place.and_then(|place| state.open.remove(place));
            }
            Event::TransactionStarted { .. }
            | Event::TransactionEnded { .. }
            | Event::TransactionFailed { .. }
            | Event::ArrayBusy { .. } => self.event(at, event),
            _ => {}
        }
    }

    /// The operation of the host's that the drive begins with this one: on the same page, of whichever plane.
    fn sent(&mut self, lun: u32, kind: u8, row: u32) -> Option<&mut ArrayOperation> {
        let g = self.geometry;
        let place = |row: u32| {
            let (_, block, page) = g.split_row(RowAddr(row));
            (block.0 / u32::from(g.planes), (kind != ERASE).then_some(page))
        };
        let open = &mut self.luns.get_mut(lun as usize)?.open;
        let is_same = |o: &ArrayOperation| o.kind == kind && place(o.row) == place(row);
        let new = open.iter().position(|o| is_same(o) && o.began.is_none());
        let at = new.or_else(|| open.iter().position(is_same))?;
        open.get_mut(at)
    }
    /// The operations of a LUN that its hardware works on.
    fn at_work(&mut self, lun: LunIndex) -> Option<&mut LunState> {
        match &mut self.below {
            Some(below) => below.get_mut(lun.index()),
            None => self.luns.get_mut(lun.index()),
        }
    }
}

impl<F: FnMut(&Piece)> EventSink for Lives<F> {
    fn event(&mut self, at: Instant, event: &Event) {
        self.spans.event(at, event);
        match *event {
            Event::CommandFetched { command, .. } | Event::CommandResumed { command, .. } => {
                if let Some(slot) = self.commands.get_mut(usize::from(command)) {
                    *slot = Some(self.fetched);
                }
                self.fetched += 1;
            }
            // If the front end completes a command by itself, the later of the two events ends it. All
            // its pieces have been reported by then.
            Event::CommandCompleted { command, .. } | Event::CommandFinished { command } => {
                let Some(span) = self.ended.take() else { return };
                let number = self.commands.get_mut(usize::from(command)).and_then(Option::take);
                if number.is_some() {
                    let (from, to) = span.ends();
                    self.tell(Activity::Command(span), Owner { command: number, task: None }, from, to);
                }
            }
            Event::CommandDropped { command } | Event::CommandParked { command } => {
                if let Some(slot) = self.commands.get_mut(usize::from(command)) {
                    *slot = None;
                }
            }
            Event::SliceStarted { command, lpn, write, task } => {
                let command = self.command_of(command);
                *self.worker(task) = Worker { command, slice: Some((at, lpn, write)), ..Worker::default() };
            }
            Event::SliceEnded { task } => {
                self.wait_over(task, None);
                let owner = self.owner(task);
                if let Some((from, lpn, write)) = self.worker(task).slice.take() {
                    self.tell(Activity::Slice { lpn, write }, owner, from, at);
                }
            }
            Event::WaitStarted { task, reason, buffer } => {
                if let Some(reason) = Wait::of_number(reason) {
                    self.wait_started(at, task, reason, buffer);
                }
            }
            Event::WaitEnded { task } => self.wait_ended(at, task),
            Event::MapMissed { task, page } => {
                self.wait_over(task, None);
                self.worker(task).map = Some((at, page));
            }
            Event::MapBrought { task } => {
                if let Some((from, page)) = self.worker(task).map.take() {
                    self.tell(Activity::MapRead { page }, self.owner(task), from, at);
                }
            }
            Event::BufferHit { task, buffer, .. } | Event::BufferMissed { task, buffer, .. } => {
                self.wait_over(task, Some(buffer));
            }
            Event::EntryReleased { task, buffer } => self.released(at, task, buffer),
            Event::TransferQueued { task, from_host, bytes, buffer, .. } => {
                self.wait_over(task, None);
                self.transfers.asked(from_host, buffer, bytes, self.owner(task));
                self.worker(task).transfer = Some((at, from_host, bytes));
                self.station.asked(at, from_host, buffer, self.owner(task));
            }
            Event::OperationDelivered { kind, lun, buffer } => self.delivered(at, (kind, lun, buffer)),
            Event::OperationIssued { kind, lun, buffer } => {
                if let Some((since, owner)) = self.station.issued((kind, lun, buffer)) {
                    self.tell(Activity::Reserved { kind }, owner, since, at);
                }
            }
            Event::OperationEnded { kind, lun, buffer, .. } => self.station.ended(at, (kind, lun, buffer)),
            Event::TransferEnded { task, .. } => {
                self.station.over(task);
                self.transfers.over(task);
                let owner = self.owner(task);
                if let Some((from, from_host, bytes)) = self.worker(task).transfer.take() {
                    self.tell(Activity::Transfer { from_host, bytes }, owner, from, at);
                }
            }
            Event::FirmwareWorked { core, function, task, picoseconds } => {
                if let Some(function) = Function::of_number(function) {
                    let until = Instant::from_picos(at.as_picos().saturating_add(picoseconds));
                    self.tell(Activity::Firmware { core, function }, self.owner(task), at, until);
                }
            }
            Event::FlashQueued { task, lun, kind, row, buffer } => {
                self.wait_over(task, None);
                let owner = self.owner(task);
                if let Some(state) = self.luns.get_mut(lun as usize)
                    && state.queued.len() < QUEUED_MAX
                {
                    state.queued.push_back(ArrayOperation::new(at, (kind, row), buffer, owner));
                }
            }
            Event::FlashIssued { lun, kind, row } => self.issued(at, lun, kind, row),
            Event::FlashFinished { lun, kind, row, status, corrected } => {
                self.finished(at, lun, row, (kind, status, corrected));
            }
            Event::PageCorrected { lun, row, frames, corrected, .. } => {
                self.corrected(at, lun, row, (frames, corrected));
            }
            Event::TransactionStarted { channel, slot } => {
                let lun = self.lun_of_slot(channel, slot);
                if let Some(place) = self.channels.get_mut(usize::from(channel)) {
                    *place = Some((at, lun));
                }
            }
            Event::TransactionEnded { channel, bytes, .. } => {
                let begun = self.channels.get_mut(usize::from(channel)).and_then(Option::take);
                if let Some((from, lun)) = begun {
                    let open = self.at_work(lun).and_then(|state| state.open.front());
                    let owner = open.map_or(Owner::default(), |o| o.owner);
                    self.tell(Activity::Transaction { channel, lun, bytes }, owner, from, at);
                }
            }
            Event::TransactionFailed { channel, .. } => {
                if let Some(place) = self.channels.get_mut(usize::from(channel)) {
                    *place = None;
                }
            }
            Event::ArrayBusy { channel, way, lun, kind, picoseconds } => {
                let lun = self.geometry.lun_index(LunAddr { channel, way, lun });
                let owner = self.at_work(lun).and_then(|state| state.array_begins(kind));
                let owner = owner.unwrap_or_default();
                let until = Instant::from_picos(at.as_picos().saturating_add(picoseconds));
                self.tell(Activity::Array { lun, kind }, owner, at, until);
            }
            Event::DmaStarted { from_host, bytes, buffer, waits } => {
                let waits = Duration::from_picos(waits);
                self.transfers.on_link(at, from_host, buffer, (bytes, waits));
            }
            Event::DmaFinished { from_host, bytes } => {
                if let Some(Asked { at: asked, waits, owner }) = self.transfers.off_link(from_host) {
                    let begins = (asked + waits).min(at);
                    if begins > asked {
                        self.tell(Activity::LinkQueued { from_host, bytes }, owner, asked, begins);
                    }
                    self.tell(Activity::Link { from_host, bytes }, owner, begins, at);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
