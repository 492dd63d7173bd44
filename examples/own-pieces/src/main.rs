//! Aster with pieces of one's own: a flash operation, a transaction scheduler and a task scheduler
//! (docs/schedulers.md), a module of the operation monitor (docs/observability.md), and a job file run on a
//! drive that has them.

use aster_device::plug::{
    Arbiter, ChannelPort, Descriptor, FlashOp, FlashTask, Lun, Running, TaskScheduler, TransactionClass, onfi,
};
use aster_device::profile::{Profile, shipped};
use aster_device::units::{ChannelId, Duration, Instant, LunIndex};
use aster_device::{Device, Media, Pieces};
use aster_events::{Event, Recorder};
use aster_lab::own::{self, OwnWork, Place, Preconditioning, Setup};
use aster_lab::report::{RunReport, table};
use aster_lab::watch::{Watch, Watchers};
use aster_observe::monitor::{MonitorModule, OperationMonitor, Sample, ShippedModule, TableEntry};
use aster_run_bench::{Bench, BenchOperation, BenchWork, Pattern};
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

/// An operation: does the package answer READ ID at address 20h with "ONFI" (ONFI 5.1, READ ID)?
async fn is_onfi(lun: Lun) -> bool {
    let mut txn = lun.txn("is it ONFI?");
    txn.cmd(onfi::command::READ_ID).addr(0x20).describe(Descriptor::mailbox_out()).data_read(4);
    let result = lun.issue(txn).finished().await;
    result.is_ok_and(|done| done.mailbox.to_le_bytes().starts_with(b"ONFI"))
}

/// A transaction scheduler: status before all else, then whoever was issued first. Counts how often that
/// changed the order.
struct StatusFirst {
    overtakes: Rc<Cell<u32>>,
}

impl Arbiter for StatusFirst {
    fn grant(&mut self, channel: &ChannelPort, waiting: &[u16]) -> usize {
        let is_status = |slot: &u16| channel.waiting(*slot).class() == TransactionClass::Status;
        let chosen = waiting.iter().position(is_status).unwrap_or(0);
        self.overtakes.set(self.overtakes.get() + u32::from(chosen > 0));
        chosen
    }
}

/// A task scheduler: first come, first served, and at most so many operations on the drive at once, as a
/// small power supply allows.
struct PowerBudget {
    operations_max: u32,
    peak: Rc<Cell<u32>>,
}

impl TaskScheduler for PowerBudget {
    fn choose(&mut self, _: LunIndex, _: &mut dyn Iterator<Item = FlashOp>) -> usize {
        0
    }
    fn admits(&mut self, _: &FlashTask, running: Running) -> bool {
        let admitted = running.drive < self.operations_max;
        if admitted {
            self.peak.set(self.peak.get().max(running.drive + 1));
        }
        admitted
    }
}

/// A module of the operation monitor: bytes over the channels' buses, and in how many transactions.
#[derive(Default)]
struct Buses {
    bytes: u64,
    transactions: u64,
}

impl MonitorModule for Buses {
    fn name(&self) -> &str {
        "buses"
    }
    fn entries(&self) -> Vec<TableEntry> {
        vec![
            TableEntry::new("bus_bytes_per_second", "bytes over the channels' buses"),
            TableEntry::new("bus_bytes_per_transaction", "the same of a transaction, mean"),
        ]
    }
    fn event(&mut self, _: Instant, event: &Event) {
        if let Event::TransactionEnded { bytes, .. } = event {
            self.bytes += u64::from(*bytes);
            self.transactions += 1;
        }
    }
    fn sample(&mut self, _: Instant, over: Duration, entries: &mut [f64]) {
        let Buses { bytes, transactions } = std::mem::take(self);
        entries[0] = bytes as f64 / over.as_secs_f64();
        entries[1] = bytes as f64 / transactions as f64;
    }
}

/// A drive of one's own: what the file leaves out has its default, and what is wrong in it is told by line
/// and key.
fn own_profile(path: &Path) -> Result<Profile, Box<dyn Error>> {
    Ok(Profile::parse(&path.display().to_string(), &std::fs::read_to_string(path)?)?)
}

/// What `aster run --json` prints of a run, as a file that other programs read.
fn write_json(report: &RunReport, path: &Path) -> Result<(), Box<dyn Error>> {
    Ok(std::fs::write(path, serde_json::to_string_pretty(report)?)?)
}

