//! Wear over a drive's life: regional static wear levelling (RSWL) of the paper's FTL beside none, and our
//! page-mapping FTL on the same drive with and without its levelling per LUN (H26, H27). The drive is filled,
//! and then a part of it is written over and over, at the same random places in each life, until the drive
//! takes no more writes. What it holds at its end is read back and compared.

use super::plan::Plan;
use crate::experiment::ExperimentError;
use aster_device::profile::{ContentKind, LevellingName, Profile};
use aster_device::{DriveState, Media};
use aster_driver::{Config, Driver, DriverError, QueueId};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_units::{Content, Rng};
use aster_workload::content::{Identity, check, fill};
use serde::Serialize;
use std::rc::Rc;

/// The queue pair that the host uses.
const QUEUE: QueueId = QueueId(1);
/// Samples while each block is erased as often as its endurance says.
const SAMPLES: f64 = 100.0;
const SEED: u64 = 1;

/// The FTL of a life, and whether it levels wear.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WearKind {
    /// The paper's FTL without levelling.
    HostFtl,
    /// With RSWL.
    HostFtlLevelled,
    /// Our page-mapping FTL on the same drive without levelling.
    PageMapping,
    /// With static levelling within each LUN.
    PageMappingLevelled,
}

impl WearKind {
    /// All of them, each FTL without levelling before it with.
    pub const ALL: [WearKind; 4] =
        [WearKind::HostFtl, WearKind::HostFtlLevelled, WearKind::PageMapping, WearKind::PageMappingLevelled];

    /// Its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            WearKind::HostFtl => "hostftl",
            WearKind::HostFtlLevelled => "hostftl, RSWL",
            WearKind::PageMapping => "page-mapping",
            WearKind::PageMappingLevelled => "page-mapping, per LUN",
        }
    }
    /// The same FTL without levelling.
    pub const fn unlevelled(self) -> Self {
        match self {
            WearKind::HostFtl | WearKind::HostFtlLevelled => WearKind::HostFtl,
            WearKind::PageMapping | WearKind::PageMappingLevelled => WearKind::PageMapping,
        }
    }
}

/// A drive at a moment of its life.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WearSample {
    /// Bytes written by the host, over the capacity.
    pub drive_writes: f64,
    /// Erases of blocks.
    pub erases: u64,
    /// The fewest of a block, factory bad ones left out.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Blocks that went bad in use.
    pub bad: u64,
}

/// A drive's life.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WearLife {
    /// Its FTL.
    pub kind: WearKind,
    /// What was emptied for levelling: groups of the paper's FTL, blocks of ours.
    pub levelled: u64,
    /// What was emptied at all.
    pub emptied: u64,
    /// Samples along its life. The last is of the end, when the drive takes no more writes.
    pub samples: Vec<WearSample>,
}

impl WearLife {
    /// What was emptied for levelling until the end, in percent of what was emptied for something else.
    pub fn levelled_percent(&self) -> f64 {
        100.0 * self.levelled as f64 / (self.emptied - self.levelled) as f64
    }
}

/// The life of a drive that levels wear beside that of one that doesn't, under the same writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WearPair {
    /// Without levelling and with, after the same writes: the last sample before a block goes bad in either.
    pub without: WearSample,
    /// With levelling.
    pub with: WearSample,
    /// Bytes written until the end, over the capacity: without levelling and with.
    pub ends: [f64; 2],
}

impl WearPair {
    /// The lives of one FTL; `None` unless both are there and blocks went bad in neither from the start.
    pub fn of(lives: &[WearLife], with: WearKind) -> Option<Self> {
        let find = |kind| lives.iter().find(|life| life.kind == kind);
        let (without, with) = (find(with.unlevelled())?, find(with)?);
        let pairs = without.samples.iter().zip(&with.samples);
        let (a, b) = pairs.take_while(|(a, b)| a.bad == 0 && b.bad == 0).last()?;
        let end = |life: &WearLife| life.samples.last().map(|sample| sample.drive_writes);
        Some(WearPair { without: *a, with: *b, ends: [end(without)?, end(with)?] })
    }
    /// Erases that levelling adds, in percent.
    pub fn extra_percent(&self) -> f64 {
        100.0 * (self.with.erases as f64 / self.without.erases as f64 - 1.0)
    }
}

/// The greatest difference of erases between two blocks before the first one goes bad.
pub fn widest(life: &WearLife) -> u32 {
    let whole = life.samples.iter().take_while(|sample| sample.bad == 0);
    whole.map(|sample| sample.most - sample.least).max().unwrap_or(0)
}

