//! The NVMe 1.4 controller on PCIe (issue 2, G9, G11): between the host link and the FTL.
//!
//! [`Controller`] is a plain value: registers, queues, command slots, features, logs. It takes inputs (a
//! register write, the answer to a DMA, a command that the FTL finished) and pushes its outputs to two
//! ports, [`aster_ports::link::LinkPort`] and [`aster_ports::host::CommandPort`]. A drive is built with
//! [`Nvme`]. [`NvmeFrontEnd`] is the thin glue that registers the controller with an executor.
//!
//! The way of a command: doorbell → `arbitration` → fetch DMA → the command set ([`Nvm`], or another) or
//! `admin` decodes it → `data` walks its PRPs → FTL → `data` maps the FTL's DMA requests to host memory →
//! `complete` posts the entry → `interrupt`.
//!
//! The controller consists of owners that don't know it: `slots`, `queues`, `dma`, `lifecycle`, `interrupt`,
//! `settings`, `reports`, `pause`. Each has private fields and asserts what its transitions need.
//! `lifecycle` has the timer of `keep_alive`. A command is in its slot or in a `Permit`.
//! `controller` owns one of each. The files of its folder implement what involves several of them, one
//! clause of the standard per file.
//!
//! Nothing is allocated after construction. Commands live in a fixed table of slots and their PRPs in a
//! fixed table beside it. Queue entries, PRP lists and admin data land in an SRAM of
//! [`HostIfConfig::sram_bytes`] bytes. Only writes that are parked while the disk under the media is full
//! (`pause`) take memory as they come.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arbitration;
mod async_events;
mod bar;
mod completion;
mod config;
mod controller;
mod delayed;
mod directives;
mod dma;
mod doorbells;
mod error_log;
mod features;
mod frontend;
mod function;
mod health;
mod interrupt;
mod keep_alive;
mod lifecycle;
pub mod message;
mod nvm;
mod ocssd;
mod pages;
mod pause;
mod persistent;
mod piece;
mod ports;
mod queues;
mod registers;
mod reports;
mod ring;
mod settings;
mod slots;
mod software;
mod submission;

pub use bar::{BarLayout, vectors_for};
pub use config::{
    ADMIN_SLOTS, BlockSize, CRITICAL_ABOVE_WARNING, ConfigError, Fetching, HostIfConfig, QUEUE_ENTRIES_MAX,
    QUEUE_PAIRS_MAX, SLOTS_MAX, TRANSFER_PAGES_LOG2_MAX, VECTORS_MAX, WARNING_KELVINS,
};
pub use controller::Controller;
pub use directives::StreamOffer;
pub use frontend::NvmeFrontEnd;
pub use nvm::Nvm;
pub use ocssd::{OpenChannel12, OpenChannel20, OpenChannelFacts};
pub use persistent::PersistentState;
pub use piece::{Nvme, block_size};
pub use software::{
    PacketConfig, PacketCosts, SoftwareConfig, SoftwareCosts, SoftwareFrontEnd, SoftwareNvme, WorkerCounts,
};

#[cfg(test)]
mod tests;
