//! Bit errors of the cells: seeded, repeatable, and monotone in stress.
//!
//! A page's flips are the arrivals of a unit-rate Poisson process. A seed fixes the process until the
//! page is erased. The k-th bit flips once the expected number of errors passes the k-th arrival, so that
//! wear, age and reads only add flips. If the read level matters, there are two such processes: one for
//! cells above the level that should be below it, and one for the reverse. Moving the level removes
//! errors of one kind and adds errors of the other. Read noise moves the level for each cell a little,
//! differently in each read, so that cells near the level are sometimes right and sometimes wrong. An
//! undisturbed page costs one hash and one comparison per process.

use alloc::vec::Vec;
use aster_units::{PageType, mix64};

/// The most levels that a cell has.
pub const LEVELS_MAX: usize = 8;

/// How the raw bit error rate grows, each rate in errors per bit.
///
/// The shapes are those on which public characterisations of planar and 3D MLC and TLC parts agree. The
/// numbers depend on the package.
/// - A floor when fresh, and growth with program/erase cycles that is more than linear (Mielke et al., IRPS
///   2008; Cai et al., Proc. IEEE 105(9), 2017, arXiv 1706.08642).
/// - Retention loss is about logarithmic in time, and the read level with the fewest errors sinks with
///   the logarithm of time. Both are faster the more the block is worn (Cai et al., HPCA 2015; Luo et
///   al., SIGMETRICS 2018, arXiv 1807.05140).
/// - Read disturb is linear in the block's reads since its erase, and steeper the more the block is worn
///   (Cai et al., DSN 2015).
/// - Upper bits of a cell have more errors than lower bits, and errors multiply as the read level moves
///   away from the best one to either side (Cai et al., DATE 2013).
/// - The measured threshold of a cell changes from read to read, by random telegraph noise (Compagnoni et
///   al., IEEE TED 55(1), 2008): a page read again at the same level has not quite the same errors.
/// - The cells of the word line programmed next interfere, in proportion to the charge that their data
///   bring (Cai et al., ICCD 2013, program interference; Luo et al. 2018, retention interference): page
///   by page (`neighbour`), or cell by cell and from either side as well (`coupling_mv`; module
///   `coupling`).
///
/// A rate, shift or share of 0 switches its influence off.
///
/// With `c` in thousands of cycles and `t = ln(1 + hours)`:
///
/// `rate = type · (fresh + c·cycle + c²·cycle_squared + (1 + c)·(t·retention + reads·read)) · (1 +
/// 2·share·neighbour) · cosh((level − best) / level_width_mv)`, `best = −(1 + c)·t·retention_shift_mv`
///
/// where `share` is the share of programmed cells (zeroes) in the neighbouring page: ½ for scrambled
/// data. The two halves of the cosh are the two processes. A cell's distance from the level is
/// `level_width_mv` for each factor of e in its arrival; `read_noise_mv` is relative to this distance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ErrorModel {
    /// The rate without wear, age and reads.
    pub fresh: f64,
    /// Per thousand program/erase cycles.
    pub cycle: f64,
    /// Per squared thousand program/erase cycles.
    pub cycle_squared: f64,
    /// Per unit of `ln(1 + hours since the block was first programmed)`.
    pub retention: f64,
    /// Per read of the block since its erase.
    pub read: f64,
    /// The factor for a CSB page's rate.
    pub csb_factor: f64,
    /// The factor for an MSB page's rate.
    pub msb_factor: f64,
    /// The factor for the rate of a page in a block used as SLC.
    pub slc_factor: f64,
    /// How far the best read level sinks, in millivolts per unit of `ln(1 + hours)`.
    pub retention_shift_mv: f64,
    /// Distance from the best read level, in millivolts, at which the rate has grown by half (cosh 1 =
    /// 1.54). 0 if the level doesn't matter.
    pub level_width_mv: f64,
    /// Standard deviation, in millivolts, of a cell's measured level from read to read; at most
    /// `level_width_mv`. Each read has other wrong cells, but the same number on average.
    pub read_noise_mv: f64,
    /// The share by which scrambled data in the neighbouring page raise the rate. An erased neighbour
    /// adds nothing; a page of zeroes adds twice as much.
    pub neighbour: f64,
    /// How much higher a cell is lifted if all its neighbours are charged than if none is, in millivolts
    /// per thousand program/erase cycles. This models each neighbouring cell, and replaces `neighbour`.
    /// It needs `level_width_mv`. It doesn't apply to blocks used as SLC, whose margins are wide enough.
    pub coupling_mv: f64,
    /// The share of each level's errors that such a lift causes, 0 to 1, the erased level first.
    pub lifted: [f64; LEVELS_MAX],
}

