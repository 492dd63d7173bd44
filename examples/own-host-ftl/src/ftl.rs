//! A log-structured FTL on the host of an open-channel drive of 1.2.
//!
//! Sectors are mapped one by one. One command writes at a time, its pages side by side on the *lanes*, the
//! planes of the LUNs, and the map changes when all have ended. Collection is part of a write. So nothing
//! races, and what a command has written is on flash when it ends: a flush has nothing to do. The metadata of
//! a sector are its logical block and a number that grows: recovery reads all and takes the newest.
//!
//! It has room for bytes, not for fingerprints.

use aster_device::Boot;
use aster_device::plug::{
    Completion, DmaDirection, DmaPart, DmaRequest, DriveState, Function, HostCommand, HostMemory, HostOp,
    HostStatus, MediaState, PieceError, Promises, Ring, TargetNeeds, TargetPiece, TargetPorts, TargetView,
    TranslationStats, TranslationView, WaitQueue,
};
use aster_device::units::{BufferId, Geometry, Lpn, Ppa, SECTOR_BYTES};
use aster_driver::{Config, Driver, FunctionBar, MESSAGE_ADDRESS, QueueId, SharedMemory, enumerate};
use aster_openchannel::{ADDRESSES_MAX, BlockFlags, Drive, METADATA_BYTES, Moved, Place, VectorError};
use futures_util::future::join_all;
use std::cell::{Cell, OnceCell, RefCell};
use std::error::Error;
use std::fmt::Display;
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
const OOB: usize = METADATA_BYTES as usize;
/// Commands in work at once; each has a page buffer.
const WORKERS: u16 = 16;
/// No logical block, and no sector of flash.
const NOWHERE: u32 = u32::MAX;
/// Of 100 sectors, the host gets so many.
const CAPACITY_PERCENT: u64 = 60;

/// Before it runs.
pub struct OwnHostFtl {
    pub geometry: Geometry,
}

impl TargetPiece for OwnHostFtl {
    fn needs(&self) -> TargetNeeds {
        TargetNeeds { data_buffers: WORKERS.into(), ..TargetNeeds::default() }
    }
    fn capacity_bytes(&self) -> u64 {
        let g = &self.geometry;
        let pages = u64::from(g.total_luns() * g.blocks_per_lun) * u64::from(g.pages_per_block);
        pages * CAPACITY_PERCENT / 100 * u64::from(g.page_bytes)
    }
    fn start(self: Box<Self>, ports: TargetPorts) -> Result<Rc<dyn TargetView>, PieceError> {
        let (g, blocks) = (self.geometry, self.capacity_bytes() / SECTOR_BYTES as u64);
        let lanes = g.total_luns() * u32::from(g.planes);
        let config =
            Config { queue_pairs: 1, depth: WORKERS + lanes as u16 + 1, vectors: 2, ..Config::default() };
        let memory = Rc::new(RefCell::new(config.memory()));
        let driver = Driver::new(ports.core.exec(), FunctionBar(Rc::clone(&ports.function)), &memory, config)
            .map_err(|error| PieceError::new("target.kind", error.to_string()))?;
        let of_block = u32::from(g.pages_per_block) * u32::from(g.sectors_per_page());
        let block = Block { owners: vec![NOWHERE; of_block as usize], ..Block::default() };
        let ftl = Rc::new(Ftl {
            driver,
            memory,
            drive: OnceCell::new(),
            channels: g.channels.into(),
            planes: g.planes.into(),
            lanes,
            of_page: g.sectors_per_page().into(),
            of_block,
            of_lane: g.blocks_per_lun / u32::from(g.planes),
            state: RefCell::new(State {
                map: vec![NOWHERE; blocks as usize],
                blocks: vec![block; (g.total_luns() * g.blocks_per_lun) as usize],
                open: vec![None; lanes as usize],
                sequence: 1,
            }),
            condition: Cell::new(DriveState::Booting),
            error: RefCell::default(),
            stats: Cell::default(),
            writer: Ring::new(1),
            read_ended: WaitQueue::default(),
            ports,
        });
        let running = Rc::clone(&ftl);
        ftl.ports.core.spawn(async move {
            if let Err(why) = running.boot().await {
                return running.fail(&*why);
            }
            for id in 0..WORKERS {
                running.ports.core.spawn(worker(Rc::clone(&running), BufferId(id.into())));
            }
        });
        Ok(ftl)
    }
}

