//! What the paper and the slides say in words, each held against our points. What doesn't hold is printed as
//! such.

use super::OcssdReport;
use super::load::LoadReport;
use super::plan::{Ftl, Plan};
use super::slides::{ALL_ARRAY, ALL_DATA, ALL_LUNS, SlidesRow, Workload};
use super::sweep::{STEPS, SweepPoint};
use crate::experiment::Claim;

/// All statements that `report` can be held against.
pub fn claims(report: &OcssdReport, plan: &Plan) -> Vec<Claim> {
    let sweep = [flat_writes(report), slower(report), buffered(report), moves_right(report)];
    let load = [outstanding(report), write_ways(report), read_ways(report), convoy(report), rule(report)];
    let slides = [
        command_size(report),
        erase_follows(report),
        erase_counts(report),
        expected_erases(report),
        erases_of_slides(report, plan),
        erase_order(report, plan),
        cached_erases(report, plan),
        few_erases(report),
        slow_reads(report),
    ];
    let mut all: Vec<Claim> = sweep.into_iter().flatten().collect();
    all.extend(drive_latencies(report));
    all.extend(list_fetch(report, plan));
    all.extend(load.into_iter().flatten());
    all.extend(slides.into_iter().flatten());
    all
}

fn points(report: &OcssdReport, ftl: Ftl, write: bool) -> Vec<&SweepPoint> {
    report.sweep.iter().filter(|point| point.ftl == ftl && point.write == write).collect()
}
fn of_load(report: &OcssdReport, ftl: Ftl, write: bool, rule: bool) -> Option<&LoadReport> {
    let mut all = report.load.iter().filter(|load| !load.slow_lun);
    all.find(|load| load.ftl == ftl && load.write == write && load.one_write_per_lun == rule)
}
/// pblk's writes to a drive with a slow LUN.
fn with_slow_lun(report: &OcssdReport, rule: bool) -> Option<&LoadReport> {
    report.load.iter().find(|load| load.slow_lun && load.one_write_per_lun == rule)
}
/// A row without a page cache.
fn of_slides(report: &OcssdReport, workload: Workload, ftl: Ftl) -> Option<&SlidesRow> {
    report.slides.iter().find(|row| row.workload == workload && row.ftl == ftl && !row.cached)
}
/// Sequential writes.
fn of_writes(report: &OcssdReport, ftl: Ftl, cached: bool) -> Option<&SlidesRow> {
    let of =
        |row: &&SlidesRow| (row.workload, row.ftl, row.cached) == (Workload::SequentialWrite, ftl, cached);
    report.slides.iter().find(of)
}
fn least_and_most(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    Some((values.clone().reduce(f64::min)?, values.reduce(f64::max)?))
}
fn quantile(curve: &[f64], percent: u32) -> f64 {
    curve.get((percent * STEPS / 100) as usize).copied().unwrap_or(0.0)
}

/// What we take for the same: a tenth.
const SAME: f64 = 1.1;
/// How much longer writes take at the host with the most outstanding at least, of 35 times measured.
const MOVED: f64 = 10.0;
/// The share of the time that counts as significant, of 0.38 measured.
const SIGNIFICANT: f64 = 0.25;
/// While one LUN is slow, at most this part of the LUNs work that would without pblk's rule.
const BEHIND: f64 = 0.25;
/// What taking the rule away gains at least with such a LUN, of 14 % measured, and without, of 8 %.
const CURED: f64 = 1.07;
const RULE: f64 = 1.04;
/// How far from the paper's the wait for a list may be.
const WAIT_WITHIN: f64 = 0.2;
/// How much longer a sequential read takes under pblk at least, of 1.7 times measured.
const SLOW_READ: f64 = 1.3;
/// How far from the model erases may be (G16).
const ERASES_WITHIN: f64 = 0.02;
/// Blocks that pblk erases at once.
pub(super) const PLANES: f64 = 2.0;
/// Blocks of a LUN that pblk has erased and not written: those of the open line at most, and of the next.
const KEPT_BY_PBLK: f64 = 2.0 * PLANES;
/// pblk erases 62,500 blocks of 10⁶ requests where the board's FTL erases 29,732; and the more, the shorter
/// the run.
const ORDER: f64 = 1.5;

