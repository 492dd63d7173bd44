//! A seeded stream of legal operations: each LUN has a task, and the tasks contend for the channel.

use crate::bench::{BUFFERS, Bench, GEOMETRY, SECTORS};
use aster_flash::Lun;
use aster_flash::operations::{
    erase_block, gang_program, gang_read, get_features, program_page, read_id, read_page, read_raw,
    read_status, set_features,
};
use aster_ports::dram::SharedDram;
use aster_txn::{Descriptor, Direction};
use aster_units::*;
use aster_wire::onfi::command;
use aster_wire::onfi::feature::FeatureAddress;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The outcome of an operation: when it ended, its LUN, its name and its result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub at: Instant,
    pub lun: (usize, usize),
    pub operation: &'static str,
    pub answer: String,
}

/// Blocks that only the LUN's own task uses; gangs write the last one.
const OWN_BLOCKS: u32 = GEOMETRY.blocks_per_lun - 1;

/// Who uses a chip enable: target commands need all its LUNs, gangs those of all chip enables.
#[derive(Default)]
struct Way {
    users: Cell<u32>,
    alone: Cell<bool>,
}

/// What the workers share.
#[derive(Default)]
struct Shared {
    ways: [Way; GEOMETRY.ways as usize],
    /// The page that the next gang writes, by LUN.
    gang_pages: [Cell<u16>; GEOMETRY.luns as usize],
}

/// Runs `operations` per LUN and returns their outcomes, in the order in which they ended.
pub fn run(bench: &Bench, seed: u64, operations: u32) -> Vec<Outcome> {
    let outcomes = Rc::new(RefCell::new(Vec::new()));
    let mut seeds = Rng::new(seed);
    let shared = Rc::new(Shared::default());
    for way in 0..usize::from(GEOMETRY.ways) {
        for lun in 0..usize::from(GEOMETRY.luns) {
            let index = way * usize::from(GEOMETRY.luns) + lun;
            let mut worker = Worker {
                exec: bench.exec.clone(),
                lun: bench.lun(way, lun),
                gang: (0..usize::from(GEOMETRY.ways)).map(|way| bench.lun(way, lun)).collect(),
                place: (way, lun),
                shared: Rc::clone(&shared),
                dram: bench.dram.clone(),
                // Each task has its own buffers, so that none programs what another reads.
                buffers: BUFFERS / 4 * index as u32,
                rng: Rng::new(seeds.next_u64()),
                written: Vec::new(),
                block: 0,
                page: 0,
            };
            let outcomes = Rc::clone(&outcomes);
            bench.core.spawn(async move {
                for _ in 0..operations {
                    let (operation, answer) = worker.step().await;
                    let at = worker.exec.now();
                    outcomes.borrow_mut().push(Outcome { at, lun: worker.place, operation, answer });
                }
            });
        }
    }
    bench.run_until_idle();
    outcomes.take()
}

/// Choices of operations during which no other may run.
const TARGET: u64 = 11;
const GANG: u64 = 12;

struct Worker {
    exec: aster_exec::Exec,
    lun: Lun,
    /// This LUN behind every chip enable.
    gang: Vec<Lun>,
    place: (usize, usize),
    shared: Rc<Shared>,
    dram: SharedDram,
    buffers: u32,
    rng: Rng,
    written: Vec<RowAddr>,
    block: u32,
    page: u16,
}

impl Worker {
    fn buffer(&mut self) -> BufferId {
        BufferId(self.buffers + self.rng.below(u64::from(BUFFERS / 4)) as u32)
    }
    fn row(&self, block: u32, page: u16) -> RowAddr {
        GEOMETRY.row(self.place.1 as u8, BlockAddr(block), PageInBlock(page))
    }
    /// A programmed page if there is one, else any page.
    fn any_row(&mut self) -> RowAddr {
        if !self.written.is_empty() && self.rng.below(4) > 0 {
            return self.written[self.rng.below(self.written.len() as u64) as usize];
        }
        let block = self.rng.below(u64::from(GEOMETRY.blocks_per_lun)) as u32;
        let page = self.rng.below(u64::from(GEOMETRY.pages_per_block)) as u16;
        self.row(block, page)
    }

    /// One operation: its name and its answer.
    async fn step(&mut self) -> (&'static str, String) {
        if self.rng.below(3) == 0 {
            let pause = self.rng.below(30_000);
            self.exec.sleep(Duration::from_picos(pause)).await;
        }
        let choice = self.rng.below(13);
        let alone = choice >= TARGET;
        let shared = Rc::clone(&self.shared);
        let ways = if choice == GANG { &shared.ways[..] } else { &shared.ways[self.place.0..=self.place.0] };
        while ways.iter().any(|way| way.alone.get() || alone && way.users.get() > 0) {
            self.exec.sleep(Duration::from_nanos(777)).await;
        }
        for way in ways {
            way.alone.set(alone);
            way.users.set(way.users.get() + 1);
        }
        let outcome = self.operation(choice).await;
        for way in ways {
            way.users.set(way.users.get() - 1);
            way.alone.set(false);
        }
        outcome
    }

