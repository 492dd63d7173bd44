//! One LUN: its registers, and what its array is doing.
//!
//! A LUN has no clock: the calls carry the time. The array's effects are applied when the LUN
//! is next accessed, at or after the time at which they were due. Three things can be due: the array's
//! work ends; a cache command that waited for that moves registers and starts the next work; the LUN
//! takes commands again (RDY).

mod cached;
mod state;
mod suspend;

use crate::config::NandConfig;
use crate::register::{Holds, Register};
use crate::store::Die;
use crate::timing::DieTiming;
use crate::work::PageAddr;
use crate::work::{ArrayWork, Bank, Gathers, PageJob};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_ports::layout::{PageLayout, Span};
use aster_ports::package::DataOut;
use aster_units::{Column, Duration, Instant};
use aster_wire::onfi::Status;
use core::cell::RefCell;
use state::{Next, Suspended};

/// The cells of a LUN, shared between its package and the inspection handle.
pub(crate) type SharedDie = Rc<RefCell<Die>>;

/// A LUN's state machine.
pub(crate) struct LunModel {
    /// When the earliest effect is due; [`Instant::MAX`] if none is pending.
    due: Instant,
    work: ArrayWork,
    /// The work's planes other than the first.
    others: Vec<PageJob>,
    /// When the array's work ends: ARDY.
    array_until: Instant,
    /// RDY is low: the LUN takes no command before `ready_at`.
    busy: bool,
    ready_at: Instant,
    next: Option<Next>,
    next_at: Instant,
    /// The pages of the next work, in order.
    waiting: Vec<PageJob>,
    suspended: Option<Suspended>,
    /// Planes whose last program or erase failed, and planes whose program before that failed.
    failed: u8,
    failed_before: u8,
    /// The last program was confirmed by 15h.
    cached: bool,
    /// The array is reading ahead, or has read ahead.
    pub ahead: bool,
    /// What a multi-plane command is collecting, and the pages so far.
    gathers: Option<Gathers>,
    gathered: Vec<PageAddr>,
    /// Pages loaded for one-shot programming.
    loaded: Vec<PageAddr>,
    /// The pages that the last READ has read, in order. READ CACHE SEQUENTIAL continues after them.
    last_read: Vec<PageAddr>,
    /// Planes whose register a COPYBACK READ has filled, one bit each.
    pub copied: u8,
    /// The read level that SET FEATURES chose, in millivolts.
    pub level_mv: f64,
    /// The values that ODT CONFIGURE has set: M0, M1, Rtt1, Rtt2.
    pub termination: [u8; 4],
    /// The plane whose register data out reads.
    pub plane: u8,
    /// The next column of data in and out.
    pub column: u32,
    planes: usize,
    // Bank after bank, with one register per plane.
    registers: Box<[Register]>,
    die: SharedDie,
    timing: DieTiming,
}

/// The work that the array has started and its duration, for the event that reports it.
pub(crate) type Started = (ArrayWork, Duration);

impl LunModel {
    /// A LUN as it is after power-on.
    pub fn new(die: SharedDie, timing: DieTiming, config: &NandConfig) -> Self {
        let planes = usize::from(config.geometry.planes);
        let c = &config.variant.commands;
        let banks = if c.one_shot.is_some() {
            4
        } else if c.read_cache || c.program_cache || c.suspend.is_some() {
            2
        } else {
            1
        };
        let jobs = 3 * planes;
        LunModel {
            due: Instant::MAX,
            work: ArrayWork::Idle,
            others: Vec::with_capacity(jobs),
            array_until: Instant::ZERO,
            busy: false,
            ready_at: Instant::ZERO,
            next: None,
            next_at: Instant::ZERO,
            waiting: Vec::with_capacity(jobs),
            suspended: None,
            failed: 0,
            failed_before: 0,
            cached: false,
            ahead: false,
            gathers: None,
            gathered: Vec::with_capacity(planes),
            loaded: Vec::with_capacity(jobs),
            last_read: Vec::with_capacity(planes),
            copied: 0,
            level_mv: config.variant.level_mv(0),
            termination: [0; 4],
            plane: 0,
            column: 0,
            planes,
            registers: (0..banks * planes).map(|_| Register::new(&config.layout, config.content)).collect(),
            die,
            timing,
        }
    }

    /// Applies the effects that are due by `at`.
    #[inline]
    pub fn catch_up(&mut self, at: Instant) {
        if at >= self.due {
            self.carry_out_due(at);
        }
    }

    fn carry_out_due(&mut self, at: Instant) {
        loop {
            if self.work != ArrayWork::Idle && at >= self.array_until {
                self.finish();
            } else if self.next.is_some() && at >= self.next_at {
                self.hand_over();
            } else if self.busy && at >= self.ready_at {
                self.busy = false;
            } else {
                break;
            }
        }
        self.set_due();
    }

