//! What comes to a LUN before a command's last cycle: rows of other planes, data, and the lower pages of word
//! lines.

use super::{LunModel, Refusal, Started};
use crate::config::NandConfig;
use crate::phase::Loading;
use crate::work::{Bank, Gathers, PageAddr, Suspends};
use aster_ports::package::{DataIn, ProtocolError};
use aster_units::{CellMode, Column, Instant};

impl LunModel {
    /// Checks that a row address goes with what has been collected for a multi-plane command, if anything.
    #[inline]
    pub fn admit(&mut self, gathers: Gathers, page: PageAddr) -> Result<(), Refusal> {
        self.collected.admit(gathers, page)
    }
    /// Whether a multi-plane command collects pages.
    #[inline]
    pub fn collects(&self) -> bool {
        self.collected.is_gathering()
    }
    /// 32h, 11h or D1h: collects one more plane.
    pub fn gather(&mut self, at: Instant, gathers: Gathers, page: PageAddr) -> Started {
        self.collected.gather(gathers, page);
        self.pause(at, self.timing.base().plane)
    }

    /// Begins to load a page from `column` on; `further` if it must continue a program.
    #[inline]
    pub fn begin_program(&mut self, loading: &Loading, column: Column, further: bool) -> Result<(), Refusal> {
        let &Loading { target, one_shot, copyback } = loading;
        let plane = target.at.plane;
        if self.array_works() && !self.cache.programs_behind() || self.suspends(Suspends::Program) {
            return Err(Refusal::Busy);
        }
        if further && !self.collected.programs() || copyback && !self.registers.has_copied(plane) {
            return Err(Refusal::Unexpected);
        }
        if !one_shot {
            self.collected.unload();
        }
        self.registers.set_column(column);
        self.cache.set_ahead(false);
        if !copyback {
            self.registers.clear(plane);
        }
        self.collected.admit(Gathers::Programs, target.at)
    }
    /// Puts data into the register of the page that is being loaded.
    #[inline]
    pub fn data_in(
        &mut self,
        loading: &Loading,
        length: u32,
        data: DataIn<'_>,
        config: &NandConfig,
    ) -> Result<(), ProtocolError> {
        self.registers.data_in((loading.target.at.plane, loading.copyback), length, data, config)
    }
    /// Puts the page register aside, which holds the first or second page of a word line. Its last page is
    /// programmed with them.
    pub fn load_aside(&mut self, at: Instant, page: PageAddr, cells: CellMode) -> Result<Started, Refusal> {
        let bank = self.collected.bank_for(page, cells)?;
        self.registers.swap(page.plane, Bank::Cache, bank);
        self.collected.load(page);
        Ok(self.pause(at, self.timing.base().plane))
    }
}
