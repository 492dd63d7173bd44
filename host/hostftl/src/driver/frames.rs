//! Commands that wait for a frame, and frames that the drive has yet to fetch.

use super::tags::{CommandTag, TAGS};
use alloc::collections::VecDeque;
use aster_wire::array::{Command, FrameBuilder};

/// Frame addresses that the drive's FIFO holds.
pub(super) const FRAMES: u64 = 16;

/// What goes to the drive.
pub(super) struct FrameQueue {
    waiting: VecDeque<CommandTag>,
    /// Frames that were handed over, and how many of them the drive has fetched for certain: it fetches them
    /// in order, so those up to that of the last command that has ended.
    sent: u64,
    fetched: u64,
    commands: u64,
    builder: FrameBuilder,
}

impl Default for FrameQueue {
    fn default() -> Self {
        FrameQueue {
            waiting: VecDeque::with_capacity(TAGS),
            sent: 0,
            fetched: 0,
            commands: 0,
            builder: FrameBuilder::default(),
        }
    }
}

impl FrameQueue {
    /// A command waits for a frame.
    pub fn add(&mut self, tag: CommandTag) {
        self.waiting.push_back(tag);
        self.commands += 1;
    }
    /// The drive has lost its frames, and those that wait are for nothing.
    pub fn lose(&mut self) {
        self.waiting.clear();
        self.fetched = self.sent;
    }
    /// Commands that were added.
    pub const fn commands(&self) -> u64 {
        self.commands
    }
    /// Frames that were handed over.
    pub const fn sent(&self) -> u64 {
        self.sent
    }
    /// A command of frame `frame` has ended.
    pub fn ended(&mut self, frame: u64) {
        self.fetched = self.fetched.max(frame + 1);
    }
    /// Whether there are commands for a frame, and room for it in the drive.
    pub fn is_due(&self) -> bool {
        !self.waiting.is_empty() && self.sent - self.fetched < FRAMES
    }
    /// The next frame, if it is due: its number, its first command and its bytes. `framed` is told of each
    /// command in it.
    pub fn next(
        &mut self,
        command: impl Fn(CommandTag) -> Command,
        framed: impl Fn(CommandTag, u64),
    ) -> Option<(CommandTag, &[u8])> {
        if !self.is_due() {
            return None;
        }
        let first = *self.waiting.front()?;
        self.builder.clear();
        while let Some(&tag) = self.waiting.front() {
            if !self.builder.push(&command(tag)) {
                break;
            }
            self.waiting.pop_front();
            framed(tag, self.sent);
        }
        self.sent += 1;
        Some((first, self.builder.bytes()))
    }
}
