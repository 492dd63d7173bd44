//! A trace's requests as they were recorded, for the tools that look at traces or change them.

use super::input::{Sum, TraceFile};
use super::survey::{format_of, in_words, known_names};
use aster_workload::trace::{Format, Recorded, Records};

/// How a trace is read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// How it is written; `None` detects it.
    pub format: Option<Format>,
    /// The devices that count; none stands for all.
    pub devices: Vec<String>,
}

/// What stopped work on a trace.
#[derive(Debug, PartialEq, Eq)]
pub enum ToolError {
    /// The trace can't be read or used; as a message for the user, without the file's name.
    Trace(String),
    /// The output can't be written.
    Output(String),
    /// The reader of the output has gone.
    Closed,
    /// The caller stopped it.
    Stopped,
}

impl From<String> for ToolError {
    fn from(problem: String) -> Self {
        ToolError::Trace(problem)
    }
}

/// Whether there is more to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The next request, please.
    Next,
    /// The rest of the trace makes no difference: it isn't read.
    Enough,
}

/// What a trace is, as far as it has been read.
pub struct ReadThrough {
    /// How it is written.
    pub format: Format,
    /// Requests of the devices that count.
    pub requests: u64,
    sum: Sum,
}

impl ReadThrough {
    /// SHA-256 of the file, and its bytes.
    ///
    /// # Errors
    /// When its rest can't be read.
    pub fn checksum(self, file: &TraceFile) -> Result<(String, u64), ToolError> {
        Ok(file.finish(self.sum).map_err(|error| error.to_string())?)
    }
}

/// Requests between two calls of the caller's progress.
const PROGRESS_EVERY: u64 = 1 << 12;

/// Hands each request of the devices that count to `each`, with the device's name. It calls `progress` with
/// the share of the file that is read; `false` stops it.
///
/// # Errors
/// When the trace can't be read, a device isn't in it, it holds no request, or `each` fails: what `each` says
/// of the trace gets the line in front.
pub fn read_records(
    file: &TraceFile,
    options: &ReadOptions,
    progress: &mut dyn FnMut(f64) -> bool,
    mut each: impl FnMut(&Recorded, &str) -> Result<Step, ToolError>,
) -> Result<ReadThrough, ToolError> {
    let format = format_of(file, options.format)?;
    let bytes = file.bytes().map_err(|error| error.to_string())?;
    let (lines, sum) = file.summed_lines();
    let taken = lines.taken();
    let mut records = Records::new(lines, format);
    let (mut read, mut requests, mut counts, mut enough) = (0u64, 0u64, Vec::new(), false);
    while let Some(record) = records.next_record().map_err(|error| in_words(file, &error, read))? {
        if read.is_multiple_of(PROGRESS_EVERY) && !progress(taken.get() as f64 / bytes.max(1) as f64) {
            return Err(ToolError::Stopped);
        }
        read += 1;
        let names = records.devices();
        if record.device == counts.len() {
            let name = &names[record.device];
            counts.push((options.devices.is_empty() || options.devices.contains(name), 0u64));
        }
        let (counted, of_device) = &mut counts[record.device];
        *of_device += 1;
        if *counted {
            requests += 1;
            let step = each(&record, &names[record.device]).map_err(|error| match error {
                ToolError::Trace(problem) => {
                    ToolError::Trace(format!("{}: {problem}", file.row(records.line())))
                }
                error => error,
            })?;
            enough = step == Step::Enough;
            if enough {
                break;
            }
        }
    }
    let devices = records.devices().to_vec();
    drop(records);
    let counted: Vec<_> = devices.iter().zip(&counts).map(|(name, (_, n))| (name.as_str(), *n)).collect();
    if !enough {
        known_names(&options.devices, &counted)?;
    }
    if requests == 0 {
        return Err(ToolError::Trace("holds no request".into()));
    }
    Ok(ReadThrough { format, requests, sum })
}
