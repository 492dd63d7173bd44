use alloc::vec::Vec;

/// A queue, first in first out, whose ends are found by a mask: a push or a pop is a handful of instructions
/// that are inlined where it happens. Ports, wait queues and the executor itself push and pop for each event.
///
/// It holds any number of items: when it is full, it moves to twice the room. Where nothing may be allocated
/// later, it is given its room at the start.
#[derive(Debug)]
pub struct Fifo<T> {
    /// The items stand from `head` to `tail`, both taken modulo the room; what stands in other places doesn't
    /// matter. There are no places before the first item.
    places: Vec<T>,
    /// The room, a power of two, less one.
    mask: usize,
    head: usize,
    tail: usize,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Fifo { places: Vec::new(), mask: 0, head: 0, tail: 0 }
    }
}

impl<T: Copy> Fifo<T> {
    /// A queue whose room for `bound` items is allocated now.
    pub fn with_capacity(bound: usize) -> Self {
        match bound {
            0 => Self::default(),
            _ => Self::with_room(bound.next_power_of_two()),
        }
    }
    fn with_room(room: usize) -> Self {
        Fifo { places: Vec::with_capacity(room), mask: room - 1, ..Self::default() }
    }

    /// Adds an item behind all others.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        if self.len() > self.mask {
            self.grow();
        }
        self.put(self.tail & self.mask, item);
        self.tail = self.tail.wrapping_add(1);
    }
    /// Adds an item before all others.
    #[inline]
    pub fn push_front(&mut self, item: T) {
        if self.len() > self.mask {
            self.grow();
        }
        self.head = self.head.wrapping_sub(1);
        self.put(self.head & self.mask, item);
    }
    #[inline]
    fn put(&mut self, at: usize, item: T) {
        match self.places.get_mut(at) {
            Some(place) => *place = item,
            None => self.add_places(item),
        }
    }
    /// Adds the places, now that there is an item to stand in them.
    #[cold]
    fn add_places(&mut self, item: T) {
        self.places.resize(self.mask + 1, item);
    }
    /// Moves to twice the room.
    #[cold]
    fn grow(&mut self) {
        let mut larger = Self::with_room((2 * self.mask + 2).max(4));
        while let Some(moved) = self.pop_front() {
            larger.push_back(moved);
        }
        *self = larger;
    }

    /// Takes the oldest item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        self.pop_front_if(|_| true)
    }
    /// Takes the item at this place, counted from the oldest.
    #[inline]
    pub fn remove(&mut self, at: usize) -> Option<T> {
        if at == 0 { self.pop_front() } else { self.remove_behind(at) }
    }
    fn remove_behind(&mut self, at: usize) -> Option<T> {
        if at >= self.len() {
            return None;
        }
        // Those before it move back by a place each.
        for behind in (1..=at).rev() {
            let [to, from] = [behind, behind - 1].map(|at| self.head.wrapping_add(at) & self.mask);
            self.places.swap(to, from);
        }
        self.pop_front()
    }
    /// Adds an item right behind the newest one that `is_before` it, or before all others.
    pub fn insert_behind(&mut self, item: T, is_before: impl Fn(&T) -> bool) {
        self.push_back(item);
        // Those that come after it move back by a place each.
        for behind in (1..self.len()).rev() {
            let [to, from] = [behind, behind - 1].map(|at| self.head.wrapping_add(at) & self.mask);
            if self.places.get(from).is_none_or(&is_before) {
                return;
            }
            self.places.swap(to, from);
        }
    }
    /// Takes the oldest item if it is as asked.
    #[inline]
    pub fn pop_front_if(&mut self, is_wanted: impl FnOnce(&T) -> bool) -> Option<T> {
        let front = *self.front()?;
        if !is_wanted(&front) {
            return None;
        }
        self.head = self.head.wrapping_add(1);
        Some(front)
    }

    /// The oldest item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        // Whoever takes one item after the other finds the queue empty as often as not.
        if self.is_empty() { None } else { self.places.get(self.head & self.mask) }
    }
    /// The item at this place, counted from the oldest.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&T> {
        if at < self.len() { self.places.get(self.head.wrapping_add(at) & self.mask) } else { None }
    }
    /// The newest item.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.places.get(self.tail.wrapping_sub(1) & self.mask) }
    }
    /// Items in the queue.
    #[inline]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }
    /// True when the queue holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    /// The items, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|i| self.places.get(self.head.wrapping_add(i) & self.mask))
    }
    /// Drops all items.
    pub fn clear(&mut self) {
        self.head = self.tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;
    use aster_units::Rng;

    /// The slow twin is the standard library's queue.
    #[test]
    fn it_does_what_a_deque_does() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            // Some grow, others have room for all.
            let (mut fast, mut slow) = (Fifo::with_capacity(rng.below(9) as usize), VecDeque::new());
            let pushes = 4 + rng.below(5);
            for number in 0..300 {
                match rng.below(15) {
                    n if n < pushes => {
                        fast.push_back(number);
                        slow.push_back(number);
                    }
                    9 => {
                        fast.push_front(number);
                        slow.push_front(number);
                    }
                    10 => {
                        let even = |n: &i32| n % 2 == 0;
                        assert_eq!(fast.pop_front_if(even), slow.pop_front_if(|n| even(n)), "seed {seed}");
                    }
                    13 => {
                        let before = |other: &i32| other % 3 != 0;
                        fast.insert_behind(number, before);
                        slow.insert(slow.iter().rposition(before).map_or(0, |at| at + 1), number);
                    }
                    12 => {
                        let at = rng.below(6) as usize;
                        assert_eq!(fast.remove(at), slow.remove(at), "seed {seed}");
                    }
                    11 if rng.below(20) == 0 => {
                        fast.clear();
                        slow.clear();
                    }
                    _ => assert_eq!(fast.pop_front(), slow.pop_front(), "seed {seed}"),
                }
                assert_eq!((fast.len(), fast.is_empty()), (slow.len(), slow.is_empty()), "seed {seed}");
                assert_eq!((fast.front(), fast.back()), (slow.front(), slow.back()), "seed {seed}");
                assert!(fast.iter().eq(slow.iter()), "seed {seed}");
                assert!((0..9).all(|at| fast.get(at) == slow.get(at)), "seed {seed}");
            }
        }
    }

    #[test]
    fn its_counts_may_wrap_around() {
        let mut queue = Fifo::with_capacity(4);
        (queue.head, queue.tail) = (usize::MAX - 1, usize::MAX - 1);
        for round in 0..4 {
            (0..3).for_each(|i| queue.push_back(10 * round + i));
            assert_eq!((queue.len(), queue.back()), (3, Some(&(10 * round + 2))));
            assert_eq!(queue.iter().copied().collect::<Vec<_>>(), [0, 1, 2].map(|i| 10 * round + i));
            (0..3).for_each(|i| assert_eq!(queue.pop_front(), Some(10 * round + i)));
            assert!(queue.is_empty());
        }
    }
}
