//! Channels that are the lanes of one array controller (G24).

use super::check::range;
use super::host::NVME_SOFTWARE;
use super::schema::{FIL, Profile};
use aster_wire::array::{LANES_MAX, lanes_of};

type Refused = (&'static str, String);

impl Profile {
    /// Consecutive channels that are lanes of one channel of the message unit.
    pub fn lanes(&self) -> u8 {
        self.channel.lanes.unwrap_or_else(|| lanes_of(self.array_geometry().channels))
    }
    /// Array controllers, if the profile says which channels belong to one.
    pub fn array_controllers(&self) -> Option<u16> {
        let lanes = self.channel.lanes?;
        self.array_geometry().channels.checked_div(lanes.into())
    }
    /// Cores for flash operations alone.
    pub(crate) fn flash_cores(&self) -> u16 {
        if self.cores.flash_core { self.array_controllers().unwrap_or(1) } else { 0 }
    }
    /// Consecutive channels whose flash operations one core runs.
    pub(crate) fn channels_per_flash_core(&self) -> u16 {
        let all = self.array_geometry().channels;
        all.checked_div(self.flash_cores()).unwrap_or(all)
    }

    pub(super) fn check_lanes(&self) -> Result<(), Refused> {
        let Some(lanes) = self.channel.lanes else { return Ok(()) };
        const KEY: &str = "channel.lanes";
        range(KEY, lanes.into(), 1.0, LANES_MAX as f64)?;
        let channels = self.array_geometry().channels;
        if !channels.is_multiple_of(lanes.into()) {
            return Err((KEY, format!("must divide the {channels} channels, but is {lanes}")));
        }
        let is_nvme = ["nvme", NVME_SOFTWARE].contains(&self.host.front_end.as_str());
        if is_nvme && !self.cores.flash_core {
            let reason = format!(
                "must be left out without cores.flash_core under host.front_end = \"{}\": nobody reads it",
                self.host.front_end
            );
            return Err((KEY, reason));
        }
        if self.scheduler.policy == FIL && self.flash_cores() > 1 {
            let reason = "must be left out with scheduler.policy = \"fil\", which is one loop on one core";
            return Err((KEY, reason.to_owned()));
        }
        Ok(())
    }
}
