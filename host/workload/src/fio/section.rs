use super::error::{Mistake, Problem};
use super::option::{FioOption, Treatment};
use super::options;
use super::shapes::{Criterion, STEADY, criterion, distribution, distribution_meant};
use super::values::{self, KbBase, TimeUnit};
use super::variables;
use crate::steady::INTERVALS_MAX;
use crate::{Access, ExitWhat, Job, Mix, SteadyState, Unmet};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use aster_units::Duration;

/// Engines that submit one request and wait for it: fio caps their depth at 1.
const SYNCHRONOUS_ENGINES: [&str; 6] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];
/// Engines that keep `iodepth` requests in flight on a drive.
const ASYNCHRONOUS_ENGINES: [&str; 9] = [
    "libaio",
    "io_uring",
    "io_uring_cmd",
    "posixaio",
    "solarisaio",
    "windowsaio",
    "xnvme",
    "libblkio",
    "nbd",
];
/// fio's names for checks that the content check covers.
const CHECKSUMS: [&str; 16] = [
    "md5",
    "crc64",
    "crc32c",
    "crc32c-intel",
    "crc32",
    "crc16",
    "crc7",
    "xxhash",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "meta",
];

/// The most streams that a job names, as in fio.
const STREAMS_MAX: usize = 128;
/// The most copies of a job: each has a queue of its own.
const COPIES_MAX: u64 = 1024;
/// The most requests in flight: an NVMe queue has 65,536 entries, one of them unused (NVMe 1.4 §4.1).
const QUEUE_DEPTH_MAX: u64 = 65_535;

const BLOCK: &str = "read[,write][,trim] sizes above 0 and below 4g, such as 4k or 4k,8k";
const EXTENT: &str = "a size such as 4k or 2g, or a percentage from 0% to 100%";
const TIME: &str = "a number with an optional unit d, h, m, s, ms or us, at most 50d";
const BOOLEAN: &str = "0 or 1";
const COUNT: &str = "a whole number";
const COUNT_ABOVE_0: &str = "a whole number above 0";
const PERCENT: &str = "a whole number from 0 to 100";
const PERCENTS: &str = "read[,write][,trim] whole numbers from 0 to 100";

/// The lines of a job file from which a job comes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lines {
    of_name: usize,
    of_options: BTreeMap<&'static str, usize>,
}

impl Lines {
    /// The last line that has this option, also one of a global section; that of the job's name if none has
    /// it.
    pub fn of(&self, option: &str) -> usize {
        let alike: &[&str] = if option == "bs" { &["bs", "bsrange", "bssplit"] } else { &[option] };
        let lines = alike.iter().filter_map(|option| self.of_options.get(option));
        lines.max().copied().unwrap_or(self.of_name)
    }
}

/// A section while its lines are read.
#[derive(Clone, Debug)]
pub(super) struct Section {
    job: Job,
    kb_base: KbBase,
    synchronous: bool,
    /// Writes belong to streams.
    with_streams: bool,
    /// The line of the section's name.
    line: usize,
    /// The options that were given, in this section or a global one before it, each with its last line.
    given: BTreeMap<&'static str, usize>,
    /// A line of a global section was invalid.
    pub(super) is_faulty: bool,
    think_spin: Duration,
    steady: Option<Criterion>,
    steady_duration: Duration,
    steady_ramp: Duration,
    steady_interval: Duration,
}

impl Default for Section {
    fn default() -> Self {
        Section {
            job: Job::default(),
            kb_base: KbBase::Binary,
            synchronous: false,
            with_streams: false,
            line: 0,
            given: BTreeMap::new(),
            is_faulty: false,
            think_spin: Duration::ZERO,
            steady: None,
            steady_duration: Duration::ZERO,
            steady_ramp: Duration::ZERO,
            // As in fio.
            steady_interval: Duration::from_secs(1),
        }
    }
}

/// `None` if the value isn't allowed.
type Taken = Option<()>;

