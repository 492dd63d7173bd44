//! Filling a fresh drive at once: what it would hold after many writes, put there without the writes.
//!
//! `dirty` is the data buffer, which forms pages of what the host writes; `pool` is a LUN, or all where they
//! are one pool, which collects garbage as the drive does but with nothing except numbers (`collect`), in
//! blocks of its LUNs (`open`) and their `slots`; `history` runs both until further writes don't change what
//! is copied any more; `fill` puts the outcome into cells, block table and map.

mod collect;
mod dirty;
pub(crate) mod fill;
mod history;
mod open;
mod outcome;
mod pool;
mod pool_units;
mod slots;
