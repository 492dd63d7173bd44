//! A user-space NVMe 1.4 driver: the host's side of BAR0 and of host memory.
//!
//! | where | what |
//! |---|---|
//! | [`Bar`] | register access, at the host's current time |
//! | [`FunctionBar`], [`enumerate`] | the way to a drive that is known by its PCIe function alone |
//! | [`GuestMemory`] | the memory that the device's DMA reaches: bytes, and tags for `fingerprint` drives |
//! | [`Config`] | number and depth of queue pairs, largest command |
//! | [`Driver`] | brings the controller up, sends commands, takes completions |
//!
//! The driver lives on the host's own [`aster_exec::Exec`]. A run mode carries doorbells to the device and
//! interrupts back ([`Driver::interrupt`]); waiting, for example for CSTS.RDY, advances the host's clock.
//! Tasks on that executor await whole commands. A fast workload uses slots and completions directly and
//! awaits nothing: [`Driver::take_slot`], [`Driver::submit`], [`Driver::ring`], [`Driver::next_completion`].
//!
//! After [`Driver::new`] nothing on the I/O path allocates: each request slot owns its data buffer and its
//! PRP list.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod admin;
mod bar;
mod buffers;
mod config;
mod driver;
mod error;
mod function;
mod ids;
mod init;
mod io;
mod memory;
mod namespace;
mod queue;
mod setup;
mod vector;
mod waiting;

pub use aster_parties::{BarRead, ReadTag};
pub use aster_wire::nvme::admin::SecureErase;
pub use aster_wire::nvme::dsm::Range;
pub use aster_wire::nvme::features::{FeatureId, VolatileWriteCache};
pub use aster_wire::nvme::log::CriticalWarning;
pub use aster_wire::nvme::status::Status;
pub use bar::Bar;
pub use buffers::{Data, DataMut};
pub use config::{CompletionMode, Config, ConfigError};
pub use driver::{Driver, SharedMemory};
pub use error::{CommandName, DriverError, Overdue, Violation};
pub use function::{FunctionBar, MESSAGE_ADDRESS, enumerate};
pub use ids::{QueueId, SlotId};
pub use io::{Io, IoOp};
pub use memory::{BYTES_BASE, GuestMemory, HOST_PAGE_BYTES, OutOfMemory, TAGS_BASE, Traffic};
pub use namespace::Namespace;
pub use queue::Completion;
pub use vector::{Moved, VECTOR_MAX, VENDOR_BYTES_MAX, Vector, VectorEnd};

#[cfg(test)]
mod tests;
