//! Checks every drive of the experiment before minutes of work.

use super::drive::Setup;
use super::mode::Mode;
use super::plan::Plan;
use super::{controllers, distribution, one_shot, scrambler};
use crate::experiment::ExperimentError;
use aster_device::profile::{ControllerName, Profile};
use aster_units::Content;

impl Plan {
    /// Checks that each drive of the plan can be built.
    ///
    /// # Errors
    /// Names the figure whose drive can't be built, and why.
    pub fn check(&self) -> Result<(), ExperimentError> {
        for (figure, profile) in self.drives()? {
            aster_device::check(&profile, Some(Content::Fingerprint)).map_err(|error| {
                let (key, reason) = error.blame();
                ExperimentError::Drive { figure, key, reason }
            })?;
        }
        Ok(())
    }

    fn drives(&self) -> Result<Vec<(&'static str, Profile)>, ExperimentError> {
        let mut setups = Vec::new();
        for mode in [Mode::Slc, Mode::Mlc] {
            setups.push(("Table 5", Setup { channels: 1, ways: 1, ..Setup::full(mode) }));
            setups.push(("Table 7", Setup::full(mode)));
            for (&channels, &ways) in self.channels.iter().flat_map(|c| self.ways.iter().map(move |w| (c, w)))
            {
                setups.push(("Figs 21 and 22", Setup { channels, ways, ..Setup::full(mode) }));
            }
        }
        for (_, assigner) in distribution::ASSIGNERS {
            setups.push(("Figs 25 and 26", Setup { assigner, ..Setup::full(Mode::Slc) }));
        }
        for (&square, &clock_mhz) in
            self.squares.iter().flat_map(|s| self.clocks_mhz.iter().map(move |c| (s, c)))
        {
            let setup =
                Setup { channels: u16::from(square), ways: square, clock_mhz, ..Setup::full(Mode::Mlc) };
            setups.push(("Fig 27", setup));
        }
        for (mode, &ways) in one_shot::MODES.into_iter().flat_map(|m| self.ways.iter().map(move |w| (m, w))) {
            setups.push(("Fig 32", Setup { ways, ..Setup::full(mode) }));
        }
        let mut drives = Vec::new();
        for (figure, setup) in setups {
            drives.push((figure, setup.profile(self)?));
        }
        for scramble in [true, false] {
            drives.push(("Fig 30", scrambler::profile(self, scramble)?));
        }
        for &ways in &self.ways {
            for controller in [ControllerName::Asynchronous, ControllerName::Software] {
                drives.push(("BABOL's Fig 12", controllers::profile(self, ways, controller)?));
            }
        }
        Ok(drives)
    }
}
