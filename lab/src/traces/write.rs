//! Traces are written as `aster run --trace` reads them.

use aster_workload::RequestKind;
use aster_workload::trace::Recorded;
use std::io::{self, Write};

/// How a trace is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrittenAs {
    /// fio's iolog, version 3, which fio replays, too. Times are in microseconds, and there is no force unit
    /// access.
    Iolog,
    /// Text as `blkparse` prints it. Times are in nanoseconds, addresses in sectors of 512 bytes.
    Blktrace,
}

/// What has been written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wrote {
    /// Requests; a write that asks for a flush before is one.
    pub requests: u64,
    /// Writes whose force unit access the format can't say.
    pub fua_lost: u64,
}

/// Writes requests, all of them [`writable`], in the order of their times.
pub(super) struct Writer<W> {
    into: W,
    written_as: WrittenAs,
    /// The name of each device, as written; `None` of one that hasn't come yet.
    names: Vec<Option<String>>,
    wrote: Wrote,
}

/// A device whose name is none of `blkparse` gets this major number, and its place as the minor one.
const MAJOR_OF_NAMED: u32 = 4095;
const SECTOR_BYTES: u64 = 512;

/// Whether the format can say where a request is.
///
/// # Errors
/// Why not, and what to do.
pub(super) fn writable(record: &Recorded, written_as: WrittenAs) -> Result<(), String> {
    let (offset, length) = (record.offset, record.length);
    let is_whole = offset.is_multiple_of(SECTOR_BYTES) && length.is_multiple_of(SECTOR_BYTES);
    match written_as == WrittenAs::Iolog || is_whole {
        true => Ok(()),
        false => Err(format!(
            "{length} bytes at {offset} are not whole sectors of {SECTOR_BYTES}, and blktrace's text has no \
             other: --as iolog takes them"
        )),
    }
}

impl<W: Write> Writer<W> {
    pub(super) fn new(mut into: W, written_as: WrittenAs) -> io::Result<Self> {
        if written_as == WrittenAs::Iolog {
            into.write_all(b"fio version 3 iolog\n")?;
        }
        Ok(Writer { into, written_as, names: Vec::new(), wrote: Wrote::default() })
    }

    pub(super) fn write(&mut self, record: &Recorded, name: &str) -> io::Result<()> {
        let device = record.device;
        if self.names.len() <= device {
            self.names.resize(device + 1, None);
        }
        if self.names[device].is_none() {
            let name = self.meet(record, name)?;
            self.names[device] = Some(name);
        }
        let Writer { into, names, wrote, .. } = self;
        let name = names[device].as_deref().expect("it has been met");
        wrote.requests += 1;
        match self.written_as {
            WrittenAs::Iolog => {
                wrote.fua_lost += u64::from(record.fua);
                let micros = micros(record);
                if record.flush_before {
                    writeln!(into, "{micros} {name} sync 0 0")?;
                }
                let action = match record.kind {
                    RequestKind::Read => "read",
                    RequestKind::Write | RequestKind::WriteZeroes => "write",
                    RequestKind::Trim => "trim",
                    RequestKind::Flush => return writeln!(into, "{micros} {name} sync 0 0"),
                };
                writeln!(into, "{micros} {name} {action} {} {}", record.offset, record.length)
            }
            WrittenAs::Blktrace => {
                let (number, nanos) = (wrote.requests, record.at.as_nanos());
                let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
                write!(into, "{name} 0 {number} {seconds}.{nanos:09} 0 Q ")?;
                let letter = match record.kind {
                    RequestKind::Read => "R",
                    RequestKind::Write | RequestKind::WriteZeroes => "W",
                    RequestKind::Trim => "D",
                    RequestKind::Flush => return into.write_all(b"FN\n"),
                };
                let before = if record.flush_before { "F" } else { "" };
                let behind = if record.fua { "F" } else { "" };
                let (sector, sectors) = (record.offset / SECTOR_BYTES, record.length / SECTOR_BYTES);
                writeln!(into, "{before}{letter}{behind} {sector} + {sectors}")
            }
        }
    }

    /// Writes what comes before the first request to a device, and returns its name as written.
    fn meet(&mut self, record: &Recorded, name: &str) -> io::Result<String> {
        match self.written_as {
            WrittenAs::Iolog => {
                // A blank would end it.
                let name = name.replace(char::is_whitespace, "_");
                let micros = micros(record);
                writeln!(self.into, "{micros} {name} add\n{micros} {name} open")?;
                Ok(name)
            }
            WrittenAs::Blktrace => {
                let is_number =
                    |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                let known =
                    name.split_once(',').filter(|(major, minor)| is_number(major) && is_number(minor));
                let numbered = || format!("{MAJOR_OF_NAMED},{}", record.device);
                Ok(known.map_or_else(numbered, |_| name.to_owned()))
            }
        }
    }

    /// The trace is whole.
    pub(super) fn finish(mut self) -> io::Result<(W, Wrote)> {
        self.into.flush()?;
        Ok((self.into, self.wrote))
    }
}

fn micros(record: &Recorded) -> u64 {
    record.at.as_picos() / 1_000_000
}
