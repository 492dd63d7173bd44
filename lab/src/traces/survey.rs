use super::input::TraceFile;
use super::report::DeviceReport;
use crate::words::counted;
use aster_workload::trace::{
    Beyond, Device, Devices, Format, Place, Region, Replay, Times, Trace, TraceError, TraceProblem, Unaligned,
};
use aster_workload::{Drive, RequestKind, Source};

/// Which devices of a trace the user has asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The first that appears.
    First,
    /// All.
    All,
    /// These, as the trace names them.
    Named(Vec<String>),
}

/// Where several devices of a trace go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placing {
    /// One after the other, each in a region as large as the trace needs.
    Apart,
    /// At their recorded addresses, all over the same range.
    Same,
}

/// The user's options.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// How the trace is written; `None` detects it.
    pub format: Option<Format>,
    /// Its devices.
    pub choice: Choice,
    /// Where they go.
    pub placing: Placing,
    /// When requests are issued.
    pub times: Times,
    /// What to do with requests beyond a device's region.
    pub beyond: Beyond,
    /// What to do with requests that aren't whole blocks.
    pub unaligned: Unaligned,
}

/// The content of a trace that can be replayed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survey {
    /// How it is written.
    pub format: Format,
    /// How to replay it.
    pub replay: Replay,
    /// Its devices in the order in which they appear.
    pub devices: Vec<Device>,
    /// Requests that the replay makes, without flushes.
    pub requests: u64,
    /// Bytes that it writes.
    pub written_bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Bytes of the file.
    pub file_bytes: u64,
}

impl Survey {
    /// The devices for a report.
    pub fn device_reports(&self) -> Vec<DeviceReport> {
        self.devices.iter().map(DeviceReport::of).collect()
    }
}

/// Regions begin at multiples of this, so that no two share a page.
const REGION_ALIGN: u64 = 64 << 10;

/// The most devices that an error lists.
const LISTED_MAX: usize = 20;

/// Reads the whole of a trace as it will be replayed on `drive`.
///
/// # Errors
/// When the format isn't known, a line can't be read, a request or a device doesn't fit the drive, or there
/// is nothing to replay; as a message for the user, without the file's name.
pub fn survey(file: &TraceFile, asked: &TraceOptions, drive: Drive) -> Result<Survey, String> {
    let format = format_of(file, asked.format)?;
    let devices = match &asked.choice {
        Choice::First => Devices::First,
        Choice::All => Devices::All,
        Choice::Named(names) => {
            let whole = |name: &String| Place { device: name.clone(), region: Region::whole(drive) };
            Devices::Placed(names.iter().map(whole).collect())
        }
    };
    let mut replay = Replay { times: asked.times, beyond: asked.beyond, unaligned: asked.unaligned, devices };
    let (lines, sum) = file.summed_lines();
    let mut trace = Trace::new(lines, format, drive, replay.clone());
    let (mut requests, mut all, mut written_bytes) = (0, 0u64, 0u64);
    while let Some(request) = trace.next_request().map_err(|error| in_words(file, &error, all))? {
        all += 1;
        requests += u64::from(request.kind != RequestKind::Flush);
        if request.kind == RequestKind::Write {
            written_bytes = written_bytes.saturating_add(request.length.into());
        }
    }
    let mut devices = trace.devices().to_vec();
    drop(trace);
    if let Choice::Named(names) = &asked.choice {
        known(names, &devices)?;
    }
    if all == 0 {
        return Err("holds no request".into());
    }
    let places = places(&devices, asked, drive)?;
    for device in &mut devices {
        device.region = places.iter().find(|place| place.device == device.name).map(|place| place.region);
    }
    replay.devices = Devices::Placed(places);
    let (sha256, file_bytes) = file.finish(sum).map_err(|error| error.to_string())?;
    Ok(Survey { format, replay, devices, requests, written_bytes, sha256, file_bytes })
}

/// How the trace is written: as the user says, or else as its first line shows.
///
/// # Errors
/// When that is not known, or can't be; as a message for the user.
pub(super) fn format_of(file: &TraceFile, asked: Option<Format>) -> Result<Format, String> {
    match asked {
        Some(format) if file.is_binary() && format != Format::Blkparse => Err(format!(
            "holds blktrace's binary events and not {} text: leave the format out",
            format.name()
        )),
        Some(format) => Ok(format),
        None => detect(file),
    }
}

