use crate::trace::TraceError;
use crate::{FloorMissed, HeldBy, RequestKind, SteadyOutcome, Unexpected, content};
use alloc::string::String;
use aster_units::{Duration, Instant};
use aster_wire::nvme::Status;

/// Gets the latency of each measured request, from its issue to the completion of all its commands, and the
/// beginnings of a run's waves.
pub trait LatencySink {
    /// A request of the task with this index has completed.
    fn record(&mut self, task: usize, kind: RequestKind, latency: Duration);
    /// A measured request of a trace has been issued. Only those that arrive by the clock (open loop) do.
    fn arrived(&mut self, _task: usize, _arrived: &Arrived) {}
    /// Such a request has completed: the time since its arrival.
    fn record_from_arrival(&mut self, _task: usize, _kind: RequestKind, _latency: Duration) {}
    /// The tasks of a wave begin now. No request of earlier waves is in flight, and none of this one has been
    /// issued.
    fn wave_begins(&mut self, _wave: u32, _now: Instant) {}
}

/// A request of a trace that is replayed by the clock, when it is issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    /// The kind of the request.
    pub kind: RequestKind,
    /// Its recorded time, counted from the task's beginning.
    pub at: Duration,
    /// How much later it was issued.
    pub late: Duration,
    /// What held it back, if it is late.
    pub held_by: Option<HeldBy>,
}

impl LatencySink for () {
    fn record(&mut self, _task: usize, _kind: RequestKind, _latency: Duration) {}
}

/// Why a request counts as failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The drive refused or failed a command.
    #[error("{kind:?} of {blocks} blocks at LBA {slba} failed: {status}")]
    Command {
        /// The kind of the request.
        kind: RequestKind,
        /// First logical block of the command.
        slba: u64,
        /// Logical blocks of the command.
        blocks: u32,
        /// The drive's status.
        status: Status,
    },
    /// A block is damaged or belongs to another address.
    #[error("wrong content: {0}")]
    Content(#[from] content::Mismatch),
    /// A block holds a version that it cannot hold.
    #[error("wrong content: {0}")]
    Version(#[from] Unexpected),
    /// The job was slower than its minimum rate.
    #[error("{0}")]
    TooSlow(#[from] FloorMissed),
    /// The rest of the trace could not be read.
    #[error("{0}")]
    Trace(#[from] TraceError),
}

/// The totals of a task's requests of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KindStatistics {
    /// Requests completed without error.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The sum of their latencies.
    pub latency_sum: Duration,
    /// The longest latency.
    pub latency_max: Duration,
}

/// What a task has done. The figures per kind leave out requests issued in the ramp time and those that
/// only read back.
#[derive(Clone, PartialEq, Debug)]
pub struct Statistics {
    /// The task's name.
    pub name: String,
    /// The name of the job that it is a copy of.
    pub job: String,
    /// The wave that the task is part of. Tasks of one wave run in parallel, waves one after the other.
    pub wave: u32,
    /// The reporting group that it is shown with, if its job asks for that. Tasks of a group are adjacent.
    pub group: Option<u32>,
    /// Figures per kind, in the order of [`Statistics::KINDS`].
    pub kinds: [KindStatistics; Statistics::KINDS.len()],
    /// When the task's wave began; `None` until then.
    pub started: Option<Instant>,
    /// When the first measured request was issued.
    pub measured_from: Option<Instant>,
    /// When the last measured request completed.
    pub measured_until: Option<Instant>,
    /// When the task ended; `None` until then.
    pub ended: Option<Instant>,
    /// Whether the end of another task has ended this one early (`exitall`).
    pub ended_by_another: bool,
    /// The outcome of its steady state; `None` if the job has no criterion.
    pub steady_state: Option<SteadyOutcome>,
    /// Requests that failed or returned wrong content.
    pub failures: u64,
    /// The first failure.
    pub first_failure: Option<Failure>,
    /// Logical blocks whose content was checked, right or wrong.
    pub checked_blocks: u64,
    /// How much later than recorded a trace's last request was issued, if gaps are kept
    /// ([`crate::Pace::keep_gaps`]).
    pub slipped: Duration,
}

impl Statistics {
    /// The kinds in the order of [`Statistics::kinds`].
    pub const KINDS: [RequestKind; 5] = [
        RequestKind::Read,
        RequestKind::Write,
        RequestKind::Flush,
        RequestKind::Trim,
        RequestKind::WriteZeroes,
    ];

    /// The index of a kind in [`Statistics::KINDS`].
    #[inline]
    pub const fn index(kind: RequestKind) -> usize {
        match kind {
            RequestKind::Read => 0,
            RequestKind::Write => 1,
            RequestKind::Flush => 2,
            RequestKind::Trim => 3,
            RequestKind::WriteZeroes => 4,
        }
    }

    pub(super) fn new(name: String, job: String, wave: u32, group: Option<u32>) -> Self {
        Statistics {
            name,
            job,
            wave,
            group,
            kinds: Default::default(),
            started: None,
            measured_from: None,
            measured_until: None,
            ended: None,
            ended_by_another: false,
            steady_state: None,
            failures: 0,
            first_failure: None,
            checked_blocks: 0,
            slipped: Duration::ZERO,
        }
    }

    /// The figures of one kind.
    pub fn of(&self, kind: RequestKind) -> &KindStatistics {
        &self.kinds[Self::index(kind)]
    }

    /// From the issue of the first measured request to the completion of the last: the time over which rates
    /// are computed.
    pub fn measured(&self) -> Duration {
        match (self.measured_from, self.measured_until) {
            (Some(from), Some(until)) => until.since(from),
            _ => Duration::ZERO,
        }
    }

    /// Measured requests of all kinds.
    pub fn requests(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.requests).sum()
    }

    #[inline]
    pub(super) fn record(
        &mut self,
        kind: RequestKind,
        bytes: u64,
        issued: Instant,
        now: Instant,
    ) -> Duration {
        let latency = now.since(issued);
        let kind = &mut self.kinds[Self::index(kind)];
        kind.requests += 1;
        kind.bytes += bytes;
        kind.latency_sum += latency;
        kind.latency_max = kind.latency_max.max(latency);
        self.measured_until = Some(now);
        latency
    }

    #[cold]
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failures += 1;
        self.first_failure.get_or_insert(failure);
    }
}
