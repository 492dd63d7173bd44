//! The last cycle of a command, and what it starts by the rules of ONFI 5.1 §5 and of the package.

use crate::lun::Started;
use crate::package::{NandPackage, Source};
use crate::phase::{BusPhase, Loading, PendingCommand, Prefix, Target, View};
use crate::variant::{slc_pages, word_line};
use crate::work::{Bank, Gathers, PageAddr, Suspends};
use aster_ports::package::ProtocolError;
use aster_units::{Column, Duration, Instant, RowAddr};
use aster_wire::onfi::command;

impl NandPackage {
    /// The second cycle of a command whose address is complete. Status and reset may come in its place.
    pub(crate) fn on_confirm(
        &mut self,
        at: Instant,
        pending: PendingCommand,
        value: u8,
    ) -> Result<(), ProtocolError> {
        let commands = self.config.variant.commands;
        match (pending, value) {
            (PendingCommand::Read(target, column), command::READ_CONFIRM) => {
                self.start_read(at, target, column, false)?;
            }
            (PendingCommand::Read(target, column), command::COPYBACK_READ_CONFIRM) if commands.copyback => {
                self.start_read(at, target, column, true)?;
            }
            (PendingCommand::Read(target, _), command::READ_MULTI_PLANE) if commands.multi_plane => {
                let started = self.luns[usize::from(target.lun)].gather(at, Gathers::Reads, target.at);
                self.started(at, target.lun, started);
            }
            (PendingCommand::Read(target, _), command::READ_CACHE) if commands.read_cache => {
                self.read_ahead(at, target.lun, Some(target.at), value)?;
            }
            (PendingCommand::Column(column), command::CHANGE_READ_COLUMN_CONFIRM) => {
                match (self.source, self.selected) {
                    (Source::Answer, _) => self.answer_at = usize::from(column.0),
                    (_, Some(lun)) => self.luns[usize::from(lun)].column = u32::from(column.0),
                    (_, None) => return Err(ProtocolError::UnexpectedCommand { command: value }),
                }
                self.column_changed(at);
            }
            (PendingCommand::Select(target, column), command::CHANGE_READ_COLUMN_CONFIRM) => {
                let lun = &mut self.luns[usize::from(target.lun)];
                lun.plane = target.at.plane;
                lun.column = u32::from(column.0);
                self.selected = Some(target.lun);
                self.source = Source::Page;
                self.column_changed(at);
            }
            (PendingCommand::Erase(target), command::ERASE_CONFIRM) => {
                let started = self.luns[usize::from(target.lun)].start_erase(at, target.at);
                self.started(at, target.lun, started);
            }
            (PendingCommand::Erase(target), command::ERASE_MULTI_PLANE) if commands.multi_plane => {
                let started = self.luns[usize::from(target.lun)].gather(at, Gathers::Erases, target.at);
                self.started(at, target.lun, started);
            }
            (_, other) => {
                self.on_first_cycle(at, other)?;
                self.command = other;
                self.waits.latched(at);
            }
        }
        Ok(())
    }

    fn column_changed(&mut self, at: Instant) {
        self.view = View::Data;
        self.phase = BusPhase::Idle;
        self.waits.latched(at);
        self.waits.column_changed(at);
    }

    #[inline]
    fn start_read(
        &mut self,
        at: Instant,
        target: Target,
        column: Column,
        copyback: bool,
    ) -> Result<(), ProtocolError> {
        self.need_idle(at, target.lun, command::READ)?;
        let lun = &mut self.luns[usize::from(target.lun)];
        lun.column = u32::from(column.0);
        let started = lun.start_read(at, target.at, copyback);
        self.selected = Some(target.lun);
        self.source = Source::Page;
        self.started(at, target.lun, started);
        Ok(())
    }

    /// 31h, after an address or without one.
    pub(crate) fn read_ahead(
        &mut self,
        at: Instant,
        lun: u8,
        page: Option<PageAddr>,
        command: u8,
    ) -> Result<(), ProtocolError> {
        let state = &mut self.luns[usize::from(lun)];
        if !state.has_read()
            || (!state.ahead && state.array_works())
            || state.suspended() == Some(Suspends::Program)
        {
            return Err(ProtocolError::UnexpectedCommand { command });
        }
        let pages = self.config.geometry.pages_per_block;
        let slc = state.last_read().is_some_and(|last| last.slc);
        let pages = if slc { slc_pages(pages, self.config.cells) } else { pages };
        let Some(started) = state.read_ahead(at, page, pages) else {
            return Err(ProtocolError::UnexpectedCommand { command });
        };
        self.selected = Some(lun);
        self.source = Source::Page;
        self.started(at, lun, started);
        Ok(())
    }

