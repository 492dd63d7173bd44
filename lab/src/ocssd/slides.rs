//! The slides' workloads, each with one request outstanding: latencies, the sizes of the drive's commands,
//! and erased blocks; with a page cache of the host, and without.

use super::drive::{PaperDrive, Work};
use super::plan::{Ftl, Plan};
use super::sweep::curve;
use crate::experiment::ExperimentError;
use aster_device::profile::Profile;
use aster_device::{Pieces, lun_pool};
use aster_pblk::Shape;
use aster_units::{Content, Duration};
use serde::Serialize;

/// Blocks that 10⁶ writes of 128 KiB fill, and blocks of an array of 64 GiB of 64 LUNs (G16).
pub(super) const ALL_DATA: f64 = 62_500.0;
pub(super) const ALL_ARRAY: f64 = 32_768.0;
pub(super) const ALL_LUNS: f64 = 64.0;

/// What the host does (O7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// 128 KiB, one after the other.
    SequentialWrite,
    /// The same, read.
    SequentialRead,
    /// 4 KiB at random places of a small drive.
    RandomWrite,
    /// 4 KiB at random places of the drive.
    RandomRead,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 4] =
        [Workload::SequentialWrite, Workload::SequentialRead, Workload::RandomWrite, Workload::RandomRead];
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Workload::SequentialWrite => "128 KiB sequential write",
            Workload::SequentialRead => "128 KiB sequential read",
            Workload::RandomWrite => "4 KiB random write",
            Workload::RandomRead => "4 KiB random read",
        }
    }
    const fn writes(self) -> bool {
        matches!(self, Workload::SequentialWrite | Workload::RandomWrite)
    }
    const fn is_random(self) -> bool {
        matches!(self, Workload::RandomWrite | Workload::RandomRead)
    }
}

/// How many commands of the drive had so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CommandSize {
    /// Bytes.
    pub bytes: u64,
    /// Commands.
    pub commands: u64,
}

/// Where erases come from while the host writes in order, in blocks of one plane, 2 MiB in the slides. A
/// block is erased before it is begun, but for those of the array, which come erased; the rest of those
/// that were erased are kept so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EraseParts {
    /// The host's data.
    pub data: f64,
    /// The array, which the board's FTL fills before its first erase. pblk erases each line before it writes
    /// it, so there it is 0.
    pub array: f64,
    /// What else was programmed, less what is in the drive's or pblk's buffer at the end.
    pub metadata: f64,
    /// Pages left in the blocks that were begun: in those that are being written, and in blocks of a log that
    /// was closed early.
    pub unfilled: f64,
    /// Blocks that are erased at the end, or were never written.
    pub kept: f64,
    /// Erases that follow from the host's data and from what the FTL keeps by its configuration.
    pub expected: f64,
    /// LUNs of the array.
    pub luns: u32,
}

impl EraseParts {
    /// The slides' model: what is written beyond what comes erased (G16).
    pub fn model(&self) -> f64 {
        self.data - self.array
    }
    /// What the drive keeps beyond the model.
    pub fn beyond(&self) -> f64 {
        self.metadata + self.unfilled + self.kept
    }
    /// The erases of a drive that erases no block twice without writing it.
    pub fn derived(&self) -> f64 {
        self.model() + self.beyond()
    }
}

/// A workload on a drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlidesRow {
    /// What the host does.
    pub workload: Workload,
    /// Which FTL.
    pub ftl: Ftl,
    /// The host has a page cache.
    pub cached: bool,
    /// Requests.
    pub requests: u64,
    /// Bytes of the drive that they go over.
    pub range_bytes: u64,
    /// Mean latency, µs.
    pub mean_us: f64,
    /// Quantiles of the latency, µs, in steps of a twentieth.
    pub quantiles_us: Vec<f64>,
    /// 99th percentile, µs.
    pub p99_us: f64,
    /// The drive's commands of the workload's direction, by size (O16).
    pub sizes: Vec<CommandSize>,
    /// Blocks of one plane that were erased.
    pub erased: u64,
    /// The share of erases that directly followed a program of their LUN (O11).
    pub erases_after_program: f64,
    /// Where the erases come from (O12, G16). Of sequential writes.
    pub erases: Option<EraseParts>,
}

impl SlidesRow {
    /// What tables call its drive.
    pub fn drive(&self) -> String {
        format!("{}{}", self.ftl.name(), if self.cached { " with cache" } else { "" })
    }
}

