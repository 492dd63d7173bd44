//! What all parts of the FTL share: its configuration, what stands in OOB, and the names of blocks and
//! causes.

pub(crate) mod block;
pub(crate) mod cause;
pub(crate) mod config;
pub(crate) mod oob;
pub(crate) mod sizes;
