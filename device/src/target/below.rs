//! The drive below a target, as the host's executor sees it.

use crate::configure::BuildError;
use crate::media::Media;
use aster_exec::{Exec, Handler, HandlerId};
use aster_parties::{BarRead, DriveFunction, FunctionSpec, ReadTag, TargetView};
use aster_ports::dram::Dram;
use aster_ports::link::{BadAddress, LinkOp, carry_out};
use aster_units::Instant;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What the host's side needs of the drive below: its function, its clock, and what it asks of its host.
pub(crate) trait Lower: DriveFunction + Sized + 'static {
    /// Resets the function now.
    fn reset_function(&self);
    /// The drive's clock.
    fn now(&self) -> Instant;
    /// When the drive has something to do next.
    fn next_deadline(&self) -> Option<Instant>;
    /// Does everything that is due by `until`.
    fn advance_to(&self, until: Instant);
    /// Moves the clock to `at`, before input from outside.
    fn catch_up(&self, at: Instant);
    /// Takes the next thing that the drive asks of its host.
    fn next_out(&self) -> Option<LinkOp>;
    /// Tells the drive how that went.
    fn done(&self, op: &LinkOp, result: Result<(), BadAddress>);
    /// Whether the function may read and write its host's memory.
    fn is_bus_master(&self) -> bool;
    /// Address and data of a vector's message, if it has one.
    fn message(&self, vector: u16) -> Option<(u64, u32)>;
    /// The memory that DMA moves data from and to.
    fn dram(&self) -> &Dram;
    /// Cuts the power now.
    fn power_off(self) -> Media;
}

/// Advances the drive on the host's clock. At each of the drive's deadlines an event of the host's executor
/// is due, which lets the drive do what it has to do at that instant, carries out its DMA in the target's
/// memory and delivers its interrupts.
pub(crate) struct Below<D: Lower> {
    exec: Exec,
    /// `None` only while it is without power.
    drive: RefCell<Option<Rc<D>>>,
    /// `None` before the target has started and after the host has lost its power.
    target: RefCell<Option<Rc<dyn TargetView>>>,
    handler: Cell<Option<HandlerId>>,
    /// The instants of the events that are scheduled, each earlier than the one before. The last one is
    /// never later than the drive's deadline.
    scheduled: RefCell<Vec<Instant>>,
}

/// How many events are usually scheduled: one, and one more for each time that the drive's deadline came
/// nearer.
const SCHEDULED: usize = 16;

impl<D: Lower> Below<D> {
    /// Puts a drive that has power below `exec`, whose clock shows the drive's time. Its function is reset,
    /// so that DMA of a host before doesn't reach this one's memory.
    pub(crate) fn start(exec: &Exec, drive: Rc<D>) -> Rc<Self> {
        drive.reset_function();
        let below = Rc::new(Below {
            exec: exec.clone(),
            drive: RefCell::new(Some(drive)),
            target: RefCell::new(None),
            handler: Cell::new(None),
            scheduled: RefCell::new(Vec::with_capacity(SCHEDULED)),
        });
        below.handler.set(Some(exec.register(below.clone())));
        below.arm();
        below
    }
    /// From now on the drive's DMA and interrupts go to `target`.
    pub(crate) fn serve(&self, target: &Rc<dyn TargetView>) {
        *self.target.borrow_mut() = Some(Rc::clone(target));
    }
    /// The host has lost its power.
    pub(crate) fn part(&self) {
        *self.target.borrow_mut() = None;
    }
    /// The drive.
    pub(crate) fn drive(&self) -> Rc<D> {
        Rc::clone(self.drive.borrow().as_ref().expect("the drive has power"))
    }
    /// Whether the target has an FTL of its own.
    pub(crate) fn has_ftl(&self) -> bool {
        self.target.borrow().as_ref().is_some_and(|target| target.has_ftl())
    }
    /// Whether the target goes on when the drive has lost its power.
    pub(crate) fn outlives_drive(&self) -> bool {
        self.target.borrow().as_ref().is_some_and(|target| target.outlives_drive())
    }
    /// Takes the drive's power away, and has `make` make it again of what is left. Asserts that nobody else
    /// holds the drive.
    ///
    /// # Errors
    /// Those of `make`. There is no drive then.
    pub(crate) fn restart(
        &self,
        make: impl FnOnce(Media) -> Result<D, BuildError>,
    ) -> Result<(), BuildError> {
        let drive = self.drive.take().expect("the drive has power");
        drive.catch_up(self.exec.now());
        let Ok(drive) = Rc::try_unwrap(drive) else { panic!("somebody still holds the drive without power") };
        *self.drive.borrow_mut() = Some(Rc::new(make(drive.power_off())?));
        let target = self.target.borrow().clone();
        if let Some(target) = target {
            target.drive_restarted();
        }
        self.arm();
        Ok(())
    }

