//! Measures one channel: requests injected at its controller, with no FTL above (B22).

use crate::latency::Spread;
use crate::report::{KindReport, rate_text};
use aster_device::control::SegmentKind;
use aster_device::profile::{ControllerName, Profile};
use aster_events::Recorder;
use aster_run_bench::{
    Bench, BenchError, BenchOperation, BenchWork, FlashStatus, Limits, Pattern, Prepared, Ran, Sample,
    WorkKind,
};
use aster_units::Content;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

/// What is measured, and how.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The profile's name, for the report.
    pub name: String,
    /// Package, bus and controller.
    pub profile: Profile,
    /// LUNs on the channel.
    pub luns: u8,
    /// Requests in flight.
    pub depth: u16,
    /// How pages keep their content; as in the profile when absent.
    pub content: Option<Content>,
    /// Hours by which the cells age between programming and measurement.
    pub age_hours: u32,
    /// The row of the package's level table that reads use (READ RETRY); a fresh part's when absent.
    pub read_level: Option<u8>,
    /// The injected requests.
    pub work: BenchWork,
}

/// A part of the measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BenchStage {
    /// Programs the pages that reads will read.
    Prepare,
    /// The work.
    Measure,
}

/// A measurement's results.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct ChannelReport {
    /// The profile.
    pub profile: String,
    /// `software`, `synchronous` or `asynchronous`.
    pub controller: &'static str,
    /// LUNs on the channel.
    pub luns: u8,
    /// The bus rate in 10⁶ transfers per second.
    pub mt_per_s: f64,
    /// `read`, `program`, `erase`, `mixed`, or a flash operation such as `read-cache`.
    pub operation: &'static str,
    /// `sequential` or `random`.
    pub pattern: &'static str,
    /// Requests in flight.
    pub depth: u16,
    /// A report for each kind of request.
    pub kinds: Vec<KindReport>,
    /// The row of the level table that reads used; absent unless it was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_level: Option<u8>,
    /// Bits that the code corrected.
    pub corrected_bits: u64,
    /// Reads with more errors than the code corrects.
    pub uncorrectable_reads: u64,
    /// Requests that failed or returned wrong content.
    pub failures: u64,
    /// The first of them as text.
    pub first_failure: Option<String>,
    /// Operations per simulated second, without erases before programs; absent when no simulated time passed.
    pub iops: Option<f64>,
    /// Share of the time that the channel was owned; absent when no simulated time passed.
    pub channel_utilisation: Option<f64>,
    /// Transactions on the bus.
    pub transactions: u64,
    /// Control words by kind; absent unless the controller is asynchronous.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_words: Option<BTreeMap<&'static str, u64>>,
    /// Operations per second of a bus that only strobes the bytes that must move; absent when none must.
    pub bus_limit_iops: Option<f64>,
    /// The same in 10⁶ data bytes per second.
    pub bus_limit_mb_per_s: Option<f64>,
    /// Operations per second of LUNs whose arrays are always at work or moving their own bytes.
    pub array_limit_iops: f64,
    /// Percentage reached of the lower of the two limits; absent when no simulated time passed.
    pub limit_percent: Option<f64>,
    /// Simulated seconds that it took.
    pub simulated_s: f64,
    /// Wall-clock seconds that it took.
    pub wall_s: f64,
}

