//! The data mover of the completion offload (S6).

use aster_ports::dram::Dram;
use aster_ports::tlp::TlpPort;
use aster_wire::pcie::tlp::{Completion, CompletionStatus, TlpHeader};

/// Moves the data of a completion to where the descriptor of its tag says. Returns whether it has: what has
/// no descriptor, brings no good data, or doesn't continue where the last one ended, is software's.
pub(super) fn moves(port: &TlpPort, dram: &Dram, header: &[u8], data_at: u32) -> bool {
    let Ok((TlpHeader::Completion(completion), _)) = TlpHeader::parse(header) else { return false };
    let Completion { status, tag, byte_count, lower_address, dwords, attributes, .. } = completion;
    if status != CompletionStatus::Success || attributes.poisoned || dwords == 0 {
        return false;
    }
    let Some(descriptor) = port.descriptor(tag.number()) else { return false };
    if u32::from(byte_count) != descriptor.bytes - descriptor.offset {
        return false;
    }
    let (from, bytes) = (data_at as usize + usize::from(lower_address & 3), completion.bytes());
    dram.borrow_mut().copy_from_sram(from, descriptor.base.plus(descriptor.offset), bytes as usize);
    port.note_moved(tag.number(), bytes);
    true
}
