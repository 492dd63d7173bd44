//! The operations, by theme. Between the transactions of an operation the channel is free for other LUNs.
//!
//! If the package lacks a command, the operation returns [`FlashError::Unsupported`] before it issues
//! anything. No other operation may use the LUN at the same time; some operations say that they need all LUNs
//! behind the chip enable.

mod admin;
mod cache;
mod copyback;
mod erase;
mod gang;
mod lanes;
mod planes;
mod polling;
mod program;
mod raw;
mod read;
mod retry;
mod slc;
mod suspend;

pub use admin::{
    get_features, odt_configure, read_id, read_parameter_page, read_unique_id, reset, reset_lun,
    set_features, synchronous_reset, zq_calibration,
};
pub use cache::{program_cache, read_cache_random, read_cache_sequential};
pub use copyback::{copyback, copyback_changed};
pub use erase::erase_block;
pub(crate) use erase::{ERASE, erase_txn};
pub use gang::{gang_program, gang_read};
pub use lanes::{Lane, LaneEnd, erase_lanes, program_lanes, read_lanes};
pub use planes::{erase_planes, program_planes, read_planes, transfer_planes, trigger_planes};
pub(crate) use program::{PROGRAM, program_txn};
pub use program::{program_one_shot, program_page, program_pair};
pub use raw::{program_raw_page, read_raw_page};
pub(crate) use read::{READ, TRANSFER_AND_READ, issue_transfer, issue_transfer_and_read, read_txn};
pub use read::{
    read_begun, read_bytes, read_page, read_raw, read_status, read_transfer, read_transfer_and_trigger,
    read_trigger,
};
pub use retry::{read_with_retry, set_read_level};
pub use slc::{slc_erase, slc_program, slc_read};
pub use suspend::{
    Suspended, erase_with_read, go_on_erase, go_on_program, resume_erase, resume_program, start_erase,
    start_program, suspend_erase, suspend_program,
};

use crate::Lun;
use aster_codec::seed_of_row;
use aster_ports::channel::TxnFault;
use aster_ports::flash::FlashError;
use aster_ports::layout::PageLayout;
use aster_txn::{AddressRun, Descriptor, Direction, Txn};
use aster_units::{BufferId, Column, Duration, RowAddr, SectorRange};
use aster_wire::onfi::command;

use alloc::boxed::Box;

/// tFEAT, the busy time of SET and GET FEATURES (ONFI 5.1 §4.21).
pub(crate) const T_FEAT: Duration = Duration::from_micros(1);
/// tPLRBSY, tPLPBSY, tPLEBSY: typical time after each plane but the last.
const T_PLANE: Duration = Duration::from_nanos(500);
/// tRCBSY, tPCBSY: typical time when the array is free.
const T_CACHE: Duration = Duration::from_micros(3);

#[inline]
pub(crate) fn transaction(fault: Box<TxnFault>) -> FlashError {
    FlashError::Transaction(fault)
}

#[inline]
pub(crate) fn t_r(lun: &Lun, row: RowAddr) -> Duration {
    lun.config().t_r[lun.config().shape.page_type(row) as usize]
}
#[inline]
pub(crate) fn t_prog(lun: &Lun, row: RowAddr) -> Duration {
    lun.config().t_prog[lun.config().shape.page_type(row) as usize]
}

/// 00h, column 0, row: what READ in all its forms begins with.
#[inline]
fn read_command(txn: &mut Txn, row: RowAddr, second: u8) -> &mut Txn {
    txn.command(command::READ, AddressRun::column_and_row(Column(0), row), second)
}

/// Selects a column for data output. If LUNs share the chip enable, another one may have been selected
/// meanwhile, so CHANGE READ COLUMN ENHANCED names the LUN (ONFI 5.1 §5.16, §5.17).
#[inline]
fn select_column(lun: &Lun, txn: &mut Txn, row: RowAddr, column: Column) {
    if lun.shares_chip_enable() {
        select_plane(txn, row, column);
        return;
    }
    txn.command(command::CHANGE_READ_COLUMN, AddressRun::column(column), command::CHANGE_READ_COLUMN_CONFIRM);
}

/// CHANGE READ COLUMN ENHANCED: selects the register of the row's LUN and plane too (ONFI 5.1 §5.17).
fn select_plane(txn: &mut Txn, row: RowAddr, column: Column) {
    txn.command(
        command::CHANGE_READ_COLUMN_ENHANCED,
        AddressRun::column_and_row(column, row),
        command::CHANGE_READ_COLUMN_CONFIRM,
    );
}

/// A first cycle, the address, and the whole page with its OOB through the stages: what PROGRAM in all its
/// forms begins with.
#[inline]
fn load<'a>(lun: &Lun, txn: &'a mut Txn, first: u8, row: RowAddr, from: BufferId) -> &'a mut Txn {
    let layout: PageLayout = lun.config().layout;
    let mut descriptor = Descriptor::page(Direction::In, from, SectorRange::whole(layout.sectors()));
    if lun.config().scramble {
        descriptor.immediate = u64::from(seed_of_row(row));
    }
    txn.cmd(first).col_row(Column(0), row).describe(descriptor).data_write(layout.whole().length)
}
