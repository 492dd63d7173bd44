//! The controller driven by raw registers, with a host that is a byte array, a link that carries out everything at once,
//! and an FTL that is a byte vector.

mod bench;
mod data;

extern crate std;
