//! What has happened to a drive before it is powered on: it was filled in order, and then overwritten until
//! garbage collection copied as much as it ever will.

use super::dirty::{DirtyBuffer, DirtyFrame};
use super::pool::{Choose, NoRoom, Pool};
use super::pool_units::PoolUnits;
use super::slots::NONE;
use crate::terms::block::PoolIndex;
use crate::terms::units::{Frame, UnitShape, Units};
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::Exec;
use aster_parties::WriteHistory;
use aster_units::{Duration, Lpn};
use core::cell::Cell;

/// The drive is steady when the copies per unit written differ by at most this part from those of the round
/// before. A round overwrites half of what the drive holds.
const STEADY_WITHIN: f64 = 0.005;
/// The fewest and the most rounds.
const ROUNDS_MIN: u32 = 4;
const ROUNDS_MAX: u32 = 24;
/// Words of pages that wait until their pools' turn: pools are worked through one after the other, so that
/// what is known of one that is a LUN fits a cache.
const WAITING_WORDS: usize = 1 << 24;

/// Which share of the whole work the fill is, and with it the rounds if there are as few as possible.
const SHARE_OF_FILL: f64 = 0.1;
pub(super) const SHARE_OF_ROUNDS: f64 = 0.8;

/// The work in slices, between which whoever waits for the drive can look at it.
pub(super) struct Slices<'a> {
    pub(super) exec: &'a Exec,
    /// The share that is done.
    pub(super) share: &'a Cell<Option<f64>>,
}

impl Slices<'_> {
    /// A slice has been done.
    pub(super) async fn done(&self, share: f64) {
        self.share.set(Some(share));
        self.exec.sleep(Duration::from_nanos(1)).await;
    }
}

/// The drive whose history it is.
pub(super) struct Written<'a> {
    pub(super) shape: UnitShape,
    /// Units that the host sees.
    pub(super) units: u32,
    pub(super) unit_bytes: u32,
    pub(super) pool_units: &'a PoolUnits,
    /// Entries of the data buffer that may be dirty.
    pub(super) dirty_max: u32,
    /// Pages that are programmed at once.
    pub(super) pages_at_once: u32,
}

/// Pages for the pools, each as the count of the write and then a unit per slot.
struct Pending {
    pools: Vec<Vec<u32>>,
    words: usize,
    written: u32,
}

impl Pending {
    fn new(pools: usize) -> Self {
        Pending { pools: vec![Vec::new(); pools], words: 0, written: 0 }
    }
    fn push(&mut self, pool: PoolIndex, page: impl IntoIterator<Item = u32>) {
        let into = &mut self.pools[pool.at()];
        let before = into.len();
        into.push(self.written);
        into.extend(page);
        self.words += into.len() - before;
    }
    /// Has the pools program what waits.
    fn program(&mut self, per_page: u32, pools: &mut [Pool], choose: Choose<'_>) -> Result<(), NoRoom> {
        for (pages, pool) in self.pools.iter_mut().zip(pools) {
            for page in pages.chunks_exact(1 + per_page as usize) {
                pool.program(&page[1..], page[0], choose)?;
            }
            pages.clear();
        }
        self.words = 0;
        Ok(())
    }
}