/// C87: pblk's writes don't depend on the number outstanding.
fn flat_writes(report: &OcssdReport) -> Option<Claim> {
    let writes = points(report, Ftl::Pblk, true);
    let (least, most) = least_and_most(writes.iter().map(|point| point.mb_per_s))?;
    Some(Claim {
        id: "C87",
        says: "under pblk, write throughput is steady whatever the number of outstanding I/Os".to_owned(),
        ours: format!("{least:.0} to {most:.0} MB/s"),
        holds: most < SAME * least,
    })
}

/// C87: but for writes with few outstanding, pblk is slower than the board's own FTL.
fn slower(report: &OcssdReport) -> Option<Claim> {
    let factors = |write: bool| -> Vec<(u32, f64)> {
        let pairs = points(report, Ftl::Pblk, write).into_iter().zip(points(report, Ftl::Drive, write));
        pairs.map(|(pblk, legacy)| (pblk.outstanding, pblk.mb_per_s / legacy.mb_per_s)).collect()
    };
    let (writes, reads) = (factors(true), factors(false));
    let (first, last) = (writes.first()?, writes.last()?);
    let (low, high) = least_and_most(reads.iter().map(|(_, factor)| *factor))?;
    Some(Claim {
        id: "C87",
        says: "except for writes with few outstanding I/Os, pblk is slower than the legacy drive".to_owned(),
        ours: format!(
            "pblk over legacy: writes {:.2} with {} outstanding and {:.2} with {}, reads {low:.2} to \
             {high:.2}",
            first.1, first.0, last.1, last.0
        ),
        holds: first.1 > 1.0 && last.1 < 1.0 && high < 1.0,
    })
}

/// C88: many writes end at the host before a program could.
fn buffered(report: &OcssdReport) -> Option<Claim> {
    let writes = points(report, Ftl::Pblk, true);
    let (few, many) = (writes.first()?, writes.last()?);
    Some(Claim {
        id: "C88",
        says: "many writes end at the host before a flash operation could".to_owned(),
        ours: format!(
            "{:.0} % with {} outstanding, {:.0} % with {}",
            few.below_program * 100.0,
            few.outstanding,
            many.below_program * 100.0,
            many.outstanding
        ),
        holds: few.below_program > 0.5,
    })
}

/// C88: the host's latencies grow with the number outstanding.
fn moves_right(report: &OcssdReport) -> Option<Claim> {
    let writes = points(report, Ftl::Pblk, true);
    let means: Vec<f64> =
        writes.iter().map(|point| point.host_us.iter().sum::<f64>() / f64::from(STEPS + 1)).collect();
    Some(Claim {
        id: "C88",
        says: "the more outstanding, the longer the latencies that the host sees of writes".to_owned(),
        ours: format!("mean {:.0} to {:.0} µs", means.first()?, means.last()?),
        holds: means.is_sorted_by(|a, b| a < b) && means.last()? > &(MOVED * means.first()?),
    })
}

/// C88: those that the drive sees don't: neither the short ones, nor the long ones.
fn drive_latencies(report: &OcssdReport) -> Option<Claim> {
    let writes = points(report, Ftl::Pblk, true);
    let mut ours = Vec::new();
    let mut holds = true;
    for (name, percent) in [("p10", 10), ("median", 50), ("p90", 90)] {
        let (least, most) = least_and_most(writes.iter().map(|point| quantile(&point.drive_us, percent)))?;
        ours.push(format!("{name} {least:.0} to {most:.0} µs"));
        holds &= most < SAME * least;
    }
    Some(Claim {
        id: "C88",
        says:
            "the distribution of the drive's own latencies of writes doesn't depend on the outstanding I/Os"
                .to_owned(),
        ours: ours.join(", "),
        holds,
    })
}

/// C86: for how long the manager waits for a command's addresses.
fn list_fetch(report: &OcssdReport, plan: &Plan) -> Option<Claim> {
    let point = *points(report, Ftl::Pblk, false).first()?;
    let (fetch, wait) = (point.list_fetch_us?, point.list_wait_us?);
    let paper = plan.paper.list_fetch_us;
    Some(Claim {
        id: "C86",
        says: format!("the manager waits for {paper:.1} µs on average for a command's addresses"),
        ours: format!("{wait:.2} µs, {:+.0} %, {fetch:.2} µs of them the DMA", 100.0 * (wait / paper - 1.0)),
        holds: (wait / paper - 1.0).abs() <= WAIT_WITHIN,
    })
}