impl ErrorModel {
    /// No bit ever flips.
    pub const NONE: ErrorModel = ErrorModel {
        fresh: 0.0,
        cycle: 0.0,
        cycle_squared: 0.0,
        retention: 0.0,
        read: 0.0,
        csb_factor: 1.0,
        msb_factor: 1.0,
        slc_factor: 1.0,
        retention_shift_mv: 0.0,
        level_width_mv: 0.0,
        read_noise_mv: 0.0,
        neighbour: 0.0,
        coupling_mv: 0.0,
        lifted: [0.0; LEVELS_MAX],
    };

    /// True when no influence has a rate.
    pub fn is_off(&self) -> bool {
        [self.fresh, self.cycle, self.cycle_squared, self.retention, self.read].iter().all(|r| *r == 0.0)
    }

    /// The first field that is out of range, and what it must be.
    pub(crate) fn bad_field(&self) -> Option<(&'static str, &'static str)> {
        let fields = [
            ("errors.fresh", self.fresh),
            ("errors.cycle", self.cycle),
            ("errors.cycle_squared", self.cycle_squared),
            ("errors.retention", self.retention),
            ("errors.read", self.read),
            ("errors.csb_factor", self.csb_factor),
            ("errors.msb_factor", self.msb_factor),
            ("errors.slc_factor", self.slc_factor),
            ("errors.retention_shift_mv", self.retention_shift_mv),
            ("errors.level_width_mv", self.level_width_mv),
            ("errors.read_noise_mv", self.read_noise_mv),
            ("errors.neighbour", self.neighbour),
            ("errors.coupling_mv", self.coupling_mv),
        ];
        let bad = fields.into_iter().find(|(_, v)| !v.is_finite() || *v < 0.0);
        bad.map(|(name, _)| (name, "a finite number of at least 0")).or_else(|| {
            let loud = self.read_noise_mv > self.level_width_mv;
            let unmeasured = self.coupling_mv > 0.0 && self.level_width_mv == 0.0;
            let twice = self.coupling_mv > 0.0 && self.neighbour > 0.0;
            let beyond = !self.lifted.iter().all(|share| (0.0..=1.0).contains(share));
            let bad = [
                (loud, ("errors.read_noise_mv", "at most level_width_mv")),
                (unmeasured, ("errors.coupling_mv", "0 without level_width_mv, which it is measured by")),
                (twice, ("errors.coupling_mv", "0 beside neighbour, whose place it takes")),
                (beyond, ("errors.lifted", "shares from 0 to 1")),
            ];
            bad.into_iter().find(|(is_bad, _)| *is_bad).map(|(_, field)| field)
        })
    }

    /// Expected errors per bit.
    #[inline]
    pub fn rate(&self, kind: PageType, stress: Stress, sensing: Sensing) -> f64 {
        let [above, below] = self.rates(kind, stress, sensing);
        above + below
    }

