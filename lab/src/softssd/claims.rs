//! What the paper says of its figures in words, each held against our points. Curves without digits are
//! compared by their shapes only, and a claim that doesn't hold is printed as such.

use super::SoftssdReport;
use super::plan::Plan;
use super::threads::{Access, ThreadsPoint};
use crate::experiment::Claim;

/// All statements that the points of `report` can be held against.
pub fn claims(report: &SoftssdReport, plan: &Plan) -> Vec<Claim> {
    let mut all = Vec::new();
    for access in Access::ALL {
        all.extend(rises(report, access));
    }
    all.extend(faster_reads(report));
    all.extend(similar_peaks(report));
    all.extend(lower_peaks(report));
    all.extend(even_reads(report));
    all.extend(tails(report));
    all.extend(phases(report));
    all.push(hardware(report, plan));
    all
}

fn points(report: &SoftssdReport, access: Access) -> Vec<&ThreadsPoint> {
    report.threads.iter().filter(|point| point.access == access).collect()
}
fn peak(report: &SoftssdReport, access: Access) -> Option<f64> {
    points(report, access).into_iter().map(|point| point.mb_per_s).reduce(f64::max)
}

/// S30, S32: rises to 16 threads and is highest at 32, where it gains little more.
fn rises(report: &SoftssdReport, access: Access) -> Option<Claim> {
    let points = points(report, access);
    let at = |threads| points.iter().find(|point| point.threads == threads).map(|point| point.mb_per_s);
    let (sixteen, most) = (at(16)?, at(32)?);
    let up_to = points.iter().filter(|point| point.threads <= 16);
    let rising = up_to.clone().zip(up_to.skip(1)).all(|(a, b)| b.mb_per_s > a.mb_per_s);
    let id = if matches!(access, Access::SequentialRead | Access::SequentialWrite) { "S30" } else { "S32" };
    Some(Claim {
        id,
        says: format!("{}: rises from 1 to 16 threads, highest at 32", access.name()),
        ours: format!("16 threads {sixteen:.0} MB/s, 32 threads {most:.0} MB/s"),
        holds: rising && most >= sixteen,
    })
}

/// S30: with one to four threads, reads are faster than writes.
fn faster_reads(report: &SoftssdReport) -> Option<Claim> {
    let few = |access| {
        let few = points(report, access).into_iter().filter(|point| point.threads <= 4);
        few.map(|point| point.mb_per_s).collect::<Vec<_>>()
    };
    let (reads, writes) = (few(Access::SequentialRead), few(Access::SequentialWrite));
    let (read, write) = (reads.first()?, writes.first()?);
    Some(Claim {
        id: "S30",
        says: "sequential: reads are faster than writes with 1 to 4 threads".to_owned(),
        ours: format!("1 thread: {read:.0} and {write:.0} MB/s"),
        holds: reads.iter().zip(&writes).all(|(read, write)| read > write),
    })
}

/// S30: similar peaks, which we take for a difference of at most a quarter.
fn similar_peaks(report: &SoftssdReport) -> Option<Claim> {
    let (read, write) = (peak(report, Access::SequentialRead)?, peak(report, Access::SequentialWrite)?);
    Some(Claim {
        id: "S30",
        says: "sequential: reads and writes have similar peaks".to_owned(),
        ours: format!("{read:.0} and {write:.0} MB/s"),
        holds: (read / write - 1.0).abs() <= 0.25,
    })
}

/// S32: random accesses have lower peaks than sequential ones.
fn lower_peaks(report: &SoftssdReport) -> Option<Claim> {
    let of = |access| peak(report, access);
    let (read, sequential_read) = (of(Access::RandomRead)?, of(Access::SequentialRead)?);
    let (write, sequential_write) = (of(Access::RandomWrite)?, of(Access::SequentialWrite)?);
    Some(Claim {
        id: "S32",
        says: "random: lower peaks than sequential".to_owned(),
        ours: format!(
            "reads {read:.0} below {sequential_read:.0}, writes {write:.0} below {sequential_write:.0} MB/s"
        ),
        holds: read < sequential_read && write < sequential_write,
    })
}

