//! The experiment's drives: what varies in the profile, and how a drive is prepared and measured.

use super::mode::Mode;
use super::plan::Plan;
use crate::experiment::{Done, ExperimentDrive, ExperimentError};
use aster_device::big_loop::{LoopPart, LoopStats, PARTS};
use aster_device::profile::{AssignerName, CellUse, ControllerName, Profile};
use aster_device::{DriveStats, Pieces};
use aster_driver::Config;
use aster_events::Recorder;
use aster_units::Duration;
use aster_workload::{Access, BlockSizes, Extent, Job, Mix, PerDirection};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// LUNs of the paper's full drive.
const FULL_LUNS: u64 = 64;
/// The largest factor by which a small drive's LUNs have more blocks.
const MORE_BLOCKS_MAX: u64 = 16;

/// Which drive.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How its flash is used.
    pub mode: Mode,
    /// Channels used (C31).
    pub channels: u16,
    /// Ways used.
    pub ways: u8,
    /// The core's clock; the processor's buses, 6 to 9, go with it (C78).
    pub clock_mhz: u32,
    /// Which LUN a logical page belongs to.
    pub assigner: AssignerName,
    /// What drives the channels.
    pub controller: ControllerName,
}

impl Setup {
    /// The paper's full drive in a mode.
    pub fn full(mode: Mode) -> Self {
        Setup {
            mode,
            channels: 8,
            ways: 8,
            clock_mhz: 1000,
            assigner: AssignerName::ChannelFirst,
            controller: ControllerName::Asynchronous,
        }
    }
    /// Its LUNs.
    pub fn luns(&self) -> u64 {
        u64::from(self.channels) * u64::from(self.ways)
    }
    /// The plan's profile with these variations.
    pub(super) fn profile(&self, plan: &Plan) -> Result<Profile, ExperimentError> {
        let mut p = match self.mode {
            Mode::Slc | Mode::Mlc => plan.profile()?,
            Mode::OneShot => plan.one_shot_profile()?,
        };
        p.restrict.channels = Some(self.channels);
        p.restrict.ways = Some(self.ways);
        // Fewer LUNs have more blocks, so that every drive has room for the same work.
        let more = (FULL_LUNS / self.luns()).clamp(1, MORE_BLOCKS_MAX) as u32;
        p.restrict.blocks_per_lun = Some(plan.blocks_per_lun * more);
        p.package.factory_bad_per_mille = 0;
        p.ftl.assigner = self.assigner;
        p.channel.controller = self.controller;
        let slower = f64::from(self.clock_mhz) / p.cores.frequency_mhz;
        p.cores.frequency_mhz = f64::from(self.clock_mhz);
        p.board.buses.processor_mhz *= slower;
        p.board.buses.central_mhz *= slower;
        let slow = |mb_per_s: &mut u64| *mb_per_s = (*mb_per_s as f64 * slower).round() as u64;
        slow(&mut p.board.buses.processor_memory_mb_per_s);
        slow(&mut p.board.buses.central_memory_mb_per_s);
        if self.mode == Mode::Slc {
            p.package.cells = CellUse::Slc;
            p.package.read_us = vec![plan.paper.table_5.slc_read_us];
            p.package.program_us = vec![plan.paper.table_5.slc_program_us];
            p.geometry.pages_per_block /= 2;
        }
        Ok(p)
    }
}

/// What the host asks for.
#[derive(Clone, Copy, Debug)]
pub struct AccessPattern {
    /// Writes, or reads.
    pub write: bool,
    /// At random places, or one after the other.
    pub random: bool,
    /// Bytes of a request.
    pub bytes: u32,
    /// Requests outstanding.
    pub outstanding: u32,
    /// Requests measured.
    pub requests: u64,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// 10⁶ bytes per second.
    pub mb_per_s: f64,
    /// Requests per second.
    pub iops: f64,
    /// System latency of a command (C66), µs.
    pub system_us: f64,
    /// Host interface controller's share of it.
    pub hic_us: f64,
    /// The firmware's.
    pub firmware_us: f64,
    /// The storage controller's.
    pub storage_us: f64,
    /// Shares of the core's time, 0 to 1: commands, FTL, status checker, order, issuer.
    #[serde(serialize_with = "named_parts")]
    pub parts: [f64; PARTS],
    /// Share of the time that a channel's bus is owned.
    pub utilisation: f64,
    /// 10⁶ bytes per second through DRAM.
    pub dram_mb_per_s: f64,
}

/// The names of the core's parts, in the order of their index.
const PART_NAMES: [&str; PARTS] = ["commands", "ftl", "status_checker", "order", "issuer"];

/// Shares of the core's time by the parts' names.
fn named_parts<S: Serializer>(parts: &[f64; PARTS], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(parts.len()))?;
    for (name, share) in PART_NAMES.iter().zip(parts) {
        map.serialize_entry(name, share)?;
    }
    map.end()
}

/// A drive of the paper.
pub(super) struct PaperDrive {
    pub(super) drive: ExperimentDrive,
}

