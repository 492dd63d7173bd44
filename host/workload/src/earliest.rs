//! The earliest of several times, each of which may never come.

/// The earlier of two times; `None` is never.
#[inline]
pub(crate) fn earliest<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_comes_is_later_than_anything() {
        assert_eq!(earliest(Some(3), Some(2)), Some(2));
        assert_eq!((earliest(Some(3), None), earliest(None, Some(2))), (Some(3), Some(2)));
        assert_eq!(earliest::<u64>(None, None), None);
    }
}
