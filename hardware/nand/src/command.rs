//! Decodes command and address latches (ONFI 5.1 §5): checks which cycle may follow which, and starts
//! what the last one confirms.

use crate::lun::Readiness;
use crate::package::{NandPackage, Source};
use crate::phase::{BusPhase, PendingCommand, Prefix, Setup, Target, View};
use crate::variant::slc_pages;
use crate::work::{Gathers, PageAddr, Suspends};
use crate::{bus, identify};
use aster_ports::package::{DataMode, ProtocolError};
use aster_units::{Column, Instant, PageInBlock, RowAddr};
use aster_wire::onfi::{DataInterface, command};

impl NandPackage {
    /// A command latch.
    #[inline]
    pub(crate) fn on_command(&mut self, at: Instant, value: u8) -> Result<(), ProtocolError> {
        match self.phase {
            BusPhase::Pending(pending) => return self.on_confirm(at, pending, value),
            BusPhase::Loading(loading) if value == command::CHANGE_WRITE_COLUMN => {
                self.phase =
                    BusPhase::Addressing { setup: Setup::ChangeWriteColumn(loading), got: 0, bits: 0 };
                self.waits.latched(at);
                return Ok(());
            }
            BusPhase::Loading(loading) => {
                if let Some(done) = self.on_loaded(at, loading, value) {
                    return done;
                }
                self.on_first_cycle(at, value)?;
            }
            _ => self.on_first_cycle(at, value)?,
        }
        self.command = value;
        self.waits.latched(at);
        Ok(())
    }

    /// A command's first cycle. It discards an incomplete command before it; but only status and reset
    /// may interrupt the loading of a page or the cycles of an address.
    #[inline]
    pub(crate) fn on_first_cycle(&mut self, at: Instant, value: u8) -> Result<(), ProtocolError> {
        let between = matches!(self.phase, BusPhase::Idle | BusPhase::Returning);
        if !between && !command::accepted_while_busy(value) {
            return Err(ProtocolError::UnexpectedCommand { command: value });
        }
        // A prefix applies only to the cycle right after it.
        self.mode = core::mem::replace(&mut self.prefix, Prefix::Plain);
        let setup = match value {
            command::READ_STATUS => {
                self.view = View::Status(self.addressed, None);
                self.phase = BusPhase::Idle;
                return Ok(());
            }
            command::RESET => {
                self.reset(at);
                return Ok(());
            }
            command::READ => {
                self.need_some_ready(at, value)?;
                self.view = View::Data;
                self.phase = BusPhase::Returning;
                return Ok(());
            }
            command::READ_STATUS_ENHANCED => Setup::StatusEnhanced,
            command::CHANGE_READ_COLUMN => Setup::ChangeReadColumn,
            command::CHANGE_READ_COLUMN_ENHANCED => Setup::ChangeReadColumnEnhanced,
            command::PROGRAM => Setup::Program,
            command::ERASE => Setup::Erase,
            command::READ_ID => Setup::ReadId,
            command::READ_PARAMETER_PAGE => Setup::ParameterPage,
            command::READ_UNIQUE_ID => Setup::UniqueId,
            command::GET_FEATURES => Setup::GetFeatures,
            command::SET_FEATURES => Setup::SetFeatures,
            _ => match self.on_optional(at, value)? {
                Some(setup) => setup,
                None => return Ok(()),
            },
        };
        match setup {
            Setup::StatusEnhanced | Setup::Suspend(_) | Setup::ResetLun => {}
            Setup::ReadId => {
                for lun in 0..self.luns.len() as u8 {
                    self.need_ready(at, lun, value)?;
                }
            }
            Setup::ParameterPage | Setup::UniqueId | Setup::GetFeatures | Setup::SetFeatures => {
                // Commands to the target need all its LUNs to be idle.
                for lun in 0..self.luns.len() as u8 {
                    self.need_idle(at, lun, value)?;
                }
            }
            _ => self.need_some_ready(at, value)?,
        }
        self.phase = BusPhase::Addressing { setup, got: 0, bits: 0 };
        Ok(())
    }

