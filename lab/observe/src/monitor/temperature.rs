//! What the temperature sensor tells.

use super::module::{MonitorModule, TableEntry};
use super::names::ShippedModule;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Event;
use aster_units::{Duration, Instant};

/// The drive's temperature, as its firmware reads it (H1). Between readings, the latest one counts.
#[derive(Default)]
pub struct Temperature {
    /// The latest reading: kelvins, and whether the drive slows itself down.
    latest: Option<(u16, bool)>,
}

/// Kelvins at 0 °C, as NVMe counts them.
const ZERO_CELSIUS: f64 = 273.0;

impl MonitorModule for Temperature {
    fn name(&self) -> &str {
        ShippedModule::Temperature.name()
    }
    fn entries(&self) -> Vec<TableEntry> {
        vec![
            TableEntry::new("temperature_celsius", "temperature of the drive, the latest reading"),
            TableEntry::new("throttled", "1 if the drive slows itself down, by the latest reading"),
        ]
    }
    fn event(&mut self, _: Instant, event: &Event) {
        if let Event::TemperatureRead { kelvins, throttled } = *event {
            self.latest = Some((kelvins, throttled));
        }
    }
    fn sample(&mut self, _: Instant, _: Duration, entries: &mut [f64]) {
        let value = |of: fn((u16, bool)) -> f64| self.latest.map_or(f64::NAN, of);
        entries[0] = value(|(kelvins, _)| f64::from(kelvins) - ZERO_CELSIUS);
        entries[1] = value(|(_, throttled)| f64::from(u8::from(throttled)));
    }
}
