//! The checks of `[board.power]`, `[board.thermal]` and `[board.emmc]`.

use super::check::range;
use super::schema::Profile;
use aster_parties::PowerValue;

type Refused = (&'static str, String);

impl Profile {
    pub(super) fn check_power(&self) -> Result<(), Refused> {
        let Some(power) = &self.board.power else { return Ok(()) };
        let most = f64::from(PowerValue::MAX_MILLIWATTS) / 1e3;
        range("board.power.d0_w", power.d0_w, 0.001, most)?;
        range("board.power.d3hot_w", power.d3hot_w, 0.001, power.d0_w)
    }

    pub(super) fn check_thermal(&self) -> Result<(), Refused> {
        let Some(t) = &self.board.thermal else { return Ok(()) };
        range("board.thermal.ambient_c", t.ambient_c, -40.0, 85.0)?;
        range("board.thermal.kelvin_per_watt", t.kelvin_per_watt, 0.0, 1e3)?;
        range("board.thermal.time_constant_ms", t.time_constant_ms.into(), 1.0, 1e8)?;
        range("board.thermal.idle_w", t.idle_w, 0.0, 1e3)?;
        range("board.thermal.read_uj", t.read_uj, 0.0, 1e9)?;
        range("board.thermal.program_uj", t.program_uj, 0.0, 1e9)?;
        range("board.thermal.erase_uj", t.erase_uj, 0.0, 1e9)?;
        range("board.thermal.bus_byte_nj", t.bus_byte_nj, 0.0, 1e6)?;
        range("board.thermal.link_byte_nj", t.link_byte_nj, 0.0, 1e6)?;
        range("board.thermal.sample_ms", t.sample_ms.into(), 1.0, 1e5)?;
        // Above what the drive comes down to when it does nothing, else it would never be fast again.
        let idle = t.ambient_c + t.kelvin_per_watt * t.idle_w + 1.0;
        range("board.thermal.alarm_c", t.alarm_c, idle, 1e3)?;
        range("board.thermal.cooled_c", t.cooled_c, idle, t.alarm_c)?;
        range("board.thermal.throttle_dies", t.throttle_dies.into(), 1.0, 1e4)?;
        if let Some(critical) = &t.critical {
            range("board.thermal.critical.from_c", critical.from_c, t.alarm_c + 1.0, 1e3)?;
            if critical.dies == 0 || critical.dies >= t.throttle_dies {
                let (dies, most) = (critical.dies, t.throttle_dies);
                let reason = format!("must be at least 1 and below throttle_dies, {most}, but is {dies}");
                return Err(("board.thermal.critical.dies", reason));
            }
        }
        let Some(c) = &t.controller else { return Ok(()) };
        range("board.thermal.controller.kelvin_per_watt", c.kelvin_per_watt, 0.0, 1e3)?;
        range("board.thermal.controller.time_constant_ms", c.time_constant_ms.into(), 1.0, 1e8)?;
        range("board.thermal.controller.idle_w", c.idle_w, 0.0, t.idle_w)?;
        range("board.thermal.controller.cycle_nj", c.cycle_nj, 0.0, 1e6)?;
        let idle = idle + c.kelvin_per_watt * c.idle_w;
        range("board.thermal.alarm_c", t.alarm_c, idle, 1e3)?;
        range("board.thermal.cooled_c", t.cooled_c, idle, t.alarm_c)
    }

    pub(super) fn check_emmc(&self) -> Result<(), Refused> {
        let Some(emmc) = &self.board.emmc else { return Ok(()) };
        range("board.emmc.read_us", emmc.read_us, 0.001, 1e6)?;
        range("board.emmc.write_us", emmc.write_us, 0.001, 1e6)
    }
}
