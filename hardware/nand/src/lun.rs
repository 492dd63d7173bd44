//! One LUN: its registers, and what its array is doing.
//!
//! A LUN has no clock: the calls carry the time. The array's effects are applied when the LUN
//! is next accessed, at or after the time at which they were due. Three things can be due: the array's
//! work ends; a cache command that waited for that moves registers and starts the next work; the LUN
//! takes commands again (RDY).
//!
//! Its parts own their state: `array` what the array does, `status` the bits of the status register,
//! `cache` the cache command that waits, `collected` the pages that wait for a command's last cycle,
//! `registers` the page registers with the position of data in and out.

mod array;
mod cache;
mod cached;
mod collected;
mod loading;
mod refusal;
mod registers;
mod status;
mod suspend;

pub(crate) use refusal::Refusal;

use crate::config::NandConfig;
use crate::store::Die;
use crate::timing::DieTiming;
use crate::work::{ArrayWork, Bank, PageAddr, PageJob, Suspends};
use alloc::rc::Rc;
use array::Array;
use aster_ports::package::{DataOut, ProtocolError};
use aster_units::{Column, Duration, Instant};
use aster_wire::onfi::Status;
use cache::{CacheCommands, Next};
use collected::Collected;
use core::cell::RefCell;
use registers::PageRegisters;
use status::StatusRegister;

/// The cells of a LUN, shared between its package and the inspection handle.
pub(crate) type SharedDie = Rc<RefCell<Die>>;

/// A LUN's state machine.
pub(crate) struct LunModel {
    /// When the earliest effect is due; [`Instant::MAX`] if none is pending.
    due: Instant,
    array: Array,
    status: StatusRegister,
    cache: CacheCommands,
    collected: Collected,
    registers: PageRegisters,
    /// The read level that SET FEATURES chose, in millivolts.
    level_mv: f64,
    die: SharedDie,
    timing: DieTiming,
}

/// The work that the array has started and its duration, for the event that reports it.
pub(crate) type Started = (ArrayWork, Duration);

