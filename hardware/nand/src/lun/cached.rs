//! Work of the array while the LUN takes commands: READ CACHE and PAGE CACHE PROGRAM. Also several planes
//! together, and word lines in one shot.

use super::state::Next;
use super::{LunModel, Started, later};
use crate::work::{ArrayWork, Bank, Gathers, PageAddr, PageJob};
use aster_units::{Duration, Instant};

impl LunModel {
    /// Starts the waiting cache command, as the array is free now.
    pub(super) fn hand_over(&mut self) {
        let Some(next) = self.next.take() else { return };
        let from = self.next_at;
        match next {
            Next::ReadAhead => {
                self.show_ahead();
                self.set_to_read_ahead(from);
            }
            Next::ShowAhead => self.show_ahead(),
            Next::ProgramBehind | Next::Program => {
                self.failed_before = self.failed;
                self.failed = 0;
                let bank = if next == Next::ProgramBehind { Bank::Array } else { Bank::Cache };
                let takes = self.set_to_program(bank);
                self.array_until = later(from, takes);
            }
        }
    }

    /// Moves the page that was read ahead to the register that the host reads.
    fn show_ahead(&mut self) {
        for i in 0..self.last_read.len() {
            let plane = usize::from(self.last_read[i].plane);
            self.registers.swap(plane, self.planes + plane);
        }
        self.select_last_read();
    }

    /// Data out begins at the first column of the page that was read last, in that page's plane.
    fn select_last_read(&mut self) {
        self.plane = self.last_read.first().map_or(self.plane, |page| page.plane);
        self.column = 0;
    }

    fn set_to_read_ahead(&mut self, from: Instant) {
        let takes = self.longest_read();
        self.last_read.clear();
        self.last_read.extend(self.waiting.iter().map(|job| job.at));
        let first = self.waiting.remove(0);
        self.others.append(&mut self.waiting);
        self.work = ArrayWork::Read(first);
        self.array_until = later(from, takes);
    }

    /// Sets the array to program the waiting pages: from `bank`, unless they are in a register of their
    /// own.
    fn set_to_program(&mut self, bank: Bank) -> Duration {
        let takes = self.longest_program();
        if bank == Bank::Array {
            for job in self.waiting.iter_mut() {
                let plane = usize::from(job.at.plane);
                self.registers.swap(plane, self.planes + plane);
                job.bank = Bank::Array;
            }
        }
        let first = self.waiting.remove(0);
        self.others.append(&mut self.waiting);
        self.work = ArrayWork::Program(first);
        takes
    }

    fn longest_read(&self) -> Duration {
        self.waiting.iter().map(|job| self.timing.read(job.at)).max().unwrap_or_default()
    }
    fn longest_program(&self) -> Duration {
        let one_shot = self.waiting.iter().any(|job| job.bank == Bank::Lsb);
        let of = |job: &PageJob| match (one_shot, job.bank) {
            (true, Bank::Cache) => self.timing.one_shot(job.at),
            (true, _) => Duration::ZERO,
            (false, _) => self.timing.program(job.at),
        };
        self.waiting.iter().map(of).max().unwrap_or_default()
    }

    /// 31h: shows the page that has been read, and starts to read `pages` or, if there are none, the next
    /// ones in order. `None` if no page follows. The array must be idle or reading ahead.
    pub fn read_ahead(
        &mut self,
        at: Instant,
        page: Option<PageAddr>,
        pages_per_block: u16,
    ) -> Option<Started> {
        let takes = self.timing.base().cache;
        match page {
            Some(page) => {
                self.waiting.push(PageJob { at: page, bank: Bank::Array });
                for i in 0..self.gathered.len() {
                    self.waiting.push(PageJob { at: self.gathered[i], bank: Bank::Array });
                }
                self.gathers_nothing();
            }
            None => {
                for i in 0..self.last_read.len() {
                    let mut at = self.last_read[i];
                    at.page.0 += 1;
                    if at.page.0 >= pages_per_block {
                        self.waiting.clear();
                        return None;
                    }
                    self.waiting.push(PageJob { at, bank: Bank::Array });
                }
            }
        }
        let reads = self.longest_read();
        let work = ArrayWork::Read(*self.waiting.first()?);
        self.copied = 0;
        if self.ahead {
            self.wait_for_turn(at, Next::ReadAhead, takes);
        } else {
            self.select_last_read();
            // The register that the READ filled stands for both of ONFI's registers. It stays, and the
            // array reads into the one behind it.
            self.ahead = true;
            self.ready_at = self.until(at, takes);
            self.busy = true;
            let from = self.ready_at;
            self.set_to_read_ahead(from);
            self.set_due();
        }
        Some((work, takes + reads))
    }

