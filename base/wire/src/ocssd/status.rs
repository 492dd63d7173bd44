//! Statuses of 1.2's commands (P27). Those that NVMe names differently, or not at all, have "do not retry"
//! as the field's bit 14, as LightNVM compares them.

use crate::nvme::Status;

/// Some sectors could not be written, or blocks not erased.
pub const WRITE_FAIL: Status = Status::from_raw(0x40ff);
/// A sector was never written since its block was erased.
pub const EMPTY_PAGE: Status = Status::from_raw(0x42ff);
/// A sector has more wrong bits than can be corrected.
pub const ECC_FAIL: Status = Status::from_raw(0x4281);
/// Data could not be transferred; the board says so of a wrong CRC.
pub const TRANSFER_FAIL: Status = Status::from_raw(0x4004);
/// All was read, but with so many wrong bits that the host should move the data.
pub const HIGH_ECC: Status = Status::from_raw(0x4700);
/// A block is bad, or the drive's own.
pub const PROTECTED_BLOCK: Status = Status::from_raw(0x4286);
/// A write doesn't continue its block. 1.2 names none; this is 2.0's Out Of Order Write.
pub const OUT_OF_ORDER: Status = Status::from_raw(0x42f2);
/// An address names nothing that the drive has.
pub const OUT_OF_GEOMETRY: Status = Status::from_raw(0x4080);

/// What a status means. `None` for those that aren't of 1.2.
pub fn meaning(of: Status) -> Option<&'static str> {
    let meanings = [
        (WRITE_FAIL, "couldn't be programmed or erased, and its block is bad from now on"),
        (EMPTY_PAGE, "was never written since its block was erased"),
        (ECC_FAIL, "has more wrong bits than can be corrected"),
        (TRANSFER_FAIL, "could not be transferred"),
        (HIGH_ECC, "was read, with so many wrong bits that it should be moved"),
        (PROTECTED_BLOCK, "is of a bad block, or of one that is the drive's own"),
        (OUT_OF_ORDER, "isn't the next page of its block, or only a part of one"),
        (OUT_OF_GEOMETRY, "names nothing that the drive has"),
    ];
    meanings.iter().find(|(status, _)| of.is(*status)).map(|(_, text)| *text)
}
