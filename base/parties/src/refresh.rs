//! When data are written anew, since reads of them show that they fade.

/// The limits of refresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Refresh {
    /// Wrong bits of a code word that are too many, up to `correctable`; 0 for never.
    pub corrected: u8,
    /// Wrong bits of a code word that can be corrected.
    pub correctable: u8,
    /// Reads of a block after which its data move; 0 for never.
    pub reads: u32,
}

impl Refresh {
    /// The limits of a code that corrects so many bits: data move when a read has corrected this share of
    /// them, or after so many reads of their block.
    pub const fn of(correctable: u8, corrected_percent: u32, reads: u32) -> Self {
        // Rounded up, so that a small share is at least one bit.
        let corrected = (correctable as u32 * corrected_percent).div_ceil(100) as u8;
        Refresh { corrected, correctable, reads }
    }
    /// Whether so many wrong bits of a code word are too many, of data that were never moved for that.
    pub const fn is_faded(&self, bits: u8) -> bool {
        self.corrected > 0 && bits >= self.corrected
    }
    /// Wrong bits, in all of a code word, at which data are written anew, by how often they were for that.
    ///
    /// In worn cells they may have as many wrong bits in their new place. Each move halves what is left to
    /// the code's limit, so that worn cells aren't worn further for nothing.
    pub const fn limit(&self, moves: u8) -> Option<u8> {
        let left = match self.correctable.saturating_sub(self.corrected).checked_shr(moves as u32) {
            Some(left) => left,
            None => 0,
        };
        if self.corrected > 0 && (moves == 0 || left > 0) { Some(self.correctable - left) } else { None }
    }
    /// Fewer wrong bits are never too many, however often a block's data have moved.
    #[inline]
    pub const fn least(&self) -> u8 {
        if self.corrected < self.correctable { self.corrected } else { self.correctable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_move_for_wrong_bits_halves_what_is_left_to_the_limit() {
        let limits = |corrected, correctable| {
            let refresh = Refresh { corrected, correctable, reads: 0 };
            (0..6).map(move |moves| refresh.limit(moves))
        };
        assert!(limits(32, 40).eq([Some(32), Some(36), Some(38), Some(39), None, None]));
        assert!(limits(8, 8).eq([Some(8), None, None, None, None, None]));
        assert!(limits(0, 40).all(|limit| limit.is_none()), "switched off");
        assert_eq!(Refresh { corrected: 1, correctable: 255, reads: 0 }.limit(9), None);
    }

    #[test]
    fn no_limit_is_below_the_least() {
        for (corrected, correctable) in (0..=u8::MAX).flat_map(|c| (0..=u8::MAX).map(move |all| (c, all))) {
            let refresh = Refresh { corrected, correctable, reads: 0 };
            assert!((0..10).filter_map(|moves| refresh.limit(moves)).all(|limit| limit >= refresh.least()));
            assert!(refresh.least() <= corrected);
        }
    }

    #[test]
    fn a_small_share_is_a_bit_at_least() {
        let corrected = [0, 1, 50, 80, 100].map(|percent| Refresh::of(16, percent, 0).corrected);
        assert_eq!(corrected, [0, 1, 8, 13, 16]);
    }
}
