//! A flash port served by vectors of an open-channel drive of version 1.2 (O1, P22 to P27).
//!
//! A page is the sectors that one vector names, and each of them has the page's record as its metadata. The
//! drive orders commands that meet on a block by their arrival, and commands of two queues may arrive in any
//! order. So a LUN has only reads, only programs, or one erase in flight at a time, and the next kind waits.

use crate::mark::{BadBlocks, UNMARKED, unsupported};
use crate::target::{Carrier, Connection, SECTOR_OOB, Wiring};
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use aster_driver::{Config, Driver, FunctionBar, MESSAGE_ADDRESS, Moved, QueueId, enumerate};
use aster_exec::{Exec, Ring, WaitCell};
use aster_openchannel::{ADDRESSES_MAX, Drive, Place, VectorError};
use aster_parties::PieceError;
use aster_ports::flash::{FlashOp, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, Outcomes, Tag, Target};
use aster_ports::link::HostMemory;
use aster_units::{Geometry, LunAddr, LunIndex, SECTOR_BYTES};
use aster_wire::ocssd::status;
use core::cell::{Cell, RefCell};

/// I/O queue pairs that it wants of the drive: one for programs and erases, and one for reads.
pub const QUEUE_PAIRS: u16 = 2;
const WRITES: QueueId = QueueId(1);
const READS: QueueId = QueueId(2);
/// Bytes of the largest command.
const VECTOR_BYTES: u32 = (ADDRESSES_MAX * SECTOR_BYTES) as u32;
/// The corrected bits that a sector has which the drive says should be moved: it doesn't tell how many.
const SHOULD_BE_MOVED: u8 = u8::MAX;

/// Connects a port to an open-channel drive whose queues have at most this many entries.
///
/// # Errors
/// When a page in all its planes has more sectors than a vector names.
pub fn connect(wiring: Wiring, queue_entries: u16) -> Result<Connection, PieceError> {
    let g = &wiring.geometry;
    let row = usize::from(g.planes) * usize::from(g.sectors_per_page());
    if row > ADDRESSES_MAX {
        let reason =
            format!("{row} sectors of a page in all planes are more than a vector's {ADDRESSES_MAX}");
        return Err(PieceError::new("geometry.page_bytes", reason));
    }
    let workers = wiring.port.depth().min(2 * usize::from(queue_entries - 1));
    let config = Config {
        queue_pairs: QUEUE_PAIRS,
        depth: (workers as u16 + 1).min(queue_entries - 1),
        transfer_bytes_max: VECTOR_BYTES,
        vectors: QUEUE_PAIRS + 1,
        ..Config::default()
    };
    let unfit = |error: &dyn core::fmt::Display| PieceError::new("target.kind", error.to_string());
    config.validate().map_err(|error| unfit(&error))?;
    let memory = Rc::new(RefCell::new(config.memory()));
    let bar = FunctionBar(Rc::clone(&wiring.function));
    let driver = Driver::new(wiring.core.exec(), bar, &memory, config).map_err(|error| unfit(&error))?;
    let carrier = Rc::new(Vectors { driver: Rc::clone(&driver), memory });
    let brings_up = Box::pin(async move {
        let (drive, bad) = bring_up(&wiring, &driver).await?;
        FlashOverVectors::serve(wiring, drive, bad, workers);
        Ok(())
    });
    Ok(Connection { carrier, brings_up })
}

type OurDriver = Driver<FunctionBar>;

