//! Where the operation monitor's samples go while a drive is served: a serial side band (C46), and
//! Prometheus.

use crate::address::refusal;
use crate::pty::Pty;
use aster_dashboard::TextPage;
use aster_device::{Device, StatisticsLog};
use aster_events::Recorder;
use aster_lab::asked::failure::Failure;
use aster_lab::watch::{insert, object};
use aster_observe::monitor::{EntryKind, OperationMonitor, Sample, ShippedModule, TableEntry};
use aster_run_live::Status;
use aster_units::{Duration, Instant};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;

/// Samples are taken with the server's status, once per second of wall-clock time: the drive's own time may
/// pass at another rate. So the monitor's own interval never ends.
const NEVER: Duration = Duration::from_secs(10_000_000);

type Sink = Box<dyn FnMut(&[TableEntry], Sample<'_>)>;

/// Listens to a drive that is served.
pub(crate) struct SideBand {
    monitor: Rc<RefCell<OperationMonitor<Sink>>>,
    page: Option<TextPage>,
    metrics: Rc<RefCell<Metrics>>,
    /// Where the monitor listens.
    recorders: [Recorder; 2],
}

/// All listeners of the drive go: otherwise terminal and link would live as long as the drive's recorders.
impl Drop for SideBand {
    fn drop(&mut self) {
        for recorder in &self.recorders {
            drop(recorder.detach());
        }
    }
}

/// What the user asked for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// A link to the pseudo-terminal.
    pub(crate) pty: Option<&'a Path>,
    /// The address for Prometheus.
    pub(crate) prometheus: Option<SocketAddr>,
    /// Whether hosts fetch samples.
    pub(crate) log: bool,
}

impl SideBand {
    /// Lets `modules` listen to `device`, beside existing listeners, and serves what is `wanted`; `None` when
    /// that is nothing. Also returns messages for people.
    ///
    /// # Errors
    /// When the terminal or the address isn't available.
    pub(crate) fn open(
        wanted: Wanted<'_>,
        modules: &[ShippedModule],
        device: &Device,
    ) -> Result<Option<(Self, Vec<String>)>, Failure> {
        if wanted.pty.is_none() && wanted.prometheus.is_none() && !wanted.log {
            return Ok(None);
        }
        let mut notes = Vec::new();
        let mut line = match wanted.pty {
            Some(path) => {
                let line = SampleLine::open(path).map_err(|error| Failure::file(path, error))?;
                notes.push(format!("samples, one line per second, at {}", path.display()));
                Some(line)
            }
            None => None,
        };
        let page = match wanted.prometheus {
            Some(address) => {
                let page = metrics_page(address).map_err(|error| {
                    Failure::usage(format!("--prometheus {address}: {}", refusal(&error)))
                })?;
                notes.push(format!("Prometheus at http://{}/metrics", page.address()));
                Some(page)
            }
            None => None,
        };
        let log = wanted.log.then(|| device.statistics_log());
        if log.is_some() {
            notes.push("the host fetches samples by: nvme get-log DEVICE -i 0xc0 -l 4096 -b".to_owned());
        }
        let metrics = Rc::new(RefCell::new(Metrics::default()));
        let into = page.is_some().then(|| Rc::clone(&metrics));
        let each: Sink = Box::new(move |entries, sample| {
            if let Some(line) = &mut line {
                line.send(entries, sample);
            }
            if let Some(log) = &log {
                log.put(within(StatisticsLog::BYTES, entries, sample).as_bytes());
            }
            if let Some(into) = &into {
                *into.borrow_mut() = Metrics::of(entries, sample);
            }
        });
        let mut monitor = OperationMonitor::new(NEVER, Instant::ZERO, each);
        insert(&mut monitor, Instant::ZERO, modules, device, false);
        let monitor = Rc::new(RefCell::new(monitor));
        device.listen(Rc::clone(&monitor));
        let recorders = [device.recorder().clone(), device.command_recorder().clone()];
        Ok(Some((SideBand { monitor, page, metrics, recorders }, notes)))
    }

    /// A status of the server: takes a sample, and brings Prometheus's page up to date. If the drive's time
    /// has not moved, there is no sample.
    pub(crate) fn show(&self, status: &Status) {
        self.metrics.borrow_mut().gauges.clear();
        self.monitor.borrow_mut().sample_now(status.simulated);
        if let Some(page) = &self.page {
            let Metrics { gauges, counters } = &*self.metrics.borrow();
            page.put([of_status(status).as_str(), gauges, counters].concat());
        }
    }
}

