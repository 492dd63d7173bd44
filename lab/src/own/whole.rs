//! Everything that `aster run` does, as one call: image, listeners, work, report.

use super::origin::provenance_of;
use super::{Moment, OwnWork, Setup, WorkError, queues, run_as_far_as_it_goes};
use crate::provenance::{ImageRecord, absolute, hex};
use crate::report::RunReport;
use crate::warning::Warning;
use crate::watch::{Heard, Watchers};
use aster_device::{Device, Media, Pieces};
use aster_image::{image_state, keep_profile, open_image};
use aster_targets::with_ours;
use aster_workload::{Drive, Job};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a run's drive is kept.
pub struct Place {
    image: Option<PathBuf>,
    /// What is in the image, if there was one.
    existing: Option<Media>,
    /// The checksum of an existing image's content ([`ImageRecord::state`]), computed on first use.
    state: OnceCell<String>,
    /// Whether the report has its provenance.
    provenance: bool,
    drive: Drive,
}

impl Place {
    /// In memory, or in the file `image`. An existing image is opened and checked; a new one isn't made yet.
    ///
    /// # Errors
    /// When the image isn't that of such a drive, or the profile makes none.
    pub fn new(setup: &Setup, image: Option<&Path>) -> Result<Self, WorkError> {
        Place::with_own(Pieces::default(), setup, image)
    }

    /// As [`Place::new`], for a drive with a reader's own pieces beside ours.
    ///
    /// # Errors
    /// As [`Place::new`].
    pub fn with_own(own: Pieces, setup: &Setup, image: Option<&Path>) -> Result<Self, WorkError> {
        Place::of_pieces(&with_ours(own), setup, image)
    }

    /// As [`Place::new`], for a drive of these `pieces` alone.
    ///
    /// # Errors
    /// As [`Place::new`].
    pub fn of_pieces(pieces: &Pieces, setup: &Setup, image: Option<&Path>) -> Result<Self, WorkError> {
        let existing = match image {
            Some(path) if path.exists() => Some(open_image(path, &setup.profile, setup.content)?),
            _ => None,
        };
        let (bytes, block_bytes) =
            aster_device::namespace_with(pieces, &setup.profile, setup.content, existing.as_ref())?;
        let streams = aster_device::host_streams(&setup.profile).into();
        let drive = Drive { bytes, block_bytes, streams };
        let image = image.map(Path::to_owned);
        Ok(Place { image, existing, state: OnceCell::new(), provenance: true, drive })
    }

    /// Leaves the provenance out of the report. This is for reports that aren't kept, because the checksum of
    /// a large image takes a while.
    #[must_use]
    pub fn without_provenance(self) -> Self {
        Place { provenance: false, ..self }
    }

    /// The checksum of an existing image's content ([`ImageRecord::state`]); `None` for a new image, or in
    /// memory. The first call reads every record of the image.
    ///
    /// # Errors
    /// When the image can't be read.
    pub fn state(&self, setup: &Setup) -> Result<Option<&str>, WorkError> {
        let (Some(path), Some(_)) = (&self.image, &self.existing) else { return Ok(None) };
        if self.state.get().is_none() {
            let mut hash = Sha256::new();
            image_state(path, &setup.profile, setup.content, &mut |at, part| {
                hash.update(at.to_le_bytes());
                hash.update(part);
            })?;
            let _ = self.state.set(hex(hash));
        }
        Ok(self.state.get().map(String::as_str))
    }

    fn record(&self, setup: &Setup) -> Result<Option<ImageRecord>, WorkError> {
        let Some(path) = &self.image else { return Ok(None) };
        let state = self.state(setup)?.map(str::to_owned);
        Ok(Some(ImageRecord { path: absolute(path), state }))
    }

    /// The drive, as workloads see it.
    pub fn drive(&self) -> Drive {
        self.drive
    }

    fn media(self, setup: &Setup) -> Result<Media, WorkError> {
        let Some(path) = &self.image else { return Ok(Media::fresh()) };
        let media = match self.existing {
            Some(media) => media,
            None => open_image(path, &setup.profile, setup.content)?,
        };
        // If there is no room for the profile, the next use stores it: a run that only reads needs no room.
        let _no_room = keep_profile(path, &setup.name, &setup.profile)?;
        Ok(media)
    }
}

