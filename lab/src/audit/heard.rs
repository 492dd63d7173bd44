//! What a drive's events tell an audit: counts, times by phase, and what is under way (S27).

use crate::watch::SLOTS;
use aster_driver::{CommandName, QueueId};
use aster_events::{Event, EventSink, Wait};
use aster_observe::{CommandSpan, FlashSpans, LatencyHistogram, SpanTable, Spans};
use aster_units::{Duration, Geometry, Instant};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Kinds of command with a histogram of their own. A host may send any opcode, and a histogram takes memory.
const KINDS_MAX: usize = 12;

/// Asynchronous Event Request (NVMe 1.4 §5, figure 139) waits for an event, and nothing works on it.
const EVENT_REQUEST: (bool, u8) = (true, 0x0c);

/// Reads, programs and erases, and what is none of them.
pub(super) const FLASH_KINDS: usize = 4;

/// The ends of a task's wait for something.
#[derive(Default)]
pub(super) struct Waits {
    open: BTreeMap<u32, Instant>,
    pub(super) times: LatencyHistogram,
}

impl Waits {
    fn begin(&mut self, task: u32, at: Instant) {
        self.open.insert(task, at);
    }
    /// What the task waits for it has now; nothing if its beginning was not seen.
    fn end(&mut self, task: u32, at: Instant) {
        if let Some(since) = self.open.remove(&task) {
            self.times.record(at.since(since));
        }
    }
    /// Tasks that wait now.
    pub(super) fn waiting(&self) -> usize {
        self.open.len()
    }
}

/// Commands by kind, from fetch to completion, and where they spent that time.
#[derive(Default)]
pub(super) struct Requests {
    /// By whether it is an admin command, and by opcode.
    kinds: BTreeMap<(bool, u8), LatencyHistogram>,
    others: Option<LatencyHistogram>,
    /// Of the commands of I/O queues.
    pub(super) steps: SpanTable,
}

impl Requests {
    fn record(&mut self, span: &CommandSpan) {
        let kind = (span.queue == 0, span.opcode);
        if kind == EVENT_REQUEST {
            return;
        }
        if span.queue != 0 {
            self.steps.record(span);
        }
        let known = self.kinds.len() < KINDS_MAX || self.kinds.contains_key(&kind);
        let times = match known {
            true => self.kinds.entry(kind).or_default(),
            false => self.others.get_or_insert_default(),
        };
        times.record(span.total());
    }
    /// Commands by name.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (String, &LatencyHistogram)> {
        let named = self.kinds.iter().map(|(&(admin, opcode), times)| {
            let name = CommandName { queue: QueueId(u16::from(!admin)), opcode }.to_string();
            (if admin { format!("admin: {name}") } else { name }, times)
        });
        named.chain(self.others.iter().map(|times| ("others".to_owned(), times)))
    }
}

/// A submission queue as its commands show it.
#[derive(Clone, Copy, Default)]
pub(super) struct QueueCounts {
    pub(super) fetched: u64,
    pub(super) completed: u64,
}

/// A command that has been fetched and not completed.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) queue: u16,
    pub(super) since: Instant,
}

/// Flash operations of a LUN that wait and that are under way.
#[derive(Clone, Copy, Default)]
pub(super) struct LunWork {
    pub(super) waiting: u32,
    pub(super) issued: u32,
}

/// A phase of a transaction of the flash interface layer: kind, and whether it is the transfer.
pub(super) type Phase = (u8, bool);

/// Errors of flash reads.
#[derive(Clone, Copy, Default)]
pub(super) struct BitErrors {
    pub(super) reads: u64,
    /// Reads that brought wrong bits.
    pub(super) flagged: u64,
    pub(super) corrected_bits: u64,
    pub(super) most_in_a_read: u16,
    pub(super) uncorrectable: u64,
}

/// Takes the command that has ended.
type Ended = Box<dyn FnMut(&CommandSpan)>;

/// Hears the events of one drive from power-on on.
pub(super) struct Heard {
    commands: Spans<Ended>,
    pub(super) requests: Rc<RefCell<Requests>>,
    /// By command slot.
    pub(super) open: Box<[Option<Open>]>,
    pub(super) queues: BTreeMap<u16, QueueCounts>,
    pub(super) flash: FlashSpans,
    /// By LUN over the drive.
    pub(super) luns: Box<[LunWork]>,
    under_way: BTreeMap<(u32, Phase), Instant>,
    pub(super) phases: BTreeMap<Phase, LatencyHistogram>,
    /// By channel: when its transaction began.
    transactions_open: Box<[Option<Instant>]>,
    pub(super) transactions: LatencyHistogram,
    /// What arrays worked, by kind.
    pub(super) arrays: [LatencyHistogram; FLASH_KINDS],
    /// Host DMA of slices.
    pub(super) transfers: Waits,
    /// For translation pages of the map.
    pub(super) map: Waits,
    waits_of: BTreeMap<u32, u8>,
    waits: BTreeMap<u8, Waits>,
    pub(super) errors: BitErrors,
    pub(super) moved_units: u64,
    /// By core: how long it worked on functions of the firmware.
    pub(super) cores: BTreeMap<u8, Duration>,
}

