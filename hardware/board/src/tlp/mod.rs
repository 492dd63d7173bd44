//! The link at the level of transaction layer packets (I6, PCIe 4.0 §2), for a drive whose transaction layer
//! is firmware (S1, S3).
//!
//! ```text
//! firmware ── TlpPort ── PCIe core ══ wire up ════► root complex ── LinkPort ── host memory
//!                        + mover   ◄═══ wire down ══
//! ```
//!
//! `order` says which packet of a transmitter goes next, `wire` takes time for it, `root` is the host's end,
//! `offload` moves the data of completions (S6), and `link` connects them. A drive has it when its front end
//! asks for packets (`host.transport = "tlp"`).
//!
//! Register accesses of the host cross it as well if firmware serves them by packets
//! (`host.register_packets`): `accesses` is who asks, `function` what they are for, and `link/bars` their
//! way. Otherwise they take one of their own (`device/src/arrivals.rs`).

mod accesses;
mod function;
mod link;
mod offload;
mod order;
mod root;
mod wire;

pub use accesses::AccessErrors;
pub use link::{TlpLink, TlpLinkConfig};
pub use root::RootStats;
pub use wire::WireConfig;
