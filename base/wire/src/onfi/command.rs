//! Command opcodes (ONFI 5.1 §5.1, the command set table). Data direction is ONFI's: "in" goes into the
//! package.

/// READ, COPYBACK READ, READ CACHE RANDOM, multi-plane READ: first cycle.
pub const READ: u8 = 0x00;
/// READ: second cycle; tR begins.
pub const READ_CONFIRM: u8 = 0x30;
/// Multi-plane READ: second cycle of every plane but the last; busy for tPLRBSY.
pub const READ_MULTI_PLANE: u8 = 0x32;
/// COPYBACK READ: second cycle.
pub const COPYBACK_READ_CONFIRM: u8 = 0x35;
/// READ CACHE SEQUENTIAL, or second cycle of READ CACHE RANDOM.
pub const READ_CACHE: u8 = 0x31;
/// READ CACHE END.
pub const READ_CACHE_END: u8 = 0x3f;
/// CHANGE READ COLUMN: first cycle, two column addresses follow.
pub const CHANGE_READ_COLUMN: u8 = 0x05;
/// CHANGE READ COLUMN ENHANCED: first cycle, column and row addresses follow.
pub const CHANGE_READ_COLUMN_ENHANCED: u8 = 0x06;
/// CHANGE READ COLUMN, plain and enhanced: second cycle; tCCS until data out.
pub const CHANGE_READ_COLUMN_CONFIRM: u8 = 0xe0;
/// PROGRAM PAGE, PAGE CACHE PROGRAM, multi-plane PROGRAM: first cycle.
pub const PROGRAM: u8 = 0x80;
/// Multi-plane PROGRAM: alternative first cycle of the second and later planes.
pub const PROGRAM_MULTI_PLANE_NEXT: u8 = 0x81;
/// PROGRAM PAGE, COPYBACK PROGRAM: second cycle; tPROG begins.
pub const PROGRAM_CONFIRM: u8 = 0x10;
/// Multi-plane PROGRAM: second cycle of every plane but the last; busy for tPLPBSY.
pub const PROGRAM_MULTI_PLANE: u8 = 0x11;
/// PAGE CACHE PROGRAM: second cycle.
pub const PROGRAM_CACHE_CONFIRM: u8 = 0x15;
/// CHANGE WRITE COLUMN (two addresses), CHANGE ROW ADDRESS (all of them), COPYBACK PROGRAM, SMALL DATA MOVE:
/// first cycle.
pub const CHANGE_WRITE_COLUMN: u8 = 0x85;
/// BLOCK ERASE: first cycle, row addresses follow.
pub const ERASE: u8 = 0x60;
/// BLOCK ERASE: second cycle; tBERS begins.
pub const ERASE_CONFIRM: u8 = 0xd0;
/// Multi-plane BLOCK ERASE: second cycle of every plane but the last; busy for tPLEBSY.
pub const ERASE_MULTI_PLANE: u8 = 0xd1;
/// READ STATUS: of the LUN addressed last; not while another LUN of the target drives the bus (§5.12).
pub const READ_STATUS: u8 = 0x70;
/// READ STATUS ENHANCED: of the LUN and plane that the row address names; turns the other LUNs' outputs off.
pub const READ_STATUS_ENHANCED: u8 = 0x78;
/// READ ID.
pub const READ_ID: u8 = 0x90;
/// READ PARAMETER PAGE.
pub const READ_PARAMETER_PAGE: u8 = 0xec;
/// READ UNIQUE ID.
pub const READ_UNIQUE_ID: u8 = 0xed;
/// GET FEATURES: of the target.
pub const GET_FEATURES: u8 = 0xee;
/// SET FEATURES: of the target; tADL between address and data, tFEAT busy.
pub const SET_FEATURES: u8 = 0xef;
/// LUN GET FEATURES.
pub const LUN_GET_FEATURES: u8 = 0xd4;
/// LUN SET FEATURES.
pub const LUN_SET_FEATURES: u8 = 0xd5;
/// ZQ CALIBRATION SHORT.
pub const ZQ_CALIBRATION_SHORT: u8 = 0xd9;
/// ZQ CALIBRATION LONG.
pub const ZQ_CALIBRATION_LONG: u8 = 0xf9;
/// VOLUME SELECT.
pub const VOLUME_SELECT: u8 = 0xe1;
/// ODT CONFIGURE.
pub const ODT_CONFIGURE: u8 = 0xe2;
/// RESET LUN.
pub const RESET_LUN: u8 = 0xfa;
/// SYNCHRONOUS RESET: keeps the data interface.
pub const SYNCHRONOUS_RESET: u8 = 0xfc;
/// RESET: the target returns to SDR unless it is in NV-DDR2 or NV-DDR3.
pub const RESET: u8 = 0xff;

/// Whether a LUN takes this first cycle while it is busy (ONFI 5.1 §5.1, "acceptable while accessed LUN is
/// busy").
pub const fn accepted_while_busy(opcode: u8) -> bool {
    matches!(
        opcode,
        READ_STATUS | READ_STATUS_ENHANCED | VOLUME_SELECT | RESET_LUN | SYNCHRONOUS_RESET | RESET
    )
}

/// The standard's name for an opcode as a first command cycle; `None` if no command above begins with it.
/// If several commands share the cycle, this is the most common one.
pub const fn name(opcode: u8) -> Option<&'static str> {
    Some(match opcode {
        READ => "READ",
        READ_CACHE => "READ CACHE SEQUENTIAL",
        READ_CACHE_END => "READ CACHE END",
        CHANGE_READ_COLUMN => "CHANGE READ COLUMN",
        CHANGE_READ_COLUMN_ENHANCED => "CHANGE READ COLUMN ENHANCED",
        PROGRAM | PROGRAM_MULTI_PLANE_NEXT => "PROGRAM PAGE",
        CHANGE_WRITE_COLUMN => "CHANGE WRITE COLUMN",
        ERASE => "BLOCK ERASE",
        READ_STATUS => "READ STATUS",
        READ_STATUS_ENHANCED => "READ STATUS ENHANCED",
        READ_ID => "READ ID",
        READ_PARAMETER_PAGE => "READ PARAMETER PAGE",
        READ_UNIQUE_ID => "READ UNIQUE ID",
        GET_FEATURES => "GET FEATURES",
        SET_FEATURES => "SET FEATURES",
        LUN_GET_FEATURES => "LUN GET FEATURES",
        LUN_SET_FEATURES => "LUN SET FEATURES",
        ZQ_CALIBRATION_SHORT => "ZQ CALIBRATION SHORT",
        ZQ_CALIBRATION_LONG => "ZQ CALIBRATION LONG",
        VOLUME_SELECT => "VOLUME SELECT",
        ODT_CONFIGURE => "ODT CONFIGURE",
        RESET_LUN => "RESET LUN",
        SYNCHRONOUS_RESET => "SYNCHRONOUS RESET",
        RESET => "RESET",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_status_and_reset_reach_a_busy_lun() {
        let accepted = (0..=u8::MAX).filter(|&opcode| accepted_while_busy(opcode)).count();
        assert_eq!(accepted, 6);
        assert!(!accepted_while_busy(READ) && !accepted_while_busy(READ_ID));
    }

    #[test]
    fn a_confirm_cycle_has_no_name_of_its_own() {
        assert_eq!(name(READ_CONFIRM), None);
        assert_eq!(name(0x70), Some("READ STATUS"));
    }
}