/// Sends samples out of a pseudo-terminal, in the role of the board's UART.
struct SampleLine {
    pty: Pty,
    /// A line was sent only in part: a line end must follow.
    torn: bool,
}

impl SampleLine {
    fn open(link: &Path) -> io::Result<Self> {
        Ok(SampleLine { pty: Pty::open(link)?, torn: false })
    }

    /// Sends a sample. What nobody reads is dropped when the line is full (C48).
    fn send(&mut self, entries: &[TableEntry], sample: Sample<'_>) {
        let line = serde_json::to_string(&object(entries, sample)).expect("numbers are JSON");
        let text = format!("{}{line}\n", if self.torn { "\n" } else { "" });
        // On a full line or any other error the drive continues.
        if let Ok(sent) = self.pty.controller().write(text.as_bytes()) {
            self.torn = sent < text.len() && (sent > 0 || self.torn);
        }
    }
}

/// A sample as a line of at most `bytes`. What there is no room for is left out: entries of single ways
/// first, then those of single channels, then others, the last first; `left_out` says how many.
fn within(bytes: usize, entries: &[TableEntry], sample: Sample<'_>) -> String {
    let mut places: Vec<usize> = (0..entries.len()).collect();
    places.sort_by_key(|&place| one_of_many(&entries[place].name));
    let line = |count: usize| {
        let mut kept = places[..count].to_vec();
        kept.sort_unstable();
        let values: Vec<f64> = kept.iter().map(|&place| sample.values[place]).collect();
        let kept: Vec<TableEntry> = kept.iter().map(|&place| entries[place].clone()).collect();
        let mut told = object(&kept, Sample { values: &values, ..sample });
        if count < entries.len() {
            told.insert("left_out".to_owned(), (entries.len() - count).into());
        }
        serde_json::to_string(&told).expect("numbers are JSON") + "\n"
    };
    let whole = line(entries.len());
    if whole.len() <= bytes {
        return whole;
    }
    let counts: Vec<usize> = (1..entries.len()).collect();
    line(counts.partition_point(|&count| line(count).len() <= bytes))
}

/// 2 for an entry of one way, 1 for one of one channel, 0 for others.
fn one_of_many(name: &str) -> u8 {
    let behind = |name: &str, what: &str| -> Option<String> {
        let rest = name.strip_prefix(what)?.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() + what.len() < name.len()).then(|| rest.to_owned())
    };
    behind(name, "channel_").map_or(0, |rest| 1 + u8::from(behind(&rest, "_way_").is_some()))
}

/// A metric in Prometheus's text format, version 0.0.4.
fn metric(out: &mut String, name: &str, help: &str, kind: EntryKind, value: f64) {
    let kind = match kind {
        EntryKind::Gauge => "gauge",
        EntryKind::Counter => "counter",
    };
    let value = if value.is_nan() { "NaN".to_owned() } else { value.to_string() };
    let _ = writeln!(out, "# HELP aster_{name} {help}\n# TYPE aster_{name} {kind}\naster_{name} {value}");
}

fn gauge(out: &mut String, name: &str, help: &str, value: f64) {
    metric(out, name, help, EntryKind::Gauge, value);
}

/// A sample as metrics.
#[derive(Default)]
struct Metrics {
    /// Of this sample alone.
    gauges: String,
    /// Kept until the next sample: if a counter disappeared for a while, Prometheus would lose its history.
    counters: String,
}

impl Metrics {
    fn of(entries: &[TableEntry], sample: Sample<'_>) -> Self {
        let mut metrics = Metrics::default();
        for (entry, value) in entries.iter().zip(sample.values) {
            let out = match entry.kind {
                EntryKind::Gauge => &mut metrics.gauges,
                EntryKind::Counter => &mut metrics.counters,
            };
            metric(out, &entry.name, entry.help, entry.kind, *value);
        }
        let until = sample.until.since(Instant::ZERO).as_secs_f64();
        let help = "simulated time at the end of the sample";
        gauge(&mut metrics.gauges, "sampled_simulated_seconds", help, until);
        metrics
    }
}

