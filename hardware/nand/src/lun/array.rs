//! What a LUN's array works on, and work that a suspend command has stopped.

use crate::work::{ArrayWork, PageAddr, PageJob, Suspends};
use alloc::vec::Vec;
use aster_units::{Duration, Instant};

/// The array's work. It begins only when the work before it has ended.
pub(super) struct Array {
    work: ArrayWork,
    /// The work's planes other than the first.
    others: Vec<PageJob>,
    /// When the work ends: ARDY.
    until: Instant,
    suspended: Option<Suspended>,
}

/// Work that a suspend command has stopped.
#[derive(Debug)]
pub(crate) struct Suspended {
    work: ArrayWork,
    others: Vec<PageJob>,
    left: Duration,
}

impl Array {
    /// An idle array, with room for `jobs` pages.
    pub fn new(jobs: usize) -> Self {
        let others = Vec::with_capacity(jobs);
        Array { work: ArrayWork::Idle, others, until: Instant::ZERO, suspended: None }
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        matches!(self.work, ArrayWork::Idle)
    }
    #[inline]
    pub fn work(&self) -> ArrayWork {
        self.work
    }
    /// The work's planes other than the first.
    #[inline]
    pub fn others(&self) -> &[PageJob] {
        &self.others
    }
    /// When the work ends; [`Instant::MAX`] if there is none.
    #[inline]
    pub fn due(&self) -> Instant {
        if self.is_idle() { Instant::MAX } else { self.until }
    }
    /// Whether there is work that has ended by `at`.
    #[inline]
    pub fn has_ended(&self, at: Instant) -> bool {
        !self.is_idle() && at >= self.until
    }
    /// When the array is free for other work, at `at` or later.
    pub fn free_from(&self, at: Instant) -> Instant {
        if self.is_idle() { at } else { self.until.max(at) }
    }

    /// The work that begins next has a page in another plane.
    #[inline]
    pub fn add(&mut self, job: PageJob) {
        self.others.push(job);
    }
    /// Begins work that ends at `until`.
    #[inline]
    pub fn begin(&mut self, work: ArrayWork, until: Instant) {
        debug_assert!(self.is_idle(), "{work:?} begins during {:?}", self.work);
        (self.work, self.until) = (work, until);
    }
    /// The work has ended.
    #[inline]
    pub fn end(&mut self) {
        self.work = ArrayWork::Idle;
        self.others.clear();
    }
    /// Power or a reset ends all work, suspended work too. Calls `torn` with the work that was not completed.
    pub fn cut(&mut self, mut torn: impl FnMut(ArrayWork, &[PageJob])) {
        torn(self.work, &self.others);
        if let Some(Suspended { work, others, .. }) = self.suspended.take() {
            torn(work, &others);
        }
        self.end();
    }

    /// Whether the array does what a suspend command of that kind stops.
    pub fn does(&self, what: Suspends) -> bool {
        matches!(
            (self.work, what),
            (ArrayWork::Program(_), Suspends::Program) | (ArrayWork::Erase(_), Suspends::Erase)
        )
    }
    /// Whether the work ever ends: that of a stuck LUN doesn't.
    pub fn ever_ends(&self) -> bool {
        self.until != Instant::MAX
    }
    /// The pages of a program, so that they can be given other registers.
    pub fn programs_mut(&mut self) -> impl Iterator<Item = &mut PageJob> {
        let first = if let ArrayWork::Program(job) = &mut self.work { Some(job) } else { None };
        let others = if first.is_some() { &mut self.others[..] } else { &mut [] };
        first.into_iter().chain(others)
    }
    /// Stops the work until it is resumed.
    pub fn suspend(&mut self, at: Instant) {
        assert!(self.suspended.is_none(), "{:?} is suspended already", self.suspended);
        self.suspended = Some(Suspended {
            work: core::mem::replace(&mut self.work, ArrayWork::Idle),
            others: core::mem::take(&mut self.others),
            left: self.until.since(at),
        });
    }
    /// Takes back the suspended work if it is of that kind, to begin it again: the work, and the time that it
    /// still needs.
    pub fn take_suspended(&mut self, what: Suspends) -> Option<(ArrayWork, Duration)> {
        let Suspended { work, others, left } = self.suspended.take_if(|s| s.kind() == what)?;
        self.others = others;
        Some((work, left))
    }
    pub fn suspended(&self) -> Option<&Suspended> {
        self.suspended.as_ref()
    }
    /// What a reset interrupts: suspended work, or else what the array does.
    pub fn interrupted(&self) -> ArrayWork {
        self.suspended.as_ref().map_or(self.work, |s| s.work)
    }
}

impl Suspended {
    /// What is suspended.
    pub fn kind(&self) -> Suspends {
        match self.work {
            ArrayWork::Program(_) => Suspends::Program,
            _ => Suspends::Erase,
        }
    }
    /// Whether it works on the page `at`.
    pub fn works_on(&self, at: PageAddr) -> bool {
        let others = |erase: bool| {
            self.others.iter().any(|job| job.at.block == at.block && (erase || job.at.page == at.page))
        };
        match self.work {
            ArrayWork::Program(job) => (job.at.block, job.at.page) == (at.block, at.page) || others(false),
            ArrayWork::Erase(erased) => erased.block == at.block || others(true),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::{BlockAddr, PageInBlock};

    const ERASE: ArrayWork = ArrayWork::Erase(PageAddr::new(BlockAddr(3), PageInBlock(0)));

    fn after(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn suspended_work_leaves_the_array_idle_and_comes_back_with_the_time_that_was_left() {
        let mut array = Array::new(1);
        array.begin(ERASE, after(100));
        array.suspend(after(30));
        assert!(array.is_idle() && array.due() == Instant::MAX && array.interrupted() == ERASE);
        assert_eq!(array.take_suspended(Suspends::Program), None);
        let left = Duration::from_micros(70);
        assert_eq!(array.take_suspended(Suspends::Erase), Some((ERASE, left)));
        assert!(array.suspended().is_none());
    }

    #[test]
    #[should_panic(expected = "is suspended already")]
    fn work_is_not_suspended_while_other_work_is() {
        let mut array = Array::new(1);
        array.begin(ERASE, after(100));
        array.suspend(after(30));
        array.begin(ERASE, after(200));
        array.suspend(after(150));
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "begins during Erase")]
    fn work_does_not_begin_before_the_work_before_it_has_ended() {
        let mut array = Array::new(1);
        array.begin(ERASE, after(100));
        array.begin(ArrayWork::Other, after(200));
    }
}
