//! The write buffer.

use crate::shape::SectorAddr;
use alloc::vec;
use alloc::vec::Vec;

/// A place in the order in which sectors came into the buffer.
pub type Position = u64;

/// Who wants a sector written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The host.
    User,
    /// Collection, which moves it from here.
    Moved {
        /// Where the sector was read.
        from: SectorAddr,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// It waits for an address.
    Filled,
    /// It is being written.
    Taken(SectorAddr),
    /// It has been written.
    Written(SectorAddr),
}

#[derive(Clone, Copy)]
struct Entry {
    block: u32,
    kind: Kind,
    stage: Stage,
    /// The block was deallocated since.
    is_void: bool,
    /// The next older entry in the same bucket.
    next: u32,
}

/// A sector that has left the buffer. Sectors leave it in the order in which they came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retired {
    /// Its logical block; `None` if that was deallocated since.
    pub block: Option<u32>,
    /// Who wanted it written.
    pub kind: Kind,
    /// Where it is.
    pub sector: SectorAddr,
}

/// No entry.
const NONE: u32 = u32::MAX;

/// Sectors on their way to flash, in the order of their arrival. Three positions divide it: those before
/// `sync` have left, those before `taken` have addresses, and those before `head` are there.
///
/// Sectors get addresses in this order, and so of two versions of a block in one line the one behind is the
/// newer one. They also leave in this order, so that what has left is a prefix of what was written.
pub struct Ring {
    entries: Vec<Entry>,
    data: Vec<u8>,
    sector_len: usize,
    buckets: Vec<u32>,
    head: Position,
    taken: Position,
    sync: Position,
    users: usize,
    users_untaken: usize,
    /// Behind the host's last sector.
    user_end: Position,
}

impl Ring {
    /// A buffer of `sectors` sectors, each of `sector_len` bytes.
    pub fn new(sectors: usize, sector_len: usize) -> Self {
        let empty = Entry { block: 0, kind: Kind::User, stage: Stage::Filled, is_void: true, next: NONE };
        Ring {
            entries: vec![empty; sectors],
            data: vec![0; sectors * sector_len],
            sector_len,
            buckets: vec![NONE; sectors.next_power_of_two()],
            head: 0,
            taken: 0,
            sync: 0,
            users: 0,
            users_untaken: 0,
            user_end: 0,
        }
    }
    fn index(&self, at: Position) -> usize {
        (at % self.entries.len() as u64) as usize
    }
    fn bucket(&self, block: u32) -> usize {
        (block.wrapping_mul(0x9e37_79b1) >> 7) as usize & (self.buckets.len() - 1)
    }

