//! I1: the engine (or the RTL's pins) on one side, a NAND package on the other.
//!
//! A package is called once per latch and once per burst, with the times of the bus cycles. It checks
//! what ONFI requires of the controller. A violation is a [`ProtocolError`]; a failure of the array is a
//! status bit.

use aster_txn::Latch;
use aster_units::{Column, Content, Duration, Instant, RowAddr};
use core::fmt;

/// What the controller did wrong on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProtocolError {
    /// A command that a busy LUN doesn't take.
    Busy {
        /// The LUN behind the chip enable.
        lun: u8,
        /// The command latched.
        command: u8,
    },
    /// A command that the package doesn't know or doesn't take in this state.
    UnexpectedCommand {
        /// The command latched.
        command: u8,
    },
    /// An address cycle where none was expected.
    UnexpectedAddress,
    /// A data burst where none was expected.
    UnexpectedData,
    /// Data bursts past the end of the page register or parameter.
    Length {
        /// Bytes available from the column on.
        available: u32,
        /// Bytes asked for.
        requested: u32,
    },
    /// A row address outside the array.
    Row {
        /// The row.
        row: RowAddr,
    },
    /// A row address that doesn't go with those before it in a multi-plane command: it repeats a plane or
    /// names another page.
    Planes {
        /// The row.
        row: RowAddr,
    },
    /// A column address outside the page.
    Column {
        /// The column.
        column: Column,
    },
    /// A timing parameter was violated.
    Wait {
        /// The parameter's datasheet name.
        parameter: &'static str,
        /// The least it may be.
        needed: Duration,
        /// What it was.
        found: Duration,
    },
    /// The package's data interface is in another mode than the one that the controller drives.
    DataMode,
    /// More than one package drives the bus.
    Contention,
    /// No enabled chip can answer.
    NotSelected,
    /// The drive keeps fingerprints, so that the page's bytes are not known.
    NoBytes,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProtocolError::Busy { lun, command } => {
                write!(f, "command {command:02X}h while LUN {lun} is busy")
            }
            ProtocolError::UnexpectedCommand { command } => {
                write!(f, "command {command:02X}h is not expected here")
            }
            ProtocolError::UnexpectedAddress => f.write_str("an address cycle that no command asked for"),
            ProtocolError::UnexpectedData => f.write_str("a data burst that no command asked for"),
            ProtocolError::Length { available, requested } => {
                write!(f, "a burst of {requested} bytes where {available} are left")
            }
            ProtocolError::Row { row } => write!(f, "row address {:06X}h is outside the array", row.0),
            ProtocolError::Planes { row } => {
                write!(f, "row address {:06X}h doesn't go with the other planes of its command", row.0)
            }
            ProtocolError::Column { column } => write!(f, "column {} is outside the page", column.0),
            ProtocolError::Wait { parameter, needed, found } => {
                write!(f, "{parameter} is {needed} at least, but was {found}")
            }
            ProtocolError::DataMode => f.write_str("the package's data interface is in another mode"),
            ProtocolError::Contention => f.write_str("more than one package drives the bus"),
            ProtocolError::NotSelected => f.write_str("no selected chip answers"),
            ProtocolError::NoBytes => {
                f.write_str("the drive keeps fingerprints: this page has no bytes to show")
            }
        }
    }
}

/// The data interface that a package or an engine is in (ONFI 5.1 §4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum DataMode {
    /// Asynchronous, single data rate: where every package boots (B12).
    Sdr,
    /// Source-synchronous with a clock.
    NvDdr,
    /// DQS without a clock; toggle-mode packages behave alike here.
    NvDdr2,
}

/// A data interface with its ONFI timing mode: what SET FEATURES 01h chooses, and what an engine drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Interface {
    /// The data interface.
    pub mode: DataMode,
    /// Its timing mode number.
    pub timing_mode: u8,
}

impl Interface {
    /// Every package's interface after power-on and RESET: SDR, mode 0 (ONFI 5.1 §4.1).
    pub const POWER_ON: Interface = Interface { mode: DataMode::Sdr, timing_mode: 0 };
}

/// The times of a burst's bus cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BurstTiming {
    /// The first data strobe.
    pub first: Instant,
    /// The last data strobe.
    pub last: Instant,
    /// The mode it is driven in.
    pub mode: DataMode,
}

/// The times of a command of three steps: a first cycle, addresses in a row, a second cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandTimes {
    /// The edge of the first cycle's latch.
    pub first: Instant,
    /// The edge of the first address latch.
    pub addresses: Instant,
    /// From one address latch to the next.
    pub cycle: Duration,
    /// The edge of the second cycle's latch.
    pub second: Instant,
}

/// The times of a READ STATUS that is alone between CE# low and CE# high.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusTimes {
    /// CE# goes low.
    pub selected: Instant,
    /// The edge of the command latch.
    pub command: Instant,
    /// The status byte's strobes.
    pub burst: BurstTiming,
    /// CE# goes high.
    pub released: Instant,
}

