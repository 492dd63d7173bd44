use crate::Permutation;
use aster_units::Rng;

/// Zipf-distributed block numbers: the block of rank `k` (from 1) is drawn with weight `k^-theta`. Each
/// draw takes constant time and memory for any length, by rejection-inversion (Hörmann and Derflinger
/// 1996). `theta` is any number above 0, 1 included.
///
/// Ranks are scattered over the region by a [`Permutation`], so hot blocks are not neighbours.
#[derive(Clone, Debug)]
pub struct Zipf {
    theta: f64,
    area_first: f64,
    area_last: f64,
    accept_below: f64,
    place: Scatter,
}

/// Ranks scattered over a region, with the first one at a given place.
#[derive(Clone, Debug)]
struct Scatter {
    order: Permutation,
    shift: u64,
}

impl Scatter {
    fn new(len: u64, seed: u64, center: Option<f64>) -> Self {
        let order = Permutation::new(len, seed);
        let shift = center.map_or(0, |center| {
            let first = ((center * len as f64) as u64).min(len - 1);
            (first + len - order.at(0)) % len
        });
        Scatter { order, shift }
    }

    fn len(&self) -> u64 {
        self.order.len()
    }

    fn at(&self, rank: u64) -> u64 {
        let (at, len) = (self.order.at(rank), self.len());
        // Both are below the length, whose double is within 64 bits.
        (at + self.shift) % len
    }
}

/// `(eˣ - 1) / x`, continuous at 0.
fn expm1_over(x: f64) -> f64 {
    if libm::fabs(x) > 1e-8 { libm::expm1(x) / x } else { 1.0 + x / 2.0 }
}

/// `ln(1 + x) / x`, continuous at 0.
fn log1p_over(x: f64) -> f64 {
    if libm::fabs(x) > 1e-8 { libm::log1p(x) / x } else { 1.0 - x / 2.0 }
}

/// Integral of `t^-theta` from 1 to `x`.
fn area(theta: f64, x: f64) -> f64 {
    let log = libm::log(x);
    expm1_over((1.0 - theta) * log) * log
}

/// The `x` whose [`area`] is `a`.
fn area_inverse(theta: f64, a: f64) -> f64 {
    // Rounding can push the product a little under -1, where the logarithm ends.
    let t = libm::fmax(a * (1.0 - theta), -1.0);
    libm::exp(log1p_over(t) * a)
}

fn weight(theta: f64, x: f64) -> f64 {
    libm::exp(-theta * libm::log(x))
}

impl Zipf {
    /// A distribution over blocks `0..len` with a finite exponent `theta > 0`. `seed` decides where the
    /// hot blocks lie. If `center` is given, the hottest block is at that share of the region.
    pub fn new(len: u64, theta: f64, seed: u64, center: Option<f64>) -> Self {
        assert!(theta > 0.0 && theta.is_finite(), "zipf needs a finite theta above 0, not {theta}");
        Zipf {
            theta,
            area_first: area(theta, 1.5) - 1.0,
            area_last: area(theta, len as f64 + 0.5),
            accept_below: 2.0 - area_inverse(theta, area(theta, 2.5) - weight(theta, 2.0)),
            place: Scatter::new(len, seed, center),
        }
    }

    /// Draws a rank from 0 (the most frequent).
    pub fn rank(&self, rng: &mut Rng) -> u64 {
        let len = self.place.len();
        loop {
            let a = self.area_last + rng.unit_f64() * (self.area_first - self.area_last);
            let x = area_inverse(self.theta, a);
            let k = (libm::floor(x + 0.5) as u64).clamp(1, len);
            let k_real = k as f64;
            if k_real - x <= self.accept_below
                || a >= area(self.theta, k_real + 0.5) - weight(self.theta, k_real)
            {
                return k - 1;
            }
        }
    }

    /// Draws a block.
    pub fn block(&self, rng: &mut Rng) -> u64 {
        self.place.at(self.rank(rng))
    }
}

/// Blocks after Pareto's rule with fio's parameter `h`: a share `h` of the blocks takes `1 - h` of the
/// requests (0.2 is the 80/20 rule). Ranks are scattered as in [`Zipf`].
#[derive(Clone, Debug)]
pub struct Pareto {
    exponent: f64,
    place: Scatter,
}

impl Pareto {
    /// A distribution over blocks `0..len` with `0 < h < 1`. `seed` and `center` decide where the hot
    /// blocks lie, as with [`Zipf::new`].
    pub fn new(len: u64, h: f64, seed: u64, center: Option<f64>) -> Self {
        assert!(h > 0.0 && h < 1.0, "pareto needs h between 0 and 1, not {h}");
        Pareto { exponent: libm::log(h) / libm::log(1.0 - h), place: Scatter::new(len, seed, center) }
    }

    /// Draws a rank from 0 (the most frequent).
    pub fn rank(&self, rng: &mut Rng) -> u64 {
        let len = self.place.len();
        let share = libm::pow(rng.unit_f64(), self.exponent);
        ((share * len as f64) as u64).min(len - 1)
    }

    /// Draws a block.
    pub fn block(&self, rng: &mut Rng) -> u64 {
        self.place.at(self.rank(rng))
    }
}

/// Normally distributed blocks: those near the centre are the most likely. As in fio, the curve is the
/// mean of twelve uniform draws, whose deviation is a twelfth of the region, widened by `deviation`
/// percent of the region.
#[derive(Clone, Debug)]
pub struct Normal {
    len: u64,
    widened_by: f64,
    center: f64,
}

