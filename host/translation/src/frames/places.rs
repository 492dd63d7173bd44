//! How frames name what flash requests name, and where things lie in the host's memory.

use crate::target::SECTOR_OOB;
use aster_hostftl::driver::{ArrayInfo, CommandTag, REGION_BYTES, TAGS};
use aster_parties::TargetMemory;
use aster_ports::flash::Target;
use aster_units::{Geometry, LunIndex};
use aster_wire::array::{Blocks, Command, Opcode, SectorSpan};
use aster_wire::ocssd::TableHeader;

/// The array as the translation counts it, and as frames do.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub geometry: Geometry,
    lanes: u16,
}

impl Places {
    /// The same array as the drive reports.
    ///
    /// # Errors
    /// What differs, in words.
    pub fn of(geometry: Geometry, info: &ArrayInfo) -> Result<Self, &'static str> {
        let lanes = u16::from(info.lanes);
        let same = [
            (u16::from(info.channels) * lanes == geometry.channels, "channels"),
            (u32::from(info.dies) == geometry.luns_per_channel(), "dies"),
            (info.planes == geometry.planes, "planes"),
            (info.blocks == geometry.blocks_per_lun, "blocks"),
            (info.pages == geometry.pages_per_block, "pages"),
            (info.sectors == geometry.sectors_per_page(), "sectors"),
        ];
        match same.into_iter().find(|(is_same, _)| !is_same) {
            Some((_, what)) => Err(what),
            None => Ok(Places { geometry, lanes }),
        }
    }
    /// A command for a block of a LUN, for sector 0 of its first page.
    pub fn command(&self, opcode: Opcode, lun: LunIndex, block: u32) -> Command {
        let at = self.geometry.lun_addr(lun);
        let die = u16::from(at.lun) * u16::from(self.geometry.ways) + u16::from(at.way);
        let blocks = Blocks::One { lane: (at.channel % self.lanes) as u8, block: block as u16 };
        Command::new(opcode, 0, (at.channel / self.lanes) as u8, die as u8, blocks)
    }
    /// A command for a target of a flash request. Rows are counted as the drive shows its array.
    pub fn target(&self, opcode: Opcode, lun: LunIndex, target: &Target) -> Command {
        let (_, block, page) = self.geometry.split_row(target.row);
        let sectors = SectorSpan::of(target.sectors.first, target.sectors.count.max(1));
        self.command(opcode, lun, block.0).at(page.0, sectors)
    }
}

/// Where things lie in the host's memory beside the driver's region: a run of OOB bytes for each command,
/// since two reads may bring sectors of one page into one buffer at once, and a report.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    run: usize,
    report: usize,
}

impl Layout {
    /// For pages of this array.
    pub fn new(geometry: &Geometry) -> Self {
        let run = SECTOR_OOB * usize::from(geometry.sectors_per_page());
        let report = size_of::<TableHeader>() + geometry.blocks_per_lun as usize;
        Layout { run, report: report.next_multiple_of(SECTOR_OOB) }
    }
    /// Bytes in all, the driver's included.
    pub const fn bytes(&self) -> usize {
        REGION_BYTES + TAGS * self.run + self.report
    }
    /// Where the driver's region begins.
    pub const DRIVER: u64 = TargetMemory::BYTES_BASE;
    /// Where the OOB bytes of a command's page lie.
    pub const fn oob(&self, command: CommandTag) -> u64 {
        Self::DRIVER + (REGION_BYTES + command.index() * self.run) as u64
    }
    /// Where a report lies, and its bytes.
    pub const fn report(&self) -> (u64, usize) {
        (Self::DRIVER + (REGION_BYTES + TAGS * self.run) as u64, self.report)
    }
}
