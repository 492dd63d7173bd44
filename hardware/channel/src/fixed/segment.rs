//! The segments that a fixed controller can put on the bus. The cycles of each segment are fixed, as in a
//! circuit.

use super::config::FixedConfig;
use aster_codec::seed_of_row;
use aster_ports::flash::{Feature, Target};
use aster_txn::{Descriptor, Direction, Txn};
use aster_units::{Column, Duration, SectorRange};
use aster_wire::onfi::{FEATURE_BYTES, command};

/// The commands of a fixed controller (P18: 00h–30h, 05h–E0h, 80h–10h, 60h–D0h, 70h, EFh, EEh, FFh), and
/// those of a package that it was reconfigured for: of TLC (C83, P19), or with multi-plane operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentKind {
    /// READ: array to page register.
    Trigger,
    /// CHANGE READ COLUMN and the sectors' bursts, through the stages.
    Transfer,
    /// CHANGE READ COLUMN and the first spare bytes, as they are.
    TransferSpare,
    /// PROGRAM with the page's burst, through the stages.
    Program,
    /// PROGRAM of a lower page of a TLC word line, after the vendor's prefix. The page waits in the
    /// package for the others (C83).
    Load,
    /// PROGRAM of the word line's last page, after its prefix: the array programs all three in one shot.
    ProgramLine,
    /// BLOCK ERASE.
    Erase,
    /// READ STATUS.
    Status,
    /// RESET.
    Reset,
    /// SET FEATURES with its four bytes, and the time that it takes.
    SetFeatures,
    /// GET FEATURES, the time that it takes, and its four bytes.
    GetFeatures,
}

/// Kinds of segments.
pub const SEGMENT_KINDS: usize = 11;

impl SegmentKind {
    /// Every kind, in the order of its index.
    pub const ALL: [SegmentKind; SEGMENT_KINDS] = [
        SegmentKind::Trigger,
        SegmentKind::Transfer,
        SegmentKind::TransferSpare,
        SegmentKind::Program,
        SegmentKind::Load,
        SegmentKind::ProgramLine,
        SegmentKind::Erase,
        SegmentKind::Status,
        SegmentKind::Reset,
        SegmentKind::SetFeatures,
        SegmentKind::GetFeatures,
    ];
    /// True for short segments that start an array. They overtake segments that move data or read a
    /// status, since it is more important to keep the dies busy than the bus.
    pub(super) const fn starts_array(self) -> bool {
        matches!(self, SegmentKind::Trigger | SegmentKind::Erase | SegmentKind::Reset)
    }
    /// Its name in waveforms and errors: the same as the software-defined controller's.
    pub const fn name(self) -> &'static str {
        match self {
            SegmentKind::Trigger => "read",
            SegmentKind::Transfer => "read transfer",
            SegmentKind::TransferSpare => "read raw",
            SegmentKind::Program => "program",
            SegmentKind::Load => "load word line",
            SegmentKind::ProgramLine => "program word line",
            SegmentKind::Erase => "erase",
            SegmentKind::Status => "read status",
            SegmentKind::Reset => "reset",
            SegmentKind::SetFeatures => "set features",
            SegmentKind::GetFeatures => "get features",
        }
    }
}

/// One segment to one LUN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// What it does.
    pub kind: SegmentKind,
    /// The page, and where its data are.
    pub target: Target,
    /// The feature, if it is about one.
    pub feature: Feature,
    /// Its place among the segments of other planes.
    pub planes: PlaneTurn,
}

/// A segment's place in a multi-plane operation (ONFI 5.1 §5.11, §5.14, §5.20). The default is that of a
/// segment by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlaneTurn {
    /// Another plane's segment came before it.
    pub follows: bool,
    /// Another plane's segment comes after it. The last one starts the array.
    pub goes_on: bool,
}

/// Waits that a controller adds to those that the bus requires. Waits after a latch overlap the bus's
/// own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Waits {
    /// Address latch to data input.
    pub(super) address_to_data: Duration,
    /// E0h to data output.
    pub(super) column_to_data: Duration,
    /// 70h to status.
    pub(super) status: Duration,
    /// After a segment's last cycle.
    pub(super) after: Duration,
    /// The package's time for SET FEATURES, since the controller doesn't poll.
    pub(super) set_features: Duration,
    /// From GET FEATURES' address to its data.
    pub(super) get_features: Duration,
}

/// The maximum of tFEAT, followed by tRR (ONFI 5.1 §4.21).
const T_FEAT: Duration = Duration::from_nanos(1_000 + 20);

impl Waits {
    pub(super) const NONE: Waits = Waits {
        address_to_data: Duration::ZERO,
        column_to_data: Duration::ZERO,
        status: Duration::ZERO,
        after: Duration::ZERO,
        set_features: T_FEAT,
        get_features: T_FEAT,
    };
}

/// Where a LUN is on its channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Chip enable.
    pub(super) way: usize,
    /// Other LUNs share the chip enable, or planes work together, so that status and column commands must
    /// name LUN and plane.
    pub(super) names_row: bool,
}

/// READ STATUS transfers one byte.
const STATUS_BYTES: u32 = 1;

