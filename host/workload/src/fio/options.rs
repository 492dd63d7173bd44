//! The one list of fio options: the parser, the errors and the documentation follow it.

use super::option::{FioOption, PROCESS, REPORT, SUBMISSION, Treatment, effect, flag, no_meaning, refused};
use super::others::OTHERS;
use aster_units::edit_distance;

/// Every supported option, and those that are ignored or refused with a reason of their own. [`OTHERS`] has
/// the rest of fio's options; anything else is refused as unknown.
///
/// | group | options |
/// |---|---|
/// | what | `rw` `rw_sequencer` `rwmixread` `rwmixwrite` `bs` `bsrange` `bssplit` `blockalign` `sync` `write_mode` `fsync` `fdatasync` `end_fsync` |
/// | where | `offset` `offset_increment` `size` `random_distribution` `percentage_random` `norandommap` `randseed` `randrepeat` |
/// | how much | `io_size` `number_ios` `loops` `runtime` `time_based` `ramp_time` `steadystate` `exitall` |
/// | how fast | `iodepth` `ioengine` `numjobs` `rate` `rate_iops` `rate_process` `rate_min` `thinktime` `startdelay` `stonewall` |
/// | file | `name` `kb_base` |
/// | checks | `verify` `do_verify` `verify_fatal` |
///
/// [`FioOption::meaning`] has the meaning of each.
pub(super) const OPTIONS: &[FioOption] = &[
    effect(
        "rw",
        &["readwrite"],
        "randrw",
        "read, write, trim, randread, randwrite, randtrim, rw = readwrite, randrw, trimwrite, randtrimwrite. \
         Default read. randread:8, as any random one: every eighth request has a random offset, and those \
         between go on as rw_sequencer says; write:4k, as any other one: 4 KiB are left out after each \
         request, and with :-8k it goes back so far from the end of the last",
    ),
    effect(
        "rw_sequencer",
        &[],
        "identical",
        "between the random offsets of rw=randread:8: sequential, on from the direction's last request, or \
         identical, at its offset again. Default sequential",
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
    effect(
        "offset",
        &["fileoffset"],
        "1m",
        "first byte, or a percentage of the drive rounded up to the block size",
    ),
    effect("offset_increment", &[], "1m", "added to offset once for each earlier copy of the job"),
    effect(
        "size",
        &[],
        "50%",
        "length of the region in bytes or percent of the drive. Default the rest of the drive",
    ),
    effect(
        "io_size",
        &["io_limit"],
        "1g",
        "bytes to request in a loop, inside the region, or percent of `size`. Default size",
    ),
    effect(
        "number_ios",
        &[],
        "1000",
        "ends the job after so many reads, writes and trims, if `size` (`io_size`, `loops`) does not end it \
         before",
    ),
    effect("loops", &[], "2", "how often the job is done. Default 1"),
    effect("iodepth", &[], "32", "requests in flight at most. Default 1; 1 for the synchronous engines"),
    effect(
        "ioengine",
        &[],
        "psync",
        "sync, psync, vsync, pvsync, pvsync2 and mmap hold iodepth at 1; the asynchronous engines change \
         nothing",
    ),
    effect("numjobs", &[], "4", "copies of the job that run at once, each with its own seed. Default 1"),
    effect(
        "random_distribution",
        &[],
        "zipf:1.2",
        "random, zipf[:theta[:center]] (theta above 0, default 1.1), pareto[:h[:center]] (h between 0 and 1, \
         default 0.2), normal[:deviation[:center]] (percent, default 0), zoned:requests/size:… (percent of \
         requests and of the region) or zoned_abs:requests/bytes:…; zones read[,write][,trim]. A center from \
         0 to 1 says where the most likely block lies. A skewed distribution visits blocks again, so it has \
         no random map",
    ),
    effect(
        "percentage_random",
        &[],
        "50",
        "of a random job, percent of the requests that are random; the others go on where the direction's \
         last one ended; read[,write][,trim]. Default 100",
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
    effect(
        "thinktime_spin",
        &[],
        "70",
        "the pause is at least so long, busy or not; needs thinktime; microseconds unless a unit is given",
    ),
    effect(
        "thinktime_iotime",
        &[],
        "2s",
        "a pause too when so long a time went by without one; without thinktime_blocks only then; seconds \
         unless a unit is given",
    ),
    effect("rate_iops", &[], "1000", "requests a second at most; read[,write][,trim]"),
    effect("rate", &[], "100m", "bytes a second at most; read[,write][,trim]. Excludes rate_iops"),
    effect(
        "rate_process",
        &[],
        "poisson",
        "linear: requests of a rate are evenly spaced. poisson: at random with that mean, as a Poisson \
         process; a rate in bytes counts in requests of the smallest size. Default linear",
    ),
    effect(
        "rate_ignore_thinktime",
        &[],
        "1",
        "0: after a pause the rate is made up for. 1: the pause moves what comes after it. Default 0",
    ),
    effect(
        "rate_min",
        &["ratemin"],
        "1m",
        "the job fails when it moves fewer bytes a second over rate_cycle, the first 2 s left out; \
         read[,write][,trim]",
    ),
    effect("rate_iops_min", &[], "10", "the same for requests a second. Excludes rate_min"),
    effect(
        "rate_cycle",
        &["ratecycle"],
        "500",
        "milliseconds over which rate_min and rate_iops_min are counted. Default 1000",
    ),
    effect(
        "steadystate",
        &["ss"],
        "iops:2%",
        "the job ends when iops, bw or lat keep near the mean of the window, or with _slope when their \
         regression line is flat: iops:2%, bw_slope:1m. A limit without % is in requests or bytes a second \
         or a time. Needs steadystate_duration",
    ),
    effect("steadystate_duration", &["ss_dur"], "30", "the window; seconds unless a unit is given"),
    effect(
        "steadystate_ramp_time",
        &["ss_ramp"],
        "5",
        "time from the job's start before the first interval of the window; seconds unless a unit is given. \
         Default 0",
    ),
    effect(
        "steadystate_check_interval",
        &["ss_interval"],
        "2",
        "the window is a multiple of it, at least two; seconds unless a unit is given. Default 1s",
    ),
    flag(
        "exitall",
        &[],
        "when a job of the file ends, those that run beside it end too; one job's exitall holds for all, as \
         in fio",
    ),
    effect(
        "exit_what",
        &[],
        "all",
        "which jobs end with this one by exitall: group, those beside it; all, those too that have not \
         begun; stonewall, the same as group. Default group",
    ),
    flag("exitall_on_error", &[], "as exitall, when a job fails"),
    effect(
        "sync",
        &[],
        "dsync",
        "none = 0; sync = 1 and dsync: writes carry force unit access, as O_DSYNC on a drive does",
    ),
    effect(
        "dataplacement",
        &["data_placement"],
        "streams",
        "none, or streams: writes belong to streams of the drive (NVMe 1.4 §9.3); plids says to which. The \
         drive needs ftl.stream_policy = \"directive\"",
    ),
    effect(
        "plids",
        &["fdp_pli"],
        "1,2",
        "identifiers of streams, from 1 to 65535, for dataplacement=streams, which needs them",
    ),
    effect(
        "plid_select",
        &["fdp_pli_select"],
        "random",
        "roundrobin: the writes of a job go to its streams one after the other; random: to one that is \
         drawn. Default roundrobin",
    ),
    effect("writefua", &[], "1", "1: writes carry force unit access"),
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
        "content carries address and version, and reads are checked. Every checksum fio names (md5, crc64, \
         crc32c, crc32c-intel, crc32, crc16, crc7, xxhash, sha1, sha256, sha512, sha3-224, sha3-256, \
         sha3-384, sha3-512, meta) asks for this one check, which compares every byte. pattern, pattern_hdr \
         and null are refused",
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
    no_meaning(
        "direct",
        &[],
        "a drive has no page cache, and that of target.page_cache_mib is never gone round",
    ),
    no_meaning("buffered", &[], "as direct"),
    no_meaning("invalidate", &[], "as direct"),
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
    refused("include", &[], "a job file stands alone here; put the lines in place of the include"),
    refused("verify_pattern", &[], "content carries address and version and can't be a fixed pattern"),
    refused("verify_backlog", &[], "what was written is read back after the writes, not between them"),
    refused("verify_async", &[], "checks cost no simulated time, so there are no threads for them"),
    refused("buffer_pattern", &[], "content is generated: with verify it carries address and version"),
    refused("zero_buffers", &[], "content is generated; zeroes would hide what a drive does with real data"),
    refused(
        "buffer_compress_percentage",
        &[],
        "the drive does not compress, so compressible content changes nothing",
    ),
    refused("dedupe_percentage", &[], "the drive does not deduplicate, so duplicate content changes nothing"),
    refused("read_iolog", &[], "replay a trace with --trace instead of a job"),
    refused("write_iolog", &[], "requests are recorded by the run's own trace, not by a job"),
    refused("nrfiles", &["nr_files"], "there is one drive, no files"),
    refused("filesize", &[], "there is one drive, no files; give size and offset"),
    refused("directory", &[], "there is one drive, no files"),
    refused("opendir", &[], "there is one drive, no files"),
    refused("zonemode", &[], "the drive has no zones, so only fio's default, none, is taken"),
    refused(
        "iodepth_batch",
        &["iodepth_batch_submit"],
        "requests are issued one by one as the queue has room",
    ),
    refused("iodepth_low", &[], "requests are issued one by one as the queue has room"),
    refused("latency_target", &[], "the queue depth is what the job says"),
];

/// Every option of fio's job files.
pub fn options() -> impl Iterator<Item = &'static FioOption> {
    OPTIONS.iter().chain(OTHERS)
}

/// The option of that name, aliases included.
pub fn find(name: &str) -> Option<&'static FioOption> {
    options().find(|option| option.name == name || option.aliases.contains(&name))
}

/// The supported option whose name is nearest to `name`, ignoring case, if at most a third of the letters
/// differ.
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = &name.to_ascii_lowercase();
    let taken = options().filter(|option| option.treatment != Treatment::Refused);
    taken
        .flat_map(|option| core::iter::once(option.name).chain(option.aliases.iter().copied()))
        .map(|known| (edit_distance(name, known), known))
        .filter(|(distance, known)| *distance <= known.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_near_means_no_suggestion() {
        assert_eq!(nearest("block_size"), Some("blocksize"));
        assert_eq!(nearest("xyzzy"), None);
        assert_eq!((nearest("BS"), nearest("IODepth")), (Some("bs"), Some("iodepth")));
        assert_eq!(nearest(&"long".repeat(50)), None);
    }

    #[test]
    fn names_are_unique() {
        for option in options() {
            for name in core::iter::once(&option.name).chain(option.aliases) {
                assert_eq!(find(name), Some(option), "{name}");
            }
        }
    }
}
