//! The stations of a bench, one for each LUN or gang, and their work.

use crate::bench::Bench;
use crate::content::READ_BLOCKS;
use crate::error::BenchError;
use crate::operation::{FlashOperation, FlashOperation as Op};
use crate::sample::Sample;
use crate::station::{Station, Turns};
use crate::work::BenchWork;
use aster_ports::flash::MAX_TARGETS;
use aster_units::{BlockAddr, CellMode, Instant, LunIndex, Rng, SectorRange};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A station for each LUN or gang.
pub(crate) fn of(bench: &Bench, operation: Op, work: &BenchWork) -> Result<Vec<Station>, BenchError> {
    check(bench, operation)?;
    let (g, luns) = (*bench.geometry(), bench.geometry().total_luns() as usize);
    let stations = luns / operation.luns();
    let buffers = u32::from(bench.depth()) / stations as u32;
    let least = match operation {
        Op::ReadCache | Op::ReadCacheRandom | Op::ProgramCache => 2,
        other => other.pages(g.planes, buffers),
    };
    if buffers < least {
        return Err(refused(
            operation,
            &format!("needs {} page buffers, in flight: {least} a LUN", least as usize * stations),
        ));
    }
    let bits = u16::from(bench.channel().flash().shape.cells.bits());
    let pages = g.pages_per_block / if operation.uses_slc() { bits } else { 1 };
    if u32::from(pages) < operation.pages(1, 1) {
        return Err(refused(operation, &format!("a block has {pages} pages only")));
    }
    let whole = g.sectors_per_page();
    let sectors = SectorRange::whole(work.sectors.unwrap_or(whole).clamp(1, whole));
    (0..stations)
        .map(|at| {
            let slots: Vec<_> = (0..operation.luns()).map(|i| at * operation.luns() + i).collect();
            let sets = sets(bench, operation, &slots)?;
            let lun = |slot: &usize| bench.channel().lun(*slot);
            Ok(Station {
                operation,
                pattern: work.pattern,
                sectors,
                luns: slots.iter().map(lun).collect(),
                index: LunIndex(slots[0] as u32),
                behind: (slots[0] / usize::from(g.ways)) as u8,
                geometry: g,
                dram: bench.channel().dram().clone(),
                first_buffer: at as u32 * buffers,
                buffers,
                pages,
                generations: vec![0; sets.len()],
                sets,
                next_read: 0,
                open: if operation.reads() { READ_BLOCKS } else { 0 },
                page: 0,
                rng: Rng::new(work.seed ^ (at as u64) << 32),
            })
        })
        .collect()
}

/// Whether controller, packages and LUNs allow the operation.
fn check(bench: &Bench, operation: Op) -> Result<(), BenchError> {
    if bench.channel().is_fixed() {
        return Err(refused(operation, "is software: a controller in hardware doesn't have it"));
    }
    let flash = bench.channel().flash();
    let commands = &flash.variant.commands;
    let (has, lacks) = match operation {
        Op::ReadCache | Op::ReadCacheRandom => (commands.read_cache, "\"read-cache\" in package.commands"),
        Op::ProgramCache => (commands.program_cache, "\"program-cache\" in package.commands"),
        Op::ReadPlanes | Op::ProgramPlanes | Op::ErasePlanes => {
            let several = (2..=MAX_TARGETS).contains(&usize::from(bench.geometry().planes));
            (commands.multi_plane && several, "\"multi-plane\" in package.commands, and two to four planes")
        }
        Op::ReadSlc | Op::ProgramSlc | Op::EraseSlc => (commands.pseudo_slc.is_some(), "[package.slc]"),
        Op::ReadRetry => (commands.read_retry.is_some(), "[package.retry]"),
        Op::ProgramPair => (flash.shape.cells == CellMode::Mlc, "MLC cells"),
        Op::ProgramOneShot => (commands.one_shot.is_some(), "[package.one_shot]"),
        Op::ProgramSuspend | Op::EraseSuspend => (commands.suspend.is_some(), "[package.suspend]"),
        Op::Copyback | Op::CopybackChanged => (commands.copyback, "\"copyback\" in package.commands"),
        Op::ReadGang | Op::ProgramGang => (true, ""),
    };
    if !has {
        return Err(refused(operation, &format!("the package lacks {lacks}")));
    }
    // Replicas are read, and read levels are set, per chip enable.
    let alone = matches!(operation, Op::ReadGang | Op::ProgramGang | Op::ReadRetry);
    if alone && bench.geometry().luns > 1 {
        return Err(refused(operation, "needs packages with one LUN behind a chip enable"));
    }
    if !(bench.geometry().total_luns() as usize).is_multiple_of(operation.luns()) {
        return Err(refused(operation, "takes LUNs by twos: their number must be even"));
    }
    Ok(())
}

