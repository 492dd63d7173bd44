//! The FIFO of frame addresses, and the two buffers into which frames are fetched in turn (H9).

use aster_wire::array::{FRAME_BYTES_MAX, FrameAddress};

/// Frame addresses that the FIFO holds (G29).
pub(super) const FRAMES: usize = 16;
/// Frame buffers.
pub(super) const BUFFERS: usize = 2;

/// What a frame buffer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum FrameBuffer {
    #[default]
    Free,
    /// A frame of so many bytes is on its way.
    Fetching { bytes: usize },
    /// Its commands from `at` on haven't been scattered yet.
    Full { at: usize, bytes: usize },
}

/// Frames on their way from the FIFO to the slots. They leave in the order in which they came.
#[derive(Default)]
pub(super) struct Frames {
    addresses: [u64; FRAMES],
    first: usize,
    count: usize,
    buffers: [FrameBuffer; BUFFERS],
    /// The buffer into which the next frame goes, and the one whose commands are next.
    into: usize,
    from: usize,
}

impl Frames {
    /// Puts a frame's address into the FIFO; `false` if it is full.
    pub fn put(&mut self, address: u64) -> bool {
        if self.count == FRAMES {
            return false;
        }
        self.addresses[(self.first + self.count) % FRAMES] = address;
        self.count += 1;
        true
    }
    /// Frame addresses in the FIFO.
    pub const fn waiting(&self) -> usize {
        self.count
    }
    /// Takes the next frame address for a buffer that is free, if there are both. An address without a
    /// length is returned as it is.
    pub fn fetch(&mut self) -> Option<(usize, FrameAddress)> {
        if self.count == 0 || self.buffers[self.into] != FrameBuffer::Free {
            return None;
        }
        let address = FrameAddress(self.addresses[self.first]);
        (self.first, self.count) = ((self.first + 1) % FRAMES, self.count - 1);
        let buffer = self.into;
        self.buffers[buffer] = FrameBuffer::Fetching { bytes: address.bytes().unwrap_or(0) };
        self.into = (buffer + 1) % BUFFERS;
        Some((buffer, address))
    }
    /// A frame has arrived in its buffer.
    pub fn arrived(&mut self, buffer: usize) {
        let FrameBuffer::Fetching { bytes } = self.buffers[buffer] else {
            unreachable!("a frame arrives where it was fetched to")
        };
        self.buffers[buffer] = FrameBuffer::Full { at: 0, bytes };
    }
    /// The commands that come next, as a range of the buffers' memory; `None` if there are none.
    pub fn next(&self) -> Option<core::ops::Range<usize>> {
        match self.buffers[self.from] {
            FrameBuffer::Full { at, bytes } => {
                let buffer = self.from * FRAME_BYTES_MAX;
                Some(buffer + at..buffer + bytes)
            }
            _ => None,
        }
    }
    /// The next command, of so many bytes, has been scattered.
    pub fn scattered(&mut self, command: usize) {
        let FrameBuffer::Full { at, bytes } = self.buffers[self.from] else {
            unreachable!("a command is scattered out of a full buffer")
        };
        let at = at + command;
        if at < bytes {
            self.buffers[self.from] = FrameBuffer::Full { at, bytes };
        } else {
            self.buffers[self.from] = FrameBuffer::Free;
            self.from = (self.from + 1) % BUFFERS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_in_order_and_two_are_fetched_at_a_time() {
        let mut frames = Frames::default();
        for n in 0..FRAMES as u64 {
            assert!(frames.put(FrameAddress::of(n << 8, 16).0));
        }
        assert!(!frames.put(0));
        let address = |fetched: Option<(usize, FrameAddress)>| fetched.map(|(at, a)| (at, a.address()));
        assert_eq!(address(frames.fetch()), Some((0, 0)));
        assert_eq!(address(frames.fetch()), Some((1, 0x100)));
        assert_eq!((address(frames.fetch()), frames.waiting()), (None, FRAMES - 2));
        // The second frame has arrived first, and waits for the first.
        frames.arrived(1);
        assert_eq!(frames.next(), None);
        frames.arrived(0);
        assert_eq!(frames.next(), Some(0..16));
        frames.scattered(8);
        assert_eq!(frames.next(), Some(8..16));
        assert_eq!(address(frames.fetch()), None);
        frames.scattered(8);
        assert_eq!(frames.next(), Some(FRAME_BYTES_MAX..FRAME_BYTES_MAX + 16));
        assert_eq!(address(frames.fetch()), Some((0, 0x200)));
    }
}
