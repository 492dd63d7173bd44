//! What every part of the FTL runs on: the core and its costs, statistics, events, and waiting.

use crate::terms::buffers::BufferLayout;
use crate::terms::config::FtlConfig;
use crate::terms::units::UnitShape;
use aster_events::{Event, Function, Recorder, Wait};
use aster_exec::{Core, Exec, WaitQueue};
use aster_parties::{DriveState, TranslationStats};
use aster_units::{Geometry, Restriction, RowFormat, Upa};
use core::cell::{Cell, RefCell};
use core::future::Future;
use core::pin::pin;

/// The number that events use for no data buffer entry in particular.
pub(crate) const ANY_BUFFER: u32 = u32::MAX;

/// The firmware's core, the drive's configuration and state, and the statistics and events of its work.
pub(crate) struct Runtime {
    /// The core that the FTL runs on.
    pub(crate) core: Core,
    /// Constant, like the next four, which are derived from it.
    pub(crate) config: FtlConfig,
    pub(crate) geometry: Geometry,
    pub(crate) restriction: Restriction,
    /// The rows of the packages.
    pub(crate) rows: RowFormat,
    pub(crate) units: UnitShape,
    pub(crate) buffers: BufferLayout,
    pub(crate) recorder: Recorder,
    stats: RefCell<TranslationStats>,
    boot_waiters: WaitQueue,
}

impl Runtime {
    /// Nothing has been done yet.
    pub(crate) fn new(core: &Core, config: FtlConfig, recorder: Recorder) -> Self {
        Runtime {
            core: core.clone(),
            config,
            geometry: config.geometry,
            restriction: config.restriction(),
            rows: config.restriction().array.row_format(),
            units: config.units(),
            buffers: config.buffers(),
            recorder,
            stats: RefCell::default(),
            // Intake, the scan, and garbage collection of each LUN.
            boot_waiters: WaitQueue::with_capacity(config.geometry.total_luns() as usize + 2),
        }
    }
    pub(crate) fn exec(&self) -> &Exec {
        self.core.exec()
    }
    /// A unit's place as events number it: planes are counted as parts of their LUNs.
    pub(crate) fn told(&self, at: Upa) -> Upa {
        let (page, slot) = (self.units.page_of(at), self.units.slot_of(at));
        self.units.at(self.config.planes().page_in_lun(page), slot)
    }
    #[inline]
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        if self.recorder.is_on() {
            self.recorder.emit(self.core.now(), event);
        }
    }
    /// Spends `cycles` of the core on `function`.
    #[inline]
    pub(crate) fn spend(&self, function: Function, cycles: u64) {
        if cycles == 0 {
            return;
        }
        self.recorder.account(function, || self.core.stands(), || self.core.charge(cycles));
    }
    /// The number that events use for the running firmware task.
    pub(crate) fn task(&self) -> u32 {
        self.exec().current().number()
    }
    #[inline]
    pub(crate) fn count(&self, change: impl FnOnce(&mut TranslationStats)) {
        change(&mut self.stats.borrow_mut());
    }
    /// What has been done so far.
    #[inline]
    pub(crate) fn stats(&self) -> TranslationStats {
        *self.stats.borrow()
    }
    /// What the drive can do.
    #[inline]
    pub(crate) fn state(&self) -> DriveState {
        self.stats.borrow().state
    }
    /// Waits until the drive has booted or has failed to.
    pub(crate) async fn booted(&self) {
        self.boot_waiters.wait(self.exec(), || (self.state() != DriveState::Booting).then_some(())).await;
    }
    /// The state after boot has been set: wakes the tasks that wait for it.
    pub(crate) fn end_boot(&self) {
        self.boot_waiters.wake_all(self.exec());
    }

    // ---- waiting, and reporting what for ----

    /// Waits for one wake of `queue`; the caller then checks again.
    pub(crate) async fn wait_once(&self, queue: &WaitQueue, reason: Wait) {
        self.waiting(reason, self.woken(queue)).await;
    }
    /// One wake of `queue`.
    pub(crate) async fn woken(&self, queue: &WaitQueue) {
        let mut waited = false;
        queue.wait(self.exec(), || core::mem::replace(&mut waited, true).then_some(())).await;
    }

    /// Awaits `future`, and reports what the task waits for unless it is ready at once.
    pub(crate) async fn waiting<T>(&self, reason: Wait, future: impl Future<Output = T>) -> T {
        self.waiting_for(reason, ANY_BUFFER, future).await
    }
    /// As [`Runtime::waiting`], for data buffer entry `buffer`; [`ANY_BUFFER`] for none in particular.
    pub(crate) async fn waiting_for<T>(
        &self,
        reason: Wait,
        buffer: u32,
        future: impl Future<Output = T>,
    ) -> T {
        let told = Cell::new(false);
        let started = || {
            told.set(true);
            self.emit(|| Event::WaitStarted { task: self.task(), reason: reason.number(), buffer });
        };
        // Pinned here, so that it is moved only once: futures are large.
        let mut future = pin!(future);
        let value = self.exec().before_waiting(future.as_mut(), started).await;
        if told.get() {
            self.emit(|| Event::WaitEnded { task: self.task() });
        }
        value
    }
}
