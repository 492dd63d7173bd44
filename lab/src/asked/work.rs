//! Work that a user named, with what there is to say before it runs and after it.

use super::failure::Failure;
use super::files::{HAND_WRITTEN_MAX, STANDARD_INPUT, is_standard_input, read_text};
use super::profiles::doubt;
use super::room::{self, Need};
use crate::namespace::bytes_to_write;
use crate::own::{self, LostPage, OwnWork, Setup};
use crate::report::RunReport;
use crate::warning::Warning;
use crate::watch::SpanReport;
use aster_device::FreshErrors;
use aster_device::profile::MESSAGE_UNIT;
use aster_workload::{Drive, Source, fio};
use serde::Serialize;
use std::convert::Infallible;
use std::path::Path;

/// Work that has been read, and fits its drive.
pub struct Asked {
    /// The work.
    pub work: OwnWork,
    /// Notes about it.
    pub notes: Vec<Warning>,
    /// Bytes that it writes, as far as known.
    pub written_bytes: u64,
}

/// Reads the job file at `path` for `drive`; with `verify` all its reads are checked.
///
/// # Errors
/// What is wrong with the file, or keeps its jobs from the drive.
pub fn job_file(path: &Path, verify: bool, seed: u64, drive: Drive) -> Result<Asked, Failure> {
    let text = read_text(path, HAND_WRITTEN_MAX, "a job file")?;
    // From here on, and in the report, the text has what the variables are now.
    let text = fio::expanded(&text, |name| std::env::var(name).ok());
    job_text(path, &text, verify, seed, drive)
}

/// The work of a job file's `text`, which errors call `path`, for `drive`.
///
/// # Errors
/// What is wrong with the text, or keeps its jobs from the drive.
pub fn job_text(path: &Path, text: &str, verify: bool, seed: u64, drive: Drive) -> Result<Asked, Failure> {
    let path = if is_standard_input(path) { Path::new(STANDARD_INPUT) } else { path };
    let work = OwnWork::jobs(&path.display().to_string(), text, verify);
    let work = work.map_err(|error| Failure::file(path, error))?;
    own::check_fit(text, drive, seed).map_err(|wrong| Failure::file(path, wrong))?;
    let written_bytes =
        own::written_bytes(work.as_jobs(), drive, seed).map_err(|error| Failure::file(path, error))?;
    Ok(Asked { work, notes: Vec::new(), written_bytes })
}

/// The work of a program's own `source` ([`OwnWork::live`]). What it writes isn't known in advance.
pub fn live(
    name: &str,
    source: impl Source<Error = Infallible> + 'static,
    queue_depth: u32,
    verify: bool,
) -> Asked {
    Asked { work: OwnWork::live(name, source, queue_depth, verify), notes: Vec::new(), written_bytes: 0 }
}

/// Refuses a drive that takes no NVMe commands, before anything of the run is made: nothing but an FTL on the
/// host makes an NVMe drive of one that takes command frames.
///
/// # Errors
/// When the drive is such a one.
pub fn check_front_end(setup: &Setup) -> Result<(), Failure> {
    if setup.profile.target.is_none() && setup.profile.host.front_end == MESSAGE_UNIT {
        bytes_to_write(&setup.profile, setup.content)?;
    }
    Ok(())
}

/// What there is to say before a run.
pub struct Before {
    /// Notes about the work, the room for it, and the drive: the report's first warnings.
    pub notes: Vec<Warning>,
    /// Warnings that the run itself puts into its report, behind the notes.
    pub said: Vec<Warning>,
}

/// Checks that the work's data have room in memory, or on the disk of `image`, and says what there is to say.
///
/// # Errors
/// When they have none, or a job doesn't fit the drive.
pub fn before(
    setup: &Setup,
    Asked { work, notes, written_bytes }: &Asked,
    drive: Drive,
    image: Option<&Path>,
) -> Result<Before, Failure> {
    let kept = setup.content.unwrap_or(setup.profile.content.into());
    let need = Need::of(&setup.profile, drive.bytes, setup.precondition.as_ref(), *written_bytes);
    let mut notes = notes.clone();
    notes.extend(room::check(&need, kept, setup.profile.geometry.page_bytes.into(), image)?);
    notes.extend(doubt(&FreshErrors::of(&setup.profile)?));
    let said = own::said_before(setup, work, drive).map_err(|error| match work {
        OwnWork::Jobs { name, .. } => Failure::file(Path::new(name), error),
        OwnWork::Trace { .. } | OwnWork::Live { .. } => Failure::usage(error),
    })?;
    Ok(Before { notes, said })
}

impl Before {
    /// Puts the notes before the warnings of `report`, and returns those that came with or after the work.
    pub fn put_into(&self, report: &mut RunReport) -> Vec<Warning> {
        let behind = report.warnings[self.said.len()..].to_vec();
        report.warnings.splice(0..0, self.notes.iter().cloned());
        behind
    }
}

/// What `aster run --json` prints.
#[derive(Serialize)]
pub struct Printed<'a> {
    /// The report.
    #[serde(flatten)]
    pub run: &'a RunReport,
    /// The first page of flash that could not be corrected; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_lost_page: Option<LostPage>,
    /// Where the commands spent their time, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spans: Option<&'a SpanReport>,
}
