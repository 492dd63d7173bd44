//! What a drive's work gives off as heat, and the sensor that measures it (H1).

use crate::thermal::{Power, ThermalConfig};
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
    /// Cycles of the firmware's cores.
    pub cycles: u64,
}

impl Work {
    /// Whether the drive has done something since `before`. Cores may go on without work, as one that polls.
    pub fn goes_beyond(&self, before: &Work) -> bool {
        Work { cycles: 0, ..*self } != Work { cycles: 0, ..*before }
    }
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
    /// Joules of a core's cycle.
    pub cycle: f64,
    /// Watts of `idle` that are the controller's.
    pub controller_idle: f64,
}

impl Heat {
    /// The mean power of a drive that has worked from `before` to `now` within `elapsed`, which is
    /// above zero.
    /// Cores, buses and the link belong to the controller, the arrays to the flash.
    pub fn power(&self, before: &Work, now: &Work, elapsed: Duration) -> Power {
        let more = |now: u64, before: u64| (now - before) as f64;
        let seconds = elapsed.as_secs_f64();
        let arrays = self.read * more(now.reads, before.reads)
            + self.program * more(now.programs, before.programs)
            + self.erase * more(now.erases, before.erases);
        let buses = self.bus_byte * more(now.bus_bytes, before.bus_bytes);
        let link = self.link_byte * more(now.link_bytes, before.link_bytes);
        let cores = self.cycle * more(now.cycles, before.cycles);
        Power {
            whole: self.idle + (arrays + buses + link + cores) / seconds,
            controller: self.controller_idle + (buses + link + cores) / seconds,
        }
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
    /// Where the drive slows itself down more, if it does.
    pub critical: Option<Critical>,
}

/// The second threshold of a drive's temperature.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Critical {
    /// From so many kelvins on, until the drive has cooled to the first threshold.
    pub kelvins: f64,
    /// Dies of each array controller that work meanwhile.
    pub dies: u16,
}

/// How much a drive slows itself down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Slowness {
    /// Not at all.
    #[default]
    None,
    /// As from the first threshold on.
    Light,
    /// As from the second one on.
    Heavy,
}

impl Throttling {
    /// How much it slows down at `kelvins`, after it slowed down so much `before`.
    pub fn at(&self, before: Slowness, kelvins: f64) -> Slowness {
        let stays_heavy = before == Slowness::Heavy && kelvins > self.alarm;
        let stays_light = before != Slowness::None && kelvins > self.cooled;
        if stays_heavy || self.critical.is_some_and(|critical| kelvins >= critical.kelvins) {
            Slowness::Heavy
        } else if stays_light || kelvins >= self.alarm {
            Slowness::Light
        } else {
            Slowness::None
        }
    }
    /// Dies of each array controller that work meanwhile; `None` for all.
    pub fn dies(&self, slowness: Slowness) -> Option<u16> {
        match (slowness, self.critical) {
            (Slowness::None, _) => None,
            (Slowness::Heavy, Some(critical)) => Some(critical.dies),
            _ => Some(self.dies),
        }
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
        use Slowness::{Light, None};
        let throttling = Throttling { alarm: 343.0, cooled: 338.0, dies: 1, critical: Option::None };
        let mut slowness = None;
        let states = [342.9, 343.0, 342.0, 338.1, 338.0, 342.9, 350.0].map(|kelvins| {
            slowness = throttling.at(slowness, kelvins);
            slowness
        });
        assert_eq!(states, [None, Light, Light, Light, None, None, Light]);
    }

    #[test]
    fn the_second_threshold_holds_until_the_drive_has_cooled_to_the_first() {
        use Slowness::{Heavy, Light, None};
        let critical = Some(Critical { kelvins: 353.0, dies: 1 });
        let throttling = Throttling { alarm: 343.0, cooled: 338.0, dies: 4, critical };
        let mut slowness = None;
        let states = [352.9, 353.0, 343.1, 343.0, 340.0, 338.0, 360.0].map(|kelvins| {
            slowness = throttling.at(slowness, kelvins);
            slowness
        });
        assert_eq!(states, [Light, Heavy, Heavy, Light, Light, None, Heavy]);
        assert_eq!(states.map(|s| throttling.dies(s))[..2], [Some(4), Some(1)]);
    }

    #[test]
    fn each_kind_of_work_has_its_energy() {
        let heat = Heat {
            idle: 2.0,
            read: 1e-5,
            program: 1e-4,
            erase: 1e-3,
            bus_byte: 1e-9,
            link_byte: 1e-10,
            cycle: 1e-9,
            controller_idle: 0.5,
        };
        let before = Work { reads: 1, programs: 2, erases: 3, bus_bytes: 4, link_bytes: 5, cycles: 6 };
        let now = Work {
            reads: 10_001,
            programs: 2_002,
            erases: 303,
            bus_bytes: 400_000_004,
            link_bytes: 5_000_000_005,
            cycles: 600_000_006,
        };
        // 0.1, 0.2, 0.3, 0.4, 0.5 and 0.6 J within half a second; the last three are the controller's.
        let Power { whole, controller } = heat.power(&before, &now, Duration::from_millis(500));
        assert!((whole - 6.2).abs() < 1e-9 && (controller - 3.5).abs() < 1e-9, "{whole} {controller}");
        assert!(now.goes_beyond(&before) && !Work { cycles: 7, ..before }.goes_beyond(&before));
        let idle = heat.power(&now, &now, Duration::from_millis(1));
        assert_eq!(idle, Power { whole: 2.0, controller: 0.5 });
    }
}
