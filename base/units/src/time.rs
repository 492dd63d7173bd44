use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// Picoseconds per second.
pub const PICOS_A_SECOND: u64 = 1_000_000_000_000;

/// A point in simulated time, in picoseconds since the device was powered on. The range is 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A length of simulated time, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

/// A clock frequency in hertz, never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Frequency(u64);

impl Instant {
    /// Power-on.
    pub const ZERO: Instant = Instant(0);
    /// Later than any event.
    pub const MAX: Instant = Instant(u64::MAX);

    /// The instant `picoseconds` after power-on.
    pub const fn from_picos(picoseconds: u64) -> Self {
        Instant(picoseconds)
    }

    /// Picoseconds since power-on.
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, or zero when `earlier` is later.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// This instant rounded up to the next multiple of `period` (a clock edge counted from power-on).
    pub const fn next_edge(self, period: Duration) -> Instant {
        if period.0 <= 1 { self } else { Instant(self.0.div_ceil(period.0) * period.0) }
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// The longest representable time.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A duration of `n` picoseconds.
    pub const fn from_picos(n: u64) -> Self {
        Duration(n)
    }
    /// A duration of `n` nanoseconds.
    pub const fn from_nanos(n: u64) -> Self {
        Duration(n * 1_000)
    }
    /// A duration of `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Duration(n * 1_000_000)
    }
    /// A duration of `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Duration(n * 1_000_000_000)
    }
    /// A duration of `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Duration(n * 1_000_000_000_000)
    }
    /// A duration given in (possibly fractional) nanoseconds, rounded to the picosecond. For configuration
    /// only.
    pub fn from_nanos_f64(nanos: f64) -> Self {
        Duration(libm::round(nanos * 1_000.0) as u64)
    }
    /// Length in picoseconds.
    pub const fn as_picos(self) -> u64 {
        self.0
    }
    /// Length in whole nanoseconds, rounded down.
    pub const fn as_nanos(self) -> u64 {
        self.0 / 1_000
    }
    /// Length in microseconds, for printing.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Length in seconds, for printing.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// True when no time passes.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// How many whole clock cycles of `period` cover this duration, rounded up.
    pub const fn cycles_up(self, period: Duration) -> u64 {
        if period.0 == 0 { 0 } else { self.0.div_ceil(period.0) }
    }
    /// The longer of two durations.
    pub const fn max(self, other: Duration) -> Duration {
        if self.0 > other.0 { self } else { other }
    }
    /// Subtraction that stops at zero.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
    /// The time that `bytes` take at `bytes_per_second`, rounded up to the picosecond. A rate of 0 means
    /// unlimited.
    pub const fn of_transfer(bytes: u64, bytes_per_second: u64) -> Duration {
        if bytes_per_second == 0 {
            return Duration(0);
        }
        match bytes.checked_mul(PICOS_A_SECOND) {
            Some(scaled) => Duration(scaled.div_ceil(bytes_per_second)),
            None => {
                Duration((bytes as u128 * PICOS_A_SECOND as u128).div_ceil(bytes_per_second as u128) as u64)
            }
        }
    }
}

impl Frequency {
    /// `hertz` must not be zero.
    pub const fn from_hertz(hertz: u64) -> Option<Self> {
        if hertz == 0 { None } else { Some(Frequency(hertz)) }
    }
    /// Hertz.
    pub const fn hertz(self) -> u64 {
        self.0
    }
    /// The time that `n` cycles take, `n·10¹²/f` in 128 bits, rounded down (G1). To avoid drift, convert
    /// a running count instead of summing conversions.
    pub const fn cycles(self, n: u64) -> Duration {
        match n.checked_mul(PICOS_A_SECOND) {
            Some(scaled) => Duration(scaled / self.0),
            None => Duration((n as u128 * PICOS_A_SECOND as u128 / self.0 as u128) as u64),
        }
    }
    /// The clock period, rounded down to the picosecond.
    pub const fn period(self) -> Duration {
        Duration(1_000_000_000_000 / self.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0 + d.0)
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}
impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, d: Duration) -> Instant {
        Instant(self.0.saturating_sub(d.0))
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0 + d.0)
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}
impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0 - d.0)
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, n: u64) -> Duration {
        Duration(self.0 * n)
    }
}
impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}

fn write_picos(f: &mut fmt::Formatter<'_>, p: u64) -> fmt::Result {
    let (unit, name) = match p {
        0..1_000 => (1, "ps"),
        1_000..1_000_000 => (1_000, "ns"),
        1_000_000..1_000_000_000 => (1_000_000, "µs"),
        1_000_000_000..1_000_000_000_000 => (1_000_000_000, "ms"),
        _ => (1_000_000_000_000u64, "s"),
    };
    let whole = p / unit;
    let thousandths = (p % unit) * 1_000 / unit;
    if thousandths == 0 { write!(f, "{whole} {name}") } else { write!(f, "{whole}.{thousandths:03} {name}") }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_picos(f, self.0)
    }
}
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_picos(f, self.0)
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_picos(f, self.0)
    }
}
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_picos(f, self.0)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    #[test]
    fn cycles_of_a_clock_that_does_not_divide_do_not_drift() {
        let f = Frequency::from_hertz(120_000_000).unwrap();
        assert_eq!(f.cycles(3).as_picos(), 25_000);
        assert_eq!(f.cycles(120_000_000), Duration::from_secs(1));
    }

    #[test]
    fn durations_print_in_the_unit_a_person_would_choose() {
        assert_eq!(format!("{}", Duration::from_nanos(90_240)), "90.240 µs");
        assert_eq!(format!("{}", Duration::from_micros(99)), "99 µs");
    }

    #[test]
    fn edges_round_up() {
        let p = Duration::from_nanos(10);
        assert_eq!(Instant::from_picos(10_001).next_edge(p), Instant::from_picos(20_000));
        assert_eq!(Instant::from_picos(10_000).next_edge(p), Instant::from_picos(10_000));
    }

    #[test]
    fn transfers_round_up_and_zero_rate_is_unlimited() {
        assert_eq!(Duration::of_transfer(18_048, 200_000_000), Duration::from_nanos(90_240));
        assert_eq!(Duration::of_transfer(1 << 40, 0), Duration::ZERO);
    }
}
