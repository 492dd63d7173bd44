//! The last cycle of a command, and what it starts by the rules of ONFI 5.1 §5 and of the package.

use crate::lun::Started;
use crate::package::{NandPackage, Source};
use crate::phase::{BusPhase, Loading, PendingCommand, Prefix, Target, View};
use crate::work::{Gathers, PageAddr, Suspends};
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
                    (_, Some(lun)) => self.luns[usize::from(lun)].select(None, column),
                    (_, None) => return Err(ProtocolError::UnexpectedCommand { command: value }),
                }
                self.column_changed(at);
            }
            (PendingCommand::Select(target, column), command::CHANGE_READ_COLUMN_CONFIRM) => {
                self.luns[usize::from(target.lun)].select(Some(target.at.plane), column);
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

    #[inline]
    pub(crate) fn column_changed(&mut self, at: Instant) {
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
        let started = self.luns[usize::from(target.lun)].start_read(at, target.at, column, copyback);
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
        let Some(started) = self.luns[usize::from(lun)].read_ahead(at, page, &self.config) else {
            return Err(ProtocolError::UnexpectedCommand { command });
        };
        self.selected = Some(lun);
        self.source = Source::Page;
        self.started(at, lun, started);
        Ok(())
    }

    /// 3Fh.
    pub(crate) fn end_read_ahead(&mut self, at: Instant, lun: u8) -> Result<(), ProtocolError> {
        let Some(started) = self.luns[usize::from(lun)].end_read_ahead(at) else {
            return Err(ProtocolError::UnexpectedCommand { command: command::READ_CACHE_END });
        };
        self.selected = Some(lun);
        self.source = Source::Page;
        self.started(at, lun, started);
        Ok(())
    }

    /// The second cycle of a PROGRAM whose data have been loaded; `None` if `value` isn't such a cycle.
    #[inline]
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

    #[inline]
    fn start_program(&mut self, at: Instant, loading: Loading, behind: bool) -> Result<(), ProtocolError> {
        let lun = loading.target.lun;
        let cells = self.config.cells;
        let started =
            self.luns[usize::from(lun)].start_program(at, &loading, behind, cells).map_err(|why| {
                let last = if behind { command::PROGRAM_CACHE_CONFIRM } else { command::PROGRAM_CONFIRM };
                self.refused(why, loading.target, last)
            })?;
        self.started(at, lun, started);
        Ok(())
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
        let started = self.luns[usize::from(target.lun)]
            .load_aside(at, target.at, self.config.cells)
            .map_err(|why| self.refused(why, target, command))?;
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
    pub(crate) fn admit(&mut self, target: Target, gathers: Gathers) -> Result<(), ProtocolError> {
        self.luns[usize::from(target.lun)]
            .admit(gathers, target.at)
            .map_err(|why| self.refused(why, target, self.command))
    }

    /// Starts loading the page at `row`, if the prefix allows it.
    #[inline]
    pub(crate) fn on_program_address(
        &mut self,
        at: Instant,
        target: Target,
        column: Column,
        copyback: bool,
    ) -> Result<BusPhase, ProtocolError> {
        let loading = Loading { target, one_shot: matches!(self.mode, Prefix::Page(_)), copyback };
        let further = self.command == command::PROGRAM_MULTI_PLANE_NEXT;
        self.luns[usize::from(target.lun)]
            .begin_program(&loading, column, further)
            .map_err(|why| self.refused(why, target, self.command))?;
        self.waits.addressed_for_data(at);
        Ok(BusPhase::Loading(loading))
    }

    /// Suspends or resumes what the LUN of `row` does.
    pub(crate) fn on_suspend_address(
        &mut self,
        at: Instant,
        row: RowAddr,
        what: Suspends,
        resume: bool,
    ) -> Result<BusPhase, ProtocolError> {
        let target = self.target(row)?;
        let lun = target.lun;
        self.name(lun);
        let state = &mut self.luns[usize::from(lun)];
        let started = if resume { state.resume(at, what) } else { state.suspend(at, what) };
        let started = started.map_err(|why| self.refused(why, target, self.command))?;
        if started.1 > Duration::ZERO {
            self.started(at, lun, started);
        }
        Ok(BusPhase::Idle)
    }
}