/// A phase of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The drive boots, and is preconditioned if requested.
    Before,
    /// The work.
    Work,
}

/// The outcome of a run.
pub struct Outcome {
    /// The measurements, with all warnings.
    pub report: RunReport,
    /// The listeners' results.
    pub heard: Heard,
    /// Errors in order of occurrence: why the work ended early, a failed shutdown, files that could not be
    /// written. The figures cover the work that was done.
    pub problems: Vec<WorkError>,
    /// The first page of flash that could not be corrected, if there was one.
    pub first_lost_page: Option<LostPage>,
}

/// A page of flash whose data could not be corrected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct LostPage {
    /// Its LUN.
    pub lun: u32,
    /// Its block in the LUN.
    pub block: u32,
    /// The page in the block.
    pub page: u16,
}

impl LostPage {
    fn first_of(device: &Device) -> Option<Self> {
        let (lun, block, page) = device.geometry().split_ppa(device.stats().ftl.first_lost?);
        Some(LostPage { lun: lun.0, block: block.0, page: page.0 })
    }
}

impl fmt::Display for LostPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {} of block {} on LUN {}", self.page, self.block, self.lun)
    }
}

/// Runs `work` as `aster run` does, on a drive built with `pieces`: boots it from `place`, fills and ages it
/// as `setup` says, attaches `watchers`, measures, and shuts down a drive that has an image. It calls
/// `progress` with the phase and the share of it that is done; `false` ends the work early, and the report
/// covers the work until then. Errors after the work's beginning don't lose the figures; they are in
/// [`Outcome::problems`].
///
/// # Errors
/// When the work can't begin.
pub fn run(
    setup: &Setup,
    pieces: impl Into<Pieces>,
    work: OwnWork,
    place: Place,
    watchers: Watchers,
    progress: &mut dyn FnMut(Phase, f64) -> bool,
) -> Result<Outcome, WorkError> {
    let (has_image, pieces) = (place.image.is_some(), pieces.into());
    let provenance = match place.provenance {
        true => Some(provenance_of(setup, &pieces, &work, place.record(setup)?)),
        false => None,
    };
    let jobs = jobs_of_queues(setup, &work);
    let media = place.media(setup)?;
    let recorder = watchers.recorder().clone();
    let (mut recovery, phase, progress) = (None, Cell::new(Phase::Before), RefCell::new(progress));
    let (mut report, machine, ran) = run_as_far_as_it_goes(
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
                // Report the phase once, however short the work is.
                (progress.borrow_mut())(Phase::Work, 0.0);
            }
        },
        &mut |share| {
            watchers.drop_complete_taps();
            (progress.borrow_mut())(phase.get(), share)
        },
    )?;
    let first_lost_page = LostPage::first_of(machine.device());
    let (mut heard, behind) = watchers.finish(machine, |machine| match has_image {
        true => machine.shut_down().map(drop).map_err(WorkError::from),
        // The drive won't be used again, so it needs no shutdown.
        false => Ok(()),
    });
    if let Some(commands) = &mut heard.commands {
        commands.jobs = jobs;
    }
    report.provenance = provenance;
    let recovery = recovery.map(|words| Warning::new("recovered", words));
    report.warnings.splice(0..0, recovery);
    report.warnings.extend(heard.notes.iter().cloned());
    let mut problems: Vec<WorkError> = ran.err().map(WorkError::from).into_iter().collect();
    // If the run's error also prevents the shutdown, the first error is the better message.
    let is_known = |error: &WorkError| report.error.is_some() && matches!(error, WorkError::Run(_));
    problems.extend(behind.into_iter().filter(|error| !is_known(error)));
    report.warnings.extend(problems.iter().map(|error| {
        let code = if matches!(error, WorkError::Watch(_)) { "file-not-written" } else { "run-broken-off" };
        Warning::new(code, error.to_string())
    }));
    Ok(Outcome { report, heard, problems, first_lost_page })
}

