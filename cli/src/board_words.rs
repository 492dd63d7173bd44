//! What `aster check` says of a drive's cores, of its map on flash and of its heat.

use aster_device::profile::{MappingName, NVME_SOFTWARE, Profile};
use aster_lab::words::capacity;
use aster_lab::words::counted;

/// The line about the cores of the firmware, and what runs on each.
pub(crate) fn cores(profile: &Profile) -> String {
    let c = &profile.cores;
    let first = c.frequency_mhz;
    let flash = c.flash_mhz.unwrap_or(first);
    if let Some(controllers) = profile.array_controllers().filter(|_| c.flash_core) {
        let controllers = counted(controllers, "controller");
        return format!("cores     {first} MHz, and {flash} MHz for each of {controllers}\n  ");
    }
    let software = profile.host.front_end == NVME_SOFTWARE;
    let mut all = format!("{first} MHz for {}translation", if software { "NVMe and " } else { "" });
    if c.flash_core {
        all += &format!(", {flash} MHz for flash scheduling");
    }
    if c.ecc_core {
        all += &format!(", {} MHz for ECC", c.ecc_mhz.unwrap_or(first));
    }
    format!("cores     {all}\n  ")
}

/// Bytes of a place in the map.
const PLACE_BYTES: u64 = 4;

/// The line about a map on the drive's own flash, of which memory has a part.
pub(crate) fn map(profile: &Profile, exported_bytes: u64) -> String {
    if profile.ftl.mapping != MappingName::DemandPaged || profile.target.is_some() {
        return String::new();
    }
    let unit = match profile.ftl.mapping_unit_bytes {
        0 => profile.geometry.page_bytes,
        bytes => bytes,
    };
    let whole = exported_bytes.div_ceil(u64::from(unit)) * PLACE_BYTES;
    let cache = match profile.ftl.map_cache_bytes {
        Some(bytes) => capacity(bytes),
        None => "a hundredth of that, or the least that works,".to_owned(),
    };
    format!("map       on flash, {} in all; memory has {cache} for it\n  ", capacity(whole))
}

/// The line about heat, of a drive whose board has a temperature sensor.
pub(crate) fn heat(profile: &Profile) -> String {
    let Some(t) = &profile.board.thermal else { return String::new() };
    let idle = t.ambient_c + t.kelvin_per_watt * t.idle_w;
    let dies = counted(t.throttle_dies, "die");
    let controller = t.controller.map_or(String::new(), |controller| {
        format!(", controller {:.1} °C", idle + controller.kelvin_per_watt * controller.idle_w)
    });
    let critical = t.critical.map_or(String::new(), |critical| {
        let dies = counted(critical.dies, "die");
        format!("; from {} °C on {dies}, until {} °C", critical.from_c, t.alarm_c)
    });
    format!(
        "heat      {idle:.1} °C idle in air of {} °C{controller}; from {} °C on {dies} a controller, \
         until {} °C{critical}\n  ",
        t.ambient_c, t.alarm_c, t.cooled_c
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_device::profile::{ControllerHeatProfile, CriticalHeatProfile, ThermalProfile, shipped};

    const CONTROLLER: ControllerHeatProfile =
        ControllerHeatProfile { kelvin_per_watt: 3.0, time_constant_ms: 500, idle_w: 1.0, cycle_nj: 1.0 };

    #[test]
    fn a_drive_with_a_sensor_says_when_it_is_slow() {
        let mut profile = shipped("tiny").unwrap();
        assert_eq!(heat(&profile), "");
        profile.board.thermal = Some(ThermalProfile {
            ambient_c: 35.0,
            kelvin_per_watt: 5.0,
            time_constant_ms: 60_000,
            idle_w: 2.0,
            read_uj: 60.0,
            program_uj: 250.0,
            erase_uj: 500.0,
            bus_byte_nj: 0.1,
            link_byte_nj: 0.2,
            sample_ms: 100,
            alarm_c: 70.0,
            cooled_c: 65.5,
            throttle_dies: 2,
            critical: Some(CriticalHeatProfile { from_c: 80.0, dies: 1 }),
            controller: Some(CONTROLLER),
        });
        let line = "heat      45.0 °C idle in air of 35 °C, controller 48.0 °C; \
                    from 70 °C on 2 dies a controller, until 65.5 °C; from 80 °C on 1 die, until 70 °C\n  ";
        assert_eq!(heat(&profile), line);
    }

    #[test]
    fn each_core_says_what_it_runs() {
        let of = |name: &str| cores(&shipped(name).unwrap());
        assert_eq!(of("cosmos-plus"), "cores     1000 MHz for translation\n  ");
        let three =
            "cores     1200 MHz for NVMe and translation, 500 MHz for flash scheduling, 500 MHz for ECC\n  ";
        assert_eq!(of("softssd"), three);
        assert_eq!(of("host-ftl"), "cores     120 MHz, and 160 MHz for each of 4 controllers\n  ");
    }

    #[test]
    fn a_map_on_flash_says_how_much_of_it_memory_has() {
        let mut softssd = shipped("softssd").unwrap();
        let exported = 1_047_395_106_816;
        assert_eq!(
            map(&softssd, exported),
            "map       on flash, 243.9 MiB in all; memory has 1 GiB for it\n  "
        );
        softssd.ftl.map_cache_bytes = None;
        assert!(
            map(&softssd, exported)
                .contains("memory has a hundredth of that, or the least that works, for it")
        );
        assert_eq!(map(&shipped("softssd-small").unwrap(), exported), "");
    }
}
