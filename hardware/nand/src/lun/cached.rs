//! READ CACHE and PAGE CACHE PROGRAM: what the array does while the LUN takes commands. Also programs of
//! several planes together, and of word lines in one shot.

use super::cache::Next;
use super::{LunModel, Refusal, Started, later};
use crate::config::NandConfig;
use crate::phase::Loading;
use crate::variant::slc_pages;
use crate::work::{ArrayWork, Bank, PageAddr, PageJob, Suspends};
use aster_units::{CellMode, Duration, Instant};

impl LunModel {
    /// 31h: shows the page that has been read, and starts to read `page` and those collected before it or, if
    /// there is none, the next ones in order. `None` if no page follows, nothing has been read, or the array
    /// does anything but read ahead.
    pub fn read_ahead(
        &mut self,
        at: Instant,
        page: Option<PageAddr>,
        config: &NandConfig,
    ) -> Option<Started> {
        let ahead = self.cache.reads_ahead();
        let last = *self.cache.last_read().first()?;
        if !(ahead || self.has_data() && !self.array_works()) || self.suspends(Suspends::Program) {
            return None;
        }
        match page {
            Some(page) => {
                for &at in [page].iter().chain(self.collected.gathered()) {
                    self.cache.add(PageJob { at, bank: Bank::Array });
                }
                self.collected.gathers_nothing();
            }
            None => {
                let pages = config.geometry.pages_per_block;
                let pages = if last.slc { slc_pages(pages, config.cells) } else { pages };
                if !self.cache.follow(pages) {
                    return None;
                }
            }
        }
        let takes = self.timing.base().cache;
        let reads = self.timing.longest_read(self.cache.pages());
        let work = ArrayWork::Read(*self.cache.pages().first()?);
        self.registers.set_copied(0);
        if ahead {
            self.wait_for_turn(at, Next::ReadAhead, takes);
        } else {
            self.select_last_read();
            // The register that the READ filled stands for both of ONFI's registers. It stays, and the
            // array reads into the one behind it.
            self.cache.set_ahead(true);
            let from = self.until(at, takes);
            self.status.go_busy(from);
            self.begin_read_ahead(from);
            self.set_due();
        }
        Some((work, takes + reads))
    }

    /// 3Fh: shows the page that was read ahead, and reads no further. `None` if none was.
    pub fn end_read_ahead(&mut self, at: Instant) -> Option<Started> {
        if !self.cache.reads_ahead() {
            return None;
        }
        let takes = self.timing.base().cache;
        self.cache.set_ahead(false);
        self.wait_for_turn(at, Next::ShowAhead, takes);
        Some((ArrayWork::Other, takes))
    }

    /// Makes the LUN busy until the array is free, and for `takes` after that. Returns when that is.
    fn wait_for_turn(&mut self, at: Instant, next: Next, takes: Duration) -> Instant {
        let from = self.until(self.array.free_from(at), takes);
        self.cache.wait(next, from);
        self.status.go_busy(from);
        self.set_due();
        from
    }

    /// 10h or, with `behind`, 15h (cached): programs the page, those loaded for its word line, and those
    /// of other planes.
    #[inline]
    pub fn start_program(
        &mut self,
        at: Instant,
        loading: &Loading,
        behind: bool,
        cells: CellMode,
    ) -> Result<Started, Refusal> {
        let page = loading.target.at;
        if behind && self.array.suspended().is_some() {
            return Err(Refusal::Busy);
        }
        if loading.one_shot && !self.collected.has_word_lines(page, cells) {
            self.collected.unload();
            return Err(Refusal::Unexpected);
        }
        self.registers.set_copied(0);
        if !behind && !self.cache.programs_behind() && self.collected.is_empty() {
            let takes = self.timing.program(page);
            return Ok(self.start(at, ArrayWork::Program(PageJob { at: page, bank: Bank::Cache }), takes));
        }
        Ok(self.start_programs(at, page, behind))
    }

    #[cold]
    fn start_programs(&mut self, at: Instant, page: PageAddr, behind: bool) -> Started {
        let job = PageJob { at: page, bank: Bank::Cache };
        self.collected.drain().chain([job]).for_each(|job| self.cache.add(job));
        self.cache.order_pages();
        let was_behind = self.cache.set_behind(behind);
        let takes = self.timing.longest_program(self.cache.pages());
        if behind {
            let busy = self.timing.base().cache;
            if !was_behind {
                self.status.forget_results();
            }
            self.wait_for_turn(at, Next::ProgramBehind, busy);
            return (ArrayWork::Program(job), busy + takes);
        }
        if was_behind {
            let from = self.wait_for_turn(at, Next::Program, Duration::ZERO);
            self.status.go_busy(later(from, takes));
            self.set_due();
            return (ArrayWork::Program(job), takes);
        }
        let first = self.cache.hand_to(&mut self.array);
        self.start(at, ArrayWork::Program(first), takes)
    }
}