impl Section {
    /// Enters the section of that name.
    pub(super) fn begin(&mut self, name: &str, line: usize) {
        self.job.name = name.to_string();
        self.line = line;
    }

    /// Takes one line.
    pub(super) fn apply(&mut self, name: &str, value: Option<&str>, line: usize) -> Result<(), Problem> {
        let Some(option) = options::find(name) else {
            return Err(Problem::UnknownOption { option: name.to_string(), nearest: options::nearest(name) });
        };
        match option.treatment {
            Treatment::NoMeaning => return Ok(()),
            // fio's default.
            Treatment::Refused if (name, value) == ("zonemode", Some("none")) => return Ok(()),
            Treatment::Refused => {
                return Err(Problem::Refused { option: name.to_string(), reason: option.meaning });
            }
            Treatment::Effect { .. } => {}
        }
        if let Some(variable) = value.and_then(variables::left_over) {
            return Err(Problem::NoVariable { option: name.to_string(), variable });
        }
        self.given.insert(option.name, line);
        let (taken, allowed) = if matches!(option.treatment, Treatment::Effect { example: None }) {
            (self.set_flag(option, value), BOOLEAN)
        } else {
            match value.filter(|value| !value.is_empty()) {
                Some(value) => self.set(option, value),
                None => (None, self.set(option, "").1),
            }
        };
        taken.ok_or_else(|| Problem::BadValue {
            option: name.to_string(),
            value: value.filter(|value| !value.is_empty()).map(String::from),
            allowed,
        })
    }

    fn set_flag(&mut self, option: &FioOption, value: Option<&str>) -> Taken {
        let on = values::boolean(value)?;
        match option.name {
            "norandommap" => self.job.random_map = !on,
            "time_based" => self.job.time_based = on,
            "end_fsync" => self.job.flush_at_end = on,
            "stonewall" => self.job.after_previous = on,
            "new_group" => self.job.new_group = on,
            "group_reporting" => self.job.group_reporting = on,
            "exitall" => self.job.exit_all = on,
            "exitall_on_error" => self.job.exit_all_on_error = on,
            other => unreachable!("flag {other} has no place in a job"),
        }
        Some(())
    }

