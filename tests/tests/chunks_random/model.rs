//! What a drive of chunks must hold, block by block.

use aster_wire::ocssd::v2::{ChunkDescriptor, ChunkFlags};

/// What a write stores in a block: content that no other block and write has. A copy takes it elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    pub block: u64,
    pub version: u64,
}

/// What a block may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// Nothing since the last reset.
    Nothing,
    /// This version, and nothing else.
    Version(Stamp),
    /// Whatever a failed or cut-off operation has left: nothing, something that can't be read, or one of
    /// these versions.
    Unsure { before: Option<Stamp>, after: Option<Stamp> },
}

impl Held {
    /// Whether a read of it must fail.
    pub fn is_lost(&self) -> bool {
        matches!(self, Held::Nothing | Held::Unsure { before: None, after: None })
    }
    /// What is left where an operation that stores this has failed or was cut off.
    fn perhaps(self) -> Held {
        match self {
            Held::Nothing => Held::Unsure { before: None, after: None },
            Held::Version(stamp) => Held::Unsure { before: None, after: Some(stamp) },
            unsure @ Held::Unsure { .. } => unsure,
        }
    }
}

/// A chunk, by the host's knowledge of it.
#[derive(Clone, Debug)]
pub struct Chunk {
    pub first: u64,
    pub state: ChunkFlags,
    pub blocks: Vec<Held>,
    /// Blocks whose writes have failed.
    pub failed: Vec<usize>,
    /// Blocks that are written.
    pub written: usize,
    /// Whether a write of it has failed since its last reset; `None` if only the drive knows, since a loss of
    /// power came before the completion.
    pub has_failed: Option<bool>,
}

impl Chunk {
    /// A chunk of a new drive, as its descriptor has it.
    pub fn new(of: &ChunkDescriptor) -> Self {
        Chunk {
            first: of.first.get(),
            state: of.state().expect("one state"),
            blocks: vec![Held::Nothing; of.blocks.get() as usize],
            failed: Vec::new(),
            written: of.written.get() as usize,
            has_failed: Some(false),
        }
    }
    pub fn is_writable(&self) -> bool {
        matches!(self.state, ChunkFlags::Free | ChunkFlags::Open)
    }
    pub fn is_resettable(&self) -> bool {
        matches!(self.state, ChunkFlags::Open | ChunkFlags::Closed)
    }
    /// Whether a write has closed it before its end: it goes offline with its next reset.
    pub fn is_closed_early(&self) -> bool {
        self.state == ChunkFlags::Closed && self.has_failed == Some(true)
    }

    /// A write of blocks from its write pointer on has ended. `stored` is what they hold now, and `failed`
    /// says which of them could not be written. A page is a block. Returns whether the chunk was closed by
    /// it.
    pub fn written(&mut self, stored: &[Held], failed: &[bool], now: &ChunkDescriptor) -> bool {
        let first = self.written;
        for (held, (stored, failed)) in self.blocks[first..].iter_mut().zip(stored.iter().zip(failed)) {
            *held = if *failed { stored.perhaps() } else { *stored };
        }
        self.written += failed.len();
        let lost = failed.iter().enumerate().filter(|(_, failed)| **failed);
        self.failed.extend(lost.map(|(n, _)| first + n));
        let full = self.written == self.blocks.len();
        let failures = failed.iter().filter(|failed| **failed).count();
        let before = self.has_failed.unwrap_or(now.state() == Some(ChunkFlags::Closed));
        // The first failure leaves it open, unless nothing follows. The second one closes it.
        let closes = failures > 1 || failures == 1 && (full || before);
        self.state = if full || closes { ChunkFlags::Closed } else { ChunkFlags::Open };
        if failures > 0 {
            self.has_failed = Some(true);
        }
        if closes {
            // It ends with the last block that was written well.
            let last = (0..self.written).rfind(|block| !self.failed.contains(block));
            self.written = last.map_or(0, |last| last + 1);
            let end = self.written;
            self.blocks[end..].iter_mut().filter(|held| **held != Held::Nothing).for_each(|held| {
                *held = Held::Unsure { before: None, after: None };
            });
        }
        closes
    }
    pub fn reset(&mut self, offline: bool) {
        self.blocks.fill(Held::Nothing);
        self.failed.clear();
        (self.written, self.has_failed) = (0, Some(false));
        self.state = if offline { ChunkFlags::Offline } else { ChunkFlags::Free };
    }

    /// What a loss of power has made of a write that was in flight, by what the drive reports now.
    pub fn learn_write(&mut self, stored: &[Held], now: &ChunkDescriptor) {
        let count = stored.len();
        let (state, written) = (now.state().expect("one state"), now.written.get() as usize);
        let most = self.written + count;
        let is_cut_short = state == ChunkFlags::Closed && written < self.blocks.len();
        // A page has failed and others came behind it, but the drive had not been told of it yet.
        let is_torn = state == ChunkFlags::Closed && written == self.blocks.len() && count > 1;
        assert!(written <= most || is_torn, "{now:?} of {self:?}");
        assert!(written >= self.written || is_cut_short, "{now:?} of {self:?}");
        for (held, stored) in self.blocks[self.written..].iter_mut().zip(stored) {
            *held = stored.perhaps();
        }
        if !is_cut_short && !is_torn {
            self.blocks[written.max(self.written)..].fill(Held::Nothing);
        }
        self.has_failed = self.has_failed.filter(|has_failed| *has_failed);
        self.adopt(now);
    }
    /// The same for a reset.
    pub fn learn_reset(&mut self, now: &ChunkDescriptor) {
        for held in &mut self.blocks {
            let before = match *held {
                Held::Version(version) => Some(version),
                Held::Unsure { before, after } => before.or(after),
                Held::Nothing => None,
            };
            *held = Held::Unsure { before, after: None };
        }
        match now.state().expect("one state") {
            ChunkFlags::Free => self.reset(false),
            ChunkFlags::Offline => self.reset(true),
            ChunkFlags::Open | ChunkFlags::Closed => self.adopt(now),
        }
    }
    fn adopt(&mut self, now: &ChunkDescriptor) {
        self.state = now.state().expect("one state");
        self.written = now.written.get() as usize;
        if self.state == ChunkFlags::Closed && self.written < self.blocks.len() {
            self.has_failed = Some(true);
        }
    }
}
