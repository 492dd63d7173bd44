//! What a drive's work gives off as heat, and the sensor that measures it (H1).

use crate::thermal::ThermalConfig;
use aster_units::Duration;

/// Work that has been counted up to an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Pages read from the array.
    pub reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Bytes on the flash buses.
    pub bus_bytes: u64,
    /// Bytes on the host link.
    pub link_bytes: u64,
}

/// What work gives off as heat.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Heat {
    /// Watts of a drive that does nothing.
    pub idle: f64,
    /// Joules of a page read.
    pub read: f64,
    /// Joules of a page program.
    pub program: f64,
    /// Joules of a block erase.
    pub erase: f64,
    /// Joules of a byte on a flash bus.
    pub bus_byte: f64,
    /// Joules of a byte on the host link.
    pub link_byte: f64,
}

impl Heat {
    /// The mean power in watts of a drive that has worked from `before` to `now` within `elapsed`, which is
    /// above zero.
    pub fn watts(&self, before: &Work, now: &Work, elapsed: Duration) -> f64 {
        let more = |now: u64, before: u64| (now - before) as f64;
        let joules = self.read * more(now.reads, before.reads)
            + self.program * more(now.programs, before.programs)
            + self.erase * more(now.erases, before.erases)
            + self.bus_byte * more(now.bus_bytes, before.bus_bytes)
            + self.link_byte * more(now.link_bytes, before.link_bytes);
        self.idle + joules / elapsed.as_secs_f64()
    }
}

/// When a drive slows itself down, and how much (H4).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Throttling {
    /// From so many kelvins on.
    pub alarm: f64,
    /// Until it has cooled to so many, `alarm` at most.
    pub cooled: f64,
    /// Dies of each array controller that work meanwhile.
    pub dies: u16,
}

impl Throttling {
    /// Whether it slows down at `kelvins`, if it did (`is_on`) or didn't before.
    pub fn is_on(&self, is_on: bool, kelvins: f64) -> bool {
        kelvins >= self.alarm || is_on && kelvins > self.cooled
    }
}

/// A board with a temperature sensor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SensorConfig {
    /// How it gives off its heat.
    pub board: ThermalConfig,
    /// The heat.
    pub heat: Heat,
    /// What the drive does when it is hot.
    pub throttling: Throttling,
    /// How often the firmware reads the sensor.
    pub interval: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttling_begins_at_the_alarm_and_ends_when_the_drive_has_cooled() {
        let throttling = Throttling { alarm: 343.0, cooled: 338.0, dies: 1 };
        let mut is_on = false;
        let states = [342.9, 343.0, 342.0, 338.1, 338.0, 342.9, 350.0].map(|kelvins| {
            is_on = throttling.is_on(is_on, kelvins);
            is_on
        });
        assert_eq!(states, [false, true, true, true, false, false, true]);
    }

    #[test]
    fn each_kind_of_work_has_its_energy() {
        let heat =
            Heat { idle: 2.0, read: 1e-5, program: 1e-4, erase: 1e-3, bus_byte: 1e-9, link_byte: 1e-10 };
        let before = Work { reads: 1, programs: 2, erases: 3, bus_bytes: 4, link_bytes: 5 };
        let now = Work {
            reads: 10_001,
            programs: 2_002,
            erases: 303,
            bus_bytes: 400_000_004,
            link_bytes: 5_000_000_005,
        };
        // 0.1, 0.2, 0.3, 0.4 and 0.5 J within half a second.
        let watts = heat.watts(&before, &now, Duration::from_millis(500));
        assert!((watts - 5.0).abs() < 1e-9, "{watts}");
        assert_eq!(heat.watts(&now, &now, Duration::from_millis(1)), 2.0);
    }
}
