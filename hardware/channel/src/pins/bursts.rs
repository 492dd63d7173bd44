//! The bursts of a transaction as hardware needs them: where each is in memory, and what the stages do
//! with it.

use crate::stages::Stages;
use crate::timing::CycleTable;
use alloc::vec::Vec;
use aster_ports::channel::TxnError;
use aster_ports::dram::Buffers;
use aster_ports::package::{PageData, ProtocolError};
use aster_ports::resource::WORD_BYTES;
use aster_txn::interface::limits::DESCRIPTORS;
use aster_txn::{Op, Path, Txn};
use aster_units::Content;

/// One burst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    pub out: bool,
    pub bytes: u32,
    pub transfers: u32,
    /// Its descriptor's index, and the number of bursts and bytes of that descriptor before this one.
    pub descriptor: usize,
    pub part: u8,
    pub before: u32,
    pub path: Path,
    /// Where its bytes begin in its descriptor's window.
    pub at: usize,
    /// Why the stages refuse it, if they do.
    pub refusal: Option<TxnError>,
}

/// Collects the bursts of `txn` in `bursts`. A burst without a descriptor ends the list, since the
/// hardware doesn't run such a transaction.
pub(crate) fn collect(
    txn: &Txn,
    table: &CycleTable,
    stages: &Stages,
    memory: &Buffers,
    bursts: &mut Vec<Burst>,
) {
    bursts.clear();
    let mut progress = [(0u8, 0u32, 0usize); DESCRIPTORS];
    for op in txn.ops() {
        let (out, bytes, index) = match *op {
            Op::DataRead(bytes, index) => (true, bytes, usize::from(index)),
            Op::DataWrite(bytes, index) => (false, bytes, usize::from(index)),
            _ => continue,
        };
        let Some(descriptor) = txn.descriptors().get(index) else { return };
        let (part, before, at) = progress[index];
        let path = descriptor.path;
        let mut burst = Burst {
            out,
            bytes,
            transfers: table.transfers(bytes, path == Path::Mailbox) as u32,
            descriptor: index,
            part,
            before,
            path,
            at,
            refusal: None,
        };
        burst.refusal = refusal(&burst, txn, stages, memory).err();
        bursts.push(burst);
        let end = (at + bytes as usize).next_multiple_of(WORD_BYTES as usize);
        progress[index] = (part + 1, before + bytes, end);
    }
}

/// Checks that a burst can go through the stages.
fn refusal(burst: &Burst, txn: &Txn, stages: &Stages, memory: &Buffers) -> Result<(), TxnError> {
    let descriptor = &txn.descriptors()[burst.descriptor];
    let layout = stages.layout();
    if burst.path != Path::Mailbox && memory.content_of(descriptor.buffer) != Content::Full {
        return Err(TxnError::Protocol(ProtocolError::NoBytes));
    }
    let fits = match (burst.path, burst.out) {
        (Path::Mailbox, _) | (Path::Raw, true) => true,
        (Path::Raw, false) => {
            let from = (descriptor.offset + burst.before) as usize;
            memory.page(descriptor.buffer).get(from..from + burst.bytes as usize).is_some()
        }
        (Path::Page, true) => {
            let parts = layout.bursts(descriptor.sectors);
            parts.as_slice().get(usize::from(burst.part)).is_some_and(|span| span.length == burst.bytes)
        }
        (Path::Page, false) => burst.bytes == layout.whole().length,
    };
    if fits { Ok(()) } else { Err(TxnError::Frame) }
}

/// The page that a burst through the stages sends to a package.
pub(crate) fn page<'a>(burst: &Burst, txn: &Txn, memory: &'a Buffers) -> PageData<'a> {
    let descriptor = &txn.descriptors()[burst.descriptor];
    let (data, oob) = memory.page_and_oob(descriptor.buffer);
    let content = memory.content_of(descriptor.buffer);
    PageData { content, data, oob, seed: descriptor.immediate as u32 }
}

/// Appends the bytes that memory holds for a burst to a package to its descriptor's `window`.
pub(crate) fn fill(burst: &Burst, txn: &Txn, stages: &mut Stages, memory: &Buffers, window: &mut Vec<u8>) {
    window.resize(burst.at, 0);
    let descriptor = &txn.descriptors()[burst.descriptor];
    match burst.path {
        Path::Mailbox => {}
        _ if burst.refusal.is_some() => window.resize(burst.at + burst.bytes as usize, 0),
        Path::Raw => {
            let from = (descriptor.offset + burst.before) as usize;
            window.extend_from_slice(&memory.page(descriptor.buffer)[from..from + burst.bytes as usize]);
        }
        Path::Page => {
            let raw = stages.code_word(&page(burst, txn, memory));
            window.extend_from_slice(&raw[..burst.bytes as usize]);
        }
    }
}
