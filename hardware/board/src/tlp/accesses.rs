//! The host's side of its accesses to the function: the requests that its root complex sends, and the
//! completions that it waits for (PCIe 4.0 §2.2.7, §2.3.2, §2.8).

use alloc::collections::VecDeque;
use aster_ports::tlp::{HostRequest, REQUEST_DATA};
use aster_units::{Duration, Instant};
use aster_wire::pcie::tlp::{
    Completion, CompletionStatus, DWORD_BYTES, FunctionId, MemoryRequest, REQUEST_BOUNDARY, TLP_HEADER_MAX,
    Tag, TlpHeader,
};

/// How long the root complex waits for the answer to a read (PCIe 4.0 §2.8 has 50 µs to 50 ms).
const TIMEOUT: Duration = Duration::from_millis(10);
/// Reads that it has outstanding: a tag has five bits.
const TAGS: usize = 32;
/// Answers that the host has not taken.
const ANSWERS: usize = 32;

/// What has gone wrong with the host's reads and writes of BARs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessErrors {
    /// Accesses that no packet can carry, those across 4 KiB, and reads for which there was no tag.
    pub not_sent: u64,
    /// Requests that no BAR has claimed: reads were answered by Unsupported Request, writes dropped.
    pub unsupported: u64,
    /// Reads that were answered by Completer Abort, or by poisoned data.
    pub aborted: u64,
    /// Reads that were not answered in time.
    pub timed_out: u64,
    /// Completions that belong to no read, or don't fit it.
    pub unexpected: u64,
}

/// A request that travels down.
pub(super) struct Access {
    pub(super) request: HostRequest,
    /// The first byte within the BAR, and how many.
    pub(super) offset: u32,
    pub(super) bytes: u8,
    /// Resets of the function before it was sent.
    pub(super) resets: u32,
}

/// A read that has not been answered.
#[derive(Clone, Copy)]
struct Outstanding {
    number: u32,
    address: u64,
    bytes: u8,
    since: Instant,
    /// The host doesn't wait for it any more. Its tag stays taken until its completion comes, since the next
    /// read with that tag would take it for its own.
    given_up: bool,
}

/// The reads of the host by tag, and the answers.
pub(super) struct Accesses {
    requester: FunctionId,
    tags: [Option<Outstanding>; TAGS],
    /// By number, the oldest first.
    answers: VecDeque<(u32, Option<u64>)>,
    next: u32,
    errors: AccessErrors,
}

impl Accesses {
    /// The accesses of a root complex with this id.
    pub(super) fn new(requester: FunctionId) -> Self {
        let answers = VecDeque::with_capacity(ANSWERS);
        Accesses { requester, tags: [None; TAGS], answers, next: 0, errors: AccessErrors::default() }
    }
    pub(super) fn errors(&self) -> AccessErrors {
        self.errors
    }

    /// Whether a packet can carry an access.
    fn fits(&mut self, address: u64, bytes: u8) -> bool {
        let fits = address % REQUEST_BOUNDARY + u64::from(bytes) <= REQUEST_BOUNDARY && bytes <= 8;
        self.errors.not_sent += u64::from(!fits);
        fits
    }
    /// The packet that writes the low bytes of `value`.
    pub(super) fn write(&mut self, bar: u8, address: u64, bytes: u8, value: u64) -> Option<HostRequest> {
        if !self.fits(address, bytes) {
            return None;
        }
        let of = MemoryRequest::of_memory(true, self.requester, Tag::new(0), address, bytes.into());
        let mut data = [0; REQUEST_DATA];
        let at = (address % DWORD_BYTES as u64) as usize;
        data[at..at + usize::from(bytes)].copy_from_slice(&value.to_le_bytes()[..usize::from(bytes)]);
        Some(packet(bar, of, &data[..of.payload_bytes()]))
    }
    /// The packet that reads, and the number by which the host takes the answer. `None` if there are as many
    /// reads already as can be.
    pub(super) fn read(
        &mut self,
        now: Instant,
        bar: u8,
        address: u64,
        bytes: u8,
    ) -> Option<(u32, HostRequest)> {
        if !self.fits(address, bytes) {
            return None;
        }
        let free = self.tags.iter().position(Option::is_none).filter(|_| self.make_room());
        let Some(tag) = free else {
            self.errors.not_sent += 1;
            return None;
        };
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.tags[tag] = Some(Outstanding { number, address, bytes, since: now, given_up: false });
        self.answers.push_back((number, None));
        let tag = Tag::new(tag as u16);
        let of = MemoryRequest::of_memory(false, self.requester, tag, address, bytes.into());
        Some((number, packet(bar, of, &[])))
    }
    /// Makes room for one more answer: its host may have given the oldest up.
    fn make_room(&mut self) -> bool {
        if self.answers.len() < ANSWERS {
            return true;
        }
        let answered = self.answers.iter().position(|(_, answer)| answer.is_some());
        answered.and_then(|at| self.answers.remove(at)).is_some()
    }
    fn answer(&mut self, number: u32, value: u64) {
        if let Some((_, answer)) = self.answers.iter_mut().find(|(of, _)| *of == number) {
            *answer = answer.or(Some(value));
        }
    }
    /// Takes the answer to a read: `None` while there is none, all ones if nobody waits for one.
    pub(super) fn take(&mut self, number: u32) -> Option<u64> {
        let Some(at) = self.answers.iter().position(|(of, _)| *of == number) else { return Some(u64::MAX) };
        let answer = self.answers[at].1?;
        self.answers.remove(at);
        Some(answer)
    }