/// Runs a measurement. It calls `progress` with each stage's share done, which stops the measurement by
/// `false`; `begins` with the prepared bench; and `follows` after every request with the number of requests
/// so far.
///
/// # Errors
/// When the bench can't be built. Failed requests are in the report instead.
pub fn run(
    setup: &Setup,
    recorder: &Recorder,
    progress: &mut dyn FnMut(BenchStage, f64) -> bool,
    begins: &mut dyn FnMut(&Bench),
    follows: &mut dyn FnMut(&Bench, u64),
) -> Result<ChannelReport, BenchError> {
    let wall = Instant::now();
    let bench = Bench::power_on(&setup.profile, setup.luns, setup.depth, setup.content, recorder)?;
    let prepared: Prepared = bench.prepare(&setup.work, &mut |share| progress(BenchStage::Prepare, share))?;
    bench.set_age_hours(setup.age_hours);
    if let Some(level) = setup.read_level {
        bench.set_read_level(level)?;
    }
    let counted = bench.access_counts();
    begins(&bench);
    let started = bench.now();
    let mut tally = Tally::default();
    let ran = bench.run(prepared, &mut |sample| {
        tally.add(sample);
        follows(&bench, tally.requests);
        let of_time = setup.work.time.map_or(0.0, |time| {
            bench.now().since(started).as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE)
        });
        let asked = tally.asked(setup.work.operation);
        progress(BenchStage::Measure, of_time.max(asked as f64 / setup.work.requests as f64))
    });
    let control_words = bench.access_counts().zip(counted).map(|(after, before)| {
        SegmentKind::ALL.map(|kind| (kind.name(), after.of(kind) - before.of(kind))).into_iter().collect()
    });
    Ok(report(setup, &bench, &tally, &ran, control_words, wall.elapsed().as_secs_f64()))
}

/// Requests that have ended.
struct Tally {
    requests: u64,
    kinds: [(u64, u64, Spread); 3],
    corrected_bits: u64,
    uncorrectable_reads: u64,
    failures: u64,
    first_failure: Option<String>,
}

const KINDS: [(WorkKind, &str); 3] =
    [(WorkKind::Read, "read"), (WorkKind::Program, "program"), (WorkKind::Erase, "erase")];

impl Default for Tally {
    fn default() -> Self {
        let kinds = KINDS.map(|_| (0, 0, Spread::default()));
        Tally {
            requests: 0,
            kinds,
            corrected_bits: 0,
            uncorrectable_reads: 0,
            failures: 0,
            first_failure: None,
        }
    }
}

impl Tally {
    fn add(&mut self, sample: &Sample) {
        self.requests += 1;
        let at = KINDS.iter().position(|(kind, _)| *kind == sample.kind).unwrap_or_default();
        let (requests, bytes, latencies) = &mut self.kinds[at];
        *requests += 1;
        *bytes += u64::from(sample.bytes);
        latencies.record(sample.latency);
        self.corrected_bits += u64::from(sample.corrected);
        self.uncorrectable_reads += u64::from(sample.status == FlashStatus::Uncorrectable);
        if let Some(failure) = failure(sample) {
            self.failures += 1;
            self.first_failure.get_or_insert_with(|| format!("{} {failure}", KINDS[at].1));
        }
    }

    /// The requested operations: without erases before programs, and without the reads during a suspend.
    fn asked(&self, operation: BenchOperation) -> u64 {
        let [reads, programs, erases] = [0, 1, 2].map(|kind: usize| self.kinds[kind].0);
        let own = match operation {
            BenchOperation::Mixed => return reads + programs,
            BenchOperation::Read => WorkKind::Read,
            BenchOperation::Program => WorkKind::Program,
            BenchOperation::Erase => WorkKind::Erase,
            BenchOperation::Flash(operation) => operation.kind(),
        };
        match own {
            WorkKind::Read => reads,
            WorkKind::Program => programs,
            WorkKind::Erase => erases,
        }
    }
}

fn failure(sample: &Sample) -> Option<String> {
    let what = match sample.status {
        FlashStatus::Done if sample.right => return None,
        FlashStatus::Done => "brought other content than was programmed",
        FlashStatus::Failed => "failed in the array",
        FlashStatus::Busy => "found the LUN busy",
        FlashStatus::Uncorrectable => "brought more errors than the code corrects",
        FlashStatus::Dead => "was not carried out, since the LUN has been given up",
        FlashStatus::Error => match &sample.fault {
            Some(fault) => return Some(format!("was not carried out: {fault}")),
            None => "was not carried out",
        },
    };
    Some(what.to_owned())
}

