//! NVM Express, revision 1.4: registers, commands, completions, identify data, features, log pages and PRPs.
//!
//! The controller (`firmware/hostif`) and the driver (`host/driver`) meet only in these bytes. Clauses and
//! figures cited are those of the NVM Express Base Specification 1.4.

pub mod admin;
pub mod cqe;
pub mod directive;
pub mod dsm;
pub mod features;
pub mod identify;
pub mod io;
pub mod log;
pub mod opcode;
pub mod prp;
pub mod registers;
pub mod sqe;
pub mod status;

pub use cqe::Cqe;
pub use opcode::{AdminOpcode, IoOpcode};
pub use sqe::Sqe;
pub use status::Status;

/// The namespace identifier that stands for every namespace (§6.1.1).
pub const NSID_ALL: u32 = 0xffff_ffff;

/// The version that this module describes, as VS and Identify's VER encode it (§3.1.2).
pub const VERSION_1_4: registers::Version = registers::Version(0x0001_0400);
