//! The cycles of each segment that a fixed controller can put on the bus. They are fixed, as in a circuit.

use super::config::FixedConfig;
use aster_codec::seed_of_row;
use aster_parties::{Segment, SegmentKind};
use aster_ports::flash::Target;
use aster_txn::{Descriptor, Direction, Form, Shape, Txn};
use aster_units::{Column, Duration, SectorRange};
use aster_wire::onfi::{FEATURE_BYTES, command};

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

/// Writes the segment's cycles into `txn`.
pub(super) fn lay_out(segment: &Segment, txn: &mut Txn, place: Place, config: &FixedConfig, waits: &Waits) {
    let Target { row, sectors, buffer } = segment.target;
    txn.begin(name(segment), 1 << place.way);
    match segment.kind {
        SegmentKind::Trigger => {
            let confirm = confirm(segment, command::READ_CONFIRM, command::READ_MULTI_PLANE);
            txn.cmd(command::READ).col_row(Column(0), row).cmd(confirm);
        }
        SegmentKind::Transfer => {
            txn.describe(Descriptor::page(Direction::Out, buffer, sectors));
            for span in config.layout.bursts(sectors).as_slice() {
                select_column(segment, txn, place, span.column);
                pause(txn, waits.column_to_data);
                txn.data_read(span.length);
            }
        }
        SegmentKind::TransferSpare => {
            let page_bytes = config.geometry.page_bytes;
            select_column(segment, txn, place, Column(page_bytes as u16));
            pause(txn, waits.column_to_data);
            txn.describe(Descriptor::raw(Direction::Out, buffer, page_bytes));
            txn.data_read(u32::from(config.layout.oob_bytes()));
        }
        SegmentKind::Program | SegmentKind::Load | SegmentKind::ProgramLine => {
            let (prefix, confirm) = line_commands(segment, config);
            let whole = SectorRange::whole(config.layout.sectors());
            let mut descriptor = Descriptor::page(Direction::In, buffer, whole);
            if config.scramble {
                descriptor.immediate = u64::from(seed_of_row(row));
            }
            if let Some(prefix) = prefix {
                txn.cmd(prefix);
            }
            let first = match segment.planes.follows {
                true => command::PROGRAM_MULTI_PLANE_NEXT,
                false => command::PROGRAM,
            };
            txn.cmd(first).col_row(Column(0), row);
            pause(txn, waits.address_to_data);
            txn.describe(descriptor).data_write(config.layout.whole().length);
            txn.cmd(confirm);
        }
        SegmentKind::Erase => {
            let confirm = confirm(segment, command::ERASE_CONFIRM, command::ERASE_MULTI_PLANE);
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
            txn.cmd(command::SET_FEATURES).addr(segment.feature.address);
            pause(txn, waits.address_to_data);
            txn.describe(Descriptor::mailbox_in(u64::from(segment.feature.value)));
            txn.data_write(FEATURE_BYTES as u32);
            pause(txn, waits.set_features);
        }
        SegmentKind::GetFeatures => {
            txn.cmd(command::GET_FEATURES).addr(segment.feature.address);
            pause(txn, waits.get_features);
            txn.describe(Descriptor::mailbox_out()).data_read(FEATURE_BYTES as u32);
        }
    }
    pause(txn, waits.after);
    txn.end();
    if let Some(shape) = shape(segment) {
        txn.shaped(shape);
    }
}

/// The shape of the segments that come often. Among planes that work together they are laid out differently.
fn shape(segment: &Segment) -> Option<Shape> {
    let form = match segment.kind {
        _ if segment.planes.follows || segment.planes.goes_on => return None,
        SegmentKind::Trigger => Form::FixedTrigger,
        SegmentKind::Transfer => return Some(Shape::new(Form::FixedTransfer, segment.target.sectors)),
        SegmentKind::Program => Form::FixedProgram,
        SegmentKind::Erase => Form::FixedErase,
        SegmentKind::Status => Form::FixedStatus,
        _ => return None,
    };
    Some(Shape::of(form))
}

/// Its name in waveforms and errors.
const fn name(segment: &Segment) -> &'static str {
    match segment.kind {
        SegmentKind::Trigger if segment.planes.goes_on => "multi-plane read",
        SegmentKind::Program if segment.planes.goes_on => "multi-plane program",
        SegmentKind::Erase if segment.planes.goes_on => "multi-plane erase",
        kind => kind.name(),
    }
}
/// The last command cycle: `alone` starts the array, `among_others` lets other planes follow.
const fn confirm(segment: &Segment, alone: u8, among_others: u8) -> u8 {
    if segment.planes.goes_on { among_others } else { alone }
}

/// The command cycle before 80h, if there is one, and the command cycle after the data.
fn line_commands(segment: &Segment, config: &FixedConfig) -> (Option<u8>, u8) {
    let one_shot = config.one_shot.filter(|_| segment.kind != SegmentKind::Program);
    let Some(one_shot) = one_shot else {
        return (None, confirm(segment, command::PROGRAM_CONFIRM, command::PROGRAM_MULTI_PLANE));
    };
    let (_, _, page) = config.geometry.split_row(segment.target.row);
    let prefix = one_shot.pages[config.cells.page_type(page) as usize];
    let last = segment.kind == SegmentKind::ProgramLine;
    (Some(prefix), if last { command::PROGRAM_CONFIRM } else { one_shot.load_confirm })
}

#[inline]
fn select_column(segment: &Segment, txn: &mut Txn, place: Place, column: Column) {
    if place.names_row {
        txn.cmd(command::CHANGE_READ_COLUMN_ENHANCED).col_row(column, segment.target.row);
    } else {
        txn.cmd(command::CHANGE_READ_COLUMN).column(column);
    }
    txn.cmd(command::CHANGE_READ_COLUMN_CONFIRM);
}