    /// A first cycle that not every package takes; `None` if it was the whole command.
    #[cold]
    fn on_optional(&mut self, at: Instant, value: u8) -> Result<Option<Setup>, ProtocolError> {
        let commands = self.config.variant.commands;
        let unexpected = Err(ProtocolError::UnexpectedCommand { command: value });
        let prefix = match commands.one_shot {
            _ if commands.pseudo_slc == Some(value) => Some(Prefix::Slc),
            Some(one_shot) => {
                one_shot.pages.iter().position(|p| *p == value).map(|page| Prefix::Page(page as u8))
            }
            None => None,
        };
        if let Some(prefix) = prefix {
            self.need_some_ready(at, value)?;
            self.prefix = prefix;
            self.phase = BusPhase::Idle;
            return Ok(None);
        }
        if let Some(suspend) = commands.suspend {
            for (opcode, setup) in [
                (suspend.program, Setup::Suspend(Suspends::Program)),
                (suspend.erase, Setup::Suspend(Suspends::Erase)),
                (suspend.program_resume, Setup::Resume(Suspends::Program)),
                (suspend.erase_resume, Setup::Resume(Suspends::Erase)),
            ] {
                if opcode == value {
                    return Ok(Some(setup));
                }
            }
        }
        match value {
            command::PROGRAM_MULTI_PLANE_NEXT if commands.multi_plane => Ok(Some(Setup::Program)),
            command::CHANGE_WRITE_COLUMN if commands.copyback => Ok(Some(Setup::Copyback)),
            command::RESET_LUN if commands.reset_lun => Ok(Some(Setup::ResetLun)),
            command::ODT_CONFIGURE if commands.odt_configure => Ok(Some(Setup::OdtConfigure)),
            command::ZQ_CALIBRATION_LONG if commands.zq_calibration => {
                Ok(Some(Setup::ZqCalibration { long: true }))
            }
            command::ZQ_CALIBRATION_SHORT if commands.zq_calibration => {
                Ok(Some(Setup::ZqCalibration { long: false }))
            }
            // Only in the source synchronous interfaces (ONFI 5.1 §5.4).
            command::SYNCHRONOUS_RESET if self.waits.mode() != DataMode::Sdr => {
                self.reset_luns(at);
                Ok(None)
            }
            command::READ_CACHE if commands.read_cache => {
                self.need_ready(at, self.addressed, value)?;
                self.read_ahead(at, self.addressed, None, value)?;
                Ok(None)
            }
            command::READ_CACHE_END if commands.read_cache => {
                self.need_ready(at, self.addressed, value)?;
                self.end_read_ahead(at, self.addressed)?;
                Ok(None)
            }
            _ => unexpected,
        }
    }

    /// FFh: resets all LUNs, and puts the target back to SDR.
    fn reset(&mut self, at: Instant) {
        self.reset_luns(at);
        if self.waits.mode() != bus::data_mode(DataInterface::Sdr) || self.features.timing_mode() != 0 {
            self.waits.switch(&self.config.bus.power_on(), at);
        }
        self.features.reset();
    }

    fn reset_luns(&mut self, at: Instant) {
        for lun in 0..self.luns.len() {
            let started = self.luns[lun].reset(at);
            self.report(at, lun as u8, started);
        }
        self.phase = BusPhase::Idle;
        self.view = View::Data;
        self.source = Source::Nothing;
        self.selected = (self.luns.len() == 1).then_some(0);
        self.waits.confirmed(at);
    }

    /// FAh: resets one LUN (ONFI 5.1 §5.5).
    fn reset_lun(&mut self, at: Instant, row: RowAddr) -> Result<(), ProtocolError> {
        let Target { lun, .. } = self.target(row)?;
        self.name(lun);
        let started = self.luns[usize::from(lun)].reset(at);
        self.started(at, lun, started);
        Ok(())
    }

    /// Whether `count` more address cycles belong to the command latched last.
    #[inline]
    pub(crate) fn takes_addresses(&self, count: usize) -> bool {
        let left = match self.phase {
            BusPhase::Addressing { setup, got, .. } => setup.cycles() - got,
            BusPhase::Returning => Setup::Read.cycles(),
            _ => 0,
        };
        count > 0 && count <= usize::from(left)
    }

    /// Address latches in a row, as many as [`NandPackage::takes_addresses`] allows; the last one at `at`.
    #[inline]
    pub(crate) fn on_addresses(&mut self, at: Instant, values: &[u8]) -> Result<(), ProtocolError> {
        let (setup, mut got, mut bits) = match self.phase {
            BusPhase::Addressing { setup, got, bits } => (setup, got, bits),
            _ => (Setup::Read, 0, 0),
        };
        for &value in values {
            bits |= u64::from(value) << (8 * got);
            got += 1;
        }
        self.waits.latched(at);
        if got < setup.cycles() {
            self.phase = BusPhase::Addressing { setup, got, bits };
            return Ok(());
        }
        self.on_addressed(at, setup, bits)
    }

