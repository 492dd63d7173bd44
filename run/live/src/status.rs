//! The status of a live drive, once per second.

use aster_device::{Device, History};
use aster_events::Histogram;
use aster_units::Instant;
use std::time::{Duration, Instant as Wall};

/// How often a status is due.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);

/// How late completions were compared with the model, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lateness {
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
}

/// What a drive did since the previous status.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Status {
    /// Seconds since the server began.
    pub seconds: f64,
    /// The drive's own time.
    pub simulated: Instant,
    /// A client is connected.
    pub connected: bool,
    /// The disk under the image is full: writes wait.
    pub paused: bool,
    /// Bytes of room that are missing until writes continue, while the disk is full.
    pub missing_bytes: Option<u64>,
    /// Read and Compare commands per second.
    pub read_iops: f64,
    /// Write commands per second.
    pub write_iops: f64,
    /// Bytes read per second.
    pub read_bytes_per_second: f64,
    /// Bytes written per second.
    pub write_bytes_per_second: f64,
    /// Bytes programmed over bytes written in this time; `None` when the host wrote nothing.
    pub write_amplification: Option<f64>,
    /// Blocks that garbage collection emptied in this time.
    pub gc_runs: u64,
    /// Commands in the drive on average.
    pub queue_depth: f64,
    /// How late completions were, if the pace is real and there were any.
    pub lateness: Option<Lateness>,
}

/// Collects the data of a [`Status`].
pub(crate) struct Meter {
    began: Wall,
    last: Wall,
    history: History,
    flash_bytes: u64,
    host_bytes: u64,
    gc_runs: u64,
    looked: Wall,
    depth: usize,
    /// Commands times seconds.
    depth_seconds: f64,
    /// In nanoseconds.
    lateness: Histogram,
    lateness_of_all: Histogram,
}

fn microseconds(histogram: &Histogram) -> Option<Lateness> {
    let at = |percent| histogram.quantile(percent, 100) as f64 / 1000.0;
    (histogram.count() > 0).then(|| Lateness { p50_us: at(50), p99_us: at(99) })
}

impl Meter {
    pub(crate) fn start(device: &Device) -> Self {
        let now = Wall::now();
        let ftl = device.translation().stats();
        Meter {
            began: now,
            last: now,
            history: device.history(),
            flash_bytes: ftl.flash_bytes_written,
            host_bytes: ftl.host_bytes_written,
            gc_runs: ftl.gc_runs,
            looked: now,
            depth: 0,
            depth_seconds: 0.0,
            lateness: Histogram::default(),
            lateness_of_all: Histogram::default(),
        }
    }
    /// `count` commands completed late, by `late`.
    #[inline]
    pub(crate) fn completed(&mut self, count: u64, late: aster_units::Duration) {
        self.lateness.record(late.as_nanos(), count);
    }
    /// Records the number of commands in the drive, which counts until the next call.
    pub(crate) fn look(&mut self, depth: usize) {
        let now = Wall::now();
        self.depth_seconds += self.depth as f64 * (now - self.looked).as_secs_f64();
        (self.looked, self.depth) = (now, depth);
    }
    /// True when a status is due, as of the last look.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.looked - self.last >= PERIOD
    }
    /// The status since the last one.
    pub(crate) fn status(&mut self, device: &Device, connected: bool) -> Status {
        let now = Wall::now();
        let seconds = (now - self.last).as_secs_f64().max(f64::MIN_POSITIVE);
        let (history, ftl) = (device.history(), device.translation().stats());
        let (before, host) = (self.history, ftl.host_bytes_written - self.host_bytes);
        let status = Status {
            seconds: (now - self.began).as_secs_f64(),
            simulated: device.now(),
            connected,
            paused: false,
            missing_bytes: None,
            read_iops: (history.read_commands - before.read_commands) as f64 / seconds,
            write_iops: (history.write_commands - before.write_commands) as f64 / seconds,
            read_bytes_per_second: (history.bytes_read - before.bytes_read) as f64 / seconds,
            write_bytes_per_second: (history.bytes_written - before.bytes_written) as f64 / seconds,
            write_amplification: (host > 0)
                .then(|| (ftl.flash_bytes_written - self.flash_bytes) as f64 / host as f64),
            gc_runs: ftl.gc_runs - self.gc_runs,
            queue_depth: self.depth_seconds / seconds,
            lateness: microseconds(&self.lateness),
        };
        (self.last, self.history) = (now, history);
        (self.flash_bytes, self.host_bytes) = (ftl.flash_bytes_written, ftl.host_bytes_written);
        self.gc_runs = ftl.gc_runs;
        self.depth_seconds = 0.0;
        self.lateness_of_all.merge(&self.lateness);
        self.lateness.clear();
        status
    }
    /// How late completions were since the server began.
    pub(crate) fn lateness_of_all(&mut self) -> Option<Lateness> {
        self.lateness_of_all.merge(&self.lateness);
        self.lateness.clear();
        microseconds(&self.lateness_of_all)
    }
}
