//! What software does at the register bus: sets the controller up, and loads transactions into its queue
//! (`rtl/README.md`, Programming model).

use super::memory::address_of;
use crate::timing::CycleTable;
use aster_ports::channel::TxnError;
use aster_ports::pins::{CycleChannel, Over};
use aster_txn::interface::{Verdict, config, descriptor, push, register, result, status};
use aster_txn::{Direction, MAX_WORDS, Path, Txn, WordError};
use aster_units::Duration;

/// Sets the controller up.
pub(crate) fn set_up(
    channel: &mut dyn CycleChannel,
    period: Duration,
    ways: usize,
    longest_burst: u32,
    tables: &[CycleTable],
) {
    let bounds = config::LONGEST.put(u64::from(longest_burst)) | config::WAYS.put(ways as u64);
    channel.write_register(register::CONFIG, bounds);
    channel.write_register(register::PERIOD, period.as_picos());
    for (index, table) in tables.iter().enumerate() {
        let words = table.registers().pack().expect("a cycle table fits its registers");
        for (i, word) in words.into_iter().enumerate() {
            let offset = register::TABLE + register::TABLE_STRIDE * index as u16 + 8 * i as u16;
            channel.write_register(offset, word);
        }
    }
}

/// Slots that a transaction can be opened in.
pub(crate) fn free_slots(channel: &mut dyn CycleChannel) -> u64 {
    status::FREE.get(channel.read_register(register::STATUS))
}

/// Discards the results that wait. The engine has already seen at the pins what they say.
pub(crate) fn take_results(channel: &mut dyn CycleChannel) {
    while result::VALID.get(channel.read_register(register::RESULT)) == 1 {
        channel.read_register(register::MAILBOX);
    }
}

/// Loads `txn` and pushes it, to run with the cycle table of this index. A slot must be free.
pub(crate) fn load(channel: &mut dyn CycleChannel, txn: &Txn, table: usize) {
    channel.write_register(register::OPEN, 0);
    for (index, d) in txn.descriptors().iter().enumerate() {
        let fields = descriptor::ADDRESS.put(address_of(index))
            | descriptor::TAG.put(index as u64)
            | descriptor::INWARD.put(u64::from(d.direction == Direction::In))
            | descriptor::MAILBOX.put(u64::from(d.path == Path::Mailbox));
        channel.write_register(register::DESCRIPTOR, fields);
        channel.write_register(register::DESCRIPTOR, d.immediate);
    }
    let mut words = [0; MAX_WORDS];
    let count = txn.words(&mut words);
    for &word in &words[..count] {
        channel.write_register(register::WORD, word);
    }
    if txn.overflowed() {
        // Words for which `txn` had no room: the hardware only counts these, so zeroes do instead of the
        // words.
        for _ in count..=MAX_WORDS {
            channel.write_register(register::WORD, 0);
        }
    }
    channel.write_register(register::PUSH, push::TABLE.put(table as u64));
}

/// The hardware's verdict on a finished transaction, as an error.
pub(crate) fn error_of(over: &Over) -> Option<TxnError> {
    let Some(verdict) = Verdict::of(over.verdict) else {
        return Some(TxnError::Hardware { what: "a verdict that doesn't exist" });
    };
    if verdict.word_reason().is_some() {
        return Some(TxnError::Word(WordError::new(over.index, verdict)));
    }
    match verdict {
        Verdict::Good if over.memory_error => {
            Some(TxnError::Hardware { what: "memory answered with an error" })
        }
        Verdict::Good => None,
        Verdict::TooLong => Some(TxnError::TooLong),
        Verdict::Unframed => Some(TxnError::Unframed),
        Verdict::Chip => Some(TxnError::Chip),
        Verdict::Descriptor => Some(TxnError::Descriptor),
        Verdict::Length => Some(TxnError::Length { bytes: over.length }),
        _ => Some(TxnError::Frame),
    }
}
