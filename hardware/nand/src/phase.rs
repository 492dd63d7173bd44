//! A target's position in a command (ONFI 5.1 §5): what has been latched so far, and what may follow.

use crate::work::{PageAddr, Suspends};
use aster_units::Column;

/// Column and row: the longest address (ONFI 5.1 §3.1: two and three cycles here).
const ADDRESS_CYCLES: u8 = 5;
const COLUMN_CYCLES: u8 = 2;
const ROW_CYCLES: u8 = 3;

/// A page behind the chip enable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub lun: u8,
    pub at: PageAddr,
}

/// A vendor's command cycle before the first cycle of READ, PROGRAM or ERASE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Prefix {
    /// None.
    Plain,
    /// The cells are used as SLC.
    Slc,
    /// This page of the word line, 0 to 2.
    Page(u8),
}

/// A page that is being loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Loading {
    pub target: Target,
    /// A prefix has said which page of the word line it is.
    pub one_shot: bool,
    /// Its register keeps what COPYBACK READ has read.
    pub copyback: bool,
}

/// Commands that collect address cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setup {
    Read,
    ChangeReadColumn,
    ChangeReadColumnEnhanced,
    Program,
    /// 85h between commands.
    Copyback,
    /// 85h while the page is being loaded.
    ChangeWriteColumn(Loading),
    Erase,
    StatusEnhanced,
    Suspend(Suspends),
    Resume(Suspends),
    ResetLun,
    ReadId,
    ParameterPage,
    UniqueId,
    GetFeatures,
    SetFeatures,
    OdtConfigure,
    ZqCalibration {
        long: bool,
    },
}

impl Setup {
    /// Address cycles that the command collects.
    pub const fn cycles(self) -> u8 {
        match self {
            Setup::Read | Setup::ChangeReadColumnEnhanced | Setup::Program | Setup::Copyback => {
                ADDRESS_CYCLES
            }
            Setup::ChangeReadColumn | Setup::ChangeWriteColumn(_) => COLUMN_CYCLES,
            Setup::Erase | Setup::StatusEnhanced | Setup::Suspend(_) | Setup::Resume(_) | Setup::ResetLun => {
                ROW_CYCLES
            }
            Setup::ReadId
            | Setup::ParameterPage
            | Setup::UniqueId
            | Setup::GetFeatures
            | Setup::SetFeatures
            | Setup::OdtConfigure
            | Setup::ZqCalibration { .. } => 1,
        }
    }
}

/// What a complete address waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PendingCommand {
    /// 30h, 31h, 32h or 35h.
    Read(Target, Column),
    /// E0h, for the column in the register that is selected.
    Column(Column),
    /// E0h, for column, LUN and plane.
    Select(Target, Column),
    /// D0h or D1h.
    Erase(Target),
}

/// The target's position in a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BusPhase {
    /// Between commands.
    Idle,
    /// After 00h without an address: data out shows the register again, or five address cycles begin a
    /// READ.
    Returning,
    /// Address cycles come in, lowest first.
    Addressing { setup: Setup, got: u8, bits: u64 },
    /// A second cycle is expected.
    Pending(PendingCommand),
    /// PROGRAM: data comes in.
    Loading(Loading),
    /// SET FEATURES: four bytes come in.
    FeatureData { address: u8 },
    /// ODT CONFIGURE: four bytes come in.
    OdtData { lun: u8 },
}

/// What data out shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum View {
    /// The source.
    Data,
    /// The status of a LUN: of all its planes, or of the one that READ STATUS ENHANCED named.
    Status(u8, Option<u8>),
}
