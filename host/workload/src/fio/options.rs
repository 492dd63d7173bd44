//! The one list of fio options: the parser, the errors and the documentation follow it.

/// What becomes of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Treatment {
    /// It changes the workload; the example is a value that does.
    Effect {
        /// A valid value, `None` where the bare name is the value.
        example: Option<&'static str>,
    },
    /// It is taken and changes nothing, because it steers something that this drive's host does not have.
    NoMeaning,
    /// It is refused: taking it would pretend to do what is not done.
    Refused,
}

/// One option of fio job files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FioOption {
    /// Its name.
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// What becomes of it.
    pub treatment: Treatment,
    /// What it means here, or why it is ignored or refused.
    pub meaning: &'static str,
}

const fn effect(
    name: &'static str,
    aliases: &'static [&'static str],
    example: &'static str,
    meaning: &'static str,
) -> FioOption {
    FioOption { name, aliases, treatment: Treatment::Effect { example: Some(example) }, meaning }
}

const fn flag(name: &'static str, aliases: &'static [&'static str], meaning: &'static str) -> FioOption {
    FioOption { name, aliases, treatment: Treatment::Effect { example: None }, meaning }
}

const fn no_meaning(
    name: &'static str,
    aliases: &'static [&'static str],
    meaning: &'static str,
) -> FioOption {
    FioOption { name, aliases, treatment: Treatment::NoMeaning, meaning }
}

const fn refused(name: &'static str, meaning: &'static str) -> FioOption {
    FioOption { name, aliases: &[], treatment: Treatment::Refused, meaning }
}

/// Why the options of a submission path say nothing here.
const SUBMISSION: &str = "how a Linux host submits; the driver of the simulated host has one way";
/// Why the options of processes say nothing here.
const PROCESS: &str = "about the processes of a Linux host; jobs here are values in simulated time";
/// Why the options of output say nothing here.
const REPORT: &str = "about fio's own output; the report here has one form";