    /// Sets one option; returns whether the value was allowed, and a description of the allowed values.
    fn set(&mut self, option: &FioOption, value: &str) -> (Taken, &'static str) {
        let base = self.kb_base;
        let job = &mut self.job;
        match option.name {
            "rw" => (set_pattern(job, value, base), PATTERNS),
            "rw_sequencer" => {
                let repeats = match value {
                    "sequential" => Some(false),
                    "identical" => Some(true),
                    _ => None,
                };
                (repeats.map(|on| job.repeats_between = on), "sequential or identical")
            }
            "rwmixread" => (percent(value).map(|p| job.read_percent = p), PERCENT),
            "rwmixwrite" => (percent(value).map(|p| job.read_percent = 100 - p), PERCENT),
            "bs" => (put(&mut job.block_sizes, value, |v| values::fixed(v, base)), BLOCK),
            "bsrange" => (
                put(&mut job.block_sizes, value, |v| values::range(v, base)),
                "read[,write][,trim] ranges such as 4k-64k",
            ),
            "bssplit" => (
                put(&mut job.block_sizes, value, |v| values::split(v, base)),
                "read[,write][,trim] lists such as 4k/10:64k/90 whose percentages add up to 100",
            ),
            "blockalign" => {
                let current = job.block_align.unwrap_or_default();
                let parsed = values::per_direction(value, &current, |v| values::alignment(v, base));
                (parsed.map(|align| job.block_align = Some(align)), BLOCK)
            }
            "offset" => (values::extent(value, base).map(|e| job.offset = e), EXTENT),
            "offset_increment" => (values::extent(value, base).map(|e| job.offset_increment = e), EXTENT),
            "size" => (values::extent(value, base).map(|e| job.size = Some(e)), EXTENT),
            "io_size" => (values::extent(value, base).map(|e| job.io_size = Some(e)), EXTENT),
            "number_ios" => (above_0(value, u64::MAX).map(|n| job.number_ios = Some(n)), COUNT_ABOVE_0),
            "loops" => (above_0(value, u64::from(u32::MAX)).map(|n| job.loops = n as u32), COUNT_ABOVE_0),
            "iodepth" => (
                above_0(value, QUEUE_DEPTH_MAX).map(|n| job.queue_depth = n as u32),
                "a whole number from 1 to 65535",
            ),
            "ioengine" => {
                let known = SYNCHRONOUS_ENGINES.contains(&value) || ASYNCHRONOUS_ENGINES.contains(&value);
                let taken = known.then(|| self.synchronous = SYNCHRONOUS_ENGINES.contains(&value));
                (
                    taken,
                    "libaio, io_uring, io_uring_cmd, posixaio, solarisaio, windowsaio, xnvme, libblkio, nbd, \
                     sync, psync, vsync, pvsync, pvsync2 or mmap",
                )
            }
            "numjobs" => {
                (above_0(value, COPIES_MAX).map(|n| job.copies = n as u32), "a whole number from 1 to 1024")
            }
            "random_distribution" => {
                let taken = distribution(value, base).map(|(d, c)| (job.distribution, job.center) = (d, c));
                (taken, distribution_meant(value))
            }
            "percentage_random" => (put(&mut job.random_percent, value, percent), PERCENTS),
            "randseed" => (values::integer(value).map(|n| job.seed = n), COUNT),
            "randrepeat" => (values::boolean(Some(value)).map(|on| job.repeatable = on), BOOLEAN),
            "runtime" => {
                // fio: 0 is no limit.
                let time = values::time(value, TimeUnit::Seconds);
                (time.map(|t| job.run_time = Some(t).filter(|t| !t.is_zero())), TIME)
            }
            "ramp_time" => (values::time(value, TimeUnit::Seconds).map(|t| job.ramp_time = t), TIME),
            "startdelay" => (values::time(value, TimeUnit::Seconds).map(|t| job.start_delay = t), TIME),
            "thinktime" => (values::time(value, TimeUnit::Microseconds).map(|t| job.think_time = t), TIME),
            "thinktime_blocks" => {
                (above_0(value, u64::MAX).map(|n| job.think_time_blocks = n), COUNT_ABOVE_0)
            }
            "thinktime_spin" => {
                (values::time(value, TimeUnit::Microseconds).map(|t| self.think_spin = t), TIME)
            }
            "thinktime_iotime" => {
                let time = values::time(value, TimeUnit::Seconds);
                (time.map(|t| job.think_time_every = Some(t).filter(|t| !t.is_zero())), TIME)
            }
            "rate_iops" => (
                rates(&mut job.rate_iops, value, base),
                "read[,write][,trim] requests a second, 0 for no limit",
            ),
            "rate" => (
                rates(&mut job.rate, value, base),
                "read[,write][,trim] bytes a second such as 100m, 0 for no limit",
            ),
            "rate_min" => (
                rates(&mut job.rate_floor.bytes, value, base),
                "read[,write][,trim] bytes a second, 0 for none",
            ),
            "rate_iops_min" => (
                rates(&mut job.rate_floor.requests, value, base),
                "read[,write][,trim] requests a second, 0 for none",
            ),
            "rate_cycle" => {
                let cycle =
                    above_0(value, 1_000_000_000).map(|ms| job.rate_floor.cycle = Duration::from_millis(ms));
                (cycle, "milliseconds, a whole number above 0")
            }
            "rate_process" => {
                let poisson = match value {
                    "linear" => Some(false),
                    "poisson" => Some(true),
                    _ => None,
                };
                (poisson.map(|on| job.poisson = on), "linear or poisson")
            }
            "rate_ignore_thinktime" => {
                (values::boolean(Some(value)).map(|on| job.rate_ignores_think_time = on), BOOLEAN)
            }
            "exit_what" => {
                let what = match value {
                    "group" => Some(ExitWhat::Group),
                    "all" => Some(ExitWhat::All),
                    "stonewall" => Some(ExitWhat::Stonewall),
                    _ => None,
                };
                (what.map(|what| job.exit_what = what), "group, all or stonewall")
            }
            "steadystate" => (criterion(value, base).map(|c| self.steady = Some(c)), STEADY),
            "steadystate_duration" => {
                (values::time(value, TimeUnit::Seconds).map(|t| self.steady_duration = t), TIME)
            }
            "steadystate_ramp_time" => {
                (values::time(value, TimeUnit::Seconds).map(|t| self.steady_ramp = t), TIME)
            }
            "steadystate_check_interval" => {
                let time = values::time(value, TimeUnit::Seconds).filter(|t| !t.is_zero());
                (time.map(|t| self.steady_interval = t), TIME)
            }
            "dataplacement" => {
                let on = match value {
                    "none" => Some(false),
                    "streams" => Some(true),
                    _ => None,
                };
                (
                    on.map(|on| self.with_streams = on),
                    "none or streams; there is no Flexible Data Placement here",
                )
            }
            "plids" => {
                let identifiers = || {
                    let named = |text: &str| text.trim().parse::<u16>().ok().filter(|&id| id > 0);
                    value.split(',').map(named).collect::<Option<Vec<_>>>()
                };
                let taken = identifiers().filter(|ids| ids.len() <= STREAMS_MAX);
                (
                    taken.map(|ids| job.streams = ids),
                    "up to 128 identifiers of streams, from 1 to 65535, such as 1,2",
                )
            }
            "plid_select" => {
                let random = match value {
                    "roundrobin" => Some(false),
                    "random" => Some(true),
                    _ => None,
                };
                (random.map(|random| job.random_streams = random), "roundrobin or random")
            }
            "writefua" => (values::boolean(Some(value)).map(|on| job.fua = on), BOOLEAN),
            "sync" => {
                let fua = match value {
                    "none" | "0" => Some(false),
                    "sync" | "dsync" | "1" => Some(true),
                    _ => None,
                };
                (fua.map(|fua| job.fua = fua), "none, sync or dsync")
            }
            "write_mode" => {
                let zeroes = match value {
                    "write" => Some(false),
                    "zeroes" => Some(true),
                    _ => None,
                };
                (zeroes.map(|zeroes| job.write_zeroes = zeroes), "write or zeroes")
            }
            "fsync" | "fdatasync" => (values::integer(value).map(|n| job.flush_every = n), COUNT),
            "verify" => {
                let on = if value == "0" { Some(false) } else { CHECKSUMS.contains(&value).then_some(true) };
                (
                    on.map(|on| job.verify = on),
                    "a checksum such as crc32c or md5, meta, or 0; all ask for the same check of address, \
                     version and every byte. pattern and null would not be that",
                )
            }
            "do_verify" => (values::boolean(Some(value)).map(|on| job.read_back = on), BOOLEAN),
            "verify_fatal" => ((value == "1").then_some(()), "1: the first wrong block ends the run"),
            "name" => ((!value.is_empty()).then(|| job.name = value.to_string()), "a name"),
            "kb_base" => {
                let base = match value {
                    "1024" => Some(KbBase::Binary),
                    "1000" => Some(KbBase::Decimal),
                    _ => None,
                };
                (base.map(|base| self.kb_base = base), "1024 or 1000")
            }
            other => unreachable!("option {other} has no place in a job"),
        }
    }

