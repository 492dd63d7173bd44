//! What a LUN collects before a command is confirmed: the pages of other planes (ONFI 5.1 §3.1.1), and the
//! lower pages of word lines that are programmed in one shot.

use super::refusal::Refusal;
use crate::variant::word_line;
use crate::work::{Bank, Gathers, PageAddr, PageJob};
use alloc::vec::Vec;
use aster_units::CellMode;

/// The pages that wait for a command's last cycle.
pub(super) struct Collected {
    /// What a multi-plane command is collecting.
    gathers: Option<Gathers>,
    /// Its pages so far.
    gathered: Vec<PageAddr>,
    /// Pages loaded for one-shot programming, by plane.
    loaded: Vec<PageAddr>,
}

impl Collected {
    /// Nothing is collected. Has room for a page in each of `planes` planes, and for `loaded` lower pages.
    pub fn new(planes: usize, loaded: usize) -> Self {
        Collected { gathers: None, gathered: Vec::with_capacity(planes), loaded: Vec::with_capacity(loaded) }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.gathered.is_empty() && self.loaded.is_empty()
    }
    /// Whether a multi-plane command is collecting.
    #[inline]
    pub fn is_gathering(&self) -> bool {
        self.gathers.is_some()
    }
    /// The pages of other planes.
    #[inline]
    pub fn gathered(&self) -> &[PageAddr] {
        &self.gathered
    }
    /// Collects one more plane.
    pub fn gather(&mut self, gathers: Gathers, page: PageAddr) {
        debug_assert!(self.gathers.is_none_or(|before| before == gathers), "{gathers:?} after others");
        self.gathers = Some(gathers);
        self.gathered.push(page);
    }
    /// Discards the pages of other planes.
    #[inline]
    pub fn gathers_nothing(&mut self) {
        self.gathers = None;
        self.gathered.clear();
    }
    /// Whether a program has been begun that another page continues.
    pub fn programs(&self) -> bool {
        self.gathers == Some(Gathers::Programs) || !self.loaded.is_empty()
    }
    /// Whether `at` goes with what has been collected, if anything. If not, that is discarded.
    #[inline]
    pub fn admit(&mut self, gathers: Gathers, at: PageAddr) -> Result<(), Refusal> {
        let Some(collects) = self.gathers else { return Ok(()) };
        // Other planes, the same page in each (ONFI 5.1 §3.1.1, multi-plane addressing).
        let fits = |other: &PageAddr| {
            other.plane != at.plane
                && other.slc == at.slc
                && (gathers == Gathers::Erases || other.page == at.page)
        };
        let refusal = if collects != gathers {
            Refusal::Unexpected
        } else if !self.gathered.iter().all(fits) {
            Refusal::Planes
        } else {
            return Ok(());
        };
        self.gathers_nothing();
        Err(refusal)
    }

    /// Notes that a page has been loaded for one-shot programming.
    pub fn load(&mut self, page: PageAddr) {
        self.loaded.push(page);
        self.loaded.sort_by_key(|at| (at.plane, at.page));
    }
    /// Discards what was loaded for one-shot programming.
    pub fn unload(&mut self) {
        self.loaded.clear();
    }
    /// The register in which a lower page waits. Pages of another word line are discarded.
    pub fn bank_for(&mut self, page: PageAddr, cells: CellMode) -> Result<Bank, Refusal> {
        let first = word_line(cells, page.page);
        let same_line = |l: &PageAddr| word_line(cells, l.page) == first;
        let fits = self.loaded.iter().all(same_line) && !self.loaded.contains(&page);
        let bank = match page.page.0 - first.0 {
            0 => Bank::Lsb,
            1 if self.loaded.iter().any(|l| (l.block, l.page) == (page.block, first)) => Bank::Csb,
            _ => return Err(Refusal::Unexpected),
        };
        if !fits {
            self.unload();
            return Err(Refusal::Unexpected);
        }
        Ok(bank)
    }
    /// Whether the two lower pages of the word line have been loaded in each plane whose last page is
    /// programmed, `at` among them.
    pub fn has_word_lines(&self, at: PageAddr, cells: CellMode) -> bool {
        let whole = |last: &PageAddr| {
            let first = word_line(cells, last.page);
            let loaded = |page| self.loaded.iter().any(|l| l.block == last.block && l.page.0 == page);
            last.page.0 == first.0 + 2 && loaded(first.0) && loaded(first.0 + 1)
        };
        self.gathered.iter().chain([&at]).all(whole) && self.loaded.len() == 2 * (self.gathered.len() + 1)
    }

    /// Passes on all pages with their registers: those of word lines, and those of other planes.
    pub fn drain(&mut self) -> impl Iterator<Item = PageJob> {
        self.gathers = None;
        let lower = self.loaded.drain(..).enumerate().map(|(i, at)| {
            let bank = if i % 2 == 0 { Bank::Lsb } else { Bank::Csb };
            PageJob { at, bank }
        });
        lower.chain(self.gathered.drain(..).map(|at| PageJob { at, bank: Bank::Cache }))
    }
    /// Discards all.
    pub fn clear(&mut self) {
        self.gathers_nothing();
        self.unload();
    }
}
