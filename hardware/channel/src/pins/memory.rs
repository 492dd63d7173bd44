//! Memory as the Packetizer sees it: an AXI4 slave that accepts and delivers words when the shared memory
//! has time for them (`rtl/README.md`, Memory).

use super::bursts::Burst;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_ports::pins::{AxiAddress, AxiAnswer, AxiMaster, AxiRead, AxiSlave, AxiWrite};
use aster_ports::resource::{WORD_BYTES, Window};
use aster_txn::Path;
use aster_txn::interface::limits::DESCRIPTORS;
use aster_units::{Duration, Instant};

/// The distance between the address ranges of descriptors. It is more than all bursts of a transaction
/// can move. A descriptor's range begins at its number, counted from 1, times this.
pub(crate) const WINDOW_BYTES: u64 = 1 << 26;
/// The longest burst that the Packetizer makes, in beats.
const BEATS_MAX: u64 = 16;
/// No AXI4 burst crosses a multiple of this.
const BOUNDARY: u64 = 4096;

const WORD: usize = WORD_BYTES as usize;

/// Where a descriptor's bytes begin.
pub(crate) fn address_of(descriptor: usize) -> u64 {
    (descriptor as u64 + 1) * WINDOW_BYTES
}

/// A burst whose address memory has accepted.
#[derive(Clone, Copy, Debug)]
struct Access {
    id: u8,
    address: u64,
    beats: u64,
}

/// The memory side of one transaction after another.
pub(crate) struct AxiMemory {
    windows: [Vec<u8>; DESCRIPTORS],
    reads: VecDeque<Access>,
    writes: VecDeque<Access>,
    // Words that came before their address did.
    written: VecDeque<AxiWrite>,
    answers: VecDeque<AxiAnswer>,
    // The cycles from which on words can pass, in order, for each direction.
    inward: VecDeque<u64>,
    outward: VecDeque<u64>,
    breach: Option<&'static str>,
}

impl AxiMemory {
    pub fn new() -> Self {
        AxiMemory {
            windows: Default::default(),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            written: VecDeque::new(),
            answers: VecDeque::new(),
            inward: VecDeque::new(),
            outward: VecDeque::new(),
            breach: None,
        }
    }

    /// Begins a transaction whose bytes pass as `window` says. Cycles have length `period` and are
    /// counted from power-on.
    pub fn begin(&mut self, bursts: &[Burst], window: &Window, period: Duration) {
        self.windows.iter_mut().for_each(Vec::clear);
        self.inward.clear();
        self.outward.clear();
        let mut passed = 0;
        for burst in bursts.iter().filter(|b| b.path != Path::Mailbox) {
            let words = if burst.out { &mut self.outward } else { &mut self.inward };
            let mut left = u64::from(burst.bytes);
            while left > 0 {
                let word = left.min(WORD_BYTES);
                left -= word;
                passed += word;
                words.push_back(window.passed(passed).since(Instant::ZERO).cycles_up(period));
            }
        }
    }

    /// A descriptor's bytes: to be filled before the transaction runs, or what the transaction has
    /// written.
    pub fn window(&mut self, descriptor: usize) -> &mut Vec<u8> {
        &mut self.windows[descriptor]
    }

