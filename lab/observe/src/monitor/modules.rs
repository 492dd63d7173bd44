//! The modules that ship with the drive (C45, C47).

use super::module::{MonitorModule, TableEntry};
use super::names::ShippedModule;
use crate::FlashKind;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Event;
use aster_units::{Duration, Geometry, Instant};

/// A number that changes, integrated over time.
#[derive(Clone, Copy, Default)]
struct Level {
    now: u32,
    highest: u32,
    since: Instant,
    /// The number integrated over picoseconds, in this sample and in those before.
    area: u128,
    before: u128,
}

impl Level {
    fn reach(&mut self, at: Instant) {
        if at > self.since {
            self.area += u128::from(self.now) * u128::from(at.since(self.since).as_picos());
            self.since = at;
        }
    }
    fn change(&mut self, at: Instant, up: bool) {
        self.reach(at);
        self.now = if up { self.now + 1 } else { self.now.saturating_sub(1) };
        self.highest = self.highest.max(self.now);
    }
    /// The mean and the highest value in a sample that ends now.
    fn take(&mut self, until: Instant, over: Duration) -> (f64, u32) {
        self.reach(until);
        let area = core::mem::take(&mut self.area);
        self.before += area;
        (area as f64 / over.as_picos() as f64, core::mem::replace(&mut self.highest, self.now))
    }
    /// The number integrated over seconds, up to the last sample.
    fn seconds(&self) -> f64 {
        seconds(self.before)
    }
}

pub(super) fn seconds(picos: u128) -> f64 {
    picos as f64 / 1e12
}

fn per_second(n: u64, over: Duration) -> f64 {
    n as f64 * 1e12 / over.as_picos() as f64
}
fn ratio(n: f64, of: u64) -> f64 {
    if of == 0 { f64::NAN } else { n / of as f64 }
}

/// Host data and commands per second.
#[derive(Default)]
pub struct Bandwidth {
    bytes: [u64; 2],
    commands: u64,
    /// Bytes read, bytes written and commands of the samples before.
    before: [u64; 3],
    /// What a firmware task waits for, by task.
    under_way: Vec<Option<(bool, u32)>>,
}

impl MonitorModule for Bandwidth {
    fn name(&self) -> &str {
        ShippedModule::Bandwidth.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        vec![
            TableEntry::new("read_bytes_per_second", "data that host DMA has moved to the host"),
            TableEntry::new(
                "write_bytes_per_second",
                "data that host DMA has moved from the host to be written",
            ),
            TableEntry::new("commands_per_second", "commands completed"),
            TableEntry::total("read_bytes", "bytes that host DMA has moved to the host"),
            TableEntry::total("write_bytes", "bytes that host DMA has moved from the host to be written"),
            TableEntry::total("commands", "commands completed"),
        ]
    }
    fn event(&mut self, _: Instant, event: &Event) {
        match *event {
            Event::TransferQueued { task, from_host, bytes, compare, .. } => {
                let at = task as usize;
                if at >= self.under_way.len() {
                    self.under_way.resize(at + 1, None);
                }
                self.under_way[at] = (!compare).then_some((from_host, bytes));
            }
            Event::TransferEnded { task, failed } => {
                let transfer = self.under_way.get_mut(task as usize).and_then(Option::take);
                if let Some((from_host, bytes)) = transfer.filter(|_| !failed) {
                    self.bytes[usize::from(from_host)] += u64::from(bytes);
                }
            }
            Event::CommandCompleted { .. } => self.commands += 1,
            _ => {}
        }
    }
    fn sample(&mut self, _: Instant, over: Duration, entries: &mut [f64]) {
        let [read, written] = core::mem::take(&mut self.bytes);
        let counts = [read, written, core::mem::take(&mut self.commands)];
        let (rates, totals) = entries.split_at_mut(counts.len());
        for (place, count) in counts.into_iter().enumerate() {
            self.before[place] += count;
            rates[place] = per_second(count, over);
            totals[place] = self.before[place] as f64;
        }
    }
}

/// Bytes programmed for each byte that the host wrote.
pub struct WriteAmplification {
    page_bytes: u64,
    programmed: u64,
    written: Bandwidth,
    in_all: [u64; 2],
}

impl WriteAmplification {
    /// For pages of this shape.
    pub fn new(geometry: &Geometry) -> Self {
        WriteAmplification {
            page_bytes: u64::from(geometry.page_bytes),
            programmed: 0,
            written: Bandwidth::default(),
            in_all: [0; 2],
        }
    }
}

