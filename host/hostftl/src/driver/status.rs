//! Status frames that the host has yet to take.

use super::error::ArrayError;
use aster_wire::array::{STATUS_ENTRY_BYTES, STATUS_FRAMES, StatusEntry};
use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, IntoBytes};

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
    ///
    /// All entries of a place that was taken get the number of the last one that was taken. A frame is often
    /// shorter than the one before it in its place, whose last entries would otherwise stay until their
    /// numbers, which have 16 bits, come round.
    pub fn take(&mut self, frame: &mut [u8], mut each: impl FnMut(StatusEntry)) -> Result<bool, ArrayError> {
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
        if any {
            self.taken = self.taken.wrapping_add(1);
            let sequence = U16::new(self.sequence.wrapping_sub(1));
            let taken = StatusEntry { sequence, ..StatusEntry::default() };
            let places = frame.chunks_exact_mut(STATUS_ENTRY_BYTES);
            places.for_each(|place| place.copy_from_slice(taken.as_bytes()));
        }
        Ok(any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use aster_units::Rng;
    use aster_wire::array::STATUS_FRAME_BYTES;

    /// Numbers of entries come round after 65,536. By then a place may hold entries of a long frame behind
    /// those of many short ones.
    #[test]
    fn entries_left_by_a_longer_frame_are_never_taken_again() {
        let (mut reader, mut random) = (StatusReader::default(), Rng::new(1));
        let mut places = [[0; STATUS_FRAME_BYTES]; STATUS_FRAMES];
        let (mut next, mut frames) = (1u16, 0);
        while frames < 300_000 {
            // A burst of long frames, then short ones only for up to twice the range of the numbers.
            let short = random.below(1 << 17);
            for n in 0..64 + short {
                let length = if n < 64 { 1 + random.below(16) as usize } else { 1 };
                let place = &mut places[reader.place()];
                let mut sent = Vec::with_capacity(length);
                for entry in place.chunks_exact_mut(STATUS_ENTRY_BYTES).take(length) {
                    let numbered = StatusEntry { sequence: U16::new(next), ..StatusEntry::default() };
                    entry.copy_from_slice(numbered.as_bytes());
                    sent.push(next);
                    next = next.wrapping_add(1);
                }
                let mut taken = Vec::with_capacity(length);
                let came = reader.take(place, |entry| taken.push(entry.sequence.get()));
                assert_eq!((came, taken), (Ok(true), sent));
                // Nothing has come into the next place yet.
                let next = &mut places[reader.place()];
                assert_eq!(reader.take(next, |_| panic!("an old entry is taken")), Ok(false));
                frames += 1;
            }
        }
    }
}
