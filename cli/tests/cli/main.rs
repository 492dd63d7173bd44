//! The `aster` binary, from the outside.

mod channel;
mod place;
mod running;
mod words;
