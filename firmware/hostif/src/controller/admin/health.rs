//! SMART: its warnings and its log page (NVMe 1.4 §5.14.1.2).

use crate::controller::Controller;
use crate::ports::ControllerPorts;
use aster_units::Instant;
use aster_wire::nvme::log::HealthLog;
use zerocopy::little_endian::{U16, U32, U128};

const PICOS_PER_MINUTE: u128 = 60 * 1_000_000_000_000;
const PICOS_PER_HOUR: u128 = 60 * PICOS_PER_MINUTE;

impl Controller {
    /// Raises events for warnings that are new and that the host asked for.
    pub(crate) fn check_health(&mut self, ports: &mut ControllerPorts) {
        self.reports.check_health(self.settings.features());
        self.deliver_events(ports);
    }

    /// The SMART / health information log.
    pub(crate) fn health_log(&self, now: Instant) -> HealthLog {
        let media = self.reports.health().media();
        let life = self.history(now);
        let count = |n: u64| U128::new(n.into());
        let mut log = HealthLog::default();
        log.critical_warning = self.reports.warnings(self.settings.features()).0;
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
        let [warm, critical] = media.hot_minutes;
        // The time from WCTEMP to CCTEMP alone.
        log.warning_temperature_minutes = U32::new(warm - critical.min(warm));
        log.critical_temperature_minutes = U32::new(critical);
        for (sensor, kelvins) in log.temperature_sensors.iter_mut().zip(media.sensor_kelvins) {
            *sensor = U16::new(kelvins);
        }
        log
    }
}
