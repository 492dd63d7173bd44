//! Which sectors were written lately: large writes of others are cold (H22).

use alloc::collections::VecDeque;

/// The last writes.
pub struct RecentWrites {
    /// Sectors of each, as the first one and the one behind the last.
    writes: VecDeque<(u32, u32)>,
    most: usize,
}

impl RecentWrites {
    /// Remembers so many writes.
    pub fn new(most: usize) -> Self {
        RecentWrites { writes: VecDeque::with_capacity(most), most }
    }
    /// Whether none of these sectors is among the last writes.
    pub fn has_none_of(&self, first: u32, count: u32) -> bool {
        self.writes.iter().all(|&(from, to)| to <= first || first + count <= from)
    }
    /// These sectors are being written.
    pub fn note(&mut self, first: u32, count: u32) {
        if self.writes.len() == self.most && self.writes.pop_front().is_none() {
            return;
        }
        self.writes.push_back((first, first + count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_are_recent_until_as_many_writes_have_come_after_them() {
        let mut recent = RecentWrites::new(3);
        recent.note(10, 4);
        let cold = |recent: &RecentWrites| {
            [(6, 4), (14, 1), (9, 2), (13, 5), (11, 1), (0, 100)].map(|(at, n)| recent.has_none_of(at, n))
        };
        assert_eq!(cold(&recent), [true, true, false, false, false, false]);
        recent.note(200, 1);
        recent.note(300, 1);
        assert_eq!(cold(&recent)[2..], [false; 4]);
        recent.note(200, 1);
        assert_eq!(cold(&recent), [true; 6]);
        assert!(!recent.has_none_of(199, 2) && !recent.has_none_of(300, 1));
        let mut none = RecentWrites::new(0);
        none.note(10, 4);
        assert!(none.has_none_of(10, 4));
    }
}