fn pause(txn: &mut Txn, wait: Duration) {
    if !wait.is_zero() {
        txn.timer(wait);
    }
}

impl Segment {
    /// Writes the segment's cycles into `txn`.
    pub(super) fn lay_out(&self, txn: &mut Txn, place: Place, config: &FixedConfig, waits: &Waits) {
        let Target { row, sectors, buffer } = self.target;
        txn.begin(self.name(), 1 << place.way);
        match self.kind {
            SegmentKind::Trigger => {
                let confirm = self.confirm(command::READ_CONFIRM, command::READ_MULTI_PLANE);
                txn.cmd(command::READ).col_row(Column(0), row).cmd(confirm);
            }
            SegmentKind::Transfer => {
                txn.describe(Descriptor::page(Direction::Out, buffer, sectors));
                for span in config.layout.bursts(sectors).as_slice() {
                    self.select_column(txn, place, span.column);
                    pause(txn, waits.column_to_data);
                    txn.data_read(span.length);
                }
            }
            SegmentKind::TransferSpare => {
                let page_bytes = config.geometry.page_bytes;
                self.select_column(txn, place, Column(page_bytes as u16));
                pause(txn, waits.column_to_data);
                txn.describe(Descriptor::raw(Direction::Out, buffer, page_bytes));
                txn.data_read(u32::from(config.layout.oob_bytes()));
            }
            SegmentKind::Program | SegmentKind::Load | SegmentKind::ProgramLine => {
                let (prefix, confirm) = self.line_commands(config);
                let whole = SectorRange::whole(config.layout.sectors());
                let mut descriptor = Descriptor::page(Direction::In, buffer, whole);
                if config.scramble {
                    descriptor.immediate = u64::from(seed_of_row(row));
                }
                if let Some(prefix) = prefix {
                    txn.cmd(prefix);
                }
                let first = match self.planes.follows {
                    true => command::PROGRAM_MULTI_PLANE_NEXT,
                    false => command::PROGRAM,
                };
                txn.cmd(first).col_row(Column(0), row);
                pause(txn, waits.address_to_data);
                txn.describe(descriptor).data_write(config.layout.whole().length);
                txn.cmd(confirm);
            }
            SegmentKind::Erase => {
                let confirm = self.confirm(command::ERASE_CONFIRM, command::ERASE_MULTI_PLANE);
                txn.cmd(command::ERASE).row(row).cmd(confirm);
            }
            SegmentKind::Status => {
                if place.names_row {
                    txn.cmd(command::READ_STATUS_ENHANCED).row(row);
                } else {
                    txn.cmd(command::READ_STATUS);
                }
                pause(txn, waits.status);
                txn.describe(Descriptor::mailbox_out()).data_read(STATUS_BYTES);
            }
            SegmentKind::Reset => {
                txn.cmd(command::RESET);
            }
            SegmentKind::SetFeatures => {
                txn.cmd(command::SET_FEATURES).addr(self.feature.address);
                pause(txn, waits.address_to_data);
                txn.describe(Descriptor::mailbox_in(u64::from(self.feature.value)));
                txn.data_write(FEATURE_BYTES as u32);
                pause(txn, waits.set_features);
            }
            SegmentKind::GetFeatures => {
                txn.cmd(command::GET_FEATURES).addr(self.feature.address);
                pause(txn, waits.get_features);
                txn.describe(Descriptor::mailbox_out()).data_read(FEATURE_BYTES as u32);
            }
        }
        pause(txn, waits.after);
        txn.end();
    }

    /// Its name in waveforms and errors.
    const fn name(&self) -> &'static str {
        match self.kind {
            SegmentKind::Trigger if self.planes.goes_on => "multi-plane read",
            SegmentKind::Program if self.planes.goes_on => "multi-plane program",
            SegmentKind::Erase if self.planes.goes_on => "multi-plane erase",
            kind => kind.name(),
        }
    }
    /// The last command cycle: `alone` starts the array, `among_others` lets other planes follow.
    const fn confirm(&self, alone: u8, among_others: u8) -> u8 {
        if self.planes.goes_on { among_others } else { alone }
    }

    /// The command cycle before 80h, if there is one, and the command cycle after the data.
    fn line_commands(&self, config: &FixedConfig) -> (Option<u8>, u8) {
        let one_shot = config.one_shot.filter(|_| self.kind != SegmentKind::Program);
        let Some(one_shot) = one_shot else {
            return (None, self.confirm(command::PROGRAM_CONFIRM, command::PROGRAM_MULTI_PLANE));
        };
        let (_, _, page) = config.geometry.split_row(self.target.row);
        let prefix = one_shot.pages[config.cells.page_type(page) as usize];
        let last = self.kind == SegmentKind::ProgramLine;
        (Some(prefix), if last { command::PROGRAM_CONFIRM } else { one_shot.load_confirm })
    }

    fn select_column(&self, txn: &mut Txn, place: Place, column: Column) {
        if place.names_row {
            txn.cmd(command::CHANGE_READ_COLUMN_ENHANCED).col_row(column, self.target.row);
        } else {
            txn.cmd(command::CHANGE_READ_COLUMN).column(column);
        }
        txn.cmd(command::CHANGE_READ_COLUMN_CONFIRM);
    }
}
