//! Programs that have succeeded.

use aster_units::Ppa;

/// A page whose program has succeeded. Its units count as stale, so that its block might be erased, until the
/// change is recorded: by `Mapped::moved` or, if nothing changes, by
/// [`super::pool::BlockPool::line_durable`]. This must happen before any other task runs. A debug build
/// panics if it is forgotten.
#[must_use]
#[derive(Debug)]
pub(crate) struct Programmed {
    page: Ppa,
}

impl Programmed {
    /// A page whose program has succeeded.
    pub(crate) fn new(page: Ppa) -> Self {
        Programmed { page }
    }
    pub(crate) fn page(&self) -> Ppa {
        self.page
    }
    /// All changes have been recorded.
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

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "nobody was told")]
    fn a_page_that_is_not_told_is_a_defect() {
        drop(Programmed::new(Ppa(7)));
    }
}
