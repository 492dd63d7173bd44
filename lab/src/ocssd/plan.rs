//! The experiment file (design §5).

use crate::experiment::{Changes, ExperimentError, ProfileFile, parse, wrong};
use aster_device::profile::{CellUse, Profile, RestrictProfile, SlowLunProfile};
use serde::{Deserialize, Serialize};

/// The shipped experiment file.
const FILE: &str = "experiments/ocssd.toml";
const TEXT: &str = include_str!("../../../experiments/ocssd.toml");

/// Lines that pblk has beside the host's data, where the drive is so small that its percentage gives fewer.
const SPARE_LINES: f64 = 6.0;
/// The FTL of our drives, as a translation and as a target.
const PAGE_MAPPING: &str = "page-mapping";
/// The smallest page cache.
const CACHE_MIB_MIN: u32 = 16;
/// The fewest lines of a drive of the slides.
const LINES_MIN: u32 = 8;

const SHARE_MUST: &str = "must be above 0 and at most 1";

fn is_share(share: f64) -> bool {
    share > 0.0 && share <= 1.0
}

/// Which FTL translates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ftl {
    /// pblk on the host, over an open-channel drive.
    Pblk,
    /// The board's own, in the drive.
    Drive,
}

impl Ftl {
    /// Both.
    pub const ALL: [Ftl; 2] = [Ftl::Pblk, Ftl::Drive];
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Ftl::Pblk => "pblk",
            Ftl::Drive => "legacy",
        }
    }
}

/// Which FTL is where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The page mapping, in the drive.
    Drive,
    /// The same, on the host.
    Host,
    /// pblk, on the host.
    Pblk,
}

impl Place {
    /// All of them.
    pub const ALL: [Place; 3] = [Place::Drive, Place::Host, Place::Pblk];
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Place::Drive => "page mapping, in the drive",
            Place::Host => "page mapping, on the host",
            Place::Pblk => "pblk, on the host",
        }
    }
}

/// The experiment's parameters, and what the sources print.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The shipped profile of the open-channel drive.
    profile: String,
    /// The shipped profile of the board with its own FTL.
    legacy_profile: String,
    /// tR of both drives of the paper, µs.
    pub read_us: f64,
    /// tPROG of both drives of the paper, µs.
    pub program_us: f64,
    /// Figs 33 to 38.
    pub load: Load,
    /// The slides' workloads.
    pub slides: SlidesPlan,
    /// One FTL, two places.
    pub places: PlacesPlan,
    /// What the sources print.
    pub paper: Paper,
    /// Values that override the profiles', by key.
    #[serde(skip)]
    changed: Changes,
}

/// Figs 33 to 38.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Blocks of each LUN that the drives use.
    blocks_per_lun: u32,
    /// Of both FTLs.
    over_provisioning_percent: f64,
    /// Bytes of a request.
    pub request_bytes: u32,
    /// Requests outstanding, in ascending order.
    pub outstanding: Vec<u32>,
    /// Requests of the point with 64 outstanding.
    pub requests: u64,
    /// Requests of Figs 36 to 38.
    pub steady_requests: u64,
    /// How long a sample of Figs 36 and 37 is, µs.
    pub sample_us: u32,
    /// How much of the work Fig 38 shows, µs.
    pub timeline_us: u32,
    /// The LUN of Fig 38 that is slow now and then.
    pub slow_lun: SlowLunProfile,
}

/// The slides' workloads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlidesPlan {
    /// Blocks of each LUN.
    blocks_per_lun: u32,
    /// Of both FTLs.
    over_provisioning_percent: f64,
    /// tR, µs.
    read_us: f64,
    /// tPROG, µs.
    program_us: f64,
    /// Requests of each of their workloads.
    pub requests: u64,
    /// The share of the drive, and of the requests, that a run takes.
    pub share: f64,
    /// Blocks of each LUN of the drive that is written at random.
    pub(super) random_write_blocks_per_lun: u32,
    /// Its requests.
    pub random_writes: u64,
    /// Bytes of a sequential request.
    pub sequential_bytes: u32,
    /// Bytes of a random request.
    pub random_bytes: u32,
    /// Mebibytes of the host's page cache, of which the plan's share is taken with that of the drive.
    page_cache_mib: u32,
}

impl SlidesPlan {
    /// Mebibytes of the page cache, over the drive that is written at random or the other one.
    pub(super) fn cache_mib(&self, random: bool) -> u32 {
        let share = if random { 1.0 } else { self.share };
        ((f64::from(self.page_cache_mib) * share) as u32).max(CACHE_MIB_MIN)
    }
}

/// One FTL, two places.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacesPlan {
    /// What the drives have of the array.
    restrict: RestrictProfile,
    /// Of all FTLs.
    over_provisioning_percent: f64,
    /// Bytes of a write.
    pub write_bytes: u32,
    /// Bytes of a read.
    pub read_bytes: u32,
    /// Requests outstanding.
    pub outstanding: u32,
    /// How many times the capacity is written at random, before what is measured and in it.
    pub written: f64,
    /// Reads.
    pub reads: u64,
}

/// What the sources print.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The DMA that fetches a command's addresses, µs (C86).
    pub list_fetch_us: f64,
    /// Blocks erased by 10⁶ writes of 128 KiB: the board's FTL, without the host's cache (O12).
    pub erases_legacy: f64,
    /// With it.
    pub erases_legacy_cached: f64,
    /// pblk, with the host's cache.
    pub erases_ocssd_cached: f64,
}

