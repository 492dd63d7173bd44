//! The `aster` binary, from the outside.

mod channel;
mod operations;
mod place;
mod running;
mod words;
