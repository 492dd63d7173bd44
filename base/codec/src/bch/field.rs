//! Arithmetic in GF(2^m) by logarithm tables.

use alloc::vec;
use alloc::vec::Vec;

/// Smallest supported field degree m.
pub const FIELD_DEGREE_MIN: u32 = 5;
/// Largest supported field degree m.
pub const FIELD_DEGREE_MAX: u32 = 16;

/// One primitive polynomial per degree, leading term included, from m = 5. They are the usual ones of
/// least weight (Lin and Costello, Error Control Coding, table 2.7), which other BCH implementations use,
/// too.
const PRIMITIVE: [u32; 12] =
    [0x25, 0x43, 0x83, 0x11D, 0x211, 0x409, 0x805, 0x1053, 0x201B, 0x402B, 0x8003, 0x1100B];

/// GF(2^m), 5 <= m <= 16, as polynomials in α modulo a primitive polynomial: bit i of an element is the
/// coefficient of α^i.
#[derive(Clone, Debug)]
pub struct Field {
    degree: u32,
    order: usize,
    /// α^i for i in 0..2·order, so that the sum of two logarithms needs no reduction.
    power: Vec<u16>,
    /// log[x] for x in 1..=order; log[0] is never read.
    log: Vec<u16>,
}

impl Field {
    /// The field of 2^`degree` elements; `None` outside [`FIELD_DEGREE_MIN`]..=[`FIELD_DEGREE_MAX`].
    pub fn new(degree: u32) -> Option<Field> {
        if !(FIELD_DEGREE_MIN..=FIELD_DEGREE_MAX).contains(&degree) {
            return None;
        }
        let order = (1usize << degree) - 1;
        let primitive = PRIMITIVE[(degree - FIELD_DEGREE_MIN) as usize];
        let mut power = vec![0u16; 2 * order];
        let mut log = vec![0u16; order + 1];
        let mut element = 1u32;
        for i in 0..order {
            power[i] = element as u16;
            power[i + order] = element as u16;
            log[element as usize] = i as u16;
            element <<= 1;
            if element >> degree != 0 {
                element ^= primitive;
            }
        }
        assert_eq!(element, 1, "the polynomial of degree {degree} is primitive");
        Some(Field { degree, order, power, log })
    }

    /// m.
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// Order of the multiplicative group, 2^m − 1: also the length in bits of the unshortened code.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The primitive polynomial, leading term included.
    pub fn primitive_polynomial(&self) -> u32 {
        PRIMITIVE[(self.degree - FIELD_DEGREE_MIN) as usize]
    }

    /// α^`exponent`, for any exponent.
    pub fn alpha(&self, exponent: usize) -> u16 {
        self.power[exponent % self.order]
    }

    /// The logarithm to base α of a non-zero element: 0 to 2^m − 2.
    ///
    /// # Panics
    /// If `element` is not in the field; in debug builds also if it is 0.
    pub fn log(&self, element: u16) -> usize {
        debug_assert_ne!(element, 0, "zero has no logarithm");
        usize::from(self.log[usize::from(element)])
    }

    /// a · b.
    #[inline]
    pub fn multiply(&self, a: u16, b: u16) -> u16 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.power[usize::from(self.log[usize::from(a)]) + usize::from(self.log[usize::from(b)])]
    }

    /// a · a.
    #[inline]
    pub fn square(&self, a: u16) -> u16 {
        self.multiply(a, a)
    }

    /// a / b for b ≠ 0.
    #[inline]
    pub fn divide(&self, a: u16, b: u16) -> u16 {
        if a == 0 {
            return 0;
        }
        self.power[self.log(a) + self.order - self.log(b)]
    }

    /// α^`exponent` for an exponent below twice the order, which needs no reduction.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn alpha_reduced(&self, exponent: usize) -> u16 {
        self.power[exponent]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplication by shift and add, without tables.
    fn by_shift_and_add(field: &Field, a: u16, b: u16) -> u16 {
        let mut product = 0u32;
        for i in 0..field.degree() {
            if b >> i & 1 == 1 {
                product ^= u32::from(a) << i;
            }
        }
        for i in (field.degree()..32).rev() {
            if product >> i & 1 == 1 {
                product ^= field.primitive_polynomial() << (i - field.degree());
            }
        }
        product as u16
    }

    #[test]
    fn every_degree_gives_a_field() {
        for degree in FIELD_DEGREE_MIN..=FIELD_DEGREE_MAX {
            let field = Field::new(degree).unwrap();
            let mut sample = 1u32;
            for _ in 0..2000 {
                sample = sample.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let (a, b) =
                    ((sample >> 8) as usize & field.order(), (sample >> 13) as usize & field.order());
                let (a, b) = (a as u16, b as u16);
                assert_eq!(field.multiply(a, b), by_shift_and_add(&field, a, b));
                if b != 0 {
                    assert_eq!(field.divide(field.multiply(a, b), b), a);
                }
            }
        }
    }

    #[test]
    fn degrees_outside_the_range_are_refused() {
        assert!(Field::new(4).is_none());
        assert!(Field::new(17).is_none());
    }
}
