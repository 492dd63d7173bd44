use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// Blocks whose versions lie together; untouched chunks take no memory.
const CHUNK_BLOCKS: u64 = 1024;

/// A write, trim or zeroing in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteToken(u64);

/// A read in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadToken(u64);

/// A read returned a version that the block could not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unexpected {
    /// The block.
    pub block: u64,
    /// What was read; 0 is all zero.
    pub found: u32,
    /// The versions that would have been right, ascending.
    pub acceptable: Vec<u32>,
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} read as version {}; acceptable: {:?}", self.block, self.found, self.acceptable)
    }
}
impl core::error::Error for Unexpected {}

#[derive(Clone, Debug)]
struct Write {
    first: u64,
    count: u64,
    version: u32,
    begun: u64,
}

#[derive(Clone, Debug)]
struct Read {
    first: u64,
    count: u64,
    /// (block, version) pairs that were replaced while the read was in flight.
    replaced: Vec<(u64, u32)>,
}

/// A version that a block may hold, and when its write ended.
#[derive(Clone, Copy, Debug)]
struct EndedWrite {
    version: u32,
    at: u64,
}

/// Which versions each logical block may hold.
///
/// The rules are NVMe's: commands in flight at once have no order between them, so
/// - while a write is in flight its blocks hold their old version or its version;
/// - of writes that overlapped in time, any may be the last one to take effect; a write that began after
///   another had completed replaces it;
/// - a read may return any version that its blocks could hold at any moment while it was in flight;
/// - a write that never completes (power cut, reset, error) leaves either version;
/// - a block that was trimmed, zeroed or never written is all zero: version 0. (The standard would allow more
///   for a trim; this drive promises zeroes.)
///
/// 4 bytes per written block, in chunks of 1,024 blocks.
#[derive(Clone, Debug)]
pub struct Oracle {
    chunks: Vec<Option<Box<[u32]>>>,
    blocks: u64,
    /// Blocks that may hold more than one version with no write in flight, or that a write in flight can
    /// still make so.
    contested: BTreeMap<u64, Vec<EndedWrite>>,
    writes: BTreeMap<u64, Write>,
    reads: BTreeMap<u64, Read>,
    clock: u64,
}

impl Oracle {
    /// A drive of `blocks` blocks, all empty.
    pub fn new(blocks: u64) -> Self {
        let chunks =
            usize::try_from(blocks.div_ceil(CHUNK_BLOCKS)).expect("the drive's blocks fit an address");
        Oracle {
            chunks: vec![None; chunks],
            blocks,
            contested: BTreeMap::new(),
            writes: BTreeMap::new(),
            reads: BTreeMap::new(),
            clock: 0,
        }
    }

