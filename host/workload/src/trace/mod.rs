//! Recorded traces as they are, line by line: `blkparse` text, MSR Cambridge CSV, fio iolog versions 2 and 3.
//!
//! | format | a line | times | device |
//! |---|---|---|---|
//! | [`Format::Blkparse`] | `8,0 1 11 0.009507758 697 Q WS 223490 + 8 [cmd]`; only Q events count | ns | `8,0` |
//! | [`Format::Msr`] | `128166372003061629,usr,0,Read,7014609920,24576,41286` | 100 ns | `usr,0` |
//! | [`Format::Iolog`] | `fio version 3 iolog` first, then `1500 /dev/sda write 0 4096` | µs | `/dev/sda` |
//!
//! A trace of several devices is replayed for one of them ([`Replay::device`]; the first that appears unless given):
//! a stack of devices records the same request once a layer. [`Trace::other_devices`] counts what was left out.

mod blkparse;
mod error;
mod iolog;
mod msr;
mod record;

pub use error::{TraceError, TraceProblem};

use crate::{Drive, Request, RequestKind, Source, TIME_MAX};
use alloc::string::{String, ToString};
use aster_units::Duration;
use error::At;
use record::{Line, Record};

/// Longest request given in one piece; longer ones in a trace are given in several.
const PIECE_BYTES_MAX: u64 = 1 << 30;

/// How a trace is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// The default text of `blkparse`.
    Blkparse,
    /// MSR Cambridge CSV.
    Msr,
    /// fio's iolog, version 2 or 3.
    Iolog,
}

impl Format {
    /// The format whose first line this can be.
    pub fn detect(first_line: &str) -> Option<Format> {
        if iolog::is_header(first_line) {
            Some(Format::Iolog)
        } else if msr::is_header(first_line) || matches!(msr::line(first_line), Ok(Line::Request(_))) {
            Some(Format::Msr)
        } else if !first_line.trim().is_empty() && blkparse::Blkparse::default().line(first_line).is_ok() {
            Some(Format::Blkparse)
        } else {
            None
        }
    }

    /// Picoseconds of a tick of its timestamps.
    const fn tick_picos(self) -> u64 {
        match self {
            Format::Blkparse => 1_000,
            Format::Msr => 100_000,
            Format::Iolog => 1_000_000,
        }
    }
}

/// When the requests of a trace go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// At their recorded times, counted from the first, in percent: 50 replays twice as fast. The queue depth still
    /// bounds what is in flight.
    Recorded {
        /// Percent of the recorded time, above 0.
        percent: u32,
    },
    /// As fast as the queue depth allows.
    AsFastAsPossible,
}

/// What becomes of a request that reaches beyond the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// An error.
    Refuse,
    /// Its offset is taken modulo the drive's size; one that would then cross the end is moved to just before it.
    Wrap,
}

/// What becomes of a request that is not made of whole logical blocks.
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
    /// When requests go.
    pub times: Times,
    /// What becomes of requests beyond the drive.
    pub beyond: Beyond,
    /// What becomes of requests that are not whole blocks.
    pub unaligned: Unaligned,
    /// The device to replay, as the format names it; `None` is the first that appears.
    pub device: Option<String>,
}

impl Default for Replay {
    /// At the recorded times, refusing what does not fit.
    fn default() -> Self {
        Replay {
            times: Times::Recorded { percent: 100 },
            beyond: Beyond::Refuse,
            unaligned: Unaligned::Refuse,
            device: None,
        }
    }
}

#[derive(Clone, Debug)]
enum Parser {
    Blkparse(blkparse::Blkparse),
    Msr,
    Iolog(iolog::Iolog),
}

/// What is left of a record that gives several requests.
#[derive(Clone, Copy, Debug)]
struct Rest {
    flush_first: bool,
    kind: RequestKind,
    offset: u64,
    length: u64,
    fua: bool,
    at: Option<Duration>,
}