    /// 3Fh.
    pub(crate) fn end_read_ahead(&mut self, at: Instant, lun: u8) -> Result<(), ProtocolError> {
        let state = &mut self.luns[usize::from(lun)];
        if !state.ahead {
            return Err(ProtocolError::UnexpectedCommand { command: command::READ_CACHE_END });
        }
        let started = state.end_read_ahead(at);
        self.selected = Some(lun);
        self.source = Source::Page;
        self.started(at, lun, started);
        Ok(())
    }

    /// The second cycle of a PROGRAM whose data have been loaded; `None` if `value` isn't such a cycle.
    pub(crate) fn on_loaded(
        &mut self,
        at: Instant,
        loading: Loading,
        value: u8,
    ) -> Option<Result<(), ProtocolError>> {
        let commands = &self.config.variant.commands;
        let is_load = loading.one_shot && commands.one_shot.is_some_and(|o| o.load_confirm == value);
        match value {
            command::PROGRAM_CONFIRM => Some(self.start_program(at, loading, false)),
            command::PROGRAM_CACHE_CONFIRM if commands.program_cache && !loading.one_shot => {
                Some(self.start_program(at, loading, true))
            }
            command::PROGRAM_MULTI_PLANE if commands.multi_plane => {
                Some(self.one_more_plane(at, loading.target, loading.one_shot))
            }
            _ if is_load => Some(self.load_aside(at, loading.target, value)),
            _ => None,
        }
    }

    fn start_program(&mut self, at: Instant, loading: Loading, behind: bool) -> Result<(), ProtocolError> {
        let Target { lun, at: page } = loading.target;
        let state = &mut self.luns[usize::from(lun)];
        if behind && state.suspended().is_some() {
            return Err(ProtocolError::Busy { lun, command: command::PROGRAM_CACHE_CONFIRM });
        }
        if loading.one_shot && !self.word_lines_are_loaded(loading.target) {
            self.luns[usize::from(lun)].unload();
            return Err(ProtocolError::UnexpectedCommand { command: command::PROGRAM_CONFIRM });
        }
        let started = self.luns[usize::from(lun)].start_program(at, page, behind);
        self.started(at, lun, started);
        Ok(())
    }

    /// Whether the two lower pages of the word line have been loaded in each plane whose last page is
    /// programmed.
    fn word_lines_are_loaded(&self, Target { lun, at }: Target) -> bool {
        let lun = &self.luns[usize::from(lun)];
        let (_, gathered) = lun.gathered();
        let whole = |last: &PageAddr| {
            let first = word_line(self.config.cells, last.page);
            let loaded = |page| lun.loaded().iter().any(|l| l.block == last.block && l.page.0 == page);
            last.page.0 == first.0 + 2 && loaded(first.0) && loaded(first.0 + 1)
        };
        gathered.iter().chain([&at]).all(whole) && lun.loaded().len() == 2 * (gathered.len() + 1)
    }

    /// 11h: the register waits for those of other planes. A word line's first or second page is put
    /// aside.
    fn one_more_plane(&mut self, at: Instant, target: Target, one_shot: bool) -> Result<(), ProtocolError> {
        if one_shot && target.at.page.0 % 3 != 2 {
            return self.load_aside(at, target, command::PROGRAM_MULTI_PLANE);
        }
        let started = self.luns[usize::from(target.lun)].gather(at, Gathers::Programs, target.at);
        self.started(at, target.lun, started);
        Ok(())
    }