/// A block of a plane.
#[derive(Clone, Default)]
struct Block {
    /// The logical block of each sector that is its newest version.
    owners: Vec<u32>,
    valid: u32,
    /// Pages that have been written.
    written: u32,
    readers: u32,
    is_bad: bool,
}

/// A sector on its way to flash: its logical block, and its bytes.
type Sector = (u32, Vec<u8>);

struct State {
    /// Where each logical block is.
    map: Vec<u32>,
    /// Lane by lane.
    blocks: Vec<Block>,
    /// The block of each lane that is being written.
    open: Vec<Option<u32>>,
    sequence: u64,
}

struct Ftl {
    ports: TargetPorts,
    driver: Rc<Driver<FunctionBar>>,
    memory: SharedMemory,
    drive: OnceCell<Drive<FunctionBar>>,
    channels: u32,
    planes: u32,
    lanes: u32,
    /// Sectors of a page and of a block, and blocks of a lane.
    of_page: u32,
    of_block: u32,
    of_lane: u32,
    state: RefCell<State>,
    condition: Cell<DriveState>,
    error: RefCell<Option<String>>,
    stats: Cell<TranslationStats>,
    /// A command writes.
    writer: Ring<()>,
    /// A read has ended.
    read_ended: WaitQueue,
}

type Ended = Result<(), HostStatus>;

/// Serves one command after the other.
async fn worker(ftl: Rc<Ftl>, buffer: BufferId) {
    loop {
        let command = ftl.ports.commands.next_command().await;
        ftl.ports.core.charge(ftl.ports.command_cycles);
        ftl.ports.core.settle().await;
        let status = ftl.serve(&command, buffer).await.err().unwrap_or(HostStatus::Success);
        ftl.ports.commands.complete(Completion::new(command.id, status));
    }
}

impl Ftl {
    async fn serve(&self, command: &HostCommand, buffer: BufferId) -> Ended {
        let HostCommand { op, offset, length, .. } = *command;
        let mut sectors = Vec::new();
        for at in (offset..offset + length).step_by(SECTOR_BYTES) {
            let (block, part) = ((at / SECTOR_BYTES as u64) as u32, (at - offset) as u32);
            match op {
                HostOp::Read => {
                    let (at, mut data) = (self.state.borrow().map[block as usize], vec![0; SECTOR_BYTES]);
                    if at != NOWHERE {
                        let ended = self.read(&[at], &mut data, &mut [0; OOB]).await;
                        ended.map_err(|_| HostStatus::UnrecoveredRead)?;
                    }
                    self.ports.buffers.borrow_mut().page_mut(buffer)[..SECTOR_BYTES].copy_from_slice(&data);
                    self.dma(command, DmaDirection::ToHost, part, buffer).await?;
                }
                HostOp::Write => {
                    self.dma(command, DmaDirection::FromHost, part, buffer).await?;
                    let data = self.ports.buffers.borrow().page(buffer)[..SECTOR_BYTES].to_vec();
                    sectors.push((block, data));
                }
                HostOp::WriteZeroes { .. } => sectors.push((block, vec![0; SECTOR_BYTES])),
                HostOp::Deallocate | HostOp::Flush | HostOp::Shutdown | HostOp::Format { .. } => {}
                _ => return Err(HostStatus::Refused),
            }
        }
        // To forget blocks would need a record that outlasts the power: erased alone, they would bring back
        // older versions.
        let ranges = (0..).map_while(|n| self.ports.commands.range(command.id, n));
        let of = |bytes: u64| (bytes / SECTOR_BYTES as u64) as u32;
        let zeroed: Vec<u32> = match op {
            HostOp::Format { .. } => (0..self.state.borrow().map.len() as u32).collect(),
            HostOp::Deallocate => ranges.flat_map(|r| of(r.offset)..of(r.offset + r.length)).collect(),
            _ => Vec::new(),
        };
        sectors.extend(zeroed.into_iter().map(|block| (block, vec![0; SECTOR_BYTES])));
        self.writer.push(self.ports.core.exec(), ()).await;
        for some in sectors.chunks((self.lanes * self.of_page) as usize) {
            self.make_room().await;
            self.write_all(some.to_vec()).await;
        }
        self.writer.try_pop(self.ports.core.exec());
        self.count(|stats| stats.host_bytes_written += (sectors.len() * SECTOR_BYTES) as u64);
        if self.is_failed() { Err(HostStatus::WriteFault) } else { Ok(()) }
    }
    async fn dma(&self, of: &HostCommand, direction: DmaDirection, offset: u32, buffer: BufferId) -> Ended {
        let (command, part, length, after) = (of.id, DmaPart::Data, SECTOR_BYTES as u32, None);
        let dma = DmaRequest { command, direction, part, offset, buffer, buffer_offset: 0, length, after };
        self.ports.commands.dma(dma).await.map_err(|_| HostStatus::DataTransfer)
    }
    // ---- flash ----

