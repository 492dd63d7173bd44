//! The journal: every change of flash, and what is stored of it to be found again.

pub(crate) mod append;
pub(crate) mod log;
pub(crate) mod log_page;
pub(crate) mod map_stripes;
pub(crate) mod root;
