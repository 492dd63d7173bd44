//! Doorbells that the host keeps in its own memory, and what a run mode needs to look at doorbells by itself
//! (NVMe 1.4 §5.7, Doorbell Buffer Config).
//!
//! The controller has no way to see a write to host memory: whoever runs it looks there and hands on what has
//! changed as writes of the doorbell registers. So the command is offered only where somebody does.

use aster_parties::DoorbellBuffer;

/// Which doorbells there are, and where.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Doorbells {
    offered: bool,
    buffer: Option<DoorbellBuffer>,
    generation: u32,
}

impl Doorbells {
    pub fn offered(&self) -> bool {
        self.offered
    }
    /// The host may have a buffer from now on.
    pub fn offer(&mut self) {
        self.offered = true;
    }
    /// The host's buffer, if it has one.
    pub fn buffer(&self) -> Option<DoorbellBuffer> {
        self.buffer
    }
    /// The host has told where its buffer is.
    pub fn use_buffer(&mut self, buffer: DoorbellBuffer) {
        self.buffer = Some(buffer);
        self.changed();
    }
    /// Another number after each change.
    #[inline]
    pub fn generation(&self) -> u32 {
        self.generation
    }
    /// A queue has come or gone.
    pub fn changed(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }
    /// Controller level reset: all queues are gone, and the host's buffers with them.
    pub fn reset(&mut self) {
        self.buffer = None;
        self.changed();
    }
}
