//! The features of the controller (NVMe 1.4 §5.21) and their values. No value survives a reset: none is
//! saveable.

use crate::config::HostIfConfig;
use crate::keep_alive::GRANULARITY_MS;
use aster_wire::nvme::Status;
use aster_wire::nvme::features::{
    ArbitrationFeature, AsyncEventConfiguration, ErrorRecovery, FeatureId, HostBehavior, InterruptCoalescing,
    InterruptVectorConfiguration, NumberOfQueues, PowerManagement, TemperatureThreshold, VolatileWriteCache,
    WriteAtomicityNormal,
};

/// The value doesn't exist, and repeating the command won't change that.
const INVALID: Status = Status::INVALID_FIELD.with_dnr(true);

/// TMPSEL: the composite temperature, the only one there is.
const COMPOSITE: u8 = 0;
/// TMPSEL of Set Features: all sensors.
const ALL_SENSORS: u8 = 15;

/// The SMART warnings that can occur: all except those of a memory backup and of a persistent memory
/// region.
const WARNINGS_POSSIBLE: u8 = 0b0_1111;

/// The notices that Asynchronous Event Configuration knows, none of which is offered (NVMe 1.4 §5.21.1.11).
const NOTICES: u32 = AsyncEventConfiguration(0)
    .with_namespace_attributes(true)
    .with_firmware_activation(true)
    .with_telemetry(true)
    .with_asymmetric_access(true)
    .with_predictable_latency(true)
    .with_lba_status(true)
    .with_endurance_group(true)
    .0;

/// The values in force.
#[derive(Debug)]
pub(crate) struct Features {
    arbitration: ArbitrationFeature,
    power: PowerManagement,
    over_temperature: u16,
    under_temperature: u16,
    /// Recovery never takes 100 ms here, so every time limit is kept.
    error_recovery: ErrorRecovery,
    write_cache: VolatileWriteCache,
    queues: NumberOfQueues,
    coalescing: InterruptCoalescing,
    /// One block is always written atomically, whatever the host sets (AWUN = AWUPF = 0).
    atomicity: WriteAtomicityNormal,
    events: AsyncEventConfiguration,
    /// KATO, as rounded up.
    keep_alive_ms: u32,
    /// ACRE. No completion asks for a delay (CRDT1 to CRDT3 are 0), so nothing depends on it.
    retries_later: bool,
}

impl Features {
    /// The defaults.
    pub fn new(config: &HostIfConfig) -> Self {
        Features {
            arbitration: ArbitrationFeature(0).with_burst(config.arbitration_burst_log2),
            power: PowerManagement(0),
            over_temperature: config.warning_kelvins,
            under_temperature: 0,
            error_recovery: ErrorRecovery(0),
            write_cache: VolatileWriteCache(0).with_enabled(config.volatile_write_cache),
            queues: NumberOfQueues::of(config.queue_pairs, config.queue_pairs),
            coalescing: InterruptCoalescing(0),
            atomicity: WriteAtomicityNormal(0),
            events: AsyncEventConfiguration(0),
            keep_alive_ms: 0,
            retries_later: false,
        }
    }

    #[inline]
    pub fn arbitration(&self) -> ArbitrationFeature {
        self.arbitration
    }
    #[inline]
    pub fn coalescing(&self) -> InterruptCoalescing {
        self.coalescing
    }
    /// The I/O queues that the host may create.
    pub fn queues(&self) -> NumberOfQueues {
        self.queues
    }
    pub fn set_queues(&mut self, queues: NumberOfQueues) {
        self.queues = queues;
    }
    /// Whether the volatile write cache is enabled.
    #[inline]
    pub fn has_write_cache(&self) -> bool {
        self.write_cache.enabled()
    }
    /// Whether reads of blocks that nobody wrote fail.
    #[inline]
    pub fn unwritten_fails(&self) -> bool {
        self.error_recovery.deallocated_error()
    }
    /// Host Behavior Support.
    pub fn behavior(&self) -> HostBehavior {
        HostBehavior::of(self.retries_later)
    }
    /// Sets Host Behavior Support. Its reserved bytes are not stored.
    pub fn set_behavior(&mut self, behavior: &HostBehavior) -> Result<(), Status> {
        self.retries_later = behavior.retries_later().ok_or(INVALID)?;
        Ok(())
    }
    /// The timeout of the Keep Alive Timer; 0 for none.
    pub fn keep_alive_ms(&self) -> u32 {
        self.keep_alive_ms
    }
    /// Whether a temperature has passed one of its thresholds.
    pub fn is_out_of_bounds(&self, kelvins: u16) -> bool {
        kelvins >= self.over_temperature || kelvins <= self.under_temperature
    }
    /// The SMART warnings that raise events.
    pub fn warnings_wanted(&self) -> u8 {
        self.events.critical_warnings()
    }

