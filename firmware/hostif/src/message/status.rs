//! The drive's ring of status entries, and the frames that are sent of it (H12, H16, H17, H18).

use aster_units::Instant;
use aster_wire::array::{
    STATUS_BUFFER_ENTRIES, STATUS_ENTRY_BYTES, STATUS_FRAME_ENTRIES_MAX, STATUS_FRAMES, StatusEntry,
    StatusRequest,
};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U16;

/// Status requests that may be on the link (H12).
const REQUESTS: usize = 16;

/// Entries in the order in which the MCU has collected them. Their bytes lie in the front end's SRAM.
pub(super) struct StatusRing {
    /// The first entry that the host doesn't have yet.
    first: usize,
    /// Entries from there on: those on the link, and those that are in no frame yet.
    sent: usize,
    unsent: usize,
    /// Lengths of the frames on the link, oldest first: book-keeping without offsets (H18). The paper's array
    /// has 128 places; no more than 16 frames are requested at once.
    lengths: [u8; REQUESTS],
    frames: usize,
    /// Of these, frames that have arrived: the FIFO of completions (H12).
    arrived: usize,
    /// Frames that the host has taken and that were sent, modulo 2³².
    head: u32,
    tail: u32,
    /// The number of the next entry.
    sequence: u16,
    /// When the oldest entry came that is in no frame.
    waiting_since: Option<Instant>,
}

impl Default for StatusRing {
    fn default() -> Self {
        StatusRing {
            first: 0,
            sent: 0,
            unsent: 0,
            lengths: [0; REQUESTS],
            frames: 0,
            arrived: 0,
            head: 0,
            tail: 0,
            sequence: 1,
            waiting_since: None,
        }
    }
}

