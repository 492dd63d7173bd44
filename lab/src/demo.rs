//! `aster demo`: a file tree through a whole drive and back, then the four classic workloads.

use crate::measure::{Progress, drive_of, measure};
use crate::own::{Preconditioning, Setup, Steady, WorkError};
use crate::report::RunReport;
use crate::tree::{files_of, tar_of};
use aster_device::profile::{CollectionName, Profile, ProfileError, STRIPED, shipped};
use aster_device::{Media, Pieces};
use aster_driver::{Config, DriverError, QueueId};
use aster_events::Recorder;
use aster_image::{ImageError, keep_profile, open_image};
use aster_run_virtual::{Machine, RunError};
use aster_units::Content;
use aster_workload::runner::{Contents, HostTask, OnFailure, Precondition, precondition};
use aster_workload::{Access, BlockSizes, Extent, Job, Mix, PerDirection, PlanError};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The drive of the demo.
pub const PROFILE: &str = "cosmos-plus";
/// Blocks of each LUN that it uses (C31): 64 GiB, its over-provisioning, and the firmware's own blocks.
pub const BLOCKS_PER_LUN: u32 = 288;
/// The least capacity that it exports.
pub const EXPORTED_BYTES: u64 = 64 << 30;

/// Bytes of one command of the copy.
const COPY_BYTES: usize = 128 << 10;

/// The result of the copy through the drive.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct CopyReport {
    /// Files in the tree.
    pub files: usize,
    /// Bytes of the tar stream.
    pub bytes: u64,
    /// Checksum of the written bytes (SHA-256).
    pub written_sha256: String,
    /// Checksum of the bytes read after the drive was rebuilt from its image.
    pub read_sha256: String,
    /// Simulated seconds from power-on of the fresh drive to its clean shutdown.
    pub write_simulated_s: f64,
    /// Simulated seconds from power-on of the rebuilt drive to the last byte read.
    pub read_simulated_s: f64,
}

impl CopyReport {
    /// True when every byte came back.
    pub fn is_identical(&self) -> bool {
        self.written_sha256 == self.read_sha256
    }
}

/// The demo's results.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct DemoReport {
    /// The profile.
    pub profile: String,
    /// The copy.
    pub copy: CopyReport,
    /// The workloads, on one drive after the other.
    pub drives: Vec<Measured>,
}

/// The workloads on a drive.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Measured {
    /// What its FTL is like.
    pub ftl: DemoFtl,
    /// Bytes of a mapping unit.
    pub mapping_unit_bytes: u32,
    /// Exported bytes.
    pub exported_bytes: u64,
    /// The workloads.
    pub runs: Vec<RunReport>,
}

/// What the FTL of a drive of the demo is like.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum DemoFtl {
    /// As drives have it: units of 4 KiB, all LUNs as one pool, paced collection.
    AsInDrives,
    /// As the paper has it: pages, each tied to a LUN that is a pool of its own, collection on demand.
    AsInThePaper,
}

impl DemoFtl {
    /// Both, in the order in which they are measured.
    pub const ALL: [DemoFtl; 2] = [DemoFtl::AsInDrives, DemoFtl::AsInThePaper];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            DemoFtl::AsInDrives => "FTL as drives have it: 4 KiB units, one pool, paced",
            DemoFtl::AsInThePaper => "FTL as in the paper: 16 KiB pages, a pool per LUN, on demand",
        }
    }
    fn profile(self) -> Result<Profile, DemoError> {
        let mut profile = profile()?;
        if self == DemoFtl::AsInDrives {
            profile.ftl.mapping_unit_bytes = 4096;
            profile.ftl.placement = Some(STRIPED.to_owned());
            profile.ftl.collection = CollectionName::Paced;
        }
        Ok(profile)
    }
}

