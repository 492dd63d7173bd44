//! Suspends and resumes programs and erases.

use super::state::Suspended;
use super::{LunModel, Started};
use crate::work::{ArrayWork, Bank, PageAddr, Suspends};
use aster_units::{Duration, Instant};

impl LunModel {
    /// Suspends the array's work if it is of that kind. Has no effect on a ready LUN with an idle array,
    /// since the operation may just have ended. `None` if the LUN is busy with something else.
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
            // The host may read into the page's register in the meantime, so its data move to the other
            // bank.
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
    /// Whether a suspended operation works on the page `at`.
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
    /// Resumes the suspended work; `None` if no work of that kind is suspended.
    pub fn resume(&mut self, at: Instant, what: Suspends) -> Option<Started> {
        if self.suspended() != Some(what) {
            return None;
        }
        let Suspended { work, others, left } = self.suspended.take()?;
        self.others = others;
        Some(self.start(at, work, left))
    }
}
