//! The data buffer while a drive is being filled: which dirty units are evicted together.

use crate::terms::block::PoolIndex;
use crate::terms::units::Units;
use alloc::vec;
use alloc::vec::Vec;

const NONE: u32 = u32::MAX;

/// A frame with units that aren't on flash yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirtyFrame {
    /// Its pool, and its number there.
    pub(super) pool: PoolIndex,
    pub(super) frame: u32,
    pub(super) units: Units,
}

/// The neighbours of an entry in a list from the oldest to the youngest.
#[derive(Clone, Copy)]
struct Links {
    older: u32,
    younger: u32,
}

const UNLINKED: Links = Links { older: NONE, younger: NONE };

/// The ends of such a list.
#[derive(Clone, Copy)]
struct Ends {
    oldest: u32,
    youngest: u32,
}

const EMPTY: Ends = Ends { oldest: NONE, youngest: NONE };

#[derive(Clone, Copy)]
struct Entry {
    of: DirtyFrame,
    // Among all entries, and among those of the pool.
    all: Links,
    of_pool: Links,
    // The next entry with the same hash.
    next: u32,
}

/// Dirty entries, of which the one that was written least recently is evicted when there is no room. It takes
/// others of its pool along, the oldest first, as long as they fit what is programmed at once.
pub(super) struct DirtyBuffer {
    entries: Vec<Entry>,
    unused: Vec<u32>,
    heads: Vec<u32>,
    all: Ends,
    pools: Vec<Ends>,
    // Units that are programmed at once.
    at_once: u32,
}

macro_rules! link {
    ($self:ident, $ends:expr, $links:ident, $at:expr) => {{
        let (at, ends) = ($at, &mut $ends);
        $self.entries[at as usize].$links = Links { older: ends.youngest, younger: NONE };
        match ends.youngest {
            NONE => ends.oldest = at,
            before => $self.entries[before as usize].$links.younger = at,
        }
        ends.youngest = at;
    }};
}

macro_rules! unlink {
    ($self:ident, $ends:expr, $links:ident, $at:expr) => {{
        let (Links { older, younger }, ends) = ($self.entries[$at as usize].$links, &mut $ends);
        match older {
            NONE => ends.oldest = younger,
            older => $self.entries[older as usize].$links.younger = younger,
        }
        match younger {
            NONE => ends.youngest = older,
            younger => $self.entries[younger as usize].$links.older = older,
        }
    }};
}