    /// A page of a word line that will be programmed with its last one.
    fn load_aside(&mut self, at: Instant, target: Target, command: u8) -> Result<(), ProtocolError> {
        let lun = &mut self.luns[usize::from(target.lun)];
        let first = word_line(self.config.cells, target.at.page);
        let same_line = |l: &PageAddr| word_line(self.config.cells, l.page) == first;
        let fits = lun.loaded().iter().all(same_line) && !lun.loaded().contains(&target.at);
        let bank = match target.at.page.0 - first.0 {
            0 => Bank::Lsb,
            1 if lun.loaded().iter().any(|l| (l.block, l.page) == (target.at.block, first)) => Bank::Csb,
            _ => return Err(ProtocolError::UnexpectedCommand { command }),
        };
        if !fits {
            lun.unload();
            return Err(ProtocolError::UnexpectedCommand { command });
        }
        let started = lun.load_aside(at, target.at, bank);
        self.started(at, target.lun, started);
        Ok(())
    }

    /// A LUN has gone busy with the latch at `at`.
    #[inline]
    pub(crate) fn started(&mut self, at: Instant, lun: u8, started: Started) {
        self.phase = BusPhase::Idle;
        self.view = View::Data;
        self.waits.latched(at);
        self.waits.confirmed(at);
        self.report(at, lun, started);
    }

    /// Checks that a row address goes with what its LUN has collected for a multi-plane command, if
    /// anything.
    #[inline]
    pub(crate) fn beside_others(&mut self, target: Target, gathers: Gathers) -> Result<(), ProtocolError> {
        let lun = &mut self.luns[usize::from(target.lun)];
        let (collects, pages) = lun.gathered();
        let Some(collects) = collects else { return Ok(()) };
        if collects != gathers {
            lun.gathers_nothing();
            return Err(ProtocolError::UnexpectedCommand { command: self.command });
        }
        // Other planes, the same page in each (ONFI 5.1 §3.1.1, multi-plane addressing).
        let at = target.at;
        let fits = |other: &PageAddr| {
            other.plane != at.plane
                && other.slc == at.slc
                && (gathers == Gathers::Erases || other.page == at.page)
        };
        if pages.iter().all(fits) {
            return Ok(());
        }
        lun.gathers_nothing();
        let row = self.config.geometry.row(target.lun, at.block, at.page);
        Err(ProtocolError::Planes { row })
    }

    /// Starts loading the page at `row`, if the prefix allows it.
    pub(crate) fn on_program_address(
        &mut self,
        at: Instant,
        target: Target,
        column: Column,
        copyback: bool,
    ) -> Result<BusPhase, ProtocolError> {
        let lun = &mut self.luns[usize::from(target.lun)];
        let refused = Err(ProtocolError::UnexpectedCommand { command: self.command });
        if lun.array_works() && !lun.programs_behind() {
            return Err(ProtocolError::Busy { lun: target.lun, command: self.command });
        }
        if lun.suspended() == Some(Suspends::Program) {
            return Err(ProtocolError::Busy { lun: target.lun, command: self.command });
        }
        let goes_on = lun.gathered().0 == Some(Gathers::Programs) || !lun.loaded().is_empty();
        if self.command == command::PROGRAM_MULTI_PLANE_NEXT && !goes_on {
            return refused;
        }
        if copyback && lun.copied & 1 << target.at.plane == 0 {
            return refused;
        }
        let one_shot = matches!(self.mode, Prefix::Page(_));
        if !one_shot {
            lun.unload();
        }
        lun.column = u32::from(column.0);
        lun.ahead = false;
        if !copyback {
            lun.copied = 0;
            lun.register_mut(target.at.plane).clear();
        }
        self.beside_others(target, Gathers::Programs)?;
        self.waits.addressed_for_data(at);
        Ok(BusPhase::Loading(Loading { target, one_shot, copyback }))
    }

    /// Suspends or resumes what the LUN of `row` does.
    pub(crate) fn on_suspend_address(
        &mut self,
        at: Instant,
        row: RowAddr,
        what: Suspends,
        resume: bool,
    ) -> Result<BusPhase, ProtocolError> {
        let Target { lun, .. } = self.target(row)?;
        self.name(lun);
        let state = &mut self.luns[usize::from(lun)];
        state.catch_up(at);
        let started = if resume {
            if state.is_busy() || state.array_works() {
                return Err(ProtocolError::Busy { lun, command: self.command });
            }
            state.resume(at, what).ok_or(ProtocolError::UnexpectedCommand { command: self.command })?
        } else {
            state.suspend(at, what).ok_or(ProtocolError::Busy { lun, command: self.command })?
        };
        if started.1 > Duration::ZERO {
            self.started(at, lun, started);
        }
        Ok(BusPhase::Idle)
    }
}
