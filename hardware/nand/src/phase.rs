//! Where in a command a target is (ONFI 5.1 §5): what has been latched so far, and what may follow.

use crate::lun::PageAddr;
use aster_units::{BlockAddr, Column};

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

/// Commands that collect address cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setup {
    Read,
    ChangeReadColumn,
    ChangeReadColumnEnhanced,
    Program,
    /// 85h while the page is being loaded.
    ChangeWriteColumn(Target),
    Erase,
    StatusEnhanced,
    ReadId,
    ParameterPage,
    UniqueId,
    GetFeatures,
    SetFeatures,
}

impl Setup {
    /// Address cycles that the command collects.
    pub const fn cycles(self) -> u8 {
        match self {
            Setup::Read | Setup::ChangeReadColumnEnhanced | Setup::Program => ADDRESS_CYCLES,
            Setup::ChangeReadColumn | Setup::ChangeWriteColumn(_) => COLUMN_CYCLES,
            Setup::Erase | Setup::StatusEnhanced => ROW_CYCLES,
            Setup::ReadId
            | Setup::ParameterPage
            | Setup::UniqueId
            | Setup::GetFeatures
            | Setup::SetFeatures => 1,
        }
    }
}

/// What a complete address waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pending {
    /// 30h.
    Read(Target, Column),
    /// E0h, for the column in the register that is selected.
    Column(Column),
    /// E0h, for column, LUN and plane.
    Select(Target, Column),
    /// D0h.
    Erase(u8, BlockAddr),
}

/// Where in a command the target is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Between commands.
    Idle,
    /// After 00h without an address: data out shows the register again, or five addresses begin a READ.
    Returning,
    /// Address cycles come in, lowest first.
    Addressing { setup: Setup, got: u8, bits: u64 },
    /// A second cycle is due.
    Pending(Pending),
    /// PROGRAM: data comes in.
    Loading(Target),
    /// SET FEATURES: four bytes come in.
    FeatureData { address: u8 },
}

/// What data out shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum View {
    /// The source.
    Data,
    /// The status of a LUN.
    Status(u8),
}