impl MonitorModule for WriteAmplification {
    fn name(&self) -> &str {
        ShippedModule::WriteAmplification.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        vec![
            TableEntry::new("waf", "bytes programmed for each byte from the host, in the sample"),
            TableEntry::new("waf_in_all", "the same since the monitor was inserted"),
            TableEntry::total("programmed_bytes", "bytes programmed"),
        ]
    }
    fn event(&mut self, at: Instant, event: &Event) {
        self.written.event(at, event);
        if let Event::FlashFinished { kind: 1, .. } = event {
            self.programmed += self.page_bytes;
        }
    }
    fn sample(&mut self, _: Instant, _: Duration, entries: &mut [f64]) {
        let [_, written] = core::mem::take(&mut self.written.bytes);
        let programmed = core::mem::take(&mut self.programmed);
        self.in_all[0] += programmed;
        self.in_all[1] += written;
        entries[0] = ratio(programmed as f64, written);
        entries[1] = ratio(self.in_all[0] as f64, self.in_all[1]);
        entries[2] = self.in_all[0] as f64;
    }
}

/// Commands between fetch and completion. Asynchronous Event Requests don't count, since they wait until
/// an event occurs (NVMe 1.4 §5.2) and no part of the drive works on them.
#[derive(Default)]
pub struct OutstandingCommands {
    level: Level,
    /// By command slot: whether its fetch was seen. Without that, its end doesn't count.
    open: Vec<bool>,
}

/// Its opcode in the admin queue (NVMe 1.4 §5, figure 139).
const ASYNC_EVENT_REQUEST: u8 = 0x0c;

impl OutstandingCommands {
    fn set(&mut self, at: Instant, command: u16, to: bool) {
        let place = usize::from(command);
        if place >= self.open.len() {
            self.open.resize(place + 1, false);
        }
        if core::mem::replace(&mut self.open[place], to) != to {
            self.level.change(at, to);
        }
    }
}

impl MonitorModule for OutstandingCommands {
    fn name(&self) -> &str {
        ShippedModule::OutstandingCommands.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        vec![
            TableEntry::new(
                "outstanding_commands",
                "commands between fetch and completion, event requests aside, mean over time",
            ),
            TableEntry::new("outstanding_commands_max", "the most at once"),
            TableEntry::total(
                "outstanding_command_seconds",
                "seconds that commands were outstanding, summed",
            ),
        ]
    }
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::CommandFetched { queue: 0, opcode: ASYNC_EVENT_REQUEST, .. } => {}
            Event::CommandFetched { command, .. } | Event::CommandResumed { command, .. } => {
                self.set(at, command, true);
            }
            Event::CommandCompleted { command, .. }
            | Event::CommandDropped { command }
            | Event::CommandParked { command } => self.set(at, command, false),
            _ => {}
        }
    }
    fn sample(&mut self, until: Instant, over: Duration, entries: &mut [f64]) {
        let (mean, most) = self.level.take(until, over);
        entries[0] = mean;
        entries[1] = f64::from(most);
        entries[2] = self.level.seconds();
    }
}

/// Channels that carry transactions.
pub struct Channels(Box<[Level]>);

impl Channels {
    /// One entry per channel.
    pub fn new(geometry: &Geometry) -> Self {
        Channels(vec![Level::default(); usize::from(geometry.channels)].into_boxed_slice())
    }
}

impl MonitorModule for Channels {
    fn name(&self) -> &str {
        ShippedModule::Channels.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        let mean = [
            TableEntry::new(
                "channel_utilisation",
                "share of the time in which a channel carries a transaction, mean over channels",
            ),
            TableEntry::new("active_channels", "channels that carry a transaction, mean over time"),
            TableEntry::total("channel_busy_seconds", "seconds that channels carried a transaction, summed"),
        ];
        let each = (0..self.0.len()).flat_map(|n| {
            [
                TableEntry::new(format!("channel_{n}_utilisation"), "the same of one channel"),
                TableEntry::total(&format!("channel_{n}_busy_seconds"), "the same of one channel"),
            ]
        });
        mean.into_iter().chain(each).collect()
    }
    fn event(&mut self, at: Instant, event: &Event) {
        let (channel, up) = match *event {
            Event::TransactionStarted { channel, .. } => (channel, true),
            Event::TransactionEnded { channel, .. } => (channel, false),
            Event::TransactionFailed { channel, .. } => (channel, false),
            _ => return,
        };
        if let Some(level) = self.0.get_mut(usize::from(channel)) {
            level.change(at, up);
        }
    }
    fn sample(&mut self, until: Instant, over: Duration, entries: &mut [f64]) {
        let (mean, each) = entries.split_at_mut(3);
        let (mut active, mut busy) = (0.0, 0);
        for (level, entries) in self.0.iter_mut().zip(each.chunks_exact_mut(2)) {
            entries[0] = level.take(until, over).0;
            entries[1] = level.seconds();
            active += entries[0];
            busy += level.before;
        }
        mean[0] = active / self.0.len() as f64;
        mean[1] = active;
        mean[2] = seconds(busy);
    }
}

