//! Status frames that the host has yet to take.

use super::error::ArrayError;
use aster_wire::array::{STATUS_ENTRY_BYTES, STATUS_FRAMES, StatusEntry};
use zerocopy::FromBytes;

/// Where the host stands in the drive's statuses.
#[derive(Clone, Copy)]
pub(super) struct StatusReader {
    /// The number of the next entry.
    sequence: u16,
    /// Frames that have been taken.
    taken: u32,
}

impl Default for StatusReader {
    fn default() -> Self {
        StatusReader { sequence: 1, taken: 0 }
    }
}

impl StatusReader {
    /// The place in the status buffer of the frame that comes next.
    pub const fn place(&self) -> usize {
        self.taken as usize % STATUS_FRAMES
    }
    /// Frames that have been taken.
    pub const fn taken(&self) -> u32 {
        self.taken
    }
    /// Takes the entries of the next frame if it has come: `frame` has the bytes of its place, where an older
    /// frame may still lie. Returns whether it has come.
    pub fn take(&mut self, frame: &[u8], mut each: impl FnMut(StatusEntry)) -> Result<bool, ArrayError> {
        let mut any = false;
        for bytes in frame.chunks_exact(STATUS_ENTRY_BYTES) {
            let entry = StatusEntry::read_from_bytes(bytes).expect("an entry has eight bytes");
            let ahead = entry.sequence.get().wrapping_sub(self.sequence) as i16;
            if ahead < 0 {
                break;
            }
            if ahead > 0 {
                let (expected, found) = (self.sequence, entry.sequence.get());
                return Err(ArrayError::LostStatus { expected, found });
            }
            self.sequence = self.sequence.wrapping_add(1);
            any = true;
            each(entry);
        }
        self.taken = self.taken.wrapping_add(u32::from(any));
        Ok(any)
    }
}
