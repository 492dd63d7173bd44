//! The host's parts against a drive that is a few lines long.

mod driver;
mod fake;
