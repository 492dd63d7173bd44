//! Suspends and resumes programs and erases.

use super::array::Suspended;
use super::{LunModel, Refusal, Started};
use crate::work::{ArrayWork, Bank, Suspends};
use aster_units::{Duration, Instant};

impl LunModel {
    /// Suspends the array's work if it is of that kind. Has no effect on a ready LUN with an idle array,
    /// since the operation may just have ended. Refused if the LUN is busy with something else.
    pub fn suspend(&mut self, at: Instant, what: Suspends) -> Result<Started, Refusal> {
        self.catch_up(at);
        let does = self.array.does(what);
        let takes = self.timing.base().suspend;
        if !self.status.is_busy() && self.array.is_idle() {
            return Ok((ArrayWork::Other, Duration::ZERO));
        }
        if !does || self.cache.is_waiting() || self.array.suspended().is_some() {
            return Err(Refusal::Busy);
        }
        if !self.array.ever_ends() {
            return Ok(self.pause(at, takes));
        }
        // The host may read into a page's register in the meantime, so its data move to the other bank.
        for job in self.array.programs_mut().filter(|job| job.bank == Bank::Cache) {
            self.registers.swap(job.at.plane, Bank::Cache, Bank::Array);
            job.bank = Bank::Array;
        }
        self.array.suspend(at);
        Ok(self.pause(at, takes))
    }

    /// What is suspended.
    pub fn suspended(&self) -> Option<&Suspended> {
        self.array.suspended()
    }
    /// Resumes the suspended work. Refused while the array works, or if no work of that kind is suspended.
    pub fn resume(&mut self, at: Instant, what: Suspends) -> Result<Started, Refusal> {
        self.catch_up(at);
        if self.status.is_busy() || self.array_works() {
            return Err(Refusal::Busy);
        }
        let (work, left) = self.array.take_suspended(what).ok_or(Refusal::Unexpected)?;
        Ok(self.start(at, work, left))
    }
}
