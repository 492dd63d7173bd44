//! What `aster bench-channel --operation` can ask for.

use aster_run_bench::{BenchOperation, FlashOperation};
use clap::ValueEnum;

/// The first four go by requests to any controller; the rest are flash operations in software.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OperationArg {
    /// READ of pages programmed before
    Read,
    /// PROGRAM; full blocks are erased first
    Program,
    /// BLOCK ERASE
    Erase,
    /// Reads and programs in turn
    Mixed,
    /// READ CACHE SEQUENTIAL of as many pages as a LUN has requests in flight
    ReadCache,
    /// READ CACHE RANDOM, likewise
    ReadCacheRandom,
    /// Multi-plane READ
    ReadPlanes,
    /// READ of blocks used as SLC
    ReadSlc,
    /// READ through the level table until a page is correct; see --age
    ReadRetry,
    /// READ of replicas behind two chip enables, from whichever is ready first (RAIL)
    ReadGang,
    /// PAGE CACHE PROGRAM of as many pages as a LUN has requests in flight
    ProgramCache,
    /// Multi-plane PROGRAM
    ProgramPlanes,
    /// Both pages of an MLC word line
    ProgramPair,
    /// The three pages of a TLC word line at once
    ProgramOneShot,
    /// PROGRAM of blocks used as SLC
    ProgramSlc,
    /// PROGRAM of two chip enables at once
    ProgramGang,
    /// PROGRAM, suspended halfway for a READ
    ProgramSuspend,
    /// Multi-plane ERASE
    ErasePlanes,
    /// ERASE of blocks that will be used as SLC
    EraseSlc,
    /// ERASE, suspended halfway for a READ
    EraseSuspend,
    /// COPYBACK within a plane, without the bus
    Copyback,
    /// COPYBACK by way of a buffer, corrected
    CopybackChanged,
}

impl OperationArg {
    /// Whether it reads pages and can be limited to some of their sectors.
    pub(crate) const fn brings_sectors(self) -> bool {
        matches!(
            self,
            OperationArg::Read
                | OperationArg::Mixed
                | OperationArg::ReadCache
                | OperationArg::ReadCacheRandom
                | OperationArg::ReadPlanes
                | OperationArg::ReadSlc
                | OperationArg::ReadRetry
                | OperationArg::ReadGang
                | OperationArg::ProgramSuspend
                | OperationArg::EraseSuspend
        )
    }
    /// Whether bit errors of read pages are counted.
    pub(crate) const fn finds_errors(self) -> bool {
        self.brings_sectors() || matches!(self, OperationArg::CopybackChanged)
    }
}

impl From<OperationArg> for BenchOperation {
    fn from(operation: OperationArg) -> BenchOperation {
        use FlashOperation as Flash;
        BenchOperation::Flash(match operation {
            OperationArg::Read => return BenchOperation::Read,
            OperationArg::Program => return BenchOperation::Program,
            OperationArg::Erase => return BenchOperation::Erase,
            OperationArg::Mixed => return BenchOperation::Mixed,
            OperationArg::ReadCache => Flash::ReadCache,
            OperationArg::ReadCacheRandom => Flash::ReadCacheRandom,
            OperationArg::ReadPlanes => Flash::ReadPlanes,
            OperationArg::ReadSlc => Flash::ReadSlc,
            OperationArg::ReadRetry => Flash::ReadRetry,
            OperationArg::ReadGang => Flash::ReadGang,
            OperationArg::ProgramCache => Flash::ProgramCache,
            OperationArg::ProgramPlanes => Flash::ProgramPlanes,
            OperationArg::ProgramPair => Flash::ProgramPair,
            OperationArg::ProgramOneShot => Flash::ProgramOneShot,
            OperationArg::ProgramSlc => Flash::ProgramSlc,
            OperationArg::ProgramGang => Flash::ProgramGang,
            OperationArg::ProgramSuspend => Flash::ProgramSuspend,
            OperationArg::ErasePlanes => Flash::ErasePlanes,
            OperationArg::EraseSlc => Flash::EraseSlc,
            OperationArg::EraseSuspend => Flash::EraseSuspend,
            OperationArg::Copyback => Flash::Copyback,
            OperationArg::CopybackChanged => Flash::CopybackChanged,
        })
    }
}