/// Every option that is taken, and those that are refused with a reason of their own. Anything else is refused as
/// unknown.
///
/// | group | options |
/// |---|---|
/// | what | `rw` `rwmixread` `rwmixwrite` `bs` `bsrange` `bssplit` `blockalign` `sync` `write_mode` `fsync` `fdatasync` `end_fsync` |
/// | where | `offset` `offset_increment` `size` `random_distribution` `norandommap` `randseed` `randrepeat` |
/// | how much | `io_size` `number_ios` `loops` `runtime` `time_based` `ramp_time` |
/// | how fast | `iodepth` `ioengine` `numjobs` `rate_iops` `thinktime` `thinktime_blocks` `startdelay` `stonewall` |
/// | file | `name` `kb_base` |
/// | checks | `verify` `do_verify` `verify_fatal` |
///
/// The meaning of each stands in its [`FioOption::meaning`].
pub const OPTIONS: &[FioOption] = &[
    effect(
        "rw",
        &["readwrite"],
        "randrw",
        "read, write, trim, randread, randwrite, randtrim, rw = readwrite, randrw, trimwrite, randtrimwrite. Default read",
    ),
    effect("rwmixread", &[], "70", "percent of reads in a mix. Default 50"),
    effect(
        "rwmixwrite",
        &[],
        "70",
        "percent of writes in a mix; of the two the one that stands later counts",
    ),
    effect(
        "bs",
        &["blocksize"],
        "8k,16k",
        "block size; read[,write][,trim]. Default 4k. A multiple of the drive's logical block",
    ),
    effect(
        "bsrange",
        &["blocksize_range"],
        "4k-16k",
        "multiples of the smaller up to the larger, equally likely; read[,write][,trim]",
    ),
    effect(
        "bssplit",
        &[],
        "4k/10:64k/90",
        "size/percent pairs; blank percentages share the rest; read[,write][,trim]",
    ),
    effect(
        "blockalign",
        &["ba"],
        "8k",
        "random offsets are multiples of this; read[,write][,trim]. Turns the random map off, as in fio",
    ),
    effect("offset", &[], "1m", "first byte, or a percentage of the drive rounded up to the block size"),
    effect("offset_increment", &[], "1m", "added to offset once for each earlier copy of the job"),
    effect(
        "size",
        &[],
        "50%",
        "length of the region in bytes or percent of the drive. Default the rest of the drive",
    ),
    effect("io_size", &["io_limit"], "1g", "bytes to request in a loop, inside the region. Default size"),
    effect(
        "number_ios",
        &[],
        "1000",
        "ends the job after so many reads, writes and trims, if `size` (`io_size`, `loops`) does not end it before",
    ),
    effect("loops", &[], "2", "how often the job is done. Default 1"),
    effect("iodepth", &[], "32", "requests in flight at most. Default 1; 1 for the synchronous engines"),
    effect(
        "ioengine",
        &[],
        "psync",
        "sync, psync, vsync, pvsync, pvsync2 and mmap hold iodepth at 1; the asynchronous engines change nothing",
    ),
    effect("numjobs", &[], "4", "copies of the job that run at once, each with its own seed. Default 1"),
    effect(
        "random_distribution",
        &[],
        "zipf:1.2",
        "random, zipf:theta (theta above 0) or pareto:h (h between 0 and 1). A skewed distribution visits blocks again, so it has no random map",
    ),
    flag("norandommap", &[], "random offsets are drawn freely; otherwise every block comes once a pass"),
    effect("randseed", &[], "42", "where randomness starts"),
    effect(
        "randrepeat",
        &["allrandrepeat"],
        "0",
        "1: requests depend on randseed alone. 0: on the seed of the run too. Default 1",
    ),
    effect(
        "runtime",
        &["timeout"],
        "10",
        "simulated time after which nothing more is issued; seconds unless a unit is given",
    ),
    flag("time_based", &[], "begin again until runtime is over; needs runtime"),
    effect(
        "ramp_time",
        &[],
        "2s",
        "simulated time before runtime begins whose requests are not in the statistics",
    ),
    effect("startdelay", &[], "1s", "simulated time before the first request"),
    effect(
        "thinktime",
        &[],
        "50",
        "pause after thinktime_blocks requests, once all have completed; microseconds unless a unit is given",
    ),
    effect("thinktime_blocks", &[], "8", "requests between two pauses. Default 1"),
    effect("rate_iops", &[], "1000", "requests a second at most, evenly spaced; read[,write][,trim]"),
    effect(
        "sync",
        &[],
        "dsync",
        "none = 0; sync = 1 and dsync: writes carry force unit access, as O_DSYNC on a drive does",
    ),
    effect(
        "write_mode",
        &[],
        "zeroes",
        "write, or zeroes: writes are Write Zeroes commands (NVMe 1.4 §6.17)",
    ),
    effect(
        "fsync",
        &[],
        "32",
        "a Flush after so many writes; it waits for those before it and holds back those after it",
    ),
    effect("fdatasync", &[], "32", "the same as fsync: a drive has no metadata of files"),
    flag("end_fsync", &[], "a Flush when the job ends"),
    effect(
        "verify",
        &[],
        "crc32c",
        "content carries address and version, and reads are checked. Every checksum fio names (md5, crc64, crc32c, crc32c-intel, crc32, crc16, crc7, xxhash, sha1, sha256, sha512, sha3-224, sha3-256, sha3-384, sha3-512, meta) asks for this one check, which compares every byte. pattern, pattern_hdr and null are refused",
    ),
    effect("do_verify", &[], "0", "with verify: read back what was written after the writes. Default 1"),
    flag("stonewall", &["wait_for_previous"], "begin when all jobs before it in the file have ended"),
    flag(
        "group_reporting",
        &[],
        "the copies and jobs of a reporting group have one row together, instead of one each",
    ),
    flag("new_group", &[], "a new reporting group begins with this job, as one does with stonewall"),
    effect("name", &[], "mine", "what reports call the job; the section's name unless given"),
    effect(
        "kb_base",
        &[],
        "1000",
        "1024: k is 1024 and ki is 1000, fio's default. 1000: k is 1000 and ki is 1024",
    ),
    no_meaning("filename", &[], "there is one drive, and every job works on it"),
    no_meaning("direct", &[], "there is no page cache to go round"),
    no_meaning("buffered", &[], "there is no page cache"),
    no_meaning("invalidate", &[], "there is no page cache"),
    no_meaning("description", &[], "a remark"),
    no_meaning("thread", &[], PROCESS),
    no_meaning("cpus_allowed", &[], PROCESS),
    no_meaning("cpus_allowed_policy", &[], PROCESS),
    no_meaning("cpumask", &[], PROCESS),
    no_meaning("nice", &[], PROCESS),
    no_meaning("gtod_reduce", &[], PROCESS),
    no_meaning("clocksource", &[], PROCESS),
    no_meaning("hipri", &[], SUBMISSION),
    no_meaning("fixedbufs", &[], SUBMISSION),
    no_meaning("registerfiles", &[], SUBMISSION),
    no_meaning("sqthread_poll", &[], SUBMISSION),
    no_meaning("userspace_reap", &[], SUBMISSION),
    no_meaning("iomem", &["mem"], SUBMISSION),
    no_meaning("percentile_list", &[], REPORT),
    no_meaning("disable_lat", &[], REPORT),
    no_meaning("disable_clat", &[], REPORT),
    no_meaning("disable_slat", &[], REPORT),
    effect(
        "verify_fatal",
        &[],
        "1",
        "1 is what happens: the first wrong block ends the run with an error. 0 is refused",
    ),
    refused("include", "a job file stands alone here; put the lines in place of the include"),
    refused("rate", "only rate_iops is there; give requests a second"),
    refused("rate_process", "requests are spaced evenly; poisson is not there"),
    refused("verify_pattern", "content carries address and version and can't be a fixed pattern"),
    refused("verify_backlog", "what was written is read back after the writes, not between them"),
    refused("verify_async", "checks cost no simulated time, so there are no threads for them"),
    refused("buffer_pattern", "content is generated: with verify it carries address and version"),
    refused("zero_buffers", "content is generated; zeroes would hide what a drive does with real data"),
    refused(
        "buffer_compress_percentage",
        "the drive does not compress, so compressible content changes nothing",
    ),
    refused("dedupe_percentage", "the drive does not deduplicate, so duplicate content changes nothing"),
    refused("read_iolog", "replay a trace with --trace instead of a job"),
    refused("write_iolog", "requests are recorded by the run's own trace, not by a job"),
    refused("nrfiles", "there is one drive, no files"),
    refused("filesize", "there is one drive, no files; give size and offset"),
    refused("directory", "there is one drive, no files"),
    refused("opendir", "there is one drive, no files"),
    refused("zonemode", "the drive has no zones"),
    refused("rw_sequencer", "give read, write or their random forms"),
    refused("iodepth_batch", "requests are issued one by one as the queue has room"),
    refused("iodepth_low", "requests are issued one by one as the queue has room"),
    refused("percentage_random", "a job is sequential or random; use two jobs"),
    refused("latency_target", "the queue depth is what the job says"),
    refused("steadystate", "precondition with a job before, then measure"),
    refused("exitall", "every job runs to its end"),
];