/// Why the demo failed.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The shipped profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The machine.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The driver.
    #[error("driver: {0}")]
    Driver(#[from] DriverError),
    /// A workload.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// What the second drive holds.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// The caller stopped it.
    #[error("interrupted: the demo did not come to its end")]
    Stopped,
    /// The tree.
    #[error("{path}: {error}", path = path.display())]
    Tree {
        /// Where.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

/// The profile of the demo: `cosmos-plus`, restricted to 64 GiB.
///
/// # Errors
/// When the shipped profile is broken.
pub fn profile() -> Result<Profile, DemoError> {
    let mut profile = shipped(PROFILE)?;
    profile.restrict.blocks_per_lun = Some(BLOCKS_PER_LUN);
    Ok(profile)
}

/// Makes `file`, which is empty and has no name, an image that [`copy_tree`] can use.
///
/// # Errors
/// When it can't be written.
pub fn make_image(file: &File) -> Result<(), DemoError> {
    Ok(aster_image::make_image(file, &profile()?, Some(Content::Full))?)
}

/// The most commands in flight; the demo's jobs need fewer.
const DEPTH_MAX: u16 = 255;

fn config(profile: &Profile) -> Config {
    Config {
        queue_pairs: 1,
        depth: DEPTH_MAX.min(profile.host.queue_entries - 1),
        transfer_bytes_max: COPY_BYTES as u32,
        ..Config::default()
    }
}

/// Copies the tree below `root` as a tar stream to a fresh drive on the image at `image`, shuts it down,
/// rebuilds the drive from the image alone, reads everything back and compares. If it is stopped half-way, it
/// still shuts the drive down.
///
/// # Errors
/// When the tree or the image can't be used, the drive fails, or `progress` stops it.
pub fn copy_tree(root: &Path, image: &Path, progress: Progress<'_>) -> Result<CopyReport, DemoError> {
    let tree = |error| DemoError::Tree { path: root.to_owned(), error };
    let (stream, files) = tar_of(root).map_err(tree)?;
    let profile = profile()?;
    let recorder = Recorder::default();
    let power_on = || -> Result<Machine, DemoError> {
        let media = open_image(image, &profile, Some(Content::Full))?;
        // If there is no room for the profile, the next use stores it.
        let _no_room = keep_profile(image, PROFILE, &profile)?;
        let config = config(&profile);
        let machine = Machine::power_on(PROFILE, &profile, Some(Content::Full), media, &recorder, config)?;
        Ok(machine)
    };

    let machine = power_on()?;
    machine.boot_while(&mut || progress(0.0))?;
    let block = machine.driver().namespace().block_bytes as usize;
    let chunks = stream.len().div_ceil(COPY_BYTES).max(1);
    for (i, chunk) in stream.chunks(COPY_BYTES).enumerate() {
        let mut bytes = chunk.to_vec();
        bytes.resize(bytes.len().next_multiple_of(block), 0);
        let driver = machine.driver().clone();
        let slba = (i * COPY_BYTES / block) as u64;
        machine.block_on("writing the tree", async move {
            driver.write(QueueId(1), slba, &bytes, false).await
        })??;
        if !progress(0.5 * i as f64 / chunks as f64) {
            return stopped(machine);
        }
    }
    let write_simulated_s = machine.now().as_picos() as f64 / 1e12;
    // Drop all state of this machine: the next drive is built from profile, NAND image and NVRAM alone.
    drop(machine.shut_down()?);

    let machine = power_on()?;
    machine.boot_while(&mut || progress(0.5))?;
    let mut back = Vec::with_capacity(stream.len());
    while back.len() < stream.len() {
        let bytes = (stream.len() - back.len()).min(COPY_BYTES).next_multiple_of(block);
        let driver = machine.driver().clone();
        let slba = (back.len() / block) as u64;
        let chunk = machine.block_on("reading the tree", async move {
            let mut bytes = vec![0; bytes];
            driver.read(QueueId(1), slba, &mut bytes).await.map(|()| bytes)
        })??;
        let wanted = chunk.len().min(stream.len() - back.len());
        back.extend_from_slice(&chunk[..wanted]);
        if !progress(0.5 + 0.5 * back.len() as f64 / stream.len() as f64) {
            return stopped(machine);
        }
    }
    let read_simulated_s = machine.now().as_picos() as f64 / 1e12;
    drop(machine.shut_down()?);
    let found = files_of(&back).map_err(tree)?;
    let sum = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect::<String>();
    Ok(CopyReport {
        files: found.min(files),
        bytes: stream.len() as u64,
        written_sha256: sum(&stream),
        read_sha256: sum(&back),
        write_simulated_s,
        read_simulated_s,
    })
}

/// Ends a copy that the caller stopped: its image may be used again.
fn stopped(machine: Machine) -> Result<CopyReport, DemoError> {
    drop(machine.shut_down()?);
    Err(DemoError::Stopped)
}

/// Blocks of the one LUN that the waveform is taken from: few, so that garbage collection erases soon.
const WAVE_BLOCKS: u32 = 24;

/// Runs one way of one channel of the demo's drive, with real bytes, through a fill and random overwrites, so
/// that pages are programmed, read and erased. `prepare` sees the machine after the fill. It calls `done` now
/// and then, which returns true when enough was recorded.
///
/// # Errors
/// When the drive fails.
pub fn run_for_wave(prepare: impl FnOnce(&Machine), mut done: impl FnMut() -> bool) -> Result<(), DemoError> {
    let mut profile = shipped(PROFILE)?;
    profile.restrict.channels = Some(1);
    profile.restrict.ways = Some(1);
    profile.restrict.blocks_per_lun = Some(WAVE_BLOCKS);
    profile.ftl.over_provisioning_percent = 80.0;
    profile.ftl.buffer_entries = 16;
    let media = Media::fresh();
    let recorder = Recorder::default();
    let machine =
        Machine::power_on(PROFILE, &profile, Some(Content::Full), media, &recorder, config(&profile))?;
    machine.boot()?;
    let drive = drive_of(&machine);
    let how = Precondition {
        bytes: None,
        fill_block: 16 << 10,
        overwrite_block: 4 << 10,
        overwrite_percent: 100,
        queue_depth: 4,
        seed: 1,
    };
    let mut contents = Contents::unversioned(drive, 1);
    let mut prepare = Some(prepare);
    for job in precondition(drive.bytes, &how) {
        // After the fill the drive's own first reads, of factory marks, are over.
        if job.access == Access::Random
            && let Some(prepare) = prepare.take()
        {
            prepare(&machine);
        }
        let tasks = HostTask::of_jobs(&[job], drive, 1)?;
        let watched = prepare.is_none();
        let progress = &mut |_| !(watched && done());
        (_, contents) = measure(&machine, "waveform", tasks, contents, OnFailure::EndTask, progress)?;
    }
    Ok(())
}

/// The four workloads of the demo, with their numbers of requests.
fn workloads() -> Vec<Job> {
    let job = |name: &str, access, mix, block: u32, queue_depth, requests| Job {
        name: name.into(),
        access,
        mix,
        block_sizes: PerDirection::all(BlockSizes::Fixed(block)),
        number_ios: Some(requests),
        size: Some(Extent::Percent(100)),
        queue_depth,
        random_map: false,
        after_previous: true,
        ..Job::default()
    };
    vec![
        job("4 KiB random read", Access::Random, Mix::Read, 4 << 10, 128, 400_000),
        job("4 KiB random write", Access::Random, Mix::Write, 4 << 10, 128, 300_000),
        job("128 KiB sequential read", Access::Sequential, Mix::Read, 128 << 10, 16, 60_000),
        job("128 KiB sequential write", Access::Sequential, Mix::Write, 128 << 10, 16, 40_000),
    ]
}

/// Runs the four workloads on a drive with this FTL that keeps fingerprints and is in steady state from its
/// first boot. Calls `stage` with the name of each stage.
///
/// # Errors
/// When the drive fails, or `progress` stops it.
pub fn measure_workloads(
    ftl: DemoFtl,
    mut stage: impl FnMut(&str),
    progress: Progress<'_>,
) -> Result<Measured, DemoError> {
    let precondition = Some(Preconditioning::Steady(Steady::default()));
    let setup =
        Setup { precondition, content: Some(Content::Fingerprint), ..Setup::new(PROFILE, ftl.profile()?) };
    let media = setup.before_power_on(Media::fresh(), &Pieces::default())?;
    let Setup { profile, content, .. } = &setup;
    let machine =
        Machine::power_on(PROFILE, profile, *content, media, &Recorder::default(), config(profile))?;
    let stopped = Cell::new(false);
    let watched = &mut |share| {
        stopped.set(stopped.get() || !progress(share));
        !stopped.get()
    };
    stage("steady state");
    machine.boot_while(&mut || watched(machine.device().translation().filled_share().unwrap_or(0.0)))?;
    let drive = drive_of(&machine);
    let mut contents = Contents::unversioned(drive, setup.seed);
    let mut runs = Vec::new();
    for job in workloads() {
        stage(&job.name);
        let name = job.name.clone();
        let tasks = HostTask::of_jobs(&[job], drive, setup.seed)?;
        let (report, back) = measure(&machine, &name, tasks, contents, OnFailure::EndTask, watched)?;
        if stopped.get() {
            return Err(DemoError::Stopped);
        }
        contents = back;
        runs.push(report);
    }
    let mapping_unit_bytes = match profile.ftl.mapping_unit_bytes {
        0 => profile.geometry.page_bytes,
        bytes => bytes,
    };
    Ok(Measured { ftl, mapping_unit_bytes, exported_bytes: drive.bytes, runs })
}
