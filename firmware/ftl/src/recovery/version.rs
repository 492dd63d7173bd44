//! A version of a logical page, and the order of its copies.

use crate::terms::oob::COPIES;
use aster_units::{Lpn, Upa};

/// A version of a logical page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Version {
    pub(super) lpn: Lpn,
    pub(super) sequence: u64,
    pub(super) at: Upa,
    /// Tells which of several versions with the same sequence number is a copy of which: see
    /// [`copy`](crate::OobRecord::copy).
    pub(super) copy: u8,
}

impl Version {
    /// Whether this version was copied, in one step or several, from a version with this count.
    pub(super) fn comes_after(&self, copy: u8) -> bool {
        (1..COPIES / 2).contains(&(self.copy.wrapping_sub(copy) % COPIES))
    }
    /// The first in the order of copying among the versions that `counts` accepts.
    pub(super) fn first_of(versions: &[Version], counts: impl Fn(&Version) -> bool) -> Option<Version> {
        let counting = versions.iter().copied().filter(counts);
        counting.reduce(|first, other| if first.comes_after(other.copy) { other } else { first })
    }
}
