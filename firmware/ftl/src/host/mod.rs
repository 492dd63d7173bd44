//! The host's side: takes commands, cuts them into slices (C28), and carries the slices out.

pub(crate) mod commands;
mod flush;
pub(crate) mod intake;
mod read;
pub(crate) mod slices;
pub(crate) mod state;
mod transfer;
mod unmap;
pub(crate) mod worker;
mod write;