impl StatusRing {
    /// Entries that the ring holds.
    const fn len(&self) -> usize {
        self.sent + self.unsent
    }
    /// Entries for which it has room.
    pub const fn room(&self) -> usize {
        STATUS_BUFFER_ENTRIES - self.len()
    }
    /// Appends an entry to the ring, whose bytes are `memory`. Asserts that there is room.
    pub fn push(&mut self, mut entry: StatusEntry, memory: &mut [u8], now: Instant) {
        assert!(self.room() > 0, "a status entry without room");
        entry.sequence = U16::new(self.sequence);
        self.sequence = self.sequence.wrapping_add(1);
        let at = (self.first + self.len()) % STATUS_BUFFER_ENTRIES * STATUS_ENTRY_BYTES;
        memory[at..at + STATUS_ENTRY_BYTES].copy_from_slice(entry.as_bytes());
        self.unsent += 1;
        self.waiting_since.get_or_insert(now);
    }
    /// Whether a frame is to be sent: at least `enough` entries wait, or all that do are due. Neither buffer
    /// overflows: the host's has room for 16 frames that it hasn't taken (H18). While there is no room,
    /// entries gather for the frame that comes next (H17).
    pub const fn asks(&self, enough: usize, due: bool) -> bool {
        let room = self.tail.wrapping_sub(self.head) < STATUS_FRAMES as u32 && self.frames < REQUESTS;
        let enough = if enough == 0 { 1 } else { enough };
        room && (self.unsent >= enough || due && self.unsent > 0)
    }
    /// The next frame to be sent, if one is to be. Its entries lie behind each other in the ring's memory.
    pub fn next_frame(&mut self, enough: usize, due: bool) -> Option<StatusRequest> {
        if !self.asks(enough, due) {
            return None;
        }
        let start = (self.first + self.sent) % STATUS_BUFFER_ENTRIES;
        let length = self.unsent.min(STATUS_FRAME_ENTRIES_MAX).min(STATUS_BUFFER_ENTRIES - start);
        let frame = (self.tail % STATUS_FRAMES as u32) as u8;
        self.lengths[self.frames] = length as u8;
        self.frames += 1;
        (self.sent, self.unsent) = (self.sent + length, self.unsent - length);
        self.tail = self.tail.wrapping_add(1);
        if self.unsent == 0 {
            self.waiting_since = None;
        }
        Some(StatusRequest::of(start as u8, length as u8, frame))
    }
    /// The oldest frame on the link has reached the host.
    pub fn arrived(&mut self) {
        assert!(self.arrived < self.frames, "a frame arrives that was sent");
        self.arrived += 1;
    }
    /// Whether frames have arrived whose places aren't free yet.
    pub const fn has_arrived(&self) -> bool {
        self.arrived > 0
    }
    /// Frees the places of all frames that have arrived.
    pub fn reap(&mut self) {
        let arrived = core::mem::take(&mut self.arrived);
        let entries = self.lengths[..arrived].iter().map(|&length| usize::from(length)).sum::<usize>();
        self.lengths.copy_within(arrived..self.frames, 0);
        self.frames -= arrived;
        self.sent -= entries;
        self.first = (self.first + entries) % STATUS_BUFFER_ENTRIES;
    }
    /// When the oldest entry came that is in no frame.
    pub const fn waiting_since(&self) -> Option<Instant> {
        self.waiting_since
    }
    /// The host says how many frames it has taken. A number of frames that it can't have taken is ignored.
    pub fn taken(&mut self, head: u32) {
        if self.tail.wrapping_sub(head) <= self.tail.wrapping_sub(self.head) {
            self.head = head;
        }
    }
    /// Frames that were taken and sent.
    pub const fn head_and_tail(&self) -> (u32, u32) {
        (self.head, self.tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = STATUS_BUFFER_ENTRIES * STATUS_ENTRY_BYTES;

    /// A host that takes frames at random never has more than 16, and gets each entry once, in order.
    #[test]
    fn no_entry_is_lost_or_sent_twice_and_no_buffer_overflows() {
        let (mut ring, mut memory) = (StatusRing::default(), [0; BYTES]);
        let mut random = aster_units::Rng::new(7);
        let (mut next, mut seen, mut on_link, mut at_host, mut head) = (1u16, 1u16, 0, 0u32, 0u32);
        for _ in 0..20_000 {
            match random.below(4) {
                0 if ring.room() > 0 => {
                    ring.push(StatusEntry::default(), &mut memory, Instant::ZERO);
                    next = next.wrapping_add(1);
                }
                1 => {
                    if let Some(request) = ring.next_frame(1 + random.below(8) as usize, random.below(8) == 0)
                    {
                        assert_eq!(u32::from(request.frame()), head.wrapping_add(at_host + on_link) % 16);
                        let at = usize::from(request.start()) * STATUS_ENTRY_BYTES;
                        let bytes = &memory[at..][..usize::from(request.length()) * STATUS_ENTRY_BYTES];
                        for entry in bytes.chunks(STATUS_ENTRY_BYTES) {
                            assert_eq!(u16::from_le_bytes([entry[6], entry[7]]), seen);
                            seen = seen.wrapping_add(1);
                        }
                        on_link += 1;
                    }
                }
                2 if on_link > 0 => {
                    ring.arrived();
                    assert!(ring.has_arrived());
                    if random.below(2) == 0 {
                        ring.reap();
                    }
                    (on_link, at_host) = (on_link - 1, at_host + 1);
                }
                _ if at_host > 0 => {
                    let taken = 1 + random.below(at_host.into()) as u32;
                    (head, at_host) = (head.wrapping_add(taken), at_host - taken);
                    ring.taken(head);
                }
                _ => {}
            }
            assert!(on_link + at_host <= STATUS_FRAMES as u32);
            ring.taken(head.wrapping_sub(1));
            ring.taken(head.wrapping_add(at_host + on_link + 1));
            assert_eq!(ring.head_and_tail(), (head, head.wrapping_add(at_host + on_link)));
            assert_eq!(ring.waiting_since().is_some(), next != seen);
        }
        assert!(seen > 2_000);
    }
}
