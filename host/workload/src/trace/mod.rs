//! Recorded traces in their own formats, read line by line: `blkparse` text, MSR Cambridge CSV, fio iolog
//! versions 2 and 3, MQSim's ASCII, and tables of comma-separated columns, published ones and the user's own.
//!
//! | format | a line | times | device |
//! |---|---|---|---|
//! | [`Format::Blkparse`] | `8,0 1 11 0.009507758 697 Q WS 223490 + 8 [cmd]`; only Q events count | ns | `8,0` |
//! | [`Format::Msr`] | `128166372003061629,usr,0,Read,7014609920,24576,41286` | 100 ns | `usr,0` |
//! | [`Format::Iolog`] | `fio version 3 iolog` first, then `1500 /dev/sda write 0 4096` | µs | `/dev/sda` |
//! | [`Format::Alibaba`] | `419,W,8792731648,16384,1577808144360767` | µs | `419` |
//! | [`Format::Tencent`] | `1538323199,105352008,584,1,1576`: 512-byte sectors, 0 read or 1 write | s | `1576` |
//! | [`Format::Systor`] | `1455508800.004377,0.000325,R,2,17099317760,36864` | s | `2` |
//! | [`Format::Mqsim`] | `11413000 0 657728 16 1`: time, device, sector, sectors, 0 write or 1 read | ns | `0` |
//!
//! If a trace has several devices, [`Replay::devices`] chooses which are replayed. The default is the
//! first that appears, since a stack of devices records the same request once per layer.
//! [`Trace::devices`] says which requests each device got.

mod blkparse;
mod columns;
mod devices;
mod error;
mod format;
mod iolog;
mod mqsim;
mod msr;
mod reader;
mod record;
mod records;

pub use columns::Columns;
pub use devices::{Device, Devices, Place, Region};
pub use error::{TraceError, TraceProblem};
pub use format::Format;
pub use reader::TraceLine;
pub use records::{Recorded, Records};

use crate::{Drive, Request, RequestKind, Source, TIME_MAX};
use alloc::string::ToString;
use aster_units::Duration;
use devices::{DEVICES_MAX, Table};
use error::At;
use reader::Reader;
use record::TraceRecord;

/// The longest request returned in one part. A trace's longer requests are returned in several.
const PIECE_BYTES_MAX: u64 = 1 << 30;

/// The recorded speed, for [`Times::Recorded`].
pub const SPEED_RECORDED: u32 = 1_000;

/// When the requests of a trace are issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// At their recorded times, counted from the first, or faster by a factor. The queue depth still bounds
    /// the requests in flight.
    Recorded {
        /// Thousandths of the recorded speed, above 0: 2,000 replays twice as fast.
        speed: u32,
    },
    /// As fast as the queue depth allows.
    AsFastAsPossible,
}

/// What to do with a request that reaches beyond the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// An error.
    Refuse,
    /// Its offset is taken modulo the drive's size; one that would then cross the end is moved to just before
    /// it.
    Wrap,
}

/// What to do with a request that isn't made of whole logical blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unaligned {
    /// An error.
    Refuse,
    /// It is widened to the blocks that it touches.
    Widen,
}

/// How a trace is replayed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replay {
    /// When requests are issued.
    pub times: Times,
    /// What to do with requests beyond the drive.
    pub beyond: Beyond,
    /// What to do with requests that aren't whole blocks.
    pub unaligned: Unaligned,
    /// The devices to replay.
    pub devices: Devices,
}

impl Default for Replay {
    /// The recorded times; requests that don't fit are refused.
    fn default() -> Self {
        Replay {
            times: Times::Recorded { speed: SPEED_RECORDED },
            beyond: Beyond::Refuse,
            unaligned: Unaligned::Refuse,
            devices: Devices::First,
        }
    }
}

/// The rest of a record that becomes several requests.
#[derive(Clone, Copy, Debug)]
struct Rest {
    flush_first: bool,
    kind: RequestKind,
    offset: u64,
    length: u64,
    fua: bool,
    at: Option<Duration>,
}

/// A trace as a [`Source`]. It reads a line when it needs one and keeps none. The caller reads the file,
/// since this crate can't.
#[derive(Clone, Debug)]
pub struct Trace<L> {
    reader: Reader<L>,
    fit: Fit,
    rest: Option<Rest>,
}

/// Fits records to a drive.
#[derive(Clone, Debug)]
struct Fit {
    tick_picos: u64,
    drive: Drive,
    replay: Replay,
    first_ticks: Option<u64>,
    last_at: Duration,
    devices: Table,
}

impl<L> Trace<L> {
    /// Replays `lines`, written in `format`, on `drive`, whose size is a multiple of its block.
    pub fn new(lines: L, format: Format, drive: Drive, replay: Replay) -> Self {
        assert!(
            drive.block_bytes > 0
                && drive.bytes.is_multiple_of(u64::from(drive.block_bytes))
                && drive.bytes > 0,
            "a drive is made of whole blocks: {drive:?}"
        );
        let fit = Fit {
            tick_picos: format.tick_picos(),
            drive,
            replay,
            first_ticks: None,
            last_at: Duration::ZERO,
            devices: Table::default(),
        };
        Trace { reader: Reader::new(lines, format), fit, rest: None }
    }