impl Normal {
    /// A distribution over blocks `0..len` with `0 <= deviation < 100`. The middle of the curve is at the
    /// share `center` of the region.
    pub fn new(len: u64, deviation: f64, center: f64) -> Self {
        assert!(
            (0.0..100.0).contains(&deviation),
            "a deviation is from 0 to below 100 percent, not {deviation}"
        );
        assert!((0.0..=1.0).contains(&center), "a centre is from 0 to 1, not {center}");
        Normal { len, widened_by: (deviation / 100.0).min(0.5), center }
    }

    /// Draws a block. A draw beyond an end of the region wraps around to the other, as in fio.
    pub fn block(&self, rng: &mut Rng) -> u64 {
        const DRAWS: u32 = 12;
        let mean = (0..DRAWS).map(|_| rng.unit_f64()).sum::<f64>() / f64::from(DRAWS);
        let widened = if self.widened_by > 0.0 { self.widened_by * (rng.unit_f64() - 0.5) } else { 0.0 };
        let share = mean + widened + self.center - 0.5;
        let share = share - libm::floor(share);
        ((share * self.len as f64) as u64).min(self.len - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn counts(len: usize, draws: usize, mut rank: impl FnMut(&mut Rng) -> u64) -> Vec<f64> {
        let mut rng = Rng::new(7);
        let mut n = vec![0.0; len];
        for _ in 0..draws {
            n[rank(&mut rng) as usize] += 1.0;
        }
        n
    }

    #[test]
    fn zipf_frequencies_follow_the_power_law() {
        for theta in [0.5, 0.99, 1.0, 1.2, 2.5] {
            let (len, draws) = (100, 400_000);
            let zipf = Zipf::new(len, theta, 3, None);
            let got = counts(len as usize, draws, |rng| zipf.rank(rng));
            let total: f64 = (1..=len).map(|k| libm::pow(k as f64, -theta)).sum();
            for k in [1usize, 2, 3, 5, 10] {
                let want = draws as f64 * libm::pow(k as f64, -theta) / total;
                // Five standard deviations of a Poisson count.
                let slack = 5.0 * libm::sqrt(want);
                assert!(
                    libm::fabs(got[k - 1] - want) < slack,
                    "theta {theta} rank {k}: {} for {want}",
                    got[k - 1]
                );
            }
        }
    }

    #[test]
    fn zipf_reaches_one_block_and_very_many() {
        let mut rng = Rng::new(1);
        assert_eq!(Zipf::new(1, 1.1, 0, None).block(&mut rng), 0);
        let wide = Zipf::new(1 << 40, 0.8, 0, None);
        for _ in 0..1_000 {
            assert!(wide.block(&mut rng) < 1 << 40);
        }
    }

    #[test]
    fn hot_blocks_are_scattered() {
        let zipf = Zipf::new(1 << 20, 1.2, 5, None);
        let hot: Vec<u64> = (0..8).map(|rank| zipf.place.at(rank)).collect();
        assert!(hot.windows(2).all(|w| w[0].abs_diff(w[1]) > 8));
    }

    #[test]
    fn pareto_gives_a_fifth_of_the_blocks_four_fifths_of_the_requests() {
        let pareto = Pareto::new(1_000, 0.2, 0, None);
        let got = counts(1_000, 100_000, |rng| pareto.rank(rng));
        let hot: f64 = got[..200].iter().sum::<f64>() / 100_000.0;
        assert!((0.78..0.82).contains(&hot), "{hot}");
    }

    #[test]
    fn the_hottest_block_lies_where_the_centre_is() {
        for (center, hottest) in [(0.0, 0), (0.25, 250), (1.0, 999)] {
            assert_eq!(Zipf::new(1_000, 1.2, 9, Some(center)).place.at(0), hottest);
            assert_eq!(Pareto::new(1_000, 0.2, 9, Some(center)).place.at(0), hottest);
        }
        // The centre only moves the places: each block still has a rank.
        let place = Zipf::new(1_000, 1.2, 9, Some(0.5)).place;
        let mut places: Vec<u64> = (0..1_000).map(|rank| place.at(rank)).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..1_000));
    }

    #[test]
    fn a_normal_distribution_is_a_bell_of_the_deviation_around_its_centre() {
        for (deviation, center) in [(0.0, 0.5), (40.0, 0.5), (0.0, 0.4)] {
            let (len, draws) = (10_000u64, 50_000);
            let normal = Normal::new(len, deviation, center);
            let mut rng = Rng::new(3);
            let at: Vec<f64> = (0..draws).map(|_| normal.block(&mut rng) as f64 / len as f64).collect();
            let mean = at.iter().sum::<f64>() / f64::from(draws);
            let variance = at.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(draws);
            // The variance of the mean of twelve draws, plus that of an even spread over the deviation.
            let want = 1.0 / 144.0 + (deviation / 100.0) * (deviation / 100.0) / 12.0;
            assert!(libm::fabs(mean - center) < 0.005, "{mean} for {center}");
            assert!(libm::fabs(variance / want - 1.0) < 0.05, "{variance} for {want}");
        }
    }

    #[test]
    fn what_leaves_the_region_comes_in_at_the_other_end() {
        let normal = Normal::new(1_000, 0.0, 0.0);
        let mut rng = Rng::new(5);
        let (low, high) = (0..10_000).map(|_| normal.block(&mut rng)).fold((0, 0), |(low, high), b| {
            assert!(!(400..600).contains(&b), "{b} is far from the centre at both ends");
            (low + u32::from(b < 400), high + u32::from(b >= 600))
        });
        assert!(low.abs_diff(high) < 500, "{low} and {high}");
    }
}