/// Ways (chip enables) with a busy array.
pub struct Ways {
    ways: usize,
    channels: usize,
    each: bool,
    /// Until when each way is known to be busy, and the busy times that no sample has counted yet.
    until: Box<[Instant]>,
    work: VecDeque<(usize, Instant, Instant)>,
    /// The busy time of each way that samples have counted.
    before: Box<[Duration]>,
}

impl Ways {
    /// With `each`, every way has an entry of its own.
    pub fn new(geometry: &Geometry, each: bool) -> Self {
        let (channels, ways) = (usize::from(geometry.channels), usize::from(geometry.ways));
        let until = vec![Instant::ZERO; channels * ways].into_boxed_slice();
        let before = vec![Duration::ZERO; channels * ways].into_boxed_slice();
        Ways { ways, channels, each, until, work: VecDeque::new(), before }
    }
}

impl MonitorModule for Ways {
    fn name(&self) -> &str {
        ShippedModule::Ways.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        let mean = [
            TableEntry::new(
                "way_utilisation",
                "share of the time in which an array behind a way works, mean over ways",
            ),
            TableEntry::new("active_ways", "ways behind which an array works, mean over time"),
            TableEntry::total(
                "way_busy_seconds",
                "seconds that an array behind a way worked, summed over ways",
            ),
        ];
        let names = (0..self.channels).flat_map(|channel| (0..self.ways).map(move |way| (channel, way)));
        let each = names.filter(|_| self.each).flat_map(|(channel, way)| {
            let name = format!("channel_{channel}_way_{way}");
            [
                TableEntry::new(format!("{name}_utilisation"), "the same of one way"),
                TableEntry::total(&format!("{name}_busy_seconds"), "the same of one way"),
            ]
        });
        mean.into_iter().chain(each).collect()
    }
    fn event(&mut self, at: Instant, event: &Event) {
        let Event::ArrayBusy { channel, way, picoseconds, .. } = *event else { return };
        let place = usize::from(channel) * self.ways + usize::from(way);
        let Some(until) = self.until.get_mut(place).filter(|_| usize::from(way) < self.ways) else { return };
        let end = Instant::from_picos(at.as_picos().saturating_add(picoseconds));
        let from = at.max(*until);
        if end > from {
            self.work.push_back((place, from, end));
            *until = end;
        }
    }
    fn sample(&mut self, until: Instant, over: Duration, entries: &mut [f64]) {
        let (mean, each) = entries.split_at_mut(3);
        each.fill(0.0);
        let mut active = 0.0;
        let before = &mut self.before;
        self.work.retain_mut(|(place, from, end)| {
            let to = (*end).min(until);
            if to > *from {
                let busy = to.since(*from);
                let share = busy.as_picos() as f64 / over.as_picos() as f64;
                active += share;
                before[*place] += busy;
                if let Some(entry) = each.get_mut(2 * *place) {
                    *entry += share;
                }
                *from = to;
            }
            *end > until
        });
        for (busy, entries) in self.before.iter().zip(each.chunks_exact_mut(2)) {
            entries[1] = busy.as_secs_f64();
        }
        mean[0] = active / self.until.len() as f64;
        mean[1] = active;
        mean[2] = seconds(self.before.iter().map(|busy| u128::from(busy.as_picos())).sum());
    }
}

/// How long flash operations take, from issue to end.
pub struct FlashLatency {
    open: Box<[Vec<(Instant, u8, u32)>]>,
    /// For each kind in this sample: the number of operations, their total time in picoseconds, and the
    /// longest time.
    kinds: [(u64, u128, Duration); 3],
    /// Operations of each kind that ended, including those whose beginning was not seen.
    ended: [u64; 3],
    /// The total time of the operations in the samples before, by kind, in picoseconds. 128 bits, since
    /// many LUNs together accumulate more time than the clock.
    before: [u128; 3],
}

/// The most operations of a LUN that are followed at once.
const OPEN_MAX: usize = 4;

