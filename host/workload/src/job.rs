use crate::SteadyState;
use alloc::string::String;
use alloc::vec::Vec;
use aster_units::{Duration, Rng};

/// How offsets follow one another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Each direction goes on where it stopped, and wraps at the end of the region.
    Sequential,
    /// Drawn from the job's [`Distribution`].
    Random,
}

/// Which kinds of request a job makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Trims only.
    Trim,
    /// Reads and writes by [`Job::read_percent`].
    ReadWrite,
    /// Each block is trimmed, then written.
    TrimWrite,
}

/// How random offsets are distributed over the region.
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution {
    /// Every block is as likely as every other.
    Uniform,
    /// [`crate::Zipf`] with this theta.
    Zipf(f64),
    /// [`crate::Pareto`] with this h.
    Pareto(f64),
    /// [`crate::Normal`] with this deviation, in percent of the region.
    Normal(f64),
    /// Each zone takes its share of the requests, spread evenly over it. A direction without zones is
    /// uniform.
    Zoned(PerDirection<Vec<Zone>>),
}

/// A part of the region, directly after the previous zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zone {
    /// Percentage of the requests that go there; all zones add up to 100.
    pub requests_percent: u8,
    /// How long it is; a percentage is of the region.
    pub size: Extent,
}

/// Which other jobs end with the one that ends ([`Job::exit_all`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ExitWhat {
    /// Those that run beside it.
    #[default]
    Group,
    /// All jobs of the file, including those that have not begun.
    All,
    /// Those that run beside it; the next ones begin. The same as `Group` here, because groups run one after
    /// the other.
    Stonewall,
}

/// The minimum rates of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateFloor {
    /// Bytes per second.
    pub bytes: PerDirection<Option<u64>>,
    /// Requests per second.
    pub requests: PerDirection<Option<u64>>,
    /// The time over which both are measured.
    pub cycle: Duration,
}

impl Default for RateFloor {
    /// No minimum, and a cycle of one second as in fio.
    fn default() -> Self {
        RateFloor {
            bytes: PerDirection::all(None),
            requests: PerDirection::all(None),
            cycle: Duration::from_secs(1),
        }
    }
}

/// An option of a job that has no effect because of its other options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unmet {
    /// The option, in fio's words.
    pub option: &'static str,
    /// The requested value, in the option's unit.
    pub asked: u64,
    /// The actual value, in the same unit.
    pub given: u64,
    /// Why, and what would change it.
    pub because: &'static str,
}

/// An offset or a length on a drive whose size isn't known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Bytes.
    Bytes(u64),
    /// Hundredths of the drive, 0 to 100.
    Percent(u8),
}

impl Extent {
    /// Bytes on a drive of `drive_bytes`, percentages rounded down.
    pub const fn resolve(self, drive_bytes: u64) -> u64 {
        match self {
            Extent::Bytes(bytes) => bytes,
            Extent::Percent(percent) => (drive_bytes as u128 * percent as u128 / 100) as u64,
        }
    }
}

/// One value each for reads, writes and trims.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

impl<T: Clone> PerDirection<T> {
    /// The same for all three.
    pub fn all(value: T) -> Self {
        PerDirection { read: value.clone(), write: value.clone(), trim: value }
    }
}

/// The lengths of a direction's requests, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockSizes {
    /// Always the same.
    Fixed(u32),
    /// Multiples of `min` up to `max`, equally likely.
    Range {
        /// The smallest, and the unit of the others.
        min: u32,
        /// The largest.
        max: u32,
    },
    /// (bytes, percent) pairs whose percentages add up to 100.
    Split(Vec<(u32, u8)>),
}

