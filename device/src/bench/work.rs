//! What is injected: a stream of requests, so many in flight, each page's content checked when it is read.

use super::operations::FlashOperation;
use super::station::{Station, Turns};
use super::{Bench, BenchError};
use aster_channel::ChannelStats;
use aster_ports::flash::{FlashError, FlashPort, FlashRequest, FlashStatus, Phase, Target};
use aster_units::{
    BlockAddr, BufferId, Duration, Geometry, Instant, LunIndex, PageInBlock, Rng, RowAddr, SectorRange, mix64,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Blocks of each LUN that reads read from.
pub(super) const READ_BLOCKS: usize = 2;

/// Operations of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// READ of pages that were programmed before.
    Read,
    /// PROGRAM, page after page of a block; a block that is full already is erased first.
    Program,
    /// BLOCK ERASE, block after block.
    Erase,
    /// Reads and programs in turn.
    Mixed,
    /// A flash operation that I3 has no request for, each LUN by itself; the requests in flight are its page
    /// buffers.
    Flash(FlashOperation),
}

/// Which LUN and page is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// LUN after LUN, page after page.
    Sequential,
    /// Any LUN; reads of any page. The pages of a block are programmed in order all the same, since packages
    /// insist on it.
    Random,
}

/// A stream of requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Work {
    /// Of what.
    pub operation: Operation,
    /// Where.
    pub pattern: Pattern,
    /// Requests, erases before programs not counted.
    pub requests: u64,
    /// No new request is sent after so much simulated time.
    pub time: Option<Duration>,
    /// Sectors of a page that a read transfers, from the first on; all when absent.
    pub sectors: Option<u8>,
    /// Decides the random pattern.
    pub seed: u64,
}

/// Kinds of requests in a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A page or some of its sectors were read.
    Read,
    /// A page was programmed.
    Program,
    /// A block was erased.
    Erase,
}

/// A request that has ended.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What it was.
    pub kind: Kind,
    /// From its injection to its result.
    pub latency: Duration,
    /// Data bytes moved.
    pub bytes: u32,
    /// How it ended.
    pub status: FlashStatus,
    /// False for a read that brought other content than was programmed.
    pub right: bool,
    /// Bits that the code corrected.
    pub corrected: u16,
    /// Why it was not carried out, which names transaction and time.
    pub fault: Option<FlashError>,
}

/// A bench that is ready for its work.
pub struct Prepared(Ready);

enum Ready {
    Requests(Stream),
    Operations(Work, Vec<Station>),
}

/// A stream that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// From the first injection to the last result.
    pub simulated: Duration,
    /// What the channel did meanwhile.
    pub channel: ChannelStats,
}

struct LunState {
    blocks: Vec<BlockAddr>,
    /// Times that each block was erased and filled again.
    generations: Vec<u32>,
    /// Pages of the read blocks that come next in order.
    next_read: u32,
    /// Where the next program goes: an index into `blocks`, and the page.
    open: usize,
    page: u16,
    next_erase: usize,
}

/// One request to be sent.
struct Item {
    kind: Kind,
    lun: LunIndex,
    row: RowAddr,
    /// What the page's content follows from.
    generation: u32,
}

/// Makes the stream.
struct Stream {
    work: Work,
    geometry: Geometry,
    luns: Vec<LunState>,
    rng: Rng,
    made: u64,
    /// The program whose block is being erased for it.
    after_erase: Option<Item>,
}

impl Stream {
    fn row(&self, lun: usize, block: BlockAddr, page: u16) -> RowAddr {
        let behind = (lun / usize::from(self.geometry.ways)) as u8;
        self.geometry.row(behind, block, PageInBlock(page))
    }
    fn lun_of(&mut self, turn: u64) -> usize {
        let luns = self.luns.len() as u64;
        let lun = match self.work.pattern {
            Pattern::Sequential => turn % luns,
            Pattern::Random => self.rng.below(luns),
        };
        lun as usize
    }