/// The option of that name, aliases included.
pub fn find(name: &str) -> Option<&'static FioOption> {
    OPTIONS.iter().find(|option| option.name == name || option.aliases.contains(&name))
}

/// The taken option whose name is nearest to `name`, if one is near enough to have been meant: at most a third of
/// the letters differ.
pub fn nearest(name: &str) -> Option<&'static str> {
    let taken = OPTIONS.iter().filter(|option| option.treatment != Treatment::Refused);
    taken
        .flat_map(|option| core::iter::once(option.name).chain(option.aliases.iter().copied()))
        .map(|known| (edit_distance(name, known), known))
        .filter(|(distance, known)| *distance <= known.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Names are compared up to this length; no option of fio is longer.
const NAME_BYTES_MAX: usize = 40;

/// How many letters to insert, remove, replace or swap with their neighbour to make `a` into `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() > NAME_BYTES_MAX || b.len() > NAME_BYTES_MAX {
        return usize::MAX;
    }
    let mut rows = [[0usize; NAME_BYTES_MAX + 1]; 3];
    for (j, cell) in rows[1].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        let [before_last, last, row] = &mut rows;
        row[0] = i;
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_single_mistakes_as_one() {
        for (a, b, distance) in [
            ("iodepth", "iodepth", 0),
            ("iodpeth", "iodepth", 1),
            ("iodeph", "iodepth", 1),
            ("", "rw", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
        }
    }

    #[test]
    fn nothing_near_means_no_suggestion() {
        assert_eq!(nearest("block_size"), Some("blocksize"));
        assert_eq!(nearest("xyzzy"), None);
        assert_eq!(nearest(&"long".repeat(50)), None);
    }

    #[test]
    fn names_are_unique() {
        for option in OPTIONS {
            for name in core::iter::once(&option.name).chain(option.aliases) {
                assert_eq!(find(name), Some(option), "{name}");
            }
        }
    }
}