/// Page content as it passes between register and stages in the model: plain, without being encoded into
/// code words.
#[derive(Clone, Copy, Debug)]
pub struct PageData<'a> {
    /// The scale of `data`.
    pub content: Content,
    /// All sectors of the page, plain: before scrambling, in the scale of `content`.
    pub data: &'a [u8],
    /// The firmware's OOB bytes.
    pub oob: &'a [u8],
    /// The scrambler's seed stored with the page.
    pub seed: u32,
}

/// What a package drives in answer to a data-out burst.
pub enum DataOut<'a> {
    /// Literal bytes: status, identification, features, raw pages.
    Bytes(&'a [u8]),
    /// Columns `column .. column + length` of a page that was written through the stages. The code words
    /// are not materialised. `flips` are the bit errors of this read, as ascending bit positions in the
    /// raw page (bit 7 of byte 0 is position 0).
    Page {
        /// Where the burst begins.
        column: Column,
        /// What was written.
        page: PageData<'a>,
        /// Which bits read wrong.
        flips: &'a [u32],
    },
    /// Columns of an erased page: every bit reads 1, except those in `flips`.
    Erased {
        /// Where the burst begins.
        column: Column,
        /// Which bits read 0.
        flips: &'a [u32],
    },
}

/// What a package would drive if it were strobed from now on. The number of strobes is not known yet.
pub struct Shown<'a> {
    /// The data, from the byte that the next strobe brings to the end.
    pub data: DataOut<'a>,
    /// Register data (READ ID, READ STATUS, GET FEATURES): in NV-DDR and NV-DDR2 each byte comes twice,
    /// once with each edge of the strobe (ONFI 5.1 §4, the data interface's rule for these commands).
    pub twice: bool,
}

/// What the controller drives in a data-in burst.
pub enum DataIn<'a> {
    /// Literal bytes.
    Bytes(&'a [u8]),
    /// A whole page from column 0 on, before the stages' encoding. The package keeps it plain (design
    /// §4).
    Page(PageData<'a>),
}

/// One NAND package behind one chip enable.
pub trait Package {
    /// CE# goes low (`true`) or high.
    ///
    /// # Errors
    /// A violated wait.
    fn select(&mut self, at: Instant, on: bool) -> Result<(), ProtocolError>;

    /// A command or address latch; `at` is the latching edge.
    ///
    /// # Errors
    /// What the controller did wrong; the latch has no effect then.
    fn latch(&mut self, at: Instant, latch: Latch) -> Result<(), ProtocolError>;

    /// Latches several addresses in a row: `values`, the first at `first`, then one every `cycle`. The
    /// effect is that of one call of [`Package::latch`] per value. A package may implement a shorter way
    /// to the same effect.
    ///
    /// # Errors
    /// What the controller did wrong, and at which of the latches. The latches before that one have taken
    /// effect.
    #[inline]
    fn addresses(
        &mut self,
        first: Instant,
        cycle: Duration,
        values: &[u8],
    ) -> Result<(), (usize, ProtocolError)> {
        for (i, &value) in values.iter().enumerate() {
            self.latch(first + cycle * i as u64, Latch::Address(value)).map_err(|error| (i, error))?;
        }
        Ok(())
    }

    /// A command of three steps at once: `first`, `addresses`, `second`. Returns true if the package has
    /// taken it, with the effect of its latches one by one. Otherwise nothing has happened, and the
    /// controller latches them one by one: a package may know no shorter way, or an error may be in the way.
    /// By default it knows none.
    #[inline]
    fn command(&mut self, _at: &CommandTimes, _first: u8, _addresses: &[u8], _second: u8) -> bool {
        false
    }

    /// READ STATUS at once, from CE# low to CE# high, of a chip that isn't selected. Returns the status byte
    /// if the package has taken it; as in [`Package::command`], nothing has happened otherwise.
    #[inline]
    fn read_status(&mut self, _at: &StatusTimes) -> Option<u8> {
        None
    }

    /// The controller fetches `length` bytes. `take` gets them by reference, without a copy.
    ///
    /// # Errors
    /// What the controller did wrong; `take` is not called then.
    fn data_out<R>(
        &mut self,
        timing: BurstTiming,
        length: u32,
        take: impl FnOnce(&DataOut<'_>) -> R,
    ) -> Result<R, ProtocolError>;

    /// What strobes from `at` on would bring; `None` when no data are due. It doesn't strobe: that is
    /// [`Package::data_out`], which can be called for an RTL channel only when the burst has ended on its
    /// pins.
    fn shows(&mut self, at: Instant) -> Option<Shown<'_>>;

    /// Whether the package waits for bytes that come twice in NV-DDR and NV-DDR2, as in [`Shown::twice`]:
    /// the parameters of SET FEATURES.
    fn takes_twice(&self) -> bool;

    /// The controller sends `length` bytes.
    ///
    /// # Errors
    /// What the controller did wrong.
    fn data_in(&mut self, timing: BurstTiming, length: u32, data: DataIn<'_>) -> Result<(), ProtocolError>;

    /// The R/B# pin: high when every LUN behind it is ready. Cosmos+ leaves it unused (P17).
    fn ready(&self, at: Instant) -> bool;
    /// When that pin goes high if the controller sends nothing more: `at` if it is high already,
    /// [`Instant::MAX`] if it never goes high.
    fn ready_from(&self, at: Instant) -> Instant;
}