/// What is wrong is told in words: a bad key by file, line and reason.
pub fn main() -> ExitCode {
    match show() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn show() -> Result<(), Box<dyn Error>> {
    let profile = shipped("tiny")?;

    // One channel with eight LUNs, no FTL: our arbiter chooses who owns it.
    let overtakes = Rc::new(Cell::new(0));
    let counted = Rc::clone(&overtakes);
    let arbiter = move |_: ChannelId, _slots: usize| -> Box<dyn Arbiter> {
        Box::new(StatusFirst { overtakes: Rc::clone(&counted) })
    };
    let pieces = Pieces { arbiter: Some(Box::new(arbiter)), ..Pieces::default() };
    let bench = Bench::power_on_with(pieces, &profile, 8, 32, None, &Recorder::default())?;
    println!(
        "own operation: LUN 0 {} ONFI",
        if bench.operate(0, is_onfi) { "speaks" } else { "doesn't speak" }
    );
    let work = BenchWork {
        operation: BenchOperation::Read,
        pattern: Pattern::Random,
        requests: 500,
        time: None,
        sectors: None,
        seed: 1,
    };
    let mut right = 0;
    let prepared = bench.prepare(&work, &mut |_share| true)?;
    bench.run(prepared, &mut |sample| {
        right += u32::from(sample.right);
        true
    });
    println!("own transaction scheduler: {right} pages right, status overtook {} times", overtakes.get());

    // Everything that `aster run` does, on a drive with our task scheduler: a job file, preconditioning, what
    // listens, the report.
    let peak = Rc::new(Cell::new(0));
    let budget = PowerBudget { operations_max: 3, peak: Rc::clone(&peak) };
    let pieces = Pieces { tasks: Some(Box::new(budget)), ..Pieces::default() };
    let own = own_profile(Path::new("own.toml"))?;
    let setup = Setup { precondition: Some(Preconditioning::Overwritten(0)), ..Setup::new("own", own) };
    let work = OwnWork::jobs("mixed.fio", "[mixed]\nrw=randrw\nbs=4k\niodepth=16\nnumber_ios=400\n", true)?;
    let place = Place::new(&setup, None)?;
    let watchers = Watchers::new(&Watch { spans: true, ..Watch::default() })?;
    let outcome = own::run(&setup, pieces, work, place, watchers, &mut |_phase, _share| true)?;
    let (kinds, drive) = (&outcome.report.tasks[0].kinds, &outcome.report.drive);
    let requests: u64 = kinds.iter().map(|kind| kind.requests).sum();
    print!("{}", table(std::slice::from_ref(&outcome.report)));
    println!(
        "own job: {requests} requests, {} failed, {} flash reads, {} operations at once at most",
        outcome.report.failures(),
        drive.flash_reads,
        peak.get()
    );

    let path = std::env::temp_dir().join(format!("own-pieces-{}.json", std::process::id()));
    write_json(&outcome.report, &path)?;
    let read: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    std::fs::remove_file(&path)?;
    println!(
        "own report: {} requests, on {}",
        read["total"]["all"]["requests"], read["provenance"]["profile"]["name"]
    );

    // A drive by itself: our task scheduler admits what runs.
    let peak = Rc::new(Cell::new(0));
    let budget = PowerBudget { operations_max: 3, peak: Rc::clone(&peak) };
    let pieces = Pieces { tasks: Some(Box::new(budget)), ..Pieces::default() };
    let recorder = Recorder::default();
    let drive = Device::power_on_with(pieces, "own", &profile, None, Media::fresh(), &recorder)?;

    // The operation monitor of that drive: one module that comes along, and ours. The samples' bytes are
    // added up.
    let moved = Rc::new(Cell::new(0.0));
    let into = Rc::clone(&moved);
    let each = move |entries: &[TableEntry], sample: Sample<'_>| {
        let over = sample.until.since(sample.from).as_secs_f64();
        let rate = entries.iter().position(|entry| entry.name == "bus_bytes_per_second");
        into.set(into.get() + rate.map_or(0.0, |place| sample.values[place] * over));
    };
    let mut monitor = OperationMonitor::new(Duration::from_millis(1), drive.now(), each);
    let channels = ShippedModule::Channels.build(drive.geometry(), drive.firmware(), false);
    monitor.insert(drive.now(), channels)?;
    monitor.insert(drive.now(), Box::new(Buses::default()))?;
    let monitor = Rc::new(RefCell::new(monitor));
    recorder.attach(Rc::clone(&monitor));
    while let Some(next) = drive.next_deadline().filter(|_| drive.is_booting()) {
        drive.advance_to(next);
    }
    println!("own task scheduler: booted at {}, {} operations at once at most", drive.now(), peak.get());
    let mut monitor = monitor.borrow_mut();
    monitor.sample_now(drive.now());
    let entries = monitor.entries().len();
    monitor.remove("buses");
    println!(
        "own monitor module: {:.0} bytes over the buses; {entries} entries with it, {} without",
        moved.get(),
        monitor.entries().len()
    );
    Ok(())
}