    fn drive(&self) -> &Drive<FunctionBar> {
        self.drive.get().expect("it has been opened")
    }
    fn place(&self, at: u32) -> Place {
        let (block, inside) = (at / self.of_block, at % self.of_block);
        let (lane, block) = (block / self.of_lane, block % self.of_lane);
        let (lun, plane) = (lane / self.planes, (lane % self.planes) as u8);
        let (channel, lun) = ((lun % self.channels) as u16, (lun / self.channels) as u16);
        let (page, sector) = ((inside / self.of_page) as u16, (inside % self.of_page) as u8);
        Place { channel, lun, plane, block, page, sector }
    }
    /// Reads sectors of one block.
    async fn read(&self, at: &[u32], data: &mut [u8], oob: &mut [u8]) -> Result<(), VectorError> {
        let places: Vec<_> = at.iter().map(|&at| self.place(at)).collect();
        let block = (at[0] / self.of_block) as usize;
        self.state.borrow_mut().blocks[block].readers += 1;
        let ended = self.drive().read(QUEUE, &places, Moved::FromDrive(data), oob).await;
        self.state.borrow_mut().blocks[block].readers -= 1;
        self.read_ended.wake_all(self.ports.core.exec());
        if ended.as_ref().is_err_and(VectorError::is_high_ecc) { Ok(()) } else { ended }
    }
    /// Writes a page; sectors that are lacking are padding.
    async fn write(&self, at: u32, sectors: &[Sector], first: u64) -> Result<(), VectorError> {
        let places: Vec<_> = (at..at + self.of_page).map(|at| self.place(at)).collect();
        let (mut data, mut oob) = (vec![0; places.len() * SECTOR_BYTES], vec![0; places.len() * OOB]);
        for (n, oob) in oob.as_chunks_mut::<OOB>().0.iter_mut().enumerate() {
            let block = sectors.get(n).map_or(NOWHERE, |sector| sector.0);
            oob[..8].copy_from_slice(&u64::from(block).to_le_bytes());
            oob[8..].copy_from_slice(&(first + n as u64).to_le_bytes());
        }
        sectors
            .iter()
            .zip(data.chunks_mut(SECTOR_BYTES))
            .for_each(|(sector, to)| to.copy_from_slice(&sector.1));
        self.drive().write(QUEUE, &places, Moved::ToDrive(&data), &oob).await
    }

    // ---- the writer ----

