//! Storing the map and loading it again, clean shutdown, and format.

mod copy_directory;
pub(crate) mod directory_copies;
pub(crate) mod error;
mod format;
mod load;
mod restore;
mod shutdown;
pub(crate) mod state;
pub(crate) mod store;
mod table_page;