    async fn operation(&mut self, choice: u64) -> (&'static str, String) {
        match choice {
            0..=2 => ("program", self.program().await),
            3..=4 => {
                let (row, into) = (self.any_row(), self.buffer());
                let all = SectorRange::whole(SECTORS);
                ("read", format!("{:?}", read_page(&self.lun, row, all, into).await))
            }
            5 => {
                let (row, into) = (self.any_row(), self.buffer());
                let first = self.rng.below(u64::from(SECTORS)) as u8;
                let one = SectorRange { first, count: 1 };
                ("partial read", format!("{:?}", read_page(&self.lun, row, one, into).await))
            }
            6 => {
                let (row, into) = (self.any_row(), self.buffer());
                let column = Column(2 * self.rng.below(1_000) as u16);
                let length = 2 * (1 + self.rng.below(700) as u32);
                ("raw read", format!("{:?}", read_raw(&self.lun, row, column, length, into, 24).await))
            }
            7 => ("erase", self.erase().await),
            8 => {
                let row = self.any_row();
                ("status", format!("{:?}", read_status(&self.lun, row).await))
            }
            9 => ("timers", self.timers().await),
            10 => ("pieces", self.pieces().await),
            TARGET => ("target", self.target().await),
            _ => ("gang", self.gang().await),
        }
    }

    async fn program(&mut self) -> String {
        if self.page == GEOMETRY.pages_per_block {
            self.page = 0;
            self.block = (self.block + 1) % OWN_BLOCKS;
            let row = self.row(self.block, 0);
            self.written.retain(|&r| GEOMETRY.split_row(r).1 != BlockAddr(self.block));
            let _ = erase_block(&self.lun, row).await;
        }
        let (row, from) = (self.row(self.block, self.page), self.buffer());
        self.page += 1;
        Bench::fill(&self.dram, from, self.rng.next_u64());
        self.written.push(row);
        format!("{:?}", program_page(&self.lun, row, from).await)
    }

    async fn erase(&mut self) -> String {
        // Erases the block in use, and starts it again.
        let row = self.row(self.block, 0);
        self.page = 0;
        self.written.retain(|&r| GEOMETRY.split_row(r).1 != BlockAddr(self.block));
        format!("{:?}", erase_block(&self.lun, row).await)
    }

    /// Pauses wherever they are legal.
    async fn timers(&mut self) -> String {
        let mut pause = || Duration::from_nanos(self.rng.below(600));
        let mut txn = self.lun.txn("timers");
        txn.timer(pause()).cmd(command::READ_STATUS_ENHANCED).timer(pause());
        txn.row(GEOMETRY.row(self.place.1 as u8, BlockAddr(0), PageInBlock(0))).timer(pause());
        txn.describe(Descriptor::mailbox_out()).data_read(1).timer(pause()).data_read(2).timer(pause());
        format!("{:?}", self.lun.issue(txn).finished().await)
    }

    /// Reads a page in parts: consecutive bursts to one descriptor or several, with column changes between
    /// them.
    async fn pieces(&mut self) -> String {
        let (row, into) = (self.any_row(), self.buffer());
        if let Err(error) = aster_flash::operations::read_trigger(&self.lun, row).await {
            return format!("{error:?}");
        }
        let mut even = |most: u64| 2 * (1 + self.rng.below(most) as u32);
        let lengths = [even(40), even(40), even(100), even(20)];
        let mut txn = self.lun.txn("pieces");
        let column = |txn: &mut aster_txn::Txn, column| {
            txn.cmd(command::CHANGE_READ_COLUMN_ENHANCED).col_row(Column(column), row);
            txn.cmd(command::CHANGE_READ_COLUMN_CONFIRM);
        };
        column(&mut txn, 0);
        txn.describe(Descriptor::raw(Direction::Out, into, 8)).data_read(lengths[0]).data_read(lengths[1]);
        txn.describe(Descriptor::raw(Direction::Out, into, 4096)).data_read(lengths[2]);
        column(&mut txn, 1000);
        txn.data_read(lengths[3]);
        format!("{:?}", self.lun.issue(txn).finished().await)
    }

    /// The same page behind all chip enables, written together and read from the LUN that is ready first
    /// (B7).
    async fn gang(&mut self) -> String {
        let luns: Vec<&Lun> = self.gang.iter().collect();
        let (first, others) = luns.split_first().expect("a gang has members");
        let next = &self.shared.gang_pages[self.place.1];
        let row = self.row(OWN_BLOCKS, next.get());
        if next.get() == 0 {
            for lun in &luns {
                let _ = erase_block(lun, row).await;
            }
        }
        next.set((next.get() + 1) % GEOMETRY.pages_per_block);
        let [from, into] = [0, 1].map(|at| BufferId(self.buffers + at));
        Bench::fill(&self.dram, from, self.rng.next_u64());
        let mut failed = [false; GEOMETRY.ways as usize];
        let written = gang_program(first, others, row, from, &mut failed).await;
        let read = gang_read(first, others, row, SectorRange::whole(SECTORS), into).await;
        format!("{written:?} {failed:?} {read:?}")
    }

    /// Commands of the target.
    async fn target(&mut self) -> String {
        match self.rng.below(3) {
            0 => format!("{:?}", read_id(&self.lun, 0x00, 6).await),
            1 => format!("{:?}", get_features(&self.lun, FeatureAddress::DriveStrength.raw()).await),
            _ => format!("{:?}", set_features(&self.lun, FeatureAddress::DriveStrength.raw(), 1).await),
        }
    }
}