    /// Writes sectors of different blocks; what fails goes to other blocks of flash.
    async fn write_all(&self, mut sectors: Vec<Sector>) {
        while !sectors.is_empty() && !self.is_failed() {
            let pages: Vec<_> = sectors.chunks(self.of_page as usize).zip(0..).collect();
            let places: Option<Vec<_>> = pages.iter().map(|&(_, n)| self.next_page(n)).collect();
            let Some(places) = places else { return self.fail("no block is left") };
            let writes = pages.iter().zip(&places).map(|((sectors, _), &(at, first))| {
                self.count(|stats| {
                    stats.flash_bytes_written += (self.of_page as usize * SECTOR_BYTES) as u64
                });
                self.write(at, sectors, first)
            });
            let mut failed = Vec::new();
            for ((ended, (sectors, _)), (at, _)) in join_all(writes).await.into_iter().zip(pages).zip(places)
            {
                match ended {
                    Ok(()) => (at..).zip(sectors).for_each(|(at, sector)| self.set(sector.0, at)),
                    Err(VectorError::Failed { .. }) => {
                        self.lose(at / self.of_block).await;
                        failed.extend_from_slice(sectors);
                    }
                    Err(error) => self.fail(&error),
                }
            }
            sectors = failed;
        }
    }
    /// The next page of a lane's open block, or of another lane's if that one has none left, and the number
    /// of its first sector.
    fn next_page(&self, lane: u32) -> Option<(u32, u64)> {
        let state = &mut *self.state.borrow_mut();
        let (open, lane) = (0..self.lanes).map(|n| (lane + n) % self.lanes).find_map(|lane| {
            let mut blocks = lane * self.of_lane..(lane + 1) * self.of_lane;
            let open = state.open[lane as usize].or_else(|| blocks.find(|&block| is_free(state, block)))?;
            Some((open, lane))
        })?;
        let block = &mut state.blocks[open as usize];
        let at = open * self.of_block + block.written * self.of_page;
        block.written += 1;
        state.open[lane as usize] = (block.written < self.of_block / self.of_page).then_some(open);
        state.sequence += u64::from(self.of_page);
        Some((at, state.sequence - u64::from(self.of_page)))
    }
    /// A logical block is at `at` from now on.
    fn set(&self, block: u32, at: u32) {
        let state = &mut *self.state.borrow_mut();
        let before = std::mem::replace(&mut state.map[block as usize], at);
        for (at, owner, more) in [(before, NOWHERE, -1), (at, block, 1)] {
            if at != NOWHERE {
                let block = &mut state.blocks[(at / self.of_block) as usize];
                block.owners[(at % self.of_block) as usize] = owner;
                block.valid = block.valid.wrapping_add_signed(more);
            }
        }
    }
    /// A block of flash can't be written or erased any more.
    async fn lose(&self, block: u32) {
        self.state.borrow_mut().blocks[block as usize].is_bad = true;
        self.state.borrow_mut().open[(block / self.of_lane) as usize] = None;
        let marked = self.drive().set_table(&[self.place(block * self.of_block)], BlockFlags::GrownBad).await;
        marked.unwrap_or_else(|error| self.fail(&error));
    }
    /// Empties blocks until each lane has one to spare.
    async fn make_room(&self) {
        let victim = || {
            let state = self.state.borrow();
            let blocks = 0..state.blocks.len() as u32;
            let free = blocks.clone().filter(|&block| is_free(&state, block)).count();
            let closed = |&block: &u32| {
                let of = &state.blocks[block as usize];
                let gains = of.valid + self.of_page <= self.of_block;
                of.written > 0 && !of.is_bad && gains && !state.open.contains(&Some(block))
            };
            let emptiest = blocks.filter(closed).min_by_key(|&block| state.blocks[block as usize].valid);
            emptiest.filter(|_| free <= 2 * self.lanes as usize)
        };
        while let Some(victim) = victim().filter(|_| !self.is_failed()) {
            self.empty(victim).await;
        }
    }
    async fn empty(&self, victim: u32) {
        let owners = self.state.borrow().blocks[victim as usize].owners.clone();
        let all = (victim * self.of_block..).zip(owners).filter(|&(_, owner)| owner != NOWHERE);
        let valid: Vec<(u32, u32)> = all.collect();
        for some in valid.chunks(ADDRESSES_MAX.min((self.lanes * self.of_page) as usize)) {
            let at: Vec<_> = some.iter().map(|&(at, _)| at).collect();
            let (mut data, mut oob) = (vec![0; at.len() * SECTOR_BYTES], vec![0; at.len() * OOB]);
            if let Err(error) = self.read(&at, &mut data, &mut oob).await {
                return self.fail(&error);
            }
            let sectors = some.iter().zip(data.chunks(SECTOR_BYTES));
            let sectors = sectors.map(|(&(_, block), data)| (block, data.to_vec()));
            self.write_all(sectors.collect()).await;
        }
        let unread = || (self.state.borrow().blocks[victim as usize].readers == 0).then_some(());
        self.read_ended.wait(self.ports.core.exec(), unread).await;
        match self.drive().erase_blocks(QUEUE, &[self.place(victim * self.of_block)]).await {
            Ok(()) => self.state.borrow_mut().blocks[victim as usize].written = 0,
            Err(VectorError::Failed { .. }) => self.lose(victim).await,
            Err(error) => self.fail(&error),
        }
    }

    // ---- power-on ----

