//! The features of the controller (NVMe 1.4 §5.21) and their values. No value survives a reset: none is
//! saveable.

use crate::config::HostIfConfig;
use aster_wire::nvme::Status;
use aster_wire::nvme::features::{
    ArbitrationFeature, AsyncEventConfiguration, ErrorRecovery, FeatureId, InterruptCoalescing,
    InterruptVectorConfiguration, NumberOfQueues, PowerManagement, TemperatureThreshold, VolatileWriteCache,
    WriteAtomicityNormal,
};

/// The value doesn't exist, and repeating the command won't change that.
const INVALID: Status = Status::INVALID_FIELD.with_dnr(true);

/// TMPSEL: the composite temperature, the only one there is.
pub(crate) const COMPOSITE: u8 = 0;
/// TMPSEL of Set Features: all sensors.
pub(crate) const ALL_SENSORS: u8 = 15;

/// The values in force.
#[derive(Debug)]
pub(crate) struct Features {
    pub arbitration: ArbitrationFeature,
    pub power: PowerManagement,
    pub over_temperature: u16,
    pub under_temperature: u16,
    /// Recovery never takes 100 ms here, so every time limit is kept.
    pub error_recovery: ErrorRecovery,
    pub write_cache: VolatileWriteCache,
    pub queues: NumberOfQueues,
    pub coalescing: InterruptCoalescing,
    /// One block is always written atomically, whatever the host sets (AWUN = AWUPF = 0).
    pub atomicity: WriteAtomicityNormal,
    pub events: AsyncEventConfiguration,
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
        }
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
