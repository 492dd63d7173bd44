//! Where the work's commands spent their time, and how long flash operations took.

use crate::words::counted;
use aster_events::{Event, EventSink, Function, Tee};
use aster_observe::{
    CommandSpan, FirmwareSpans, FlashKind, FlashSpans, LatencyHistogram, Lives, Piece, SpanTable, Spans,
    Stage,
};
use aster_run_virtual::Machine;
use aster_units::Instant;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::rc::Rc;

/// Command slots that are tracked: the 4,096 that a profile may have at most, and those that the front end
/// adds for admin commands.
pub(crate) const SLOTS: u16 = 8192;

/// Listens to a machine from its boot on, and measures from the beginning of the work on.
#[derive(Default)]
pub struct SpanSink {
    /// Spans that end before the work are tracked but not counted: a queue's doorbells can be interpreted
    /// only if all of them were seen.
    at_work: Rc<Cell<bool>>,
    stages: Rc<RefCell<SpanTable>>,
    commands: RefCell<Option<Rc<RefCell<dyn Lost>>>>,
    /// Lost before the work.
    lost_before: Cell<u64>,
    flash: RefCell<Option<Rc<RefCell<FlashSpans>>>>,
    firmware: RefCell<Option<(Instant, Rc<RefCell<FirmwareSpans>>)>>,
}

/// Queries to [`Spans`] that don't depend on its function type.
trait Lost {
    fn lost(&self) -> u64;
}

impl<F: FnMut(&CommandSpan)> Lost for Spans<F> {
    fn lost(&self) -> u64 {
        Spans::lost(self)
    }
}

impl SpanSink {
    /// Listens to `machine`, whose I/O queues have not been used yet, beside existing listeners.
    pub fn attach(&self, machine: &Machine) {
        let (stages, at_work) = (Rc::clone(&self.stages), Rc::clone(&self.at_work));
        let mut spans = Spans::new(SLOTS, move |span| {
            if at_work.get() {
                stages.borrow_mut().record(span);
            }
        });
        let driver = machine.driver();
        for queue in driver.queues() {
            // A queue holds one command less than it has entries (NVMe 1.4 §4.1.2).
            spans.queue_created(queue.0, driver.depth(queue) + 1);
        }
        let spans = Rc::new(RefCell::new(spans));
        add_to_commands(machine, &spans);
        *self.commands.borrow_mut() = Some(spans);
    }

    /// Measures from now on.
    pub fn begin(&self, machine: &Machine) {
        self.at_work.set(true);
        self.lost_before.set(self.lost());
        let geometry = machine.device().geometry();
        let luns = u32::from(geometry.channels) * geometry.luns_per_channel();
        let flash = Rc::new(RefCell::new(FlashSpans::new(luns)));
        add(machine, Tee::default().with(Rc::clone(&flash)));
        *self.flash.borrow_mut() = Some(flash);
        let firmware: Rc<RefCell<FirmwareSpans>> = Rc::default();
        add(machine, Tee::default().with(Rc::clone(&firmware)));
        *self.firmware.borrow_mut() = Some((machine.now(), firmware));
    }

    fn lost(&self) -> u64 {
        self.commands.borrow().as_ref().map_or(0, |spans| spans.borrow().lost())
    }

    /// The measurements so far.
    pub fn report(&self, machine: &Machine) -> SpanReport {
        let stages = self.stages.borrow();
        let steps = Stage::ALL[1..].iter().map(|stage| Row::of(stage.name(), stages.step(*stage)));
        let total = Row::of("total", stages.total());
        let flash = self.flash.borrow();
        let flash = flash.as_ref().map(|flash| flash.borrow());
        SpanReport {
            stages: steps.chain([total]).collect(),
            flash: flash
                .iter()
                .flat_map(|flash| FlashKind::ALL.map(|kind| FlashRow::of(flash, kind)))
                .collect(),
            firmware: self.firmware_rows(machine),
            lost: self.lost() - self.lost_before.get() + flash.as_ref().map_or(0, |flash| flash.lost()),
        }
    }
}

impl SpanSink {
    /// A row for each function that the drive's firmware spends time on.
    fn firmware_rows(&self, machine: &Machine) -> Vec<FirmwareRow> {
        let firmware = machine.device().firmware();
        let spent = self.firmware.borrow();
        let Some((from, spent)) = spent.as_ref() else { return Vec::new() };
        let (spent, over) = (spent.borrow(), machine.now().since(*from) * u64::from(firmware.cores));
        let row = |function: &Function| FirmwareRow {
            function: function.name(),
            count: spent.count(*function),
            ms: spent.time(*function).as_micros_f64() / 1e3,
            percent: 100.0 * spent.time(*function).as_micros_f64()
                / over.as_micros_f64().max(f64::MIN_POSITIVE),
        };
        firmware.functions.iter().map(row).collect()
    }
}

/// Adds `sink` to the listeners of the machine's drive.
pub fn add(machine: &Machine, sink: Tee) {
    Tee::add(machine.device().recorder(), sink);
}

