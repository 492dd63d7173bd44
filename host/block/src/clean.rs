//! Write-back: when there are many dirty pages, when they are old, and when a flush asks for it.

use crate::cache::{Cache, Goal};
use crate::lower::{Ended, RUN};
use alloc::rc::Rc;
use aster_exec::Handler;
use aster_ports::host::HostOp;
use aster_units::Duration;
use core::ops::Range;

/// Runs that are written back at once.
pub(crate) const WRITERS: u16 = 16;
/// The age at which dirty pages are written back, Linux's `dirty_expire_centisecs`.
const EXPIRES: Duration = Duration::from_secs(30);
/// How often ages are looked at, Linux's `dirty_writeback_centisecs`.
const LOOKS: Duration = Duration::from_secs(5);

/// Writes pages back, run after run, as long as there is a reason to.
pub(crate) async fn run(cache: Rc<Cache>) {
    loop {
        let run = cache.work.wait(&cache.exec, || cache.next_run()).await;
        // What fails is told to the next flush.
        let _ = cache.write_run(run).await;
    }
}

/// Looks at the ages of dirty pages while there are any.
pub(crate) struct Timer(pub(crate) Rc<Cache>);

impl Handler for Timer {
    fn fire(&self, _: u64) {
        let cache = &self.0;
        cache.is_timed.set(false);
        let now = cache.exec.now();
        let (oldest, newest) = {
            let pages = cache.pages.borrow();
            (pages.oldest(), pages.newest())
        };
        if oldest.is_some_and(|(_, since)| now.since(since) >= EXPIRES) {
            cache.clean_up_to(newest);
        }
        cache.time();
    }
}

impl Cache {
    /// Has the ages of dirty pages looked at, if there are any.
    pub(crate) fn time(&self) {
        let has_dirty = self.pages.borrow().oldest().is_some() && self.writable().is_ok();
        if let (Some(timer), true, false) = (self.timer.get(), has_dirty, self.is_timed.get()) {
            self.is_timed.set(true);
            self.exec.schedule(self.exec.now() + LOOKS, timer, 0);
        }
    }
    /// Pages have become dirty.
    pub(crate) fn dirtied(&self) {
        self.time();
        if self.pages.borrow().dirty() > self.background {
            self.work.wake_all(&self.exec);
        }
    }
    /// Has all versions up to this one written back.
    fn clean_up_to(&self, number: u64) {
        let goal = self.goal.get();
        self.goal.set(Goal { up_to: goal.up_to.max(number), ..goal });
        self.work.wake_all(&self.exec);
    }
    /// The run that is written back next, if there is a reason to.
    fn next_run(&self) -> Option<Range<u32>> {
        let mut pages = self.pages.borrow_mut();
        let goal = self.goal.get();
        if goal.failed.is_some() {
            return None;
        }
        // What somebody waits for goes first: a writer may make others dirty for ever.
        if let Some(run) = pages.oldest_run(goal.up_to, RUN) {
            return Some(run);
        }
        if pages.dirty() > self.background { pages.next_run(RUN) } else { None }
    }

    /// Writes back all that is dirty now.
    pub(crate) async fn clean(&self) -> Ended {
        let up_to = self.pages.borrow().newest();
        // What failed is tried again.
        self.forgive();
        self.clean_up_to(up_to);
        let cleaned = || {
            let is_clean = self.pages.borrow().oldest().is_none_or(|(number, _)| number > up_to);
            if is_clean {
                return Some(Ok(()));
            }
            self.writable().is_err().then(|| self.writable())
        };
        self.changed.wait(&self.exec, cleaned).await
    }
    /// Writes back what is dirty now in a range. What failed is tried again.
    pub(crate) async fn clean_range(&self, blocks: Range<u32>) -> Ended {
        self.forgive();
        let up_to = self.pages.borrow().newest();
        loop {
            let next = || {
                let pages = self.pages.borrow();
                if !pages.is_unclean(blocks.clone(), up_to) {
                    return Some(None);
                }
                // Others may be writing the rest.
                self.writable().is_ok().then(|| pages.run_in(blocks.clone(), RUN))?.map(Some)
            };
            let next = || next().map(Ok).or_else(|| self.writable().err().map(Err));
            match self.changed.wait(&self.exec, next).await? {
                Some(run) => self.write_run(run).await?,
                None => return Ok(()),
            }
        }
    }
    /// Writes everything back, and has the target bring it to flash.
    pub(crate) async fn flush(&self) -> Ended {
        self.clean().await?;
        self.lower.carry_out(HostOp::Flush, 0, 0, false).await
    }
}
