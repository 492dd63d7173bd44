//! Task scheduler: which request a LUN's worker takes next, and when its operation may start (B17).

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::{Exec, WaitQueue};
use aster_ports::flash::FlashOp;
use aster_units::LunIndex;
use core::cell::{Cell, RefCell};

/// An operation that is about to start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlashTask {
    /// The LUN that it is for.
    pub lun: LunIndex,
    /// The package: chip enables numbered over the drive. LUNs behind one chip enable share a package.
    pub package: u32,
    /// What it does.
    pub phase: FlashOp,
}

/// How many operations are running.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Running {
    /// On the drive.
    pub drive: u32,
    /// In the package asked about.
    pub package: u32,
}

/// Decides what runs. One value serves all LUNs of a drive.
pub trait TaskScheduler {
    /// A LUN is idle: returns the index of the request to take, among at least two phases given oldest first.
    /// Programs and erases of a LUN must keep their order, since the pages of a block are programmed in
    /// order.
    fn choose(&mut self, lun: LunIndex, waiting: &mut dyn Iterator<Item = FlashOp>) -> usize;

    /// Whether `task` may start now. If not, the worker asks again whenever an operation has ended. It asks
    /// for each of the operations that belong together, which start in one moment; while they wait, no other
    /// operation starts.
    fn admits(&mut self, _task: &FlashTask, _running: Running) -> bool {
        true
    }
}

/// A drive's task scheduler with the counts of running operations.
pub struct Tasks {
    scheduler: RefCell<Box<dyn TaskScheduler>>,
    in_packages: RefCell<Vec<u32>>,
    /// Packages that somebody wants to have alone.
    claimed: RefCell<Vec<bool>>,
    in_drive: Cell<u32>,
    refused: WaitQueue,
    /// Groups that wait until all their operations may start. No other operation starts before.
    groups: Cell<u32>,
}

impl Tasks {
    /// For a drive of `packages` packages.
    pub fn new(scheduler: Box<dyn TaskScheduler>, packages: u32) -> Self {
        Tasks {
            scheduler: RefCell::new(scheduler),
            in_packages: RefCell::new(vec![0; packages as usize]),
            claimed: RefCell::new(vec![false; packages as usize]),
            in_drive: Cell::new(0),
            refused: WaitQueue::default(),
            groups: Cell::new(0),
        }
    }

    /// The index of the request that LUN takes next.
    pub fn choose(&self, lun: LunIndex, waiting: &mut dyn Iterator<Item = FlashOp>) -> usize {
        self.scheduler.borrow_mut().choose(lun, waiting)
    }

    /// Waits until `task` may start, and counts it as running.
    pub async fn admitted(&self, exec: &Exec, task: &FlashTask) {
        if !self.admit(task) {
            self.refused.wait(exec, || self.admit(task).then_some(())).await;
        }
    }

    /// Waits until operations that belong together may start, all in one moment, and counts them as running.
    /// If some of them were counted while they wait for the others, two groups could wait for each other.
    pub async fn admitted_together(&self, exec: &Exec, tasks: &[FlashTask]) {
        if self.admit_together(tasks) {
            return;
        }
        self.groups.set(self.groups.get() + 1);
        self.refused.wait(exec, || self.admit_together(tasks).then_some(())).await;
        self.groups.set(self.groups.get() - 1);
        self.refused.wake_all(exec);
    }
    fn admit_together(&self, tasks: &[FlashTask]) -> bool {
        let is_idle = self.in_drive.get() == 0;
        let admitted = tasks.iter().take_while(|task| self.count_in(task, is_idle)).count();
        if admitted < tasks.len() {
            tasks[..admitted].iter().for_each(|task| self.count_out(task));
        }
        admitted == tasks.len()
    }

    /// Waits until no other operation runs in the task's package, and counts it as running. None starts there
    /// before [`Tasks::ended_alone`]. The task must not be counted yet.
    ///
    /// It doesn't wait for groups: a group may wait for this package.
    pub async fn admitted_alone(&self, exec: &Exec, task: &FlashTask) {
        let package = task.package as usize;
        let claim = || !core::mem::replace(&mut self.claimed.borrow_mut()[package], true);
        self.refused.wait(exec, || claim().then_some(())).await;
        let starts = || {
            let is_alone = self.in_packages.borrow()[package] == 0;
            is_alone && self.count_admitted(task, self.in_drive.get() == 0)
        };
        self.refused.wait(exec, || starts().then_some(())).await;
    }
    /// `task`, which had its package alone, has ended.
    pub fn ended_alone(&self, exec: &Exec, task: &FlashTask) {
        self.claimed.borrow_mut()[task.package as usize] = false;
        self.ended(exec, task);
    }

    /// Counts `task` as running if it may start now.
    #[inline]
    pub fn admit(&self, task: &FlashTask) -> bool {
        self.groups.get() == 0 && self.count_in(task, self.in_drive.get() == 0)
    }

    /// Counts `task` as running if the scheduler admits it. If no operation runs, none will end and cause
    /// another question, so this one must start.
    #[inline]
    fn count_in(&self, task: &FlashTask, is_idle: bool) -> bool {
        !self.claimed.borrow()[task.package as usize] && self.count_admitted(task, is_idle)
    }
    /// As [`Tasks::count_in`], whoever has claimed the package.
    #[inline]
    fn count_admitted(&self, task: &FlashTask, is_idle: bool) -> bool {
        let in_package = &mut self.in_packages.borrow_mut()[task.package as usize];
        let running = Running { drive: self.in_drive.get(), package: *in_package };
        let admitted = is_idle || self.scheduler.borrow_mut().admits(task, running);
        if admitted {
            *in_package += 1;
            self.in_drive.set(running.drive + 1);
        }
        admitted
    }
    #[inline]
    fn count_out(&self, task: &FlashTask) {
        self.in_packages.borrow_mut()[task.package as usize] -= 1;
        self.in_drive.set(self.in_drive.get() - 1);
    }

    /// `task` has ended.
    #[inline]
    pub fn ended(&self, exec: &Exec, task: &FlashTask) {
        self.count_out(task);
        self.refused.wake_all(exec);
    }
}
