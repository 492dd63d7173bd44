//! Storing and loading the map, shutdown, format, boot and recovery.

pub(crate) mod boot;
pub(crate) mod error;
mod format;
mod load;
mod log_read;
mod rebuild;
mod recover;
mod restore;
mod shutdown;
pub(crate) mod state;
pub(crate) mod store;
mod table_page;