    /// Sectors that fit in all.
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }
    /// Sectors for which there is room.
    pub fn room(&self) -> usize {
        self.entries.len() - (self.head - self.sync) as usize
    }
    /// Sectors of the host.
    pub fn users(&self) -> usize {
        self.users
    }
    /// Sectors that wait for an address, and how many of them are the host's.
    pub fn waiting(&self) -> (usize, usize) {
        ((self.head - self.taken) as usize, self.users_untaken)
    }
    /// Behind the host's last sector: once this has left, all that the host has written is on flash.
    pub fn user_end(&self) -> Position {
        self.user_end
    }
    /// Behind the last sector.
    pub fn head(&self) -> Position {
        self.head
    }
    /// The first sector that waits for an address.
    pub fn taken(&self) -> Position {
        self.taken
    }
    /// The oldest sector.
    pub fn sync(&self) -> Position {
        self.sync
    }

    /// Adds a sector. There must be [room](Ring::room).
    pub fn push(&mut self, block: u32, kind: Kind, data: &[u8]) -> Position {
        assert!(self.room() > 0, "the write buffer is full");
        let (at, bucket) = (self.index(self.head), self.bucket(block));
        let next = core::mem::replace(&mut self.buckets[bucket], at as u32);
        self.entries[at] = Entry { block, kind, stage: Stage::Filled, is_void: false, next };
        self.data[at * self.sector_len..][..self.sector_len].copy_from_slice(data);
        self.head += 1;
        if kind == Kind::User {
            self.users += 1;
            self.users_untaken += 1;
            self.user_end = self.head;
        }
        self.head - 1
    }
    /// The newest version of a block, if the buffer has one.
    pub fn find(&self, block: u32) -> Option<&[u8]> {
        let mut at = self.buckets[self.bucket(block)];
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.block == block {
                let data = &self.data[at as usize * self.sector_len..][..self.sector_len];
                return (!entry.is_void).then_some(data);
            }
            at = entry.next;
        }
        None
    }
    /// Forgets all versions of a block: it was deallocated.
    pub fn forget(&mut self, block: u32) {
        let mut at = self.buckets[self.bucket(block)];
        while at != NONE {
            let entry = &mut self.entries[at as usize];
            entry.is_void |= entry.block == block;
            at = entry.next;
        }
    }

    /// Gives the next sector that waits its address. Returns its block and its bytes.
    pub fn take(&mut self, sector: SectorAddr) -> (u32, &[u8]) {
        assert!(self.taken < self.head, "no sector waits for an address");
        let at = self.index(self.taken);
        self.taken += 1;
        let entry = &mut self.entries[at];
        entry.stage = Stage::Taken(sector);
        self.users_untaken -= usize::from(entry.kind == Kind::User);
        (entry.block, &self.data[at * self.sector_len..][..self.sector_len])
    }
    /// A sector's block, whether it is the host's, and its bytes.
    pub fn at(&self, at: Position) -> (u32, bool, &[u8]) {
        assert!((self.sync..self.head).contains(&at), "no sector at {at}");
        let at = self.index(at);
        let entry = &self.entries[at];
        let data = &self.data[at * self.sector_len..][..self.sector_len];
        (entry.block, entry.kind == Kind::User, data)
    }
    /// Whether the buffer has a version of a block, even if that was deallocated since.
    pub fn holds(&self, block: u32) -> bool {
        let mut at = self.buckets[self.bucket(block)];
        while at != NONE && self.entries[at as usize].block != block {
            at = self.entries[at as usize].next;
        }
        at != NONE
    }
    /// A sector has been written.
    pub fn written(&mut self, at: Position) {
        let at = self.index(at);
        let entry = &mut self.entries[at];
        let Stage::Taken(sector) = entry.stage else { panic!("a sector that was not taken was written") };
        entry.stage = Stage::Written(sector);
    }
    /// The oldest sector leaves, if it has been written.
    pub fn retire(&mut self) -> Option<Retired> {
        if self.sync == self.taken {
            return None;
        }
        let at = self.index(self.sync);
        let Entry { block, kind, stage: Stage::Written(sector), is_void, .. } = self.entries[at] else {
            return None;
        };
        self.unlink(at as u32);
        self.sync += 1;
        self.users -= usize::from(kind == Kind::User);
        Some(Retired { block: (!is_void).then_some(block), kind, sector })
    }
    fn unlink(&mut self, at: u32) {
        let bucket = self.bucket(self.entries[at as usize].block);
        let next = self.entries[at as usize].next;
        if self.buckets[bucket] == at {
            self.buckets[bucket] = next;
            return;
        }
        let mut before = self.buckets[bucket];
        while self.entries[before as usize].next != at {
            before = self.entries[before as usize].next;
        }
        self.entries[before as usize].next = next;
    }
    /// Drops all sectors. Nothing of it may be in flight. Calls `was_at` with each address that was given.
    pub fn clear(&mut self, was_at: impl FnMut(SectorAddr)) {
        self.rewind(self.sync, was_at);
        while self.head > self.sync {
            self.unlink(self.index(self.sync) as u32);
            self.sync += 1;
        }
        (self.taken, self.users, self.users_untaken) = (self.head, 0, 0);
    }
    /// Takes their addresses from the sector at `from` and all behind it: they are written anew, in the same
    /// order. Nothing of it may be in flight. Calls `was_at` with each address.
    pub fn rewind(&mut self, from: Position, mut was_at: impl FnMut(SectorAddr)) {
        assert!((self.sync..=self.taken).contains(&from), "only sectors with an address go back");
        for position in from..self.taken {
            let at = self.index(position);
            let entry = &mut self.entries[at];
            match entry.stage {
                Stage::Taken(sector) | Stage::Written(sector) => was_at(sector),
                Stage::Filled => unreachable!("it has an address"),
            }
            entry.stage = Stage::Filled;
            self.users_untaken += usize::from(entry.kind == Kind::User);
        }
        self.taken = from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(u32, bool),
        Take,
        Write(usize),
        Retire,
        Forget(u32),
        Rewind(usize),
        Clear,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0u32..12, any::<bool>()).prop_map(|(block, user)| Step::Push(block, user)),
            4 => Just(Step::Take),
            4 => (0usize..16).prop_map(Step::Write),
            3 => Just(Step::Retire),
            1 => (0u32..12).prop_map(Step::Forget),
            1 => (0usize..16).prop_map(Step::Rewind),
            1 => Just(Step::Clear),
        ]
    }

    /// What the model keeps of a sector.
    #[derive(Clone, Copy)]
    struct Held {
        block: u32,
        user: bool,
        value: u8,
        void: bool,
        at: Option<u32>,
        written: bool,
    }

    proptest! {
        #[test]
        fn it_behaves_as_a_queue_with_marks(steps in prop::collection::vec(step(), 1..300)) {
            let (mut ring, mut model) = (Ring::new(16, 2), VecDeque::<Held>::new());
            let (mut value, mut sector, mut gone) = (0u8, 0u32, 0u64);
            for step in steps {
                match step {
                    Step::Push(block, user) if model.len() < 16 => {
                        value = value.wrapping_add(1);
                        let kind = if user { Kind::User } else { Kind::Moved { from: SectorAddr(7) } };
                        ring.push(block, kind, &[value, !value]);
                        let held = Held { block, user, value, void: false, at: None, written: false };
                        model.push_back(held);
                    }
                    Step::Take => {
                        if let Some(next) = model.iter_mut().find(|held| held.at.is_none()) {
                            sector += 1;
                            let (block, data) = ring.take(SectorAddr(sector));
                            prop_assert_eq!((block, data), (next.block, &[next.value, !next.value][..]));
                            next.at = Some(sector);
                        }
                    }
                    Step::Write(n) => {
                        if let Some(held) = model.get_mut(n).filter(|h| h.at.is_some() && !h.written) {
                            held.written = true;
                            ring.written(gone + n as u64);
                        }
                    }
                    Step::Retire => {
                        let expected = model.front().copied().filter(|held| held.written);
                        let retired = ring.retire();
                        prop_assert_eq!(retired.is_some(), expected.is_some());
                        if let (Some(retired), Some(held)) = (retired, expected) {
                            model.pop_front();
                            gone += 1;
                            prop_assert_eq!(retired.block, (!held.void).then_some(held.block));
                            prop_assert_eq!(Some(retired.sector.0), held.at);
                            prop_assert_eq!(retired.kind == Kind::User, held.user);
                        }
                    }
                    Step::Forget(block) => {
                        ring.forget(block);
                        model.iter_mut().filter(|h| h.block == block).for_each(|h| h.void = true);
                    }
                    Step::Rewind(n) => {
                        let taken = model.iter().filter(|held| held.at.is_some()).count();
                        let mut back = 0;
                        if n <= taken {
                            ring.rewind(gone + n as u64, |_| back += 1);
                            prop_assert_eq!(back, taken - n);
                            for held in model.iter_mut().skip(n) {
                                (held.at, held.written) = (None, false);
                            }
                        }
                    }
                    Step::Clear => {
                        let taken = model.iter().filter(|held| held.at.is_some()).count();
                        let mut back = 0;
                        ring.clear(|_| back += 1);
                        prop_assert_eq!(back, taken);
                        gone += model.len() as u64;
                        model.clear();
                    }
                    Step::Push(..) => prop_assert_eq!(ring.room(), 0),
                }
                for block in 0..12 {
                    let newest = model.iter().rev().find(|held| held.block == block);
                    let newest = newest.filter(|held| !held.void).map(|held| held.value);
                    prop_assert_eq!(ring.find(block).map(|data| data[0]), newest);
                }
                let untaken = model.iter().filter(|held| held.at.is_none());
                let users = untaken.clone().filter(|held| held.user).count();
                prop_assert_eq!(ring.waiting(), (untaken.count(), users));
                prop_assert_eq!(ring.users(), model.iter().filter(|held| held.user).count());
                prop_assert_eq!(ring.room(), 16 - model.len());
            }
        }
    }

    #[test]
    #[should_panic(expected = "the write buffer is full")]
    fn it_takes_no_more_than_it_has_room_for() {
        let mut ring = Ring::new(2, 1);
        for block in 0..3 {
            ring.push(block, Kind::User, &[0]);
        }
    }
}
