//! What survives power-off.

use aster_board::{EmmcCells, SharedEmmcCells};
use aster_nand::NandCells;
use aster_parties::WriteHistory;
use aster_ports::medium::{Medium, Nvram, SharedBacklog, SharedNvram};

/// The parts of a drive that keep their content without power: NAND cells, NVRAM and eMMC.
pub struct Media {
    pub(crate) nand: NandSource,
    pub(crate) nvram: SharedNvram,
    pub(crate) emmc: SharedEmmcCells,
    pub(crate) serial: Option<String>,
    pub(crate) backlog: Option<SharedBacklog>,
    pub(crate) history: Option<Box<dyn WriteHistory>>,
}

pub(crate) enum NandSource {
    Fresh,
    Cells(NandCells),
    Image(Box<dyn Medium>),
}

/// Bytes of the board's NVRAM.
pub const NVRAM_BYTES: usize = 64 << 10;
/// Bytes of the board's eMMC.
pub const EMMC_BYTES: u64 = 768 << 10;

impl Media {
    /// Fresh cells in memory and an empty NVRAM: a drive from the factory.
    pub fn fresh() -> Self {
        Media::with(NandSource::Fresh, Nvram::volatile(NVRAM_BYTES))
    }
    fn with(nand: NandSource, nvram: SharedNvram) -> Self {
        let emmc = EmmcCells::in_memory(EMMC_BYTES);
        Media { nand, nvram, emmc, serial: None, backlog: None, history: None }
    }
    /// Cells, NVRAM and eMMC of a device that has lost power ([`crate::Device::power_off`]).
    pub(crate) fn kept(
        cells: NandCells,
        nvram: SharedNvram,
        emmc: SharedEmmcCells,
        serial: Option<String>,
        backlog: Option<SharedBacklog>,
    ) -> Self {
        Media { nand: NandSource::Cells(cells), nvram, emmc, serial, backlog, history: None }
    }
    /// Cells on `nand`, an image that is created if it is empty, an NVRAM, and an empty eMMC.
    pub fn on_image(nand: Box<dyn Medium>, nvram: SharedNvram) -> Self {
        Media::with(NandSource::Image(nand), nvram)
    }
    /// The same with an eMMC of [`EMMC_BYTES`] bytes that `medium` keeps.
    pub fn with_emmc(self, medium: Box<dyn Medium>) -> Self {
        Media { emmc: EmmcCells::on_medium(medium), ..self }
    }
    /// What the eMMC holds.
    pub fn emmc(&self) -> &EmmcCells {
        &self.emmc
    }
    /// Puts the media on a disk that may fill up temporarily. The drive then parks its host's writes.
    pub fn with_backlog(self, backlog: SharedBacklog) -> Self {
        Media { backlog: Some(backlog), ..self }
    }
    /// Has the drive hold, when it has booted, what `history` says was written to it, as if that had taken
    /// its time. The media must be those of a drive that was never used.
    pub fn written_by(self, history: Box<dyn WriteHistory>) -> Self {
        Media { history: Some(history), ..self }
    }
    /// Gives the media their own serial number, from which the subsystem's name and the namespace's UUID
    /// follow: printable ASCII, at most 20 characters (NVMe 1.4 §5.15.2.2). Otherwise it follows from the
    /// profile's seed.
    pub fn with_serial(self, serial: String) -> Self {
        Media { serial: Some(serial), ..self }
    }
}