/// C89: fewer than 64 commands are outstanding for much of the time, and writes are worse.
fn outstanding(report: &OcssdReport) -> Option<Claim> {
    let write = of_load(report, Ftl::Pblk, true, true)?;
    let read = of_load(report, Ftl::Pblk, false, true)?;
    Some(Claim {
        id: "C89",
        says: "fewer than 64 commands are outstanding for a significant time, more so with writes".to_owned(),
        ours: format!(
            "mean {:.1} with writes and {:.1} with reads, below 61 for {:.0} and {:.0} % of the time",
            write.outstanding.mean,
            read.outstanding.mean,
            write.below_full * 100.0,
            read.below_full * 100.0
        ),
        holds: write.below_full > read.below_full + SIGNIFICANT
            && write.outstanding.mean < read.outstanding.mean,
    })
}

/// C89: so writes don't keep all channels and ways active.
fn write_ways(report: &OcssdReport) -> Option<Claim> {
    let load = of_load(report, Ftl::Pblk, true, true)?;
    Some(Claim {
        id: "C89",
        says: "writes don't keep all eight channels and ways active".to_owned(),
        ours: format!("mean {:.1} channels and {:.1} ways of each", load.channels.mean, load.ways.mean),
        holds: load.channels.mean < 7.0 && load.ways.mean < 7.0,
    })
}

/// C89: two commands read of each way, so that reads keep half of the ways active.
fn read_ways(report: &OcssdReport) -> Option<Claim> {
    let load = of_load(report, Ftl::Pblk, false, true)?;
    let most = load.ways.samples.iter().copied().fold(0.0, f64::max);
    Some(Claim {
        id: "C89",
        says:
            "reads keep four of the eight ways of a channel active at most, since two commands read of each"
                .to_owned(),
        ours: format!("mean {:.1}, at most {most:.2}", load.ways.mean),
        // Commands outstanding are always 64. A sample's mean may be above by what two commands of a way end
        // apart.
        holds: most <= 4.1 && load.ways.mean > 3.0,
    })
}

/// C90: a LUN that is slow holds up all behind it.
fn convoy(report: &OcssdReport) -> Option<Claim> {
    let [with, without] = [true, false].map(|rule| with_slow_lun(report, rule));
    let (with, without) = (with?, without?);
    let (idle, cured) = (with.beside_slow?, without.beside_slow?);
    Some(Claim {
        id: "C90",
        says:
            "pblk sends in the order of LUNs and waits for one that is busy, so that the others idle behind \
               one slow LUN"
                .to_owned(),
        ours: format!(
            "{idle:.0} of 63 others work in the second half of its slow programs, and {cured:.0} without \
             that rule; {:.0} and {:.0} MB/s",
            with.mb_per_s, without.mb_per_s
        ),
        holds: idle < BEHIND * cured && without.mb_per_s > CURED * with.mb_per_s,
    })
}

/// C90: LUNs also differ in when they end, so that the rule costs something on every drive.
fn rule(report: &OcssdReport) -> Option<Claim> {
    let (with, without) = (of_load(report, Ftl::Pblk, true, true)?, of_load(report, Ftl::Pblk, true, false)?);
    Some(Claim {
        id: "C90",
        says: "so ways are idle also where all LUNs are alike but for their pages and erases".to_owned(),
        ours: format!(
            "{:.1} active ways of a channel, and {:.1} without that rule; {:.0} and {:.0} MB/s",
            with.ways.mean, without.ways.mean, with.mb_per_s, without.mb_per_s
        ),
        holds: without.ways.mean > RULE * with.ways.mean && without.mb_per_s > RULE * with.mb_per_s,
    })
}

