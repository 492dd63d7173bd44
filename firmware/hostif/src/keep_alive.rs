//! The Keep Alive Timer (NVMe 1.4 §7.12): a host from which nothing comes for too long has gone.
//!
//! Any traffic counts, not only Keep Alive commands (CTRATT.TBKAS). At the end of each interval the
//! controller looks whether it has done anything for the host since the interval began. So it finds out
//! between one and two timeouts after the last command. Keep Alive and Set Features begin an interval anew.
//! Nothing is noted for a single command: what the interval brought is the difference of a count that the
//! controller keeps anyway.

use aster_units::{Duration, Instant};

/// The unit of the timer (KAS): 100 ms.
pub(crate) const GRANULARITY_100MS: u16 = 1;
/// The granularity in milliseconds.
pub(crate) const GRANULARITY_MS: u32 = 100 * GRANULARITY_100MS as u32;
/// While it runs, the timer is looked at so often. No timeout is shorter, so a look that is under way is
/// never later than the end of an interval that begins meanwhile.
const LOOK_EACH: Duration = Duration::from_millis(GRANULARITY_MS as u64);

/// What a look at the timer finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// It is off.
    Off,
    /// It is to be looked at again then.
    LookAt(Instant),
    /// An interval has brought nothing: the host has gone. The timer is off now.
    Expired,
}

/// The timer.
#[derive(Debug, Default)]
pub(crate) struct KeepAlive {
    /// Zero while it is off.
    timeout: Duration,
    /// When the interval ends.
    end: Instant,
    /// The traffic before the interval.
    before: u64,
    /// A look is under way.
    looks: bool,
    /// The host could not be heard for a part of the interval.
    excused: bool,
}

impl KeepAlive {
    pub fn is_on(&self) -> bool {
        !self.timeout.is_zero()
    }
    /// Sets the timeout in milliseconds, a multiple of [`GRANULARITY_MS`]; 0 switches the timer off.
    pub fn set(&mut self, timeout_ms: u32) {
        debug_assert!(timeout_ms.is_multiple_of(GRANULARITY_MS), "the timeout has been rounded");
        self.timeout = Duration::from_millis(timeout_ms.into());
    }
    pub fn stop(&mut self) {
        self.timeout = Duration::ZERO;
    }
    /// The interval counts as one with traffic.
    pub fn excuse(&mut self) {
        self.excused = true;
    }
    /// An interval begins, after so much `traffic` in the controller's life. Returns when to look at the
    /// timer, unless a look is under way.
    pub fn begin(&mut self, now: Instant, traffic: u64) -> Option<Instant> {
        if !self.is_on() {
            return None;
        }
        self.start(now, traffic);
        let begins = !core::mem::replace(&mut self.looks, true);
        begins.then(|| self.next_look(now))
    }
    /// The longest timeout is 49 days, and the clock ends after 213.
    fn start(&mut self, now: Instant, traffic: u64) {
        let end = now.as_picos().saturating_add(self.timeout.as_picos());
        (self.end, self.before, self.excused) = (Instant::from_picos(end), traffic, false);
    }
    fn next_look(&self, now: Instant) -> Instant {
        self.end.min(now + LOOK_EACH)
    }
    /// Looks at the timer. `is_working` says whether the controller is processing a command.
    pub fn look(&mut self, now: Instant, traffic: u64, is_working: bool) -> Found {
        debug_assert!(self.looks, "a look was under way");
        if self.is_on() && now >= self.end {
            if traffic == self.before && !is_working && !core::mem::take(&mut self.excused) {
                self.stop();
            } else {
                self.start(now, traffic);
            }
            if !self.is_on() {
                self.looks = false;
                return Found::Expired;
            }
        }
        self.looks = self.is_on();
        if self.looks { Found::LookAt(self.next_look(now)) } else { Found::Off }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }
    fn started(timeout_ms: u32) -> KeepAlive {
        let mut timer = KeepAlive::default();
        timer.set(timeout_ms);
        timer
    }

    #[test]
    fn one_look_is_under_way_at_a_time_whatever_the_host_sets() {
        let mut timer = started(1_000);
        assert_eq!(timer.begin(at(0), 0), Some(at(100)));
        timer.set(100);
        assert_eq!(timer.begin(at(30), 1), None, "it ends behind the look");
        timer.stop();
        timer.set(500);
        assert_eq!(timer.begin(at(60), 2), None);
        assert_eq!(timer.look(at(100), 2, false), Found::LookAt(at(200)));
        timer.stop();
        assert_eq!(timer.look(at(200), 2, false), Found::Off);
        assert_eq!(timer.begin(at(250), 2), None, "it is off");
        timer.set(100);
        assert_eq!(timer.begin(at(300), 2), Some(at(400)));
    }

    #[test]
    fn an_interval_without_traffic_expires_at_its_end() {
        let mut timer = started(200);
        assert_eq!(timer.begin(at(50), 7), Some(at(150)));
        assert_eq!(timer.look(at(150), 8, false), Found::LookAt(at(250)));
        assert_eq!(timer.look(at(250), 8, false), Found::LookAt(at(350)), "there was one command");
        assert_eq!(timer.look(at(350), 8, false), Found::LookAt(at(450)));
        assert_eq!(timer.look(at(450), 8, true), Found::LookAt(at(550)), "a command takes long");
        assert_eq!(timer.look(at(550), 8, false), Found::LookAt(at(650)));
        assert_eq!(timer.look(at(650), 8, false), Found::Expired);
        assert!(!timer.is_on());
    }
}
