//! The controller driven by raw registers, with a host that is a byte array, a link that carries out
//! everything at once, and an FTL that is a byte vector.

mod auto_completion;
mod bad_input;
mod bench;
mod command_set;
mod data;
mod doorbells;
mod events;
mod lifecycle;
mod mandatory;
mod nvm;
mod pause;
mod queues;
mod random;

extern crate std;
