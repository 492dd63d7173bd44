//! A bare simulation of garbage collection: pages are written over, blocks are emptied.

use crate::workload::{Draws, Workload};
use aster_units::Rng;
use std::collections::VecDeque;

/// Blocks that share their spare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pool {
    /// Blocks for data: closed, open or free.
    pub blocks: u32,
    /// Pages of each.
    pub pages_per_block: u32,
    /// Logical pages of the host.
    pub logical_pages: u32,
    /// Free blocks that are reserved for garbage collection, at least 1.
    pub reserve: u32,
    /// The blocks that copies go round, a page each; without any, they follow the host's pages.
    pub copy_blocks: u32,
    /// Pages of a write-back buffer, which holds the last ones written and evicts the least recent.
    /// Overwriting a page in the buffer costs nothing, so the pool sees less skew than the host has.
    pub buffered_pages: u32,
}

impl Pool {
    /// The share of current pages in the blocks that hold data. It is theory's fill, since theory has no
    /// free blocks. An open block is half full on average.
    pub fn fill_of_closed(&self) -> f64 {
        let closed = f64::from(self.blocks - self.reserve) - f64::from(1 + self.copy_blocks) / 2.0;
        f64::from(self.logical_pages) / (closed * f64::from(self.pages_per_block))
    }
}

/// The rule that chooses the victim among closed blocks with a stale page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VictimRule {
    /// The block with the fewest valid pages; of several, the oldest.
    Greedy,
    /// Cost-benefit: the block with the most room times age per cost.
    CostBenefit,
    /// The block with the fewest valid pages among this many random ones.
    DChoices(u32),
    /// The oldest.
    Fifo,
    /// The block with the fewest valid pages among the oldest, which are this many percent of all.
    WindowedGreedy(u32),
}

/// Counts of programmed pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// Pages of the host, without those that were overwritten in the buffer.
    pub written: u64,
    /// Pages that were copied.
    pub copied: u64,
}

impl Collected {
    /// Pages programmed per page that left the buffer.
    pub fn write_amplification(&self) -> f64 {
        (self.written + self.copied) as f64 / self.written.max(1) as f64
    }
}

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Block {
    valid: u32,
    /// Pages programmed.
    next: u32,
    /// Its number in the order in which blocks were closed; 0 while it isn't closed.
    closed: u64,
}

/// A pool under a workload.
pub struct Simulation {
    pool: Pool,
    rule: VictimRule,
    draws: Draws,
    rng: Rng,
    blocks: Vec<Block>,
    /// Where each logical page lies.
    map: Vec<u32>,
    /// The logical page of each physical page.
    owners: Vec<u32>,
    free: VecDeque<u32>,
    /// The block that the host writes, and those for copies.
    open: Vec<Option<u32>>,
    closings: u64,
    buffer: Buffer,
    done: Collected,
}

/// The pages written last.
struct Buffer {
    pages: u32,
    held: u32,
    /// For each page in the buffer, when it was written last.
    stamps: Vec<Option<u64>>,
    /// Pages and when they were written. Entries of pages that were written again are skipped.
    order: VecDeque<(u32, u64)>,
    writes: u64,
}

impl Buffer {
    fn new(pages: u32, logical_pages: u32) -> Self {
        let stamps = vec![None; logical_pages as usize];
        Buffer { pages, held: 0, stamps, order: VecDeque::new(), writes: 0 }
    }
    /// Writes a page to the buffer. Returns the page that it evicts.
    fn write(&mut self, page: u32) -> Option<u32> {
        self.writes += 1;
        self.order.push_back((page, self.writes));
        if self.stamps[page as usize].replace(self.writes).is_none() {
            self.held += 1;
        }
        while self.held > self.pages
            && let Some((oldest, at)) = self.order.pop_front()
        {
            if self.stamps[oldest as usize] == Some(at) {
                self.stamps[oldest as usize] = None;
                self.held -= 1;
                return Some(oldest);
            }
        }
        None
    }
}

/// The host's block among those that are open.
const HOST: usize = 0;