fn report(
    setup: &Setup,
    bench: &Bench,
    tally: &Tally,
    ran: &Ran,
    control_words: Option<BTreeMap<&'static str, u64>>,
    wall_s: f64,
) -> ChannelReport {
    let seconds = ran.simulated.as_secs_f64();
    let rate = |amount: f64| (seconds > 0.0).then(|| amount / seconds);
    let kinds = tally.kinds.iter().zip(KINDS).filter(|((requests, ..), _)| *requests > 0);
    let kinds = kinds.map(|((requests, bytes, latencies), (_, kind))| KindReport {
        kind,
        requests: *requests,
        bytes: *bytes,
        iops: rate(*requests as f64),
        mb_per_s: rate(*bytes as f64 / 1e6),
        latency: latencies.report(),
        latency_from_arrival: None,
    });
    let limits: Limits = bench.limits(&setup.work);
    let iops = rate(tally.asked(setup.work.operation) as f64);
    ChannelReport {
        profile: setup.name.clone(),
        controller: controller_name(setup.profile.channel.controller),
        luns: setup.luns,
        mt_per_s: bench.transfers_per_second() / 1e6,
        operation: operation_name(setup.work.operation),
        pattern: match setup.work.pattern {
            Pattern::Sequential => "sequential",
            Pattern::Random => "random",
        },
        depth: setup.depth,
        kinds: kinds.collect(),
        read_level: setup.read_level,
        corrected_bits: tally.corrected_bits,
        uncorrectable_reads: tally.uncorrectable_reads,
        failures: tally.failures,
        first_failure: tally.first_failure.clone(),
        iops,
        channel_utilisation: rate(ran.channel.busy.as_secs_f64()),
        transactions: ran.channel.transactions,
        control_words,
        bus_limit_iops: limits.bus,
        bus_limit_mb_per_s: limits.bus.map(|bus| bus * limits.data_bytes / 1e6),
        array_limit_iops: limits.array,
        limit_percent: iops.map(|iops| iops / limits.least() * 100.0),
        simulated_s: seconds,
        wall_s,
    }
}

/// A controller's name in profiles and reports.
pub fn controller_name(controller: ControllerName) -> &'static str {
    match controller {
        ControllerName::Software => "software",
        ControllerName::Synchronous => "synchronous",
        ControllerName::Asynchronous => "asynchronous",
    }
}

fn operation_name(operation: BenchOperation) -> &'static str {
    match operation {
        BenchOperation::Read => "read",
        BenchOperation::Program => "program",
        BenchOperation::Erase => "erase",
        BenchOperation::Mixed => "mixed",
        BenchOperation::Flash(operation) => operation.name(),
    }
}