    /// Makes sure that an event is scheduled for the drive's deadline or earlier.
    fn arm(&self) {
        let Some(at) = self.drive().next_deadline() else { return };
        let mut scheduled = self.scheduled.borrow_mut();
        if scheduled.last().is_none_or(|&next| at < next) {
            scheduled.push(at);
            drop(scheduled);
            self.exec.schedule(at, self.handler.get().expect("registered in start"), 0);
        }
    }

    /// Carries out what the drive asks of its host.
    fn carry(&self) {
        let drive = self.drive();
        while let Some(op) = drive.next_out() {
            let target = self.target.borrow().clone();
            match op {
                LinkOp::Dma { .. } => {
                    let result = match &target {
                        Some(target) if drive.is_bus_master() => {
                            carry_out(&op, &mut *target.memory().borrow_mut(), drive.dram())
                        }
                        _ => Err(BadAddress(0)),
                    };
                    drive.done(&op, result);
                }
                LinkOp::Interrupt { vector } => {
                    if let (Some(target), Some((address, data))) = (target, drive.message(vector)) {
                        target.interrupt(address, data);
                    }
                }
            }
        }
    }
}

impl<D: Lower> Handler for Below<D> {
    fn fire(&self, _: u64) {
        let now = self.exec.now();
        self.scheduled.borrow_mut().pop_if(|at| *at <= now);
        let drive = self.drive();
        while drive.next_deadline().is_some_and(|at| at <= now) {
            drive.advance_to(now);
            self.carry();
        }
        self.arm();
    }
}

impl<D: Lower> DriveFunction for Below<D> {
    fn spec(&self) -> FunctionSpec {
        self.drive().spec()
    }
    fn config_read(&self, offset: u16, size: u8) -> u32 {
        self.drive().catch_up(self.exec.now());
        let value = self.drive().config_read(offset, size);
        self.arm();
        value
    }
    fn config_write(&self, offset: u16, size: u8, value: u32) {
        self.drive().catch_up(self.exec.now());
        self.drive().config_write(offset, size, value);
        self.arm();
    }
    fn bar_read(&self, bar: u8, offset: u32, size: u8) -> u64 {
        self.drive().catch_up(self.exec.now());
        let value = self.drive().bar_read(bar, offset, size);
        self.arm();
        value
    }
    fn begin_bar_read(&self, bar: u8, offset: u32, size: u8) -> BarRead {
        self.drive().catch_up(self.exec.now());
        let begun = self.drive().begin_bar_read(bar, offset, size);
        self.arm();
        begun
    }
    fn take_bar_read(&self, tag: ReadTag) -> Option<u64> {
        self.drive().take_bar_read(tag)
    }
    fn bar_write(&self, bar: u8, offset: u32, size: u8, value: u64) {
        self.drive().catch_up(self.exec.now());
        self.drive().bar_write(bar, offset, size, value);
        self.arm();
    }
    fn fault(&self) -> Option<String> {
        self.drive().fault()
    }
}
