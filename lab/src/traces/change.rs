//! Traces made of traces: a part of one, one that is slower or smaller, one without the gaps between its
//! addresses.

use super::input::TraceFile;
use super::recorded::{ReadOptions, Step, ToolError, read_records};
use super::touched::{Ranked, Touched};
use super::write::{Writer, WrittenAs, Wrote, writable};
use aster_units::Duration;
use aster_workload::RequestKind;
use aster_workload::trace::Recorded;
use std::io::{self, Write};
use std::ops::Range;

/// What becomes of a trace.
#[derive(Clone, Debug)]
pub enum Change {
    /// A part of it.
    Slice(Slice),
    /// Other times, other addresses.
    Scale(Scale),
    /// What reads and writes touch, one unit after the other in the order of addresses, and one device after
    /// the other.
    Remap {
        /// Bytes that stay together.
        unit: u64,
    },
}

/// A part of a trace. All conditions hold; numbers count the requests for which the others do.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// Nothing before this time, counted from the first request of the trace.
    pub from: Option<Duration>,
    /// Nothing from this time on.
    pub until: Option<Duration>,
    /// Nothing outside of these bytes of a device: a request that reaches beyond is cut. Flushes stay.
    pub range: Option<Range<u64>>,
    /// These kinds; none stands for all.
    pub kinds: Vec<RequestKind>,
    /// So many requests are left out first.
    pub skip: u64,
    /// So many requests at most.
    pub count: Option<u64>,
}

/// Other times and addresses.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Times.
    pub time: Stretch<Duration>,
    /// Addresses. The size of requests stays.
    pub addresses: Stretch<u64>,
    /// Bytes that stay together: their place is scaled, places within stay.
    pub chunk: u64,
}

/// How much larger something gets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Stretch<T> {
    /// By this factor, in millionths.
    By(u64),
    /// Such that all comes to this.
    To(T),
}

/// A factor of one, in millionths.
pub const UNCHANGED: u64 = 1_000_000;

/// What a change has made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changed {
    /// Requests read, of the devices that count.
    pub read: u64,
    /// Requests written.
    pub wrote: Wrote,
    /// From the first written request to the last.
    pub duration: Duration,
    /// One past the highest byte that is asked for.
    pub end: u64,
}

/// A fraction.
#[derive(Clone, Copy)]
struct Ratio {
    of: u64,
    to: u64,
}

impl Ratio {
    /// `None` beyond 64 bits.
    fn of(self, n: u64) -> Option<u64> {
        u64::try_from(u128::from(n) * u128::from(self.to) / u128::from(self.of.max(1))).ok()
    }
}

/// How a record changes; `None` leaves it out.
enum Plan {
    Slice { slice: Slice, met: u64 },
    Scale { time: Ratio, addresses: Ratio, chunk: u64, room: Option<u64> },
    Remap { unit: u64, devices: Vec<Placed> },
}

/// The touched units of a device, and how many are before them on the devices before.
struct Placed {
    units: Ranked,
    before: u64,
}

/// What a request becomes.
enum Outcome {
    Is(Recorded),
    LeftOut,
    /// It is left out, and so is everything after it.
    Over,
}

impl Plan {
    /// Whether nothing comes after what there has been.
    fn is_over(&self) -> bool {
        let Plan::Slice { slice, met } = self else { return false };
        slice.count.is_some_and(|count| *met >= slice.skip.saturating_add(count))
    }

    fn of(&mut self, record: &Recorded) -> Result<Outcome, String> {
        match self {
            Plan::Slice { slice, met } => Ok(sliced(slice, met, record)),
            Plan::Scale { time, addresses, chunk, room } => {
                let at = time.of(record.at.as_picos()).ok_or_else(|| {
                    format!("a request at {} would come after 213 days: a smaller --time keeps it", record.at)
                })?;
                let at = Duration::from_picos(at);
                let (offset, length) = (record.offset, record.length);
                if let Some(room) = room
                    && length > *room
                {
                    return Err(format!(
                        "{length} bytes at {offset} are more than all of the {room} that it is to fit"
                    ));
                }
                let place = addresses.of(offset / *chunk).and_then(|to| to.checked_mul(*chunk));
                let place = place.and_then(|to| to.checked_add(offset % *chunk));
                let place = place.map(|to| room.map_or(to, |room| to.min(room - length)));
                let place = place.filter(|to| to.checked_add(length).is_some()).ok_or_else(|| {
                    format!(
                        "{length} bytes at {offset} would reach beyond 2^64: a smaller --addresses keeps them"
                    )
                })?;
                Ok(Outcome::Is(Recorded { at, offset: place, ..*record }))
            }
            Plan::Remap { unit, devices } => {
                let of = &devices[record.device];
                let dense = |byte: u64| {
                    let (before, is_touched) = of.units.before(byte / *unit);
                    let within = if is_touched { byte % *unit } else { 0 };
                    (of.before + before) * *unit + within
                };
                if record.kind == RequestKind::Flush {
                    return Ok(Outcome::Is(Recorded { device: 0, ..*record }));
                }
                let (from, to) = (dense(record.offset), dense(record.end()));
                Ok(match to > from {
                    true => Outcome::Is(Recorded { offset: from, length: to - from, device: 0, ..*record }),
                    // A trim of what nobody reads or writes.
                    false => Outcome::LeftOut,
                })
            }
        }
    }
}

