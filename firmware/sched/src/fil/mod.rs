//! SoftSSD's flash interface layer (S21–S23, P33): a scheduler on a core of its own, between a translation
//! and the channel controllers.
//!
//! Each chip has seven queues. A transaction has two phases: *execution* moves data between cells and
//! register, *transfer* between register and memory. Execution starts when the die is idle, transfer when
//! the channel is. The layer polls: the ring above for requests, the port below for results, and each die's
//! status.
//!
//! | module | |
//! |---|---|
//! | [`vector`] | location vectors: channel, way, die, plane, block, page |
//! | [`queues`] | the seven queues of each chip |
//! | [`turns`] | what is done next, as a pure function of what waits and what is under way |

pub mod queues;
pub mod turns;
pub mod vector;

#[cfg(test)]
mod tests;
