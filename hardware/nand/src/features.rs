//! GET FEATURES and SET FEATURES (ONFI 5.1, feature parameter definitions).

use crate::bus::BusConfig;
use aster_wire::onfi::feature::{DriveStrength, FeatureAddress, TimingModeP1};
use aster_wire::onfi::{FEATURE_BYTES, Timing};

/// A target's feature values. Addresses that a package doesn't have read as zero and ignore what is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    timing_mode: [u8; FEATURE_BYTES],
    nv_ddr2: [u8; FEATURE_BYTES],
    drive_strength: [u8; FEATURE_BYTES],
}

impl Features {
    /// Power-on values: SDR mode 0, nominal drive strength.
    pub fn power_on() -> Self {
        Features {
            timing_mode: [0; FEATURE_BYTES],
            nv_ddr2: [0; FEATURE_BYTES],
            drive_strength: [DriveStrength::Ohms35.raw(), 0, 0, 0],
        }
    }

    pub fn get(&self, address: u8) -> [u8; FEATURE_BYTES] {
        match FeatureAddress::from_raw(address) {
            Some(FeatureAddress::TimingMode) => self.timing_mode,
            Some(FeatureAddress::NvDdr2Configuration) => self.nv_ddr2,
            Some(FeatureAddress::DriveStrength) => self.drive_strength,
            _ => [0; FEATURE_BYTES],
        }
    }

    /// Sets a feature; answers the timing to go over to when the data interface or mode changes. A mode that the package
    /// doesn't have leaves the feature as it is.
    pub fn set(&mut self, bus: &BusConfig, address: u8, value: [u8; FEATURE_BYTES]) -> Option<Timing> {
        match FeatureAddress::from_raw(address) {
            Some(FeatureAddress::TimingMode) => {
                let p1 = TimingModeP1(value[0]);
                let timing = bus.timing(p1.data_interface()?, p1.mode())?;
                self.timing_mode = value;
                return Some(timing);
            }
            Some(FeatureAddress::NvDdr2Configuration) => self.nv_ddr2 = value,
            Some(FeatureAddress::DriveStrength) => self.drive_strength = value,
            _ => {}
        }
        None
    }

    /// P1 of the timing mode feature.
    pub fn timing_mode(&self) -> u8 {
        self.timing_mode[0]
    }

    /// RESET (FFh) puts the target back to SDR mode 0; the other features keep their values.
    pub fn reset(&mut self) {
        self.timing_mode = [0; FEATURE_BYTES];
    }
}
