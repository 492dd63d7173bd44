//! One LUN: its registers, and what its array is doing.
//!
//! The array's effects settle when the LUN is next looked at, at or after the time at which it became ready: the calls
//! carry the time, the LUN owns no clock.

use crate::register::{Holds, Register};
use crate::store::Die;
use crate::timing::DieTiming;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_ports::layout::PageLayout;
use aster_units::{BlockAddr, Content, Duration, Instant, PageInBlock};
use aster_wire::onfi::Status;
use core::cell::RefCell;

/// A page of a LUN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageAddr {
    pub block: BlockAddr,
    pub page: PageInBlock,
    pub plane: u8,
}

/// What the array is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// Nothing.
    Idle,
    /// A page goes to its plane's register.
    Read(PageAddr),
    /// Its plane's register goes to a page.
    Program(PageAddr),
    /// A block is being erased.
    Erase(BlockAddr),
    /// Reset, features, parameter page: nothing that touches cells.
    Other,
}

impl Work {
    /// The kind as the event `ArrayBusy` counts it.
    pub const fn kind(self) -> u8 {
        match self {
            Work::Read(_) => 0,
            Work::Program(_) => 1,
            Work::Erase(_) => 2,
            Work::Idle | Work::Other => 3,
        }
    }
}

/// The cells of a LUN, shared between its package and the inspection handle.
pub(crate) type SharedDie = Rc<RefCell<Die>>;

/// A LUN's state machine.
pub(crate) struct Lun {
    busy_until: Instant,
    work: Work,
    failed: bool,
    /// The plane whose register data out reads.
    pub plane: u8,
    /// The next column of data in and out.
    pub column: u32,
    registers: Box<[Register]>,
    die: SharedDie,
    timing: DieTiming,
}

impl Lun {
    /// A LUN as it is after power-on.
    pub fn new(die: SharedDie, timing: DieTiming, planes: u8, layout: &PageLayout, content: Content) -> Self {
        Lun {
            busy_until: Instant::ZERO,
            work: Work::Idle,
            failed: false,
            plane: 0,
            column: 0,
            registers: (0..planes).map(|_| Register::new(layout, content)).collect(),
            die,
            timing,
        }
    }

    /// Carries out what the array has finished by `at`.
    #[inline]
    pub fn settle(&mut self, at: Instant) {
        if self.work != Work::Idle && at >= self.busy_until {
            self.finish();
        }
    }

    fn finish(&mut self) {
        let mut die = self.die.borrow_mut();
        match self.work {
            Work::Idle | Work::Other => {}
            Work::Read(at) => die.load(at.block, at.page, &mut self.registers[usize::from(at.plane)]),
            Work::Program(at) => {
                let register = &mut self.registers[usize::from(at.plane)];
                self.failed = !die.program(at.block, at.page, register, false);
                register.invalidate();
            }
            Work::Erase(block) => self.failed = !die.erase(block),
        }
        self.work = Work::Idle;
    }

    /// True while the array works; settle first.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.work != Work::Idle
    }
    /// True at `at` unless the array works.
    #[inline]
    pub fn ready(&self, at: Instant) -> bool {
        self.work == Work::Idle || at >= self.busy_until
    }
    /// When the last operation ended, once it has.
    #[inline]
    pub fn ready_since(&self) -> Instant {
        self.busy_until
    }
    /// The status byte; settle first.
    #[inline]
    pub fn status(&self) -> Status {
        if self.is_busy() { Status::BUSY } else { Status::IDLE.with_fail(self.failed) }
    }

    /// Sets the array to work from `at` on and says for how long. A LUN that a test has forced never becomes ready.
    #[inline]
    fn start(&mut self, at: Instant, work: Work, takes: Duration) -> Duration {
        self.work = work;
        self.failed = false;
        self.busy_until = if self.die.borrow().stuck { Instant::MAX } else { at + takes };
        takes
    }
    #[inline]
    pub fn start_read(&mut self, at: Instant, page: PageAddr) -> (Work, Duration) {
        let work = Work::Read(page);
        self.plane = page.plane;
        let takes = self.timing.read(page.block, page.page);
        (work, self.start(at, work, takes))
    }
    #[inline]
    pub fn start_program(&mut self, at: Instant, page: PageAddr) -> (Work, Duration) {
        let work = Work::Program(page);
        let takes = self.timing.program(page.block, page.page);
        (work, self.start(at, work, takes))
    }
    #[inline]
    pub fn start_erase(&mut self, at: Instant, block: BlockAddr) -> (Work, Duration) {
        let work = Work::Erase(block);
        let takes = self.timing.erase(block);
        (work, self.start(at, work, takes))
    }
    pub fn start_other(&mut self, at: Instant, takes: Duration) -> (Work, Duration) {
        (Work::Other, self.start(at, Work::Other, takes))
    }

    /// Stops the array at `at`, whatever it does: a program leaves a torn page, an erase a half-erased block.
    pub fn cut(&mut self, at: Instant) {
        self.settle(at);
        let mut die = self.die.borrow_mut();
        match self.work {
            Work::Program(page) => {
                die.program(page.block, page.page, &self.registers[usize::from(page.plane)], true);
            }
            Work::Erase(block) => die.half_erase(block),
            Work::Idle | Work::Read(_) | Work::Other => {}
        }
        drop(die);
        self.work = Work::Idle;
        self.registers.iter_mut().for_each(Register::invalidate);
    }

    /// RESET at `at` (ONFI 5.1 §5.3).
    pub fn reset(&mut self, at: Instant) -> (Work, Duration) {
        self.settle(at);
        let times = self.timing.base();
        let takes = match self.work {
            Work::Program(_) => times.reset_program,
            Work::Erase(_) => times.reset_erase,
            Work::Idle | Work::Read(_) | Work::Other => times.reset,
        };
        self.cut(at);
        self.start_other(at, takes)
    }

    pub fn register(&self, plane: u8) -> &Register {
        &self.registers[usize::from(plane)]
    }
    pub fn register_mut(&mut self, plane: u8) -> &mut Register {
        &mut self.registers[usize::from(plane)]
    }
    /// True when data out has something to show.
    pub fn has_data(&self) -> bool {
        self.register(self.plane).holds != Holds::Nothing
    }
}
