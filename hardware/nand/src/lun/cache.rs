//! Cache commands: which of them waits for the array, and how far reading and programming in sequence have
//! come (ONFI 5.1, READ CACHE and PAGE CACHE PROGRAM).

use super::array::Array;
use crate::work::{Bank, PageAddr, PageJob};
use alloc::vec::Vec;
use aster_units::Instant;

/// What a cache command starts once the array is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// 31h: shows the page that was read ahead, and reads the waiting pages.
    ReadAhead,
    /// 3Fh: shows the page that was read ahead.
    ShowAhead,
    /// 15h: programs the waiting pages while the LUN takes commands.
    ProgramBehind,
    /// 10h after 15h: programs the waiting pages while the LUN is busy.
    Program,
}

/// The cache command that waits for the array, its pages, and the sequence to which it belongs.
pub(super) struct CacheCommands {
    next: Option<Next>,
    next_at: Instant,
    /// The pages of the next work, in order.
    waiting: Vec<PageJob>,
    /// The last program was confirmed by 15h.
    behind: bool,
    /// The array is reading ahead, or has read ahead.
    ahead: bool,
    /// The pages that the last READ has read, in order. READ CACHE SEQUENTIAL continues after them.
    last_read: Vec<PageAddr>,
}

impl CacheCommands {
    /// No command, with room for `jobs` pages that wait, and for one page read in each of `planes`.
    pub fn new(jobs: usize, planes: usize) -> Self {
        CacheCommands {
            next: None,
            next_at: Instant::ZERO,
            waiting: Vec::with_capacity(jobs),
            behind: false,
            ahead: false,
            last_read: Vec::with_capacity(planes),
        }
    }

    /// Whether a command waits.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.next.is_some()
    }
    /// When the command that waits begins; [`Instant::MAX`] if there is none.
    #[inline]
    pub fn due(&self) -> Instant {
        if self.is_waiting() { self.next_at } else { Instant::MAX }
    }
    /// Whether a command waits that begins by `at`.
    #[inline]
    pub fn has_begun(&self, at: Instant) -> bool {
        self.is_waiting() && at >= self.next_at
    }
    /// The command `next` waits until `at`.
    pub fn wait(&mut self, next: Next, at: Instant) {
        assert!(self.next.is_none(), "{next:?} comes while {:?} waits", self.next);
        (self.next, self.next_at) = (Some(next), at);
    }
    /// Takes the waiting command, and the instant at which it begins.
    pub fn take_next(&mut self) -> Option<(Next, Instant)> {
        Some((self.next.take()?, self.next_at))
    }

    /// The pages of the next work, in order.
    pub fn pages(&self) -> &[PageJob] {
        &self.waiting
    }
    pub fn pages_mut(&mut self) -> &mut [PageJob] {
        &mut self.waiting
    }
    pub fn add(&mut self, job: PageJob) {
        self.waiting.push(job);
    }
    /// The pages after those that were read last wait. Returns false if a page that was read last was its
    /// block's last; a block has `per_block` pages.
    pub fn follow(&mut self, per_block: u16) -> bool {
        for &(mut at) in &self.last_read {
            at.page.0 += 1;
            if at.page.0 >= per_block {
                self.waiting.clear();
                return false;
            }
            self.waiting.push(PageJob { at, bank: Bank::Array });
        }
        true
    }
    /// Orders the pages of word lines: one plane after the other.
    pub fn order_pages(&mut self) {
        self.waiting.sort_by_key(|job| (job.at.plane, job.at.page));
    }
    /// Hands the pages to the array. Returns the first, with which its work begins; the others are added to
    /// the work.
    pub fn hand_to(&mut self, array: &mut Array) -> PageJob {
        let first = self.waiting.remove(0);
        self.waiting.drain(..).for_each(|job| array.add(job));
        first
    }

    /// The last program was confirmed by 15h: another may follow while the array works.
    #[inline]
    pub fn programs_behind(&self) -> bool {
        self.behind
    }
    /// A program is confirmed by 15h, or another operation begins. Returns whether the last program was
    /// confirmed by 15h.
    #[inline]
    pub fn set_behind(&mut self, behind: bool) -> bool {
        core::mem::replace(&mut self.behind, behind)
    }

    /// Whether the array is reading ahead, or has read ahead.
    pub fn reads_ahead(&self) -> bool {
        self.ahead
    }
    #[inline]
    pub fn set_ahead(&mut self, ahead: bool) {
        self.ahead = ahead;
    }
    /// The pages that the last READ has read, in order.
    pub fn last_read(&self) -> &[PageAddr] {
        &self.last_read
    }
    /// A READ of `page` begins; pages of other planes may follow.
    #[inline]
    pub fn read_first(&mut self, page: PageAddr) {
        self.last_read.clear();
        self.last_read.push(page);
    }
    /// The READ has a page in another plane.
    pub fn read_also(&mut self, page: PageAddr) {
        self.last_read.push(page);
    }
    /// The waiting pages are read.
    pub fn read_waiting(&mut self) {
        self.last_read.clear();
        self.last_read.extend(self.waiting.iter().map(|job| job.at));
    }

    /// Power or a reset ends the sequence.
    pub fn cut(&mut self) {
        self.next = None;
        (self.behind, self.ahead) = (false, false);
        self.waiting.clear();
        self.last_read.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Duration;

    #[test]
    fn one_command_waits_and_begins_once() {
        let (mut cache, at) = (CacheCommands::new(1, 1), Instant::ZERO + Duration::from_micros(5));
        assert_eq!(cache.due(), Instant::MAX);
        cache.wait(Next::ShowAhead, at);
        assert!(!cache.has_begun(Instant::ZERO) && cache.has_begun(at));
        assert_eq!((cache.take_next(), cache.take_next()), (Some((Next::ShowAhead, at)), None));
        assert_eq!(cache.due(), Instant::MAX);
    }

    #[test]
    #[should_panic(expected = "ShowAhead comes while")]
    fn a_command_does_not_come_while_another_waits() {
        let mut cache = CacheCommands::new(1, 1);
        cache.wait(Next::ReadAhead, Instant::ZERO);
        cache.wait(Next::ShowAhead, Instant::ZERO);
    }
}
