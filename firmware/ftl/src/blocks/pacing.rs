//! Collection at the host's pace: writers get their pages in the order of arrival, and garbage collection
//! waits until they have paid for its copies.
//!
//! Collection is woken by events: whenever the host programs a page, and whenever copies become urgent. A
//! copy that nobody pays for is background work, like one for wear levelling, and comes after a pause of
//! [`background_gap`](crate::CareConfig::background_gap).

use crate::blocks::pace::Pace;
use crate::blocks::turns::{Turn, Turns};
use crate::space::room::Room;
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use aster_events::Wait;
use aster_exec::{Exec, Handler, HandlerId, WaitCell};
use aster_units::{Instant, LunIndex};
use core::cell::Cell;

/// What writers and garbage collection wait for in each LUN. With collection on demand the list of LUNs is
/// empty, and nobody waits here.
pub(crate) struct Pacing {
    runtime: Rc<Runtime>,
    luns: Rc<[OfLun]>,
    timer: Option<HandlerId>,
    // Tasks that wait for room in the map's memory. Garbage collection may be holding some of that room.
    map_waits: Cell<u32>,
}

struct OfLun {
    // Writers, in the order in which they get pages.
    turns: Turns,
    // What they have paid.
    pace: Pace,
    // Where garbage collection waits to be paid.
    unpaid: WaitCell,
    // When it looks next by itself; `Instant::MAX` while no timer runs.
    timed: Cell<Instant>,
}

/// Wakes a LUN's garbage collection when it has waited long enough.
struct Timer {
    exec: Exec,
    luns: Rc<[OfLun]>,
}

impl Handler for Timer {
    fn fire(&self, lun: u64) {
        let lun = &self.luns[lun as usize];
        // One that was overtaken by an earlier one changes nothing.
        if self.exec.now() >= lun.timed.get() {
            lun.timed.set(Instant::MAX);
        }
        lun.unpaid.wake(&self.exec);
    }
}

impl Pacing {
    /// With room for `depth` writers of each LUN.
    pub(crate) fn new(runtime: &Rc<Runtime>, depth: usize) -> Self {
        let paced = if runtime.config.gc.is_paced() { runtime.geometry.total_luns() } else { 0 };
        let of_lun = |_| OfLun {
            turns: Turns::with_capacity(depth),
            pace: Pace::default(),
            unpaid: WaitCell::default(),
            timed: Cell::new(Instant::MAX),
        };
        let luns: Rc<[OfLun]> = (0..paced).map(of_lun).collect();
        let timer = Timer { exec: runtime.exec().clone(), luns: Rc::clone(&luns) };
        Pacing {
            runtime: Rc::clone(runtime),
            luns,
            // A drive without pacing needs no timer.
            timer: (paced > 0).then(|| runtime.exec().register(Rc::new(timer))),
            map_waits: Cell::new(0),
        }
    }
    #[inline]
    fn of(&self, lun: LunIndex) -> Option<&OfLun> {
        self.luns.get(lun.index())
    }

    // ---- writers ----

    /// Waits until all earlier writers have their pages. The caller passes the result to [`Pacing::end_turn`]
    /// once it has its own pages or has given up.
    pub(crate) async fn take_turn(&self, lun: LunIndex) -> Option<Turn> {
        let turns = &self.of(lun)?.turns;
        let turn = turns.join();
        self.runtime.waiting(Wait::Room, turns.wait_first(self.runtime.exec(), turn)).await;
        Some(turn)
    }
    /// The next writer may ask for its pages.
    pub(crate) fn end_turn(&self, lun: LunIndex, turn: Option<Turn>) {
        if let (Some(of_lun), Some(turn)) = (self.of(lun), turn) {
            of_lun.turns.leave(self.runtime.exec(), turn);
        }
    }
    /// The host programs pages in the LUN, and pays for the copies that this causes.
    pub(crate) fn pay(&self, lun: LunIndex, pages: usize, room: &Room) {
        let Some(of_lun) = self.of(lun) else { return };
        // The pages that the host has left when collection begins: those of the free blocks and of an open
        // one.
        let config = &self.runtime.config;
        let blocks = u64::from(config.collects_at() - config.gc.reserve_blocks + 1);
        let band = blocks * u64::from(config.geometry.pages_per_block);
        of_lun.pace.pay(pages as u64, room.host_pages_left(lun), band);
        self.look(lun);
    }

    // ---- garbage collection ----

    /// A victim is begun in which `valid` of `units` units are valid.
    pub(crate) fn begin(&self, lun: LunIndex, valid: u64, units: u64) {
        if let Some(of_lun) = self.of(lun) {
            of_lun.pace.begin(valid, units - valid);
        }
    }
    /// Whether collection goes at the host's pace.
    pub(crate) fn is_on(&self) -> bool {
        !self.luns.is_empty()
    }
    /// Waits until `copies` have been paid for, or they are urgent, or nobody has paid for long. Whatever
    /// makes them urgent calls [`Pacing::look`]; where the host's last room goes to another use, the writer
    /// that then waits for room does.
    pub(crate) async fn paid(&self, lun: LunIndex, copies: u32, are_urgent: impl Fn() -> bool) {
        let Some(of_lun) = self.of(lun) else { return };
        let exec = self.runtime.exec();
        let until = exec.now() + self.runtime.config.care.background_gap * u64::from(copies);
        of_lun
            .unpaid
            .wait(exec, || {
                if exec.now() >= until || are_urgent() || of_lun.pace.spend(copies.into()) {
                    return Some(());
                }
                if let Some(timer) = self.timer
                    && until < of_lun.timed.get()
                {
                    of_lun.timed.set(until);
                    exec.schedule(until, timer, lun.index() as u64);
                }
                None
            })
            .await;
    }
    /// Wakes the LUN's garbage collection, which checks whether it may go on.
    pub(crate) fn look(&self, lun: LunIndex) {
        if let Some(of_lun) = self.of(lun) {
            of_lun.unpaid.wake(self.runtime.exec());
        }
    }
    /// As [`Pacing::look`], for all LUNs.
    pub(crate) fn look_all(&self) {
        self.luns.iter().for_each(|of_lun| of_lun.unpaid.wake(self.runtime.exec()));
    }
    /// A task begins to wait, or stops waiting, for room in the map's memory.
    pub(crate) fn waits_for_map(&self, begins: bool) {
        let waits = self.map_waits.get();
        debug_assert!(begins || waits > 0, "who ends to wait has begun to");
        self.map_waits.set(if begins { waits + 1 } else { waits - 1 });
        self.look_all();
    }
    /// Whether a task waits for room in the map's memory.
    pub(crate) fn is_map_room_wanted(&self) -> bool {
        self.map_waits.get() > 0
    }
}