    fn next(&mut self) -> Option<Item> {
        if let Some(program) = self.after_erase.take() {
            return Some(program);
        }
        if self.made == self.work.requests {
            return None;
        }
        let turn = self.made;
        self.made += 1;
        Some(match self.work.operation {
            Operation::Read => self.read(turn),
            Operation::Program => self.program(turn, 0),
            Operation::Erase => self.erase(turn),
            // Both in every LUN's turn.
            Operation::Mixed if turn.is_multiple_of(2) => self.read(turn / 2),
            Operation::Mixed => self.program(turn / 2, READ_BLOCKS),
            Operation::Flash(_) => unreachable!("stations do it, without requests"),
        })
    }

    fn read(&mut self, turn: u64) -> Item {
        let lun = self.lun_of(turn);
        let per_block = u32::from(self.geometry.pages_per_block);
        let pages = READ_BLOCKS as u32 * per_block;
        let page = match self.work.pattern {
            Pattern::Sequential => {
                let state = &mut self.luns[lun];
                state.next_read = (state.next_read + 1) % pages;
                state.next_read
            }
            Pattern::Random => self.rng.below(u64::from(pages)) as u32,
        };
        let state = &self.luns[lun];
        let at = (page / per_block) as usize;
        Item {
            kind: Kind::Read,
            lun: LunIndex(lun as u32),
            row: self.row(lun, state.blocks[at], (page % per_block) as u16),
            generation: state.generations[at],
        }
    }

    /// Blocks before `first` are left alone.
    fn program(&mut self, turn: u64, first: usize) -> Item {
        let lun = self.lun_of(turn);
        let state = &mut self.luns[lun];
        if state.page == self.geometry.pages_per_block {
            state.page = 0;
            state.open += 1;
            if state.open == state.blocks.len() {
                state.open = first;
            }
        }
        let (at, page) = (state.open, state.page);
        state.page += 1;
        if page == 0 {
            state.generations[at] += 1;
        }
        let (block, generation) = (state.blocks[at], state.generations[at]);
        let item = |kind, row| Item { kind, lun: LunIndex(lun as u32), row, generation };
        let row = self.row(lun, block, page);
        if page == 0 && generation > 1 {
            self.after_erase = Some(item(Kind::Program, row));
            return item(Kind::Erase, row);
        }
        item(Kind::Program, row)
    }

    fn erase(&mut self, turn: u64) -> Item {
        let lun = self.lun_of(turn);
        let state = &mut self.luns[lun];
        let block = state.blocks[state.next_erase];
        state.next_erase = (state.next_erase + 1) % state.blocks.len();
        Item { kind: Kind::Erase, lun: LunIndex(lun as u32), row: self.row(lun, block, 0), generation: 0 }
    }
}

/// What a sector of a page holds in its first eight bytes.
pub(super) fn content_tag(lun: LunIndex, row: RowAddr, generation: u32, sector: u64) -> [u8; 8] {
    let place = u64::from(lun.0) << 32 | u64::from(row.0);
    mix64(mix64(place) ^ u64::from(generation) << 8 ^ sector).to_le_bytes()
}

fn tag(item: &Item, sector: u64) -> [u8; 8] {
    content_tag(item.lun, item.row, item.generation, sector)
}

impl Bench {
    fn fresh_stream(&self, work: Work) -> Result<Stream, BenchError> {
        let luns = (0..self.geometry.total_luns()).map(|lun| {
            let bad: Vec<_> =
                self.inspect.bad_blocks(LunIndex(lun)).into_iter().map(|(block, _)| block).collect();
            let blocks: Vec<_> =
                (0..self.geometry.blocks_per_lun).map(BlockAddr).filter(|b| !bad.contains(b)).collect();
            if blocks.len() <= READ_BLOCKS {
                return Err(BenchError::Work(format!(
                    "LUN {lun} has {} good blocks: a bench needs {}",
                    blocks.len(),
                    READ_BLOCKS + 1
                )));
            }
            let generations = vec![0; blocks.len()];
            Ok(LunState { blocks, generations, next_read: 0, open: 0, page: 0, next_erase: 0 })
        });
        Ok(Stream {
            work,
            geometry: self.geometry,
            luns: luns.collect::<Result<_, _>>()?,
            rng: Rng::new(work.seed),
            made: 0,
            after_erase: None,
        })
    }

