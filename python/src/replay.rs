//! How a trace is replayed, as Python says it.

use aster_lab::asked::traces::{Replay, WhenFull, times};
use aster_lab::traces::Placing;
use aster_workload::trace::{Columns, Format};
use pyo3::prelude::*;

/// Formats by the names that the command line has for them.
const FORMATS: [(&str, Format); 9] = [
    ("blktrace", Format::Blkparse),
    ("msr", Format::Msr),
    ("iolog", Format::Iolog),
    ("mqsim", Format::Mqsim),
    ("mqsim-us", Format::MqsimMicros),
    ("mqsim-ps", Format::MqsimPicos),
    ("alibaba", Format::Alibaba),
    ("tencent", Format::Tencent),
    ("systor", Format::Systor),
];

/// Most requests of a trace in flight.
const QUEUE_DEPTH_MAX: u32 = 1024;

/// The arguments about a trace.
#[derive(FromPyObject)]
pub(crate) struct Options {
    format: Option<String>,
    columns: Option<String>,
    devices: Vec<String>,
    place: String,
    when_full: Option<String>,
    speed: String,
    wrap: bool,
    round: bool,
    queue_depth: u32,
}

impl Options {
    /// The same, checked.
    ///
    /// # Errors
    /// What is wrong with which.
    pub(crate) fn replay(&self) -> Result<Replay, String> {
        let columns = self.columns.as_deref().map(Columns::parse).transpose();
        let columns = columns.map_err(|error| format!("trace_columns: {error}"))?;
        let format = match (columns, &self.format) {
            (Some(_), Some(_)) => return Err("trace_columns: can't be used with trace_format".to_owned()),
            (Some(columns), None) => Some(Format::Columns(columns)),
            (None, None) => None,
            (None, Some(name)) => Some(chosen("trace_format", name, &FORMATS)?),
        };
        if !(1..=QUEUE_DEPTH_MAX).contains(&self.queue_depth) {
            return Err(format!(
                "queue_depth: must be from 1 to {QUEUE_DEPTH_MAX}, but is {}",
                self.queue_depth
            ));
        }
        let kinds = [("open", WhenFull::Late), ("closed", WhenFull::KeepGaps)];
        Ok(Replay {
            format,
            devices: self.devices.clone(),
            placing: chosen(
                "trace_place",
                &self.place,
                &[("apart", Placing::Apart), ("same", Placing::Same)],
            )?,
            when_full: self
                .when_full
                .as_deref()
                .map(|name| chosen("trace_loop", name, &kinds))
                .transpose()?,
            times: times(&self.speed).map_err(|error| format!("trace_speed: {error}"))?,
            wrap: self.wrap,
            round: self.round,
            queue_depth: self.queue_depth,
        })
    }
}

/// The one of `all` that is called so.
fn chosen<T: Clone>(argument: &str, name: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value.clone()).ok_or_else(|| {
        let known: Vec<String> = all.iter().map(|(known, _)| format!("\"{known}\"")).collect();
        format!("{argument}: must be one of {}, but is \"{name}\"", known.join(", "))
    })
}