/// RDY and ARDY, and since when the LUN takes commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Readiness {
    /// RDY is low: the LUN takes no command.
    Busy,
    /// ARDY is low: the LUN takes commands while its array works.
    Ready(Instant),
    /// Both are high.
    Idle(Instant),
}

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
            array: Array::new(jobs),
            status: StatusRegister::new(),
            cache: CacheCommands::new(jobs, planes),
            collected: Collected::new(planes, jobs),
            registers: PageRegisters::new(banks, config),
            level_mv: config.variant.level_mv(0),
            die,
            timing,
        }
    }

    /// Applies the effects that are due by `at`.
    #[inline]
    fn catch_up(&mut self, at: Instant) {
        if at >= self.due {
            self.carry_out_due(at);
        }
    }

    #[inline]
    fn carry_out_due(&mut self, at: Instant) {
        if self.cache.is_waiting() {
            return self.carry_out_cached(at);
        }
        // Nothing begins what could be due again.
        if self.array.has_ended(at) {
            self.finish();
        }
        if self.status.is_over(at) {
            self.status.go_ready();
        }
        self.due = self.array.due().min(self.status.due());
    }
    /// As [`LunModel::carry_out_due`], while a cache command waits for the array. One effect at a time: what
    /// the array begins then may be over by `at`, too.
    #[cold]
    fn carry_out_cached(&mut self, at: Instant) {
        loop {
            if self.array.has_ended(at) {
                self.finish();
            } else if self.cache.has_begun(at) {
                self.hand_over();
            } else if self.status.is_over(at) {
                self.status.go_ready();
            } else {
                break;
            }
        }
        self.set_due();
    }

    #[inline]
    fn set_due(&mut self) {
        self.due = self.array.due().min(self.cache.due()).min(self.status.due());
    }

    /// The array's work has ended.
    fn finish(&mut self) {
        let work = self.array.work();
        if work != ArrayWork::Other {
            let die = &mut *self.die.borrow_mut();
            let mut failed = self.registers.carry_out(die, work, self.level_mv);
            for job in self.array.others() {
                failed |= self.registers.carry_out(die, work.on(*job), self.level_mv);
            }
            self.status.fail(failed);
        }
        self.array.end();
    }

    /// Starts the waiting cache command, as the array is free now.
    fn hand_over(&mut self) {
        let Some((next, from)) = self.cache.take_next() else { return };
        match next {
            Next::ReadAhead => {
                self.show_ahead();
                self.begin_read_ahead(from);
            }
            Next::ShowAhead => self.show_ahead(),
            Next::ProgramBehind | Next::Program => {
                self.status.next_result();
                let takes = self.timing.longest_program(self.cache.pages());
                if next == Next::ProgramBehind {
                    for job in self.cache.pages_mut() {
                        self.registers.swap(job.at.plane, Bank::Cache, Bank::Array);
                        job.bank = Bank::Array;
                    }
                }
                let first = self.cache.hand_to(&mut self.array);
                self.array.begin(ArrayWork::Program(first), later(from, takes));
            }
        }
    }

    /// Moves the page that was read ahead to the register that the host reads.
    fn show_ahead(&mut self) {
        for page in self.cache.last_read() {
            self.registers.swap(page.plane, Bank::Cache, Bank::Array);
        }
        self.select_last_read();
    }

    /// Data out begins at the first column of the page that was read last, in that page's plane.
    fn select_last_read(&mut self) {
        if let Some(page) = self.cache.last_read().first() {
            self.registers.select(page.plane);
        }
        self.registers.set_column(Column(0));
    }

    /// Sets the array to read the waiting pages.
    fn begin_read_ahead(&mut self, from: Instant) {
        let takes = self.timing.longest_read(self.cache.pages());
        self.cache.read_waiting();
        let first = self.cache.hand_to(&mut self.array);
        self.array.begin(ArrayWork::Read(first), later(from, takes));
    }

    /// Whether the LUN takes commands at `at`, and whether its array works.
    #[inline]
    pub fn settle(&mut self, at: Instant) -> Readiness {
        self.catch_up(at);
        if self.status.is_busy() {
            Readiness::Busy
        } else if self.array_works() {
            Readiness::Ready(self.status.ready_at())
        } else {
            Readiness::Idle(self.status.ready_at())
        }
    }
    /// True while the array works, even if the LUN takes commands; catch up first.
    #[inline]
    fn array_works(&self) -> bool {
        !self.array.is_idle() || self.cache.is_waiting()
    }
    /// When the LUN takes commands, at `at` or later.
    #[inline]
    pub fn ready_from(&self, at: Instant) -> Instant {
        self.status.ready_from(at)
    }
    /// The status byte, of all planes or of one.
    #[inline]
    pub fn status(&mut self, at: Instant, plane: Option<u8>) -> Status {
        self.catch_up(at);
        let planes = plane.map_or(u8::MAX, |plane| 1 << plane);
        self.status.byte(planes, self.array_works(), self.array.suspended().is_some())
    }

    fn suspends(&self, what: Suspends) -> bool {
        self.array.suspended().is_some_and(|s| s.kind() == what)
    }

    fn until(&self, at: Instant, takes: Duration) -> Instant {
        // A LUN that a test has forced to be busy never becomes ready.
        if self.die.borrow().stuck { Instant::MAX } else { later(at, takes) }
    }

    /// Starts the array's work at `at`. The LUN takes commands again when the work has ended.
    #[inline]
    fn start(&mut self, at: Instant, work: ArrayWork, takes: Duration) -> Started {
        let until = self.until(at, takes);
        self.array.begin(work, until);
        self.cache.set_behind(false);
        self.status.forget_results();
        self.status.go_busy(until);
        self.due = until;
        (work, takes)
    }

    /// Makes the LUN busy for `takes`; the array continues its work.
    fn pause(&mut self, at: Instant, takes: Duration) -> Started {
        let until = self.until(at, takes);
        self.status.go_busy(until);
        self.set_due();
        (ArrayWork::Other, takes)
    }

    /// 30h or 35h: reads the page, and those collected before it, into the registers. Data out begins at
    /// `column`.
    #[inline]
    pub fn start_read(&mut self, at: Instant, page: PageAddr, column: Column, copyback: bool) -> Started {
        let mut takes = self.timing.read(page);
        self.cache.read_first(page);
        let mut planes = 1 << page.plane;
        for &other in self.collected.gathered() {
            takes = takes.max(self.timing.read(other));
            self.cache.read_also(other);
            self.array.add(PageJob { at: other, bank: Bank::Cache });
            planes |= 1 << other.plane;
        }
        self.collected.gathers_nothing();
        self.cache.set_ahead(false);
        self.registers.select(page.plane);
        self.registers.set_column(column);
        self.registers.set_copied(if copyback { planes } else { 0 });
        self.start(at, ArrayWork::Read(PageJob { at: page, bank: Bank::Cache }), takes)
    }

    /// D0h: erases the block, and those collected before it.
    #[inline]
    pub fn start_erase(&mut self, at: Instant, block: PageAddr) -> Started {
        let mut takes = self.timing.erase(block);
        for &other in self.collected.gathered() {
            takes = takes.max(self.timing.erase(other));
            self.array.add(PageJob { at: other, bank: Bank::Cache });
        }
        self.collected.gathers_nothing();
        self.start(at, ArrayWork::Erase(block), takes)
    }
    /// Makes LUN and array busy with what touches no cells.
    pub fn start_other(&mut self, at: Instant, takes: Duration) -> Started {
        self.start(at, ArrayWork::Other, takes)
    }

    /// Stops the array at `at`, including work that is suspended. A program leaves a torn page, an erase
    /// a half-erased block.
    pub fn cut(&mut self, at: Instant) {
        self.catch_up(at);
        let die = &mut *self.die.borrow_mut();
        self.array.cut(|work, others| {
            self.registers.cut_off(die, work);
            others.iter().for_each(|job| self.registers.cut_off(die, work.on(*job)));
        });
        self.status.go_ready();
        self.cache.cut();
        self.collected.clear();
        self.registers.invalidate();
        self.due = Instant::MAX;
    }

    /// RESET at `at` (ONFI 5.1 §5.3).
    pub fn reset(&mut self, at: Instant) -> Started {
        self.catch_up(at);
        let times = self.timing.base();
        let takes = match self.array.interrupted() {
            ArrayWork::Program(_) => times.reset_program,
            ArrayWork::Erase(_) => times.reset_erase,
            ArrayWork::Idle | ArrayWork::Read(_) | ArrayWork::Other => times.reset,
        };
        self.cut(at);
        self.start_other(at, takes)
    }

    /// SET FEATURES has chosen a read level, in millivolts.
    pub fn set_read_level(&mut self, level_mv: f64) {
        self.level_mv = level_mv;
    }

    /// True when data out has something to show.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.registers.has_data()
    }
    /// Data in and out continue at `column`; data out in the register of `plane`, or in the same one.
    pub fn select(&mut self, plane: Option<u8>, column: Column) {
        if let Some(plane) = plane {
            self.registers.select(plane);
        }
        self.registers.set_column(column);
    }
    /// Passes `take` the next `length` columns; the register must hold something.
    #[inline]
    pub fn data_out<R>(
        &mut self,
        length: u32,
        config: &NandConfig,
        take: impl FnOnce(&DataOut<'_>) -> R,
    ) -> Result<R, ProtocolError> {
        self.registers.data_out(&self.die, length, config, take)
    }
    /// What data out would show from the next column to the page's end; the register must hold something.
    pub fn shown(&mut self, config: &NandConfig) -> DataOut<'_> {
        self.registers.rest(&self.die, config)
    }
}

/// `at + after`. [`Instant::MAX`], which means never, stays as it is.
#[inline]
fn later(at: Instant, after: Duration) -> Instant {
    if at == Instant::MAX { at } else { at + after }
}
