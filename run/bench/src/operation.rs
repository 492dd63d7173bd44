//! Flash operations for which I3 has no request: caches, planes, SLC, one shot, copyback, suspend, retry,
//! gangs. They are software: hardware controllers don't have them.

use crate::sample::WorkKind;

/// An operation of `aster_flash::operations` as a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlashOperation {
    /// READ CACHE SEQUENTIAL of as many pages as the LUN has buffers.
    ReadCache,
    /// The same by READ CACHE RANDOM, which names each row.
    ReadCacheRandom,
    /// Multi-plane READ of a page in each plane.
    ReadPlanes,
    /// READ of a block used as SLC.
    ReadSlc,
    /// READ through the level table until the page is correct.
    ReadRetry,
    /// READ of replicas behind two chip enables by one command (RAIL).
    ReadGang,
    /// PAGE CACHE PROGRAM of as many pages as the LUN has buffers.
    ProgramCache,
    /// Multi-plane PROGRAM of a page in each plane.
    ProgramPlanes,
    /// Both pages of an MLC word line.
    ProgramPair,
    /// The three pages of a TLC word line at once.
    ProgramOneShot,
    /// PROGRAM in a block used as SLC.
    ProgramSlc,
    /// PROGRAM of replicas behind two chip enables, whose data crosses the bus once.
    ProgramGang,
    /// PROGRAM that is suspended halfway for a READ.
    ProgramSuspend,
    /// Multi-plane ERASE of a block in each plane.
    ErasePlanes,
    /// ERASE of a block that will be used as SLC.
    EraseSlc,
    /// ERASE that is suspended halfway for a READ.
    EraseSuspend,
    /// COPYBACK within a plane, without the bus.
    Copyback,
    /// COPYBACK by way of a buffer: corrected and encoded anew.
    CopybackChanged,
}

use FlashOperation as Op;

/// LUNs of a gang.
pub(crate) const GANG: usize = 2;

impl FlashOperation {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Op::ReadCache => "read-cache",
            Op::ReadCacheRandom => "read-cache-random",
            Op::ReadPlanes => "read-planes",
            Op::ReadSlc => "read-slc",
            Op::ReadRetry => "read-retry",
            Op::ReadGang => "read-gang",
            Op::ProgramCache => "program-cache",
            Op::ProgramPlanes => "program-planes",
            Op::ProgramPair => "program-pair",
            Op::ProgramOneShot => "program-one-shot",
            Op::ProgramSlc => "program-slc",
            Op::ProgramGang => "program-gang",
            Op::ProgramSuspend => "program-suspend",
            Op::ErasePlanes => "erase-planes",
            Op::EraseSlc => "erase-slc",
            Op::EraseSuspend => "erase-suspend",
            Op::Copyback => "copyback",
            Op::CopybackChanged => "copyback-changed",
        }
    }

    /// The kind of its samples that count as one operation.
    pub const fn kind(self) -> WorkKind {
        match self {
            Op::ReadCache
            | Op::ReadCacheRandom
            | Op::ReadPlanes
            | Op::ReadSlc
            | Op::ReadRetry
            | Op::ReadGang => WorkKind::Read,
            Op::ErasePlanes | Op::EraseSlc | Op::EraseSuspend => WorkKind::Erase,
            _ => WorkKind::Program,
        }
    }

    pub(crate) const fn uses_slc(self) -> bool {
        matches!(self, Op::ReadSlc | Op::ProgramSlc | Op::EraseSlc)
    }
    pub(crate) const fn uses_planes(self) -> bool {
        matches!(self, Op::ReadPlanes | Op::ProgramPlanes | Op::ErasePlanes)
    }
    /// LUNs that one operation takes.
    pub(crate) const fn luns(self) -> usize {
        if matches!(self, Op::ReadGang | Op::ProgramGang) { GANG } else { 1 }
    }
    /// Pages of one operation, on LUNs of `planes` planes with `buffers` buffers each.
    pub(crate) fn pages(self, planes: u8, buffers: u32) -> u32 {
        match self {
            Op::ReadCache | Op::ReadCacheRandom | Op::ProgramCache => buffers,
            Op::ReadPlanes | Op::ProgramPlanes | Op::ErasePlanes => u32::from(planes),
            Op::ProgramPair => 2,
            Op::ProgramOneShot => 3,
            _ => 1,
        }
    }
    /// True when it reads pages that must have been programmed.
    pub(crate) const fn reads(self) -> bool {
        !matches!(self, Op::ErasePlanes | Op::EraseSlc)
            && (matches!(self.kind(), WorkKind::Read)
                || matches!(self, Op::ProgramSuspend | Op::EraseSuspend | Op::Copyback | Op::CopybackChanged))
    }
}