    /// An address latch.
    pub(crate) fn on_address(&mut self, at: Instant, value: u8) -> Result<(), ProtocolError> {
        if self.takes_addresses(1) {
            self.on_addresses(at, &[value])
        } else {
            Err(ProtocolError::UnexpectedAddress)
        }
    }

    /// The last address cycle of a command.
    #[inline]
    fn on_addressed(&mut self, at: Instant, setup: Setup, bits: u64) -> Result<(), ProtocolError> {
        let row = RowAddr((bits >> 16) as u32);
        self.phase = match setup {
            Setup::Read => {
                let target = self.address(at, row)?;
                self.admit(target, Gathers::Reads)?;
                BusPhase::Pending(PendingCommand::Read(target, self.column(bits)?))
            }
            Setup::Program | Setup::Copyback => {
                let target = self.address(at, row)?;
                let column = self.column(bits)?;
                self.on_program_address(at, target, column, setup == Setup::Copyback)?
            }
            Setup::ChangeReadColumnEnhanced => {
                // The register can be read in whatever mode the page was read.
                let target = self.target(row)?;
                self.need_ready(at, target.lun, self.command)?;
                self.name(target.lun);
                BusPhase::Pending(PendingCommand::Select(target, self.column(bits)?))
            }
            Setup::ChangeReadColumn => {
                let column = self.read_column(at, bits)?;
                BusPhase::Pending(PendingCommand::Column(column))
            }
            Setup::ChangeWriteColumn(loading) => {
                let column = self.column(bits)?;
                self.luns[usize::from(loading.target.lun)].select(None, column);
                self.waits.column_changed(at);
                BusPhase::Loading(loading)
            }
            Setup::Erase => {
                // The page bits of the row are ignored (ONFI 5.1, BLOCK ERASE).
                let row = RowAddr(bits as u32 & !((1 << self.config.geometry.page_bits()) - 1));
                let target = self.address(at, row)?;
                self.need_idle(at, target.lun, self.command)?;
                if self.luns[usize::from(target.lun)].suspended().is_some() {
                    return Err(ProtocolError::Busy { lun: target.lun, command: self.command });
                }
                self.admit(target, Gathers::Erases)?;
                BusPhase::Pending(PendingCommand::Erase(target))
            }
            Setup::Suspend(what) => self.on_suspend_address(at, RowAddr(bits as u32), what, false)?,
            Setup::Resume(what) => self.on_suspend_address(at, RowAddr(bits as u32), what, true)?,
            Setup::ResetLun => {
                self.reset_lun(at, RowAddr(bits as u32))?;
                BusPhase::Idle
            }
            Setup::OdtConfigure => {
                let lun = self.lun_of(bits)?;
                self.need_ready(at, lun, self.command)?;
                self.waits.addressed_for_data(at);
                BusPhase::OdtData { lun }
            }
            Setup::ZqCalibration { long } => {
                let lun = self.lun_of(bits)?;
                self.need_idle(at, lun, self.command)?;
                let times = self.config.timing;
                let takes = if long { times.zq_long } else { times.zq_short };
                let started = self.luns[usize::from(lun)].start_other(at, takes);
                self.name(lun);
                self.started(at, lun, started);
                BusPhase::Idle
            }
            Setup::StatusEnhanced => {
                let target = self.target(RowAddr(bits as u32))?;
                self.name(target.lun);
                self.view = View::Status(target.lun, Some(target.at.plane));
                BusPhase::Idle
            }
            Setup::SetFeatures => {
                self.waits.addressed_for_data(at);
                BusPhase::FeatureData { address: bits as u8 }
            }
            Setup::ReadId | Setup::ParameterPage | Setup::UniqueId | Setup::GetFeatures => {
                self.answer(at, setup, bits as u8)?;
                BusPhase::Idle
            }
        };
        Ok(())
    }

    /// Prepares the answer to a target command for data out.
    fn answer(&mut self, at: Instant, setup: Setup, address: u8) -> Result<(), ProtocolError> {
        let timing = self.config.timing;
        self.answer.clear();
        self.answer_at = 0;
        let busy = match setup {
            Setup::ReadId => {
                if !identify::read_id(&self.config, address, &mut self.answer) {
                    return Err(ProtocolError::UnexpectedAddress);
                }
                None
            }
            Setup::ParameterPage | Setup::UniqueId if address != 0 => {
                return Err(ProtocolError::UnexpectedAddress);
            }
            Setup::ParameterPage => {
                identify::read_parameter_page(&self.config, &mut self.answer);
                Some(timing.parameter)
            }
            Setup::UniqueId => {
                self.unique_id();
                Some(timing.parameter)
            }
            _ => {
                self.answer.extend_from_slice(&self.features.get(address));
                Some(timing.features)
            }
        };
        self.source = Source::Answer;
        self.answer_twice = matches!(setup, Setup::ReadId | Setup::GetFeatures);
        self.view = View::Data;
        if let Some(takes) = busy {
            self.waits.confirmed(at);
            self.all_busy(at, takes);
        }
        Ok(())
    }

