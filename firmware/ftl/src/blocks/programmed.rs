//! Programs that have ended well.

use aster_units::Ppa;

/// A page whose program has ended well. Until what that changes is told, by `Mapped::moved` or, where nothing
/// changes, by [`super::pool::BlockPool::line_durable`], its units count as stale, and its block might be
/// erased: so that must be done before any other task can look. A debug build stops where it isn't.
#[must_use]
#[derive(Debug)]
pub(crate) struct Programmed {
    page: Ppa,
}

impl Programmed {
    /// Of a page whose program has ended well.
    pub(crate) fn new(page: Ppa) -> Self {
        Programmed { page }
    }
    pub(crate) fn page(&self) -> Ppa {
        self.page
    }
    /// All that changes has been told.
    pub(crate) fn spend(self) -> Ppa {
        let page = self.page;
        core::mem::forget(self);
        page
    }
}

#[cfg(debug_assertions)]
impl Drop for Programmed {
    fn drop(&mut self) {
        panic!("{:?} is programmed, and nobody was told what that changes", self.page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_told_is_spent() {
        let programmed = Programmed::new(Ppa(7));
        assert_eq!((programmed.page(), programmed.spend()), (Ppa(7), Ppa(7)));
    }

    #[test]
    #[should_panic(expected = "nobody was told")]
    fn a_page_that_is_not_told_is_a_defect() {
        drop(Programmed::new(Ppa(7)));
    }
}
