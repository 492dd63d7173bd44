//! The experiment's drives, and how work on them is measured.

use super::plan::{Ftl, Plan};
use super::watch::{DeviceWatch, Heard};
use crate::experiment::{Done, ExperimentDrive, ExperimentError};
use aster_device::Pieces;
use aster_device::profile::{BLOCK, Profile, TargetProfile};
use aster_driver::Config;
use aster_events::Recorder;
use aster_units::{Content, Duration, SECTOR_BYTES};
use aster_workload::{Access, BlockSizes, Extent, Job, Mix, PerDirection};
use std::cell::RefCell;
use std::rc::Rc;

/// What the host asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) write: bool,
    pub(super) random: bool,
    pub(super) bytes: u32,
    pub(super) outstanding: u32,
    pub(super) requests: u64,
    /// Where on the drive.
    pub(super) from: u64,
    pub(super) range: u64,
}

/// A drive of the experiment.
pub(super) struct PaperDrive {
    pub(super) drive: ExperimentDrive,
    recorder: Recorder,
}

/// Bytes per request of the writes before a measurement.
const FILL_BYTES: u32 = 128 << 10;
const FILL_OUTSTANDING: u32 = 32;
/// Commands outstanding at most: those of a queue of the board (P12).
const DEPTH_MAX: u16 = 255;

impl PaperDrive {
    /// The drive of Figs 33 to 38.
    pub(super) fn of_load(plan: &Plan, ftl: Ftl) -> Result<Self, ExperimentError> {
        Self::of(plan.load_profile(ftl)?)
    }
    /// The drive of the slides, or that of their random writes.
    pub(super) fn of_slides(
        plan: &Plan,
        ftl: Ftl,
        cached: bool,
        random: bool,
    ) -> Result<Self, ExperimentError> {
        let mut profile = plan.slides_profile(ftl, random)?;
        if cached {
            // A host takes as long for a page of its cache, whatever is below.
            let command_ns = plan.slides_profile(Ftl::Pblk, random)?.target.and_then(|pblk| pblk.command_ns);
            let block = || TargetProfile { kind: BLOCK.to_owned(), command_ns, ..TargetProfile::default() };
            profile.target.get_or_insert_with(block).page_cache_mib = Some(plan.slides.cache_mib(random));
        }
        Self::of(profile)
    }
    /// Bytes that a page cache of the host has written back; `None` without one.
    pub(super) fn written_back(&self) -> Option<u64> {
        let pages = self.drive.machine.device().translation().counter("written_back")?;
        Some(pages * SECTOR_BYTES as u64)
    }
    pub(super) fn of(profile: Profile) -> Result<Self, ExperimentError> {
        Self::keeping(Content::Fingerprint, profile)
    }
    /// A drive that keeps data so.
    pub(super) fn keeping(content: Content, profile: Profile) -> Result<Self, ExperimentError> {
        let config = Config {
            queue_pairs: 1,
            depth: DEPTH_MAX.min(profile.host.queue_entries - 1),
            content,
            ..Config::default()
        };
        let recorder = Recorder::default();
        let drive =
            ExperimentDrive::keeping(content, "ocssd", profile, Pieces::default(), config, &recorder)?;
        Ok(PaperDrive { drive, recorder })
    }
    /// Bytes that the host sees.
    pub(super) fn capacity(&self) -> u64 {
        crate::measure::drive_of(&self.drive.machine).bytes
    }
    /// Bytes that a buffer of the drive's or of pblk's holds: 16 MiB on the board, as much in pblk (P30).
    pub(super) fn buffer_bytes(&self) -> u64 {
        u64::from(self.drive.profile.ftl.buffer_entries) * u64::from(self.drive.profile.geometry.page_bytes)
    }

    /// Writes a range in order, and flushes it to flash.
    pub(super) fn fill(&mut self, from: u64, range: u64) -> Result<(), ExperimentError> {
        let work = Work {
            write: true,
            random: false,
            bytes: FILL_BYTES,
            outstanding: FILL_OUTSTANDING,
            requests: range.div_ceil(u64::from(FILL_BYTES)),
            from,
            range,
        };
        self.run("fill", &work)?;
        self.drive.flush()
    }
    /// Carries `work` out.
    pub(super) fn run(&mut self, name: &str, work: &Work) -> Result<Done, ExperimentError> {
        let bytes = u64::from(work.bytes);
        let job = Job {
            name: name.to_owned(),
            access: if work.random { Access::Random } else { Access::Sequential },
            mix: if work.write { Mix::Write } else { Mix::Read },
            block_sizes: PerDirection::all(BlockSizes::Fixed(work.bytes)),
            offset: Extent::Bytes(work.from),
            size: Some(Extent::Bytes((work.range / bytes).max(1) * bytes)),
            io_size: Some(Extent::Bytes(work.requests * bytes)),
            queue_depth: work.outstanding,
            random_map: false,
            ..Job::default()
        };
        self.drive.run(&[job])
    }
    /// Carries `work` out, and listens to the drive meanwhile. The monitor's samples are of `sample` each.
    pub(super) fn watched(
        &mut self,
        name: &str,
        work: &Work,
        sample: Duration,
    ) -> Result<(Done, Heard), ExperimentError> {
        let machine = &self.drive.machine;
        let watch = DeviceWatch::new(machine.device().geometry(), machine.now(), sample);
        let watch = Rc::new(RefCell::new(watch));
        self.recorder.attach(Rc::clone(&watch));
        let done = self.run(name, work);
        self.recorder.detach();
        Ok((done?, watch.borrow_mut().take()))
    }
}
