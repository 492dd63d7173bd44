//! Logical to physical pages.

pub(crate) mod mapped;
pub(crate) mod resident;