    async fn boot(&self) -> Result<(), Box<dyn Error>> {
        enumerate(&*self.ports.function).ok_or("the drive's PCI function isn't an NVMe controller")?;
        self.driver.init().await?;
        let _ = self.drive.set(Drive::open(&self.driver).await?);
        let mut newest = vec![(0, NOWHERE); self.state.borrow().map.len()];
        for lane in 0..self.lanes {
            let of_lane = lane * self.of_lane..(lane + 1) * self.of_lane;
            let Place { channel, lun, plane, .. } = self.place(of_lane.start * self.of_block);
            let states = self.drive().table(channel, lun).await?.into_iter();
            let states = states.skip(plane.into()).step_by(self.planes as usize);
            for (block, flags) in of_lane.zip(states) {
                self.state.borrow_mut().blocks[block as usize].is_bad = flags != BlockFlags::Free;
                if flags != BlockFlags::FactoryBad {
                    self.scan(block, &mut newest).await?;
                }
            }
        }
        let fresh = newest.iter().all(|&(_, at)| at == NOWHERE);
        for (block, (_, at)) in (0..).zip(newest).filter(|&(_, (_, at))| at != NOWHERE) {
            self.set(block, at);
        }
        self.count(|stats| stats.boot = if fresh { Boot::Fresh } else { Boot::Recovered });
        self.condition.set(DriveState::Ready);
        Ok(())
    }
    /// Finds what a block holds and how far it is written. A page whose program was cut off is used up.
    async fn scan(&self, block: u32, newest: &mut [(u64, u32)]) -> Result<(), VectorError> {
        let first = block * self.of_block;
        for (page, n) in (first..first + self.of_block).step_by(self.of_page as usize).zip(1..) {
            let at: Vec<_> = (page..page + self.of_page).collect();
            let (mut data, mut oob) = (vec![0; at.len() * SECTOR_BYTES], vec![0; at.len() * OOB]);
            self.count(|stats| stats.boot_reads += 1);
            match self.read(&at, &mut data, &mut oob).await {
                Ok(()) => {}
                Err(error) if error.is_empty_page() => break,
                Err(VectorError::Failed { .. }) => oob.fill(0xff),
                Err(error) => return Err(error),
            }
            let state = &mut *self.state.borrow_mut();
            let lane = (block / self.of_lane) as usize;
            let is_open = n < self.of_block / self.of_page && !state.blocks[block as usize].is_bad;
            state.blocks[block as usize].written = n;
            // No lane ever has two blocks that are written in part.
            state.open[lane] = is_open.then_some(block).or(state.open[lane].filter(|&open| open != block));
            for (&at, oob) in at.iter().zip(oob.as_chunks::<OOB>().0) {
                let (block, sequence) = (u128::from_le_bytes(*oob) as u64, u128::from_le_bytes(*oob) >> 64);
                if let Some(best) = newest.get_mut(block as usize) {
                    *best = (*best).max((sequence as u64, at));
                    state.sequence = state.sequence.max(sequence as u64 + u64::from(self.of_page));
                }
            }
        }
        Ok(())
    }

    fn is_failed(&self) -> bool {
        self.condition.get() == DriveState::Failed
    }
    fn fail(&self, why: &(impl Display + ?Sized)) {
        *self.error.borrow_mut() = Some(why.to_string());
        self.condition.set(DriveState::Failed);
    }
    fn count(&self, change: impl FnOnce(&mut TranslationStats)) {
        let mut stats = self.stats.get();
        change(&mut stats);
        self.stats.set(stats);
    }
}

/// Erased, and nobody writes it.
fn is_free(state: &State, block: u32) -> bool {
    state.blocks[block as usize].written == 0 && !state.blocks[block as usize].is_bad
}

impl TranslationView for Ftl {
    fn state(&self) -> DriveState {
        self.condition.get()
    }
    fn boot_error(&self) -> Option<String> {
        self.error.borrow().clone()
    }
    fn stats(&self) -> TranslationStats {
        TranslationStats { state: self.condition.get(), ..self.stats.get() }
    }
    fn promises(&self) -> Promises {
        Promises { flush: true, fua: true, trim: false }
    }
    fn watch_media(&self, _: Box<dyn Fn(MediaState)>) {}
    fn location_of(&self, _: Lpn) -> Option<Ppa> {
        None
    }
    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }
}

impl TargetView for Ftl {
    fn interrupt(&self, address: u64, data: u32) {
        if address == MESSAGE_ADDRESS {
            self.driver.interrupt(data as u16);
        }
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        &*self.memory
    }
}
