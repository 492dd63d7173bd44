//! Listeners to a run: waveforms, events, the trace for Perfetto, the operation monitor, spans, the history
//! of one command.

mod commands;
mod error;
mod events;
mod follow;
mod gather;
mod lines;
mod monitor;
mod numbers;
mod slowest;
mod spans;
mod watchers;
mod wave;
mod window;

pub use commands::{CommandRows, CommandTable, PART_ROWS};
pub use error::WatchError;
pub use events::EventFile;
pub use follow::Followers;
pub use gather::Gatherer;
pub use lines::{DriveShape, EventLine};
pub use monitor::{MonitorFile, SampleTable, insert, object};
pub(crate) use spans::SLOTS;
#[cfg(test)]
pub(crate) use spans::add_lives;
pub use spans::{SpanReport, SpanSink, add};
pub use watchers::{Heard, MonitorWatch, SampleWatch, Watch, Watchers};
pub use wave::{Tell, WaveFile};
pub use window::{WindowOptions, WorkWindow};