/// Bytes per request of the writes before the measurement.
const FILL_BYTES: u32 = 128 << 10;
const FILL_OUTSTANDING: u32 = 32;
/// Commands outstanding at most: those of a queue of the board (P12).
const DEPTH_MAX: u16 = 255;

impl PaperDrive {
    pub(super) fn new(plan: &Plan, setup: &Setup, recorder: &Recorder) -> Result<Self, ExperimentError> {
        Self::of(setup.profile(plan)?, recorder)
    }
    pub(super) fn of(profile: Profile, recorder: &Recorder) -> Result<Self, ExperimentError> {
        let config = Config {
            queue_pairs: 1,
            depth: DEPTH_MAX.min(profile.host.queue_entries - 1),
            ..Config::default()
        };
        let drive = ExperimentDrive::power_on("cosmos", profile, Pieces::default(), config, recorder)?;
        Ok(PaperDrive { drive })
    }
    pub(super) fn page_bytes(&self) -> u64 {
        u64::from(self.drive.profile.geometry.page_bytes)
    }

    fn job(name: &str, offset: u64, size: u64, work: &AccessPattern) -> Job {
        Job {
            name: name.to_owned(),
            access: if work.random { Access::Random } else { Access::Sequential },
            mix: if work.write { Mix::Write } else { Mix::Read },
            block_sizes: PerDirection::all(BlockSizes::Fixed(work.bytes)),
            offset: Extent::Bytes(offset),
            size: Some(Extent::Bytes(size)),
            io_size: Some(Extent::Bytes(work.requests * u64::from(work.bytes))),
            queue_depth: work.outstanding,
            random_map: false,
            ..Job::default()
        }
    }
    /// Writes `pages` pages in order, beginning with page `first`.
    pub(super) fn fill(&mut self, first: u64, pages: u64) -> Result<(), ExperimentError> {
        let (offset, size) = (first * self.page_bytes(), pages * self.page_bytes());
        let requests = size.div_ceil(u64::from(FILL_BYTES));
        let work = AccessPattern {
            write: true,
            random: false,
            bytes: FILL_BYTES,
            outstanding: FILL_OUTSTANDING,
            requests,
        };
        self.drive.run(&[Self::job("fill", offset, size, &work)]).map(|_| ())
    }
    /// Flushes all written data to flash.
    pub(super) fn flush(&self) -> Result<(), ExperimentError> {
        self.drive.flush()
    }

    /// Measures `work` on `pages` pages from page `first` on.
    pub(super) fn measure(
        &mut self,
        first: u64,
        pages: u64,
        work: &AccessPattern,
    ) -> Result<Measured, ExperimentError> {
        let (offset, size) = (first * self.page_bytes(), pages * self.page_bytes());
        let before = self.drive.machine.device().stats();
        let Done { took, bytes, .. } = self.drive.run(&[Self::job("measured", offset, size, work)])?;
        let after = self.drive.machine.device().stats();
        Ok(found(&before, &after, took, bytes))
    }
    /// As [`PaperDrive::measure`], but first brings the data buffer to its state after long work of this
    /// kind: full of other pages, which are dirty if the work writes (G9).
    pub(super) fn steady(&mut self, pages: u64, work: &AccessPattern) -> Result<Measured, ExperimentError> {
        let buffered = u64::from(self.drive.profile.ftl.buffer_entries);
        if !work.write {
            self.fill(0, pages)?;
            self.flush()?;
            return self.measure(0, pages, work);
        }
        if !work.random {
            self.fill(0, buffered)?;
            return self.measure(buffered, pages, work);
        }
        self.fill(0, pages)?;
        self.flush()?;
        self.measure(0, pages, &AccessPattern { requests: 2 * buffered, ..*work })?;
        self.measure(0, pages, work)
    }
}

fn found(before: &DriveStats, after: &DriveStats, took: Duration, bytes: u64) -> Measured {
    let none = LoopStats::default();
    let of = |stats: &DriveStats| stats.big_loop.unwrap_or(none);
    let spent = of(after).since(&of(before));
    let each = |time: Duration| time.as_secs_f64() * 1e6 / spent.commands.max(1) as f64;
    let (system_us, hic_us) = (each(spent.system), each(spent.host_interface()));
    let storage_us = each(spent.storage_controller());
    let seconds = took.as_secs_f64().max(f64::MIN_POSITIVE);
    let owned: Duration = after
        .channels
        .iter()
        .zip(&before.channels)
        .fold(Duration::ZERO, |sum, (a, b)| sum + a.busy.saturating_sub(b.busy));
    Measured {
        mb_per_s: bytes as f64 / 1e6 / seconds,
        iops: spent.commands as f64 / seconds,
        system_us,
        hic_us,
        firmware_us: system_us - hic_us - storage_us,
        storage_us,
        parts: LoopPart::ALL.map(|part| spent.share(part)),
        utilisation: owned.as_secs_f64() / after.channels.len().max(1) as f64 / seconds,
        dram_mb_per_s: (after.dram_bytes - before.dram_bytes) as f64 / 1e6 / seconds,
    }
}