/// Good blocks of all `slots`, as the operation takes them.
fn sets(bench: &Bench, operation: Op, slots: &[usize]) -> Result<Vec<Vec<BlockAddr>>, BenchError> {
    let g = *bench.geometry();
    let mut bad: Vec<BlockAddr> = Vec::new();
    for &slot in slots {
        bad.extend(bench.nand().bad_blocks(LunIndex(slot as u32)).into_iter().map(|(block, _)| block));
    }
    let good = || (0..g.blocks_per_lun).map(BlockAddr).filter(|block| !bad.contains(block));
    let sets: Vec<Vec<_>> = match operation {
        _ if operation.uses_planes() => {
            let of_plane = |plane| good().filter(move |&block| g.plane(block) == plane);
            let mut planes: Vec<_> = (0..g.planes).map(of_plane).collect();
            std::iter::from_fn(|| planes.iter_mut().map(Iterator::next).collect()).collect()
        }
        // A copy stays in its plane.
        Op::Copyback | Op::CopybackChanged => {
            good().filter(|&block| g.plane(block) == 0).map(|block| vec![block]).collect()
        }
        _ => good().map(|block| vec![block]).collect(),
    };
    if sets.len() <= READ_BLOCKS {
        return Err(refused(
            operation,
            &format!("LUN {} has too few good blocks: {} are needed", slots[0], READ_BLOCKS + 1),
        ));
    }
    Ok(sets)
}

/// Programs the pages that the stations will read.
pub(crate) fn fill(
    bench: &Bench,
    stations: Vec<Station>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Vec<Station> {
    let total: usize = stations
        .iter()
        .filter(|station| station.operation.reads())
        .map(|station| READ_BLOCKS * usize::from(station.pages))
        .sum();
    let turns = Turns {
        left: Cell::new(0),
        until: Instant::MAX,
        stop: Cell::new(false),
        samples: RefCell::default(),
    };
    let mut done = 0;
    work(bench, stations, Rc::new(turns), true, &mut |_| {
        done += 1;
        progress(f64::from(done) / total as f64)
    })
}

/// Runs the stations, to fill their sets or to take turns, and calls `each` for their samples.
pub(crate) fn work(
    bench: &Bench,
    stations: Vec<Station>,
    turns: Rc<Turns>,
    fill: bool,
    each: &mut dyn FnMut(&Sample) -> bool,
) -> Vec<Station> {
    let ended = Rc::new(RefCell::new(Vec::with_capacity(stations.len())));
    for mut station in stations {
        let (turns, ended) = (Rc::clone(&turns), Rc::clone(&ended));
        bench.channel().core().spawn(async move {
            if fill {
                station.fill(&turns).await;
            } else {
                station.run(&turns).await;
            }
            ended.borrow_mut().push(station);
        });
    }
    bench.rest(&turns.samples, &turns.stop, each);
    ended.take()
}
fn refused(operation: FlashOperation, why: &str) -> BenchError {
    BenchError::Work(format!("operation {}: {why}", operation.name()))
}