fn detect(file: &TraceFile) -> Result<Format, String> {
    for (i, line) in file.lines().enumerate() {
        let unreadable = |why| TraceError { line: i + 1, column: 1, problem: TraceProblem::Unreadable(why) };
        let line = line.map_err(|why| in_words(file, &unreadable(why), 0))?;
        if !line.trim().is_empty() {
            let unknown = "neither events of blktrace, text of blkparse, CSV of MSR Cambridge, Alibaba, \
                 Tencent or SYSTOR '17, a fio iolog nor MQSim's ASCII, going by its first line";
            return Format::detect(&line).ok_or_else(|| match Format::nearest(&line) {
                Some((format, wrong)) => {
                    format!(
                        "{unknown}; as {}, which it comes nearest to: line {}: {wrong}",
                        format.name(),
                        i + 1
                    )
                }
                None => format!(
                    "{unknown}; --trace-format takes it as one of them and says what is wrong, \
                     --trace-columns reads other CSV"
                ),
            });
        }
    }
    Err("is empty".into())
}

/// An error after `before` requests, a number that matters if the rest of a trace can't be read.
pub(super) fn in_words(file: &TraceFile, error: &TraceError, before: u64) -> String {
    let place = file.place(error.line, error.column);
    match (&error.problem, before) {
        (TraceProblem::Unreadable(why), 0) => format!("{place}, before any request: {why}"),
        (TraceProblem::Unreadable(why), n) => format!("{place}, behind {}: {why}", counted(n, "request")),
        (problem, _) => format!("{place}: {problem}"),
    }
}

/// Whether the trace has a request for each device that was named.
fn known(names: &[String], devices: &[Device]) -> Result<(), String> {
    let devices: Vec<_> = devices.iter().map(|device| (device.name.as_str(), device.requests)).collect();
    known_names(names, &devices)
}

/// Whether `devices`, each with its requests, have all `names`, and each once.
pub(super) fn known_names(names: &[String], devices: &[(&str, u64)]) -> Result<(), String> {
    if let Some((i, twice)) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
        return Err(format!("\"{twice}\" is named twice, as number {} again", i + 1));
    }
    let Some(unknown) = names.iter().find(|name| !devices.iter().any(|(known, _)| known == name)) else {
        return Ok(());
    };
    if devices.is_empty() {
        return Err(format!("holds no request to \"{unknown}\", nor to any other device"));
    }
    let listed = devices
        .iter()
        .take(LISTED_MAX)
        .map(|(name, requests)| format!("\"{name}\" ({})", counted(*requests, "request")));
    let mut list = listed.collect::<Vec<_>>().join(", ");
    match devices.len().saturating_sub(LISTED_MAX) {
        0 => {}
        more => list += &format!(" and {} more", counted(more as u64, "device")),
    }
    Err(format!("holds no request to \"{unknown}\"; it has {list}"))
}

/// Where each device that is replayed goes.
fn places(devices: &[Device], asked: &TraceOptions, drive: Drive) -> Result<Vec<Place>, String> {
    let replayed: Vec<&Device> = match &asked.choice {
        Choice::Named(names) => {
            names.iter().filter_map(|name| devices.iter().find(|d| d.name == *name)).collect()
        }
        Choice::First | Choice::All => devices.iter().filter(|d| d.region.is_some()).collect(),
    };
    let place = |device: &Device, region| Place { device: device.name.clone(), region };
    if replayed.len() < 2 || asked.placing == Placing::Same {
        return Ok(replayed.into_iter().map(|device| place(device, Region::whole(drive))).collect());
    }
    let wanted: Vec<u128> = replayed
        .iter()
        .map(|d| u128::from(d.end.max(1)).next_multiple_of(u128::from(REGION_ALIGN)))
        .collect();
    let (all, room) = (wanted.iter().sum::<u128>(), u128::from(drive.bytes));
    if all > room && asked.beyond == Beyond::Refuse {
        let list: Vec<_> =
            replayed.iter().zip(&wanted).map(|(d, bytes)| format!("\"{}\" {bytes}", d.name)).collect();
        return Err(format!(
            "its devices need {all} bytes one behind the other ({}), and the drive has {room}: --trace-wrap \
             shrinks their regions alike, --trace-place same has them share their addresses, --trace-device \
             leaves some out",
            list.join(", ")
        ));
    }
    let mut offset = 0;
    let mut places = Vec::new();
    for (device, wanted) in replayed.into_iter().zip(wanted) {
        let bytes = if all <= room {
            wanted
        } else {
            wanted * room / all / u128::from(REGION_ALIGN) * u128::from(REGION_ALIGN)
        };
        // No region is longer than the drive.
        let region = Region { offset, bytes: bytes as u64 };
        if device.longest > region.bytes || region.bytes == 0 {
            return Err(format!(
                "\"{}\" has requests of {} bytes and gets a region of {}: the drive is too small for all of \
                 these devices; --trace-device leaves some out, --trace-place same has them share their \
                 addresses",
                device.name, device.longest, region.bytes
            ));
        }
        offset += region.bytes;
        places.push(place(device, region));
    }
    Ok(places)
}
