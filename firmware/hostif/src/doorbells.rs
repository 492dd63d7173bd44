//! Doorbells that the host keeps in its own memory, and what a run mode needs to poll doorbells by itself
//! (NVMe 1.4 §5.7, Doorbell Buffer Config).
//!
//! The controller can't see a write to host memory. The run mode polls the buffer there and passes changes
//! on as writes of the doorbell registers. The command is therefore offered only if the run mode does
//! that.

use aster_parties::DoorbellBuffer;

/// Which doorbells exist, and where.
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
    /// Lets the host have a buffer from now on.
    pub fn offer(&mut self) {
        self.offered = true;
    }
    /// The host's buffer, if it has one.
    pub fn buffer(&self) -> Option<DoorbellBuffer> {
        self.buffer
    }
    /// Takes the place of the host's buffer.
    pub fn use_buffer(&mut self, buffer: DoorbellBuffer) {
        self.buffer = Some(buffer);
        self.changed();
    }
    /// A number that changes with every change of queues or buffer.
    #[inline]
    pub fn generation(&self) -> u32 {
        self.generation
    }
    /// Notes that a queue was created or deleted.
    pub fn changed(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }
    /// Controller level reset: all queues and the host's buffer are gone.
    pub fn reset(&mut self) {
        self.buffer = None;
        self.changed();
    }
}