    /// A mistake that shows only after all lines are read: it is reported at the last line of the options
    /// involved.
    fn mistake(&self, options: &[&str], problem: Problem) -> Mistake {
        let line = options.iter().filter_map(|option| self.given.get(option)).max();
        let line = line.copied().unwrap_or(self.line);
        Mistake { line, problem, job: (line < self.line).then(|| self.job.name.clone()) }
    }

    /// Where its options stand.
    pub(super) fn lines(&self) -> Lines {
        Lines { of_name: self.line, of_options: self.given.clone() }
    }

    /// Makes the job, once its last line is read.
    ///
    /// # Errors
    /// Contradictions between options that are each valid.
    pub(super) fn into_job(mut self) -> Result<Job, Vec<Mistake>> {
        let mut mistakes = self.contradictions();
        match self.steady_state() {
            Ok(steady) => self.job.steady_state = steady,
            Err(mistake) => mistakes.push(mistake),
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let unmet = self.unmet();
        let mut job = self.job;
        job.unmet = unmet;
        if !self.with_streams {
            job.streams.clear();
        }
        if job.think_time_every.is_some() && !self.given.contains_key("thinktime_blocks") {
            job.think_time_blocks = u64::MAX;
        }
        if !job.think_time.is_zero() {
            job.think_time = job.think_time.max(self.think_spin);
        }
        if self.synchronous {
            job.queue_depth = 1;
        }
        Ok(job)
    }

    fn contradictions(&self) -> Vec<Mistake> {
        let job = &self.job;
        let mut mistakes = Vec::new();
        if job.time_based && job.run_time.is_none() {
            let problem = Problem::Needs { option: "time_based", needs: "runtime" };
            mistakes.push(self.mistake(&["time_based"], problem));
        }
        if self.with_streams && job.streams.is_empty() {
            let problem = Problem::Needs { option: "dataplacement=streams", needs: "plids" };
            mistakes.push(self.mistake(&["dataplacement"], problem));
        }
        for (options, what) in contradictions(job) {
            mistakes.push(self.mistake(options, Problem::Contradiction { what }));
        }
        mistakes
    }

    fn steady_state(&self) -> Result<Option<SteadyState>, Mistake> {
        let Some(Criterion { figure, slope, limit, percent }) = self.steady else { return Ok(None) };
        let (duration, interval) = (self.steady_duration, self.steady_interval);
        if duration.is_zero() {
            let problem = Problem::Needs { option: "steadystate", needs: "steadystate_duration" };
            return Err(self.mistake(&["steadystate", "steadystate_duration"], problem));
        }
        let intervals = duration.as_picos() / interval.as_picos();
        let whole = duration.as_picos().is_multiple_of(interval.as_picos());
        if !whole || !(2..=INTERVALS_MAX).contains(&intervals) {
            let what = "steadystate_duration must be a multiple of steadystate_check_interval, from 2 to \
                        100000 of them";
            let options = ["steadystate_duration", "steadystate_check_interval"];
            return Err(self.mistake(&options, Problem::Contradiction { what }));
        }
        let ramp = self.steady_ramp;
        Ok(Some(SteadyState { figure, slope, limit, percent, duration, ramp, interval }))
    }

    /// Options that have no effect, as in fio.
    fn unmet(&self) -> Vec<Unmet> {
        let mut unmet = Vec::new();
        if self.synchronous && self.job.queue_depth > 1 {
            unmet.push(Unmet {
                option: "iodepth",
                asked: self.job.queue_depth.into(),
                given: 1,
                because: "its ioengine is synchronous, which waits for each request; libaio and io_uring \
                          don't",
            });
        }
        if !self.with_streams && !self.job.streams.is_empty() {
            unmet.push(Unmet {
                option: "plids",
                asked: self.job.streams.len() as u64,
                given: 0,
                because: "it names streams for dataplacement=streams, which isn't given",
            });
        }
        let whole = |time: Duration, unit: Duration| time.as_picos() / unit.as_picos();
        let every = self.job.think_time_every.unwrap_or(Duration::ZERO);
        for (option, asked) in [
            ("thinktime_spin", whole(self.think_spin, Duration::from_micros(1))),
            ("thinktime_blocks", self.job.think_time_blocks),
            ("thinktime_iotime", whole(every, Duration::from_secs(1))),
        ] {
            if self.job.think_time.is_zero() && self.given.contains_key(option) && asked > 0 {
                let because = "it is about the pauses of thinktime, and none is given";
                unmet.push(Unmet { option, asked, given: 0, because });
            }
        }
        unmet
    }
}

const PATTERNS: &str = "read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw, trimwrite \
                        or randtrimwrite; behind random ones :8 or another number, behind others :4k or \
                        another size";

/// `randread:8` takes a random offset with every eighth request, `write:4k` leaves 4 KiB out after each.
fn set_pattern(job: &mut Job, value: &str, base: KbBase) -> Taken {
    let (name, modifier) = match value.split_once(':') {
        Some((name, modifier)) => (name, Some(modifier)),
        None => (value, None),
    };
    let (access, mix) = pattern(name)?;
    let (mut random_every, mut gap) = (1, 0);
    match (modifier, access) {
        (None, _) => {}
        (Some(every), Access::Random) => random_every = above_0(every, u64::from(u32::MAX))? as u32,
        (Some(bytes), Access::Sequential) => {
            let size = |text| values::size(text, base).and_then(|bytes| i64::try_from(bytes).ok());
            gap = match bytes.strip_prefix('-') {
                Some(back) => -size(back)?,
                None => size(bytes)?,
            };
        }
    }
    (job.access, job.mix, job.random_every, job.gap) = (access, mix, random_every, gap);
    Some(())
}

fn pattern(value: &str) -> Option<(Access, Mix)> {
    let (access, mix) = match value {
        "randrw" => (Access::Random, "rw"),
        _ => match value.strip_prefix("rand") {
            Some(mix) => (Access::Random, mix),
            None => (Access::Sequential, value),
        },
    };
    let mix = match mix {
        "read" => Mix::Read,
        "write" => Mix::Write,
        "trim" => Mix::Trim,
        "rw" => Mix::ReadWrite,
        "readwrite" if access == Access::Sequential => Mix::ReadWrite,
        "trimwrite" => Mix::TrimWrite,
        _ => return None,
    };
    Some((access, mix))
}

/// The contradictions in a job, with the options involved.
fn contradictions(job: &Job) -> impl Iterator<Item = (&'static [&'static str], &'static str)> {
    let any =
        |of: &crate::PerDirection<Option<u64>>| [of.read, of.write, of.trim].into_iter().any(|n| n.is_some());
    let above =
        |least: Option<u64>, most: Option<u64>| least.zip(most).is_some_and(|(least, most)| least > most);
    let over = |least: &crate::PerDirection<Option<u64>>, most: &crate::PerDirection<Option<u64>>| {
        above(least.read, most.read) || above(least.write, most.write) || above(least.trim, most.trim)
    };
    let floor = &job.rate_floor;
    let all: [(bool, &[&str], &str); 4] = [
        (
            any(&job.rate) && any(&job.rate_iops),
            &["rate", "rate_iops"],
            "rate and rate_iops exclude each other; give one of them",
        ),
        (
            any(&floor.bytes) && any(&floor.requests),
            &["rate_min", "rate_iops_min"],
            "rate_min and rate_iops_min exclude each other; give one of them",
        ),
        (
            over(&floor.bytes, &job.rate),
            &["rate", "rate_min"],
            "the least rate (rate_min) is above the largest (rate)",
        ),
        (
            over(&floor.requests, &job.rate_iops),
            &["rate_iops", "rate_iops_min"],
            "the least rate (rate_iops_min) is above the largest (rate_iops)",
        ),
    ];
    all.into_iter().filter(|(wrong, ..)| *wrong).map(|(_, options, what)| (options, what))
}

fn percent(value: &str) -> Option<u8> {
    values::integer(value).filter(|&p| p <= 100).map(|p| p as u8)
}

fn above_0(value: &str, max: u64) -> Option<u64> {
    values::integer(value).filter(|n| (1..=max).contains(n))
}

fn rates(slot: &mut crate::PerDirection<Option<u64>>, value: &str, base: KbBase) -> Taken {
    put(slot, value, |v| values::size(v, base).map(|n| Some(n).filter(|&n| n > 0)))
}

fn put<T: Clone>(slot: &mut crate::PerDirection<T>, value: &str, parse: impl Fn(&str) -> Option<T>) -> Taken {
    *slot = values::per_direction(value, slot, parse)?;
    Some(())
}
