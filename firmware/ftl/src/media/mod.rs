//! Flash requests, counted by cause.

pub(crate) mod flash;
