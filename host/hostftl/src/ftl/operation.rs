//! What is asked of the flash, and how it ends.

use super::groups::{GroupPlace, Members};
use super::oob::SectorRecord;
use super::place::PagePlace;
use crate::driver::Gone;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_units::BufferId;
use aster_wire::array::{NO_BLOCK, StatusCode};

/// Most sectors of a page: a status entry has a bit for each.
pub(super) const SECTORS_MAX: usize = 8;

/// The record of each sector of a page, `None` where there is none.
pub(super) type Records = [Option<SectorRecord>; SECTORS_MAX];

/// Sectors of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub page: PagePlace,
    pub block: u16,
    pub first: u8,
    pub count: u8,
}

/// Whole pages of one row of a group, each of another lane.
#[derive(Debug)]
pub(super) struct RowSpan {
    pub group: GroupPlace,
    pub page: u16,
    /// The blocks of the lanes whose pages are meant.
    pub members: Members,
    /// The page buffer of each of them.
    pub buffers: Vec<BufferId>,
    /// What is programmed beside them.
    pub records: Vec<Records>,
    /// The lane, beside those of the buffers, that gets their sum.
    pub parity: Option<u8>,
}

impl RowSpan {
    /// The lanes of its buffers.
    pub fn lanes(&self) -> impl Iterator<Item = u8> {
        let blocks = (0u8..).zip(self.members).filter(|&(_, block)| block != NO_BLOCK);
        blocks.map(|(lane, _)| lane).filter(|&lane| Some(lane) != self.parity)
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub code: Result<StatusCode, Gone>,
    /// Sectors of a page, or lanes of a group, that failed, as bits.
    pub failed: u8,
    /// What a read of a page found, by sector of the page.
    pub records: Records,
    /// The same of sectors whose data it could not bring, where only what is beside them could be read.
    pub unread: Records,
    /// The most bits that a read has corrected in a chunk. More than any if a chunk was lost.
    pub corrected: u8,
    /// The drive has lost its power meanwhile: a program or an erase was carried out in whole, in part or
    /// not at all, and the drive is there again.
    pub lost: bool,
}

impl Done {
    pub const LOST: Done = Done {
        code: Ok(StatusCode::Refused),
        failed: 0,
        records: [None; SECTORS_MAX],
        unread: [None; SECTORS_MAX],
        corrected: 0,
        lost: true,
    };

    pub fn is_good(&self) -> bool {
        self.code == Ok(StatusCode::Done)
    }
    /// Whether the page of this lane was programmed, or read, as one of a row.
    pub fn is_good_on(&self, lane: u8) -> bool {
        let some = matches!(
            self.code,
            Ok(StatusCode::Uncorrectable | StatusCode::ProgramFailed | StatusCode::LaneDead)
        );
        self.is_good() || some && self.failed >> lane & 1 == 0
    }
    /// Whether a read brought this sector of the page.
    pub fn has(&self, sector: u8) -> bool {
        match self.code {
            Ok(StatusCode::Done) => true,
            Ok(StatusCode::Uncorrectable) => self.failed >> sector & 1 == 0,
            _ => false,
        }
    }
}

/// What the drive is asked for by one command.
#[derive(Clone)]
pub(super) enum Operation {
    Read { span: Span, buffer: BufferId, into: u8, all: bool },
    Program { span: Span, buffer: BufferId, records: Records },
    ReadRow(Rc<RowSpan>),
    ProgramRow(Rc<RowSpan>),
    Erase { channel: u8, die: u8, members: Members },
}
