//! What SMART reports: counters of the front end and the state of the media (NVMe 1.4 §5.14.1.2).

use crate::admin::aer::EventSource;
use crate::controller::Controller;
use crate::ports::Ports;
use aster_parties::{History, MediaHealth};
use aster_ports::host::{HostCommand, HostOp, HostStatus};
use aster_units::{Duration, Instant};
use aster_wire::nvme::log::{CriticalWarning, HealthLog};
use zerocopy::little_endian::{U16, U128};

const PICOS_PER_MINUTE: u128 = 60 * 1_000_000_000_000;
const PICOS_PER_HOUR: u128 = 60 * PICOS_PER_MINUTE;

/// The counters that run.
#[derive(Debug)]
pub(crate) struct Health {
    life: History,
    pub media: MediaHealth,
    /// Warnings at the last look.
    warnings: CriticalWarning,
    outstanding: u32,
    busy_since: Instant,
}

impl Health {
    pub fn new(before: &History) -> Self {
        let lost = before.power_cycles > 0 && !before.shut_down;
        let life = History {
            power_cycles: before.power_cycles + 1,
            unsafe_shutdowns: before.unsafe_shutdowns + u64::from(lost),
            shut_down: false,
            ..*before
        };
        Health {
            life,
            media: MediaHealth::default(),
            warnings: CriticalWarning(0),
            outstanding: 0,
            busy_since: Instant::ZERO,
        }
    }
    pub fn history(&self, now: Instant, error_count: u64) -> History {
        let running = if self.outstanding > 0 { now.since(self.busy_since) } else { Duration::ZERO };
        History {
            busy_picos: self.life.busy_picos + u128::from(running.as_picos()),
            powered_picos: self.life.powered_picos + u128::from(now.as_picos()),
            error_count,
            ..self.life
        }
    }
    /// A shutdown has finished, or the host has come back.
    pub fn set_shut_down(&mut self, shut_down: bool) {
        self.life.shut_down = shut_down;
    }
    /// The last shutdown has finished, and nobody has come back since.
    #[inline]
    pub fn is_shut_down(&self) -> bool {
        self.life.shut_down
    }
    /// The host wants to hear of these warnings, also when they are not new.
    pub fn report_again(&mut self, warnings: u8) {
        self.warnings = CriticalWarning(self.warnings.0 & !warnings);
    }
    /// A command goes to the FTL.
    #[inline]
    pub fn started(&mut self, now: Instant) {
        if self.outstanding == 0 {
            self.busy_since = now;
        }
        self.outstanding += 1;
    }
    /// A command comes back from the FTL.
    #[inline]
    pub fn ended(&mut self, now: Instant, command: &HostCommand, status: HostStatus) {
        self.outstanding -= 1;
        if self.outstanding == 0 {
            self.life.busy_picos += u128::from(now.since(self.busy_since).as_picos());
        }
        let life = &mut self.life;
        match command.op {
            HostOp::Read | HostOp::Compare | HostOp::VectorRead => {
                life.read_commands += 1;
                life.bytes_read += u128::from(command.length);
            }
            HostOp::Write | HostOp::VectorWrite => {
                life.write_commands += 1;
                life.bytes_written += u128::from(command.length);
            }
            _ => {}
        }
        self.count_media_errors(status == HostStatus::UnrecoveredRead);
    }
    /// Counts an unrecovered data integrity error, if there was one (NVMe 1.4 §5.14.1.2).
    #[inline]
    pub fn count_media_errors(&mut self, lost: bool) {
        self.life.media_errors += u64::from(lost);
    }
}

impl Controller {
    fn warnings(&self) -> CriticalWarning {
        let media = &self.health.media;
        let kelvins = media.temperature_kelvins;
        let most = u64::from(self.config.media_errors_max);
        let lost_too_much = most > 0 && self.health.life.media_errors >= most;
        let hot = kelvins >= self.features.over_temperature || kelvins <= self.features.under_temperature;
        CriticalWarning(0)
            .with_spare_low(media.available_spare < media.available_spare_threshold)
            .with_temperature(hot)
            .with_reliability_degraded(media.reliability_degraded || lost_too_much)
            .with_read_only(media.read_only)
    }

    /// Raises events for the warnings that are new and that the host wants.
    pub(crate) fn check_health(&mut self, ports: &mut Ports) {
        let now = self.warnings();
        let new = CriticalWarning(now.0 & !self.health.warnings.0);
        self.health.warnings = now;
        let wanted = CriticalWarning(new.0 & self.features.events.critical_warnings());
        if wanted.reliability_degraded() || wanted.read_only() {
            self.raise_event(ports, EventSource::Reliability);
        }
        if wanted.temperature() {
            self.raise_event(ports, EventSource::Temperature);
        }
        if wanted.spare_low() {
            self.raise_event(ports, EventSource::Spare);
        }
    }

    /// The SMART / health information log.
    pub(crate) fn health_log(&self, now: Instant) -> HealthLog {
        let media = &self.health.media;
        let life = self.history(now);
        let count = |n: u64| U128::new(n.into());
        let mut log = HealthLog::default();
        log.critical_warning = self.warnings().0;
        log.composite_temperature = U16::new(media.temperature_kelvins);
        log.available_spare = media.available_spare.min(100);
        log.available_spare_threshold = media.available_spare_threshold.min(100);
        log.percentage_used = media.percentage_used;
        log.data_units_read = U128::new(HealthLog::data_units(life.bytes_read));
        log.data_units_written = U128::new(HealthLog::data_units(life.bytes_written));
        log.host_read_commands = count(life.read_commands);
        log.host_write_commands = count(life.write_commands);
        log.controller_busy_minutes = U128::new(life.busy_picos / PICOS_PER_MINUTE);
        log.power_cycles = count(life.power_cycles);
        log.power_on_hours = U128::new(life.powered_picos / PICOS_PER_HOUR);
        log.unsafe_shutdowns = count(life.unsafe_shutdowns);
        log.media_errors = count(life.media_errors);
        log.error_log_entries = count(life.error_count);
        log
    }
}
