//! What no controller can exceed, from the standard's times and the profile's alone.

use super::work::{Operation, Work};
use crate::build::{self, BuildError};
use crate::profile::Profile;
use aster_channel::BusTiming;
use aster_ports::layout::PageLayout;
use aster_units::{CellMode, Duration, Geometry, PageInBlock, SECTOR_BYTES, SectorRange};

/// Upper bounds in operations a second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// The bus does nothing but strobe the bytes that operations must move: data, parity and OOB. `None` when they move none.
    pub bus: Option<f64>,
    /// Each LUN does nothing but work in its array and move its own bytes (B24).
    pub array: f64,
    /// Data bytes of an operation, the mean where there are several kinds.
    pub data_bytes: f64,
}

impl Limits {
    /// The smaller of the two.
    pub fn least(&self) -> f64 {
        self.bus.map_or(self.array, |bus| bus.min(self.array))
    }
}

/// What the bounds follow from.
pub(super) struct Source {
    geometry: Geometry,
    layout: PageLayout,
    bus: BusTiming,
    /// Mean over the pages of a block.
    read: Duration,
    program: Duration,
    erase: Duration,
}

/// One kind of operation.
#[derive(Clone, Copy)]
struct Cost {
    bus: Duration,
    array: Duration,
    data_bytes: f64,
}

impl Source {
    pub(super) fn new(profile: &Profile) -> Result<Self, BuildError> {
        let flash = build::flash(profile)?;
        let geometry = flash.shape.geometry;
        let mean = |times: &[Duration; 3]| {
            let cells = CellMode::from(profile.package.cells);
            let pages = 0..geometry.pages_per_block;
            let sum: u64 =
                pages.map(|page| times[cells.page_type(PageInBlock(page)) as usize].as_picos()).sum();
            Duration::from_picos(sum / u64::from(geometry.pages_per_block))
        };
        Ok(Source {
            geometry,
            layout: flash.layout,
            bus: build::bus_timing(profile)?,
            read: mean(&flash.t_r),
            program: mean(&flash.t_prog),
            erase: flash.t_bers,
        })
    }

    pub(super) fn transfers_per_second(&self) -> f64 {
        2.0 / self.bus.t_pair_out.as_secs_f64()
    }

    pub(super) fn of(&self, work: &Work) -> Limits {
        let sectors = work.sectors.unwrap_or(self.layout.sectors()).clamp(1, self.layout.sectors());
        let bursts = self.layout.bursts(SectorRange::whole(sectors));
        let read_bytes: u32 = bursts.as_slice().iter().map(|span| span.length.next_multiple_of(2)).sum();
        let read = Cost {
            bus: self.bus.t_pair_out * u64::from(read_bytes / 2),
            array: self.read,
            data_bytes: f64::from(sectors) * SECTOR_BYTES as f64,
        };
        let program = Cost {
            bus: self.bus.t_pair_in * u64::from(self.layout.whole().length.div_ceil(2)),
            array: self.program,
            data_bytes: f64::from(self.geometry.page_bytes),
        };
        let erase = Cost { bus: Duration::ZERO, array: self.erase, data_bytes: 0.0 };
        let kinds: &[Cost] = match work.operation {
            Operation::Read => &[read],
            Operation::Program => &[program],
            Operation::Erase => &[erase],
            Operation::Mixed => &[read, program],
        };
        let mean = |of: &dyn Fn(&Cost) -> f64| kinds.iter().map(of).sum::<f64>() / kinds.len() as f64;
        let bus = mean(&|cost| cost.bus.as_secs_f64());
        let alone = mean(&|cost| (cost.bus + cost.array).as_secs_f64());
        Limits {
            bus: (bus > 0.0).then(|| 1.0 / bus),
            array: f64::from(self.geometry.luns_per_channel()) / alone,
            data_bytes: mean(&|cost| cost.data_bytes),
        }
    }
}
