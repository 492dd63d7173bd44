//! What the paper says of its figures in words, each held against our points. A claim that doesn't hold is
//! printed as such.

use super::commands::{COPY_BACK, COPY_BY_HOST, COPY_TO_DIE};
use super::plan::Plan;
use super::wear::{WearKind, WearPair, widest};
use super::{CommandPoint, HostFtlReport, LoadKind, LoadPoint};
use crate::experiment::Claim;

/// What we take for the same: a tenth.
const SAME: f64 = 1.1;

/// All statements that the points of `report` can be held against.
pub fn claims(report: &HostFtlReport, plan: &Plan) -> Vec<Claim> {
    [
        small_requests(report, plan),
        large_requests(report, plan),
        growing_reads(report),
        flat_mixes(report, plan),
        flat_writes(report),
        slow_at_few(report, plan),
        sequential_writes(report, plan),
        bounded_reads(report, plan),
        small_reads(report, plan),
        four_channels(report, plan),
        composite_commands(report),
        better_copies(report, plan),
        steady_latencies(report, plan),
        few_extra_erases(report, plan),
        few_erases_for_wear(report, plan),
        even_erases(report),
        erases_within_the_window(report, plan),
        longer_lives(report),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn least_and_most(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.map(|value| (value, value)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}
fn iops(point: &LoadPoint) -> f64 {
    point.measured.iops
}
fn mb_per_s(point: &LoadPoint) -> f64 {
    point.measured.mb_per_s
}

/// H36: requests of 4 KiB reach 75,000 to 100,000 a second, whatever the mix. Reads alone are Fig 25's.
fn small_requests(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let points = report.loads.iter().filter(|point| {
        let of = &point.measured;
        point.kind == LoadKind::BlockSizes && of.block_bytes == 4 << 10 && of.read_percent < 100
    });
    let (least, most) = least_and_most(points.map(iops))?;
    let [low, high] = plan.paper.fig_22_small_iops;
    Some(Claim {
        id: "H36",
        says: format!("Fig 22: small requests reach {low:.0} to {high:.0} IOPS with writes among them"),
        ours: format!("{least:.0} to {most:.0} IOPS of 4 KiB"),
        holds: least >= low / SAME && most <= high * SAME,
    })
}

/// H36: IOPS of large requests are inversely proportional to their size: the bandwidth stays.
fn large_requests(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let sizes: Vec<u32> = plan.random.blocks_kib.iter().copied().filter(|&kib| kib >= 32).collect();
    let spread = |&reads: &u8| {
        let of = |kib| report.of(LoadKind::BlockSizes, reads, kib).next().map(mb_per_s);
        let (least, most) = least_and_most(sizes.iter().filter_map(|&kib| of(kib)))?;
        Some(most / least)
    };
    let worst = plan.random.reads_percent.iter().filter_map(spread).reduce(f64::max)?;
    Some(Claim {
        id: "H36",
        says: "Fig 22: IOPS of larger requests are inversely proportional to their size".to_owned(),
        ours: format!("MB/s from 32 KiB on differ by a factor of {worst:.2} at most within a mix"),
        holds: worst < 1.5,
    })
}

/// Points with depths from 2 on, as Fig 23 has them.
fn by_depth(report: &HostFtlReport, kind: LoadKind, reads: u8) -> Vec<&LoadPoint> {
    report.of(kind, reads, 4).filter(|point| point.depth >= 2).collect()
}

/// H37: reads alone grow with the depth up to its end.
fn growing_reads(report: &HostFtlReport) -> Option<Claim> {
    let reads: Vec<f64> = by_depth(report, LoadKind::Prepared, 100).into_iter().map(iops).collect();
    let (first, last) = (reads.first()?, reads.last()?);
    let before = reads.get(reads.len().checked_sub(2)?)?;
    Some(Claim {
        id: "H37",
        says: "Fig 23: IOPS of reads alone keep growing with the depth".to_owned(),
        ours: format!("{first:.0} with 2 of each thread, {before:.0} and {last:.0} with the most two"),
        holds: reads.is_sorted_by(|a, b| a < b),
    })
}

/// H37: with writes among them, a greater depth gains less and less: the last step gains less than a tenth.
fn flat_mixes(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let gain = |&reads: &u8| {
        let points = by_depth(report, LoadKind::Depths, reads);
        let [.., before, last] = points[..] else { return None };
        Some(iops(last) / iops(before))
    };
    let mixes = plan.random.reads_percent.iter().filter(|&&reads| reads < 100);
    let most = mixes.filter_map(gain).reduce(f64::max)?;
    Some(Claim {
        id: "H37",
        says: "Fig 23: with writes among them, IOPS gain little by a greater depth".to_owned(),
        ours: format!("the last step of the depth brings {:+.1} % at most", (most - 1.0) * 100.0),
        holds: most < SAME,
    })
}

/// H38: writes of 4 KiB don't depend on how many are in flight, from 8 to 128.
fn flat_writes(report: &HostFtlReport) -> Option<Claim> {
    let of = |kind| {
        let writes = report.of(kind, 0, 4).filter(|point| (8..=128).contains(&point.in_flight()));
        least_and_most(writes.map(iops))
    };
    let ((least, most), steady) = (of(LoadKind::PreparedAtOnce)?, of(LoadKind::Depths)?);
    Some(Claim {
        id: "H38",
        says: "Fig 24: IOPS of writes don't depend on the number in flight, from 8 to 128".to_owned(),
        ours: format!(
            "{least:.0} to {most:.0} sent at once before collection, {:.0} to {:.0} gathered and steady",
            steady.0, steady.1
        ),
        holds: most < SAME * least,
    })
}

/// H39: few reads in flight stay below 100,000 a second.
fn slow_at_few(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let four = report.of(LoadKind::Prepared, 100, 4).find(|point| point.in_flight() == 4).map(iops)?;
    let bound = plan.paper.fig_25_low_iops;
    Some(Claim {
        id: "H39",
        says: format!("Fig 25: with few in flight, reads stay below {bound:.0} IOPS"),
        ours: format!("{four:.0} with 4"),
        holds: four < bound,
    })
}

/// H40: sequential writes in large blocks don't depend on the depth.
fn sequential_writes(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let large: Vec<u32> = plan.sequential.blocks_kib.iter().copied().filter(|&kib| kib >= 128).collect();
    let spread = |&kib: &u32| {
        let (least, most) = least_and_most(report.of(LoadKind::Sequential, 0, kib).map(mb_per_s))?;
        Some((most / least, least, most))
    };
    let (worst, least, most) =
        large.iter().filter_map(spread).reduce(|a, b| if a.0 > b.0 { a } else { b })?;
    Some(Claim {
        id: "H40",
        says: "Fig 26: sequential writes of large blocks depend little on the depth".to_owned(),
        ours: format!("{least:.0} to {most:.0} MB/s of the size that differs most"),
        holds: worst < 1.25,
    })
}

/// H40, H44, G27: large sequential reads use the whole path, which at the printed clock is narrower than what
/// the paper prints.
fn bounded_reads(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let largest = *plan.sequential.blocks_kib.last()?;
    let most = report.of(LoadKind::Sequential, 100, largest).map(mb_per_s).reduce(f64::max)?;
    let bound = plan.paper.path_mb_per_s;
    Some(Claim {
        id: "H40",
        says: "Fig 27: large sequential reads use the full bandwidth".to_owned(),
        ours: format!(
            "{most:.0} MB/s, {:.1} % of the {bound:.0} that the path carries at the printed clock",
            100.0 * most / bound
        ),
        holds: most > 0.95 * bound,
    })
}

/// H40: reads below 8 KiB with a depth below 32 lose most.
fn small_reads(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let of = |kib, deep: bool| {
        let points = report.of(LoadKind::Sequential, 100, kib).filter(move |p| (p.depth >= 32) == deep);
        points.map(mb_per_s).reduce(if deep { f64::max } else { f64::min })
    };
    let largest = *plan.sequential.blocks_kib.last()?;
    let (small, large, deep) = (of(4, false)?, of(largest, false)?, of(4, true)?);
    Some(Claim {
        id: "H40",
        says: "Fig 27: reads below 8 KiB with a depth below 32 drop most".to_owned(),
        ours: format!(
            "4 KiB: {small:.0} MB/s with the least depth, {deep:.0} with the most; {largest} KiB: \
             {large:.0} with the least"
        ),
        holds: small < deep && small < large,
    })
}

/// H42: four channels together take fewer cycles for each command than one, which we take for a gain of 40 to
/// 80 %.
fn four_channels(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let most = report.commands.iter().map(|point| point.channels).max().filter(|&channels| channels > 1)?;
    let gain = |one: &CommandPoint| {
        let mut all = report.commands.iter();
        let many = all.find(|many| (many.name, many.channels) == (one.name, most))?;
        Some((one.name, 100.0 * (1.0 - many.cycles / one.cycles)))
    };
    let gains: Vec<(&str, f64)> =
        report.commands.iter().filter(|point| point.channels == 1).filter_map(gain).collect();
    let (least, _) = least_and_most(gains.iter().map(|(_, gain)| *gain))?;
    let paper = plan.paper.fig_29_percent;
    let named: Vec<String> = gains.iter().map(|(name, gain)| format!("{name} {gain:.0}")).collect();
    Some(Claim {
        id: "H42",
        says: format!("Fig 29: commands are about {paper:.0} % better with {most} channels than with one"),
        ours: format!("{} %", named.join(", ")),
        holds: least > paper - 20.0 && gains.iter().all(|(_, gain)| *gain < paper + 20.0),
    })
}

/// H31: a copy-back is better than a read and a write, and a copy to another die lies between. We take half
/// to one and a half of the percents for the same.
fn better_copies(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let (back, die, host) =
        (report.alone(COPY_BACK)?, report.alone(COPY_TO_DIE)?, report.alone(COPY_BY_HOST)?);
    let (gain, paper) = (100.0 * (1.0 - back / host), plan.paper.copy_back_percent);
    Some(Claim {
        id: "H31",
        says: format!("a copy-back is {paper:.0} % better than a read and a write, one to a die between"),
        ours: format!("{gain:.0} %: {back:.0} µs beside {host:.0}, {die:.0} to a die"),
        holds: back < die && die < host && (0.5 * paper..1.5 * paper).contains(&gain),
    })
}

/// H42: on one channel, composite pages take not much longer than single ones, which we take for twice as
/// long.
fn composite_commands(report: &HostFtlReport) -> Option<Claim> {
    let of = |name| {
        let mut all = report.commands.iter();
        all.find(|point| (point.name, point.channels) == (name, 1)).map(|point| point.cycles)
    };
    let (read, write) = (of("PCP read")? / of("4K read")?, of("PCP write")? / of("page write")?);
    Some(Claim {
        id: "H42",
        says: "Fig 29: on one channel, PCP commands are not much slower than 4K ones".to_owned(),
        ours: format!("reads {read:.2} and writes {write:.2} times as long"),
        holds: read < 2.0 && write < 2.0,
    })
}

/// H43: latencies are steady after ten rounds at the latest.
fn steady_latencies(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let rounds = report.latency.rounds.len();
    let ours = match report.latency.steady_from {
        Some(from) => format!("steady in rounds {from} to {rounds}"),
        None => format!("not steady after {rounds} rounds"),
    };
    let most = plan.paper.fig_30_rounds;
    Some(Claim {
        id: "H43",
        says: format!("Fig 30: latencies are steady after {most} rounds"),
        ours,
        holds: report.latency.steady_from.is_some_and(|from| from <= most),
    })
}

fn rswl(report: &HostFtlReport) -> Option<WearPair> {
    WearPair::of(&report.wear, WearKind::HostFtlLevelled)
}

/// H26: levelling costs few erases.
fn few_extra_erases(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let extra = rswl(report)?.extra_percent();
    let most = plan.paper.wear_extra_percent;
    Some(Claim {
        id: "H26",
        says: format!("Wear: RSWL adds no more than {most:.0} % of erases"),
        ours: format!("{extra:+.2} % after the same writes, before a block goes bad"),
        holds: extra <= most,
    })
}

/// H26, to the drive's end: a group is erased once for each time that it is emptied. Drives with and without
/// levelling can't be compared once one of them has bad blocks, since it has less room then.
fn few_erases_for_wear(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let life = report.wear.iter().find(|life| life.kind == WearKind::HostFtlLevelled)?;
    let (share, most) = (life.levelled_percent(), plan.paper.wear_extra_percent);
    Some(Claim {
        id: "H26",
        says: format!("Wear: over a life, erases for RSWL are {most:.0} % of the others at most"),
        ours: format!("{share:.2} %, {} of {} groups", life.levelled, life.emptied),
        holds: share <= most,
    })
}

/// H26: the deviation is what levelling is for. We take less than half for an effect.
fn even_erases(report: &HostFtlReport) -> Option<Claim> {
    let pair = rswl(report)?;
    Some(Claim {
        id: "H26",
        says: "Wear: RSWL lowers the standard deviation of erases".to_owned(),
        ours: format!("{:.1} instead of {:.1}", pair.with.deviation, pair.without.deviation),
        holds: pair.with.deviation < 0.5 * pair.without.deviation,
    })
}

/// H27: blocks differ by the window at most.
fn erases_within_the_window(report: &HostFtlReport, plan: &Plan) -> Option<Claim> {
    let life = report.wear.iter().find(|life| life.kind == WearKind::HostFtlLevelled)?;
    let (widest, window) = (widest(life), plan.wear.window);
    Some(Claim {
        id: "H27",
        says: "Wear: with RSWL, erases of two blocks differ by T at most at the same moment".to_owned(),
        ours: format!("by {widest} at most before a block goes bad, with a T of {window}"),
        holds: widest <= window,
    })
}

/// H26: a drive can be written more in its life. We take a tenth more for an effect.
fn longer_lives(report: &HostFtlReport) -> Option<Claim> {
    let [without, with] = rswl(report)?.ends;
    Some(Claim {
        id: "H26",
        says: "Wear: RSWL increases the total amount of written data".to_owned(),
        ours: format!("{with:.0} drive writes instead of {without:.0}"),
        holds: with > SAME * without,
    })
}
