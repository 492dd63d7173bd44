//! The bits of a LUN's status register (ONFI 5.1 §5.13), and since when they are so.

use aster_units::Instant;
use aster_wire::onfi::Status;

/// RDY with the time at which it rises, and the results of the last two operations.
pub(super) struct StatusRegister {
    /// RDY is low: the LUN takes no command before `ready_at`.
    busy: bool,
    ready_at: Instant,
    /// FAIL: planes whose last program or erase failed.
    failed: u8,
    /// FAILC: planes whose program before that failed.
    failed_before: u8,
}

impl StatusRegister {
    /// A LUN that is ready and has done nothing.
    pub const fn new() -> Self {
        StatusRegister { busy: false, ready_at: Instant::ZERO, failed: 0, failed_before: 0 }
    }

    #[inline]
    pub fn is_busy(&self) -> bool {
        self.busy
    }
    /// When the LUN takes commands, at `at` or later.
    #[inline]
    pub fn ready_from(&self, at: Instant) -> Instant {
        if self.busy { self.ready_at.max(at) } else { at }
    }
    /// When RDY rises, or has risen after the last operation.
    #[inline]
    pub fn ready_at(&self) -> Instant {
        self.ready_at
    }
    /// When RDY rises; [`Instant::MAX`] if it is high.
    #[inline]
    pub fn due(&self) -> Instant {
        if self.busy { self.ready_at } else { Instant::MAX }
    }
    /// Whether RDY is low, but has risen by `at`.
    #[inline]
    pub fn is_over(&self, at: Instant) -> bool {
        self.busy && at >= self.ready_at
    }

    /// RDY is low until `until`.
    #[inline]
    pub fn go_busy(&mut self, until: Instant) {
        (self.busy, self.ready_at) = (true, until);
    }
    /// RDY is high.
    #[inline]
    pub fn go_ready(&mut self) {
        self.busy = false;
    }

    /// An operation begins whose result comes next; those before it no longer count.
    #[inline]
    pub fn forget_results(&mut self) {
        (self.failed, self.failed_before) = (0, 0);
    }
    /// The next program of a sequence begins: FAILC has the result of the one before it.
    pub fn next_result(&mut self) {
        (self.failed, self.failed_before) = (0, self.failed);
    }
    /// These planes have failed.
    #[inline]
    pub fn fail(&mut self, planes: u8) {
        self.failed |= planes;
    }

    /// The status byte for `planes`. `works` and `suspended` say whether the array works, and whether
    /// something is suspended.
    #[inline]
    pub fn byte(&self, planes: u8, works: bool, suspended: bool) -> Status {
        if self.busy {
            return Status::BUSY;
        }
        // FAIL is valid only for work that has ended.
        Status::IDLE
            .with_array_ready(!works)
            .with_fail(self.failed & planes != 0 && !works)
            .with_fail_previous(self.failed_before & planes != 0)
            .with_command_specific(suspended)
    }
}