impl FlashLatency {
    /// For the LUNs of a drive.
    pub fn new(geometry: &Geometry) -> Self {
        let luns = geometry.total_luns() as usize;
        FlashLatency {
            open: vec![Vec::with_capacity(OPEN_MAX); luns].into_boxed_slice(),
            kinds: Default::default(),
            ended: [0; 3],
            before: [0; 3],
        }
    }
}

impl MonitorModule for FlashLatency {
    fn name(&self) -> &str {
        ShippedModule::FlashLatency.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        let kinds = [FlashKind::Read, FlashKind::Program, FlashKind::Erase];
        kinds
            .iter()
            .flat_map(|kind| {
                let name = kind.name();
                [
                    TableEntry::new(format!("flash_{name}s_per_second"), "flash operations ended"),
                    TableEntry::new(
                        format!("flash_{name}_mean_us"),
                        "from issue to end, mean, in microseconds",
                    ),
                    TableEntry::new(format!("flash_{name}_max_us"), "the longest, in microseconds"),
                    TableEntry::total(&format!("flash_{name}s"), "flash operations ended"),
                    TableEntry::total(
                        &format!("flash_{name}_seconds"),
                        "from issue to end, summed, in seconds",
                    ),
                ]
            })
            .collect()
    }
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::FlashIssued { lun, kind, row } => {
                if let Some(open) = self.open.get_mut(lun as usize).filter(|open| open.len() < OPEN_MAX) {
                    open.push((at, kind, row));
                }
            }
            Event::FlashFinished { lun, kind, row, .. } => {
                if let Some(ended) = self.ended.get_mut(usize::from(kind)) {
                    *ended += 1;
                }
                let Some(open) = self.open.get_mut(lun as usize) else { return };
                let Some(place) = open.iter().position(|(_, k, r)| (*k, *r) == (kind, row)) else { return };
                let took = at.since(open.remove(place).0);
                if let Some((count, sum, longest)) = self.kinds.get_mut(usize::from(kind)) {
                    *count += 1;
                    *sum += u128::from(took.as_picos());
                    *longest = took.max(*longest);
                }
            }
            _ => {}
        }
    }
    fn sample(&mut self, _: Instant, over: Duration, entries: &mut [f64]) {
        let kinds = core::mem::take(&mut self.kinds).into_iter().zip(self.ended).zip(&mut self.before);
        for ((((count, sum, longest), ended), before), entries) in kinds.zip(entries.chunks_exact_mut(5)) {
            *before += sum;
            entries[0] = per_second(count, over);
            entries[1] = ratio(sum as f64 / 1e6, count);
            entries[2] = if count == 0 { f64::NAN } else { longest.as_micros_f64() };
            entries[3] = ended as f64;
            entries[4] = seconds(*before);
        }
    }
}

/// What the ECC has corrected, and what it could not correct.
#[derive(Default)]
pub struct BitErrors {
    reads: u64,
    corrected: u64,
    most: u16,
    uncorrectable: u64,
    /// Corrected bits and uncorrectable reads of the samples before.
    before: [u64; 2],
}

impl MonitorModule for BitErrors {
    fn name(&self) -> &str {
        ShippedModule::BitErrors.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        vec![
            TableEntry::new("corrected_bits_per_read", "bits corrected in a flash read, mean"),
            TableEntry::new("corrected_bits_max", "the most in one flash read"),
            TableEntry::new("uncorrectable_reads", "flash reads that could not be corrected"),
            TableEntry::total("corrected_bits", "bits corrected in flash reads"),
            TableEntry::total("uncorrectable_reads", "flash reads that could not be corrected"),
        ]
    }
    fn event(&mut self, _: Instant, event: &Event) {
        match *event {
            Event::FlashFinished { kind: 0, status, corrected, .. } => {
                self.reads += 1;
                self.corrected += u64::from(corrected);
                self.most = self.most.max(corrected);
                self.uncorrectable += u64::from(status == 2);
            }
            // The read has ended before, with bits that were only detected.
            Event::PageCorrected { failed, corrected, .. } => {
                self.corrected += u64::from(corrected);
                self.most = self.most.max(corrected);
                self.uncorrectable += u64::from(failed > 0);
            }
            _ => {}
        }
    }
    fn sample(&mut self, _: Instant, _: Duration, entries: &mut [f64]) {
        let BitErrors { reads, corrected, most, uncorrectable, before } = core::mem::take(self);
        self.before = [before[0] + corrected, before[1] + uncorrectable];
        entries[0] = ratio(corrected as f64, reads);
        entries[1] = f64::from(most);
        entries[2] = uncorrectable as f64;
        entries[3] = self.before[0] as f64;
        entries[4] = self.before[1] as f64;
    }
}