    /// The rule of AXI4, or of its own, that the channel has broken.
    pub fn breach(&self) -> Option<&'static str> {
        self.breach
    }

    /// True when all words of the transaction have passed.
    pub fn is_done(&self) -> bool {
        self.inward.is_empty() && self.outward.is_empty() && self.written.is_empty()
    }

    fn break_rule(&mut self, what: &'static str) {
        self.breach.get_or_insert(what);
    }

    /// What memory drives in `cycle`.
    pub fn drive(&self, cycle: u64) -> AxiSlave {
        let due = |words: &VecDeque<u64>| words.front().is_some_and(|&from| from <= cycle);
        let read = match self.reads.front() {
            Some(access) if due(&self.inward) => AxiRead {
                valid: true,
                id: access.id,
                data: self.word(access.address),
                response: 0,
                last: access.beats == 1,
            },
            _ => AxiRead::default(),
        };
        AxiSlave {
            read_at_ready: true,
            read,
            write_at_ready: true,
            write_ready: due(&self.outward),
            answer: self.answers.front().copied().unwrap_or_default(),
        }
    }

    /// Notes the transfers of a cycle in which the channel drove `master` and memory drove `slave`.
    pub fn end_cycle(&mut self, master: &AxiMaster, slave: &AxiSlave) {
        if slave.read.valid && master.read_ready {
            self.inward.pop_front();
            let done = self.reads.front_mut().is_none_or(|access| {
                access.address += WORD_BYTES;
                access.beats -= 1;
                access.beats == 0
            });
            if done {
                self.reads.pop_front();
            }
        }
        if slave.answer.valid && master.answer_ready {
            self.answers.pop_front();
        }
        if master.read_at.valid && slave.read_at_ready {
            let access = self.access(&master.read_at);
            self.reads.push_back(access);
        }
        if master.write_at.valid && slave.write_at_ready {
            let access = self.access(&master.write_at);
            self.writes.push_back(access);
        }
        if master.write.valid && slave.write_ready {
            self.outward.pop_front();
            self.written.push_back(master.write);
        } else if master.write.valid && self.outward.is_empty() {
            self.break_rule("it offers memory more words than its bursts have");
        }
        while !self.writes.is_empty()
            && let Some(word) = self.written.pop_front()
        {
            self.store(word);
        }
    }

    fn access(&mut self, at: &AxiAddress) -> Access {
        let beats = u64::from(at.length) + 1;
        let bytes = beats * WORD_BYTES;
        let legal = at.size == 3
            && at.burst == 1
            && at.address.is_multiple_of(WORD_BYTES)
            && beats <= BEATS_MAX
            && at.address / BOUNDARY == (at.address + bytes - 1) / BOUNDARY;
        if !legal {
            self.break_rule("an address on AXI is no INCR burst of at most 16 words inside 4 KiB");
        }
        if Self::place(at.address).is_none() {
            self.break_rule("it accesses memory that no descriptor names");
        }
        Access { id: at.id, address: at.address, beats }
    }

    fn place(address: u64) -> Option<(usize, usize)> {
        let descriptor = (address / WINDOW_BYTES).checked_sub(1)? as usize;
        (descriptor < DESCRIPTORS).then_some((descriptor, (address % WINDOW_BYTES) as usize))
    }

    fn word(&self, address: u64) -> u64 {
        let mut word = [0; WORD];
        if let Some((descriptor, at)) = Self::place(address)
            && let Some(bytes) = self.windows[descriptor].get(at..)
        {
            let n = bytes.len().min(WORD);
            word[..n].copy_from_slice(&bytes[..n]);
        }
        u64::from_le_bytes(word)
    }

    fn store(&mut self, word: AxiWrite) {
        let Some(access) = self.writes.front_mut() else { return };
        let (id, address) = (access.id, access.address);
        access.address += WORD_BYTES;
        access.beats -= 1;
        let last = access.beats == 0;
        if last {
            self.writes.pop_front();
            self.answers.push_back(AxiAnswer { valid: true, id, response: 0 });
        }
        if word.last != last {
            self.break_rule("WLAST is not with the last word of its burst");
        }
        if let Some((descriptor, at)) = Self::place(address) {
            let window = &mut self.windows[descriptor];
            let bytes = word.strobes.trailing_ones() as usize;
            if window.len() < at + bytes {
                window.resize(at + bytes, 0);
            }
            window[at..at + bytes].copy_from_slice(&word.data.to_le_bytes()[..bytes]);
            if word.strobes != (0xffu16 >> (8 - bytes)) as u8 || bytes == 0 {
                self.break_rule("WSTRB doesn't mark the first bytes of a word");
            }
        }
    }
}