impl Simulation {
    /// A pool that has been filled once, in the order of pages. Panics if the pages leave no spare room.
    pub fn new(pool: Pool, rule: VictimRule, workload: &Workload, seed: u64) -> Self {
        // This ensures that one of the closed blocks has a stale page whenever a victim is chosen.
        let room = (pool.blocks - pool.reserve - pool.copy_blocks) * pool.pages_per_block;
        assert!(pool.logical_pages < room, "{pool:?}: its pages leave none stale");
        let physical = (pool.blocks * pool.pages_per_block) as usize;
        let mut simulation = Simulation {
            pool,
            rule,
            draws: workload.draws(pool.logical_pages),
            rng: Rng::new(seed),
            blocks: vec![Block { valid: 0, next: 0, closed: 0 }; pool.blocks as usize],
            map: vec![NOBODY; pool.logical_pages as usize],
            owners: vec![NOBODY; physical],
            free: (0..pool.blocks).collect(),
            open: vec![None; 1 + pool.copy_blocks as usize],
            closings: 0,
            buffer: Buffer::new(pool.buffered_pages, pool.logical_pages),
            done: Collected::default(),
        };
        (0..pool.logical_pages).for_each(|page| simulation.program_of_host(page));
        simulation
    }
    /// Writes `times` times as many pages as the host has.
    pub fn run(&mut self, times: u32) -> Collected {
        let before = self.done;
        for _ in 0..u64::from(times) * u64::from(self.pool.logical_pages) {
            let page = self.draws.next(&mut self.rng);
            if let Some(evicted) = self.buffer.write(page) {
                self.program_of_host(evicted);
            }
        }
        Collected { written: self.done.written - before.written, copied: self.done.copied - before.copied }
    }
    /// Write amplification in the steady state: `times` as in [`Simulation::run`] before, and again while it
    /// is counted.
    pub fn steady_write_amplification(mut self, times: u32) -> f64 {
        self.run(times);
        self.run(times).write_amplification()
    }

    fn program_of_host(&mut self, page: u32) {
        // If copies go to the same block, the host writes the rest of it.
        while self.open[HOST].is_none() && self.free.len() <= self.pool.reserve as usize {
            let victim = self.victim();
            self.empty(victim);
        }
        self.program(page, HOST);
        self.done.written += 1;
    }
    /// The open block for the next copy. The last free block is opened only if no other is open.
    fn for_copy(&self) -> usize {
        let blocks = self.open.len() - 1;
        if blocks == 0 {
            return HOST;
        }
        let next = (self.done.copied % blocks as u64) as usize;
        let mut in_turn = (0..blocks).map(|nth| 1 + (next + nth) % blocks);
        let may_open = self.free.len() > 1;
        in_turn.find(|&at| may_open || self.open[at].is_some()).unwrap_or(1 + next)
    }
    fn program(&mut self, page: u32, stream: usize) {
        let open = self.open[stream].take();
        let at = open.or_else(|| self.free.pop_front()).expect("the reserve has a free block");
        let block = &mut self.blocks[at as usize];
        let to = at * self.pool.pages_per_block + block.next;
        (block.next, block.valid) = (block.next + 1, block.valid + 1);
        let from = std::mem::replace(&mut self.map[page as usize], to);
        self.owners[to as usize] = page;
        if block.next < self.pool.pages_per_block {
            self.open[stream] = Some(at);
        } else {
            self.closings += 1;
            block.closed = self.closings;
        }
        if from != NOBODY {
            self.owners[from as usize] = NOBODY;
            self.blocks[(from / self.pool.pages_per_block) as usize].valid -= 1;
        }
    }
    fn empty(&mut self, victim: u32) {
        self.blocks[victim as usize].closed = 0;
        let first = victim * self.pool.pages_per_block;
        for at in first..first + self.pool.pages_per_block {
            let owner = self.owners[at as usize];
            if owner != NOBODY {
                self.program(owner, self.for_copy());
                self.done.copied += 1;
            }
        }
        self.blocks[victim as usize].next = 0;
        self.free.push_back(victim);
    }
    fn victim(&mut self) -> u32 {
        let (pages, closings) = (self.pool.pages_per_block, self.closings);
        let age = |b: &Block| closings - b.closed;
        let offered = || (0..).zip(&self.blocks).filter(|(_, block)| block.closed > 0 && block.valid < pages);
        // A block without valid pages needs no copies, so every rule takes it first.
        let least = offered().min_by_key(|(_, b)| (b.valid, b.closed)).expect("some page is stale");
        if least.1.valid == 0 {
            return least.0;
        }
        let chosen = match self.rule {
            VictimRule::Greedy => Some(least),
            VictimRule::CostBenefit => {
                let worth =
                    |b: &Block| f64::from(pages - b.valid) * age(b) as f64 / f64::from(pages + b.valid);
                offered().max_by(|(_, a), (_, b)| worth(a).total_cmp(&worth(b)))
            }
            VictimRule::DChoices(choices) => {
                let blocks: Vec<_> = offered().collect();
                let drawn = (0..choices).map(|_| blocks[self.rng.below(blocks.len() as u64) as usize]);
                drawn.min_by_key(|(_, b)| (b.valid, b.closed))
            }
            VictimRule::Fifo => offered().min_by_key(|(_, b)| b.closed),
            VictimRule::WindowedGreedy(percent) => {
                let mut blocks: Vec<_> = offered().collect();
                blocks.sort_unstable_by_key(|(_, b)| b.closed);
                blocks.truncate((blocks.len() * percent as usize).div_ceil(100));
                blocks.into_iter().min_by_key(|(_, b)| (b.valid, b.closed))
            }
        };
        chosen.expect("some page is stale").0
    }
}
