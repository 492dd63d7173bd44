//! Decoding of command and address latches (ONFI 5.1 §5): which cycle may follow which, and what the last one starts.

use crate::lun::PageAddr;
use crate::package::{NandPackage, Source};
use crate::phase::{Pending, Phase, Setup, Target, View};
use crate::{bus, identity};
use aster_ports::package::ProtocolError;
use aster_units::{Column, Instant, PageInBlock, RowAddr};
use aster_wire::onfi::{DataInterface, command};

impl NandPackage {
    /// A command latch.
    #[inline]
    pub(crate) fn on_command(&mut self, at: Instant, value: u8) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::Pending(pending) => return self.on_confirm(at, pending, value),
            Phase::Loading(target) if value == command::PROGRAM_CONFIRM => {
                return self.start_program(at, target);
            }
            Phase::Loading(target) if value == command::CHANGE_WRITE_COLUMN => {
                self.phase = Phase::Addressing { setup: Setup::ChangeWriteColumn(target), got: 0, bits: 0 };
                self.waits.latched(at);
                return Ok(());
            }
            _ => self.on_first_cycle(at, value)?,
        }
        self.command = value;
        self.waits.latched(at);
        Ok(())
    }

    /// A command's first cycle. An incomplete command before it is void, except that only status and reset may interrupt
    /// the loading of a page or the cycles of an address.
    fn on_first_cycle(&mut self, at: Instant, value: u8) -> Result<(), ProtocolError> {
        let between = matches!(self.phase, Phase::Idle | Phase::Returning);
        if !between && !command::accepted_while_busy(value) {
            return Err(ProtocolError::UnexpectedCommand { command: value });
        }
        let setup = match value {
            command::READ_STATUS => {
                self.view = View::Status(self.addressed);
                self.phase = Phase::Idle;
                return Ok(());
            }
            command::RESET => {
                self.reset(at);
                return Ok(());
            }
            command::READ => {
                self.need_some_ready(at, value)?;
                self.view = View::Data;
                self.phase = Phase::Returning;
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
            _ => return Err(ProtocolError::UnexpectedCommand { command: value }),
        };
        match setup {
            Setup::StatusEnhanced => {}
            Setup::ReadId
            | Setup::ParameterPage
            | Setup::UniqueId
            | Setup::GetFeatures
            | Setup::SetFeatures => {
                // Commands of the target need all its LUNs.
                for lun in 0..self.luns.len() as u8 {
                    self.need_ready(at, lun, value)?;
                }
            }
            _ => self.need_some_ready(at, value)?,
        }
        self.phase = Phase::Addressing { setup, got: 0, bits: 0 };
        Ok(())
    }

    /// The second cycle of a command whose address is complete. Status and reset may come instead.
    fn on_confirm(&mut self, at: Instant, pending: Pending, value: u8) -> Result<(), ProtocolError> {
        match (pending, value) {
            (Pending::Read(target, column), command::READ_CONFIRM) => {
                let lun = &mut self.luns[usize::from(target.lun)];
                lun.column = u32::from(column.0);
                let started = lun.start_read(at, target.at);
                self.selected = Some(target.lun);
                self.source = Source::Page;
                self.started(at, target.lun, started);
            }
            (Pending::Column(column), command::CHANGE_READ_COLUMN_CONFIRM) => {
                match (self.source, self.selected) {
                    (Source::Answer, _) => self.answer_at = usize::from(column.0),
                    (_, Some(lun)) => self.luns[usize::from(lun)].column = u32::from(column.0),
                    (_, None) => return Err(ProtocolError::UnexpectedCommand { command: value }),
                }
                self.view = View::Data;
                self.phase = Phase::Idle;
                self.waits.latched(at);
                self.waits.column_changed(at);
            }
            (Pending::Select(target, column), command::CHANGE_READ_COLUMN_CONFIRM) => {
                let lun = &mut self.luns[usize::from(target.lun)];
                lun.plane = target.at.plane;
                lun.column = u32::from(column.0);
                self.selected = Some(target.lun);
                self.source = Source::Page;
                self.view = View::Data;
                self.phase = Phase::Idle;
                self.waits.latched(at);
                self.waits.column_changed(at);
            }
            (Pending::Erase(lun, block), command::ERASE_CONFIRM) => {
                let started = self.luns[usize::from(lun)].start_erase(at, block);
                self.started(at, lun, started);
            }
            (_, other) => {
                self.on_first_cycle(at, other)?;
                self.command = other;
                self.waits.latched(at);
            }
        }
        Ok(())
    }

    fn start_program(&mut self, at: Instant, target: Target) -> Result<(), ProtocolError> {
        let started = self.luns[usize::from(target.lun)].start_program(at, target.at);
        self.started(at, target.lun, started);
        Ok(())
    }

    /// A LUN has gone busy with the latch at `at`.
    #[inline]
    fn started(&mut self, at: Instant, lun: u8, started: (crate::lun::Work, aster_units::Duration)) {
        self.phase = Phase::Idle;
        self.view = View::Data;
        self.waits.latched(at);
        self.waits.confirmed(at);
        self.report(at, lun, started);
    }

    fn reset(&mut self, at: Instant) {
        for lun in 0..self.luns.len() {
            let started = self.luns[lun].reset(at);
            self.report(at, lun as u8, started);
        }
        self.phase = Phase::Idle;
        self.view = View::Data;
        self.source = Source::Nothing;
        self.selected = (self.luns.len() == 1).then_some(0);
        self.waits.confirmed(at);
        if self.waits.mode() != bus::data_mode(DataInterface::Sdr) || self.features.timing_mode() != 0 {
            self.waits.switch(&self.config.bus.power_on(), at);
        }
        self.features.reset();
    }

    /// Whether `count` more address cycles belong to the command latched last.
    #[inline]
    pub(crate) fn takes_addresses(&self, count: usize) -> bool {
        let left = match self.phase {
            Phase::Addressing { setup, got, .. } => setup.cycles() - got,
            Phase::Returning => Setup::Read.cycles(),
            _ => 0,
        };
        count > 0 && count <= usize::from(left)
    }

    /// Address latches in a row, as many as [`NandPackage::takes_addresses`] allows; the last one at `at`.
    #[inline]
    pub(crate) fn on_addresses(&mut self, at: Instant, values: &[u8]) -> Result<(), ProtocolError> {
        let (setup, mut got, mut bits) = match self.phase {
            Phase::Addressing { setup, got, bits } => (setup, got, bits),
            _ => (Setup::Read, 0, 0),
        };
        for &value in values {
            bits |= u64::from(value) << (8 * got);
            got += 1;
        }
        self.waits.latched(at);
        if got < setup.cycles() {
            self.phase = Phase::Addressing { setup, got, bits };
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
                Phase::Pending(Pending::Read(target, self.column(bits)?))
            }
            Setup::Program => {
                let target = self.address(at, row)?;
                let column = self.column(bits)?;
                let lun = &mut self.luns[usize::from(target.lun)];
                lun.column = u32::from(column.0);
                lun.register_mut(target.at.plane).clear();
                self.waits.addressed_for_data(at);
                Phase::Loading(target)
            }
            Setup::ChangeReadColumnEnhanced => {
                let target = self.address(at, row)?;
                Phase::Pending(Pending::Select(target, self.column(bits)?))
            }
            Setup::ChangeReadColumn => {
                let column = self.read_column(at, bits)?;
                Phase::Pending(Pending::Column(column))
            }
            Setup::ChangeWriteColumn(target) => {
                let column = self.column(bits)?;
                self.luns[usize::from(target.lun)].column = u32::from(column.0);
                self.waits.column_changed(at);
                Phase::Loading(target)
            }
            Setup::Erase => {
                // The page bits of the row are not looked at (ONFI 5.1, BLOCK ERASE).
                let row = RowAddr(bits as u32 & !((1 << self.config.geometry.page_bits()) - 1));
                let target = self.address(at, row)?;
                Phase::Pending(Pending::Erase(target.lun, target.at.block))
            }
            Setup::StatusEnhanced => {
                let target = self.target(RowAddr(bits as u32))?;
                self.name(target.lun);
                self.view = View::Status(target.lun);
                Phase::Idle
            }
            Setup::SetFeatures => {
                self.waits.addressed_for_data(at);
                Phase::FeatureData { address: bits as u8 }
            }
            Setup::ReadId | Setup::ParameterPage | Setup::UniqueId | Setup::GetFeatures => {
                self.answer(at, setup, bits as u8)?;
                Phase::Idle
            }
        };
        Ok(())
    }

    /// Puts the answer of a target command up for data out.
    fn answer(&mut self, at: Instant, setup: Setup, address: u8) -> Result<(), ProtocolError> {
        let timing = self.config.timing;
        self.answer.clear();
        self.answer_at = 0;
        let busy = match setup {
            Setup::ReadId => {
                if !identity::read_id(&self.config, address, &mut self.answer) {
                    return Err(ProtocolError::UnexpectedAddress);
                }
                None
            }
            Setup::ParameterPage | Setup::UniqueId if address != 0 => {
                return Err(ProtocolError::UnexpectedAddress);
            }
            Setup::ParameterPage => {
                identity::read_parameter_page(&self.config, &mut self.answer);
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
        let target = self.target(row)?;
        self.need_ready(at, target.lun, self.command)?;
        self.name(target.lun);
        Ok(target)
    }

    /// The LUN named last answers READ STATUS; the others let go of the bus, so that their registers need 06h–E0h first.
    #[inline]
    fn name(&mut self, lun: u8) {
        self.addressed = lun;
        if self.selected != Some(lun) {
            self.selected = None;
        }
    }

    #[inline]
    fn target(&self, row: RowAddr) -> Result<Target, ProtocolError> {
        let g = &self.config.geometry;
        let (lun, block, page) = g.split_row(row);
        let inside = row.0 >> (g.lun_shift() + g.lun_bits()) == 0
            && lun < g.luns
            && block.0 < g.blocks_per_lun
            && page.0 < g.pages_per_block;
        if !inside {
            return Err(ProtocolError::Row { row });
        }
        Ok(Target { lun, at: PageAddr { block, page: PageInBlock(page.0), plane: g.plane(block) } })
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

    /// A column of what data out shows.
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

    /// Settles a LUN and objects when it is busy.
    #[inline]
    pub(crate) fn need_ready(&mut self, at: Instant, lun: u8, command: u8) -> Result<(), ProtocolError> {
        let state = &mut self.luns[usize::from(lun)];
        state.settle(at);
        if state.is_busy() { Err(ProtocolError::Busy { lun, command }) } else { Ok(()) }
    }

    /// Objects when every LUN is busy: no row address could name one that takes the command.
    #[inline]
    fn need_some_ready(&mut self, at: Instant, command: u8) -> Result<(), ProtocolError> {
        if self.luns.iter().any(|lun| lun.ready(at)) {
            Ok(())
        } else {
            Err(ProtocolError::Busy { lun: self.addressed, command })
        }
    }
}
