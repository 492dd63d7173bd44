//! What the drive itself reports while it works: the monitor module of the paper (C45), and what commands
//! name.

use super::blocks::{BlockCounts, Blocks};
use aster_events::{Event, EventSink};
use aster_observe::FlashKind;
use aster_observe::monitor::{Channels, MonitorModule, OutstandingCommands};
use aster_units::{Duration, Geometry, Instant};
use std::collections::{BTreeMap, VecDeque};

/// A sample of the monitor: means over its time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct LoadSample {
    /// Commands between fetch and completion.
    pub(super) outstanding: f64,
    /// Channels that carry a transaction.
    pub(super) channels: f64,
    /// Active ways of a channel, mean over channels.
    pub(super) ways: f64,
}

/// The time in which a LUN's array programs or erases.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ArrayWork {
    pub(super) channel: u16,
    pub(super) way: u8,
    pub(super) erases: bool,
    pub(super) from: Instant,
    pub(super) until: Instant,
}

/// What was heard.
#[derive(Clone, Default)]
pub(super) struct Heard {
    /// Latencies of commands, from their fetch to their completion, by opcode.
    pub(super) latencies: BTreeMap<u8, Vec<Duration>>,
    /// How many commands had so many bytes, by direction (writes are `true`) and size.
    pub(super) sizes: BTreeMap<(bool, u64), u64>,
    /// Fetches of lists of four addresses, those of a read of 16 KiB (C86).
    pub(super) list_fetches: Vec<Duration>,
    /// Pages programmed.
    pub(super) programmed: u64,
    /// What has become of the blocks.
    pub(super) blocks: BlockCounts,
    /// Erases that were issued, and those of them that followed a program of their LUN directly (O11).
    pub(super) erases_after: (u64, u64),
    /// Samples of the monitor.
    pub(super) samples: Vec<LoadSample>,
    /// Programs and erases.
    pub(super) arrays: Vec<ArrayWork>,
}

/// Vector write, and NVMe's write.
const WRITES: [u8; 2] = [0x91, 0x01];
/// Vector read, and NVMe's read.
const READS: [u8; 2] = [0x92, 0x02];
/// Bytes of four addresses. No other fetch of the front end is of so many: an entry has 64 and the page list
/// of 16 KiB 24.
const LIST_BYTES: u32 = 32;
/// Events name the front end's own memory so.
const OWN_MEMORY: u32 = u32::MAX;
/// Array work that is kept at most.
const ARRAYS_MAX: usize = 1 << 16;

/// Ways that the scheduler has given an operation which has not ended yet. The paper's monitor is in the
/// scheduler, whose way is busy with a read until its data has left it, and with a program from its data on;
/// behind a way of these drives is one LUN (C45, C89).
struct ActiveWays {
    /// Operations of each LUN.
    of_lun: BTreeMap<u32, u32>,
    active: u32,
    since: Instant,
    /// Active ways × time, up to `since`.
    picos: u64,
}

impl ActiveWays {
    fn new(from: Instant) -> Self {
        ActiveWays { of_lun: BTreeMap::new(), active: 0, since: from, picos: 0 }
    }
    fn count_until(&mut self, at: Instant) {
        self.picos += u64::from(self.active) * at.since(self.since.min(at)).as_picos();
        self.since = at.max(self.since);
    }
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::FlashIssued { lun, .. } => {
                self.count_until(at);
                let operations = self.of_lun.entry(lun).or_default();
                self.active += u32::from(*operations == 0);
                *operations += 1;
            }
            Event::FlashFinished { lun, .. } => {
                self.count_until(at);
                if let Some(operations) = self.of_lun.get_mut(&lun).filter(|operations| **operations > 0) {
                    *operations -= 1;
                    self.active -= u32::from(*operations == 0);
                }
            }
            _ => {}
        }
    }
    /// Their mean over the time since the last call.
    fn take(&mut self, until: Instant, over: Duration) -> f64 {
        self.count_until(until);
        std::mem::take(&mut self.picos) as f64 / over.as_picos() as f64
    }
}

/// Listens.
pub(super) struct DeviceWatch {
    commands: BTreeMap<u16, (u8, Instant)>,
    lists: VecDeque<Instant>,
    /// The last operation issued to each LUN.
    last: BTreeMap<u32, u8>,
    outstanding: OutstandingCommands,
    channels: Channels,
    ways: ActiveWays,
    blocks: Blocks,
    channel_count: f64,
    /// The monitor's table, for the module with the most entries.
    table: Vec<f64>,
    from: Instant,
    sample: Duration,
    heard: Heard,
}