/// Lets `pools` live through the history. Returns the rounds of overwrites.
pub(super) async fn live_through(
    written: &Written<'_>,
    history: &mut dyn WriteHistory,
    pools: &mut [Pool],
    choose: Choose<'_>,
    slices: &Slices<'_>,
) -> Result<u32, NoRoom> {
    let per_page = written.shape.per_page();
    let mut pending = Pending::new(pools.len());
    for frame in (0..written.units.div_ceil(per_page)).map(Frame) {
        let (pool, of_pool) = written.pool_units.of_frame(frame);
        let (first, host) = (written.pool_units.first_of(of_pool), written.shape.first_of(frame).0);
        pending.written += 1;
        let unit = |slot| if host + slot < written.units { first + slot } else { NONE };
        pending.push(pool, (0..per_page).map(unit));
        if pending.words >= WAITING_WORDS {
            pending.program(per_page, pools, choose)?;
            let share = f64::from(frame.0) / f64::from(written.units.div_ceil(per_page));
            slices.done(SHARE_OF_FILL * share).await;
        }
    }
    pending.program(per_page, pools, choose)?;
    let mut buffer = DirtyBuffer::new(written.dirty_max, pools.len(), per_page * written.pages_at_once);
    let mut evicted = Vec::new();
    let mut before = f64::INFINITY;
    for round in 1..=ROUNDS_MAX {
        let counted = |pools: &[Pool]| {
            pools
                .iter()
                .fold((0, 0), |(host, copied), pool| (host + pool.host_units, copied + pool.copied_units))
        };
        let (host_before, copied_before) = counted(pools);
        let of_round = u64::from(written.units.div_ceil(2));
        let mut left = of_round;
        while left > 0 {
            let (at, bytes) = history.next_write();
            let units = units_of(written, at, bytes);
            left = left.saturating_sub(u64::from(units.end - units.start).max(1));
            write(written, units, &mut buffer, &mut evicted, &mut pending);
            if pending.words >= WAITING_WORDS {
                pending.program(per_page, pools, choose)?;
                let in_round = 1.0 - left as f64 / of_round as f64;
                let rounds = (f64::from(round - 1) + in_round) / f64::from(ROUNDS_MIN);
                slices.done(SHARE_OF_FILL + (SHARE_OF_ROUNDS - SHARE_OF_FILL) * rounds.min(1.0)).await;
            }
        }
        pending.program(per_page, pools, choose)?;
        let (host, copied) = counted(pools);
        let cost = (copied - copied_before) as f64 / ((host - host_before) as f64).max(1.0);
        let is_steady = (cost - before).abs() <= STEADY_WITHIN * before;
        before = cost;
        if round >= ROUNDS_MIN && is_steady {
            return Ok(round);
        }
    }
    Ok(ROUNDS_MAX)
}

/// The units that a write touches.
fn units_of(written: &Written<'_>, at: u64, bytes: u32) -> core::ops::Range<u32> {
    let unit = u64::from(written.unit_bytes);
    let end = (at + u64::from(bytes)).div_ceil(unit).min(u64::from(written.units));
    (at / unit).min(end) as u32..end as u32
}

/// Puts units into the buffer, and what is evicted for them among the pages that wait.
fn write(
    written: &Written<'_>,
    units: core::ops::Range<u32>,
    buffer: &mut DirtyBuffer,
    evicted: &mut Vec<DirtyFrame>,
    pending: &mut Pending,
) {
    let shape = written.shape;
    let mut at = units.start;
    while at < units.end {
        let frame = shape.frame_of(Lpn(at));
        let first = shape.first_of(frame).0;
        let end = (first + shape.per_page()).min(units.end);
        let touched = (at - first..end - first).fold(0, |all: Units, slot| all | 1 << slot);
        let (pool, of_pool) = written.pool_units.of_frame(frame);
        buffer.write(DirtyFrame { pool, frame: of_pool, units: touched }, evicted);
        program(written, evicted, pending);
        at = end;
    }
}

/// The pages of what is evicted together. The units of a single frame stand in their own slots, others one
/// after the other.
fn program(written: &Written<'_>, evicted: &[DirtyFrame], pending: &mut Pending) {
    let Some(DirtyFrame { pool, .. }) = evicted.first().copied() else { return };
    let (shape, per_page) = (written.shape, written.shape.per_page());
    pending.written += 1;
    let unit = |of: &DirtyFrame, slot: u32| written.pool_units.first_of(of.frame) + slot;
    if let [of] = evicted {
        let in_slot = |slot| if of.units >> slot & 1 == 1 { unit(of, slot) } else { NONE };
        pending.push(pool, (0..per_page).map(in_slot));
    } else {
        let mut units =
            evicted.iter().flat_map(|of| shape.slots_of(of.units).map(move |slot| unit(of, slot)));
        let count: u32 = evicted.iter().map(|of| of.units.count_ones()).sum();
        for _ in 0..count.div_ceil(per_page) {
            let page: Vec<u32> = (0..per_page).map(|_| units.next().unwrap_or(NONE)).collect();
            pending.push(pool, page);
        }
    }
    let pages: u32 = evicted.iter().map(|of| of.units.count_ones()).sum::<u32>().div_ceil(per_page);
    for _ in pages..written.pages_at_once {
        pending.push(pool, (0..per_page).map(|_| NONE));
    }
}
