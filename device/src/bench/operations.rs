//! Flash operations that no request of I3 asks for, each LUN by itself: caches, planes, SLC, one shot,
//! copyback, suspend, retry, gangs. They are software: on a controller that is hardware there is no such
//! thing.

use super::station::{Station, Turns};
use super::work::READ_BLOCKS;
use super::{Bench, BenchError, Kind, Sample, Work};
use aster_flash::Lun;
use aster_ports::flash::MAX_TARGETS;
use aster_units::{BlockAddr, CellMode, Instant, LunIndex, Rng, SectorRange};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// An operation of `aster_flash::operations` as a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlashOperation {
    /// READ CACHE SEQUENTIAL of as many pages as the LUN has buffers.
    ReadCache,
    /// The same by READ CACHE RANDOM, which names each row.
    ReadCacheRandom,
    /// Multi-plane READ of a page in each plane.
    ReadPlanes,
    /// READ of a block used as SLC.
    ReadSlc,
    /// READ through the level table until the page is correct.
    ReadRetry,
    /// READ of replicas behind two chip enables by one command (RAIL).
    ReadGang,
    /// PAGE CACHE PROGRAM of as many pages as the LUN has buffers.
    ProgramCache,
    /// Multi-plane PROGRAM of a page in each plane.
    ProgramPlanes,
    /// Both pages of an MLC word line.
    ProgramPair,
    /// The three pages of a TLC word line at once.
    ProgramOneShot,
    /// PROGRAM in a block used as SLC.
    ProgramSlc,
    /// PROGRAM of replicas behind two chip enables, whose data crosses the bus once.
    ProgramGang,
    /// PROGRAM that is suspended halfway for a READ.
    ProgramSuspend,
    /// Multi-plane ERASE of a block in each plane.
    ErasePlanes,
    /// ERASE of a block that will be used as SLC.
    EraseSlc,
    /// ERASE that is suspended halfway for a READ.
    EraseSuspend,
    /// COPYBACK within a plane, without the bus.
    Copyback,
    /// COPYBACK by way of a buffer: corrected and encoded anew.
    CopybackChanged,
}

use FlashOperation as Op;

/// LUNs of a gang.
pub(super) const GANG: usize = 2;

impl FlashOperation {
    /// What reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Op::ReadCache => "read-cache",
            Op::ReadCacheRandom => "read-cache-random",
            Op::ReadPlanes => "read-planes",
            Op::ReadSlc => "read-slc",
            Op::ReadRetry => "read-retry",
            Op::ReadGang => "read-gang",
            Op::ProgramCache => "program-cache",
            Op::ProgramPlanes => "program-planes",
            Op::ProgramPair => "program-pair",
            Op::ProgramOneShot => "program-one-shot",
            Op::ProgramSlc => "program-slc",
            Op::ProgramGang => "program-gang",
            Op::ProgramSuspend => "program-suspend",
            Op::ErasePlanes => "erase-planes",
            Op::EraseSlc => "erase-slc",
            Op::EraseSuspend => "erase-suspend",
            Op::Copyback => "copyback",
            Op::CopybackChanged => "copyback-changed",
        }
    }

    /// What its samples count once an operation: those of this kind.
    pub const fn kind(self) -> Kind {
        match self {
            Op::ReadCache
            | Op::ReadCacheRandom
            | Op::ReadPlanes
            | Op::ReadSlc
            | Op::ReadRetry
            | Op::ReadGang => Kind::Read,
            Op::ErasePlanes | Op::EraseSlc | Op::EraseSuspend => Kind::Erase,
            _ => Kind::Program,
        }
    }

    pub(super) const fn uses_slc(self) -> bool {
        matches!(self, Op::ReadSlc | Op::ProgramSlc | Op::EraseSlc)
    }
    pub(super) const fn uses_planes(self) -> bool {
        matches!(self, Op::ReadPlanes | Op::ProgramPlanes | Op::ErasePlanes)
    }
    /// LUNs that one operation takes.
    pub(super) const fn luns(self) -> usize {
        if matches!(self, Op::ReadGang | Op::ProgramGang) { GANG } else { 1 }
    }
    /// Pages of one operation, on LUNs of `planes` planes that have so many buffers each.
    pub(super) fn pages(self, planes: u8, buffers: u32) -> u32 {
        match self {
            Op::ReadCache | Op::ReadCacheRandom | Op::ProgramCache => buffers,
            Op::ReadPlanes | Op::ProgramPlanes | Op::ErasePlanes => u32::from(planes),
            Op::ProgramPair => 2,
            Op::ProgramOneShot => 3,
            _ => 1,
        }
    }
    /// True when pages are read that have to be there.
    pub(super) const fn reads(self) -> bool {
        !matches!(self, Op::ErasePlanes | Op::EraseSlc)
            && (matches!(self.kind(), Kind::Read)
                || matches!(self, Op::ProgramSuspend | Op::EraseSuspend | Op::Copyback | Op::CopybackChanged))
    }
}