impl ChannelReport {
    /// The report for people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{}: {} controller, {} LUN{} at {:.0} MT/s, {} {}, {} in flight\n",
            self.profile,
            self.controller,
            self.luns,
            if self.luns == 1 { "" } else { "s" },
            self.mt_per_s,
            self.operation,
            self.pattern,
            self.depth,
        );
        let _ = writeln!(
            out,
            "{:<9}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
            "", "MB/s", "IOPS", "mean µs", "p50", "p99", "p99.9", "max"
        );
        for kind in &self.kinds {
            let latency = |of: fn(&crate::report::LatencyReport) -> f64| {
                kind.latency.as_ref().map_or("–".to_owned(), |latency| format!("{:.1}", of(latency)))
            };
            let number = |value: Option<f64>, digits: usize| {
                value.map_or("–".to_owned(), |value| rate_text(value, digits))
            };
            let _ = writeln!(
                out,
                "{:<9}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
                kind.kind,
                number(kind.mb_per_s, 1),
                number(kind.iops, 0),
                latency(|l| l.mean_us),
                latency(|l| l.p50_us),
                latency(|l| l.p99_us),
                latency(|l| l.p999_us),
                latency(|l| l.max_us),
            );
        }
        let requests: u64 = self.kinds.iter().map(|kind| kind.requests).sum();
        let _ = writeln!(
            out,
            "\nchannel  owned {:.1} % of {:.3} ms simulated, {:.2} transactions a request",
            self.channel_utilisation.unwrap_or_default() * 100.0,
            self.simulated_s * 1e3,
            self.transactions as f64 / requests.max(1) as f64,
        );
        let bus = match (self.bus_limit_mb_per_s, self.bus_limit_iops) {
            (Some(mb), Some(iops)) => format!("bus {mb:.1} MB/s ({iops:.0} IOPS), "),
            _ => String::new(),
        };
        let _ = writeln!(
            out,
            "limits   {bus}array {:.0} IOPS: {:.2} % of the lower one",
            self.array_limit_iops,
            self.limit_percent.unwrap_or_default(),
        );
        if self.corrected_bits + self.uncorrectable_reads > 0 {
            let level = self.read_level.map_or(String::new(), |level| format!(" at read level {level}"));
            let _ = writeln!(
                out,
                "errors   {:.1} bits corrected a read, {} reads uncorrectable{level}",
                self.corrected_bits as f64 / self.kinds[0].requests.max(1) as f64,
                self.uncorrectable_reads,
            );
        }
        if let Some(words) = &self.control_words {
            let words: Vec<_> =
                words.iter().filter(|(_, n)| **n > 0).map(|(kind, n)| format!("{n} {kind}")).collect();
            let _ = writeln!(out, "words    {}", words.join(", "));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_device::profile::shipped;

    fn measured(controller: ControllerName, work: BenchWork) -> ChannelReport {
        let mut profile = shipped("ideal").unwrap();
        profile.channel.controller = controller;
        let setup = Setup {
            name: "ideal".into(),
            profile,
            luns: 4,
            depth: 8,
            content: None,
            age_hours: 0,
            read_level: None,
            work,
        };
        run(&setup, &Recorder::default(), &mut |_, _| true, &mut |_| {}, &mut |_, _| {}).unwrap()
    }

    const READS: BenchWork = BenchWork {
        operation: BenchOperation::Read,
        pattern: Pattern::Sequential,
        requests: 200,
        time: None,
        sectors: None,
        seed: 1,
    };

    #[test]
    fn the_same_measurement_gives_the_same_report() {
        let once = ChannelReport { wall_s: 0.0, ..measured(ControllerName::Synchronous, READS) };
        assert_eq!(once, ChannelReport { wall_s: 0.0, ..measured(ControllerName::Synchronous, READS) });
        assert_eq!((once.failures, once.kinds.len(), once.kinds[0].requests), (0, 1, 200));
    }

    #[test]
    fn control_words_are_counted_for_the_work_alone_and_only_where_there_are_any() {
        let words = measured(ControllerName::Asynchronous, READS).control_words.unwrap();
        assert_eq!((words["read"], words["read transfer"], words["program"]), (200, 200, 0));
        assert!(words["read status"] >= 200);
        assert_eq!(measured(ControllerName::Software, READS).control_words, None);
    }

    #[test]
    fn erases_have_no_bus_limit_and_no_bytes() {
        let report =
            measured(ControllerName::Synchronous, BenchWork { operation: BenchOperation::Erase, ..READS });
        assert_eq!((report.bus_limit_iops, report.bus_limit_mb_per_s), (None, None));
        assert_eq!(report.kinds[0].mb_per_s, Some(0.0));
        assert!(report.table().contains("array"), "{}", report.table());
    }

    #[test]
    fn reading_a_part_of_each_page_moves_fewer_bytes_faster() {
        let whole = measured(ControllerName::Synchronous, READS);
        let part = measured(ControllerName::Synchronous, BenchWork { sectors: Some(1), ..READS });
        assert_eq!(part.kinds[0].bytes * 4, whole.kinds[0].bytes);
        assert!(part.iops > whole.iops && part.bus_limit_iops > whole.bus_limit_iops);
    }

    #[test]
    fn a_measurement_that_is_stopped_before_it_begins_has_no_rates() {
        let setup = Setup {
            name: "ideal".into(),
            profile: shipped("ideal").unwrap(),
            luns: 1,
            depth: 1,
            content: None,
            age_hours: 0,
            read_level: None,
            work: READS,
        };
        let report =
            run(&setup, &Recorder::default(), &mut |_, _| false, &mut |_| {}, &mut |_, _| {}).unwrap();
        assert_eq!((report.iops, report.limit_percent, report.kinds.len()), (None, None, 0));
        assert!(!report.table().is_empty());
    }
}