/// Adds `sink` to the listeners of what serves the host's commands: the drive, or its target.
pub(super) fn add_to_commands(machine: &Machine, sink: &Rc<RefCell<impl EventSink + 'static>>) {
    Tee::add(machine.device().command_recorder(), Rc::clone(sink));
}

/// As [`add_to_commands`]. Where there is a target, `lives` also hears what the drive does of it, but nothing
/// of the drive's own commands.
pub(crate) fn add_lives(machine: &Machine, lives: &Rc<RefCell<Lives<impl FnMut(&Piece) + 'static>>>) {
    add_to_commands(machine, lives);
    if machine.device().below().is_some() {
        add(machine, Tee::default().with(OfDrive(Rc::clone(lives))));
    }
}

/// Passes on what the drive below does.
struct OfDrive<F>(Rc<RefCell<Lives<F>>>);

impl<F: FnMut(&Piece)> EventSink for OfDrive<F> {
    fn event(&mut self, at: Instant, event: &Event) {
        self.0.borrow_mut().below(at, event);
    }
}

/// Durations of one kind, in microseconds of simulated time.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    count: u64,
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    max_us: f64,
}

impl Row {
    fn of(name: &'static str, durations: &LatencyHistogram) -> Self {
        let quantile = |parts, of| durations.quantile(parts, of).as_micros_f64();
        Row {
            name,
            count: durations.count(),
            mean_us: durations.mean().as_micros_f64(),
            p50_us: quantile(1, 2),
            p99_us: quantile(99, 100),
            p999_us: quantile(999, 1000),
            max_us: durations.max().as_micros_f64(),
        }
    }
}

/// Flash operations of one kind.
#[derive(Serialize)]
struct FlashRow {
    #[serde(flatten)]
    durations: Row,
    /// Those that failed, were uncorrectable or ended with an error.
    unsuccessful: u64,
}

impl FlashRow {
    fn of(flash: &FlashSpans, kind: FlashKind) -> Self {
        FlashRow {
            durations: Row::of(kind.name(), flash.latency(kind)),
            unsuccessful: flash.unsuccessful(kind),
        }
    }
}

/// A function of the firmware.
#[derive(Serialize)]
struct FirmwareRow {
    function: &'static str,
    /// How often it was worked on.
    count: u64,
    /// Time, summed over all cores.
    ms: f64,
    /// Share of the cores' time.
    percent: f64,
}

/// Where the time of a run went.
#[derive(Serialize)]
pub struct SpanReport {
    /// From each stage to the next, and in total.
    stages: Vec<Row>,
    /// By kind.
    flash: Vec<FlashRow>,
    /// By function, on the firmware's cores.
    firmware: Vec<FirmwareRow>,
    /// Commands and flash operations whose beginning or end wasn't seen.
    lost: u64,
}

impl SpanReport {
    /// As a table for people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let head = ["count", "mean µs", "p50", "p99", "p99.9", "max"];
        let mut line = |name: &str, cells: [String; 6]| {
            let _ = write!(out, "{name:<14}");
            for cell in cells {
                let _ = write!(out, "  {cell:>10}");
            }
            out.push('\n');
        };
        line("stage", head.map(str::to_owned));
        for row in &self.stages {
            line(row.name, row.cells());
        }
        for row in &self.flash {
            line(&format!("flash {}", row.durations.name), row.durations.cells());
        }
        for row in self.flash.iter().filter(|row| row.unsuccessful > 0) {
            let were = if row.unsuccessful == 1 { "was" } else { "were" };
            let operations = counted(row.unsuccessful, &format!("flash {}", row.durations.name));
            let _ = writeln!(out, "{operations} {were} unsuccessful.");
        }
        if !self.firmware.is_empty() {
            let _ = writeln!(out, "\n{:<22}  {:>10}  {:>10}  {:>6}", "firmware", "count", "ms", "%");
            for FirmwareRow { function, count, ms, percent } in &self.firmware {
                let name = function.replace('_', " ");
                let _ = writeln!(out, "{name:<22}  {count:>10}  {ms:>10.3}  {percent:>6.1}");
            }
            let all: (f64, f64) =
                self.firmware.iter().fold((0.0, 0.0), |sum, row| (sum.0 + row.ms, sum.1 + row.percent));
            let _ = writeln!(out, "{:<22}  {:>10}  {:>10.3}  {:>6.1}", "in all", "", all.0, all.1);
        }
        if self.lost > 0 {
            let text = match self.lost {
                1 => "1 span is not in the table: one of its ends was not seen.",
                lost => &format!("{lost} spans are not in the table: one of their ends was not seen."),
            };
            let _ = writeln!(out, "{text}");
        }
        out
    }
}

impl Row {
    fn cells(&self) -> [String; 6] {
        let us = |time: f64| if self.count == 0 { "–".into() } else { format!("{time:.2}") };
        let times = [self.mean_us, self.p50_us, self.p99_us, self.p999_us, self.max_us].map(us);
        let [mean, p50, p99, p999, max] = times;
        [self.count.to_string(), mean, p50, p99, p999, max]
    }
}
