//! How many commands the host can have in flight for some work, and what the work asks for beyond that.

use crate::warning::Warning;
use aster_device::profile::Profile;
use aster_workload::{Job, Unmet};
use serde::Serialize;
use std::collections::BTreeMap;

/// A request of the work that the drive's host interface, or the driver, can't satisfy. The work runs
/// nevertheless.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostLimit {
    /// The job or the trace; several jobs' names if they ask for it together.
    pub job: String,
    /// The option, in the words of the user.
    pub option: &'static str,
    /// The requested value.
    pub asked: u64,
    /// The actual value.
    pub given: u64,
    /// Why, and what would change it.
    pub because: String,
    /// Several jobs ask for it together, and none of them alone.
    #[serde(skip)]
    pub together: bool,
}

/// Jobs that are named; the others are counted.
const NAMED_MAX: usize = 8;

impl HostLimit {
    /// All of it as a sentence.
    pub fn note(&self) -> String {
        let HostLimit { job, option, asked, given, because, together } = self;
        let (job, of) = if *together { (job.clone(), " together") } else { (format!("\"{job}\""), "") };
        format!("{job}: {option} is {asked}{of}, but {given} is what there is: {because}")
    }

    /// The same as a warning of a run.
    pub fn warning(&self) -> Warning {
        let values = [("asked", self.asked as f64), ("given", self.given as f64)];
        let warning = Warning::new("limit", self.note()).with(values);
        if self.together { warning } else { warning.of_task(&self.job) }
    }
}

/// The driver's queues for some work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queues {
    /// I/O queue pairs.
    pub pairs: u16,
    /// Commands outstanding in each of them.
    pub depth: u16,
    /// The most bytes of a command.
    pub transfer_bytes: u32,
    /// What the work asks for beyond that.
    pub limits: Vec<HostLimit>,
}

/// The most commands in flight in a queue pair: the driver's own bound.
const DEPTH_MAX: u64 = 4095;
/// The most bytes of a command: on many drives Linux by default splits larger ones.
const TRANSFER_BYTES_MAX: u32 = 128 << 10;

/// The tasks' demands on the queues.
#[derive(Clone, Debug)]
pub struct Asks<'a> {
    option: &'static str,
    all: Vec<Ask<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Ask<'a> {
    job: &'a str,
    wave: u32,
    depth: u64,
    copies: u32,
    largest: u32,
    /// Options that have no effect on any drive.
    unmet: &'a [Unmet],
}

impl<'a> Asks<'a> {
    /// Those of a job file.
    pub fn of_jobs(jobs: &'a [Job]) -> Self {
        let mut wave = 0;
        let mut all = Vec::with_capacity(jobs.len());
        for (i, job) in jobs.iter().enumerate() {
            wave += u32::from(job.after_previous && i > 0);
            let (largest, depth) = (job.largest_data_block(), job.queue_depth.into());
            all.push(Ask { job: &job.name, wave, depth, copies: job.copies, largest, unmet: &job.unmet });
        }
        Asks { option: "iodepth", all }
    }

    /// Those of a trace.
    pub fn of_trace(name: &'a str, queue_depth: u32) -> Self {
        Asks::of_one(name, "--queue-depth", queue_depth)
    }

    /// Those of a source that a program brings.
    pub fn of_source(name: &'a str, queue_depth: u32) -> Self {
        Asks::of_one(name, "queue_depth", queue_depth)
    }

    fn of_one(name: &'a str, option: &'static str, queue_depth: u32) -> Self {
        let ask = Ask { job: name, wave: 0, depth: queue_depth.into(), copies: 1, largest: 0, unmet: &[] };
        Asks { option, all: vec![ask] }
    }
}

