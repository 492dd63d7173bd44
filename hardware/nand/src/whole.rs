//! Whole commands in one call: what the latches of READ, of CHANGE READ COLUMN and of READ STATUS do, if
//! nothing is in their way. Each function looks first and changes nothing when it declines; the controller
//! then goes latch by latch, and finds what is wrong, if anything is.

use crate::lun::Readiness;
use crate::package::{NandPackage, Source};
use crate::phase::{BusPhase, Prefix, View};
use aster_ports::package::{CommandTimes, StatusTimes};
use aster_units::{Column, RowAddr};
use aster_wire::onfi::command;

impl NandPackage {
    /// Whether a first cycle at `at.first` is legal, and so are the latches after it: no wait counts from
    /// those before.
    #[inline]
    fn may_begin(&self, at: &CommandTimes) -> bool {
        let is_between = matches!(self.phase, BusPhase::Idle | BusPhase::Returning);
        is_between && self.prefix == Prefix::Plain && self.waits.before_latch(at.first).is_ok()
    }

    /// 00h, column and row, 30h.
    #[inline]
    pub(crate) fn read_at_once(&mut self, at: &CommandTimes, addresses: &[u8]) -> bool {
        let &[low, high, a, b, c] = addresses else { return false };
        let column = Column(u16::from_le_bytes([low, high]));
        let Ok(target) = self.target(RowAddr(u32::from_le_bytes([a, b, c, 0]))) else { return false };
        let lun = &mut self.luns[usize::from(target.lun)];
        // An array that is idle at the first cycle stays so until the last one.
        let is_free = matches!(lun.settle(at.first), Readiness::Idle(_)) && !lun.collects();
        if !is_free
            || lun.suspended().is_some()
            || u32::from(column.0) >= self.config.geometry.raw_page_bytes()
        {
            return false;
        }
        let started = lun.start_read(at.second, target.at, column, false);
        self.mode = Prefix::Plain;
        self.command = command::READ;
        self.addressed = target.lun;
        self.selected = Some(target.lun);
        self.source = Source::Page;
        self.started(at.second, target.lun, started);
        true
    }

    /// 05h, column, E0h, for the register that is selected.
    #[inline]
    pub(crate) fn change_column_at_once(&mut self, at: &CommandTimes, addresses: &[u8]) -> bool {
        let (&[low, high], Some(selected)) = (addresses, self.selected) else { return false };
        let column = Column(u16::from_le_bytes([low, high]));
        let lun = &mut self.luns[usize::from(selected)];
        if self.source == Source::Answer
            || u32::from(column.0) >= self.config.geometry.raw_page_bytes()
            || lun.settle(at.first) == Readiness::Busy
        {
            return false;
        }
        lun.select(None, column);
        self.mode = Prefix::Plain;
        self.command = command::CHANGE_READ_COLUMN;
        self.column_changed(at.second);
        true
    }

    /// A command of three steps, as in [`Package::command`](aster_ports::package::Package::command).
    #[inline]
    pub(crate) fn command_at_once(
        &mut self,
        at: &CommandTimes,
        first: u8,
        addresses: &[u8],
        second: u8,
    ) -> bool {
        if !self.may_begin(at) {
            return false;
        }
        match (first, second) {
            (command::CHANGE_READ_COLUMN, command::CHANGE_READ_COLUMN_CONFIRM) => {
                self.change_column_at_once(at, addresses)
            }
            (command::READ, command::READ_CONFIRM) => self.read_at_once(at, addresses),
            _ => false,
        }
    }

    /// 70h between CE# low and CE# high, as in
    /// [`Package::read_status`](aster_ports::package::Package::read_status).
    #[inline]
    pub(crate) fn status_at_once(&mut self, at: &StatusTimes) -> Option<u8> {
        let is_between = matches!(self.phase, BusPhase::Idle | BusPhase::Returning);
        if !is_between || at.burst.mode != self.waits.mode() || !self.waits.allow_status(at) {
            return None;
        }
        self.mode = core::mem::replace(&mut self.prefix, Prefix::Plain);
        self.command = command::READ_STATUS;
        self.view = View::Status(self.addressed, None);
        self.phase = BusPhase::Idle;
        let status = self.luns[usize::from(self.addressed)].status(at.burst.first, None).0;
        self.waits.latched(at.command);
        self.waits.data_out(at.burst.last);
        self.waits.released(at.released);
        Some(status)
    }
}
