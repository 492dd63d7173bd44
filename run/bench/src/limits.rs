//! Bounds for any controller, from the standard's and the profile's times alone.

use crate::operation::FlashOperation as Op;
use crate::work::{BenchOperation, BenchWork};
use aster_channel::BusTiming;
use aster_flash::{FlashConfig, PackageVariant};
use aster_ports::layout::PageLayout;
use aster_units::{Duration, Geometry, PageInBlock, SECTOR_BYTES, SectorRange};

/// Upper bounds in operations per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// The bus only strobes the bytes that operations must move: data, parity and OOB. `None` when they move
    /// none.
    pub bus: Option<f64>,
    /// Each LUN's array is always at work or moving its own bytes (B24).
    pub array: f64,
    /// Data bytes per operation; the mean if there are several kinds.
    pub data_bytes: f64,
}

impl Limits {
    /// The smaller of the two.
    pub fn least(&self) -> f64 {
        self.bus.map_or(self.array, |bus| bus.min(self.array))
    }
}

/// The times from which the bounds are computed.
pub(crate) struct Source {
    geometry: Geometry,
    layout: PageLayout,
    bus: BusTiming,
    /// Mean over the pages of a block.
    read: Duration,
    program: Duration,
    erase: Duration,
    variant: PackageVariant,
}

/// One kind of operation.
#[derive(Clone, Copy)]
struct Cost {
    /// Its bytes on the bus.
    bus: Duration,
    /// The whole operation on a LUN without contention for the bus.
    alone: Duration,
    data_bytes: f64,
}

impl Cost {
    /// One after the other.
    fn and(self, other: Cost) -> Cost {
        Cost {
            bus: self.bus + other.bus,
            alone: self.alone + other.alone,
            data_bytes: self.data_bytes + other.data_bytes,
        }
    }
    /// The array's time for `times` such operations together, and the bus's for each.
    fn together(self, times: u64) -> Cost {
        let array = self.alone - self.bus;
        let bus = self.bus * times;
        Cost { bus, alone: bus + array, data_bytes: self.data_bytes * times as f64 }
    }
    /// `times` such operations, of which one is in the array while its neighbour is on the bus.
    fn cached(self, times: u64) -> Cost {
        let array = self.alone - self.bus;
        let alone = self.alone + self.bus.max(array) * (times - 1);
        Cost { bus: self.bus * times, alone, data_bytes: self.data_bytes * times as f64 }
    }
    /// The same operation with `array` as the array's time.
    fn in_array(self, array: Duration) -> Cost {
        Cost { alone: self.bus + array, ..self }
    }
}

impl Source {
    pub(crate) fn new(flash: &FlashConfig, bus: BusTiming) -> Self {
        let geometry = flash.shape.geometry;
        let mean = |times: &[Duration; 3]| {
            let pages = (0..geometry.pages_per_block).map(PageInBlock);
            let sum: u64 =
                pages.map(|page| times[flash.shape.cells.page_type(page) as usize].as_picos()).sum();
            Duration::from_picos(sum / u64::from(geometry.pages_per_block))
        };
        Source {
            geometry,
            layout: flash.layout,
            bus,
            read: mean(&flash.t_r),
            program: mean(&flash.t_prog),
            erase: flash.t_bers,
            variant: flash.variant,
        }
    }

    pub(crate) fn transfers_per_second(&self) -> f64 {
        2.0 / self.bus.t_pair_out.as_secs_f64()
    }

    /// The bounds of `work` with `depth` requests in flight.
    pub(crate) fn of(&self, work: &BenchWork, depth: u16) -> Limits {
        let sectors = work.sectors.unwrap_or(self.layout.sectors()).clamp(1, self.layout.sectors());
        let bursts = self.layout.bursts(SectorRange::whole(sectors));
        let read_bytes: u32 = bursts.as_slice().iter().map(|span| span.length.next_multiple_of(2)).sum();
        let cost = |bus: Duration, array, data_bytes| Cost { bus, alone: bus + array, data_bytes };
        let read = cost(
            self.bus.t_pair_out * u64::from(read_bytes / 2),
            self.read,
            f64::from(sectors) * SECTOR_BYTES as f64,
        );
        let program = cost(
            self.bus.t_pair_in * u64::from(self.layout.whole().length.div_ceil(2)),
            self.program,
            f64::from(self.geometry.page_bytes),
        );
        let erase = cost(Duration::ZERO, self.erase, 0.0);
        let mut luns = f64::from(self.geometry.luns_per_channel());
        let of_flash;
        let kinds: &[Cost] = match work.operation {
            BenchOperation::Read => &[read],
            BenchOperation::Program => &[program],
            BenchOperation::Erase => &[erase],
            BenchOperation::Mixed => &[read, program],
            BenchOperation::Flash(operation) => {
                luns /= operation.luns() as f64;
                let buffers = u32::from(depth) * operation.luns() as u32 / self.geometry.luns_per_channel();
                let pages = operation.pages(self.geometry.planes, buffers).max(1);
                of_flash = [self.of_flash(operation, u64::from(pages), read, program, erase)];
                &of_flash
            }
        };
        let mean = |of: &dyn Fn(&Cost) -> f64| kinds.iter().map(of).sum::<f64>() / kinds.len() as f64;
        let bus = mean(&|cost| cost.bus.as_secs_f64());
        let alone = mean(&|cost| cost.alone.as_secs_f64());
        Limits {
            bus: (bus > 0.0).then(|| 1.0 / bus),
            array: luns / alone,
            data_bytes: mean(&|cost| cost.data_bytes),
        }
    }

    /// One flash operation of `pages` pages.
    fn of_flash(&self, operation: Op, pages: u64, read: Cost, program: Cost, erase: Cost) -> Cost {
        let v = &self.variant;
        let off_bus =
            |cost: Cost| Cost { bus: Duration::ZERO, alone: cost.alone - cost.bus, data_bytes: 0.0 };
        let suspend = Cost { bus: Duration::ZERO, alone: v.suspend, data_bytes: 0.0 };
        match operation {
            Op::ReadCache | Op::ReadCacheRandom => read.cached(pages),
            Op::ReadPlanes => read.together(pages),
            Op::ReadSlc => read.in_array(v.slc_read),
            Op::ReadRetry | Op::ReadGang => read,
            Op::ProgramCache => program.cached(pages),
            Op::ProgramPlanes => program.together(pages),
            Op::ProgramPair if v.commands.program_cache => program.cached(pages),
            Op::ProgramPair => program.and(program),
            Op::ProgramOneShot => program.in_array(v.one_shot_program).together(pages),
            Op::ProgramSlc => program.in_array(v.slc_program),
            Op::ProgramGang => program,
            Op::ProgramSuspend => program.and(suspend).and(read),
            Op::ErasePlanes => erase,
            Op::EraseSlc => erase.in_array(v.slc_erase),
            Op::EraseSuspend => erase.and(suspend).and(read),
            Op::Copyback => Cost { data_bytes: program.data_bytes, ..off_bus(read).and(off_bus(program)) },
            Op::CopybackChanged => Cost { data_bytes: program.data_bytes, ..read.and(program) },
        }
    }
}
