//! Where random offsets come from.

use crate::{Distribution, Extent, Normal, Pareto, PerDirection, Permutation, Zipf, Zone};
use alloc::vec::Vec;
use aster_units::{Rng, mix64};

/// A zone in the slots of its direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ZoneSlots {
    /// Draws below this and not below the previous zone's value go here; 100 for the last zone.
    below: u8,
    first: u64,
    slots: u64,
}

/// The zones of a direction whose region has `slots` starts, `align` bytes apart.
fn zone_slots(zones: &[Zone], region: u64, align: u64, slots: u64) -> Vec<ZoneSlots> {
    let (mut below, mut begins, mut percent) = (0u8, 0u64, 0u64);
    let lay = |zone: &Zone| {
        let (first, end) = match zone.size {
            Extent::Bytes(bytes) => {
                let from = begins;
                begins = begins.saturating_add(bytes);
                (from / align, begins.min(region) / align)
            }
            Extent::Percent(size) => {
                let from = percent;
                percent += u64::from(size);
                let at = |percent: u64| (u128::from(slots) * u128::from(percent) / 100) as u64;
                (at(from), at(percent))
            }
        };
        below += zone.requests_percent;
        // Each zone has at least one slot, even in a small region.
        let first = first.min(slots - 1);
        ZoneSlots { below, first, slots: end.min(slots).saturating_sub(first).max(1) }
    };
    zones.iter().map(lay).collect()
}

/// Where random offsets come from, in units of a direction's alignment.
#[derive(Clone, Debug)]
pub(crate) enum Placement {
    /// Each slot once per pass, in an order that changes with the pass.
    Map {
        order: Permutation,
        next: u64,
        pass: u64,
    },
    Uniform,
    Zipf(Zipf),
    Pareto(Pareto),
    Normal(Normal),
    Zoned(PerDirection<Vec<ZoneSlots>>),
}

/// A direction's slots: how many, and how far apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    pub(crate) count: u64,
    pub(crate) align: u64,
}

impl Placement {
    /// Places offsets in `slots` slots; `of` has those of each direction. With `map`, a uniform
    /// distribution visits every slot once per pass.
    pub(crate) fn new(
        distribution: &Distribution,
        center: Option<f64>,
        map: bool,
        slots: u64,
        region: u64,
        of: &PerDirection<Slots>,
        seed: u64,
    ) -> Self {
        match distribution {
            Distribution::Uniform if map => {
                Placement::Map { order: Permutation::new(slots, seed ^ mix64(0)), next: 0, pass: 0 }
            }
            Distribution::Uniform => Placement::Uniform,
            Distribution::Zipf(theta) => Placement::Zipf(Zipf::new(slots, *theta, seed, center)),
            Distribution::Pareto(h) => Placement::Pareto(Pareto::new(slots, *h, seed, center)),
            Distribution::Normal(deviation) => {
                Placement::Normal(Normal::new(slots, *deviation, center.unwrap_or(0.5)))
            }
            Distribution::Zoned(zones) => {
                let lay = |zones: &[Zone], of: Slots| zone_slots(zones, region, of.align, of.count);
                Placement::Zoned(PerDirection {
                    read: lay(&zones.read, of.read),
                    write: lay(&zones.write, of.write),
                    trim: lay(&zones.trim, of.trim),
                })
            }
        }
    }

    /// The next slot of a direction that has `slots` of them. `pick` selects the direction's zones.
    #[inline]
    pub(crate) fn slot(
        &mut self,
        slots: u64,
        pick: impl Fn(&PerDirection<Vec<ZoneSlots>>) -> &Vec<ZoneSlots>,
        seed: u64,
        rng: &mut Rng,
    ) -> u64 {
        match self {
            Placement::Map { order, next, pass } => {
                let len = order.len();
                if *next == len {
                    *pass += 1;
                    *next = 0;
                    *order = Permutation::new(len, seed ^ mix64(*pass));
                }
                *next += 1;
                order.at(*next - 1)
            }
            Placement::Uniform => rng.below(slots),
            Placement::Zipf(zipf) => zipf.block(rng),
            Placement::Pareto(pareto) => pareto.block(rng),
            Placement::Normal(normal) => normal.block(rng),
            Placement::Zoned(zones) => {
                let zones = pick(zones);
                if zones.is_empty() {
                    return rng.below(slots);
                }
                let draw = rng.below(100) as u8;
                let zone = zones.iter().find(|zone| draw < zone.below);
                let zone = zone.expect("the shares of the zones add up to 100");
                zone.first + rng.below(zone.slots)
            }
        }
    }
}