/// S31: latencies of reads are more even than those of writes, at each number of threads, and no read is
/// served from the data buffer.
fn even_reads(report: &SoftssdReport) -> Option<Claim> {
    let spread = |point: &ThreadsPoint| {
        let last = point.quantiles_us.last().copied().unwrap_or(0.0);
        last / point.quantiles_us[point.quantiles_us.len() / 2].max(f64::MIN_POSITIVE)
    };
    let pairs =
        [(Access::SequentialRead, Access::SequentialWrite), (Access::RandomRead, Access::RandomWrite)];
    let spreads: Vec<(f64, f64)> = pairs
        .into_iter()
        .flat_map(|(read, write)| points(report, read).into_iter().zip(points(report, write)))
        .map(|(read, write)| (spread(read), spread(write)))
        .collect();
    let widest = spreads.iter().map(|(read, _)| *read).reduce(f64::max)?;
    let narrowest = spreads.iter().map(|(_, write)| *write).reduce(f64::min)?;
    let hits: u64 =
        report.threads.iter().filter(|point| !point.access.writes()).map(|point| point.buffer_hits).sum();
    Some(Claim {
        id: "S31",
        says: "latencies of reads are more even than those of writes: nothing is read from a cache"
            .to_owned(),
        ours: format!(
            "p99 over median: at most {widest:.2} of reads, at least {narrowest:.2} of writes; {hits} hits"
        ),
        holds: spreads.iter().all(|(read, write)| read < write) && hits == 0,
    })
}

/// S31: writes have a long tail once the cache is full, which we take for a 99th percentile of at least twice
/// the median.
fn tails(report: &SoftssdReport) -> Option<Claim> {
    let writes = report.threads.iter().filter(|point| point.access.writes());
    let before = writes.clone().filter_map(|point| point.tail_before).reduce(f64::max)?;
    let after = writes.filter_map(|point| point.tail_after).reduce(f64::max)?;
    Some(Claim {
        id: "S31",
        says: "writes have a long tail once the write cache is full, and none before".to_owned(),
        ours: format!("p99 over median: at most {before:.2} before, {after:.2} after"),
        holds: before < 1.5 && after >= 2.0,
    })
}

/// What we take for longer: a twentieth.
const LONGER: f64 = 1.05;

/// S33: what grows from one thread to the most, and the steps of the program command.
fn phases(report: &SoftssdReport) -> Vec<Claim> {
    let [one, .., most] = report.phases.as_slice() else { return Vec::new() };
    let grown = |a: f64, b: f64| b > LONGER * a;
    let steps = &one.write_command;
    vec![
        Claim {
            id: "S33",
            says: "with one thread, transfers and the read command always take the same".to_owned(),
            ours: format!(
                "p90 over p10: read transfer {:.3}, write transfer {:.3}, read command {:.3}",
                one.read_transfer.p90_us / one.read_transfer.p10_us,
                one.write_transfer.p90_us / one.write_transfer.p10_us,
                one.read_command.p90_us / one.read_command.p10_us
            ),
            holds: [&one.read_transfer, &one.write_transfer, &one.read_command]
                .iter()
                .all(|phase| phase.p90_us / phase.p10_us < 1.02),
        },
        Claim {
            id: "S33",
            says: "with the most threads, both transfers and the read command take longer".to_owned(),
            ours: format!(
                "read transfer {:.1} to {:.1}, write transfer {:.1} to {:.1}, read command {:.1} to {:.1} µs",
                one.read_transfer.median_us,
                most.read_transfer.median_us,
                one.write_transfer.median_us,
                most.write_transfer.median_us,
                one.read_command.median_us,
                most.read_command.median_us
            ),
            holds: grown(one.read_transfer.median_us, most.read_transfer.median_us)
                && grown(one.write_transfer.median_us, most.write_transfer.median_us)
                && grown(one.read_command.median_us, most.read_command.median_us),
        },
        Claim {
            id: "S33",
            says: "the write command has two steps, of LSB and MSB pages".to_owned(),
            ours: format!("p10 {:.0}, p90 {:.0} µs", steps.p10_us, steps.p90_us),
            holds: steps.p90_us > 2.0 * steps.p10_us,
        },
    ]
}

/// S34: how many times as many commands NVMe in hardware carries.
fn hardware(report: &SoftssdReport, plan: &Plan) -> Claim {
    let times = report.host.hardware_per_second / report.host.software_per_second;
    let paper = plan.paper.fig_11.hardware_times;
    Claim {
        id: "S34",
        says: format!("NVMe in hardware carries about {paper:.0} times as many commands"),
        ours: format!("{times:.1} times"),
        holds: (paper / 2.0..=paper * 2.0).contains(&times),
    }
}
