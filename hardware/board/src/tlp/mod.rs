//! The link at the level of transaction layer packets (I6, PCIe 4.0 §2).

mod order;
mod wire;

pub use order::Class;
pub use wire::{Sent, TlpWire, WireConfig, WirePacket};
