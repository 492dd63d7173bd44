//! Collection at the host's pace: writers get their pages in the order of arrival, and garbage collection
//! waits until they have paid for its copies.
//!
//! Collection is woken by events: whenever the host programs a page, and whenever copies become urgent. A
//! copy that nobody pays for is background work, like one for wear levelling, and comes after a pause of
//! [`background_gap`](crate::CareConfig::background_gap).

use crate::blocks::pace::Pace;
use crate::blocks::turns::{Turn, Turns};
use crate::space::room::Room;
use crate::terms::block::PoolIndex;
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use aster_events::Wait;
use aster_exec::{Exec, Handler, HandlerId, WaitQueue};
use aster_units::Instant;
use core::cell::Cell;

/// What writers and garbage collection wait for in each pool. With collection on demand the list of pools is
/// empty, and nobody waits here.
pub(crate) struct Pacing {
    runtime: Rc<Runtime>,
    pools: Rc<[OfPool]>,
    timer: Option<HandlerId>,
    // Tasks that wait for room in the map's memory. Garbage collection may be holding some of that room.
    map_waits: Cell<u32>,
}

struct OfPool {
    // Writers, in the order in which they get pages.
    turns: Turns,
    // What they have paid.
    pace: Pace,
    // Where garbage collection waits to be paid.
    unpaid: WaitQueue,
    // When it looks next by itself; `Instant::MAX` while no timer runs.
    timed: Cell<Instant>,
}

/// Wakes a pool's garbage collection when it has waited long enough.
struct Timer {
    exec: Exec,
    pools: Rc<[OfPool]>,
}

impl Handler for Timer {
    fn fire(&self, pool: u64) {
        let pool = &self.pools[pool as usize];
        // One that was overtaken by an earlier one changes nothing.
        if self.exec.now() >= pool.timed.get() {
            pool.timed.set(Instant::MAX);
        }
        pool.unpaid.wake_all(&self.exec);
    }
}

impl Pacing {
    /// For `pools` pools with so many `collectors` and room for `depth` writers in each.
    pub(crate) fn new(runtime: &Rc<Runtime>, pools: usize, collectors: usize, depth: usize) -> Self {
        let paced = if runtime.config.gc.is_paced() { pools } else { 0 };
        let of_pool = |_| OfPool {
            turns: Turns::with_capacity(depth),
            pace: Pace::default(),
            unpaid: WaitQueue::with_capacity(collectors),
            timed: Cell::new(Instant::MAX),
        };
        let pools: Rc<[OfPool]> = (0..paced).map(of_pool).collect();
        let timer = Timer { exec: runtime.exec().clone(), pools: Rc::clone(&pools) };
        Pacing {
            runtime: Rc::clone(runtime),
            pools,
            // A drive without pacing needs no timer.
            timer: (paced > 0).then(|| runtime.exec().register(Rc::new(timer))),
            map_waits: Cell::new(0),
        }
    }
    #[inline]
    fn of(&self, pool: PoolIndex) -> Option<&OfPool> {
        self.pools.get(pool.at())
    }

    // ---- writers ----

    /// Waits until all earlier writers have their pages. The caller passes the result to [`Pacing::end_turn`]
    /// once it has its own pages or has given up.
    pub(crate) async fn take_turn(&self, pool: PoolIndex) -> Option<Turn> {
        let turns = &self.of(pool)?.turns;
        let turn = turns.join();
        self.runtime.waiting(Wait::Room, turns.wait_first(self.runtime.exec(), turn)).await;
        Some(turn)
    }
    /// The next writer may ask for its pages.
    pub(crate) fn end_turn(&self, pool: PoolIndex, turn: Option<Turn>) {
        if let (Some(of_pool), Some(turn)) = (self.of(pool), turn) {
            of_pool.turns.leave(self.runtime.exec(), turn);
        }
    }
    /// The host programs pages in the pool, and pays for the copies that this causes.
    pub(crate) fn pay(&self, pool: PoolIndex, pages: usize, room: &Room) {
        let Some(of_pool) = self.of(pool) else { return };
        // The pages that the host has left when collection begins: those of the free blocks and of an open
        // one per LUN.
        let config = &self.runtime.config;
        let blocks = u64::from(config.collects_at() - config.pool_reserve_blocks() + config.luns_per_pool());
        let band = blocks * u64::from(config.geometry.pages_per_block);
        of_pool.pace.pay(pages as u64, room.host_pages_left(pool), band);
        self.look(pool);
    }

    // ---- garbage collection ----

    /// A victim is begun in which `valid` of `units` units are valid.
    pub(crate) fn begin(&self, pool: PoolIndex, valid: u64, units: u64) {
        if let Some(of_pool) = self.of(pool) {
            of_pool.pace.begin(valid, units - valid);
        }
    }
    /// A victim that was begun with these numbers is no longer in work.
    pub(crate) fn end(&self, pool: PoolIndex, valid: u64, units: u64) {
        if let Some(of_pool) = self.of(pool) {
            of_pool.pace.end(valid, units - valid);
        }
    }
    /// Whether collection goes at the host's pace.
    pub(crate) fn is_on(&self) -> bool {
        !self.pools.is_empty()
    }
    /// Waits until `copies` have been paid for, or they are urgent, or nobody has paid for long. Whatever
    /// makes them urgent calls [`Pacing::look`]; where the host's last room goes to another use, the writer
    /// that then waits for room does.
    pub(crate) async fn paid(&self, pool: PoolIndex, copies: u32, are_urgent: impl Fn() -> bool) {
        let Some(of_pool) = self.of(pool) else { return };
        let exec = self.runtime.exec();
        let until = exec.now() + self.runtime.config.care.background_gap * u64::from(copies);
        of_pool
            .unpaid
            .wait(exec, || {
                if exec.now() >= until || are_urgent() || of_pool.pace.spend(copies.into()) {
                    return Some(());
                }
                if let Some(timer) = self.timer
                    && until < of_pool.timed.get()
                {
                    of_pool.timed.set(until);
                    exec.schedule(until, timer, pool.at() as u64);
                }
                None
            })
            .await;
    }
    /// Wakes the pool's garbage collection, which checks whether it may go on.
    pub(crate) fn look(&self, pool: PoolIndex) {
        if let Some(of_pool) = self.of(pool) {
            of_pool.unpaid.wake_all(self.runtime.exec());
        }
    }
    /// As [`Pacing::look`], for all pools.
    pub(crate) fn look_all(&self) {
        self.pools.iter().for_each(|of_pool| of_pool.unpaid.wake_all(self.runtime.exec()));
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