/// Each workload on each drive.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<SlidesRow>, ExperimentError> {
    let mut rows = Vec::new();
    let total = (2 * Workload::ALL.len() * Ftl::ALL.len()) as f64;
    for (ftl, cached) in Ftl::ALL.into_iter().flat_map(|ftl| [(ftl, true), (ftl, false)]) {
        for workload in [Workload::SequentialWrite, Workload::RandomWrite] {
            told(rows.len() as f64 / total)?;
            let mut drive = PaperDrive::of_slides(plan, ftl, cached, workload.is_random())?;
            rows.push(row(plan, &mut drive, workload, ftl, cached)?);
        }
        told(rows.len() as f64 / total)?;
        // Both read all of one drive, which is filled once.
        let mut drive = PaperDrive::of_slides(plan, ftl, cached, false)?;
        drive.fill(0, drive.capacity())?;
        for workload in [Workload::SequentialRead, Workload::RandomRead] {
            told(rows.len() as f64 / total)?;
            rows.push(row(plan, &mut drive, workload, ftl, cached)?);
        }
    }
    rows.sort_by_key(|row| row.workload as u8);
    Ok(rows)
}

/// Erases of a drive whose host writes so many blocks of data in order, told by its profile alone. pblk
/// erases whole lines, those that it writes and the next one. The board's FTL keeps in each LUN the blocks at
/// which collection begins, those for copies, and those for map and log.
fn expected(profile: &Profile, ftl: Ftl, data: f64, array: f64) -> f64 {
    match ftl {
        Ftl::Pblk => {
            let geometry = profile.used_geometry();
            let line = Shape::of(&geometry).expect("the drive was built");
            let sectors = data * f64::from(geometry.pages_per_block) * f64::from(geometry.sectors_per_page());
            let lines = (sectors / f64::from(line.data_sectors(line.luns()))).ceil() + 1.0;
            lines * f64::from(line.luns()) * f64::from(geometry.planes)
        }
        Ftl::Drive => {
            let pool = lun_pool(&Pieces::default(), profile, Content::Fingerprint);
            let pool = pool.expect("the board has our FTL");
            let of_lun = pool.reserve + pool.map_blocks + pool.log_blocks + profile.ftl.gc_free_blocks;
            data - array + f64::from(pool.pools * of_lun)
        }
    }
}

/// A workload on a drive, all of which it goes over.
fn row(
    plan: &Plan,
    drive: &mut PaperDrive,
    workload: Workload,
    ftl: Ftl,
    cached: bool,
) -> Result<SlidesRow, ExperimentError> {
    let slides = &plan.slides;
    let geometry = *drive.drive.machine.device().geometry();
    let blocks = drive.drive.profile.restrict.blocks_per_lun.unwrap_or(geometry.blocks_per_lun);
    let bytes = if workload.is_random() { slides.random_bytes } else { slides.sequential_bytes };
    let requests = match workload {
        Workload::RandomWrite => slides.random_writes,
        _ => (slides.requests as f64 * slides.share) as u64,
    };
    let work = Work {
        write: workload.writes(),
        random: workload.is_random(),
        bytes,
        outstanding: 1,
        requests,
        from: 0,
        range: drive.capacity(),
    };
    let before = drive.written_back();
    let (done, heard) = drive.watched(workload.name(), &work, Duration::from_millis(1))?;
    let mut sorted = done.latencies;
    sorted.sort_unstable();
    let micros = |time: &Duration| time.as_secs_f64() * 1e6;
    let p99 = sorted.get(sorted.len().saturating_sub(1) * 99 / 100).map_or(0.0, micros);
    let (erases, after) = heard.erases_after;
    let parts = || {
        let pages = f64::from(geometry.pages_per_block);
        // What is dirty at the end has not come to the drive.
        let written = drive.written_back().zip(before).map(|(after, before)| after - before);
        let written = written.unwrap_or(requests * u64::from(bytes));
        let data = written as f64 / pages / f64::from(geometry.page_bytes);
        let programmed = heard.programmed as f64 / pages;
        let luns = geometry.total_luns();
        let all = f64::from(luns) * f64::from(blocks);
        let (array, untouched) = match ftl {
            Ftl::Drive => (all, all - heard.blocks.taken_fresh as f64),
            Ftl::Pblk => (0.0, 0.0),
        };
        EraseParts {
            expected: expected(&drive.drive.profile, ftl, data, all),
            data,
            array,
            metadata: programmed - data,
            unfilled: heard.blocks.opened as f64 - programmed,
            kept: heard.blocks.kept as f64 + untouched,
            luns,
        }
    };
    Ok(SlidesRow {
        workload,
        ftl,
        cached,
        requests,
        range_bytes: work.range,
        mean_us: sorted.iter().map(micros).sum::<f64>() / sorted.len().max(1) as f64,
        quantiles_us: curve(&sorted),
        p99_us: p99,
        sizes: heard
            .sizes
            .iter()
            .filter(|((write, _), _)| *write == work.write)
            .map(|((_, bytes), commands)| CommandSize { bytes: *bytes, commands: *commands })
            .collect(),
        erased: heard.blocks.erased,
        erases_after_program: after as f64 / erases.max(1) as f64,
        erases: (workload == Workload::SequentialWrite).then(parts),
    })
}