impl Bench {
    /// A station for each LUN or gang.
    pub(super) fn stations(&self, operation: Op, work: &Work) -> Result<Vec<Station>, BenchError> {
        self.check(operation)?;
        let (g, luns) = (self.geometry, self.geometry.total_luns() as usize);
        let stations = luns / operation.luns();
        let buffers = u32::from(self.depth) / stations as u32;
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
        let bits = u16::from(self.channels.flash.shape.cells.bits());
        let pages = g.pages_per_block / if operation.uses_slc() { bits } else { 1 };
        if u32::from(pages) < operation.pages(1, 1) {
            return Err(refused(operation, &format!("a block has {pages} pages only")));
        }
        let whole = g.sectors_per_page();
        let sectors = SectorRange::whole(work.sectors.unwrap_or(whole).clamp(1, whole));
        (0..stations)
            .map(|at| {
                let slots: Vec<_> = (0..operation.luns()).map(|i| at * operation.luns() + i).collect();
                let sets = self.sets(operation, &slots)?;
                let (ways, flash) = (usize::from(g.ways), &self.channels.flash);
                let lun = |slot: &usize| {
                    Lun::new(&self.core, &self.channels.ports[0], flash, slot % ways, slot / ways)
                        .reporting_to(&self.recorder)
                };
                Ok(Station {
                    operation,
                    pattern: work.pattern,
                    sectors,
                    luns: slots.iter().map(lun).collect(),
                    index: LunIndex(slots[0] as u32),
                    behind: (slots[0] / ways) as u8,
                    geometry: g,
                    dram: self.dram.clone(),
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
    fn check(&self, operation: Op) -> Result<(), BenchError> {
        if !self.channels.fixed.is_empty() {
            return Err(refused(operation, "is software: a controller in hardware doesn't have it"));
        }
        let flash = &self.channels.flash;
        let commands = &flash.variant.commands;
        let (has, lacks) = match operation {
            Op::ReadCache | Op::ReadCacheRandom => {
                (commands.read_cache, "\"read-cache\" in package.commands")
            }
            Op::ProgramCache => (commands.program_cache, "\"program-cache\" in package.commands"),
            Op::ReadPlanes | Op::ProgramPlanes | Op::ErasePlanes => {
                let several = (2..=MAX_TARGETS).contains(&usize::from(self.geometry.planes));
                (
                    commands.multi_plane && several,
                    "\"multi-plane\" in package.commands, and two to four planes",
                )
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
        // Replicas are read, and levels set, by chip enable.
        let alone = matches!(operation, Op::ReadGang | Op::ProgramGang | Op::ReadRetry);
        if alone && self.geometry.luns > 1 {
            return Err(refused(operation, "needs packages with one LUN behind a chip enable"));
        }
        if !(self.geometry.total_luns() as usize).is_multiple_of(operation.luns()) {
            return Err(refused(operation, "takes LUNs by twos: their number must be even"));
        }
        Ok(())
    }

    /// Good blocks of all `slots`, as the operation takes them.
    fn sets(&self, operation: Op, slots: &[usize]) -> Result<Vec<Vec<BlockAddr>>, BenchError> {
        let g = self.geometry;
        let mut bad: Vec<BlockAddr> = Vec::new();
        for &slot in slots {
            bad.extend(self.inspect.bad_blocks(LunIndex(slot as u32)).into_iter().map(|(block, _)| block));
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

    /// Programs what the stations will read.
    pub(super) fn fill_stations(
        &self,
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
        self.work(stations, Rc::new(turns), true, &mut |_| {
            done += 1;
            progress(f64::from(done) / total as f64)
        })
    }

    /// Has the stations work, to fill their sets or to take turns, and calls `each` for what they have done.
    pub(super) fn work(
        &self,
        stations: Vec<Station>,
        turns: Rc<Turns>,
        fill: bool,
        each: &mut dyn FnMut(&Sample) -> bool,
    ) -> Vec<Station> {
        let ended = Rc::new(RefCell::new(Vec::with_capacity(stations.len())));
        for mut station in stations {
            let (turns, ended) = (Rc::clone(&turns), Rc::clone(&ended));
            self.core.spawn(async move {
                if fill {
                    station.fill(&turns).await;
                } else {
                    station.run(&turns).await;
                }
                ended.borrow_mut().push(station);
            });
        }
        self.rest(&turns.samples, &turns.stop, each);
        ended.take()
    }
}

fn refused(operation: FlashOperation, why: &str) -> BenchError {
    BenchError::Work(format!("operation {}: {why}", operation.name()))
}
