//! How flash requests end.

use crate::channel::{FrameReport, SectorParts, TxnFault};
use crate::page_check::PageCheck;
use alloc::boxed::Box;
use aster_units::{Instant, RowAddr};
use core::fmt;

/// The most targets of one request: one per plane of the widest LUN, or the pages of a word line.
pub const MAX_TARGETS: usize = 4;

/// How a target ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlashStatus {
    /// Done; data that were read are correct.
    #[default]
    Done,
    /// The array reported FAIL (program or erase).
    Failed,
    /// Some sectors could not be corrected (C40).
    Uncorrectable,
    /// The operation was refused or timed out; [`FlashPort::faults`](crate::flash::FlashPort::faults) says
    /// why.
    Error,
    /// The LUN isn't ready. Only [`FlashOp::Status`](crate::flash::FlashOp::Status) ends so.
    Busy,
    /// The LUN has been given up: it never became ready, now or before (G25). Only where controllers give
    /// LUNs up for good.
    Dead,
}

impl FlashStatus {
    /// The number that events use.
    pub const fn code(self) -> u8 {
        match self {
            FlashStatus::Done => 0,
            FlashStatus::Failed => 1,
            FlashStatus::Uncorrectable => 2,
            FlashStatus::Error => 3,
            FlashStatus::Busy => 4,
            FlashStatus::Dead => 5,
        }
    }
}

/// Why an operation could not be carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlashError {
    /// A transaction failed.
    Transaction(Box<TxnFault>),
    /// The LUN did not become ready in the time the package allows.
    NeverReady {
        /// The transaction that made it busy.
        transaction: &'static str,
        /// The row it worked on.
        row: RowAddr,
        /// When the controller gave up.
        at: Instant,
    },
    /// The controller doesn't support this phase, vector or flag, or the package lacks a command for it.
    Unsupported {
        /// What was asked for.
        operation: &'static str,
        /// When it was refused.
        at: Instant,
    },
}

impl fmt::Display for FlashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlashError::Transaction(fault) => fault.fmt(f),
            FlashError::NeverReady { transaction, row, at } => {
                write!(
                    f,
                    "transaction '{transaction}' at {at}: the LUN never became ready after working on row \
                     {:06X}h",
                    row.0
                )
            }
            FlashError::Unsupported { operation, at } => {
                write!(
                    f,
                    "operation '{operation}' at {at}: the channel controller or its package can't do this"
                )
            }
        }
    }
}

/// One target's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// How it ended.
    pub status: FlashStatus,
    /// Uncorrectable sectors, one bit each.
    pub failed_sectors: u16,
    /// The 512-byte parts of those sectors that are uncorrectable, one bit each; no bit for a sector
    /// whose parts aren't known.
    pub failed_parts: SectorParts,
    /// The OOB record is uncorrectable.
    pub oob_failed: bool,
    /// The page was erased.
    pub erased: bool,
    /// Corrected bits in the worst chunk.
    pub worst_chunk: u8,
    /// Corrected bits in all.
    pub corrected: u16,
    /// How often the page was read again, because it couldn't be corrected (C39).
    pub repeated: u8,
    /// The channel only detected wrong bits, and software hasn't corrected them yet. The buffer's code area
    /// says where they are ([`CodeArea`](crate::codes::CodeArea)).
    pub flagged: bool,
    /// P1 to P4 of the requested feature, P1 lowest.
    pub feature: u32,
    /// If the read [expects](crate::flash::FlashRequest::expecting) an owner: whether the page is that
    /// owner's.
    pub page: PageCheck,
}

impl From<FrameReport> for Outcome {
    /// The outcome of a read for which the stages report `frame`.
    fn from(frame: FrameReport) -> Self {
        let bad = frame.failed_sectors != 0 || frame.oob_failed;
        Outcome {
            status: if bad { FlashStatus::Uncorrectable } else { FlashStatus::Done },
            failed_sectors: frame.failed_sectors,
            failed_parts: frame.failed_parts,
            oob_failed: frame.oob_failed,
            erased: frame.erased,
            worst_chunk: frame.worst_chunk,
            corrected: frame.corrected,
            repeated: 0,
            flagged: frame.flagged,
            feature: 0,
            page: PageCheck::NotAsked,
        }
    }
}

impl Outcome {
    /// Records that the chunk in these parts of the sector could not be corrected.
    pub fn fail(&mut self, sector: u8, parts: u8) {
        self.failed_sectors |= 1 << sector;
        self.failed_parts[usize::from(sector)] |= parts;
        self.status = FlashStatus::Uncorrectable;
    }
    /// Records that the OOB record could not be corrected.
    pub fn fail_oob(&mut self) {
        self.oob_failed = true;
        self.status = FlashStatus::Uncorrectable;
    }
    /// Records that a frame had so many wrong bits, which have been corrected.
    pub fn corrected_in(&mut self, errors: usize) {
        self.worst_chunk = self.worst_chunk.max(errors.min(255) as u8);
        self.corrected = self.corrected.saturating_add(errors as u16);
    }
    /// Whether everything that was asked for was read, and correctly.
    pub(crate) fn is_whole(&self) -> bool {
        self.status == FlashStatus::Done
            && self.failed_sectors == 0
            && !self.oob_failed
            && !self.erased
            && !self.flagged
    }
    /// The 512-byte parts of each sector that are uncorrectable. If the parts of a failed sector aren't
    /// known, all of them count.
    pub fn lost_parts(&self) -> SectorParts {
        let mut lost = self.failed_parts;
        for (sector, parts) in lost.iter_mut().enumerate() {
            if self.failed_sectors >> sector & 1 == 0 {
                *parts = 0;
            } else if *parts == 0 {
                *parts = u8::MAX;
            }
        }
        lost
    }
}

/// Results in the order of the request's targets.
pub type Outcomes = [Outcome; MAX_TARGETS];
