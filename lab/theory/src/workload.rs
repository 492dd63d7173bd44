//! Which pages are written how often.

use aster_units::Rng;

/// A class of pages that are written equally often.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Class {
    /// Their share of all pages.
    pub pages: f64,
    /// The share of writes that go to them.
    pub writes: f64,
}

/// Writes of one page each, independent of one another. The pages of a class are contiguous.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    classes: Vec<Class>,
}

impl Workload {
    /// All pages are equally likely.
    pub fn uniform() -> Self {
        Workload { classes: vec![Class { pages: 1.0, writes: 1.0 }] }
    }
    /// A share `pages` of the pages gets a share `writes` of the writes. Both are above 0 and below 1.
    pub fn hot_cold(pages: f64, writes: f64) -> Self {
        let cold = Class { pages: 1.0 - pages, writes: 1.0 - writes };
        Workload { classes: vec![Class { pages, writes }, cold] }
    }
    /// Page *k* of `pages`, from 1 on, is written in proportion to *k* to the power of −`exponent`.
    pub fn zipf(pages: u32, exponent: f64) -> Self {
        let weights: Vec<f64> = (1..=pages).map(|k| f64::from(k).powf(-exponent)).collect();
        let all: f64 = weights.iter().sum();
        let share = 1.0 / f64::from(pages);
        Workload { classes: weights.iter().map(|w| Class { pages: share, writes: w / all }).collect() }
    }
    /// The classes, in the order of their pages.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }
    /// A generator over `pages` pages. Each class has at least one page.
    pub(crate) fn draws(&self, pages: u32) -> Draws {
        let (mut until, mut writes, mut share) = (Vec::new(), Vec::new(), (0.0, 0.0));
        for class in &self.classes {
            share = (share.0 + class.pages, share.1 + class.writes);
            let last = until.last().copied().unwrap_or(0);
            until.push(((f64::from(pages) * share.0).round() as u32).clamp(last + 1, pages));
            writes.push(share.1);
        }
        Draws { until, writes }
    }
}

/// Draws pages.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    /// For each class, the page after its last.
    until: Vec<u32>,
    /// For each class, the share of writes that go to it or to an earlier class.
    writes: Vec<f64>,
}

impl Draws {
    pub(crate) fn next(&self, rng: &mut Rng) -> u32 {
        let class = match self.until.len() {
            1 => 0,
            classes => {
                let at = rng.unit_f64();
                self.writes.partition_point(|&until| until <= at).min(classes - 1)
            }
        };
        let first = if class == 0 { 0 } else { self.until[class - 1] };
        first + rng.below(u64::from(self.until[class] - first)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(workload: &Workload) -> [u32; 10] {
        let (draws, mut rng, mut tenths) = (workload.draws(1000), Rng::new(3), [0; 10]);
        (0..100_000).for_each(|_| tenths[draws.next(&mut rng) as usize / 100] += 1);
        tenths
    }

    #[test]
    fn pages_are_drawn_as_often_as_their_class_says() {
        let near = |counts: &[u32], expected: u32| {
            assert!(counts.iter().all(|count| count.abs_diff(expected) < 500), "{counts:?}: {expected}");
        };
        near(&drawn(&Workload::uniform()), 10_000);
        let hot_cold = drawn(&Workload::hot_cold(0.1, 0.9));
        near(&hot_cold[..1], 90_000);
        near(&hot_cold[1..], 1_111);
        // The harmonic numbers of 100 and 1000 are 5.187 and 7.485.
        near(&drawn(&Workload::zipf(1000, 1.0))[..1], 69_300);
    }
}
