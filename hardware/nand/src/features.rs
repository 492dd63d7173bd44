//! What the host has set in a target: GET FEATURES and SET FEATURES (ONFI 5.1, feature parameter
//! definitions), and ODT CONFIGURE (§5.25).

use crate::config::NandConfig;
use alloc::vec;
use alloc::vec::Vec;
use aster_wire::onfi::feature::{DriveStrength, FeatureAddress, TimingModeP1};
use aster_wire::onfi::{FEATURE_BYTES, Timing};

/// A target's feature values, and the termination of its LUNs. Features that a package doesn't have read as
/// zero and ignore what is written.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    timing_mode: [u8; FEATURE_BYTES],
    nv_ddr2: [u8; FEATURE_BYTES],
    drive_strength: [u8; FEATURE_BYTES],
    // The vendor feature for read retry: its address, and the chosen row of the level table.
    read_retry: Option<u8>,
    read_level: u8,
    // M0, M1, Rtt1, Rtt2 of each LUN.
    termination: Vec<[u8; 4]>,
}

impl Features {
    /// Power-on values: SDR mode 0, nominal drive strength.
    pub fn power_on(config: &NandConfig) -> Self {
        Features {
            timing_mode: [0; FEATURE_BYTES],
            nv_ddr2: [0; FEATURE_BYTES],
            drive_strength: [DriveStrength::Ohms35.raw(), 0, 0, 0],
            read_retry: config.variant.commands.read_retry.map(|retry| retry.feature),
            read_level: 0,
            termination: vec![[0; 4]; usize::from(config.geometry.luns)],
        }
    }

    pub fn get(&self, address: u8) -> [u8; FEATURE_BYTES] {
        if self.read_retry == Some(address) {
            return [self.read_level, 0, 0, 0];
        }
        match FeatureAddress::from_raw(address) {
            Some(FeatureAddress::TimingMode) => self.timing_mode,
            Some(FeatureAddress::NvDdr2Configuration) => self.nv_ddr2,
            Some(FeatureAddress::DriveStrength) => self.drive_strength,
            _ => [0; FEATURE_BYTES],
        }
    }

    /// Sets a feature. If this changes the data interface or its mode, returns the timing to switch to. A
    /// mode that the package doesn't have leaves the feature as it is, and so does a read level that the
    /// table doesn't have.
    pub fn set(&mut self, config: &NandConfig, address: u8, value: [u8; FEATURE_BYTES]) -> Option<Timing> {
        if self.read_retry == Some(address) {
            if usize::from(value[0]) < config.variant.read_levels_mv.len() {
                self.read_level = value[0];
            }
            return None;
        }
        match FeatureAddress::from_raw(address) {
            Some(FeatureAddress::TimingMode) => {
                let p1 = TimingModeP1(value[0]);
                let timing = config.bus.timing(p1.data_interface()?, p1.mode())?;
                self.timing_mode = value;
                return Some(timing);
            }
            Some(FeatureAddress::NvDdr2Configuration) => self.nv_ddr2 = value,
            Some(FeatureAddress::DriveStrength) => self.drive_strength = value,
            _ => {}
        }
        None
    }

    /// The row of the level table that reads use.
    pub fn read_level(&self) -> u8 {
        self.read_level
    }

    /// What ODT CONFIGURE has set for a LUN: M0, M1, Rtt1, Rtt2; zeroes after power-on.
    pub fn termination(&self, lun: u8) -> Option<[u8; 4]> {
        self.termination.get(usize::from(lun)).copied()
    }
    /// ODT CONFIGURE.
    pub fn set_termination(&mut self, lun: u8, value: [u8; 4]) {
        self.termination[usize::from(lun)] = value;
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
