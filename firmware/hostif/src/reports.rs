//! What the controller tells the host of itself: SMART's counters and warnings, the error log, asynchronous
//! events, and the operation monitor's sample.

use crate::async_events::{AsyncEvents, EventSource};
use crate::error_log::ErrorLog;
use crate::features::Features;
use crate::health::Health;
use alloc::vec::Vec;
use aster_parties::{History, HostTrouble, MediaHealth};
use aster_units::Instant;
use aster_wire::nvme::Status;
use aster_wire::nvme::log::{CriticalWarning, ErrorEntry, NO_COMMAND, STATISTICS_BYTES};

/// The reports.
#[derive(Debug)]
pub(crate) struct Reports {
    errors: ErrorLog,
    events: AsyncEvents,
    health: Health,
    /// Unrecovered integrity errors from which on SMART calls the drive unreliable; 0 for never.
    media_errors_max: u32,
    /// The operation monitor's latest sample, as the host reads it from the log. Empty without a monitor.
    statistics: Vec<u8>,
    /// What ails the host and hasn't been told yet: the last of each kind.
    queues_missed: Option<HostTrouble>,
    silence: Option<HostTrouble>,
}

impl Reports {
    /// The reports of a drive that has had this life.
    pub fn new(before: &History, media_errors_max: u32) -> Self {
        Reports {
            errors: ErrorLog::new(before.error_count),
            events: AsyncEvents::default(),
            health: Health::new(before),
            media_errors_max,
            statistics: Vec::with_capacity(STATISTICS_BYTES),
            queues_missed: None,
            silence: None,
        }
    }
    #[inline]
    pub fn health(&self) -> &Health {
        &self.health
    }
    #[inline]
    pub fn health_mut(&mut self) -> &mut Health {
        &mut self.health
    }
    pub fn events(&mut self) -> &mut AsyncEvents {
        &mut self.events
    }
    pub fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// The drive's lifetime counters up to `now`.
    pub fn history(&self, now: Instant) -> History {
        self.health.history(now, self.errors.count())
    }
    /// Logs an error; `entry` gets its number.
    pub fn log(&mut self, entry: impl FnOnce(u64) -> ErrorEntry) {
        self.errors.push(entry);
    }
    /// Logs an error that belongs to no command.
    pub fn log_error(&mut self, status: Status) {
        self.log(|count| ErrorEntry::new(count, NO_COMMAND, NO_COMMAND, status, false));
    }
    /// Something ails the host.
    pub fn note_trouble(&mut self, trouble: HostTrouble) {
        match trouble {
            HostTrouble::Queues { .. } => self.queues_missed = Some(trouble),
            HostTrouble::Silent { .. } => self.silence = Some(trouble),
        }
    }
    /// Takes what ails the host and hasn't been told yet.
    pub fn take_trouble(&mut self) -> Option<HostTrouble> {
        self.queues_missed.take().or_else(|| self.silence.take())
    }
    /// The warnings that hold now. The host has set the bounds of the temperature.
    pub fn warnings(&self, features: &Features) -> CriticalWarning {
        let (media, most) = (self.health.media(), u64::from(self.media_errors_max));
        let lost_too_much = most > 0 && self.health.media_errors() >= most;
        CriticalWarning(0)
            .with_spare_low(media.available_spare < media.available_spare_threshold)
            .with_temperature(features.is_out_of_bounds(media.temperature_kelvins))
            .with_reliability_degraded(media.reliability_degraded || lost_too_much)
            .with_read_only(media.read_only)
    }
    /// Takes over a new state of the media.
    pub fn set_media(&mut self, media: MediaHealth) {
        // What degrades reliability is a loss that no read reports. It counts as an integrity error, and
        // that counter keeps it after the warning is gone.
        let degrades = media.reliability_degraded && !self.health.media().reliability_degraded;
        self.health.count_media_errors(degrades);
        self.health.set_media(media);
    }
    /// Raises events for warnings that are new and that the host asked for.
    pub fn check_health(&mut self, features: &Features) {
        let new = self.health.look(self.warnings(features));
        let wanted = CriticalWarning(new.0 & features.warnings_wanted());
        if wanted.reliability_degraded() || wanted.read_only() {
            self.events.raise(EventSource::Reliability);
        }
        if wanted.temperature() {
            self.events.raise(EventSource::Temperature);
        }
        if wanted.spare_low() {
            self.events.raise(EventSource::Spare);
        }
    }
    /// The operation monitor's latest sample. Empty without a monitor.
    pub fn statistics(&self) -> &[u8] {
        &self.statistics
    }
    /// Takes over a new sample.
    pub fn set_statistics(&mut self, sample: &[u8]) {
        self.statistics.clear();
        self.statistics.extend_from_slice(&sample[..sample.len().min(STATISTICS_BYTES)]);
        debug_assert!(self.statistics.len() <= STATISTICS_BYTES, "the log has its size");
    }
}