async fn bring_up(
    wiring: &Wiring,
    driver: &Rc<OurDriver>,
) -> Result<(Drive<FunctionBar>, BadBlocks), String> {
    enumerate(&*wiring.function).ok_or("the drive's PCI function isn't an NVMe controller")?;
    driver.init().await.map_err(|error| error.to_string())?;
    let drive = Drive::open(driver).await.map_err(|error| error.to_string())?;
    let (found, expected) = (drive.geometry(), &wiring.geometry);
    let shape = |g: &Geometry| {
        (g.channels, g.luns_per_channel(), g.planes, g.blocks_per_lun, g.pages_per_block, g.page_bytes)
    };
    if shape(found) != shape(expected) {
        return Err(format!("the drive has another array than its profile: {found:?}"));
    }
    let mut bad = BadBlocks::none(*expected);
    for lun in (0..expected.total_luns()).map(LunIndex) {
        let Place { channel, lun: of_channel, .. } = place_of(expected, lun);
        let table = drive.table(channel, of_channel).await.map_err(|error| error.to_string())?;
        bad.note(lun, table.into_iter().map(Some));
    }
    Ok((drive, bad))
}

/// The first sector of a LUN.
fn place_of(g: &Geometry, lun: LunIndex) -> Place {
    let LunAddr { channel, way, lun } = g.lun_addr(lun);
    Place { channel, lun: u16::from(lun) * u16::from(g.ways) + u16::from(way), ..Place::default() }
}

struct Vectors {
    driver: Rc<OurDriver>,
    memory: aster_driver::SharedMemory,
}

impl Carrier for Vectors {
    fn interrupt(&self, address: u64, data: u32) {
        if address == MESSAGE_ADDRESS {
            self.driver.interrupt(data as u16);
        }
    }
    fn memory(&self) -> &RefCell<dyn HostMemory> {
        &*self.memory
    }
    fn fault(&self) -> Option<String> {
        self.driver.violation().map(|violation| violation.to_string())
    }
}

/// A request that a worker carries out.
type Job = (Tag, FlashRequest);

/// What waits for a LUN, and what it has in flight.
struct Lun {
    waiting: Ring<Job>,
    /// The kind of operation in flight, and how many.
    flight: Cell<(FlashOp, u32)>,
    ended: WaitCell,
}

impl Lun {
    fn admits(&self, phase: FlashOp) -> bool {
        let (kind, count) = self.flight.get();
        count == 0 || kind == phase && phase != FlashOp::Erase
    }
}

struct FlashOverVectors {
    wiring: Wiring,
    drive: Drive<FunctionBar>,
    bad: BadBlocks,
    luns: Box<[Lun]>,
    jobs: Ring<Job>,
}

impl FlashOverVectors {
    /// Serves a port from now on. Requests that were submitted before are served, too.
    fn serve(wiring: Wiring, drive: Drive<FunctionBar>, bad: BadBlocks, workers: usize) {
        let core = wiring.core.clone();
        let depth = wiring.port.depth();
        let lun = |_| Lun {
            waiting: Ring::new(depth),
            flight: Cell::new((FlashOp::Read, 0)),
            ended: WaitCell::default(),
        };
        let luns = (0..wiring.geometry.total_luns()).map(lun).collect();
        let flash = Rc::new(FlashOverVectors { wiring, drive, bad, luns, jobs: Ring::new(workers) });
        for _ in 0..workers {
            let flash = Rc::clone(&flash);
            core.spawn(async move { flash.work().await });
        }
        for lun in 0..flash.luns.len() {
            let flash = Rc::clone(&flash);
            core.spawn(async move { flash.serve_lun(lun).await });
        }
        core.spawn(async move { flash.dispatch().await });
    }
    fn exec(&self) -> &Exec {
        self.wiring.core.exec()
    }
    async fn dispatch(&self) {
        let Wiring { port, buffers, .. } = &self.wiring;
        loop {
            let (tag, request) = self.wiring.next().await;
            if !self.bad.answer(self.exec(), port, buffers, tag, &request) {
                self.luns[request.lun.index()].waiting.push(self.exec(), (tag, request)).await;
            }
        }
    }
    /// Gives a LUN's requests to the workers in their order, as far as one may be in flight with those
    /// before it.
    async fn serve_lun(&self, index: usize) {
        let lun = &self.luns[index];
        loop {
            let (tag, request) = lun.waiting.pop(self.exec()).await;
            lun.ended.wait(self.exec(), || lun.admits(request.phase).then_some(())).await;
            let (_, count) = lun.flight.get();
            lun.flight.set((request.phase, count + 1));
            self.jobs.push(self.exec(), (tag, request)).await;
        }
    }
    async fn work(&self) {
        let g = &self.wiring.geometry;
        let sectors = MAX_TARGETS * usize::from(g.sectors_per_page());
        let mut data = vec![0; sectors * SECTOR_BYTES];
        let mut metadata = vec![0; sectors * SECTOR_OOB];
        loop {
            let (tag, request) = self.jobs.pop(self.exec()).await;
            for target in request.targets() {
                self.wiring.issued(request.lun, request.phase, target);
            }
            let outcomes = match request.phase {
                FlashOp::Read => self.read(&request, &mut data, &mut metadata).await,
                FlashOp::Program => self.program(&request, &mut data, &mut metadata).await,
                _ => self.erase(&request).await,
            };
            let lun = &self.luns[request.lun.index()];
            let (phase, count) = lun.flight.get();
            lun.flight.set((phase, count - 1));
            lun.ended.wake(self.exec());
            for (target, outcome) in request.targets().iter().zip(&outcomes) {
                self.wiring.ended(request.lun, request.phase, target, outcome);
            }
            self.wiring.port.complete(tag, outcomes);
        }
    }

