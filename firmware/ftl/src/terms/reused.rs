//! Memory that tasks reuse, so that no command allocates.

use alloc::vec::Vec;
use core::cell::RefCell;
use core::ops::{Deref, DerefMut};

/// A value that can be emptied and keeps its memory.
pub(crate) trait Clear: Default {
    fn clear(&mut self);
}

impl<T> Clear for Vec<T> {
    fn clear(&mut self) {
        Vec::clear(self);
    }
}

/// Values that tasks borrow. There are as many as have ever been borrowed at the same time.
pub(crate) struct Reused<T>(RefCell<Vec<T>>);

impl<T: Clear> Reused<T> {
    /// No values yet. At most `bound` will be borrowed at the same time.
    pub(crate) fn with_capacity(bound: usize) -> Self {
        Reused(RefCell::new(Vec::with_capacity(bound)))
    }
    /// An empty value.
    pub(crate) fn borrow(&self) -> Borrowed<'_, T> {
        let value = self.0.borrow_mut().pop().unwrap_or_default();
        Borrowed { from: self, value }
    }
}

/// A borrowed value, which goes back when it is dropped.
pub(crate) struct Borrowed<'a, T: Clear> {
    from: &'a Reused<T>,
    value: T,
}

impl<T: Clear> Deref for Borrowed<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Clear> DerefMut for Borrowed<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Clear> Drop for Borrowed<'_, T> {
    fn drop(&mut self) {
        self.value.clear();
        self.from.0.borrow_mut().push(core::mem::take(&mut self.value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_empty_with_its_memory() {
        let reused: Reused<Vec<u64>> = Reused::with_capacity(2);
        let mut first = reused.borrow();
        first.extend(0..9);
        let room = first.capacity();
        let second = reused.borrow();
        assert_eq!((second.len(), second.capacity()), (0, 0), "the first one is out");
        drop((second, first));
        let again = reused.borrow();
        assert_eq!((again.len(), again.capacity()), (0, room));
        assert_eq!(reused.0.borrow().len(), 1);
    }
}