    #[inline]
    fn set_due(&mut self) {
        let work = if self.work == ArrayWork::Idle { Instant::MAX } else { self.array_until };
        let next = if self.next.is_some() { self.next_at } else { Instant::MAX };
        let ready = if self.busy { self.ready_at } else { Instant::MAX };
        self.due = work.min(next).min(ready);
    }

    const fn index(&self, bank: Bank, plane: u8) -> usize {
        bank as usize * self.planes + plane as usize
    }

    fn finish(&mut self) {
        let work = core::mem::replace(&mut self.work, ArrayWork::Idle);
        let failed = match work {
            ArrayWork::Idle | ArrayWork::Other => return,
            ArrayWork::Read(job) => self.load(job),
            ArrayWork::Program(job) => self.store(job),
            ArrayWork::Erase(at) => self.erase(at),
        };
        self.failed |= failed;
        for i in 0..self.others.len() {
            let job = self.others[i];
            let failed = match work {
                ArrayWork::Read(_) => self.load(job),
                ArrayWork::Program(_) => self.store(job),
                _ => self.erase(job.at),
            };
            self.failed |= failed;
        }
        self.others.clear();
    }

    fn load(&mut self, PageJob { at, bank }: PageJob) -> u8 {
        let index = self.index(bank, at.plane);
        self.die.borrow_mut().load(at, self.level_mv, &mut self.registers[index]);
        0
    }
    /// Programs a page. Returns its plane's bit if the program failed, else 0.
    fn store(&mut self, PageJob { at, bank }: PageJob) -> u8 {
        let register = &mut self.registers[bank as usize * self.planes + usize::from(at.plane)];
        let passed = self.die.borrow_mut().program(at, register, false);
        register.invalidate();
        u8::from(!passed) << at.plane
    }
    fn erase(&mut self, at: PageAddr) -> u8 {
        // The registers keep what they show of the block.
        for register in &mut self.registers {
            if register.lying.is_some_and(|lying| lying.block == at.block) {
                self.die.borrow_mut().fetch(u16::MAX, register);
            }
        }
        u8::from(!self.die.borrow_mut().erase(at.block)) << at.plane
    }

