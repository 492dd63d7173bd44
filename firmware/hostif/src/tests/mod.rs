//! The controller driven by raw registers. The host is a byte array, the link carries out everything at
//! once, and the FTL is a byte vector.

mod arbiter;
mod auto_completion;
mod bad_input;
mod bench;
mod command_set;
mod data;
mod directives;
mod doorbells;
mod events;
mod host_behavior;
mod keep_alive;
mod lifecycle;
mod lists;
mod mandatory;
mod message;
mod nvm;
mod packets;
mod pause;
mod queues;
mod random;
mod software;
mod workers;
extern crate std;
