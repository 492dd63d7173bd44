//! The journal: every change of flash, and the records by which power-on finds everything again.

pub(crate) mod append;
pub(crate) mod due;
pub(crate) mod durable;
pub(crate) mod health;
pub(crate) mod log;
pub(crate) mod log_page;
pub(crate) mod log_state;
pub(crate) mod map_stripes;
pub(crate) mod own_pages;
pub(crate) mod power_on;
pub(crate) mod record;
pub(crate) mod root;
pub(crate) mod slots;
pub(crate) mod state;
