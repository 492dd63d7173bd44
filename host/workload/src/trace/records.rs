//! A trace as it was recorded, of all devices and of any size.

use super::devices::DEVICES_MAX;
use super::error::{At, TraceError, TraceProblem};
use super::format::Format;
use super::reader::{Reader, TraceLine};
use crate::RequestKind;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use aster_units::Duration;

/// A request as it was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// What it does: read, write, trim or flush.
    pub kind: RequestKind,
    /// First byte; 0 of a flush.
    pub offset: u64,
    /// Bytes; 0 of a flush alone. Together with the offset they fit 64 bits.
    pub length: u64,
    /// Force unit access.
    pub fua: bool,
    /// It asks for a flush before its own work.
    pub flush_before: bool,
    /// When it came, from the first request of the trace on. It never goes back.
    pub at: Duration,
    /// Its device, as an index into [`Records::devices`].
    pub device: usize,
}

impl Recorded {
    /// One past its last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// The requests of a trace, one after the other. It keeps none.
#[derive(Clone, Debug)]
pub struct Records<L> {
    reader: Reader<L>,
    tick_picos: u64,
    names: Vec<String>,
    by_name: BTreeMap<String, usize>,
    first_ticks: Option<u64>,
    last_at: Duration,
}

impl<L> Records<L> {
    /// Reads `lines`, which are written in `format`.
    pub fn new(lines: L, format: Format) -> Self {
        Records {
            reader: Reader::new(lines, format),
            tick_picos: format.tick_picos(),
            names: Vec::new(),
            by_name: BTreeMap::new(),
            first_ticks: None,
            last_at: Duration::ZERO,
        }
    }

    /// The devices met so far, in the order in which they appear.
    pub fn devices(&self) -> &[String] {
        &self.names
    }

    /// The line of the last request, from 1.
    pub fn line(&self) -> usize {
        self.reader.line()
    }
}

impl<L> Records<L>
where
    L: Iterator,
    L::Item: TraceLine,
{
    /// The next request, or `None` at the end.
    ///
    /// # Errors
    /// The first line that is wrong. It gives nothing afterwards.
    pub fn next_record(&mut self) -> Result<Option<Recorded>, TraceError> {
        let Records { reader, tick_picos, names, by_name, first_ticks, last_at } = self;
        reader.next(|record| {
            let at = |byte, problem| At { byte, problem };
            let since = record.ticks.saturating_sub(*first_ticks.get_or_insert(record.ticks));
            let picos = since.checked_mul(*tick_picos).ok_or_else(|| {
                let found = record.ticks.to_string();
                let what = "a time within 213 days of the first request";
                at(record.time_place, TraceProblem::Expected { what, found })
            })?;
            // Events of several CPUs may be slightly out of order; the order of the lines counts.
            *last_at = (*last_at).max(Duration::from_picos(picos));
            if record.offset.checked_add(record.length).is_none() {
                let (offset, length) = (record.offset, record.length);
                return Err(at(record.place, TraceProblem::BeyondAddresses { offset, length }));
            }
            let device = match by_name.get(record.device) {
                Some(&known) => known,
                None if names.len() == DEVICES_MAX => {
                    return Err(at(record.place, TraceProblem::TooManyDevices(DEVICES_MAX)));
                }
                None => {
                    by_name.insert(record.device.to_string(), names.len());
                    names.push(record.device.to_string());
                    names.len() - 1
                }
            };
            let is_flush = record.kind == RequestKind::Flush;
            Ok(Some(Recorded {
                kind: record.kind,
                offset: record.offset,
                length: record.length,
                fua: record.fua,
                flush_before: record.flush_before && !is_flush,
                at: *last_at,
                device,
            }))
        })
    }
}