impl DeviceWatch {
    /// Listens from `from` on.
    pub(super) fn new(geometry: &Geometry, from: Instant, sample: Duration) -> Self {
        let channels = Channels::new(geometry);
        DeviceWatch {
            commands: BTreeMap::new(),
            lists: VecDeque::new(),
            last: BTreeMap::new(),
            outstanding: OutstandingCommands::default(),
            table: vec![0.0; channels.entries().len()],
            channels,
            ways: ActiveWays::new(from),
            blocks: Blocks::new(geometry),
            channel_count: f64::from(geometry.channels),
            from,
            sample,
            heard: Heard::default(),
        }
    }
    /// What was heard.
    pub(super) fn take(&mut self) -> Heard {
        Heard { blocks: self.blocks.counts(), ..std::mem::take(&mut self.heard) }
    }
    fn sample_until(&mut self, until: Instant) {
        let DeviceWatch { outstanding, channels, table, sample: over, .. } = self;
        // The entries are means; those of channels and ways have their shares of all before them.
        let mut of = |module: &mut dyn MonitorModule, entry: usize| {
            module.sample(until, *over, table);
            table[entry]
        };
        let sample = LoadSample {
            outstanding: of(outstanding, 0),
            channels: of(channels, 1),
            ways: self.ways.take(until, self.sample) / self.channel_count,
        };
        self.heard.samples.push(sample);
        self.from = until;
    }
    fn issued(&mut self, lun: u32, kind: u8) {
        let before = self.last.insert(lun, kind);
        if kind == FlashKind::Erase as u8 {
            let (all, after) = &mut self.heard.erases_after;
            *all += 1;
            *after += u64::from(before == Some(FlashKind::Program as u8));
        }
    }
}

impl EventSink for DeviceWatch {
    fn event(&mut self, at: Instant, event: &Event) {
        while at >= self.from + self.sample {
            self.sample_until(self.from + self.sample);
        }
        self.outstanding.event(at, event);
        self.channels.event(at, event);
        self.ways.event(at, event);
        self.blocks.event(event);
        match *event {
            Event::CommandFetched { command, opcode, queue: 1.., .. } => {
                self.commands.insert(command, (opcode, at));
            }
            Event::CommandStarted { command, length, .. } => {
                let opcode = self.commands.get(&command).map_or(0, |(opcode, _)| *opcode);
                if WRITES.contains(&opcode) || READS.contains(&opcode) {
                    *self.heard.sizes.entry((WRITES.contains(&opcode), length)).or_default() += 1;
                }
            }
            Event::CommandCompleted { command, .. } => {
                if let Some((opcode, fetched)) = self.commands.remove(&command) {
                    self.heard.latencies.entry(opcode).or_default().push(at.since(fetched));
                }
            }
            Event::DmaStarted { from_host: true, bytes: LIST_BYTES, buffer: OWN_MEMORY, .. } => {
                self.lists.push_back(at);
            }
            Event::DmaFinished { from_host: true, bytes: LIST_BYTES } => {
                if let Some(started) = self.lists.pop_front() {
                    self.heard.list_fetches.push(at.since(started));
                }
            }
            Event::FlashIssued { lun, kind, .. } => self.issued(lun, kind),
            Event::FlashFinished { kind, .. } => {
                self.heard.programmed += u64::from(kind == FlashKind::Program as u8);
            }
            Event::ArrayBusy { channel, way, kind, picoseconds, .. }
                if kind != FlashKind::Read as u8 && self.heard.arrays.len() < ARRAYS_MAX =>
            {
                let until = at + Duration::from_picos(picoseconds);
                let erases = kind == FlashKind::Erase as u8;
                self.heard.arrays.push(ArrayWork { channel, way, erases, from: at, until });
            }
            _ => {}
        }
    }
}

impl Heard {
    /// Latencies of writes or of reads, sorted.
    pub(super) fn latencies_of(&self, writes: bool) -> Vec<Duration> {
        let opcodes = if writes { WRITES } else { READS };
        let mut all: Vec<_> =
            opcodes.iter().filter_map(|opcode| self.latencies.get(opcode)).flatten().copied().collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_active_from_the_first_of_its_operations_until_the_last_has_ended() {
        let us = |us: u64| Instant::ZERO + Duration::from_micros(us);
        let issued = |lun| Event::FlashIssued { lun, kind: 0, row: 0 };
        let finished = |lun| Event::FlashFinished { lun, kind: 0, row: 0, status: 0, corrected: 0 };
        let mut ways = ActiveWays::new(us(0));
        for (at, event) in
            [(10, issued(0)), (20, issued(0)), (20, issued(1)), (30, finished(0)), (60, finished(0))]
        {
            ways.event(us(at), &event);
        }
        // LUN 0 from 10 to 60 µs, LUN 1 from 20 on.
        assert!((ways.take(us(100), Duration::from_micros(100)) - 1.3).abs() < 1e-9);
        ways.event(us(150), &finished(1));
        assert!((ways.take(us(200), Duration::from_micros(100)) - 0.5).abs() < 1e-9);
    }
}
