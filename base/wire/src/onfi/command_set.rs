//! The commands that a package has beyond those that ONFI makes mandatory, and the opcodes that each
//! vendor chooses.
//!
//! The package model uses it as the device, the flash operations as the host. There is no common rule for
//! the commands that ONFI leaves to vendors. The forms below are in common use and are part of this
//! model's contract:
//! - a *prefix* is one command cycle right before the first cycle of READ, PROGRAM or ERASE and applies
//!   to that command only (Algorithm 3 of BABOL);
//! - suspend and resume are one command cycle and three row cycles, which name the LUN.

use super::command;

/// Optional and vendor specific commands of a package. The default is a package with mandatory commands only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CommandSet {
    /// READ CACHE SEQUENTIAL, RANDOM and END (31h, 3Fh).
    pub read_cache: bool,
    /// PAGE CACHE PROGRAM (80h–15h).
    pub program_cache: bool,
    /// Multi-plane READ, PROGRAM and ERASE (32h, 11h, D1h).
    pub multi_plane: bool,
    /// COPYBACK READ and PROGRAM (35h, 85h–10h).
    pub copyback: bool,
    /// RESET LUN (FAh).
    pub reset_lun: bool,
    /// ODT CONFIGURE (E2h).
    pub odt_configure: bool,
    /// ZQ CALIBRATION LONG and SHORT (F9h, D9h).
    pub zq_calibration: bool,
    /// Prefix that makes the next READ, PROGRAM or ERASE use the cells as SLC. Vendor specific.
    pub pseudo_slc: Option<u8>,
    /// One-shot programming of the three pages of a TLC word line. Vendor specific.
    pub one_shot: Option<OneShot>,
    /// Suspend and resume of programs and erases. Vendor specific.
    pub suspend: Option<Suspend>,
    /// Read levels that SET FEATURES can choose. Vendor specific.
    pub read_retry: Option<ReadRetry>,
}

/// One-shot programming: each page of a word line is loaded with its prefix, and the last one's 10h
/// programs all three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OneShot {
    /// Prefixes that say which page of the word line a PROGRAM loads: LSB, CSB, MSB.
    pub pages: [u8; 3],
    /// Second cycle, instead of 10h, of the pages before the last: the page is loaded and the array does
    /// not start.
    pub load_confirm: u8,
}

/// Suspend and resume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspend {
    /// ERASE SUSPEND.
    pub erase: u8,
    /// ERASE RESUME.
    pub erase_resume: u8,
    /// PROGRAM SUSPEND.
    pub program: u8,
    /// PROGRAM RESUME.
    pub program_resume: u8,
}

/// Read retry: P1 of a vendor feature chooses a row of the package's level table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadRetry {
    /// The feature's address, 80h to FFh.
    pub feature: u8,
    /// Rows of the table; row 0 is the level after power-on.
    pub levels: u8,
}

impl CommandSet {
    /// A vendor's opcode that already has another meaning, in ONFI or in this set.
    pub fn collision(&self) -> Option<u8> {
        let mut taken = [false; 256];
        let confirms = [
            command::READ_CONFIRM,
            command::READ_MULTI_PLANE,
            command::COPYBACK_READ_CONFIRM,
            command::CHANGE_READ_COLUMN_CONFIRM,
            command::PROGRAM_CONFIRM,
            command::PROGRAM_MULTI_PLANE,
            command::PROGRAM_CACHE_CONFIRM,
            command::ERASE_CONFIRM,
            command::ERASE_MULTI_PLANE,
        ];
        for opcode in (0..=u8::MAX).filter(|&o| command::name(o).is_some()).chain(confirms) {
            taken[usize::from(opcode)] = true;
        }
        let one_shot =
            self.one_shot.iter().flat_map(|o| [o.pages[0], o.pages[1], o.pages[2], o.load_confirm]);
        let suspend =
            self.suspend.iter().flat_map(|s| [s.erase, s.erase_resume, s.program, s.program_resume]);
        let mut vendor = self.pseudo_slc.into_iter().chain(one_shot).chain(suspend);
        vendor.find(|&opcode| core::mem::replace(&mut taken[usize::from(opcode)], true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUSPEND: Suspend = Suspend { erase: 0x61, erase_resume: 0xd2, program: 0x84, program_resume: 0x13 };

    #[test]
    fn vendor_opcodes_must_be_free_and_differ() {
        let set = CommandSet {
            pseudo_slc: Some(0xa2),
            one_shot: Some(OneShot { pages: [1, 2, 3], load_confirm: 0x1a }),
            suspend: Some(SUSPEND),
            ..CommandSet::default()
        };
        assert_eq!(set.collision(), None);
        assert_eq!(CommandSet { pseudo_slc: Some(0x70), ..set }.collision(), Some(0x70));
        assert_eq!(CommandSet { pseudo_slc: Some(0x11), ..set }.collision(), Some(0x11), "a second cycle");
        assert_eq!(CommandSet { pseudo_slc: Some(0x61), ..set }.collision(), Some(0x61), "twice in the set");
    }
}