    /// 3Fh: shows the page that was read ahead, and reads no further.
    pub fn end_read_ahead(&mut self, at: Instant) -> Started {
        let takes = self.timing.base().cache;
        self.ahead = false;
        self.wait_for_turn(at, Next::ShowAhead, takes);
        (ArrayWork::Other, takes)
    }

    /// Makes the LUN busy until the array is free, and for `takes` after that.
    fn wait_for_turn(&mut self, at: Instant, next: Next, takes: Duration) {
        let free = if self.work == ArrayWork::Idle { at } else { self.array_until.max(at) };
        self.next_at = self.until(free, takes);
        self.next = Some(next);
        self.ready_at = self.next_at;
        self.busy = true;
        self.set_due();
    }

    #[cold]
    pub(super) fn start_programs(&mut self, at: Instant, page: PageAddr, behind: bool) -> Started {
        // The pages of each word line in order, one plane after the other.
        for i in 0..self.loaded.len() {
            let bank = if i % 2 == 0 { Bank::Lsb } else { Bank::Csb };
            self.waiting.push(PageJob { at: self.loaded[i], bank });
        }
        for i in 0..self.gathered.len() {
            self.waiting.push(PageJob { at: self.gathered[i], bank: Bank::Cache });
        }
        self.waiting.push(PageJob { at: page, bank: Bank::Cache });
        self.waiting.sort_by_key(|job| (job.at.plane, job.at.page));
        self.loaded.clear();
        self.gathers_nothing();
        let was_cached = core::mem::replace(&mut self.cached, behind);
        let takes = self.longest_program();
        let work = ArrayWork::Program(PageJob { at: page, bank: Bank::Cache });
        if behind {
            let busy = self.timing.base().cache;
            if !was_cached {
                (self.failed, self.failed_before) = (0, 0);
            }
            self.wait_for_turn(at, Next::ProgramBehind, busy);
            return (work, busy + takes);
        }
        if was_cached {
            self.wait_for_turn(at, Next::Program, Duration::ZERO);
            self.ready_at = later(self.next_at, takes);
            self.set_due();
            return (work, takes);
        }
        let takes = self.set_to_program(Bank::Cache);
        let work = self.work;
        self.start(at, work, takes)
    }

    /// True when a READ has read a page from which READ CACHE can continue.
    pub fn has_read(&self) -> bool {
        !self.last_read.is_empty() && (self.ahead || self.has_data())
    }
    /// The last program was confirmed by 15h: another may follow while the array works.
    pub fn programs_behind(&self) -> bool {
        self.cached
    }
    /// The page after which READ CACHE SEQUENTIAL continues.
    pub fn last_read(&self) -> Option<PageAddr> {
        self.last_read.first().copied()
    }

    /// What is being collected, and the pages so far.
    pub fn gathered(&self) -> (Option<Gathers>, &[PageAddr]) {
        (self.gathers, &self.gathered)
    }
    /// 32h, 11h or D1h: collects one more plane.
    pub fn gather(&mut self, at: Instant, gathers: Gathers, page: PageAddr) -> Started {
        self.gathers = Some(gathers);
        self.gathered.push(page);
        self.pause(at, self.timing.base().plane)
    }
    /// Discards what was collected.
    pub fn gathers_nothing(&mut self) {
        self.gathers = None;
        self.gathered.clear();
    }

    /// The pages loaded for one-shot programming.
    pub fn loaded(&self) -> &[PageAddr] {
        &self.loaded
    }
    /// Puts the page register aside, which holds the first or second page of a word line.
    pub fn load_aside(&mut self, at: Instant, page: PageAddr, bank: Bank) -> Started {
        let (from, to) = (self.index(Bank::Cache, page.plane), self.index(bank, page.plane));
        self.registers.swap(from, to);
        self.loaded.push(page);
        self.loaded.sort_by_key(|at| (at.plane, at.page));
        self.pause(at, self.timing.base().plane)
    }
    /// Discards what was loaded for one-shot programming.
    pub fn unload(&mut self) {
        self.loaded.clear();
    }
}