impl Plan {
    /// The shipped experiment file.
    ///
    /// # Errors
    /// When it is wrong, for example when a key or name is unknown.
    pub fn shipped() -> Result<Self, ExperimentError> {
        Self::parse(FILE, TEXT)
    }
    /// Reads an experiment file; `name` stands for it in errors.
    ///
    /// # Errors
    /// When a key is unknown or missing, or a value makes no sense.
    pub fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        let plan: Plan = parse(name, text)?;
        let outstanding = &plan.load.outstanding;
        if outstanding.is_empty() || !outstanding.is_sorted_by(|a, b| a < b) || outstanding[0] == 0 {
            return Err(wrong(name, "load.outstanding: must be numbers above 0 in ascending order"));
        }
        if plan.load.sample_us == 0 {
            return Err(wrong(name, "load.sample_us: must be above 0"));
        }
        if !is_share(plan.slides.share) {
            return Err(wrong(name, format!("slides.share: {SHARE_MUST}")));
        }
        let places = &plan.places;
        if places.outstanding == 0 || places.reads == 0 || !(places.written > 0.0 && places.written <= 100.0)
        {
            let reason = "must be above 0, and places.written at most 100";
            return Err(wrong(
                name,
                format!("places.outstanding, places.reads and places.written: {reason}"),
            ));
        }
        Ok(plan)
    }
    /// The names of the profiles: the open-channel drive's, and the board's own.
    pub fn profile_names(&self) -> [&str; 2] {
        [&self.profile, &self.legacy_profile]
    }
    fn profile(&self, ftl: Ftl) -> Result<Profile, ExperimentError> {
        let [open_channel, legacy] = self.profile_names();
        let mut file = ProfileFile::shipped(FILE, if ftl == Ftl::Pblk { open_channel } else { legacy })?;
        for (key, value) in &self.changed {
            if ftl == Ftl::Pblk || !key.starts_with("target.") {
                file.put(key, value.clone())?;
            }
        }
        file.profile()
    }
    /// A drive with this many blocks, whose cells are SLC of these times.
    fn with(&self, ftl: Ftl, blocks: u32, spare: f64, times: [f64; 2]) -> Result<Profile, ExperimentError> {
        let mut profile = self.profile(ftl)?;
        profile.package.cells = CellUse::Slc;
        (profile.package.read_us, profile.package.program_us) = (vec![times[0]], vec![times[1]]);
        // A block that is bad or fails ends a line of pblk early.
        profile.package.factory_bad_per_mille = 0;
        profile.package.program_failures_per_million = 0;
        profile.package.erase_failures_per_million = 0;
        // Half of the pages are those of MSBs.
        profile.geometry.pages_per_block /= 2;
        profile.restrict.lsb_pages = false;
        profile.restrict.blocks_per_lun = Some(blocks);
        profile.ftl.over_provisioning_percent = spare;
        Ok(profile)
    }
    /// The drive of Figs 33 to 38.
    pub(super) fn load_profile(&self, ftl: Ftl) -> Result<Profile, ExperimentError> {
        let Load { blocks_per_lun, over_provisioning_percent, .. } = self.load;
        self.with(ftl, blocks_per_lun, over_provisioning_percent, [self.read_us, self.program_us])
    }
    /// The drive of the slides, with the plan's share of its blocks, or that of its random writes.
    pub(super) fn slides_profile(&self, ftl: Ftl, random: bool) -> Result<Profile, ExperimentError> {
        let slides = &self.slides;
        let blocks = match random {
            true => slides.random_write_blocks_per_lun,
            false => (f64::from(slides.blocks_per_lun) * slides.share).round() as u32,
        };
        // Both planes of a LUN have the same number.
        let blocks = blocks.next_multiple_of(2).max(2 * LINES_MIN);
        let lines = f64::from(blocks / 2);
        let spare = slides.over_provisioning_percent.max(100.0 * SPARE_LINES / (lines - SPARE_LINES));
        self.with(ftl, blocks, spare, [slides.read_us, slides.program_us])
    }
    /// The open-channel drive in small with an FTL on its host, or as a drive with an FTL of its own.
    pub(super) fn places_profile(&self, place: Place) -> Result<Profile, ExperimentError> {
        let mut profile = self.profile(Ftl::Pblk)?;
        profile.restrict = self.places.restrict.clone();
        profile.package.factory_bad_per_mille = 0;
        profile.ftl.over_provisioning_percent = self.places.over_provisioning_percent;
        match (place, &mut profile.target) {
            (Place::Pblk, _) => {}
            (Place::Host, Some(target)) => target.kind = PAGE_MAPPING.to_owned(),
            (_, target) => {
                *target = None;
                profile.ftl.kind = PAGE_MAPPING.to_owned();
                profile.host.command_set = "nvm".to_owned();
            }
        }
        Ok(profile)
    }
    /// What takes the place of the profiles' values, by keys.
    pub(super) fn changes(&self) -> &Changes {
        &self.changed
    }
    /// The same plan with other values in its profiles, by keys with their tables.
    #[must_use]
    pub fn changed(&self, values: Changes) -> Self {
        Plan { changed: values, ..self.clone() }
    }
    /// The same plan with this part of the slides' drive and requests.
    ///
    /// # Errors
    /// When it isn't above 0 and at most 1.
    pub fn with_share(mut self, share: f64) -> Result<Self, ExperimentError> {
        if !is_share(share) {
            return Err(wrong("--share", SHARE_MUST));
        }
        self.slides.share = share;
        Ok(self)
    }
    /// The same plan with fewer points and requests, for a quick run.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.load.outstanding.retain(|outstanding| [1, 4, 16, 64].contains(outstanding));
        self.load.requests /= 4;
        self.slides.share /= 4.0;
        self.slides.random_writes /= 3;
        self.places.written /= 4.0;
        self.places.reads /= 4;
        self
    }
    /// The most requests outstanding.
    pub(super) fn most_outstanding(&self) -> u32 {
        self.load.outstanding.last().copied().unwrap_or(1)
    }
}
