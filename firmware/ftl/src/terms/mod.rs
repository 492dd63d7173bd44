//! What all parts of the FTL share: its configuration, the OOB records, the names of blocks and causes, and
//! the core that it runs on.

pub(crate) mod areas;
pub(crate) mod bits;
pub(crate) mod block;
pub(crate) mod buffers;
pub(crate) mod cause;
pub(crate) mod check;
pub(crate) mod config;
pub(crate) mod config_error;
pub(crate) mod map_cache;
pub(crate) mod oob;
pub(crate) mod planes;
pub(crate) mod reused;
pub(crate) mod row_layout;
pub(crate) mod runtime;
pub(crate) mod sizes;
pub(crate) mod stored_map;
pub(crate) mod units;