impl DirtyBuffer {
    /// A buffer with `entries` entries that may be dirty, at least one. `at_once` units are programmed at
    /// once.
    pub(super) fn new(entries: u32, pools: usize, at_once: u32) -> Self {
        let none = DirtyFrame { pool: PoolIndex(0), frame: 0, units: 0 };
        let entries = entries.max(1);
        DirtyBuffer {
            entries: vec![Entry { of: none, all: UNLINKED, of_pool: UNLINKED, next: NONE }; entries as usize],
            unused: (0..entries).rev().collect(),
            heads: vec![NONE; (2 * entries as usize).next_power_of_two()],
            all: EMPTY,
            pools: vec![EMPTY; pools],
            at_once,
        }
    }
    /// Writes units of a frame. What has to be evicted for that is put into `evicted`, which is emptied.
    #[inline]
    pub(super) fn write(&mut self, of: DirtyFrame, evicted: &mut Vec<DirtyFrame>) {
        evicted.clear();
        let head = self.head(&of);
        let mut at = self.heads[head];
        while at != NONE {
            let entry = &mut self.entries[at as usize];
            if entry.of.pool == of.pool && entry.of.frame == of.frame {
                entry.of.units |= of.units;
                return self.touch(at);
            }
            at = entry.next;
        }
        if self.unused.is_empty() {
            self.evict(evicted);
        }
        let at = self.unused.pop().expect("an entry was evicted");
        let next = core::mem::replace(&mut self.heads[head], at);
        self.entries[at as usize] = Entry { of, all: UNLINKED, of_pool: UNLINKED, next };
        link!(self, self.all, all, at);
        link!(self, self.pools[of.pool.at()], of_pool, at);
    }
    #[inline]
    fn head(&self, of: &DirtyFrame) -> usize {
        let mixed = (of.frame ^ of.pool.0.rotate_left(16)).wrapping_mul(0x9E37_79B1);
        (mixed >> 8) as usize & (self.heads.len() - 1)
    }
    fn touch(&mut self, at: u32) {
        let pool = self.entries[at as usize].of.pool.at();
        unlink!(self, self.all, all, at);
        unlink!(self, self.pools[pool], of_pool, at);
        link!(self, self.all, all, at);
        link!(self, self.pools[pool], of_pool, at);
    }
    fn evict(&mut self, evicted: &mut Vec<DirtyFrame>) {
        let oldest = self.all.oldest;
        let DirtyFrame { pool, units, .. } = self.entries[oldest as usize].of;
        let mut room = self.at_once - units.count_ones();
        evicted.push(self.take(oldest));
        let mut at = self.pools[pool.at()].oldest;
        while at != NONE && room > 0 {
            let Entry { of, of_pool, .. } = self.entries[at as usize];
            if of.units.count_ones() <= room {
                room -= of.units.count_ones();
                evicted.push(self.take(at));
            }
            at = of_pool.younger;
        }
    }
    fn take(&mut self, at: u32) -> DirtyFrame {
        let of = self.entries[at as usize].of;
        unlink!(self, self.all, all, at);
        unlink!(self, self.pools[of.pool.at()], of_pool, at);
        let next = self.entries[at as usize].next;
        let head = self.head(&of);
        if self.heads[head] == at {
            self.heads[head] = next;
        } else {
            let mut before = self.heads[head];
            while self.entries[before as usize].next != at {
                before = self.entries[before as usize].next;
            }
            self.entries[before as usize].next = next;
        }
        self.unused.push(at);
        of
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Rng;
    use std::collections::VecDeque;

    /// Against a list that is searched.
    #[test]
    fn the_oldest_entry_goes_and_takes_others_of_its_pool_along_that_fit() {
        let (entries, pools) = (7, 3);
        let mut buffer = DirtyBuffer::new(entries, pools, 4);
        let (mut model, mut rng, mut evicted): (VecDeque<DirtyFrame>, _, _) =
            (VecDeque::new(), Rng::new(3), Vec::new());
        let mut together = 0;
        for _ in 0..20_000 {
            let pool = PoolIndex(rng.below(pools as u64) as u32);
            let of = DirtyFrame { pool, frame: rng.below(9) as u32, units: 1 << rng.below(4) };
            buffer.write(of, &mut evicted);
            let mut expected = Vec::new();
            let found = model.iter().position(|entry| entry.pool == of.pool && entry.frame == of.frame);
            match found.and_then(|at| model.remove(at)) {
                Some(entry) => model.push_back(DirtyFrame { units: entry.units | of.units, ..of }),
                None => {
                    if model.len() == entries as usize {
                        let oldest = model.pop_front().unwrap();
                        let mut room = 4 - oldest.units.count_ones();
                        model.retain(|entry| {
                            let count = entry.units.count_ones();
                            let goes = entry.pool == oldest.pool && count <= room;
                            if goes {
                                room -= count;
                                expected.push(*entry);
                            }
                            !goes
                        });
                        expected.insert(0, oldest);
                    }
                    model.push_back(of);
                }
            }
            let of = |frames: &[DirtyFrame]| -> Vec<_> {
                frames.iter().map(|of| (of.pool.0, of.frame, of.units)).collect()
            };
            assert_eq!(of(&evicted), of(&expected));
            together += usize::from(expected.len() > 1);
        }
        assert!(together > 100, "{together}");
    }
}
