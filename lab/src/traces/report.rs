use super::input::Compression;
use aster_workload::trace::Device;
use serde::Serialize;

/// How the requests of a trace follow the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loop {
    /// Requests arrive at their recorded times. A request that finds the queue full waits in the host and is
    /// late.
    Open,
    /// The gaps between requests are kept, counted from the completion that made room if one had to wait:
    /// nothing is late, but the whole takes longer.
    Closed,
    /// As fast as the queue depth allows.
    Fastest,
}

/// A trace and how it was replayed, for repeating the run.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct TraceReport {
    /// Its name.
    pub file: String,
    /// Bytes of the file, compressed as it is.
    pub file_bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
    /// How it is compressed.
    pub compression: Compression,
    /// How it is written, by the name that `--trace-format` takes.
    pub format: &'static str,
    /// How it followed the clock.
    #[serde(rename = "loop")]
    pub loop_kind: Loop,
    /// The speed relative to the recorded one; absent where it has no meaning.
    pub speed: Option<f64>,
    /// The most requests in flight; further ones wait in the host.
    pub queue_depth: u32,
    /// Requests beyond the drive, or the device's region of it, were folded into it.
    pub wrap: bool,
    /// Requests that were not whole blocks were widened.
    pub round: bool,
    /// Its devices in the order in which they appear.
    pub devices: Vec<DeviceReport>,
}

/// A device of a trace.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct DeviceReport {
    /// As the trace names it.
    pub name: String,
    /// Requests recorded.
    pub requests: u64,
    /// False for one that was left out.
    pub replayed: bool,
    /// First byte of its region of the drive; absent for one that was left out.
    pub offset: Option<u64>,
    /// Bytes of that region.
    pub bytes: Option<u64>,
}

impl DeviceReport {
    pub(crate) fn of(device: &Device) -> Self {
        DeviceReport {
            name: device.name.clone(),
            requests: device.requests,
            replayed: device.region.is_some(),
            offset: device.region.map(|region| region.offset),
            bytes: device.region.map(|region| region.bytes),
        }
    }
}