/// A trace as a [`Source`]: reads a line when it needs one, keeps none. The lines come from whoever can read files.
#[derive(Clone, Debug)]
pub struct Trace<L> {
    lines: L,
    parser: Parser,
    tick_picos: u64,
    drive: Drive,
    replay: Replay,
    line: usize,
    first_ticks: Option<u64>,
    last_at: Duration,
    rest: Option<Rest>,
    other_devices: u64,
    failed: bool,
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
        let parser = match format {
            Format::Blkparse => Parser::Blkparse(blkparse::Blkparse::default()),
            Format::Msr => Parser::Msr,
            Format::Iolog => Parser::Iolog(iolog::Iolog::default()),
        };
        Trace {
            lines,
            parser,
            tick_picos: format.tick_picos(),
            drive,
            replay,
            line: 0,
            first_ticks: None,
            last_at: Duration::ZERO,
            rest: None,
            other_devices: 0,
            failed: false,
        }
    }

    /// Requests left out so far because they went to other devices than the one replayed.
    pub fn other_devices(&self) -> u64 {
        self.other_devices
    }

    /// The device that is replayed, once it is known.
    pub fn device(&self) -> Option<&str> {
        self.replay.device.as_deref()
    }

    /// The next piece of what is left.
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
            at: rest.at,
        };
        rest.offset += length;
        rest.length -= length;
        if rest.length == 0 {
            self.rest = None;
        }
        Some(request)
    }

    fn take_line(&mut self, text: &str) -> Result<(), At> {
        let line = match &mut self.parser {
            Parser::Blkparse(parser) => parser.line(text)?,
            Parser::Msr => msr::line(text)?,
            Parser::Iolog(parser) => parser.line(text)?,
        };
        let Line::Request(record) = line else { return Ok(()) };
        match &self.replay.device {
            None => self.replay.device = Some(record.device.to_string()),
            Some(device) if device != record.device => {
                self.other_devices += 1;
                return Ok(());
            }
            Some(_) => {}
        }
        let (offset, length) = self.fit(&record)?;
        let at = self.time(record.ticks).ok_or_else(|| At {
            byte: record.time_place,
            problem: TraceProblem::Expected {
                what: "a time within 50 days of the first request",
                found: record.ticks.to_string(),
            },
        })?;
        self.rest = Some(Rest {
            flush_first: record.flush_before,
            kind: record.kind,
            offset,
            length,
            fua: record.fua,
            at,
        });
        Ok(())
    }

    /// When a request goes; `None` if that is beyond [`TIME_MAX`].
    fn time(&mut self, ticks: u64) -> Option<Option<Duration>> {
        let first = *self.first_ticks.get_or_insert(ticks);
        let Times::Recorded { percent } = self.replay.times else { return Some(None) };
        let since = u128::from(ticks.saturating_sub(first)) * u128::from(self.tick_picos);
        let picos = u64::try_from(since * u128::from(percent) / 100).ok()?;
        // Events of several CPUs may be a little out of order; the line's place counts.
        self.last_at = self.last_at.max(Duration::from_picos(picos));
        (self.last_at <= TIME_MAX).then_some(Some(self.last_at))
    }

    fn fit(&self, record: &Record<'_>) -> Result<(u64, u64), At> {
        let Drive { bytes: drive, block_bytes } = self.drive;
        let block = u64::from(block_bytes);
        let (mut offset, mut length) = (record.offset, record.length);
        let fail = |problem| Err(At { byte: record.place, problem });
        let beyond = TraceProblem::BeyondDrive { offset, length, drive };
        let Some(end) = offset.checked_add(length) else { return fail(beyond) };
        if offset % block != 0 || length % block != 0 {
            if self.replay.unaligned == Unaligned::Refuse {
                return fail(TraceProblem::Unaligned { offset, length, block: block_bytes });
            }
            offset -= offset % block;
            let Some(end) = end.checked_next_multiple_of(block) else { return fail(beyond) };
            length = end - offset;
        }
        if offset.checked_add(length).is_none_or(|end| end > drive) {
            if self.replay.beyond == Beyond::Refuse || length > drive {
                return fail(beyond);
            }
            offset = (offset % drive).min(drive - length);
        }
        Ok((offset, length))
    }
}

impl<L> Source for Trace<L>
where
    L: Iterator,
    L::Item: AsRef<str>,
{
    type Error = TraceError;

    fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        loop {
            if let Some(request) = self.piece() {
                return Ok(Some(request));
            }
            if self.failed {
                return Ok(None);
            }
            let Some(line) = self.lines.next() else { return Ok(None) };
            let text = line.as_ref();
            self.line += 1;
            self.take_line(text).map_err(|At { byte, problem }| {
                self.failed = true;
                let column = text.char_indices().take_while(|(i, _)| *i < byte).count() + 1;
                TraceError { line: self.line, column, problem }
            })?;
        }
    }
}

#[cfg(test)]
mod tests;