/// The queues that tasks get on a drive of `profile`; `depth_min` is the depth that other users of the queues
/// need.
pub fn queues(profile: &Profile, asks: &Asks<'_>, depth_min: u32) -> Queues {
    let Asks { option, all: asks } = asks;
    let tasks: u32 = asks.iter().map(|a| a.copies).fold(0, u32::saturating_add).max(1);
    let pairs = tasks.min(profile.host.queue_pairs.into()).max(1);
    let most = DEPTH_MAX.min(u64::from(profile.host.queue_entries) - 1);
    // Tasks take the pairs in turn, whatever their wave; those of one wave share a pair's commands.
    let mut together: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let mut next = 0;
    for ask in asks {
        for _ in 0..ask.copies {
            *together.entry((ask.wave, next % pairs)).or_default() += ask.depth;
            next += 1;
        }
    }
    let wanted = together.values().copied().max().unwrap_or(1).max(depth_min.into());
    let transfer_bytes = profile.host.transfer_bytes_max.min(TRANSFER_BYTES_MAX);
    let mut limits = Vec::new();
    let mut next = 0;
    for ask in asks {
        let shared = (next..next + ask.copies).map(|i| together[&(ask.wave, i % pairs)]).max().unwrap_or(0);
        next += ask.copies;
        depth_limit(&mut limits, option, ask, shared, most, profile);
        limits.extend(ask.unmet.iter().map(|unmet| HostLimit {
            job: ask.job.to_owned(),
            option: unmet.option,
            asked: unmet.asked,
            given: unmet.given,
            because: unmet.because.to_owned(),
            together: false,
        }));
        let parts = u64::from(ask.largest.div_ceil(transfer_bytes));
        if parts > 1 {
            limits.push(HostLimit {
                job: ask.job.to_owned(),
                option: "bs",
                asked: ask.largest.into(),
                given: transfer_bytes.into(),
                because: format!(
                    "a larger request goes to the drive in commands of {transfer_bytes} bytes, each of which \
                     counts as one of those in flight"
                ),
                together: false,
            });
        }
    }
    for wave in asks.iter().map(|a| a.wave).collect::<std::collections::BTreeSet<_>>() {
        let of_wave: Vec<_> = asks.iter().filter(|a| a.wave == wave).collect();
        let count: u32 = of_wave.iter().map(|a| a.copies).fold(0, u32::saturating_add);
        if count > pairs {
            limits.push(HostLimit {
                job: names(&of_wave),
                together: of_wave.len() > 1,
                option: "numjobs",
                asked: count.into(),
                given: pairs.into(),
                because: format!(
                    "that many run at once and share the drive's queue pairs, where each would have one of \
                     its own (host.queue_pairs = {})",
                    profile.host.queue_pairs
                ),
            });
        }
    }
    Queues { pairs: pairs as u16, depth: wanted.min(most) as u16, transfer_bytes, limits }
}

