use crate::Permutation;
use aster_units::Rng;

/// Zipf-distributed block numbers: the block of rank `k` (from 1) is drawn with weight `k^-theta`. Each draw takes
/// constant time and memory whatever the length: rejection-inversion (Hörmann and Derflinger 1996), for any
/// `theta > 0`, 1 included.
///
/// Ranks are scattered over the region by a [`Permutation`], so hot blocks are not neighbours.
#[derive(Clone, Debug)]
pub struct Zipf {
    theta: f64,
    area_first: f64,
    area_last: f64,
    accept_below: f64,
    place: Permutation,
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
    /// Over blocks `0..len` with exponent `theta > 0`, finite; `seed` decides where the hot blocks lie.
    pub fn new(len: u64, theta: f64, seed: u64) -> Self {
        assert!(theta > 0.0 && theta.is_finite(), "zipf needs a finite theta above 0, not {theta}");
        Zipf {
            theta,
            area_first: area(theta, 1.5) - 1.0,
            area_last: area(theta, len as f64 + 0.5),
            accept_below: 2.0 - area_inverse(theta, area(theta, 2.5) - weight(theta, 2.0)),
            place: Permutation::new(len, seed),
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

/// Blocks after Pareto's rule with fio's parameter `h`: a share `h` of the blocks takes `1 - h` of the requests
/// (0.2 is the 80/20 rule). Ranks are scattered as in [`Zipf`].
#[derive(Clone, Debug)]
pub struct Pareto {
    exponent: f64,
    place: Permutation,
}

impl Pareto {
    /// Over blocks `0..len` with `0 < h < 1`; `seed` decides where the hot blocks lie.
    pub fn new(len: u64, h: f64, seed: u64) -> Self {
        assert!(h > 0.0 && h < 1.0, "pareto needs h between 0 and 1, not {h}");
        Pareto { exponent: libm::log(h) / libm::log(1.0 - h), place: Permutation::new(len, seed) }
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
            let zipf = Zipf::new(len, theta, 3);
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
        assert_eq!(Zipf::new(1, 1.1, 0).block(&mut rng), 0);
        let wide = Zipf::new(1 << 40, 0.8, 0);
        for _ in 0..1_000 {
            assert!(wide.block(&mut rng) < 1 << 40);
        }
    }

    #[test]
    fn hot_blocks_are_scattered() {
        let zipf = Zipf::new(1 << 20, 1.2, 5);
        let hot: Vec<u64> = (0..8).map(|rank| zipf.place.at(rank)).collect();
        assert!(hot.windows(2).all(|w| w[0].abs_diff(w[1]) > 8));
    }

    #[test]
    fn pareto_gives_a_fifth_of_the_blocks_four_fifths_of_the_requests() {
        let pareto = Pareto::new(1_000, 0.2, 0);
        let got = counts(1_000, 100_000, |rng| pareto.rank(rng));
        let hot: f64 = got[..200].iter().sum::<f64>() / 100_000.0;
        assert!((0.78..0.82).contains(&hot), "{hot}");
    }
}
