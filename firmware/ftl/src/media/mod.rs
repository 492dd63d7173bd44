//! Flash requests, one at a time, counted by cause.

pub(crate) mod requests;
