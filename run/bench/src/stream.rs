//! A stream of requests with a fixed number in flight; each page's content is checked when it is read.

use crate::bench::Bench;
use crate::content::{READ_BLOCKS, content_tag};
use crate::error::BenchError;
use crate::sample::{Sample, WorkKind};
use crate::work::{BenchOperation, BenchWork, Pattern};
use aster_ports::dram::SharedDram;
use aster_ports::flash::{FlashOp, FlashPort, FlashRequest, FlashStatus, Target};
use aster_units::{
    BlockAddr, BufferId, Geometry, Instant, LunIndex, PageInBlock, Rng, RowAddr, SECTOR_BYTES, SectorRange,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

struct LunState {
    blocks: Vec<BlockAddr>,
    /// How often each block was erased and filled again.
    generations: Vec<u32>,
    /// The next page of the read blocks, in order.
    next_read: u32,
    /// Where the next program goes: an index into `blocks`, and the page.
    open: usize,
    page: u16,
    next_erase: usize,
}

/// One request to be sent.
struct Item {
    kind: WorkKind,
    lun: LunIndex,
    row: RowAddr,
    /// The generation that determines the page's content.
    generation: u32,
}

/// Makes the stream.
pub(crate) struct Stream {
    work: BenchWork,
    geometry: Geometry,
    luns: Vec<LunState>,
    rng: Rng,
    made: u64,
    /// The program whose block is being erased for it.
    after_erase: Option<Item>,
}

impl Stream {
    /// The stream of `work` on the good blocks of `bench`, none of which has been programmed.
    ///
    /// # Errors
    /// When a LUN has too few of them.
    pub(crate) fn new(bench: &Bench, work: BenchWork) -> Result<Self, BenchError> {
        let luns = (0..bench.geometry().total_luns()).map(|lun| {
            let bad: Vec<_> =
                bench.nand().bad_blocks(LunIndex(lun)).into_iter().map(|(block, _)| block).collect();
            let blocks: Vec<_> =
                (0..bench.geometry().blocks_per_lun).map(BlockAddr).filter(|b| !bad.contains(b)).collect();
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
            geometry: *bench.geometry(),
            luns: luns.collect::<Result<_, _>>()?,
            rng: Rng::new(work.seed),
            made: 0,
            after_erase: None,
        })
    }

    /// The same LUNs in their current state, with other work.
    pub(crate) fn with(self, work: BenchWork) -> Self {
        Stream { work, made: 0, ..self }
    }
    /// LUNs that it works on.
    pub(crate) fn luns(&self) -> u64 {
        self.luns.len() as u64
    }

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
            BenchOperation::Read => self.read(turn),
            BenchOperation::Program => self.program(turn, 0),
            BenchOperation::Erase => self.erase(turn),
            // Both in every LUN's turn.
            BenchOperation::Mixed if turn.is_multiple_of(2) => self.read(turn / 2),
            BenchOperation::Mixed => self.program(turn / 2, READ_BLOCKS),
            BenchOperation::Flash(_) => unreachable!("stations do it, without requests"),
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
            kind: WorkKind::Read,
            lun: LunIndex(lun as u32),
            row: self.row(lun, state.blocks[at], (page % per_block) as u16),
            generation: state.generations[at],
        }
    }

    /// Blocks before `first` are not used.
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
        let item = |kind: WorkKind, row| Item { kind, lun: LunIndex(lun as u32), row, generation };
        let row = self.row(lun, block, page);
        if page == 0 && generation > 1 {
            self.after_erase = Some(item(WorkKind::Program, row));
            return item(WorkKind::Erase, row);
        }
        item(WorkKind::Program, row)
    }

    fn erase(&mut self, turn: u64) -> Item {
        let lun = self.lun_of(turn);
        let state = &mut self.luns[lun];
        let block = state.blocks[state.next_erase];
        state.next_erase = (state.next_erase + 1) % state.blocks.len();
        Item { kind: WorkKind::Erase, lun: LunIndex(lun as u32), row: self.row(lun, block, 0), generation: 0 }
    }
}

fn tag(item: &Item, sector: u64) -> [u8; 8] {
    content_tag(item.lun, item.row, item.generation, sector)
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
        // A program whose erase has been sent is sent, too, so that the block doesn't stay erased.
        if (self.stop.get() || now >= self.until) && stream.after_erase.is_none() {
            return None;
        }
        let item = stream.next()?;
        let whole = stream.geometry.sectors_per_page();
        let sectors = match item.kind {
            WorkKind::Read => stream.work.sectors.unwrap_or(whole).clamp(1, whole),
            WorkKind::Program | WorkKind::Erase => whole,
        };
        Some((item, SectorRange::whole(sectors)))
    }
}

/// Sends one request after the other from its buffer.
struct Caller {
    shared: Rc<Shared>,
    requests: Rc<FlashPort>,
    dram: SharedDram,
    buffer: BufferId,
}

impl Caller {
    async fn run(self) {
        let exec = self.requests.exec().clone();
        while let Some((item, sectors)) = self.shared.next(exec.now()) {
            let began = exec.now();
            if item.kind == WorkKind::Program {
                self.fill(&item, sectors);
            }
            let phase = match item.kind {
                WorkKind::Read => FlashOp::Read,
                WorkKind::Program => FlashOp::Program,
                WorkKind::Erase => FlashOp::Erase,
            };
            let target = Target { row: item.row, sectors, buffer: self.buffer };
            let outcomes = self.requests.call(FlashRequest::single(phase, item.lun, target)).await;
            let status = outcomes[0].status;
            let read = item.kind == WorkKind::Read;
            let bytes = match item.kind {
                WorkKind::Erase => 0,
                WorkKind::Read | WorkKind::Program => u32::from(sectors.count) * SECTOR_BYTES as u32,
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

/// Sends the stream with as many callers as there are buffers, and returns it.
pub(crate) fn inject(bench: &Bench, stream: Stream, each: &mut dyn FnMut(&Sample) -> bool) -> Stream {
    let shared = Rc::new(Shared {
        until: stream.work.time.map_or(Instant::MAX, |time| bench.exec().now() + time),
        stream: RefCell::new(Some(stream)),
        stop: Cell::new(false),
        samples: RefCell::default(),
    });
    for caller in 0..bench.depth() {
        let caller = Caller {
            shared: Rc::clone(&shared),
            requests: Rc::clone(bench.requests()),
            dram: bench.channel().dram().clone(),
            buffer: BufferId(u32::from(caller)),
        };
        bench.exec().spawn(caller.run());
    }
    bench.rest(&shared.samples, &shared.stop, each);
    let stream = shared.stream.borrow_mut().take();
    stream.expect("the callers have ended and given it back")
}
