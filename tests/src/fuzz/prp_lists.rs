//! PRP lists: any entries, chained in any way. A read may write only to the pages that its list names.

use super::function::{Function, Memory};
use super::input::Input;
use aster_wire::nvme::io::{BlockRange, IoCommand};

const PAGE: u64 = 4096;
const ALL_PAGES: usize = (Memory::BYTES / PAGE) as usize;
/// Pages after the queues.
const DATA_PAGES: u64 = (Memory::BYTES - 6 * PAGE) / PAGE;

/// An address, in most cases in memory.
fn entry(input: &mut Input) -> u64 {
    let page = Function::data() + u64::from(input.u8()) % DATA_PAGES * PAGE;
    match input.u8() {
        0..8 => input.u64(),
        8..16 => page + u64::from(input.below(4096)),
        16..24 => page + PAGE - 8,
        _ => page,
    }
}

/// Which pages of memory are named by any entry that the drive may have seen.
struct Named([bool; ALL_PAGES]);

impl Named {
    fn note(&mut self, address: u64) {
        if let Some(page) = self.0.get_mut((address.wrapping_sub(Memory::AT) / PAGE) as usize) {
            *page = true;
        }
    }
    /// The drive may take any word for an entry, since a list may overlap another command's data.
    fn note_words(&mut self, memory: &[u8]) {
        for at in (0..memory.len() - 7).step_by(4) {
            self.note(u64::from_le_bytes(memory[at..at + 8].try_into().expect("eight bytes")));
        }
    }
}

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut function = Function::drawn(&mut input);
    function.enable();
    function.create_pair(1);
    let mut named = Named([false; ALL_PAGES]);
    while !input.is_empty() {
        let (prp1, prp2) = (entry(&mut input), entry(&mut input));
        for _ in 0..input.u8() % 40 {
            let (at, value) = (entry(&mut input), entry(&mut input));
            let at = (at & !7).wrapping_sub(Memory::AT) as usize;
            if let Some(place) = function.memory.all().get_mut(at..at.saturating_add(8)) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        let range = BlockRange::new(u64::from(input.u8()), 1 + u32::from(input.u8()));
        let write = input.u8().is_multiple_of(2);
        let before = function.memory.all().to_vec();
        named.note(prp1);
        named.note(prp2);
        named.note_words(&before);
        let command = if write { IoCommand::Write(range) } else { IoCommand::Read(range) };
        function.send(1, command.to_sqe(1, 0, prp1, prp2));
        let pages = before.chunks(PAGE as usize).zip(function.memory.all().chunks(PAGE as usize));
        for (page, (then, now)) in pages.enumerate() {
            let queues = Memory::AT + page as u64 * PAGE < Function::data();
            let allowed = queues || !write && named.0[page];
            assert!(allowed || then == now, "page {page} was written, which no entry names");
        }
    }
    function.must_work_after_a_reset();
}
