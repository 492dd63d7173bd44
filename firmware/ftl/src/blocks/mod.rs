//! Blocks: which are free, open, or to be collected, which of their pages are valid, what a loss of power
//! could still undo, and which changes the log has yet to say.

pub(crate) mod assigner;
pub(crate) mod moves;
pub(crate) mod outbox;
mod pace;
pub(crate) mod plane_order;
pub(crate) mod pool;
pub(crate) mod table;
pub(crate) mod turns;
pub(crate) mod unsafe_programs;
pub(crate) mod victims;
