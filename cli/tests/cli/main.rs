//! The `aster` binary, from the outside.

mod place;
mod running;
mod words;