    /// Sets a feature whose value is all that there is to it. Reserved bits are not stored.
    pub fn set(&mut self, feature: FeatureId, value: u32) -> Result<(), Status> {
        match feature {
            FeatureId::Arbitration => {
                let asked = ArbitrationFeature(value);
                self.arbitration = ArbitrationFeature(0)
                    .with_burst(asked.burst())
                    .with_low_weight(asked.low_weight())
                    .with_medium_weight(asked.medium_weight())
                    .with_high_weight(asked.high_weight());
            }
            FeatureId::PowerManagement => {
                let power = PowerManagement(value);
                if power.power_state() != 0 {
                    return Err(INVALID); // NPSS: one power state
                }
                self.power = PowerManagement(0).with_workload_hint(power.workload_hint());
            }
            FeatureId::TemperatureThreshold => {
                let threshold = TemperatureThreshold(value);
                match (threshold.sensor(), threshold.kind()) {
                    (COMPOSITE | ALL_SENSORS, 0) => self.over_temperature = threshold.kelvins(),
                    (COMPOSITE | ALL_SENSORS, 1) => self.under_temperature = threshold.kelvins(),
                    _ => return Err(INVALID),
                }
            }
            FeatureId::ErrorRecovery => {
                let recovery = ErrorRecovery(value);
                self.error_recovery = ErrorRecovery(0)
                    .with_time_limit_100ms(recovery.time_limit_100ms())
                    .with_deallocated_error(recovery.deallocated_error());
            }
            FeatureId::VolatileWriteCache => {
                self.write_cache = VolatileWriteCache(0).with_enabled(VolatileWriteCache(value).enabled());
            }
            FeatureId::InterruptCoalescing => {
                let asked = InterruptCoalescing(value);
                self.coalescing = InterruptCoalescing(0)
                    .with_threshold_zero_based(asked.threshold_zero_based())
                    .with_time_100us(asked.time_100us());
            }
            FeatureId::WriteAtomicityNormal => {
                let disabled = WriteAtomicityNormal(value).disable_normal();
                self.atomicity = WriteAtomicityNormal(0).with_disable_normal(disabled);
            }
            FeatureId::AsyncEventConfiguration => {
                let events = AsyncEventConfiguration(value);
                if events.0 & NOTICES != 0 {
                    return Err(INVALID); // OAES: no notices
                }
                let warnings = events.critical_warnings() & WARNINGS_POSSIBLE;
                self.events = AsyncEventConfiguration(0).with_critical_warnings(warnings);
            }
            // The controller rounds up, which the longest timeouts have no room for (NVMe 1.4 §5.21.1.15).
            FeatureId::KeepAliveTimer => {
                let rounded = value.checked_next_multiple_of(GRANULARITY_MS);
                let refused = Status::KEEP_ALIVE_TIMEOUT_INVALID.with_dnr(true);
                self.keep_alive_ms = rounded.ok_or(refused)?;
            }
            _ => return Err(INVALID),
        }
        Ok(())
    }

    /// A value as Get Features returns it. `dword11` selects the sensor, threshold or vector where the
    /// feature has several. `coalescing_disabled` is the state of the selected vector, if it exists.
    pub fn value(
        &self,
        feature: FeatureId,
        dword11: u32,
        coalescing_disabled: Option<bool>,
    ) -> Result<u32, Status> {
        Ok(match feature {
            FeatureId::Arbitration => self.arbitration.0,
            FeatureId::PowerManagement => self.power.0,
            FeatureId::TemperatureThreshold => self.threshold(TemperatureThreshold(dword11))?,
            FeatureId::ErrorRecovery => self.error_recovery.0,
            FeatureId::VolatileWriteCache => self.write_cache.0,
            FeatureId::NumberOfQueues => self.queues.0,
            FeatureId::InterruptCoalescing => self.coalescing.0,
            FeatureId::InterruptVectorConfiguration => {
                let vector = InterruptVectorConfiguration(dword11).vector();
                let Some(disabled) = coalescing_disabled else { return Err(INVALID) };
                InterruptVectorConfiguration(0).with_vector(vector).with_coalescing_disabled(disabled).0
            }
            FeatureId::WriteAtomicityNormal => self.atomicity.0,
            FeatureId::AsyncEventConfiguration => self.events.0,
            FeatureId::KeepAliveTimer => self.keep_alive_ms,
            _ => return Err(INVALID),
        })
    }

    fn threshold(&self, asked: TemperatureThreshold) -> Result<u32, Status> {
        match (asked.sensor(), asked.kind()) {
            (COMPOSITE, 0) => Ok(self.over_temperature.into()),
            (COMPOSITE, 1) => Ok(self.under_temperature.into()),
            _ => Err(INVALID),
        }
    }
}