    /// Blocks of the drive.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn assert_inside(&self, first: u64, count: u64) {
        let inside = first.checked_add(count).is_some_and(|end| end <= self.blocks);
        assert!(inside, "{count} blocks from {first} on a drive of {}", self.blocks);
    }

    fn resting(&self, block: u64) -> u32 {
        let chunk = self.chunks[(block / CHUNK_BLOCKS) as usize].as_ref();
        chunk.map_or(0, |chunk| chunk[(block % CHUNK_BLOCKS) as usize])
    }

    fn rest(&mut self, block: u64, version: u32) {
        let chunk = &mut self.chunks[(block / CHUNK_BLOCKS) as usize];
        if version == 0 && chunk.is_none() {
            return;
        }
        let chunk = chunk.get_or_insert_with(|| vec![0; CHUNK_BLOCKS as usize].into_boxed_slice());
        chunk[(block % CHUNK_BLOCKS) as usize] = version;
    }

    /// A write that began and ended with nothing else in flight on its blocks: they hold `version`.
    pub fn written(&mut self, first: u64, count: u64, version: u32) {
        let token = self.begin_write(first, count, version);
        self.complete_write(token);
    }

    /// A trim or a zeroing that began and ended alone: the blocks are empty.
    pub fn deallocated(&mut self, first: u64, count: u64) {
        self.written(first, count, 0);
    }

    /// A write of `version` to `count` blocks is issued; 0 for a trim or a zeroing.
    pub fn begin_write(&mut self, first: u64, count: u64, version: u32) -> WriteToken {
        self.assert_inside(first, count);
        let begun = self.tick();
        self.writes.insert(begun, Write { first, count, version, begun });
        WriteToken(begun)
    }

    /// The write has completed.
    pub fn complete_write(&mut self, token: WriteToken) {
        let write = self.writes.remove(&token.0).expect("a write completes once");
        let at = self.tick();
        let blocks = write.first..write.first + write.count;
        let overlaps = |first: u64, count: u64| first < blocks.end && blocks.start < first + count;
        if self.contested.range(blocks.clone()).next().is_none()
            && !self.writes.values().any(|other| overlaps(other.first, other.count))
            && !self.reads.values().any(|read| overlaps(read.first, read.count))
        {
            // It was alone on its blocks: only the version needs to be kept.
            blocks.for_each(|block| self.rest(block, write.version));
            return;
        }
        for block in blocks {
            let before = self.ended_writes(block);
            let mut after: Vec<EndedWrite> = Vec::with_capacity(1);
            for old in before {
                // A write that ended while this one was in flight may have taken effect after it.
                if old.at > write.begun && old.version != write.version {
                    after.push(old);
                } else {
                    self.replace_for_reads(block, old.version);
                }
            }
            after.push(EndedWrite { version: write.version, at });
            self.keep_ended_writes(block, after);
        }
    }

    /// The write will never complete: its blocks hold what they held, or `version`. The drive must have
    /// stopped working on it.
    pub fn abandon_write(&mut self, token: WriteToken) {
        let write = self.writes.remove(&token.0).expect("a write ends once");
        let at = self.tick();
        for block in write.first..write.first + write.count {
            let mut ended = self.ended_writes(block);
            ended.retain(|old| old.version != write.version);
            ended.push(EndedWrite { version: write.version, at });
            self.keep_ended_writes(block, ended);
        }
    }

    /// Everything in flight is lost, as by a power cut: each write leaves either version.
    pub fn abandon_all(&mut self) {
        self.reads.clear();
        while let Some(&token) = self.writes.keys().next() {
            self.abandon_write(WriteToken(token));
        }
    }

    fn ended_writes(&self, block: u64) -> Vec<EndedWrite> {
        let contested = self.contested.get(&block);
        contested.cloned().unwrap_or_else(|| vec![EndedWrite { version: self.resting(block), at: 0 }])
    }

    fn keep_ended_writes(&mut self, block: u64, ended: Vec<EndedWrite>) {
        // With nothing in flight here, every later write replaces a single version: its time does not matter.
        if ended.len() == 1 && !self.writes_on(block).any(|_| true) {
            self.contested.remove(&block);
            self.rest(block, ended[0].version);
        } else {
            self.contested.insert(block, ended);
        }
    }

    fn writes_on(&self, block: u64) -> impl Iterator<Item = &Write> {
        self.writes.values().filter(move |write| (write.first..write.first + write.count).contains(&block))
    }

    fn replace_for_reads(&mut self, block: u64, version: u32) {
        for read in self.reads.values_mut() {
            if (read.first..read.first + read.count).contains(&block) {
                read.replaced.push((block, version));
            }
        }
    }

    /// The versions that `block` may hold now, ascending, each once.
    pub fn acceptable(&self, block: u64) -> Vec<u32> {
        self.assert_inside(block, 1);
        let ended = self.ended_writes(block).into_iter().map(|ended| ended.version);
        ascending(ended.chain(self.writes_on(block).map(|write| write.version)).collect())
    }

    /// A read of `count` blocks is issued.
    pub fn begin_read(&mut self, first: u64, count: u64) -> ReadToken {
        self.assert_inside(first, count);
        let token = self.tick();
        self.reads.insert(token, Read { first, count, replaced: Vec::new() });
        ReadToken(token)
    }

    /// The read has completed, with these versions for its blocks in their order; 0 is all zero.
    ///
    /// Where a block at rest could hold one of several versions, the one that was read is the one it holds
    /// from now on.
    ///
    /// # Errors
    /// The first block with a version that it can't hold.
    pub fn complete_read(&mut self, token: ReadToken, found: &[u32]) -> Result<(), Unexpected> {
        let read = self.reads.remove(&token.0).expect("a read completes once");
        assert_eq!(found.len() as u64, read.count, "one version for each block that was read");
        for (block, &version) in (read.first..).zip(found) {
            let replaced = read.replaced.iter().filter(|(of, _)| *of == block).map(|(_, version)| *version);
            let acceptable = self.acceptable(block);
            if acceptable.contains(&version) {
                self.pin(block, version, token.0);
            } else if !replaced.clone().any(|old| old == version) {
                let acceptable = ascending(acceptable.into_iter().chain(replaced).collect());
                return Err(Unexpected { block, found: version, acceptable });
            }
        }
        Ok(())
    }

    /// Narrows a block at rest since before `began` to the version that a read found.
    fn pin(&mut self, block: u64, version: u32, began: u64) {
        let Some(ended) = self.contested.get(&block) else { return };
        if ended.iter().all(|ended| ended.at < began) && self.writes_on(block).next().is_none() {
            self.contested.remove(&block);
            self.rest(block, version);
        }
    }
}

fn ascending(mut versions: Vec<u32>) -> Vec<u32> {
    versions.sort_unstable();
    versions.dedup();
    versions
}

#[cfg(test)]
#[path = "oracle_tests.rs"]
mod tests;