impl BlockSizes {
    /// The smallest length that can come.
    pub fn smallest(&self) -> u32 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Range { min, .. } => *min,
            BlockSizes::Split(parts) => parts.iter().map(|p| p.0).min().unwrap_or(0),
        }
    }

    /// The largest length that can come.
    pub fn largest(&self) -> u32 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Range { min, max } => max / min * min,
            BlockSizes::Split(parts) => parts.iter().map(|p| p.0).max().unwrap_or(0),
        }
    }

    /// Draws a length.
    #[inline]
    pub fn pick(&self, rng: &mut Rng) -> u32 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Range { min, max } => min * (1 + rng.below(u64::from(max / min)) as u32),
            BlockSizes::Split(parts) => {
                let mut draw = rng.below(100) as u8;
                for (bytes, percent) in parts {
                    if draw < *percent {
                        return *bytes;
                    }
                    draw -= percent;
                }
                unreachable!("the percentages of a split add up to 100")
            }
        }
    }

    /// Every length given, to be checked against the drive's logical block.
    pub(crate) fn units(&self) -> impl Iterator<Item = u32> + '_ {
        let (one, parts): (Option<u32>, &[(u32, u8)]) = match self {
            BlockSizes::Fixed(bytes) => (Some(*bytes), &[]),
            BlockSizes::Range { min, .. } => (Some(*min), &[]),
            BlockSizes::Split(parts) => (None, parts),
        };
        one.into_iter().chain(parts.iter().map(|p| p.0))
    }
}

/// A described workload, before it is laid out on a drive ([`crate::Plan`]). The defaults are fio's: one job
/// that reads the whole drive once in sequential 4 KiB requests, one at a time.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// The name in reports.
    pub name: String,
    /// How offsets follow one another.
    pub access: Access,
    /// Which kinds of request.
    pub mix: Mix,
    /// Share of reads in [`Mix::ReadWrite`], 0 to 100.
    pub read_percent: u8,
    /// Request lengths.
    pub block_sizes: PerDirection<BlockSizes>,
    /// Random offsets are multiples of this, counted from the region's start; `None` is the smallest block
    /// size.
    pub block_align: Option<PerDirection<u32>>,
    /// Where the region begins.
    pub offset: Extent,
    /// Added to `offset` once for each earlier copy.
    pub offset_increment: Extent,
    /// How long the region is; `None` is the rest of the drive.
    pub size: Option<Extent>,
    /// How many bytes one loop requests; `None` is the region's size.
    pub io_size: Option<Extent>,
    /// Ends the job after this many data requests.
    pub number_ios: Option<u64>,
    /// How often the job is done, at least 1.
    pub loops: u32,
    /// The most requests in flight, at least 1.
    pub queue_depth: u32,
    /// How many copies run at once, at least 1.
    pub copies: u32,
    /// Placement of random offsets.
    pub distribution: Distribution,
    /// Where the most likely block of a skewed distribution lies, as a share of the region from 0 to 1. With
    /// `None` the seed decides for Zipf and Pareto, and Normal is centred in the middle.
    pub center: Option<f64>,
    /// Percentage of a random job's requests that are random; the others continue where the direction's last
    /// one ended.
    pub random_percent: PerDirection<u8>,
    /// Of a random job: every so many requests, of all directions together, one is random. At least 1.
    pub random_every: u32,
    /// Those between are at the offset of their direction's last one, instead of where that ended.
    pub repeats_between: bool,
    /// Bytes that a sequential job leaves out behind each request; negative ones go back from its end.
    pub gap: i64,
    /// Uniform random offsets visit every block once per pass.
    pub random_map: bool,
    /// The seed of the job's random numbers.
    pub seed: u64,
    /// Whether the requests depend on `seed` alone. Otherwise they depend on the seed of the run as well.
    pub repeatable: bool,
    /// Simulated time after which nothing more is issued.
    pub run_time: Option<Duration>,
    /// Whether the job starts over until `run_time` has passed.
    pub time_based: bool,
    /// Simulated time whose requests are left out of the statistics; it comes before `run_time`.
    pub ramp_time: Duration,
    /// Simulated time before the first request.
    pub start_delay: Duration,
    /// Pause after each `think_time_blocks` completed requests.
    pub think_time: Duration,
    /// Requests between two pauses, at least 1.
    pub think_time_blocks: u64,
    /// There is also a pause after this much time without one.
    pub think_time_every: Option<Duration>,
    /// The most requests per second, for each direction separately.
    pub rate_iops: PerDirection<Option<u64>>,
    /// The most bytes per second, for each direction separately; no direction has both rates.
    pub rate: PerDirection<Option<u64>>,
    /// Whether rated requests come as a Poisson process, with exponentially distributed gaps, instead of
    /// evenly.
    pub poisson: bool,
    /// Whether a pause delays later requests instead of being made up for.
    pub rate_ignores_think_time: bool,
    /// The minimum rates. A slower job fails.
    pub rate_floor: RateFloor,
    /// The steady state that ends the job.
    pub steady_state: Option<SteadyState>,
    /// Whether the end of any job of the file also ends others.
    pub exit_all: bool,
    /// Whether the failure of a job also ends others.
    pub exit_all_on_error: bool,
    /// Which other jobs end with this one.
    pub exit_what: ExitWhat,
    /// Whether writes are on non-volatile media before they complete ([`crate::Request::fua`]).
    pub fua: bool,
    /// Whether writes are Write Zeroes commands, which move no data.
    pub write_zeroes: bool,
    /// The identifiers of the streams that writes belong to, one after the other (NVMe 1.4 §9.3). Empty for
    /// none.
    pub streams: Vec<u16>,
    /// Whether a write's stream is drawn at random instead.
    pub random_streams: bool,
    /// A flush follows this many writes; 0 for never.
    pub flush_every: u64,
    /// Whether a flush ends the job.
    pub flush_at_end: bool,
    /// Whether written content carries address and version, and reads are checked.
    pub verify: bool,
    /// With `verify`: whether what was written is read back and checked after the writes.
    pub read_back: bool,
    /// Whether the job begins only when all earlier jobs of the file have ended.
    pub after_previous: bool,
    /// Whether a new reporting group begins with this job. With `after_previous` one begins in any case.
    pub new_group: bool,
    /// Whether reports show the jobs of its reporting group together.
    pub group_reporting: bool,
    /// Options of the job file that have no effect. For reports only.
    pub unmet: Vec<Unmet>,
}

