//! The controllers of all LUNs, and where the workers meet whose requests belong together.

use crate::retry::{Levels, RetryConfig, RetryStats};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::{Exec, WaitCell};
use aster_ports::flash::{Tag, Together};
use aster_units::{Geometry, LunIndex};
use core::cell::Cell;

/// A LUN's controller, and its worker's place when it waits for those of other lanes.
pub(crate) struct Seat<B> {
    pub lun: LunIndex,
    /// Its chip enable, numbered over the drive.
    pub package: u32,
    pub controller: B,
    /// Its read levels.
    pub levels: Levels,
    /// The request with which the worker has come, until its group is over.
    arrived: Cell<Option<Tag>>,
    over: WaitCell,
}

/// What suspending has done, summed over all LUNs.
#[derive(Debug, Default)]
pub(crate) struct SuspendStats {
    /// Suspended programs and erases; one that was suspended twice counts twice.
    pub suspended: Cell<u64>,
    /// Reads that were carried out meanwhile.
    pub reads: Cell<u64>,
}

/// What carries out the requests of each LUN; shared by all workers.
pub struct Controllers<B> {
    seats: Box<[Option<Seat<B>>]>,
    pub(crate) config: WorkersConfig,
    pub(crate) stats: RetryStats,
    pub(crate) suspends: SuspendStats,
}

/// What workers do beside carrying out one request after the other.
#[derive(Clone, Copy, Debug)]
pub struct WorkersConfig {
    /// How they repeat reads.
    pub retries: RetryConfig,
    /// How often they suspend a program or an erase for reads that wait; 0 for never.
    pub suspends: u8,
}

impl WorkersConfig {
    /// Nothing.
    pub fn plain(geometry: Geometry) -> Self {
        WorkersConfig { retries: RetryConfig::never(geometry), suspends: 0 }
    }
}

impl<B> Controllers<B> {
    /// Of LUNs with their chip enables, numbered over the drive, and their controllers.
    pub fn new(of_luns: impl Iterator<Item = (LunIndex, u32, B)>, config: WorkersConfig) -> Rc<Self> {
        let mut seats = Vec::new();
        for (lun, package, controller) in of_luns {
            if seats.len() <= lun.index() {
                seats.resize_with(lun.index() + 1, || None);
            }
            let (arrived, over) = (Cell::default(), WaitCell::default());
            let levels = Levels::new(&config.retries);
            seats[lun.index()] = Some(Seat { lun, package, controller, levels, arrived, over });
        }
        let seats = seats.into_boxed_slice();
        Rc::new(Controllers {
            seats,
            config,
            stats: RetryStats::default(),
            suspends: SuspendStats::default(),
        })
    }
    #[inline]
    pub(crate) fn seat(&self, lun: LunIndex) -> &Seat<B> {
        self.seats[lun.index()].as_ref().expect("a LUN of the drive")
    }

    /// The worker of `lun` has come with one of a group's requests. Returns whether it is the last one, who
    /// carries out the group.
    pub(crate) fn arrive(&self, lun: LunIndex, tag: Tag, group: &Together) -> bool {
        let seat = self.seat(lun);
        assert!(seat.arrived.replace(Some(tag)).is_none(), "a worker waits for one group at a time");
        group.members().iter().all(|(tag, member)| self.seat(member.lun).arrived.get() == Some(*tag))
    }
    /// Waits until the group with which the worker of `lun` has come is over.
    pub(crate) async fn over(&self, exec: &Exec, lun: LunIndex) {
        let seat = self.seat(lun);
        seat.over.wait(exec, || seat.arrived.get().is_none().then_some(())).await;
    }
    /// The group is over: its workers go on.
    pub(crate) fn release(&self, exec: &Exec, group: &Together) {
        for (_, member) in group.members() {
            let seat = self.seat(member.lun);
            seat.arrived.set(None);
            seat.over.wake(exec);
        }
    }
}