    /// True while the LUN takes no command; catch up first.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.busy
    }
    /// True while the array works, even if the LUN takes commands; catch up first.
    pub fn array_works(&self) -> bool {
        self.work != ArrayWork::Idle || self.next.is_some()
    }
    /// Whether the LUN takes commands at `at`.
    #[inline]
    pub fn ready(&self, at: Instant) -> bool {
        !self.busy || at >= self.ready_at
    }
    /// When the LUN takes commands again, or has done so, after the last operation.
    #[inline]
    pub fn ready_since(&self) -> Instant {
        self.ready_at
    }
    /// The status byte, of all planes or of one; catch up first.
    #[inline]
    pub fn status(&self, plane: Option<u8>) -> Status {
        if self.busy {
            return Status::BUSY;
        }
        let planes = plane.map_or(u8::MAX, |plane| 1 << plane);
        // FAIL is valid only for work that has ended.
        let (failed, works) = (self.failed & planes != 0, self.array_works());
        Status::IDLE
            .with_array_ready(!works)
            .with_fail(failed && !works)
            .with_fail_previous(self.failed_before & planes != 0)
            .with_command_specific(self.suspended.is_some())
    }

    fn until(&self, at: Instant, takes: Duration) -> Instant {
        // A LUN that a test has forced to be busy never becomes ready.
        if self.die.borrow().stuck { Instant::MAX } else { later(at, takes) }
    }

    /// Starts the array's work at `at`. The LUN takes commands again when the work has ended.
    #[inline]
    fn start(&mut self, at: Instant, work: ArrayWork, takes: Duration) -> Started {
        self.work = work;
        self.failed = 0;
        self.failed_before = 0;
        self.cached = false;
        self.array_until = self.until(at, takes);
        self.ready_at = self.array_until;
        self.busy = true;
        self.due = self.array_until;
        (work, takes)
    }

    /// Makes the LUN busy for `takes`; the array continues its work.
    pub fn pause(&mut self, at: Instant, takes: Duration) -> Started {
        self.ready_at = self.until(at, takes);
        self.busy = true;
        self.set_due();
        (ArrayWork::Other, takes)
    }

    /// 30h or 35h: reads the page, and those collected before it, into the registers.
    #[inline]
    pub fn start_read(&mut self, at: Instant, page: PageAddr, copyback: bool) -> Started {
        let mut takes = self.timing.read(page);
        self.last_read.clear();
        self.last_read.push(page);
        let mut planes = 1 << page.plane;
        for i in 0..self.gathered.len() {
            let other = self.gathered[i];
            takes = takes.max(self.timing.read(other));
            self.last_read.push(other);
            self.others.push(PageJob { at: other, bank: Bank::Cache });
            planes |= 1 << other.plane;
        }
        self.gathers_nothing();
        self.plane = page.plane;
        self.ahead = false;
        self.copied = if copyback { planes } else { 0 };
        self.start(at, ArrayWork::Read(PageJob { at: page, bank: Bank::Cache }), takes)
    }

    /// 10h or, with `behind`, 15h (cached): programs the page, those loaded for its word line, and those
    /// of other planes.
    #[inline]
    pub fn start_program(&mut self, at: Instant, page: PageAddr, behind: bool) -> Started {
        self.copied = 0;
        if !behind && !self.cached && self.gathered.is_empty() && self.loaded.is_empty() {
            let takes = self.timing.program(page);
            return self.start(at, ArrayWork::Program(PageJob { at: page, bank: Bank::Cache }), takes);
        }
        self.start_programs(at, page, behind)
    }

    /// D0h: erases the block, and those collected before it.
    #[inline]
    pub fn start_erase(&mut self, at: Instant, block: PageAddr) -> Started {
        let mut takes = self.timing.erase(block);
        for i in 0..self.gathered.len() {
            let other = self.gathered[i];
            takes = takes.max(self.timing.erase(other));
            self.others.push(PageJob { at: other, bank: Bank::Cache });
        }
        self.gathers_nothing();
        self.start(at, ArrayWork::Erase(block), takes)
    }
    pub fn start_other(&mut self, at: Instant, takes: Duration) -> Started {
        self.start(at, ArrayWork::Other, takes)
    }

    /// Stops the array at `at`, including work that is suspended. A program leaves a torn page, an erase
    /// a half-erased block.
    pub fn cut(&mut self, at: Instant) {
        self.catch_up(at);
        let others = core::mem::take(&mut self.others);
        self.cut_off(self.work, &others);
        if let Some(Suspended { work, others, .. }) = self.suspended.take() {
            self.cut_off(work, &others);
        }
        self.work = ArrayWork::Idle;
        self.next = None;
        self.busy = false;
        self.ahead = false;
        self.cached = false;
        self.copied = 0;
        self.waiting.clear();
        self.last_read.clear();
        self.unload();
        self.gathers_nothing();
        self.set_due();
        self.registers.iter_mut().for_each(Register::invalidate);
    }

    fn cut_off(&mut self, work: ArrayWork, others: &[PageJob]) {
        let mut die = self.die.borrow_mut();
        match work {
            ArrayWork::Program(job) => {
                for PageJob { at, bank } in core::iter::once(job).chain(others.iter().copied()) {
                    let index = bank as usize * self.planes + usize::from(at.plane);
                    die.program(at, &mut self.registers[index], true);
                }
            }
            ArrayWork::Erase(at) => {
                die.half_erase(at.block);
                others.iter().for_each(|job| die.half_erase(job.at.block));
            }
            ArrayWork::Idle | ArrayWork::Read(_) | ArrayWork::Other => {}
        }
    }

    /// RESET at `at` (ONFI 5.1 §5.3).
    pub fn reset(&mut self, at: Instant) -> Started {
        self.catch_up(at);
        let times = self.timing.base();
        let stops = self.suspended.as_ref().map_or(self.work, |s| s.work);
        let takes = match stops {
            ArrayWork::Program(_) => times.reset_program,
            ArrayWork::Erase(_) => times.reset_erase,
            ArrayWork::Idle | ArrayWork::Read(_) | ArrayWork::Other => times.reset,
        };
        self.cut(at);
        self.start_other(at, takes)
    }

    /// Passes `take` the `length` columns from `column` on of the plane that data out reads; the plane's
    /// register must hold something. Data that are in memory are passed by reference, so that a page goes
    /// from the cells to the reader without a copy.
    #[inline]
    pub fn show<R>(
        &mut self,
        column: u32,
        length: u32,
        layout: &PageLayout,
        take: impl FnOnce(&DataOut<'_>) -> R,
    ) -> R {
        let register = &self.registers[usize::from(self.plane)];
        if let Some(lying) = register.lying {
            let die = self.die.borrow();
            if let Some(data) = die.in_memory(lying, layout.sectors()) {
                return take(&register.out_of(data, column, length));
            }
        }
        take(&self.out(column, length, layout))
    }

    /// The `length` columns from `column` on of the plane that data out reads; the plane's register must
    /// hold something. `layout` says which sectors must be fetched from the cells for that.
    #[inline]
    pub fn out(&mut self, column: u32, length: u32, layout: &PageLayout) -> DataOut<'_> {
        let register = &mut self.registers[usize::from(self.plane)];
        if register.lying.is_some() && length > 0 {
            let wanted = layout.sectors_in(Span { column: Column(column as u16), length });
            if register.lacks(wanted) != 0 {
                self.die.borrow_mut().fetch(wanted, register);
            }
        }
        register.out(column, length)
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

/// `at + after`. [`Instant::MAX`], which means never, stays as it is.
#[inline]
fn later(at: Instant, after: Duration) -> Instant {
    if at == Instant::MAX { at } else { at + after }
}
