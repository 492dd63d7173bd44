//! XOR parity over equal slices.

/// XORs `source` into `accumulator`: `accumulator[i] ^= source[i]`.
///
/// Folding every member of a stripe into a zeroed buffer gives its parity. Folding the parity and all
/// members but one gives the missing member (H33, G25).
///
/// # Panics
/// If the lengths differ: members of a stripe have one size.
pub fn xor_into(accumulator: &mut [u8], source: &[u8]) {
    assert_eq!(accumulator.len(), source.len(), "members of a stripe have one size");
    // The compiler turns a plain element-wise loop over equal lengths into full-width vector code.
    for (a, s) in accumulator.iter_mut().zip(source) {
        *a ^= *s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_one_member_comes_back_from_parity(
            members in (1usize..200)
                .prop_flat_map(|n| prop::collection::vec(prop::collection::vec(any::<u8>(), n), 2..9)),
            pick in any::<prop::sample::Index>(),
        ) {
            let mut parity = vec![0u8; members[0].len()];
            for member in &members {
                xor_into(&mut parity, member);
            }
            let lost = pick.index(members.len());
            let mut rebuilt: Vec<u8> = parity;
            for (i, member) in members.iter().enumerate() {
                if i != lost {
                    xor_into(&mut rebuilt, member);
                }
            }
            prop_assert_eq!(&rebuilt, &members[lost]);
        }
    }

    #[test]
    #[should_panic(expected = "one size")]
    fn members_of_different_size_are_a_bug() {
        xor_into(&mut [0; 3], &[0; 4]);
    }
}
