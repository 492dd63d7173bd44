//! What a loss of power could still undo, and what the log has yet to say.

pub(crate) mod lines;
pub(crate) mod moves;
pub(crate) mod outbox;
pub(crate) mod unsafe_programs;