impl Default for Job {
    fn default() -> Self {
        Job {
            name: String::from("job"),
            access: Access::Sequential,
            mix: Mix::Read,
            read_percent: 50,
            block_sizes: PerDirection::all(BlockSizes::Fixed(4096)),
            block_align: None,
            offset: Extent::Bytes(0),
            offset_increment: Extent::Bytes(0),
            size: None,
            io_size: None,
            number_ios: None,
            loops: 1,
            queue_depth: 1,
            copies: 1,
            distribution: Distribution::Uniform,
            center: None,
            random_percent: PerDirection::all(100),
            random_every: 1,
            repeats_between: false,
            gap: 0,
            random_map: true,
            seed: 0,
            repeatable: true,
            run_time: None,
            time_based: false,
            ramp_time: Duration::ZERO,
            start_delay: Duration::ZERO,
            think_time: Duration::ZERO,
            think_time_blocks: 1,
            think_time_every: None,
            rate_iops: PerDirection::all(None),
            rate: PerDirection::all(None),
            poisson: false,
            rate_ignores_think_time: false,
            rate_floor: RateFloor::default(),
            steady_state: None,
            exit_all: false,
            exit_all_on_error: false,
            exit_what: ExitWhat::Group,
            fua: false,
            write_zeroes: false,
            streams: Vec::new(),
            random_streams: false,
            flush_every: 0,
            flush_at_end: false,
            verify: false,
            read_back: true,
            after_previous: false,
            new_group: false,
            group_reporting: false,
            unmet: Vec::new(),
        }
    }
}