    /// Expected errors per bit of each kind. The first kind are cells above the level that should be
    /// below it, which a higher level reduces; the second kind is the reverse. If the level doesn't
    /// matter, all errors are of the second kind.
    #[inline]
    pub fn rates(&self, kind: PageType, stress: Stress, sensing: Sensing) -> [f64; 2] {
        let c = f64::from(stress.erases) * 1e-3;
        let age = if stress.hours == 0 { 0.0 } else { libm::log1p(f64::from(stress.hours)) };
        let growing = (1.0 + c) * (age * self.retention + f64::from(stress.reads) * self.read);
        let factor = match kind {
            _ if sensing.slc => self.slc_factor,
            PageType::Lsb => 1.0,
            PageType::Csb => self.csb_factor,
            PageType::Msb => self.msb_factor,
        };
        let rate = factor * (self.fresh + c * (self.cycle + c * self.cycle_squared) + growing);
        let rate = rate * (1.0 + 2.0 * sensing.neighbour_share * self.neighbour);
        if self.level_width_mv == 0.0 {
            return [0.0, rate];
        }
        let best = -(1.0 + c) * age * self.retention_shift_mv;
        let growth = libm::exp((sensing.level_mv - best) / self.level_width_mv);
        [0.5 * rate / growth, 0.5 * rate * growth]
    }

    /// The noise of a read.
    pub(crate) fn noise(&self) -> Noise {
        match self.read_noise_mv == 0.0 {
            true => Noise::NONE,
            false => Noise::new(self.read_noise_mv / self.level_width_mv),
        }
    }
}

/// The stress that a block has had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stress {
    /// Program/erase cycles.
    pub erases: u32,
    /// Hours since the block was first programmed after its erase.
    pub hours: u32,
    /// Reads since the erase.
    pub reads: u32,
}

/// How a page is read, and what its neighbour holds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sensing {
    /// The block's cells are used as SLC.
    pub slc: bool,
    /// Read level relative to that of a fresh part, in millivolts.
    pub level_mv: f64,
    /// Share of programmed cells in the page of the next word line, 0 to 1.
    pub neighbour_share: f64,
}

/// How the data of a page and of the pages around it affect its cells.
pub(crate) struct OfData<F> {
    /// The largest factor for a cell's expected errors.
    pub(crate) reach: f64,
    /// The factor for the cell at a position.
    pub(crate) factor: F,
}

impl OfData<fn(u32) -> f64> {
    /// No effect.
    pub(crate) const NONE: Self = OfData { reach: 1.0, factor: |_| 1.0 };
}

/// The share of a torn page's bits that read wrong. It is beyond every code that fits into a spare area.
pub(crate) const TORN_RATE: f64 = 0.02;
/// Above this share a page is noise; the process is cut off there.
const RATE_MAX: f64 = 0.1;