/// O10: a page of both planes.
fn command_size(report: &OcssdReport) -> Option<Claim> {
    let row = of_slides(report, Workload::SequentialWrite, Ftl::Pblk)?;
    let all: u64 = row.sizes.iter().map(|size| size.commands).sum();
    let of_unit = row.sizes.iter().find(|size| size.bytes == 32 << 10).map_or(0, |size| size.commands);
    Some(Claim {
        id: "O10",
        says: "a write of 128 KiB becomes four commands of eight sectors, a page of both planes".to_owned(),
        ours: format!(
            "{:.2} commands per write, {:.1} % of them of 32 KiB",
            all as f64 / row.requests as f64,
            of_unit as f64 / all.max(1) as f64 * 100.0
        ),
        // Heads and tails of lines are commands of the same size, and what is in the buffer at the end isn't
        // written yet.
        holds: of_unit == all && (all as f64 / row.requests as f64 / 4.0 - 1.0).abs() < 0.05,
    })
}

/// O11: the next block of a LUN is erased after a write to it.
fn erase_follows(report: &OcssdReport) -> Option<Claim> {
    let row = of_slides(report, Workload::SequentialWrite, Ftl::Pblk)?;
    Some(Claim {
        id: "O11",
        says: "an erase of the LUN's next block follows a write".to_owned(),
        // The second plane's erase follows the first's.
        ours: format!("{:.1} % of erased pairs of blocks", row.erases_after_program * 200.0),
        holds: row.erases_after_program * 2.0 > 0.9,
    })
}

const DRIVES: [(Ftl, bool); 4] =
    [(Ftl::Drive, true), (Ftl::Drive, false), (Ftl::Pblk, true), (Ftl::Pblk, false)];

/// O12, G16: each drive's erases are what it writes beyond the array, and what it keeps.
fn erase_counts(report: &OcssdReport) -> Option<Claim> {
    let mut ours = Vec::new();
    let mut holds = true;
    for (ftl, cached) in DRIVES {
        let row = of_writes(report, ftl, cached)?;
        let parts = row.erases?;
        let of_lun = match ftl {
            Ftl::Pblk => KEPT_BY_PBLK,
            Ftl::Drive => ERASES_WITHIN * (ALL_DATA - ALL_ARRAY) / ALL_LUNS,
        };
        // And metadata, which grow with the data.
        let most = of_lun * f64::from(parts.luns) + ERASES_WITHIN * parts.data;
        let exact = (row.erased as f64 - parts.derived()).abs() < 0.5;
        holds &= exact && (0.0..=most).contains(&parts.beyond());
        ours.push(format!(
            "{} {} of {:.0}, {:.0} kept",
            row.drive(),
            row.erased,
            parts.derived(),
            parts.beyond()
        ));
    }
    Some(Claim {
        id: "O12",
        says: "sequential writes erase what is written beyond the array and what each side keeps, and no \
               block twice: metadata of 2 % at most, the rest of pblk's open line and its next one, nine \
               blocks of a LUN in legacy, which are 2 % of the model of 10⁶ requests"
            .to_owned(),
        ours: ours.join("; "),
        holds,
    })
}

/// O12, G16: erases are within 2 % of the model and of what each side keeps, told by the profiles. Each
/// LUN may have erased two blocks ahead.
fn expected_erases(report: &OcssdReport) -> Option<Claim> {
    let mut ours = Vec::new();
    let mut holds = true;
    for (ftl, cached) in DRIVES {
        let row = of_writes(report, ftl, cached)?;
        let (erased, parts) = (row.erased as f64, row.erases?);
        let within = ERASES_WITHIN * parts.expected + 2.0 * f64::from(parts.luns);
        holds &= (erased - parts.expected).abs() <= within;
        let percent = 100.0 * (erased / parts.expected - 1.0);
        ours.push(format!("{} {erased} of {:.0}, {percent:+.1} %", row.drive(), parts.expected));
    }
    Some(Claim {
        id: "O12",
        says: "sequential writes erase within 2 % of the model and what each side keeps by its \
               configuration, and two blocks of each LUN"
            .to_owned(),
        ours: ours.join("; "),
        holds,
    })
}

