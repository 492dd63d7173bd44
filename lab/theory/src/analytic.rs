//! Write amplification in closed form, and by mean-field models.
//!
//! `fill` is the share of the pages of all blocks that data lie in which hold current data: logical over
//! physical pages, above 0 and below 1. Its inverse minus one is the over-provisioning.
//!
//! All of them are limits for many blocks. Pools of some hundred blocks come close from above.

use crate::workload::Workload;

/// Halvings of an interval that leave nothing of it in a double.
const HALVINGS: u32 = 80;

/// The value in `low..high` at which `is_above` begins to hold.
fn bisect(mut low: f64, mut high: f64, mut is_above: impl FnMut(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if is_above(middle) { high = middle } else { low = middle }
    }
    0.5 * (low + high)
}

/// The principal branch of Lambert's W, where *W e^W = x*, for −1/e ≤ `x` ≤ 0.
pub fn lambert_w(x: f64) -> f64 {
    bisect(-1.0, 0.0, |w| w * w.exp() > x)
}

/// FIFO under uniform writes: *A = α / (α + W(−α e^−α))* with *α* = 1 / `fill`.
///
/// P. Desnoyers, "Analytic Modeling of SSD Write Performance", SYSTOR 2012, who calls it LRU. It is also
/// what L. Xiang and B. Kurkoski, "An Improved Analytic Expression for Write Amplification in NAND Flash",
/// ICNC 2012, have for greedy collection of large blocks.
pub fn fifo_uniform(fill: f64) -> f64 {
    let alpha = 1.0 / fill;
    alpha / (alpha + lambert_w(-alpha * (-alpha).exp()))
}

/// FIFO under writes of any skew.
///
/// Between two erases of a block the drive programs as many pages as there are, so that the host writes 1 /
/// (`fill` *A*) times its pages. A page of a class with the share *w* of writes and *s* of pages is not
/// written meanwhile with the probability *p = exp(−w / (s* `fill` *A))*, and is then copied, so that the
/// class is programmed *w / (1 − p)* times for each write of the host. The sum over classes is *A* (as
/// Desnoyers, loc. cit., has it for hot and cold data). One open block or one for copies: it makes no
/// difference, since blocks of both wait equally long.
pub fn fifo(workload: &Workload, fill: f64) -> f64 {
    let programmed = |a: f64| -> f64 {
        let of_class = |class: &crate::Class| {
            let rate = class.writes / (class.pages * fill * a);
            class.writes / -(-rate).exp_m1()
        };
        workload.classes().iter().map(of_class).sum()
    };
    // What is programmed grows with A, but by `fill` for each at most: above the fixed point it is less.
    bisect(1.0, 1e6, |a| programmed(a) < a)
}

/// Greedy under uniform writes, of blocks of `pages_per_block` pages: the limit of [`d_choices`] for many
/// choices.
pub fn greedy(pages_per_block: u32, fill: f64) -> f64 {
    mean_field(pages_per_block, fill, |above, step| (above + step).min(1.0))
}

/// The best of `choices` blocks drawn at random, under uniform writes.
///
/// B. Van Houdt, "A Mean Field Model for a Class of Garbage Collection Algorithms in Flash-Based Solid State
/// Drives", SIGMETRICS 2013, and independently Y. Li, P. Lee, J. Lui, "Stochastic Modeling of Large-Scale
/// Solid-State Storage Systems", SIGMETRICS 2013. With *S(i)* for the share of blocks with *i* or more valid
/// pages, a victim has *i* or more with the probability *S(i)^d*. In the fixed point, blocks that come down
/// to *i* − 1 valid pages are as many as victims that have fewer than *i*: *λ i (S(i) − S(i+1)) = 1 −
/// S(i)^d*, where *λ* is how often a page is written between two victims.
pub fn d_choices(choices: u32, pages_per_block: u32, fill: f64) -> f64 {
    let choices = f64::from(choices);
    mean_field(pages_per_block, fill, |above, step| {
        bisect(above, 1.0, |share| share - above > step * (1.0 - share.powf(choices)))
    })
}

/// As [`d_choices`], but of blocks with a stale page alone, since copying a whole block brings no room: a
/// victim then has *i* or more valid pages with the probability *((S(i) − S(b)) / (1 − S(b)))^d*, of *b*
/// pages a block. It matters for few choices and small blocks.
pub fn d_choices_of_stale(choices: u32, pages_per_block: u32, fill: f64) -> f64 {
    let choices = f64::from(choices);
    let mut whole = None;
    mean_field(pages_per_block, fill, |above, step| {
        if above == 0.0 {
            whole = Some(step.min(1.0));
            return step.min(1.0);
        }
        let whole = whole.unwrap_or(0.0).min(1.0 - f64::EPSILON);
        let victims = |share: f64| ((share - whole) / (1.0 - whole)).powf(choices);
        bisect(above, 1.0, |share| share - above > step * (1.0 - victims(share)))
    })
}

/// `next` gives *S(i)* from *S(i+1)* and 1 / *λ i*. The valid pages that this comes to have to be `fill`.
fn mean_field(pages_per_block: u32, fill: f64, mut next: impl FnMut(f64, f64) -> f64) -> f64 {
    let pages = f64::from(pages_per_block);
    let mut filled = |rate: f64| -> f64 {
        let (mut share, mut sum) = (0.0, 0.0);
        for valid in (1..=pages_per_block).rev() {
            share = next(share, 1.0 / (rate * f64::from(valid)));
            sum += share;
        }
        sum / pages
    };
    // Of b pages of a victim λ · fill · b are the host's.
    let rate = bisect(0.0, 1.0 / fill, |rate| filled(rate) < fill);
    1.0 / (rate * fill)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64, within: f64) {
        assert!((value / expected - 1.0).abs() < within, "{value}, not {expected}");
    }

    #[test]
    fn lamberts_function_is_the_inverse_that_it_is() {
        for x in [-0.36, -0.2, -0.01] {
            let w = lambert_w(x);
            assert!((w * w.exp() - x).abs() < 1e-12 && (-1.0..=0.0).contains(&w), "{x}: {w}");
        }
        // The omega constant's relative on this side: W(−ln 2 / 2) = −ln 2.
        near(lambert_w(-0.5 * 2f64.ln()), -2f64.ln(), 1e-12);
    }

    #[test]
    fn fifo_in_closed_form_is_fifo_by_classes_and_skew_costs() {
        for fill in [0.5, 0.78, 0.93] {
            near(fifo(&Workload::uniform(), fill), fifo_uniform(fill), 1e-9);
            // Halves that are written alike are no classes.
            near(fifo(&Workload::hot_cold(0.5, 0.5), fill), fifo_uniform(fill), 1e-9);
        }
    }

    #[test]
    fn many_choices_are_greedy_and_large_blocks_are_fifo() {
        for (pages, fill) in [(16, 0.8), (64, 0.9), (256, 0.93)] {
            near(d_choices(100_000, pages, fill), greedy(pages, fill), 1e-3);
        }
        near(greedy(100_000, 0.9), fifo_uniform(0.9), 1e-3);
        // Random blocks: each page of one is valid with the probability `fill`.
        near(d_choices(1, 64, 0.8), 5.0, 1e-9);
    }
}
