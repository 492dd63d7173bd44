//! Everything that `aster run` does, as one call: an image, what listens, the work, the report.

use super::{Moment, Setup, Work, WorkError, run_on};
use crate::report::RunReport;
use crate::watch::{Heard, Watchers};
use aster_device::{Media, Pieces};
use aster_run_virtual::open_image;
use aster_workload::Drive;
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

/// Where a run's drive is kept.
pub struct Place {
    image: Option<PathBuf>,
    /// What is in the image, if there was one.
    existing: Option<Media>,
    drive: Drive,
}

impl Place {
    /// In memory, or in the file `image`. One that is there is opened and checked; nothing is made yet.
    ///
    /// # Errors
    /// When the image isn't that of such a drive, or the profile makes none.
    pub fn new(setup: &Setup, image: Option<&Path>) -> Result<Self, WorkError> {
        let existing = match image {
            Some(path) if path.exists() => Some(open_image(path, &setup.profile, setup.content)?),
            _ => None,
        };
        let (bytes, block_bytes) = aster_device::namespace(&setup.profile, setup.content, existing.as_ref())?;
        Ok(Place { image: image.map(Path::to_owned), existing, drive: Drive { bytes, block_bytes } })
    }

    /// The drive, as workloads see it.
    pub fn drive(&self) -> Drive {
        self.drive
    }

    fn media(self, setup: &Setup) -> Result<Media, WorkError> {
        Ok(match (self.existing, &self.image) {
            (Some(media), _) => media,
            (None, Some(path)) => open_image(path, &setup.profile, setup.content)?,
            (None, None) => Media::fresh(),
        })
    }
}

/// What a run is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The drive comes up, and is filled if that was asked for.
    Before,
    /// The work.
    Work,
}

/// What came of a run.
pub struct Outcome {
    /// What was measured.
    pub report: RunReport,
    /// What listeners heard.
    pub heard: Heard,
    /// What coming back from a sudden loss of power took, in words, if that was how the drive lost it.
    pub recovery: Option<String>,
}

/// Runs `work` as `aster run` does, on a drive built with `pieces`: boots it from `place`, fills and ages it as `setup` says, lets
/// `watchers` listen, measures, and shuts a drive that has an image down. `progress` is called with what the run is at and the share of
/// that which is done; `false` ends the work early, and the report covers what was done by then.
///
/// # Errors
/// When the run can't go on, or a file can't be written.
pub fn run(
    setup: &Setup,
    pieces: impl Into<Pieces>,
    work: Work,
    place: Place,
    watchers: Watchers,
    progress: &mut dyn FnMut(Phase, f64) -> bool,
) -> Result<Outcome, WorkError> {
    let has_image = place.image.is_some();
    let media = place.media(setup)?;
    let recorder = watchers.recorder().clone();
    let (mut recovery, phase, progress) = (None, Cell::new(Phase::Before), RefCell::new(progress));
    let (report, machine) = run_on(
        setup,
        pieces,
        work,
        media,
        &recorder,
        |machine, moment| match moment {
            Moment::Booted => {
                watchers.booted(machine);
                recovery = machine.device().recovery();
            }
            Moment::Work => {
                watchers.work_begins(machine);
                phase.set(Phase::Work);
                // However short the work is.
                (progress.borrow_mut())(Phase::Work, 0.0);
            }
        },
        &mut |share| {
            watchers.settle();
            (progress.borrow_mut())(phase.get(), share)
        },
    )?;
    let heard = watchers.finish(machine, |machine| match has_image {
        true => machine.shut_down().map(drop).map_err(WorkError::from),
        // Nobody will see the drive again: its power may go as it is.
        false => Ok(()),
    })?;
    Ok(Outcome { report, heard, recovery })
}
