//! Bad values of `[board.power]`, `[board.thermal]` and `[board.emmc]`.

use super::{error, parsed, with};

/// The tables with good values.
const BOARD: &str = "\
[board.power]
d0_w = 9.0
d3hot_w = 0.5
[board.thermal]
ambient_c = 25.0
kelvin_per_watt = 5.0
time_constant_ms = 60000
idle_w = 2.0
read_uj = 50.0
program_uj = 200.0
erase_uj = 400.0
bus_byte_nj = 0.1
link_byte_nj = 0.1
sample_ms = 100
alarm_c = 70.0
cooled_c = 65.0
throttle_dies = 4
[board.thermal.critical]
from_c = 80.0
dies = 2
[board.thermal.controller]
kelvin_per_watt = 3.0
time_constant_ms = 500
idle_w = 1.0
cycle_nj = 1.5
[board.emmc]
read_us = 150.0
write_us = 400.0
";

/// A bad value for each check: (line, replacement, key).
const BAD_VALUES: &[(&str, &str, &str)] = &[
    ("d0_w = 9.0", "d0_w = 25.6", "board.power.d0_w"),
    ("d3hot_w = 0.5", "d3hot_w = 9.1", "board.power.d3hot_w"),
    ("ambient_c = 25.0", "ambient_c = 86.0", "board.thermal.ambient_c"),
    ("kelvin_per_watt = 5.0", "kelvin_per_watt = -1.0", "board.thermal.kelvin_per_watt"),
    ("time_constant_ms = 60000", "time_constant_ms = 0", "board.thermal.time_constant_ms"),
    ("idle_w = 2.0", "idle_w = -2.0", "board.thermal.idle_w"),
    ("read_uj = 50.0", "read_uj = -1.0", "board.thermal.read_uj"),
    ("program_uj = 200.0", "program_uj = -1.0", "board.thermal.program_uj"),
    ("erase_uj = 400.0", "erase_uj = 2e9", "board.thermal.erase_uj"),
    ("bus_byte_nj = 0.1", "bus_byte_nj = -0.1", "board.thermal.bus_byte_nj"),
    ("link_byte_nj = 0.1", "link_byte_nj = -0.1", "board.thermal.link_byte_nj"),
    ("sample_ms = 100", "sample_ms = 0", "board.thermal.sample_ms"),
    // Idle it comes down to 35 °C.
    ("alarm_c = 70.0", "alarm_c = 35.5", "board.thermal.alarm_c"),
    ("cooled_c = 65.0", "cooled_c = 35.5", "board.thermal.cooled_c"),
    ("cooled_c = 65.0", "cooled_c = 70.5", "board.thermal.cooled_c"),
    ("throttle_dies = 4", "throttle_dies = 0", "board.thermal.throttle_dies"),
    ("from_c = 80.0", "from_c = 70.5", "board.thermal.critical.from_c"),
    ("\ndies = 2", "\ndies = 4", "board.thermal.critical.dies"),
    ("\ndies = 2", "\ndies = 0", "board.thermal.critical.dies"),
    ("kelvin_per_watt = 3.0", "kelvin_per_watt = -3.0", "board.thermal.controller.kelvin_per_watt"),
    ("time_constant_ms = 500\n", "time_constant_ms = 0\n", "board.thermal.controller.time_constant_ms"),
    ("idle_w = 1.0", "idle_w = 2.5", "board.thermal.controller.idle_w"),
    ("cycle_nj = 1.5", "cycle_nj = -1.0", "board.thermal.controller.cycle_nj"),
    ("cooled_c = 65.0", "cooled_c = 38.5", "board.thermal.cooled_c"),
    ("\nread_us = 150.0", "\nread_us = 0.0", "board.emmc.read_us"),
    ("write_us = 400.0", "write_us = 1e7", "board.emmc.write_us"),
];

#[test]
fn each_bad_value_of_the_board_names_its_key() {
    let board = |old: &str, new: &str| with("[link]", &format!("{}[link]", BOARD.replace(old, new)));
    parsed(&board("", ""));
    for (old, new, key) in BAD_VALUES {
        assert!(BOARD.contains(old), "{old}");
        let e = error(&board(old, new));
        assert_eq!(e.key.as_deref(), Some(*key), "{new}: {e}");
        assert!(e.reason.contains("must be ") && e.reason.contains(", but is ") && e.line.is_some(), "{e}");
    }
}

#[test]
fn no_check_of_the_board_is_left_out() {
    let words = include_str!("../board_limits.rs").split('"').skip(1).step_by(2);
    let checked: Vec<_> = words.filter(|word| word.starts_with("board.")).collect();
    assert!(checked.len() >= 14, "{checked:?}");
    for key in checked {
        assert!(BAD_VALUES.iter().any(|(_, _, tried)| *tried == key), "no bad value is tried for {key}");
    }
}
