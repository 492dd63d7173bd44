//! Statuses of 2.0's commands (P29): media errors that NVMe doesn't name. Repeating such a command changes
//! nothing, so all of them say "do not retry".

use crate::nvme::Status;
use crate::nvme::status::StatusType;

const fn media(code: u8) -> Status {
    Status::new(StatusType::Media, code).with_dnr(true)
}

/// The chunk is offline, or has gone offline by this command.
pub const OFFLINE: Status = media(0xc0);
/// The chunk can't be reset in its state.
pub const INVALID_RESET: Status = media(0xc1);
/// All was read, but with so many wrong bits that the host should move the data.
pub const HIGH_ECC: Status = media(0xd0);
/// Some blocks could not be written. Their chunk stays open behind them.
pub const WRITE_NEXT_UNIT: Status = media(0xf0);
/// Some blocks could not be written. Their chunk is closed from now on.
pub const CLOSED_EARLY: Status = media(0xf1);
/// A write doesn't begin at its chunk's write pointer, or its chunk is closed or offline.
pub const OUT_OF_ORDER: Status = media(0xf2);
/// A block was never written since its chunk was reset.
pub const UNWRITTEN: Status = media(0x87);
/// A block has more wrong bits than can be corrected.
pub const ECC_FAIL: Status = media(0x81);
/// An address names nothing that the drive has.
pub const OUT_OF_RANGE: Status = Status::new(StatusType::Generic, 0x80).with_dnr(true);

/// What a status means. `None` for those that aren't of 2.0.
pub fn meaning(of: Status) -> Option<&'static str> {
    let meanings = [
        (OFFLINE, "is of a chunk that is offline"),
        (INVALID_RESET, "is of a chunk that is free already"),
        (HIGH_ECC, "was read, with so many wrong bits that it should be moved"),
        (WRITE_NEXT_UNIT, "couldn't be written; its chunk goes on behind it"),
        (CLOSED_EARLY, "couldn't be written, and its chunk is closed from now on"),
        (OUT_OF_ORDER, "isn't at its chunk's write pointer, or its chunk is closed or offline"),
        (UNWRITTEN, "was never written since its chunk was reset"),
        (ECC_FAIL, "has more wrong bits than can be corrected"),
        (OUT_OF_RANGE, "names nothing that the drive has"),
    ];
    meanings.iter().find(|(status, _)| of.is(*status)).map(|(_, text)| *text)
}