fn of_status(status: &Status) -> String {
    let mut out = String::new();
    gauge(&mut out, "up_seconds", "seconds since the server began", status.seconds);
    gauge(&mut out, "connected", "1 when a client is connected", f64::from(u8::from(status.connected)));
    if let Some(late) = &status.lateness {
        gauge(&mut out, "late_p50_us", "half of the completions were late by at most this", late.p50_us);
        gauge(&mut out, "late_p99_us", "99 of 100 completions were late by at most this", late.p99_us);
    }
    out
}

/// Answers whoever asks at `address` for the metrics.
fn metrics_page(address: SocketAddr) -> io::Result<TextPage> {
    TextPage::open(address, "/metrics", "text/plain; version=0.0.4; charset=utf-8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_events::Event;
    use std::io::Read;
    use std::net::TcpStream;

    fn still() -> Status {
        Status {
            seconds: 0.0,
            simulated: Instant::ZERO,
            connected: false,
            paused: false,
            missing_bytes: None,
            read_iops: 0.0,
            write_iops: 0.0,
            read_bytes_per_second: 0.0,
            write_bytes_per_second: 0.0,
            write_amplification: None,
            gc_runs: 0,
            queue_depth: 0.0,
            lateness: None,
        }
    }

    fn sample(values: &[f64]) -> Sample<'_> {
        Sample { from: Instant::ZERO, until: Instant::from_picos(1_500_000_000_000), values }
    }

    #[test]
    fn metrics_have_help_type_and_value_and_counters_are_apart() {
        let waf = TableEntry::new("waf", "bytes for a byte");
        let entries = [waf, TableEntry::total("reads", "all reads"), TableEntry::new("active_ways", "ways")];
        let Metrics { gauges, counters } = Metrics::of(&entries, sample(&[f64::NAN, 1e15, 2.5]));
        let reads = "# HELP aster_reads_total all reads\n# TYPE aster_reads_total counter\n";
        assert_eq!(counters, format!("{reads}aster_reads_total 1000000000000000\n"));
        let lines: Vec<_> = gauges.lines().collect();
        assert_eq!(
            lines[..3],
            ["# HELP aster_waf bytes for a byte", "# TYPE aster_waf gauge", "aster_waf NaN"]
        );
        assert_eq!((lines[5], lines[8]), ("aster_active_ways 2.5", "aster_sampled_simulated_seconds 1.5"));
    }

    /// Prometheus polls every 15 s; what a sample counted in between is still reported while the drive's time
    /// stands still.
    #[test]
    fn where_there_is_no_sample_counters_stay_and_gauges_go() {
        let profile = aster_device::profile::shipped("tiny").unwrap();
        let recorder = Recorder::default();
        let media = aster_device::Media::fresh();
        let device = Device::power_on("tiny", &profile, None, media, &recorder).unwrap();
        let address = Some("127.0.0.1:0".parse().unwrap());
        let wanted = Wanted { pty: None, prometheus: address, log: false };
        let modules = [ShippedModule::BitErrors];
        let (side, _) = SideBand::open(wanted, &modules, &device).unwrap().unwrap();
        let read = |status, corrected| {
            let read = Event::FlashFinished { lun: 0, kind: 0, row: 0, status, corrected };
            recorder.emit(Instant::ZERO, || read);
        };
        let page = |ms: u64| {
            let seconds = ms as f64 / 1e3;
            side.show(&Status { seconds, simulated: Instant::ZERO + Duration::from_millis(ms), ..still() });
            ask(side.page.as_ref().unwrap(), "GET /metrics HTTP/1.1\r\n\r\n")
        };
        let told = |page: &str, line: &str| page.lines().any(|l| l == line);
        read(2, 40);
        let first = page(1);
        read(0, 2);
        let second = page(2);
        let third = page(2);
        assert!(told(&first, "aster_uncorrectable_reads 1") && told(&second, "aster_uncorrectable_reads 0"));
        assert!(!third.contains("aster_uncorrectable_reads "), "{third}");
        for page in [second, third] {
            assert!(told(&page, "# TYPE aster_uncorrectable_reads_total counter"), "{page}");
            assert!(told(&page, "aster_uncorrectable_reads_total 1"), "{page}");
            assert!(told(&page, "aster_corrected_bits_total 42"), "{page}");
        }
    }

    #[test]
    fn a_log_has_whole_lines_and_as_many_entries_as_there_is_room_for() {
        let entries: Vec<_> = (0..200).map(|n| TableEntry::new(format!("entry_{n:03}"), "")).collect();
        let values: Vec<_> = (0..200).map(f64::from).collect();
        for (bytes, all) in [(1024, false), (4096, true)] {
            let line = within(bytes, &entries, sample(&values));
            assert!(line.ends_with("}\n") && line.len() <= bytes && line.len() > bytes / 2, "{line}");
            let told: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!((told.get("entry_199").is_some(), &told["entry_001"]), (all, &1.0.into()));
            let kept =
                told.as_object().unwrap().keys().filter(|name| name.starts_with("entry_")).count() as u64;
            assert_eq!(told.get("left_out").map_or(0, |n| n.as_u64().unwrap()), 200 - kept, "{line}");
            // One more would not have had room.
            assert!(all || line.len() + "\"entry_000\":100.0,".len() > bytes, "{line}");
        }
        assert!(within(0, &entries, sample(&values)).contains("\"left_out\":200"));
    }

    #[test]
    fn what_a_log_has_no_room_for_is_of_single_ways_first_and_then_of_single_channels() {
        let geometry = aster_units::Geometry {
            channels: 24,
            ways: 4,
            ..aster_device::profile::shipped("tiny").unwrap().array_geometry()
        };
        let modules = [ShippedModule::Channels, ShippedModule::Ways, ShippedModule::BitErrors];
        let firmware = aster_events::Firmware { cores: 1, controllers: 0, functions: Vec::new() };
        let entries: Vec<_> =
            modules.iter().flat_map(|module| module.build(&geometry, &firmware, true).entries()).collect();
        let values = vec![1.0 / 3.0; entries.len()];
        let told = |bytes| -> serde_json::Value {
            serde_json::from_str(&within(bytes, &entries, sample(&values))).unwrap()
        };
        let has = |told: &serde_json::Value| {
            ["uncorrectable_reads_total", "channel_23_utilisation", "channel_23_way_3_utilisation"]
                .map(|name| told.get(name).is_some())
        };
        let kept: Vec<_> = (1..=32).map(|half| has(&told(512 * half))).collect();
        assert_eq!(kept.first(), Some(&[true, false, false]), "512 bytes");
        assert_eq!(kept.last(), Some(&[true, true, true]), "16 KiB");
        assert!(kept.contains(&[true, true, false]), "all channels, and not all ways: {kept:?}");
    }

    fn ask(page: &TextPage, text: &str) -> String {
        let mut client = TcpStream::connect(page.address()).unwrap();
        client.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn whoever_asks_for_the_metrics_gets_them_and_others_are_told() {
        let page = metrics_page("127.0.0.1:0".parse().unwrap()).unwrap();
        page.put("aster_waf 1\n".into());
        let answer = ask(&page, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\naster_waf 1\n"),
            "{answer}"
        );
        assert!(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{answer}");
        assert!(ask(&page, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask(&page, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(ask(&page, "nonsense\0\r\n\r\n").starts_with("HTTP/1.1 400 "));
        // Whoever says nothing keeps nobody else from an answer.
        let _silent = TcpStream::connect(page.address()).unwrap();
        assert!(ask(&page, "GET /metrics HTTP/1.0\r\n\r\n").ends_with("aster_waf 1\n"));
    }

    #[test]
    fn samples_come_out_of_the_terminal_a_line_each_and_a_full_line_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("uart");
        let mut pty = SampleLine::open(&link).unwrap();
        let entries = [TableEntry::new("waf", "")];
        pty.send(&entries, sample(&[2.0]));
        let mut reader = io::BufRead::lines(io::BufReader::new(std::fs::File::open(&link).unwrap()));
        let line: serde_json::Value = serde_json::from_str(&reader.next().unwrap().unwrap()).unwrap();
        assert_eq!((&line["waf"], &line["until_us"]), (&2.0.into(), &1_500_000.0.into()));
        // Without a reader the drive continues.
        (0..10_000).for_each(|_| pty.send(&entries, sample(&[3.0])));
        let line: serde_json::Value = serde_json::from_str(&reader.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["waf"], 3.0);
        drop(pty);
        assert!(!link.exists() && link.read_link().is_err());
    }
}