/// O12: all requests of the slides erase within 2 % of what they print.
fn erases_of_slides(report: &OcssdReport, plan: &Plan) -> Option<Claim> {
    let paper = &plan.paper;
    let pblk = PLANES * paper.erases_ocssd_cached;
    let of = [
        ((Ftl::Drive, true), paper.erases_legacy_cached),
        ((Ftl::Drive, false), paper.erases_legacy),
        ((Ftl::Pblk, true), pblk),
    ];
    if plan.slides.share < 1.0 {
        return None;
    }
    let mut ours = Vec::new();
    let mut holds = true;
    for ((ftl, cached), theirs) in of {
        let row = of_writes(report, ftl, cached)?;
        let error = row.erased as f64 / theirs - 1.0;
        holds &= error.abs() <= ERASES_WITHIN;
        ours.push(format!("{} {}, {:+.1} %", row.drive(), row.erased, 100.0 * error));
    }
    Some(Claim {
        id: "O12",
        says: format!(
            "sequential writes of all requests: {:.0} blocks for legacy with cache, {:.0} for legacy, and \
             {:.0} pairs for pblk with cache, by 2 %",
            paper.erases_legacy_cached, paper.erases_legacy, paper.erases_ocssd_cached
        ),
        ours: ours.join("; "),
        holds,
    })
}

/// O12, G16: the order of the slides. All are counted in blocks of one plane.
fn erase_order(report: &OcssdReport, plan: &Plan) -> Option<Claim> {
    let erased = |ftl, cached| of_writes(report, ftl, cached).map(|row| row.erased as f64);
    let (cached, direct) = (erased(Ftl::Drive, true)?, erased(Ftl::Drive, false)?);
    let (pblk, pblk_direct) = (erased(Ftl::Pblk, true)?, erased(Ftl::Pblk, false)?);
    let paper = &plan.paper;
    let of_paper = PLANES * paper.erases_ocssd_cached / paper.erases_legacy;
    Some(Claim {
        id: "O12",
        says: format!(
            "sequential writes: pblk erases more than legacy, with the host's cache or without; \
             {of_paper:.2} times as much, as it erases the array, too"
        ),
        ours: format!(
            "pblk {pblk:.0} with and {pblk_direct:.0} without, legacy {cached:.0} and {direct:.0}: {:.2} \
             times",
            pblk / direct
        ),
        holds: pblk.min(pblk_direct) > ORDER * cached.max(direct),
    })
}

/// O12: under a page cache of the host the board's FTL erases a little less.
fn cached_erases(report: &OcssdReport, plan: &Plan) -> Option<Claim> {
    let of = |cached| of_writes(report, Ftl::Drive, cached);
    let (cached, direct) = (of(true)?, of(false)?);
    let (with, without) = (cached.erases?, direct.erases?);
    let fewer = direct.erased as f64 - cached.erased as f64;
    let paper = &plan.paper;
    Some(Claim {
        id: "O12",
        says: "under the host's page cache legacy erases fewer blocks than without it, by two a LUN at most"
            .to_owned(),
        ours: format!(
            "{fewer:.0} fewer, the slides' {:.0}; {:.0} fewer are written, and {:.0} more are kept erased",
            paper.erases_legacy - paper.erases_legacy_cached,
            without.data - with.data,
            with.beyond() - without.beyond()
        ),
        holds: fewer > 0.0 && fewer <= 2.0 * f64::from(without.luns),
    })
}

/// O13: pblk gathers small writes into pages, and so erases far less.
fn few_erases(report: &OcssdReport) -> Option<Claim> {
    let pblk = of_slides(report, Workload::RandomWrite, Ftl::Pblk)?;
    let legacy = of_slides(report, Workload::RandomWrite, Ftl::Drive)?;
    Some(Claim {
        id: "O13",
        says: "random writes of 4 KiB: pblk combines them, and erases far fewer blocks".to_owned(),
        ours: format!("pblk {}, legacy {}", pblk.erased, legacy.erased),
        holds: 2 * pblk.erased < legacy.erased,
    })
}

/// O14: sequential reads take longer under pblk.
fn slow_reads(report: &OcssdReport) -> Option<Claim> {
    let pblk = of_slides(report, Workload::SequentialRead, Ftl::Pblk)?;
    let legacy = of_slides(report, Workload::SequentialRead, Ftl::Drive)?;
    Some(Claim {
        id: "O14",
        says: "sequential reads of 128 KiB have a higher average latency under pblk".to_owned(),
        ours: format!("pblk {:.0}, legacy {:.0} µs", pblk.mean_us, legacy.mean_us),
        holds: pblk.mean_us > SLOW_READ * legacy.mean_us,
    })
}
