//! Suspending programs and erases, and going on with them.

use super::state::Suspended;
use super::{LunModel, Started};
use crate::work::{ArrayWork, Bank, PageAddr, Suspends};
use aster_units::{Duration, Instant};

impl LunModel {
    /// Suspends what the array does if it is of that kind; without effect on a LUN that is ready and whose
    /// array is idle, since the operation may just have ended. False when it is busy with something else.
    pub fn suspend(&mut self, at: Instant, what: Suspends) -> Option<Started> {
        let matches = matches!(
            (self.work, what),
            (ArrayWork::Program(_), Suspends::Program) | (ArrayWork::Erase(_), Suspends::Erase)
        );
        let takes = self.timing.base().suspend;
        if !matches && !self.is_busy() && self.work == ArrayWork::Idle {
            return Some((ArrayWork::Other, Duration::ZERO));
        }
        if !matches || self.next.is_some() || self.suspended.is_some() {
            return None;
        }
        let left = self.array_until.since(at);
        if self.array_until == Instant::MAX {
            return Some(self.pause(at, takes));
        }
        let mut others = core::mem::take(&mut self.others);
        let mut work = core::mem::replace(&mut self.work, ArrayWork::Idle);
        if let ArrayWork::Program(job) = &mut work {
            // The host may read into its register meanwhile.
            for job in core::iter::once(job).chain(others.iter_mut()).filter(|job| job.bank == Bank::Cache) {
                let plane = usize::from(job.at.plane);
                self.registers.swap(plane, self.planes + plane);
                job.bank = Bank::Array;
            }
        }
        self.suspended = Some(Suspended { work, others, left });
        Some(self.pause(at, takes))
    }

    /// What is suspended.
    pub fn suspended(&self) -> Option<Suspends> {
        match self.suspended.as_ref()?.work {
            ArrayWork::Program(_) => Some(Suspends::Program),
            _ => Some(Suspends::Erase),
        }
    }
    /// True when `at` lies where a suspended operation has not ended.
    pub fn is_suspended(&self, at: PageAddr) -> bool {
        let Some(s) = &self.suspended else { return false };
        let others = |erase: bool| {
            s.others.iter().any(|job| job.at.block == at.block && (erase || job.at.page == at.page))
        };
        match s.work {
            ArrayWork::Program(job) => (job.at.block, job.at.page) == (at.block, at.page) || others(false),
            ArrayWork::Erase(erased) => erased.block == at.block || others(true),
            _ => false,
        }
    }
    /// Goes on with what is suspended; `None` when nothing is.
    pub fn resume(&mut self, at: Instant, what: Suspends) -> Option<Started> {
        if self.suspended() != Some(what) {
            return None;
        }
        let Suspended { work, others, left } = self.suspended.take()?;
        self.others = others;
        Some(self.start(at, work, left))
    }
}