    /// Makes the bench, whose cells must be as they left the factory, ready for `work`: what reads will read
    /// is programmed. `progress` is told shares from 0 to 1; when it says `false`, nothing more is done,
    /// neither now nor in the run.
    ///
    /// # Errors
    /// When the packages have too few good blocks, or they or the controller don't have the operation.
    pub fn prepare(
        &self,
        work: &Work,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Prepared, BenchError> {
        if let Operation::Flash(operation) = work.operation {
            let mut stopped = false;
            let stations = self.fill_stations(self.stations(operation, work)?, &mut |share| {
                stopped |= !progress(share);
                !stopped
            });
            let work = Work { requests: if stopped { 0 } else { work.requests }, ..*work };
            return Ok(Prepared(Ready::Operations(work, stations)));
        }
        let mut stream = self.fresh_stream(*work)?;
        let mut stopped = false;
        if matches!(work.operation, Operation::Read | Operation::Mixed) {
            let pages = READ_BLOCKS as u64 * u64::from(self.geometry.pages_per_block);
            let total = pages * stream.luns.len() as u64;
            stream.work = Work {
                operation: Operation::Program,
                pattern: Pattern::Sequential,
                requests: total,
                time: None,
                ..*work
            };
            let mut done = 0;
            stream = self.inject(stream, &mut |_| {
                done += 1;
                stopped |= !progress(done as f64 / total as f64);
                !stopped
            });
            stream.made = 0;
        }
        stream.work = Work { requests: if stopped { 0 } else { work.requests }, ..*work };
        Ok(Prepared(Ready::Requests(stream)))
    }

    /// Injects the work that the bench was prepared for, and calls `each` for every request that has ended;
    /// when it says `false`, no further request is sent.
    pub fn run(&self, prepared: Prepared, each: &mut dyn FnMut(&Sample) -> bool) -> Ran {
        let (started, before) = (self.exec.now(), self.stats());
        let mut ended = started;
        let each: &mut dyn FnMut(&Sample) -> bool = &mut |sample| {
            ended = self.exec.now();
            each(sample)
        };
        match prepared.0 {
            Ready::Requests(stream) => drop(self.inject(stream, each)),
            Ready::Operations(work, stations) => {
                let turns = Turns {
                    left: Cell::new(work.requests),
                    until: work.time.map_or(Instant::MAX, |time| started + time),
                    stop: Cell::new(false),
                    samples: RefCell::default(),
                };
                self.work(stations, Rc::new(turns), false, each);
            }
        }
        let after = self.stats();
        Ran {
            simulated: ended.since(started),
            channel: ChannelStats {
                transactions: after.transactions - before.transactions,
                failed: after.failed - before.failed,
                bytes: after.bytes - before.bytes,
                busy: after.busy.saturating_sub(before.busy),
            },
        }
    }

    /// Sends the stream with as many callers as there are buffers; gives it back.
    fn inject(&self, stream: Stream, each: &mut dyn FnMut(&Sample) -> bool) -> Stream {
        let shared = Rc::new(Shared {
            until: stream.work.time.map_or(Instant::MAX, |time| self.exec.now() + time),
            stream: RefCell::new(Some(stream)),
            stop: Cell::new(false),
            samples: RefCell::default(),
        });
        for caller in 0..self.depth {
            let caller = Caller {
                shared: Rc::clone(&shared),
                requests: Rc::clone(&self.requests),
                dram: self.dram.clone(),
                buffer: BufferId(u32::from(caller)),
            };
            self.exec.spawn(caller.run());
        }
        self.rest(&shared.samples, &shared.stop, each);
        let stream = shared.stream.borrow_mut().take();
        stream.expect("the callers have ended and given it back")
    }

    /// Lets time pass until everything has come to rest. `each` hears of every sample, and sets `stop` with
    /// `false`.
    pub(super) fn rest(
        &self,
        samples: &RefCell<Vec<Sample>>,
        stop: &Cell<bool>,
        each: &mut dyn FnMut(&Sample) -> bool,
    ) {
        while let Some(next) = self.exec.next_deadline() {
            self.exec.advance_to(next);
            for sample in samples.borrow_mut().drain(..) {
                if !each(&sample) {
                    stop.set(true);
                }
            }
        }
    }
}

struct Shared {
    stream: RefCell<Option<Stream>>,
    until: Instant,
    stop: Cell<bool>,
    samples: RefCell<Vec<Sample>>,
}

impl Shared {
    fn next(&self, now: Instant) -> Option<(Item, SectorRange)> {
        let mut stream = self.stream.borrow_mut();
        let stream = stream.as_mut()?;
        // A program whose erase has been sent goes too: the block must not stay between the two.
        if (self.stop.get() || now >= self.until) && stream.after_erase.is_none() {
            return None;
        }
        let item = stream.next()?;
        let whole = stream.geometry.sectors_per_page();
        let sectors = match item.kind {
            Kind::Read => stream.work.sectors.unwrap_or(whole).clamp(1, whole),
            Kind::Program | Kind::Erase => whole,
        };
        Some((item, SectorRange::whole(sectors)))
    }
}

/// Sends one request after the other from its buffer.
struct Caller {
    shared: Rc<Shared>,
    requests: Rc<FlashPort>,
    dram: aster_ports::dram::SharedDram,
    buffer: BufferId,
}

impl Caller {
    async fn run(self) {
        let exec = self.requests.exec().clone();
        while let Some((item, sectors)) = self.shared.next(exec.now()) {
            let began = exec.now();
            if item.kind == Kind::Program {
                self.fill(&item, sectors);
            }
            let phase = match item.kind {
                Kind::Read => Phase::Read,
                Kind::Program => Phase::Program,
                Kind::Erase => Phase::Erase,
            };
            let target = Target { row: item.row, sectors, buffer: self.buffer };
            let outcomes = self.requests.call(FlashRequest::single(phase, item.lun, target)).await;
            let status = outcomes[0].status;
            let read = item.kind == Kind::Read;
            let bytes = match item.kind {
                Kind::Erase => 0,
                Kind::Read | Kind::Program => u32::from(sectors.count) * aster_units::SECTOR_BYTES as u32,
            };
            let failed = status == FlashStatus::Error;
            self.shared.samples.borrow_mut().push(Sample {
                corrected: outcomes[0].corrected,
                fault: if failed { self.requests.take_fault(item.lun) } else { None },
                kind: item.kind,
                latency: exec.now().since(began),
                bytes,
                status,
                right: !read || status != FlashStatus::Done || self.is_right(&item, sectors),
            });
        }
    }

    fn fill(&self, item: &Item, sectors: SectorRange) {
        let mut dram = self.dram.borrow_mut();
        let len = dram.content_of(self.buffer).sector_len();
        let page = dram.page_mut(self.buffer);
        for sector in 0..usize::from(sectors.count) {
            page[sector * len..][..8].copy_from_slice(&tag(item, sector as u64));
        }
    }
    fn is_right(&self, item: &Item, sectors: SectorRange) -> bool {
        let dram = self.dram.borrow();
        let len = dram.content_of(self.buffer).sector_len();
        let page = dram.page(self.buffer);
        (0..usize::from(sectors.count)).all(|sector| page[sector * len..][..8] == tag(item, sector as u64))
    }
}