    /// The sectors that targets name, in their order.
    fn places(&self, lun: LunIndex, targets: &[Target]) -> Vec<Place> {
        let (g, first) = (&self.wiring.geometry, place_of(&self.wiring.geometry, lun));
        let planes = u32::from(g.planes);
        let of = |target: &Target| {
            let ((_, block, page), sectors) = (g.split_row(target.row), target.sectors);
            let plane = g.plane(block);
            let at = Place { plane, block: block.0 / planes, page: page.0, ..first };
            (sectors.first..sectors.end()).map(move |sector| Place { sector, ..at })
        };
        targets.iter().flat_map(of).collect()
    }

    async fn erase(&self, request: &FlashRequest) -> Outcomes {
        // One address names a block, whatever sectors the request names.
        let mut targets = [request.targets()[0]; MAX_TARGETS];
        let targets = &mut targets[..request.targets().len()];
        for (to, from) in targets.iter_mut().zip(request.targets()) {
            *to = *from;
            (to.sectors.first, to.sectors.count) = (0, 1);
        }
        let blocks = self.places(request.lun, targets);
        let ended = self.drive.erase_blocks(WRITES, &blocks).await;
        self.changed(request, targets, ended)
    }
    async fn program(&self, request: &FlashRequest, data: &mut [u8], metadata: &mut [u8]) -> Outcomes {
        let sectors = self.places(request.lun, request.targets());
        let (data, metadata) =
            (&mut data[..sectors.len() * SECTOR_BYTES], &mut metadata[..sectors.len() * SECTOR_OOB]);
        {
            let buffers = self.wiring.buffers.borrow();
            metadata.fill(UNMARKED);
            let mut at = 0;
            for Target { sectors, buffer, .. } in request.targets() {
                let (first, count) = (usize::from(sectors.first), usize::from(sectors.count));
                let from = &buffers.page(*buffer)[first * SECTOR_BYTES..][..count * SECTOR_BYTES];
                data[at * SECTOR_BYTES..][..from.len()].copy_from_slice(from);
                let record = buffers.oob(*buffer);
                for sector in metadata[at * SECTOR_OOB..].chunks_mut(SECTOR_OOB).take(count) {
                    sector[..record.len()].copy_from_slice(record);
                }
                at += count;
            }
        }
        let ended = self.drive.write(WRITES, &sectors, Moved::ToDrive(data), metadata).await;
        self.changed(request, request.targets(), ended)
    }
    /// The outcomes of a program or erase.
    fn changed(
        &self,
        request: &FlashRequest,
        targets: &[Target],
        ended: Result<(), VectorError>,
    ) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let failed = match ended {
            Ok(()) => return outcomes,
            Err(VectorError::Failed { status, failed, .. }) if status.is(status::WRITE_FAIL) => failed,
            // Nothing was done since a block has gone bad.
            Err(error) if error.is_block_refused() => u64::MAX,
            Err(_) => {
                let error = unsupported(self.exec(), &self.wiring.port, request.lun, request.phase);
                outcomes.fill(error);
                return outcomes;
            }
        };
        for (outcome, bits) in outcomes.iter_mut().zip(bits_of(targets, failed)) {
            if bits != 0 {
                outcome.status = FlashStatus::Failed;
            }
        }
        outcomes
    }

    async fn read(&self, request: &FlashRequest, data: &mut [u8], metadata: &mut [u8]) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let targets = request.targets();
        if targets.len() > 1 {
            let ended = self.read_targets(request.lun, targets, data, metadata).await;
            if ended.is_ok() {
                return outcomes;
            }
        }
        // A vector has one status, so that each page needs one of its own.
        for (outcome, target) in outcomes.iter_mut().zip(targets) {
            let one = core::slice::from_ref(target);
            let ended = self.read_targets(request.lun, one, data, metadata).await;
            let all = target.sectors.mask();
            *outcome = match ended {
                Ok(()) => Outcome::default(),
                Err(error) if error.is_empty_page() => Outcome { erased: true, ..Outcome::default() },
                Err(error) if error.is_high_ecc() => {
                    Outcome { worst_chunk: SHOULD_BE_MOVED, ..Outcome::default() }
                }
                Err(VectorError::Failed { status, failed, .. }) if status.is(status::ECC_FAIL) => {
                    let failed_sectors = (failed as u16) << target.sectors.first & all;
                    let oob_failed = failed_sectors == all;
                    let status = FlashStatus::Uncorrectable;
                    Outcome { status, failed_sectors, oob_failed, ..Outcome::default() }
                }
                Err(_) => unsupported(self.exec(), &self.wiring.port, request.lun, request.phase),
            };
        }
        outcomes
    }
    /// Reads pages into their buffers, and beside each the record of its first sector that could be read.
    async fn read_targets(
        &self,
        lun: LunIndex,
        targets: &[Target],
        data: &mut [u8],
        metadata: &mut [u8],
    ) -> Result<(), VectorError> {
        let sectors = self.places(lun, targets);
        let (data, metadata) =
            (&mut data[..sectors.len() * SECTOR_BYTES], &mut metadata[..sectors.len() * SECTOR_OOB]);
        let ended = self.drive.read(READS, &sectors, Moved::FromDrive(data), metadata).await;
        let failed = match &ended {
            Err(error) if !error.is_high_ecc() => match error {
                VectorError::Failed { failed, .. } => *failed,
                VectorError::Driver(_) => u64::MAX,
            },
            _ => 0,
        };
        let mut buffers = self.wiring.buffers.borrow_mut();
        let mut at = 0;
        for (target, failed) in targets.iter().zip(bits_of(targets, failed)) {
            let mut is_told = false;
            for (n, sector) in (target.sectors.first..target.sectors.end()).enumerate() {
                if failed >> n & 1 != 0 {
                    continue;
                }
                let from = &data[(at + n) * SECTOR_BYTES..][..SECTOR_BYTES];
                let to = usize::from(sector) * SECTOR_BYTES;
                buffers.page_mut(target.buffer)[to..][..SECTOR_BYTES].copy_from_slice(from);
                if !is_told {
                    let record = buffers.oob_mut(target.buffer);
                    let bytes = record.len();
                    record.copy_from_slice(&metadata[(at + n) * SECTOR_OOB..][..bytes]);
                    is_told = true;
                }
            }
            at += usize::from(target.sectors.count);
        }
        ended
    }
}

/// The bits of each target's addresses in a vector's bitmap, its first address lowest.
fn bits_of(targets: &[Target], failed: u64) -> impl Iterator<Item = u64> {
    let mut rest = failed;
    targets.iter().map(move |target| {
        let count = u32::from(target.sectors.count);
        let bits = rest & ((1 << count) - 1);
        rest >>= count;
        bits
    })
}
