use super::statistics::Failure;
use crate::content::{self, Identity};
use crate::{Drive, Oracle, ReadToken, RequestKind, WriteToken};
use alloc::vec::Vec;
use aster_driver::{Data, DataMut};

/// What the drive holds, as far as the host knows. It outlives a run and can be passed to the next one.
pub struct Contents {
    drive: Drive,
    block_log2: u32,
    seed: u64,
    version: u32,
    oracle: Option<Oracle>,
    /// Versions of the blocks of one command, kept to be reused.
    found: Vec<u32>,
}

/// The oracle's token for a command in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ContentToken {
    None,
    Write(WriteToken),
    Read(ReadToken),
}

impl Contents {
    /// Makes contents whose versions aren't tracked. Writes carry address and version. Blocks that tasks
    /// with [`crate::Job::verify`] read must be intact and at their own address, in any version. This
    /// needs no memory.
    pub fn unversioned(drive: Drive, seed: u64) -> Self {
        let block_log2 = drive.block_bytes.trailing_zeros();
        assert!(drive.block_bytes == 1 << block_log2, "a logical block is a power of two: {drive:?}");
        Contents { drive, block_log2, seed, version: 0, oracle: None, found: Vec::new() }
    }

    /// Makes contents whose versions are tracked, so that the versions of reads are checked, too. The
    /// drive must be all zero now. Every write of the run is tracked, which takes 4 bytes per written
    /// block.
    pub fn versioned(drive: Drive, seed: u64) -> Self {
        let oracle = Some(Oracle::new(drive.bytes / u64::from(drive.block_bytes)));
        Contents { oracle, ..Contents::unversioned(drive, seed) }
    }

    /// The drive that has these contents.
    pub fn drive(&self) -> Drive {
        self.drive
    }

    /// Log2 of a logical block's bytes.
    #[inline]
    pub(super) fn block_log2(&self) -> u32 {
        self.block_log2
    }

    /// Which versions each block may hold; `None` when versions aren't tracked.
    pub fn oracle(&self) -> Option<&Oracle> {
        self.oracle.as_ref()
    }

    /// Gives up all commands in flight, as after a power cut or a reset: their blocks hold the old content
    /// or the new.
    pub fn abandon_all(&mut self) {
        if let Some(oracle) = &mut self.oracle {
            oracle.abandon_all();
        }
    }

    /// Takes a version for the next write.
    #[inline]
    pub(super) fn next_version(&mut self) -> u32 {
        self.version = content::next_version(self.version);
        self.version
    }

    /// Puts `version` of the blocks from `slba` into a command's buffer.
    #[inline]
    pub(super) fn fill(&self, slba: u64, version: u32, into: DataMut<'_>) {
        match into {
            DataMut::Tags(tags) => {
                for (tag, block) in tags.iter_mut().zip(slba..) {
                    *tag = content::tag(block, version).to_le_bytes();
                }
            }
            DataMut::Bytes(bytes) => {
                for (bytes, block) in bytes.chunks_exact_mut(self.drive.block_bytes as usize).zip(slba..) {
                    content::fill(bytes, Identity { block, version, seed: self.seed });
                }
            }
        }
    }

    /// Notes a command that is about to be submitted.
    #[inline]
    pub(super) fn begin(
        &mut self,
        kind: RequestKind,
        slba: u64,
        blocks: u32,
        version: u32,
        verify: bool,
    ) -> ContentToken {
        let Some(oracle) = &mut self.oracle else { return ContentToken::None };
        if slba.checked_add(u64::from(blocks)).is_none_or(|end| end > oracle.blocks()) {
            // The blocks are beyond the drive, so the controller will refuse the command.
            return ContentToken::None;
        }
        match kind {
            RequestKind::Write => ContentToken::Write(oracle.begin_write(slba, u64::from(blocks), version)),
            RequestKind::Trim | RequestKind::WriteZeroes => {
                ContentToken::Write(oracle.begin_write(slba, u64::from(blocks), 0))
            }
            RequestKind::Read if verify => ContentToken::Read(oracle.begin_read(slba, u64::from(blocks))),
            RequestKind::Read | RequestKind::Flush => ContentToken::None,
        }
    }

    /// Notes the completion of a command other than a checked read.
    #[inline]
    pub(super) fn end(&mut self, token: ContentToken, succeeded: bool, slba: u64, blocks: u32) {
        let Some(oracle) = &mut self.oracle else { return };
        match token {
            ContentToken::None => {}
            ContentToken::Write(token) if succeeded => oracle.complete_write(token),
            ContentToken::Write(token) => oracle.abandon_write(token),
            ContentToken::Read(token) => {
                // A failed read returned nothing. If each of its blocks can hold only one version, it is
                // closed with these versions, which tells the oracle nothing new. Otherwise it stays open,
                // which only costs memory.
                self.found.clear();
                for block in slba..slba + u64::from(blocks) {
                    let acceptable = oracle.acceptable(block);
                    let [only] = acceptable[..] else { return };
                    self.found.push(only);
                }
                let closed = oracle.complete_read(token, &self.found);
                debug_assert!(closed.is_ok(), "what is acceptable is accepted");
            }
        }
    }

    /// Checks the data of a read.
    pub(super) fn check(
        &mut self,
        token: ContentToken,
        slba: u64,
        blocks: u32,
        data: Data<'_>,
    ) -> Result<(), Failure> {
        self.found.clear();
        self.found.reserve(blocks as usize);
        let outcome = self.find(slba, data);
        if let Err(mismatch) = outcome {
            self.end(token, false, slba, blocks);
            return Err(mismatch.into());
        }
        match (&mut self.oracle, token) {
            (Some(oracle), ContentToken::Read(token)) => Ok(oracle.complete_read(token, &self.found)?),
            _ => Ok(()),
        }
    }

    fn find(&mut self, slba: u64, data: Data<'_>) -> Result<(), content::Mismatch> {
        match data {
            Data::Tags(tags) => {
                for (tag, block) in tags.iter().zip(slba..) {
                    self.found.push(content::version_of_tag(u64::from_le_bytes(*tag), block)?);
                }
            }
            Data::Bytes(bytes) => {
                for (bytes, block) in bytes.chunks_exact(self.drive.block_bytes as usize).zip(slba..) {
                    self.found.push(content::version_of(bytes, block, self.seed)?);
                }
            }
        }
        Ok(())
    }
}