    /// A completion has come up.
    pub(super) fn hear(&mut self, header: &[u8], data: &[u8]) {
        let Ok((TlpHeader::Completion(completion), _)) = TlpHeader::parse(header) else {
            self.errors.unexpected += 1;
            return;
        };
        let tag = usize::from(completion.tag.number());
        let known = completion.requester == self.requester;
        let one = self.tags.get_mut(tag).filter(|_| known).and_then(Option::take);
        let Some(one) = one else {
            self.errors.unexpected += 1;
            return;
        };
        let value = self.value(&one, &completion, data);
        self.answer(one.number, value);
    }
    /// What the host gets. All ones stand for whatever is no answer (PCIe 4.0 §2.3.2).
    fn value(&mut self, read: &Outstanding, completion: &Completion, data: &[u8]) -> u64 {
        match completion.status {
            CompletionStatus::Success if completion.attributes.poisoned => self.errors.aborted += 1,
            CompletionStatus::Success => {
                let skip = (read.address % DWORD_BYTES as u64) as usize;
                let fits = completion.byte_count == read.bytes.into()
                    && u64::from(completion.lower_address) == read.address % 128;
                if let Some(data) = data.get(skip..skip + usize::from(read.bytes)).filter(|_| fits) {
                    return data.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
                }
                self.errors.unexpected += 1;
            }
            CompletionStatus::Unsupported => self.errors.unsupported += 1,
            CompletionStatus::Retry | CompletionStatus::Abort => self.errors.aborted += 1,
        }
        u64::MAX
    }
    /// No BAR has claimed a write.
    pub(super) fn note_unsupported_write(&mut self) {
        self.errors.unsupported += 1;
    }
    /// A request has been dropped on its way. If it is a read, no completion will come: its tag is free. A
    /// write has tag 0, which means nothing.
    pub(super) fn forget(&mut self, request: &HostRequest) {
        let Ok((TlpHeader::Memory(read), _)) = TlpHeader::parse(request.bytes()) else { return };
        if read.write {
            return;
        }
        let tag = self.tags.get_mut(usize::from(read.tag.number()));
        if let Some(one) = tag.and_then(Option::take) {
            self.answer(one.number, u64::MAX);
        }
    }

    fn give_up(&mut self, which: impl Fn(&Outstanding) -> bool) -> u64 {
        let mut count = 0;
        for tag in 0..TAGS {
            let Some(one) = self.tags[tag].as_mut().filter(|one| !one.given_up && which(one)) else {
                continue;
            };
            one.given_up = true;
            let number = one.number;
            self.answer(number, u64::MAX);
            count += 1;
        }
        count
    }
    /// The function is reset: no read will be answered by what it was for.
    pub(super) fn give_all_up(&mut self) {
        self.give_up(|_| true);
    }
    /// Ends the reads that should have been answered by `now`.
    pub(super) fn give_overdue_up(&mut self, now: Instant) {
        let count = self.give_up(|one| one.since + TIMEOUT <= now);
        self.errors.timed_out += count;
    }
    /// When the next read is overdue.
    pub(super) fn next_overdue(&self) -> Option<Instant> {
        self.tags.iter().flatten().filter(|one| !one.given_up).map(|one| one.since + TIMEOUT).min()
    }
}

fn packet(bar: u8, request: MemoryRequest, data: &[u8]) -> HostRequest {
    let mut header = [0; TLP_HEADER_MAX];
    let bytes = TlpHeader::Memory(request).encode(&mut header);
    HostRequest::new(bar, &header[..bytes], data)
}

#[cfg(test)]
mod tests;
