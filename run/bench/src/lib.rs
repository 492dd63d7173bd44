//! A bench: one channel with its packages and its controller, without FTL, NVMe and host. Requests are
//! injected at the controller (B22), so that the controller is measured.
#![forbid(unsafe_code)]

mod bench;
mod content;
mod error;
mod limits;
mod operation;
mod run;
mod sample;
mod station;
mod stations;
mod stream;
mod work;

pub use aster_ports::flash::{FlashOp, FlashRequest, FlashStatus, Outcome, Target};
pub use bench::{Bench, DEPTH_MAX, set_rate};
pub use error::BenchError;
pub use limits::Limits;
pub use operation::FlashOperation;
pub use run::Prepared;
pub use sample::{Ran, Sample, WorkKind};
pub use work::{BenchOperation, BenchWork, Pattern};
