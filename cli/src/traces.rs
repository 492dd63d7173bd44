//! A trace that the user named, read once before the drive is powered on: a line that can't be read ends the run before
//! it has begun, and what will be left out is said.

use crate::failure::Failure;
use aster_lab::run::workload::trace::{Format, Replay, Trace};
use aster_lab::run::workload::{Drive, RequestKind, Source};
use std::path::Path;

/// What is in a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Survey {
    pub(crate) format: Format,
    /// Requests of the device that is replayed.
    pub(crate) requests: u64,
    /// That device, as the format names it.
    pub(crate) device: String,
    /// Requests of other devices.
    pub(crate) other_devices: u64,
    /// Bytes that are written to the device that is replayed.
    pub(crate) written_bytes: u64,
}

/// Reads the whole of `text`, which came from `path`, as it will be replayed on `drive`.
///
/// # Errors
/// When the format isn't known, a line can't be read, a request doesn't fit the drive, or there is nothing to replay.
pub(crate) fn survey(
    path: &Path,
    text: &str,
    format: Option<Format>,
    replay: &Replay,
    drive: Drive,
) -> Result<Survey, Failure> {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let Some(first) = first else { return Err(Failure::file(path, "is empty")) };
    let Some(format) = format.or_else(|| Format::detect(first)) else {
        let problem = "neither blkparse text, MSR Cambridge CSV nor a fio iolog, going by its first line; \
                       --trace-format takes it as one of them and says what is wrong";
        return Err(Failure::file(path, problem));
    };
    let mut trace = Trace::new(text.lines(), format, drive, replay.clone());
    let (mut requests, mut written_bytes) = (0, 0u64);
    while let Some(request) = trace.next_request().map_err(|error| Failure::file(path, error))? {
        requests += 1;
        if request.kind == RequestKind::Write {
            written_bytes = written_bytes.saturating_add(request.length.into());
        }
    }
    let device = trace.device().unwrap_or_default().to_owned();
    let other_devices = trace.other_devices();
    match (requests, other_devices) {
        (0, 0) => Err(Failure::file(path, "holds no request")),
        (0, _) => {
            Err(Failure::file(path, format!("holds no request to \"{device}\", only to other devices")))
        }
        _ => Ok(Survey { format, requests, device, other_devices, written_bytes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_DISKS: &str = "128166372003061629,usr,0,Read,4096,4096,41286\n\
                             128166372003061630,usr,1,Write,0,4096,41286\n\
                             128166372003061631,usr,0,Write,8192,8192,41286\n";

    fn read(text: &str, device: Option<&str>) -> Result<Survey, String> {
        let replay = Replay { device: device.map(str::to_owned), ..Replay::default() };
        let drive = Drive { bytes: 1 << 20, block_bytes: 512 };
        survey(Path::new("t.csv"), text, None, &replay, drive).map_err(|e| e.to_string())
    }

    #[test]
    fn what_goes_to_other_devices_is_counted() {
        let first = read(TWO_DISKS, None).unwrap();
        assert_eq!((first.requests, first.device.as_str(), first.other_devices), (2, "usr,0", 1));
        let second = read(TWO_DISKS, Some("usr,1")).unwrap();
        assert_eq!((second.requests, second.other_devices), (1, 2));
        assert_eq!((first.written_bytes, second.written_bytes), (8192, 4096));
    }

    #[test]
    fn nothing_to_replay_is_an_error() {
        assert_eq!(read("", None), Err("t.csv: is empty".into()));
        assert_eq!(read("\n \n", None), Err("t.csv: is empty".into()));
        assert!(read(TWO_DISKS, Some("usr,7")).unwrap_err().contains("no request to \"usr,7\""));
        assert!(read("fio version 3 iolog\n", None).unwrap_err().contains("no request"));
        assert!(read("Dear diary\n", None).unwrap_err().contains("--trace-format"));
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = read(&TWO_DISKS.replace("Write,0,", "Scribble,0,"), None).unwrap_err();
        assert!(error.starts_with("t.csv: line 2, column "), "{error}");
        let error = read(&TWO_DISKS.replace("Write,8192,", "Write,81920000,"), None).unwrap_err();
        assert!(error.starts_with("t.csv: line 3, column "), "{error}");
    }
}
