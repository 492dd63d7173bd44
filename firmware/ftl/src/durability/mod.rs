//! What a loss of power could still undo, and what has yet to be logged.

pub(crate) mod lines;
pub(crate) mod moves;
pub(crate) mod outbox;
pub(crate) mod unsafe_programs;
