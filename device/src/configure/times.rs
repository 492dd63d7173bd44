//! Times as profiles give them: numbers whose unit the key names.

use aster_units::Duration;

pub(crate) fn micros(us: f64) -> Duration {
    Duration::from_nanos_f64(us * 1e3)
}

pub(super) fn nanos(ns: u32) -> Duration {
    Duration::from_nanos(u64::from(ns))
}

/// Times by page type: LSB, CSB, MSB. A type that the cells don't have repeats its neighbour's time.
pub(super) fn per_type(times: &[f64]) -> [Duration; 3] {
    match *times {
        [lsb] => [micros(lsb); 3],
        [lsb, msb] => [micros(lsb), micros(msb), micros(msb)],
        [lsb, csb, msb, ..] => [micros(lsb), micros(csb), micros(msb)],
        [] => [Duration::ZERO; 3],
    }
}