#[inline]
fn unit(hash: u64) -> f64 {
    // In (0, 1], so that its logarithm is finite.
    ((hash >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// How far a read's level is off, cell by cell, in units that change the rate by a factor of e.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Noise {
    // The range of each term of the sum that approximates a normal distribution: the sum's deviation is
    // this times √(TERMS / 12).
    step: f64,
    // The factor for the expected errors at the greatest noise, and the divisor that keeps the mean.
    reach: f64,
    mean: f64,
}

/// Terms, each uniform between −½ and ½, whose sum approximates a normal distribution.
const TERMS: u32 = 4;

impl Noise {
    pub(crate) const NONE: Noise = Noise { step: 0.0, reach: 1.0, mean: 1.0 };

    fn new(deviation: f64) -> Noise {
        let step = deviation * libm::sqrt(12.0 / f64::from(TERMS));
        // The mean of e to the step times a term, to the power of the terms.
        let half = 0.5 * step;
        let mean = libm::pow(libm::sinh(half) / half, f64::from(TERMS));
        Noise { step, reach: libm::exp(half * f64::from(TERMS)) / mean, mean }
    }
    /// The factor for the expected errors of the cell with this hash.
    fn factor(&self, hash: u64) -> f64 {
        if self.step == 0.0 {
            return 1.0;
        }
        let sum: u32 = (0..TERMS).map(|term| u32::from((hash >> (16 * term)) as u16)).sum();
        let centred = (f64::from(sum) + 0.5 * f64::from(TERMS)) / 65_536.0 - 0.5 * f64::from(TERMS);
        libm::exp(self.step * centred) / self.mean
    }
}

/// One read of a page: its noise, and a seed that distinguishes it from other reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ReadOnce {
    pub(crate) noise: Noise,
    pub(crate) seed: u64,
}

/// Appends to `flips` the bits out of `bits` that have flipped in the page of `page_seed`, with `rate`
/// expected errors per bit, in the read `once`. They are in the order of arrival; positions may repeat.
#[inline]
pub(crate) fn arrivals<F: Fn(u32) -> f64>(
    page_seed: u64,
    rate: f64,
    bits: u32,
    (once, of_data): (&ReadOnce, &OfData<F>),
    flips: &mut Vec<u32>,
) {
    let expected = rate.min(RATE_MAX) * f64::from(bits);
    let first = unit(mix64(page_seed));
    let reach = once.noise.reach * of_data.reach;
    // 1 - x <= exp(-x): if the first arrival's survival exceeds even that, nothing has flipped. This
    // needs no logarithm.
    if first < 1.0 - expected * reach {
        return;
    }
    grow((page_seed, first), (expected, reach), bits, (once, of_data), flips);
}

#[cold]
#[inline(never)]
fn grow<F: Fn(u32) -> f64>(
    (page_seed, first): (u64, f64),
    (expected, reach): (f64, f64),
    bits: u32,
    (once, of_data): (&ReadOnce, &OfData<F>),
    flips: &mut Vec<u32>,
) {
    let mut arrival = -libm::log(first);
    let mut k = 0u64;
    while arrival < expected * reach {
        k += 1;
        let hash = mix64(page_seed.wrapping_add(k.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let noisy = expected * once.noise.factor(mix64(hash ^ once.seed));
        if arrival < noisy * of_data.reach {
            let position = ((u128::from(mix64(hash ^ 0x5bd1_e995)) * u128::from(bits)) >> 64) as u32;
            if arrival < noisy * (of_data.factor)(position) {
                flips.push(position);
            }
        }
        arrival -= libm::log(unit(hash));
    }
}

/// Puts flips in ascending order, each once.
#[inline]
pub(crate) fn put_in_order(flips: &mut Vec<u32>) {
    if flips.len() > 1 {
        flips.sort_unstable();
        flips.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    const MODEL: ErrorModel = ErrorModel {
        fresh: 1e-6,
        cycle: 2e-6,
        cycle_squared: 1e-6,
        retention: 3e-6,
        read: 1e-9,
        csb_factor: 1.5,
        msb_factor: 2.0,
        slc_factor: 0.1,
        retention_shift_mv: 10.0,
        level_width_mv: 40.0,
        read_noise_mv: 10.0,
        neighbour: 0.3,
        coupling_mv: 0.0,
        lifted: [0.0; LEVELS_MAX],
    };
    const BITS: u32 = 144_384;

    const QUIET: ReadOnce = ReadOnce { noise: Noise::NONE, seed: 0 };

    fn read(seed: u64, rate: f64, once: &ReadOnce) -> BTreeSet<u32> {
        let mut flips = Vec::new();
        arrivals(seed, rate, BITS, (once, &OfData::NONE), &mut flips);
        flips.into_iter().collect()
    }
    fn flips(seed: u64, rate: f64) -> BTreeSet<u32> {
        read(seed, rate, &QUIET)
    }

    #[test]
    fn no_rate_no_flip() {
        for seed in 0..10_000 {
            assert!(flips(seed, 0.0).is_empty());
        }
    }

    #[test]
    fn more_stress_only_adds() {
        for seed in 0..200 {
            let mut before = BTreeSet::new();
            for step in 0..20 {
                let now = flips(seed, 1e-6 * f64::from(step * step));
                assert!(before.is_subset(&now), "seed {seed} step {step}");
                before = now;
            }
        }
    }

    #[test]
    fn the_mean_is_what_the_rate_says() {
        for rate in [1e-7, 1e-6, 1e-5, 1e-4] {
            let pages = 4_000;
            let mut all = Vec::new();
            for seed in 0..pages {
                arrivals(mix64(seed), rate, BITS, (&QUIET, &OfData::NONE), &mut all);
            }
            let expected = rate * f64::from(BITS) * pages as f64;
            let off = (all.len() as f64 - expected).abs();
            assert!(off < 4.5 * expected.sqrt(), "rate {rate}: {} for {expected}", all.len());
            assert!(all.iter().all(|p| *p < BITS));
        }
    }

    #[test]
    fn reads_differ_in_the_cells_near_the_level_and_in_no_others() {
        let (rate, pages, reads) = (2e-4, 200, 10);
        let noise = MODEL.noise();
        let (mut all, mut changing, mut quiet) = (0, 0, 0);
        for page in 0..pages {
            let sets: Vec<_> = (1..=reads)
                .map(|read_of| read(page, rate, &ReadOnce { noise, seed: mix64(read_of) }))
                .collect();
            assert_eq!(sets[0], read(page, rate, &ReadOnce { noise, seed: mix64(1) }), "a seed fixes a read");
            let ever: BTreeSet<u32> = sets.iter().flatten().copied().collect();
            let always: BTreeSet<u32> =
                ever.iter().copied().filter(|bit| sets.iter().all(|set| set.contains(bit))).collect();
            // Noise of a quarter of the width changes the rate by a factor of at most e^(√3/2) in either
            // direction.
            let reach = libm::exp(0.5 * libm::sqrt(3.0));
            assert!(ever.is_subset(&flips(page, rate * reach)), "page {page}: noise reaches only so far");
            assert!(
                always.is_superset(&flips(page, rate / reach / 1.1)),
                "page {page}: what is far is always wrong"
            );
            all += sets.iter().map(BTreeSet::len).sum::<usize>();
            changing +=
                sets.windows(2).map(|two| two[0].symmetric_difference(&two[1]).count()).sum::<usize>();
            quiet += flips(page, rate).len();
        }
        let mean = all as f64 / (reads * pages) as f64;
        let expected = rate * f64::from(BITS);
        assert!((mean / expected - 1.0).abs() < 0.02, "{mean} errors a read for {expected}");
        assert!((quiet as f64 / pages as f64 / expected - 1.0).abs() < 0.05);
        // Two reads differ by the cells that lie within the noise: 2·√(2/2π)·σ of the errors when σ is small,
        // and σ is ¼ here.
        let share = changing as f64 / ((reads - 1) * pages) as f64 / mean;
        assert!((0.2..0.35).contains(&share), "{share}");
    }

    #[test]
    fn cells_that_data_harm_are_wrong_as_much_more_often() {
        // Every fourth cell is wrong three times as often, the others a third as often.
        let of_data =
            OfData { reach: 3.0, factor: |position| if position % 4 == 0 { 3.0 } else { 1.0 / 3.0 } };
        let (mut harmed, mut all) = (0u32, 0u32);
        for seed in 0..400 {
            let mut flips = Vec::new();
            arrivals(mix64(seed), 1e-4, BITS, (&QUIET, &of_data), &mut flips);
            harmed += flips.iter().filter(|position| *position % 4 == 0).count() as u32;
            all += flips.len() as u32;
        }
        assert!((f64::from(harmed) / f64::from(all) - 0.75).abs() < 0.02, "{harmed} of {all}");
        assert!((f64::from(all) / (400.0 * 1e-4 * f64::from(BITS)) - 1.0).abs() < 0.03, "{all}");
    }

    #[test]
    fn without_noise_all_reads_are_alike() {
        for seed in 0..50 {
            let once =
                ReadOnce { noise: ErrorModel { read_noise_mv: 0.0, ..MODEL }.noise(), seed: mix64(seed) };
            assert_eq!(read(seed, 1e-4, &once), flips(seed, 1e-4));
        }
    }

    #[test]
    fn a_higher_level_has_fewer_errors_above_it_and_more_below() {
        let at = |level_mv| {
            MODEL.rates(PageType::Lsb, Stress::default(), Sensing { level_mv, ..Sensing::default() })
        };
        let ([above, below], [less, more]) = (at(0.0), at(40.0));
        assert_eq!(above, below, "the best level has as many of either");
        let e = core::f64::consts::E;
        assert!(
            (above / less - e).abs() < 1e-9 && (more / below - e).abs() < 1e-9,
            "a width is a factor of e"
        );
    }

    fn rate(kind: PageType, stress: Stress) -> f64 {
        MODEL.rate(kind, stress, Sensing::default())
    }

    #[test]
    fn every_influence_raises_the_rate() {
        let rest = rate(PageType::Lsb, Stress::default());
        for stress in [
            Stress { erases: 1_000, ..Stress::default() },
            Stress { hours: 24, ..Stress::default() },
            Stress { reads: 10_000, ..Stress::default() },
        ] {
            assert!(rate(PageType::Lsb, stress) > rest, "{stress:?}");
        }
        assert!(rate(PageType::Csb, Stress::default()) > rest);
        assert!(rate(PageType::Msb, Stress::default()) > rate(PageType::Csb, Stress::default()));
        assert!(ErrorModel::NONE.is_off() && !MODEL.is_off());
    }

    #[test]
    fn slc_use_helps_and_a_charged_neighbour_harms() {
        let with = |sensing| MODEL.rate(PageType::Lsb, Stress::default(), sensing);
        let rest = with(Sensing::default());
        assert!(with(Sensing { slc: true, ..Sensing::default() }) < rest);
        let beside = |neighbour_share| with(Sensing { neighbour_share, ..Sensing::default() });
        assert!(beside(0.5) > rest && beside(1.0) > beside(0.5));
        assert!((beside(0.5) / rest - 1.3).abs() < 1e-12, "the share is of scrambled data");
    }

    /// The level with the fewest errors among some, in millivolts.
    fn best_of(levels: &[f64], stress: Stress) -> f64 {
        let at = |level_mv| MODEL.rate(PageType::Msb, stress, Sensing { level_mv, ..Sensing::default() });
        levels.iter().copied().min_by(|a, b| at(*a).total_cmp(&at(*b))).unwrap()
    }

    #[test]
    fn the_best_read_level_sinks_with_time_and_faster_in_worn_blocks() {
        let levels: Vec<f64> = (-30..=10).map(|i| f64::from(i) * 10.0).collect();
        let after = |hours, erases| best_of(&levels, Stress { erases, hours, reads: 0 });
        assert_eq!(after(0, 0), 0.0);
        // ln(1 + 1000) = 6.9 units of 10 mV; twice that at 1000 cycles.
        assert_eq!((after(1_000, 0), after(1_000, 1_000)), (-70.0, -140.0));
        assert!(after(10, 0) > after(100, 0) && after(100, 0) > after(10_000, 0));
    }

    #[test]
    fn rates_rise_to_both_sides_of_the_best_level() {
        let at = |level_mv| {
            MODEL.rate(PageType::Lsb, Stress::default(), Sensing { level_mv, ..Sensing::default() })
        };
        assert!(at(-80.0) > at(-40.0) && at(-40.0) > at(0.0) && at(40.0) > at(0.0) && at(80.0) > at(40.0));
        assert!((at(40.0) / at(0.0) - 1.543).abs() < 1e-3, "cosh 1 at one width");
    }
}