    /// The devices met so far, in the order in which they appear.
    pub fn devices(&self) -> &[Device] {
        self.fit.devices.all()
    }

    /// The next part of the current record.
    fn piece(&mut self) -> Option<Request> {
        let rest = self.rest.as_mut()?;
        if rest.flush_first {
            rest.flush_first = false;
            return Some(Request { at: rest.at, ..Request::FLUSH });
        }
        let length = rest.length.min(PIECE_BYTES_MAX);
        let request = Request {
            kind: rest.kind,
            offset: rest.offset,
            length: length as u32,
            fua: rest.fua,
            stream: 0,
            at: rest.at,
        };
        rest.offset += length;
        rest.length -= length;
        if rest.length == 0 {
            self.rest = None;
        }
        Some(request)
    }
}

impl Fit {
    /// What becomes of a record; `None` if it is left out.
    fn take(&mut self, record: &TraceRecord<'_>) -> Result<Option<Rest>, At> {
        let device = self.devices.meet(record.device, &self.replay.devices, self.drive);
        let Some(device) = device else { return refuse(record, TraceProblem::TooManyDevices(DEVICES_MAX)) };
        if record.kind == RequestKind::Write {
            device.written_bytes = device.written_bytes.saturating_add(record.length);
        }
        let Some(region) = device.region else { return Ok(None) };
        let (offset, length) = whole_blocks(record, self.drive, self.replay.unaligned)?;
        device.end = device.end.max(offset + length);
        device.longest = device.longest.max(length);
        let offset = place(record, (offset, length), region, self.replay.beyond)?;
        let at = self.time(record.ticks).ok_or_else(|| At {
            byte: record.time_place,
            problem: TraceProblem::Expected {
                what: "a time within 50 days of the first request",
                found: record.ticks.to_string(),
            },
        })?;
        Ok(Some(Rest {
            flush_first: record.flush_before,
            kind: record.kind,
            offset,
            length,
            fua: record.fua,
            at,
        }))
    }

    /// When a request is issued; `None` if that is beyond [`TIME_MAX`].
    fn time(&mut self, ticks: u64) -> Option<Option<Duration>> {
        let first = *self.first_ticks.get_or_insert(ticks);
        let Times::Recorded { speed } = self.replay.times else { return Some(None) };
        let since = u128::from(ticks.saturating_sub(first)) * u128::from(self.tick_picos);
        let picos = u64::try_from(since * u128::from(SPEED_RECORDED) / u128::from(speed.max(1))).ok()?;
        // Events of several CPUs may be slightly out of order; the order of the lines counts.
        self.last_at = self.last_at.max(Duration::from_picos(picos));
        (self.last_at <= TIME_MAX).then_some(Some(self.last_at))
    }
}

fn refuse<T>(record: &TraceRecord<'_>, problem: TraceProblem) -> Result<T, At> {
    Err(At { byte: record.place, problem })
}

/// First byte and bytes of a request in whole blocks; their sum fits 64 bits.
fn whole_blocks(record: &TraceRecord<'_>, drive: Drive, unaligned: Unaligned) -> Result<(u64, u64), At> {
    let (offset, length, block) = (record.offset, record.length, u64::from(drive.block_bytes));
    let beyond = TraceProblem::BeyondDrive { offset, length, drive: drive.bytes };
    let Some(end) = offset.checked_add(length) else { return refuse(record, beyond) };
    if offset % block == 0 && length % block == 0 {
        return Ok((offset, length));
    }
    if unaligned == Unaligned::Refuse {
        return refuse(record, TraceProblem::Unaligned { offset, length, block: drive.block_bytes });
    }
    let start = offset - offset % block;
    match end.checked_next_multiple_of(block) {
        Some(end) => Ok((start, end - start)),
        None => refuse(record, beyond),
    }
}

/// Where on the drive a request of whole blocks goes.
fn place(
    record: &TraceRecord<'_>,
    (offset, length): (u64, u64),
    region: Region,
    beyond: Beyond,
) -> Result<u64, At> {
    if offset + length <= region.bytes {
        return Ok(region.offset + offset);
    }
    if beyond == Beyond::Refuse || length > region.bytes {
        let (offset, length) = (record.offset, record.length);
        return refuse(record, TraceProblem::BeyondDrive { offset, length, drive: region.bytes });
    }
    Ok(region.offset + (offset % region.bytes).min(region.bytes - length))
}

impl<L> Source for Trace<L>
where
    L: Iterator,
    L::Item: TraceLine,
{
    type Error = TraceError;

    fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        loop {
            if let Some(request) = self.piece() {
                return Ok(Some(request));
            }
            self.rest = self.reader.next(|record| self.fit.take(record))?;
            if self.rest.is_none() {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests;