/// The name of the job that each submission queue belongs to; `None` for a queue of several. The runner deals
/// its tasks out to the queues in turn.
fn jobs_of_queues(setup: &Setup, work: &OwnWork) -> Vec<(u16, Option<String>)> {
    let names: Vec<&str> = match work {
        OwnWork::Jobs { jobs, .. } => {
            let copies = |job: &Job| 0..job.copies.max(1);
            jobs.iter().flat_map(|job| copies(job).map(|_| job.name.as_str())).collect()
        }
        OwnWork::Trace { file, .. } => vec![file.name()],
        OwnWork::Live { name, .. } => vec![name.as_str()],
    };
    let pairs = usize::from(queues(setup, work).pairs.max(1));
    let of_queue = |queue: usize| {
        let mut all: Vec<_> = names.iter().skip(queue).step_by(pairs).collect();
        all.dedup();
        let only = if let [only] = all[..] { Some((*only).to_owned()) } else { None };
        (queue as u16 + 1, only)
    };
    (0..pairs.min(names.len())).map(of_queue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::Preconditioning;
    use crate::watch::Watch;
    use aster_units::Content;
    use aster_workload::{Done, Request, RequestKind, Source};
    use std::convert::Infallible;
    use std::rc::Rc;

    #[test]
    fn a_run_that_was_stopped_says_so_and_one_with_pieces_of_its_own_names_them() {
        let profile = aster_device::profile::shipped("tiny").unwrap();
        let setup = Setup { content: Some(Content::Fingerprint), ..Setup::new("own", profile) };
        let ran = |goes_on: bool| {
            let arbiter: aster_device::MakeArbiter = Box::new(|_, _| Box::new(First));
            let pieces = Pieces { arbiter: Some(arbiter), ..Pieces::default() };
            let work = OwnWork::jobs("j", "[j]\nrw=randwrite\nbs=4k\nnumber_ios=4000\n", false).unwrap();
            let place = Place::new(&setup, None).unwrap();
            let watchers = Watchers::new(&Watch::default()).unwrap();
            let progress = &mut |phase, _| goes_on || phase == Phase::Before;
            run(&setup, pieces, work, place, watchers, progress).unwrap().report
        };
        let (whole, stopped) = (ran(true), ran(false));
        assert!(!whole.interrupted && stopped.interrupted);
        assert_eq!(whole.total.all.as_ref().unwrap().requests, 4000);
        assert!(stopped.total.all.unwrap().requests < 4000);
        assert_eq!(whole.provenance.unwrap().own_pieces, ["arbiter"]);
    }

    #[test]
    fn each_command_of_the_work_has_a_row_and_its_job() {
        let profile = aster_device::profile::shipped("tiny").unwrap();
        let setup = Setup {
            content: Some(Content::Fingerprint),
            precondition: Some(Preconditioning::Overwritten(0)),
            ..Setup::new("rows", profile)
        };
        let text = "[a]\nrw=randread\nbs=4k\nloops=9\n\
                    [b]\nrw=randwrite\nbs=8k\nnumber_ios=500\nfsync=100\n";
        let work = OwnWork::jobs("j", text, false).unwrap();
        let place = Place::new(&setup, None).unwrap();
        let watchers = Watchers::new(&Watch { commands: true, ..Watch::default() }).unwrap();
        let outcome = run(&setup, Pieces::default(), work, place, watchers, &mut |_, _| true).unwrap();
        let (report, table) = (outcome.report, outcome.heard.commands.unwrap());
        assert_eq!(table.parts[0].number.len(), crate::watch::PART_ROWS);
        assert_eq!(table.parts.len(), 2, "the rest is in a part of its own");
        let jobs: Vec<_> = table.jobs.iter().map(|(queue, job)| (*queue, job.as_deref())).collect();
        assert_eq!(jobs, [(1, Some("a")), (2, Some("b"))]);
        let mut numbers: Vec<u64> = table.parts.iter().flat_map(|part| part.number.clone()).collect();
        numbers.sort_unstable();
        let requests: u64 = report.total.kinds.iter().map(|kind| kind.requests).sum();
        assert_eq!(numbers, (1..=requests).collect::<Vec<_>>(), "one row for each, flushes as well");
        for part in &table.parts {
            for row in 0..part.number.len() {
                let (queue, opcode, bytes) = (part.queue[row], part.opcode[row], part.bytes[row]);
                match queue {
                    1 => assert_eq!((opcode, bytes), (2, 4096)),
                    _ => assert!(opcode == 0 || (opcode == 1 && bytes == 8192), "{opcode} {bytes}"),
                }
                let (submit, complete) = (part.submit_us[row], part.complete_us[row]);
                assert!(0.0 <= submit && submit < complete && part.status[row] == 0);
            }
        }
    }

    /// Reads block after block, and waits for each although there is room for more.
    struct OneByOne {
        given: u64,
        most: u64,
        waits: bool,
        told: Rc<RefCell<Vec<Done>>>,
    }

    impl Source for OneByOne {
        type Error = Infallible;

        fn next_request(&mut self) -> Result<Option<Request>, Infallible> {
            if self.waits || self.given == self.most {
                return Ok(None);
            }
            (self.given, self.waits) = (self.given + 1, true);
            let offset = (self.given - 1) * 4096;
            Ok(Some(Request { kind: RequestKind::Read, offset, length: 4096, ..Request::FLUSH }))
        }
        fn is_over(&self) -> bool {
            self.given == self.most
        }
        fn completed(&mut self, done: &Done) {
            self.waits = false;
            self.told.borrow_mut().push(*done);
        }
    }

    #[test]
    fn a_source_that_waits_for_each_completion_is_a_job_with_one_request_in_flight() {
        let profile = aster_device::profile::shipped("tiny").unwrap();
        let setup = Setup {
            content: Some(Content::Fingerprint),
            precondition: Some(Preconditioning::Overwritten(0)),
            ..Setup::new("live", profile)
        };
        let ran = |work: OwnWork| {
            let place = Place::new(&setup, None).unwrap();
            let watchers = Watchers::new(&Watch::default()).unwrap();
            run(&setup, Pieces::default(), work, place, watchers, &mut |_, _| true).unwrap().report
        };
        let told = Rc::default();
        let source = OneByOne { given: 0, most: 300, waits: false, told: Rc::clone(&told) };
        let live = ran(OwnWork::live("mine", source, 16, true));
        let job = ran(OwnWork::jobs("j", "[j]\nrw=read\nbs=4k\nnumber_ios=300\n", true).unwrap());
        let drive = |report: &RunReport| serde_json::to_value(&report.drive).unwrap();
        assert_eq!(drive(&live), drive(&job));
        assert_eq!(live.tasks[0].checked_blocks, 300);
        let told = told.borrow();
        assert!(told.iter().enumerate().all(|(i, done)| done.number == i as u64 + 1 && !done.failed));
        let mean = told.iter().map(|done| done.latency.as_picos()).sum::<u64>() as f64 / 300.0 / 1e6;
        let reported = live.total.all.unwrap().latency.unwrap().mean_us;
        assert!((mean - reported).abs() < 1e-3, "{mean} {reported}");
        let record = live.provenance.unwrap().work;
        assert_eq!(record, crate::provenance::WorkRecord::Live { name: "mine".to_owned() });
    }

    #[test]
    fn what_an_image_holds_is_summed_up_only_for_who_asks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.aster");
        let mut profile = aster_device::profile::shipped("tiny").unwrap();
        profile.geometry.blocks_per_lun = 512;
        let setup = Setup { content: Some(Content::Fingerprint), ..Setup::new("tiny", profile) };
        let ran = |provenance: bool, job: &str| {
            let work = OwnWork::jobs("j", job, false).unwrap();
            let watchers = Watchers::new(&Watch::default()).unwrap();
            let before = bytes_read();
            let place = Place::new(&setup, Some(&path)).unwrap();
            let place = if provenance { place } else { place.without_provenance() };
            let pieces = Pieces::default();
            let report = run(&setup, pieces, work, place, watchers, &mut |_, _| true).unwrap().report;
            assert_eq!(report.provenance.is_some(), provenance);
            (bytes_read() - before, report)
        };
        ran(false, "[fill]\nrw=write\nbs=64k\n");
        let read = "[look]\nrw=read\nbs=4k\nnumber_ios=1\n";
        let mut records = 0;
        let count = &mut |_, part: &[u8]| records += part.len() as u64;
        image_state(&path, &setup.profile, setup.content, count).unwrap();
        let ((without, _), (with, report)) = (ran(false, read), ran(true, read));
        assert!(with >= without + records / 2, "{with} and {without} bytes read, {records} of records");
        assert!(report.provenance.unwrap().image.unwrap().state.is_some());
    }

    /// Bytes that this thread has read from files.
    fn bytes_read() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
    }

    /// Chooses the transaction that was issued first.
    struct First;

    impl aster_device::plug::Arbiter for First {
        fn grant(&mut self, _: &aster_device::plug::ChannelPort, _: &[u16]) -> usize {
            0
        }
    }
}
