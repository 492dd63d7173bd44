//! A waveform as a table, written beside a picture.

use super::name_of;
use crate::figure::quoted;
use aster_device::wave::{Level, Waveform};
use aster_units::Instant;
use std::io;

/// Writes every change of `wave` as CSV (RFC 4180): bytes in hexadecimal, `z` where neither side drives the
/// bus.
///
/// # Errors
/// Those of `out`.
pub fn write_csv(mut out: impl io::Write, wave: &Waveform) -> io::Result<()> {
    writeln!(out, "time_ns,signal,level")?;
    for change in wave.changes() {
        let level = match change.level {
            Level::Low => "0".to_owned(),
            Level::High => "1".to_owned(),
            Level::Byte(None) => "z".to_owned(),
            Level::Byte(Some(byte)) => format!("{byte:02X}"),
            Level::Text(label) => quoted(&label.to_string()),
        };
        let at = change.at.since(Instant::ZERO).as_picos() as f64 / 1e3;
        writeln!(out, "{at},{},{level}", name_of(change.signal))?;
    }
    out.flush()
}