    /// A row address of a command that needs its LUN ready.
    #[inline]
    fn address(&mut self, at: Instant, row: RowAddr) -> Result<Target, ProtocolError> {
        let mut target = self.target(row)?;
        let (page, cells) = (target.at.page.0, self.config.cells);
        match self.mode {
            Prefix::Plain => {}
            Prefix::Slc if page < slc_pages(self.config.geometry.pages_per_block, cells) => {
                target.at.slc = true;
            }
            Prefix::Slc => return Err(ProtocolError::Row { row }),
            Prefix::Page(of_line) if page % u16::from(cells.bits()) == u16::from(of_line) => {}
            Prefix::Page(_) => return Err(ProtocolError::UnexpectedCommand { command: self.command }),
        }
        self.need_ready(at, target.lun, self.command)?;
        if self.luns[usize::from(target.lun)].suspended().is_some_and(|s| s.works_on(target.at)) {
            return Err(ProtocolError::Busy { lun: target.lun, command: self.command });
        }
        self.name(target.lun);
        Ok(target)
    }

    /// A LUN address of one cycle.
    fn lun_of(&self, bits: u64) -> Result<u8, ProtocolError> {
        let lun = bits as u8;
        if usize::from(lun) < self.luns.len() { Ok(lun) } else { Err(ProtocolError::UnexpectedAddress) }
    }

    /// The LUN addressed last answers READ STATUS. The others release the bus, so that their registers
    /// need 06h–E0h first.
    #[inline]
    pub(crate) fn name(&mut self, lun: u8) {
        self.addressed = lun;
        if self.selected != Some(lun) {
            self.selected = None;
        }
    }

    #[inline]
    pub(crate) fn target(&self, row: RowAddr) -> Result<Target, ProtocolError> {
        let g = &self.config.geometry;
        let (lun, block, page) = self.rows.split(row);
        let inside =
            self.rows.fits(row) && lun < g.luns && block.0 < g.blocks_per_lun && page.0 < g.pages_per_block;
        if !inside {
            return Err(ProtocolError::Row { row });
        }
        let at = PageAddr { block, page: PageInBlock(page.0), plane: g.plane(block), slc: false };
        Ok(Target { lun, at })
    }

    #[inline]
    fn column(&self, bits: u64) -> Result<Column, ProtocolError> {
        let column = Column(bits as u16);
        if u32::from(column.0) < self.config.geometry.raw_page_bytes() {
            Ok(column)
        } else {
            Err(ProtocolError::Column { column })
        }
    }

    /// A column in what data out shows.
    fn read_column(&mut self, at: Instant, bits: u64) -> Result<Column, ProtocolError> {
        if self.source == Source::Answer {
            let column = Column(bits as u16);
            let inside = usize::from(column.0) < self.answer.len();
            return if inside { Ok(column) } else { Err(ProtocolError::Column { column }) };
        }
        if let Some(lun) = self.selected {
            self.need_ready(at, lun, self.command)?;
        }
        self.column(bits)
    }

    /// Settles a LUN: since when it has been ready, or an error if it is busy.
    #[inline]
    pub(crate) fn need_ready(&mut self, at: Instant, lun: u8, command: u8) -> Result<Instant, ProtocolError> {
        match self.luns[usize::from(lun)].settle(at) {
            Readiness::Busy => Err(ProtocolError::Busy { lun, command }),
            Readiness::Ready(since) | Readiness::Idle(since) => Ok(since),
        }
    }

    /// Settles a LUN; an error if it is busy or its array works.
    #[inline]
    pub(crate) fn need_idle(&mut self, at: Instant, lun: u8, command: u8) -> Result<(), ProtocolError> {
        match self.luns[usize::from(lun)].settle(at) {
            Readiness::Busy | Readiness::Ready(_) => Err(ProtocolError::Busy { lun, command }),
            Readiness::Idle(_) => Ok(()),
        }
    }

    /// An error if every LUN is busy: no row address could select one that takes the command.
    #[inline]
    fn need_some_ready(&mut self, at: Instant, command: u8) -> Result<(), ProtocolError> {
        if self.luns.iter().any(|lun| lun.ready_from(at) == at) {
            Ok(())
        } else {
            Err(ProtocolError::Busy { lun: self.addressed, command })
        }
    }
}
