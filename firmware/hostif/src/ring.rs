//! A ring of entries in host memory, between one who adds at the tail and one who takes at the head (NVMe
//! 1.4 §4.1).

/// A doorbell value that the queue can't take (NVMe 1.4 §5.2.1, Invalid Doorbell Write Value).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InvalidDoorbell;

/// Head and tail of a ring. A full ring has one entry less than its size.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Ring {
    size: u32,
    head: u32,
    tail: u32,
}

impl Ring {
    /// An empty ring.
    pub fn new(size: u32) -> Self {
        assert!(size >= 2, "a ring of {size} entries holds none");
        Ring { size, head: 0, tail: 0 }
    }
    #[inline]
    pub const fn head(&self) -> u32 {
        self.head
    }
    #[inline]
    pub const fn tail(&self) -> u32 {
        self.tail
    }
    /// Steps from `from` to `to`.
    #[inline]
    const fn distance(&self, from: u32, to: u32) -> u32 {
        if to >= from { to - from } else { to + self.size - from }
    }
    /// Entries between head and tail.
    #[inline]
    pub const fn used(&self) -> u32 {
        self.distance(self.head, self.tail)
    }
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    #[inline]
    pub const fn is_full(&self) -> bool {
        self.used() == self.size - 1
    }
    /// The most entries that the ring holds.
    #[inline]
    pub const fn capacity(&self) -> u32 {
        self.size - 1
    }
    /// Entries from the head on that are contiguous in memory.
    #[inline]
    pub const fn contiguous(&self) -> u32 {
        if self.tail >= self.head { self.tail - self.head } else { self.size - self.head }
    }
    /// The index of the entry that is `places` behind the head.
    pub const fn index(&self, places: u32) -> u32 {
        let index = self.head + places;
        if index >= self.size { index - self.size } else { index }
    }
    /// How many places the entry at `index` is behind the head.
    pub const fn place(&self, index: u32) -> u32 {
        self.distance(self.head, index)
    }

    /// The host moves the tail.
    #[inline]
    pub fn move_tail(&mut self, tail: u32) -> Result<(), InvalidDoorbell> {
        if tail >= self.size {
            return Err(InvalidDoorbell);
        }
        let added = self.distance(self.tail, tail);
        if added == 0 || added > self.size - 1 - self.used() {
            return Err(InvalidDoorbell);
        }
        self.tail = tail;
        Ok(())
    }
    /// The host moves the head.
    #[inline]
    pub fn move_head(&mut self, head: u32) -> Result<(), InvalidDoorbell> {
        if head >= self.size {
            return Err(InvalidDoorbell);
        }
        let taken = self.distance(self.head, head);
        if taken == 0 || taken > self.used() {
            return Err(InvalidDoorbell);
        }
        self.head = head;
        Ok(())
    }
    /// The controller takes `entries` at the head.
    #[inline]
    pub fn take(&mut self, entries: u32) {
        debug_assert!(entries <= self.used(), "{entries} entries of {}", self.used());
        self.head += entries;
        if self.head >= self.size {
            self.head -= self.size;
        }
        debug_assert!(self.head < self.size, "the head is in the ring");
    }
    /// The controller adds an entry at the tail. Returns its index.
    #[inline]
    pub fn add(&mut self) -> u32 {
        debug_assert!(!self.is_full(), "an entry would overrun the head");
        let index = self.tail;
        self.tail += 1;
        if self.tail == self.size {
            self.tail = 0;
        }
        debug_assert!(!self.is_empty(), "an entry was added");
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_that_would_overrun_the_head_is_refused() {
        let mut ring = Ring::new(4);
        assert_eq!(ring.move_tail(4), Err(InvalidDoorbell));
        assert_eq!(ring.move_tail(0), Err(InvalidDoorbell));
        assert_eq!(ring.move_tail(3), Ok(()));
        assert_eq!((ring.used(), ring.contiguous(), ring.is_full()), (3, 3, true));
        assert_eq!(ring.move_tail(0), Err(InvalidDoorbell), "a fourth entry would overrun the head");
        ring.take(2);
        assert_eq!(ring.move_tail(1), Ok(()));
        assert_eq!((ring.used(), ring.contiguous()), (3, 2));
        ring.take(2);
        assert_eq!((ring.head(), ring.used()), (0, 1));
    }

    #[test]
    fn a_head_beyond_the_tail_is_refused() {
        let mut ring = Ring::new(3);
        assert_eq!(ring.move_head(1), Err(InvalidDoorbell), "nothing is there");
        assert_eq!((ring.add(), ring.add(), ring.is_full()), (0, 1, true));
        assert_eq!(ring.move_head(3), Err(InvalidDoorbell));
        assert_eq!(ring.move_head(2), Ok(()));
        assert_eq!(ring.move_head(2), Err(InvalidDoorbell), "nothing was taken");
        assert_eq!((ring.add(), ring.tail()), (2, 0));
    }

    #[test]
    #[should_panic(expected = "2 entries of 1")]
    #[cfg(debug_assertions)]
    fn more_entries_than_there_are_are_not_taken() {
        let mut ring = Ring::new(4);
        ring.add();
        ring.take(2);
    }
}