impl Heard {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let luns = geometry.total_luns();
        let requests: Rc<RefCell<Requests>> = Rc::default();
        let into = Rc::clone(&requests);
        Heard {
            commands: Spans::new(SLOTS, Box::new(move |span| into.borrow_mut().record(span))),
            requests,
            open: vec![None; usize::from(SLOTS)].into_boxed_slice(),
            queues: BTreeMap::new(),
            flash: FlashSpans::new(luns),
            luns: vec![LunWork::default(); luns as usize].into_boxed_slice(),
            under_way: BTreeMap::new(),
            phases: BTreeMap::new(),
            transactions_open: vec![None; usize::from(geometry.channels)].into_boxed_slice(),
            transactions: LatencyHistogram::default(),
            arrays: Default::default(),
            transfers: Waits::default(),
            map: Waits::default(),
            waits_of: BTreeMap::new(),
            waits: BTreeMap::new(),
            errors: BitErrors::default(),
            moved_units: 0,
            cores: BTreeMap::new(),
        }
    }
    /// What tasks of the FTL have waited for.
    pub(super) fn waits(&self) -> impl Iterator<Item = (Wait, &Waits)> {
        self.waits.iter().filter_map(|(&reason, waits)| Some((Wait::of_number(reason)?, waits)))
    }
    fn with_queue(&mut self, queue: u16, count: impl FnOnce(&mut QueueCounts)) {
        count(self.queues.entry(queue).or_default());
    }
    fn end_command(&mut self, command: u16, completed: bool) {
        let open = self.open.get_mut(usize::from(command)).and_then(Option::take);
        if let Some(open) = open.filter(|_| completed) {
            self.with_queue(open.queue, |queue| queue.completed += 1);
        }
    }
    fn command_event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::CommandFetched { command, queue, .. } | Event::CommandResumed { command, queue, .. } => {
                if let Some(open) = self.open.get_mut(usize::from(command)) {
                    *open = Some(Open { queue, since: at });
                }
                // A command that goes on has been fetched before.
                if matches!(event, Event::CommandFetched { .. }) {
                    self.with_queue(queue, |queue| queue.fetched += 1);
                }
            }
            Event::CommandCompleted { command, .. } => self.end_command(command, true),
            Event::CommandDropped { command } | Event::CommandParked { command } => {
                self.end_command(command, false);
            }
            Event::TransferQueued { task, .. } => self.transfers.begin(task, at),
            Event::TransferEnded { task, .. } => self.transfers.end(task, at),
            Event::MapMissed { task, .. } => self.map.begin(task, at),
            Event::MapBrought { task } => self.map.end(task, at),
            Event::WaitStarted { task, reason, .. } => {
                self.waits_of.insert(task, reason);
                self.waits.entry(reason).or_default().begin(task, at);
            }
            Event::WaitEnded { task } => {
                let reason = self.waits_of.remove(&task);
                if let Some(waits) = reason.and_then(|reason| self.waits.get_mut(&reason)) {
                    waits.end(task, at);
                }
            }
            _ => {}
        }
    }
    fn flash_event(&mut self, event: &Event) {
        let (Event::FlashQueued { lun, .. }
        | Event::FlashIssued { lun, .. }
        | Event::FlashFinished { lun, .. }) = *event
        else {
            return;
        };
        if let Some(work) = self.luns.get_mut(lun as usize) {
            match event {
                Event::FlashQueued { .. } => work.waiting += 1,
                Event::FlashIssued { .. } => {
                    work.waiting = work.waiting.saturating_sub(1);
                    work.issued += 1;
                }
                // An operation that was never issued has ended where it waited.
                _ if work.issued == 0 => work.waiting = work.waiting.saturating_sub(1),
                _ => work.issued -= 1,
            }
        }
        if let Event::FlashFinished { kind: 0, status, corrected, .. } = *event {
            self.errors.reads += 1;
            self.count_bits(corrected, status == 2);
        }
    }
    /// A read, or what the ECC engine has made of one: it brought that many bits, all wrong ones or not.
    fn count_bits(&mut self, corrected: u16, uncorrectable: bool) {
        let errors = &mut self.errors;
        errors.flagged += u64::from(corrected > 0 || uncorrectable);
        errors.corrected_bits += u64::from(corrected);
        errors.most_in_a_read = errors.most_in_a_read.max(corrected);
        errors.uncorrectable += u64::from(uncorrectable);
    }
    fn hardware_event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::PhaseBegan { lun, kind, transfer } => {
                self.under_way.insert((lun, (kind, transfer)), at);
            }
            Event::PhaseEnded { lun, kind, transfer } => {
                let phase = (kind, transfer);
                if let Some(since) = self.under_way.remove(&(lun, phase)) {
                    self.phases.entry(phase).or_default().record(at.since(since));
                }
            }
            Event::TransactionStarted { channel, .. } => {
                if let Some(open) = self.transactions_open.get_mut(usize::from(channel)) {
                    *open = Some(at);
                }
            }
            Event::TransactionEnded { channel, .. } | Event::TransactionFailed { channel, .. } => {
                let open = self.transactions_open.get_mut(usize::from(channel));
                if let Some(since) = open.and_then(Option::take) {
                    self.transactions.record(at.since(since));
                }
            }
            Event::ArrayBusy { kind, picoseconds, .. } => {
                let kind = usize::from(kind).min(FLASH_KINDS - 1);
                self.arrays[kind].record(Duration::from_picos(picoseconds));
            }
            // The read has ended before, with bits that were only detected.
            Event::PageCorrected { failed, corrected, .. } => self.count_bits(corrected, failed > 0),
            Event::PageMoved { .. } => self.moved_units += 1,
            Event::FirmwareWorked { core, picoseconds, .. } => {
                *self.cores.entry(core).or_default() += Duration::from_picos(picoseconds);
            }
            _ => {}
        }
    }
}

impl EventSink for Heard {
    fn event(&mut self, at: Instant, event: &Event) {
        self.commands.event(at, event);
        self.flash.event(at, event);
        self.command_event(at, event);
        self.flash_event(event);
        self.hardware_event(at, event);
    }
}
