//! Transaction layer packets (PCIe 4.0 §2.2): what crosses the link, one header at a time.
//!
//! A header is three or four double words in network byte order; data follow in the order of their
//! addresses. [`Tlp::parse`] is the checked view of received bytes, [`Tlp::encode`] writes a packet, and
//! what the one accepts the other writes back, bit for bit.
//!
//! Refused as malformed (§2.3.1), by an error that names the clause: reserved types and fields, lengths that
//! don't fit, byte enables that can't be, a memory request across a 4 KiB boundary, four double words for an
//! address below 4 GiB. Refused as not supported, since nobody has enabled them: prefixes, digests, locked
//! reads, atomic operations, processing hints, translated addresses.
//!
//! [`Requests`] cuts a transfer into requests, [`Completions`] the answer to a read into completions.

mod completion;
mod config;
mod header;
mod message;
mod packet;
mod request;
mod split;

pub use completion::{CompleterDword, Completion, CompletionStatus, RequesterDword};
pub use config::{ConfigRequest, TargetDword};
pub use header::{Attributes, FirstDword, FunctionId, RequestDword, Tag, TlpError};
pub use message::{Message, MessageCode, MessageDword};
pub use packet::{Tlp, TlpHeader};
pub use request::{AddressSpace, ByteEnables, MemoryRequest};
pub use split::{CompletionPart, Completions, RequestPart, Requests};

/// Most bytes of a header.
pub const TLP_HEADER_MAX: usize = 16;
/// Most bytes of data in a packet: 1,024 double words (PCIe 4.0 §2.2.2).
pub const TLP_PAYLOAD_MAX: usize = 4096;
/// A memory request crosses no multiple of this (PCIe 4.0 §2.2.7).
pub const REQUEST_BOUNDARY: u64 = 4096;
/// Bytes of a double word.
pub const DWORD_BYTES: usize = 4;