/// Lives through all kinds.
pub(super) fn lives(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<WearLife>, ExperimentError> {
    let all = WearKind::ALL.len() as f64;
    let kinds = (0..).zip(WearKind::ALL);
    kinds
        .map(|(n, kind)| live(plan, kind, &mut |share| told((f64::from(n) + share.min(1.0)) / all)))
        .collect()
}

fn profile(plan: &Plan, kind: WearKind) -> Result<Profile, ExperimentError> {
    let (mut profile, wear) = (plan.profile_of_wear()?, &plan.wear);
    // Our page-mapping FTL keeps its map in pages, so it needs their bytes; what is compared is alike.
    profile.content = ContentKind::Full;
    profile.ftl.over_provisioning_percent = wear.over_provisioning_percent;
    (profile.package.endurance, profile.package.wear_out_percent) = (wear.endurance, 100);
    let target = profile.target.get_or_insert_default();
    target.wear_window = None;
    match kind {
        WearKind::HostFtl => {}
        WearKind::HostFtlLevelled => target.wear_window = Some(wear.window),
        WearKind::PageMapping | WearKind::PageMappingLevelled => {
            target.kind = "page-mapping".to_owned();
            let levels = kind == WearKind::PageMappingLevelled;
            profile.ftl.wear_levelling = if levels { LevellingName::Static } else { LevellingName::None };
            // It begins when blocks differ by half of the window, where RSWL begins at two fifths.
            profile.ftl.wear_spread = wear.window / 2;
        }
    }
    Ok(profile)
}

/// What the host knows: the version of each piece that the drive has taken, and whether it may hold another.
struct Host {
    versions: Vec<(u32, bool)>,
    latest: u32,
    block_bytes: usize,
    piece_bytes: usize,
}

impl Host {
    /// Writes pieces until the drive refuses one. Returns how many it has taken, and whether it refused.
    async fn write(
        mut self,
        driver: Rc<Driver<VirtualBar>>,
        pieces: Vec<usize>,
    ) -> Result<(Self, u64, bool), DriverError> {
        let mut bytes = vec![0; self.piece_bytes];
        for (written, &piece) in (0..).zip(&pieces) {
            self.latest += 1;
            let first = (piece * self.piece_bytes / self.block_bytes) as u64;
            for (block, bytes) in (first..).zip(bytes.chunks_exact_mut(self.block_bytes)) {
                fill(bytes, Identity { block, version: self.latest, seed: SEED });
            }
            match driver.write(QUEUE, first, &bytes, false).await {
                Ok(()) => self.versions[piece] = (self.latest, false),
                Err(DriverError::Command { .. }) => {
                    self.versions[piece].1 = true;
                    return Ok((self, written, true));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((self, pieces.len() as u64, false))
    }
    /// Compares all that the drive holds.
    async fn compare(self, driver: Rc<Driver<VirtualBar>>) -> Result<(), ExperimentError> {
        let mut bytes = vec![0; self.piece_bytes];
        for (piece, &(version, is_unsure)) in self.versions.iter().enumerate() {
            let first = (piece * self.piece_bytes / self.block_bytes) as u64;
            let read = driver.read(QUEUE, first, &mut bytes).await;
            read.map_err(|error| ExperimentError::Run(error.to_string()))?;
            for (block, bytes) in (first..).zip(bytes.chunks_exact(self.block_bytes)) {
                let found = check(bytes, Identity { block, version, seed: SEED });
                if let (Err(wrong), false) = (found, is_unsure) {
                    return Err(ExperimentError::Run(format!("after a life: {wrong}")));
                }
            }
        }
        Ok(())
    }
}

fn sample(machine: &Machine, drive_writes: f64) -> WearSample {
    let stats = machine.device().stats();
    WearSample {
        drive_writes,
        erases: stats.nand.erases,
        least: stats.erases.min,
        most: stats.erases.max,
        mean: stats.erases.mean,
        deviation: stats.erases.deviation,
        bad: stats.ftl.grown_bad_blocks,
    }
}

/// Runs a life.
fn live(
    plan: &Plan,
    kind: WearKind,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<WearLife, ExperimentError> {
    let (profile, wear) = (profile(plan, kind)?, &plan.wear);
    let config = Config { depth: 4, ..Config::default() };
    let (content, media, recorder) = (Some(Content::Full), Media::fresh(), Recorder::default());
    let machine = Machine::power_on(&wear.profile, &profile, content, media, &recorder, config)?;
    machine.boot()?;
    let namespace = machine.driver().namespace();
    let (block_bytes, piece_bytes) = (namespace.block_bytes as usize, (wear.block_kib as usize) << 10);
    let pieces = (namespace.blocks * block_bytes as u64 / piece_bytes as u64) as usize;
    let hot = (pieces as u64 * u64::from(wear.hot_percent) / 100).max(1);
    let stretch = (pieces as f64 * f64::from(wear.endurance) / SAMPLES).max(1.0) as usize;
    let mut host = Host { versions: vec![(0, false); pieces], latest: 0, block_bytes, piece_bytes };
    let (mut rng, mut written, mut samples) = (Rng::new(SEED), 0, Vec::new());
    let mut next: Vec<usize> = (0..pieces).collect();
    loop {
        let writes = host.write(Rc::clone(machine.driver()), next);
        let (more, refused);
        (host, more, refused) = machine
            .block_on("writing", writes)?
            .map_err(|error| ExperimentError::Run(format!("{}: {error}", kind.title())))?;
        written += more;
        let now = sample(&machine, written as f64 / pieces as f64);
        samples.push(now);
        told(now.mean / f64::from(wear.endurance))?;
        if refused {
            break;
        }
        next = (0..stretch).map(|_| rng.below(hot) as usize).collect();
    }
    let ftl = machine.device().stats().ftl;
    if ftl.state != DriveState::ReadOnly {
        let wrong = format!("{}: a write failed before the drive's end", kind.title());
        return Err(ExperimentError::Run(wrong));
    }
    machine.block_on("reading", host.compare(Rc::clone(machine.driver())))??;
    Ok(WearLife { kind, levelled: ftl.levelled, emptied: ftl.gc_runs, samples })
}