fn sliced(slice: &Slice, met: &mut u64, record: &Recorded) -> Outcome {
    let Slice { from, until, range, kinds, skip, .. } = slice;
    if until.is_some_and(|until| record.at >= until) {
        return Outcome::Over;
    }
    if from.is_some_and(|from| record.at < from) || !(kinds.is_empty() || kinds.contains(&record.kind)) {
        return Outcome::LeftOut;
    }
    let mut record = *record;
    if let Some(range) = range.as_ref().filter(|_| record.kind != RequestKind::Flush) {
        let (offset, end) = (record.offset.max(range.start), record.end().min(range.end));
        if end <= offset {
            return Outcome::LeftOut;
        }
        (record.offset, record.length) = (offset, end - offset);
    }
    *met += 1;
    if *met <= *skip { Outcome::LeftOut } else { Outcome::Is(record) }
}

/// Reads `file`, changes it, and writes the result to `into`. Some changes read it twice: `progress` is
/// called with the share of all that is done, and `false` stops it. Returns `into`, too.
///
/// # Errors
/// When the trace can't be read, nothing is left of it, or the result can't be written.
pub fn change<W: Write>(
    file: &TraceFile,
    options: &ReadOptions,
    change: &Change,
    written_as: WrittenAs,
    into: W,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<(W, Changed), ToolError> {
    let passes = if needs_a_look(change) { 2.0 } else { 1.0 };
    let mut plan = plan(file, options, change, &mut |share| progress(share / passes))?;
    let one_name = matches!(plan, Plan::Remap { .. }).then_some("disk");
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::BrokenPipe => ToolError::Closed,
        _ => ToolError::Output(error.to_string()),
    };
    let mut writer = Writer::new(into, written_as).map_err(failed)?;
    let (mut first, mut last, mut end) = (None, Duration::ZERO, 0);
    let second = &mut |share: f64| progress((passes - 1.0 + share) / passes);
    let through = read_records(file, options, second, |record, name| {
        let record = match plan.of(record)? {
            Outcome::Is(record) => record,
            Outcome::LeftOut => return Ok(Step::Next),
            Outcome::Over => return Ok(Step::Enough),
        };
        writable(&record, written_as)?;
        last = record.at;
        let at = record.at.saturating_sub(*first.get_or_insert(record.at));
        end = end.max(record.end());
        writer.write(&Recorded { at, ..record }, one_name.unwrap_or(name)).map_err(failed)?;
        Ok(if plan.is_over() { Step::Enough } else { Step::Next })
    })?;
    let (into, wrote) = writer.finish().map_err(failed)?;
    let Some(first) = first else {
        return Err(ToolError::Trace(format!("nothing is left of its {} requests", through.requests)));
    };
    Ok((into, Changed { read: through.requests, wrote, duration: last.saturating_sub(first), end }))
}

/// Whether the trace has to be read before it can be changed.
fn needs_a_look(change: &Change) -> bool {
    match change {
        Change::Slice(_) => false,
        Change::Scale(Scale { time, addresses, .. }) => {
            matches!(time, Stretch::To(_)) || matches!(addresses, Stretch::To(_))
        }
        Change::Remap { .. } => true,
    }
}

fn plan(
    file: &TraceFile,
    options: &ReadOptions,
    change: &Change,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Plan, ToolError> {
    match change {
        Change::Slice(slice) => Ok(Plan::Slice { slice: slice.clone(), met: 0 }),
        Change::Scale(Scale { time, addresses, chunk }) => {
            let (mut ends, mut end) = (None, 0);
            if needs_a_look(change) {
                read_records(file, options, progress, |record, _| {
                    let (first, _) = ends.unwrap_or((record.at, record.at));
                    ends = Some((first, record.at));
                    end = end.max(record.end());
                    Ok(Step::Next)
                })?;
            }
            let took = ends.map_or(Duration::ZERO, |(first, last)| last.saturating_sub(first));
            let time = match time {
                Stretch::By(factor) => Ratio { of: UNCHANGED, to: *factor },
                Stretch::To(_) if took.is_zero() => {
                    let why = "all of its requests come at the same time: no --duration can draw them apart";
                    return Err(ToolError::Trace(why.into()));
                }
                Stretch::To(wanted) => Ratio { of: took.as_picos(), to: wanted.as_picos() },
            };
            let (addresses, room) = match addresses {
                Stretch::By(factor) => (Ratio { of: UNCHANGED, to: *factor }, None),
                Stretch::To(room) => (Ratio { of: end, to: *room }, Some(*room)),
            };
            Ok(Plan::Scale { time, addresses, chunk: *chunk, room })
        }
        Change::Remap { unit } => {
            let mut touched: Vec<Touched> = Vec::new();
            read_records(file, options, progress, |record, _| {
                if touched.len() <= record.device {
                    touched.resize_with(record.device + 1, Touched::default);
                }
                if matches!(record.kind, RequestKind::Read | RequestKind::Write) && record.length > 0 {
                    touched[record.device].add(record.offset / unit, (record.end() - 1) / unit);
                }
                Ok(Step::Next)
            })?;
            let mut before = 0;
            let devices = touched.into_iter().map(|touched| {
                let placed = Placed { units: touched.ranked(), before };
                before += placed.units.units();
                placed
            });
            Ok(Plan::Remap { unit: *unit, devices: devices.collect() })
        }
    }
}

#[cfg(test)]
mod tests;
