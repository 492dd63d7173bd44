//! Keeps each interrupt behind the completion entries that it announces.

use alloc::collections::VecDeque;

/// The completion entries that were filed and not yet sent, and the messages that wait for them.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The number of the oldest entry in `sent`.
    first: u64,
    /// From the oldest entry that hasn't been sent on: which have.
    sent: VecDeque<bool>,
    /// Messages in order, each with the number of the entry before which it may not go.
    waiting: VecDeque<(u64, u16)>,
}

impl Messages {
    /// Room for `entries` entries and `vectors` vectors.
    pub(super) fn with_capacity(entries: usize, vectors: usize) -> Self {
        Messages {
            first: 0,
            sent: VecDeque::with_capacity(entries),
            waiting: VecDeque::with_capacity(entries + vectors),
        }
    }
    /// An entry was filed. Returns its number.
    pub(super) fn entry_filed(&mut self) -> u64 {
        self.sent.push_back(false);
        self.first + self.sent.len() as u64 - 1
    }
    /// An entry was sent.
    pub(super) fn entry_sent(&mut self, number: u64) {
        let sent = &mut self.sent[(number - self.first) as usize];
        assert!(!*sent, "completion entry {number} was sent twice");
        *sent = true;
        while self.sent.front() == Some(&true) {
            self.sent.pop_front();
            self.first += 1;
        }
    }
    /// A message was filed. Returns whether it may be sent now; otherwise [`Messages::next_due`] returns it
    /// when the entries before it have been sent.
    pub(super) fn message_filed(&mut self, vector: u16) -> bool {
        if self.sent.is_empty() {
            return true;
        }
        let after = self.first + self.sent.len() as u64;
        self.waiting.push_back((after, vector));
        false
    }
    /// Takes a message that waited and needn't any more.
    pub(super) fn next_due(&mut self) -> Option<u16> {
        let &(after, vector) = self.waiting.front()?;
        if after > self.first {
            return None;
        }
        self.waiting.pop_front();
        Some(vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_waits_for_all_entries_before_it_and_for_none_behind_it() {
        let mut messages = Messages::default();
        assert!(messages.message_filed(9), "no entry is on its way");
        let (a, b) = (messages.entry_filed(), messages.entry_filed());
        assert!(!messages.message_filed(1));
        let c = messages.entry_filed();
        assert!(!messages.message_filed(2));
        messages.entry_sent(b);
        assert_eq!(messages.next_due(), None, "the oldest is still on its way");
        messages.entry_sent(a);
        assert_eq!((messages.next_due(), messages.next_due()), (Some(1), None));
        messages.entry_sent(c);
        assert_eq!((messages.next_due(), messages.next_due()), (Some(2), None));
        assert!(messages.message_filed(3));
    }
}
