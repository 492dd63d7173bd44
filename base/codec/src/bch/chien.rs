//! Chien's search: which positions make the locator vanish.

use super::field::Field;

/// Writes to `positions` the exponents p below `length` with Λ(α^−p) = 0, ascending, and returns how many there are.
///
/// `locator` holds Λ_0 … Λ_v, lowest first, v ≥ 1 and v ≤ `positions.len()`; `exponents` is working space of v elements.
/// The search ends at the v-th root. Roots outside 0..`length` lie in the zeroes that shortening leaves out and aren't
/// found, so that a count below v says that the word cannot be corrected.
pub(super) fn search(
    field: &Field,
    locator: &[u16],
    length: usize,
    exponents: &mut [(u32, u32)],
    positions: &mut [u32],
) -> usize {
    let order = field.order() as u32;
    let degree = locator.len() - 1;
    let mut terms = 0;
    for (j, coefficient) in locator.iter().enumerate().skip(1) {
        if *coefficient != 0 {
            // Multiplying by α^−j adds order − j to the logarithm.
            exponents[terms] = (field.log(*coefficient) as u32, order - j as u32);
            terms += 1;
        }
    }
    let exponents = &mut exponents[..terms];
    let mut found = 0;
    for position in 0..length {
        let mut value = locator[0];
        for (exponent, step) in exponents.iter_mut() {
            value ^= field.alpha_reduced(*exponent as usize);
            let next = *exponent + *step;
            *exponent = next.min(next.wrapping_sub(order));
        }
        if value == 0 {
            positions[found] = position as u32;
            found += 1;
            if found == degree {
                break;
            }
        }
    }
    found
}