/// The name of the job, or the names of several with their copies.
fn names(jobs: &[&Ask<'_>]) -> String {
    if let [alone] = jobs {
        return alone.job.to_owned();
    }
    let named = jobs.iter().take(NAMED_MAX).map(|ask| match ask.copies {
        1 => format!("\"{}\"", ask.job),
        copies => format!("\"{}\" (numjobs={copies})", ask.job),
    });
    let more = jobs.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| format!("{more} more"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

fn depth_limit(
    limits: &mut Vec<HostLimit>,
    option: &'static str,
    ask: &Ask<'_>,
    shared: u64,
    most: u64,
    profile: &Profile,
) {
    if shared <= most {
        return;
    }
    let entries = profile.host.queue_entries;
    let whose = if u64::from(entries) > most + 1 {
        format!("more than the {DEPTH_MAX} that the driver has outstanding in a queue")
    } else {
        format!("a queue of {entries} entries holds one less (host.queue_entries, up to 4096)")
    };
    let because = match shared > ask.depth {
        true => format!("{whose}, and tasks that share a queue ask for {shared} together"),
        false => whose,
    };
    limits.push(HostLimit {
        job: ask.job.to_owned(),
        option,
        asked: ask.depth,
        given: most.min(ask.depth),
        because,
        together: false,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_device::profile::shipped;
    use aster_workload::fio;

    fn of(name: &str, job: &str) -> Queues {
        let mut profile = shipped(name).unwrap();
        if name == "tiny" {
            profile.host.queue_entries = 64;
        }
        queues(&profile, &Asks::of_jobs(&fio::parse(job).unwrap()), 1)
    }

    #[test]
    fn a_depth_that_the_queue_holds_is_given_and_not_talked_about() {
        let queues = of("tiny", "[j]\niodepth=63\n");
        assert_eq!((queues.pairs, queues.depth, queues.limits), (1, 63, Vec::new()));
    }

    #[test]
    fn a_depth_beyond_the_queue_is_told_with_what_there_is_and_the_key() {
        let queues = of("tiny", "[j]\niodepth=256\n[k]\nstonewall\niodepth=4\n");
        assert_eq!(queues.depth, 63);
        let [limit] = &queues.limits[..] else { panic!("{:?}", queues.limits) };
        assert_eq!((&*limit.job, limit.option, limit.asked, limit.given), ("j", "iodepth", 256, 63));
        assert!(limit.note().contains("host.queue_entries"), "{}", limit.note());
    }

    #[test]
    fn tasks_that_share_a_pair_have_their_depths_added_and_the_sharing_is_told() {
        // Six copies on four pairs: two pairs have two tasks.
        let queues = of("tiny", "[j]\niodepth=8\nnumjobs=6\n");
        assert_eq!((queues.pairs, queues.depth), (4, 16));
        let [limit] = &queues.limits[..] else { panic!("{:?}", queues.limits) };
        assert_eq!((limit.option, limit.asked, limit.given), ("numjobs", 6, 4));
        let queues = of("tiny", "[j]\niodepth=48\nnumjobs=6\n");
        assert_eq!(queues.depth, 63);
        let limit = queues.limits.iter().find(|l| l.option == "iodepth").unwrap();
        assert!(limit.because.contains("ask for 96 together"), "{limit:?}");
        // One after the other they share nothing.
        let queues = of("tiny", "[a]\niodepth=40\n[b]\nstonewall\niodepth=40\n[c]\nstonewall\niodepth=40\n");
        assert_eq!((queues.pairs, queues.depth, queues.limits), (3, 40, Vec::new()));
    }

    #[test]
    fn jobs_that_share_pairs_only_together_are_all_named() {
        let queues = of("tiny", "[a]\n[b]\nnumjobs=2\n[c]\nnumjobs=2\n[d]\nstonewall\nnumjobs=5\n");
        let [limit, alone] = &queues.limits[..] else { panic!("{:?}", queues.limits) };
        let note = limit.note();
        let said =
            "\"a\", \"b\" (numjobs=2), \"c\" (numjobs=2): numjobs is 5 together, but 4 is what there is: ";
        assert!(note.starts_with(said), "{note}");
        assert_eq!(limit.warning().task, None);
        assert_eq!((&*alone.job, alone.asked, alone.given), ("d", 5, 4));
        assert_eq!(alone.warning().task.as_deref(), Some("d"));
        let many: String = (0..20).map(|i| format!("[j{i}]\n")).collect();
        let note = of("tiny", &many).limits[0].note();
        assert!(note.contains("\"j7\", 12 more: numjobs is 20 together"), "{note}");
    }

    #[test]
    fn requests_that_go_in_parts_are_told() {
        let queues = of("cosmos-plus", "[j]\nrw=rw\nbs=64k,1m\n");
        let [limit] = &queues.limits[..] else { panic!("{:?}", queues.limits) };
        assert_eq!((limit.option, limit.asked, limit.given), ("bs", 1 << 20, 128 << 10));
        assert_eq!(of("cosmos-plus", "[j]\nrw=read\nbs=64k,1m\n").limits, Vec::new(), "only reads count");
        let zeroes = of("cosmos-plus", "[j]\nrw=write\nbs=1m\nwrite_mode=zeroes\n");
        assert_eq!(zeroes.limits, Vec::new(), "no data moves");
    }

    #[test]
    fn what_a_job_asks_for_in_vain_on_any_drive_is_told() {
        let queues = of("tiny", "[j]\nioengine=psync\niodepth=8\nthinktime_spin=70\n");
        let told: Vec<_> = queues.limits.iter().map(|l| (l.option, l.asked, l.given)).collect();
        assert_eq!(told, [("iodepth", 8, 1), ("thinktime_spin", 70, 0)]);
        let note = queues.limits[0].note();
        assert!(note.starts_with("\"j\": iodepth is 8, but 1 is what there is: its ioengine is"), "{note}");
    }

    #[test]
    fn every_shipped_profile_that_follows_no_board_has_queues_for_what_drives_usually_get() {
        for name in ["cosmos-plus", "babol", "ideal", "tiny", "pocket"] {
            let profile = shipped(name).unwrap();
            assert!(profile.host.queue_entries >= 1024, "{name}: {}", profile.host.queue_entries);
        }
    }
}
