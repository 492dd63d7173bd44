//! What listens to a drive's events ([`aster_events`]): counters, spans, the operation monitor, traces.
//! Nothing here has an effect on a drive, and no drive needs it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod counters;
mod firmware_spans;
#[cfg(test)]
mod fixtures;
mod flash;
mod latency;
mod lifetimes;
pub mod monitor;
mod spans;
mod trace;

pub use counters::Counters;
pub use firmware_spans::FirmwareSpans;
pub use flash::{FlashKind, FlashSpans};
pub use latency::LatencyHistogram;
pub use lifetimes::{Activity, Holder, Lives, Piece};
pub use spans::{CommandSpan, SpanTable, Spans, Stage};
pub use trace::{Digest, TraceLog};
