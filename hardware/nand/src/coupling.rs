//! Program interference, cell by cell: how the cells around a cell raise its threshold voltage.
//!
//! Three neighbours lift a cell's threshold if they hold charge, which all but erased cells do: the two
//! beside it on its word line, and the one on the word line that is programmed after its own (Cai et al.,
//! ICCD 2013). Read levels are chosen for the average lift of random data. A cell that is lifted more
//! than that is wrong more often, and a cell that is lifted less is wrong less often. This applies only
//! to errors that a lift can cause: those of erased cells are of this kind, those of the highest level
//! are not.

use crate::errors::{ErrorModel, LEVELS_MAX};
use aster_units::CellMode;

/// The share of each neighbour in the lift: of a cell on either side, and of the cell on the next word
/// line, which counts as much as both.
const BESIDE: f64 = 0.25;
const NEXT: f64 = 0.5;

/// The level of a cell from its bits, LSB first. The code is a reflected Gray code that begins with the
/// erased cell, whose bits are all one.
#[inline]
pub(crate) fn level(bits: impl IntoIterator<Item = bool>) -> usize {
    let mut level = 0;
    for bit in bits {
        level = (level << 1) | ((level & 1) ^ usize::from(!bit));
    }
    level
}

/// What data do to the cells of a page of a given wear.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coupling {
    /// The share of each level's errors that a lift causes ([`ErrorModel::lifted`]).
    lifted: [f64; LEVELS_MAX],
    /// The lift by all neighbours together, in units that change the rate by a factor of e.
    lift: f64,
    /// Share of charged cells in random data.
    charged: f64,
    /// The divisor that keeps the mean error rate of random data at 1.
    mean: f64,
    /// The largest factor for errors.
    pub reach: f64,
}

impl Coupling {
    /// `None` if neighbours don't matter: the model has no coupling, or the block is fresh.
    pub(crate) fn of(model: &ErrorModel, cells: CellMode, erases: u32) -> Option<Coupling> {
        if model.coupling_mv == 0.0 || erases == 0 {
            return None;
        }
        let levels = 1usize << cells.bits();
        let charged = 1.0 - 1.0 / levels as f64;
        let lift = model.coupling_mv * f64::from(erases) * 1e-3 / model.level_width_mv;
        // Neighbours are independent, so the mean is the product of their means.
        let each = |share: f64| {
            let (with, without) = (lift * share * (1.0 - charged), -lift * share * charged);
            charged * libm::exp(with) + (1.0 - charged) * libm::exp(without)
        };
        let random = each(BESIDE) * each(BESIDE) * each(NEXT);
        let lifted = model.lifted;
        let mean = lifted[..levels].iter().map(|a| 1.0 - a + a * random).sum::<f64>() / levels as f64;
        let mut coupling = Coupling { lifted, lift, charged, mean, reach: 1.0 };
        coupling.reach = (0..levels).map(|level| coupling.factor(level, [true; 3])).fold(0.0, f64::max);
        Some(coupling)
    }

    /// The factor for the expected errors of a cell at `level`, given whether its neighbours on the left,
    /// on the right and on the next word line are charged.
    pub(crate) fn factor(&self, level: usize, [left, right, next]: [bool; 3]) -> f64 {
        let of = |is_charged: bool, share: f64| if is_charged { share } else { 0.0 };
        let share = of(left, BESIDE) + of(right, BESIDE) + of(next, NEXT);
        let lifted = self.lifted[level];
        (1.0 - lifted + lifted * libm::exp(self.lift * (share - self.charged))) / self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn model(lifted: &[f64]) -> ErrorModel {
        let mut all = [0.0; LEVELS_MAX];
        all[..lifted.len()].copy_from_slice(lifted);
        ErrorModel { level_width_mv: 25.0, coupling_mv: 10.0, lifted: all, ..ErrorModel::NONE }
    }

    #[test]
    fn neighbouring_levels_differ_in_one_bit_and_the_erased_cell_is_all_ones() {
        assert_eq!([level([true]), level([false])], [0, 1]);
        let mlc = |lsb, msb| level([lsb, msb]);
        assert_eq!([mlc(true, true), mlc(true, false), mlc(false, false), mlc(false, true)], [0, 1, 2, 3]);
        let mut of_tlc: Vec<(usize, u32)> =
            (0..8u32).map(|n| (level([n & 1 != 0, n & 2 != 0, n & 4 != 0]), n)).collect();
        of_tlc.sort_unstable();
        assert_eq!(of_tlc[0], (0, 7));
        for two in of_tlc.windows(2) {
            assert_eq!((two[1].0 - two[0].0, (two[0].1 ^ two[1].1).count_ones()), (1, 1), "{two:?}");
        }
    }

    #[test]
    fn random_data_have_as_many_errors_as_without_and_none_has_more_than_the_reach() {
        for cells in [CellMode::Slc, CellMode::Mlc, CellMode::Tlc] {
            let levels = 1usize << cells.bits();
            let lifted: Vec<f64> = (0..levels).map(|n| 1.0 - n as f64 / levels as f64).collect();
            let coupling = Coupling::of(&model(&lifted), cells, 5_000).unwrap();
            let charged = |n: usize| n > 0;
            let (mut sum, mut count) = (0.0, 0);
            for cell in 0..levels.pow(4) {
                let of = |place: u32| cell / levels.pow(place) % levels;
                let factor = coupling.factor(of(0), [charged(of(1)), charged(of(2)), charged(of(3))]);
                assert!(factor <= coupling.reach * (1.0 + 1e-12), "{cells:?} {cell}");
                sum += factor;
                count += 1;
            }
            assert!((sum / f64::from(count) - 1.0).abs() < 1e-12, "{cells:?}: {}", sum / f64::from(count));
        }
    }

    #[test]
    fn charged_neighbours_harm_what_a_lift_harms_and_more_when_worn() {
        let model = model(&[1.0, 0.5, 0.5, 0.0]);
        let at = |erases| Coupling::of(&model, CellMode::Mlc, erases).unwrap();
        let spread = |of: &Coupling, level| of.factor(level, [true; 3]) / of.factor(level, [false; 3]);
        assert!(spread(&at(5_000), 0) > spread(&at(5_000), 1) && spread(&at(5_000), 1) > 1.0);
        assert_eq!(spread(&at(5_000), 3), 1.0, "above the highest level there is none to be taken for");
        assert!(spread(&at(1_000), 0) < spread(&at(5_000), 0));
        let next = at(5_000).factor(0, [false, false, true]);
        assert!(
            (next / at(5_000).factor(0, [true, true, false]) - 1.0).abs() < 1e-12,
            "as near as both beside"
        );
        assert!(Coupling::of(&model, CellMode::Mlc, 0).is_none(), "of a fresh part");
        let off = ErrorModel { coupling_mv: 0.0, ..model };
        assert!(Coupling::of(&off, CellMode::Mlc, 5_000).is_none());
    }
}
