//! How warm a drive is (H1, H4): the board is one heat capacity behind one thermal resistance to the air, and
//! the controller's junction another one behind its own to the board.

use aster_units::{Duration, Instant};

/// 0 °C in kelvins.
pub const ZERO_CELSIUS: f64 = 273.15;

/// How a board gives off its heat.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ThermalConfig {
    /// The air around it, in kelvins.
    pub ambient: f64,
    /// How much warmer than the air a watt keeps it.
    pub kelvin_per_watt: f64,
    /// How long it takes to come within 1/e of a new temperature. Above zero.
    pub time_constant: Duration,
    /// The controller's junction, if it has a sensor of its own.
    pub junction: Option<JunctionConfig>,
}

/// How much warmer than the board the controller's junction is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct JunctionConfig {
    /// For each watt that the controller gives off.
    pub kelvin_per_watt: f64,
    /// How long it takes to come within 1/e of a new difference. Above zero.
    pub time_constant: Duration,
}

/// What a drive gives off, in watts.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Power {
    /// All of it.
    pub whole: f64,
    /// The controller's part.
    pub controller: f64,
}

impl ThermalConfig {
    /// The temperature of the board that `watts` keep, in kelvins.
    pub fn settled(&self, watts: f64) -> f64 {
        self.ambient + self.kelvin_per_watt * watts
    }
}

/// Temperatures in kelvins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Temperatures {
    /// Of the board, and of the flash on it.
    pub board: f64,
    /// Of the controller's junction, if it has a sensor.
    pub junction: Option<f64>,
}

impl Temperatures {
    /// The highest: NVMe's composite temperature.
    pub fn hottest(&self) -> f64 {
        self.junction.map_or(self.board, |junction| junction.max(self.board))
    }
}

/// The temperature of a board, of first order: τ · dT/dt = settled(P) − T. What the controller's junction is
/// warmer than the board is of first order as well. Between two looks the power is constant, so the
/// temperatures at any instant are closed forms, and nothing happens while nobody looks.
#[derive(Clone, Debug)]
pub struct Thermal {
    config: ThermalConfig,
    board: f64,
    // How much warmer than the board the junction is.
    rise: f64,
    at: Instant,
}

impl Thermal {
    /// A board that is as warm as the air at `at`.
    pub fn new(config: ThermalConfig, at: Instant) -> Self {
        Thermal { config, board: config.ambient, rise: 0.0, at }
    }
    /// The temperatures at [`Thermal::at`].
    pub fn now(&self) -> Temperatures {
        self.temperatures(self.board, self.rise)
    }
    /// The latest look.
    pub fn at(&self) -> Instant {
        self.at
    }
    /// Looks at `now`, after `power` since the look before. `now` isn't before that.
    pub fn look(&mut self, now: Instant, power: Power) {
        (self.board, self.rise) = self.after(now.since(self.at), power);
        self.at = now;
    }
    /// How long after [`Thermal::at`] it has cooled to `kelvins`, with `power` from then on. Zero if it has
    /// already; `None` if it is warmer after `within`.
    pub fn cooled_within(&self, kelvins: f64, power: Power, within: Duration) -> Option<Duration> {
        let is_cool = |picos: u64| {
            let (board, rise) = self.after(Duration::from_picos(picos), power);
            self.temperatures(board, rise).hottest() <= kelvins
        };
        if is_cool(0) {
            return Some(Duration::ZERO);
        }
        let (mut warm, mut cool) = (0, within.as_picos());
        if !is_cool(cool) {
            return None;
        }
        while cool - warm > 1 {
            let middle = warm + (cool - warm) / 2;
            *if is_cool(middle) { &mut cool } else { &mut warm } = middle;
        }
        Some(Duration::from_picos(cool))
    }
    fn temperatures(&self, board: f64, rise: f64) -> Temperatures {
        Temperatures { board, junction: self.config.junction.map(|_| board + rise) }
    }
    /// The board's temperature and the junction's rise so long after [`Thermal::at`].
    fn after(&self, time: Duration, power: Power) -> (f64, f64) {
        let approach = |from: f64, to: f64, constant: Duration| {
            let constants = time.as_picos() as f64 / constant.as_picos() as f64;
            to + (from - to) * libm::exp(-constants)
        };
        let settled = self.config.settled(power.whole);
        let rise = self.config.junction.map_or(0.0, |junction| {
            approach(self.rise, junction.kelvin_per_watt * power.controller, junction.time_constant)
        });
        (approach(self.board, settled, self.config.time_constant), rise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: ThermalConfig = ThermalConfig {
        ambient: 300.0,
        kelvin_per_watt: 5.0,
        time_constant: Duration::from_millis(2_000),
        junction: None,
    };

    fn watts(whole: f64) -> Power {
        Power { whole, controller: 0.0 }
    }
    fn kelvins(board: &Thermal) -> f64 {
        board.now().hottest()
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// 8 W keep it 40 K above the air: 1 − e⁻¹ of them after one time constant, and 1 − e⁻³ after three.
    #[test]
    fn a_step_of_power_is_answered_by_an_exponential() {
        let mut board = Thermal::new(CONFIG, at(500));
        assert_eq!((kelvins(&board), board.at()), (300.0, at(500)));
        board.look(at(2_500), watts(8.0));
        assert!((kelvins(&board) - 325.284_822).abs() < 1e-5, "{}", kelvins(&board));
        board.look(at(6_500), watts(8.0));
        assert!((kelvins(&board) - 338.008_517).abs() < 1e-5, "{}", kelvins(&board));
        // Without power, half of what is left goes in ln 2 time constants.
        board.look(at(6_500) + Duration::from_micros(1_386_294), watts(0.0));
        assert!((kelvins(&board) - 319.004_258).abs() < 1e-4, "{}", kelvins(&board));
    }

    #[test]
    fn it_does_not_matter_how_often_somebody_looks() {
        let (mut once, mut often) = (Thermal::new(CONFIG, at(0)), Thermal::new(CONFIG, at(0)));
        once.look(at(3_000), watts(7.0));
        (1..=3_000).for_each(|millis| often.look(at(millis), watts(7.0)));
        often.look(at(3_000), watts(1e6));
        assert!((kelvins(&once) - kelvins(&often)).abs() < 1e-9, "{} {}", kelvins(&once), kelvins(&often));
    }

    #[test]
    fn it_tells_when_it_has_cooled() {
        let mut board = Thermal::new(CONFIG, at(0));
        board.look(at(60_000), watts(8.0));
        let long = Duration::from_millis(60_000);
        let after = board.cooled_within(320.0, watts(1.0), long).expect("1 W keeps it at 305 K");
        let mut later = board.clone();
        later.look(at(60_000) + after, watts(1.0));
        assert!((kelvins(&later) - 320.0).abs() < 1e-6, "{}", kelvins(&later));
        assert!(after > Duration::ZERO);
        assert_eq!(later.cooled_within(321.0, watts(1.0), long), Some(Duration::ZERO));
        assert_eq!(board.cooled_within(304.0, watts(1.0), long), None, "it settles above that");
        assert_eq!(board.cooled_within(320.0, watts(4.0), long), None, "and there as well");
        assert_eq!(board.cooled_within(320.0, watts(1.0), after - Duration::from_millis(1)), None);
    }

    /// A controller of 4 W is 12 K warmer than its board, most of it after a tenth of the board's time.
    #[test]
    fn a_junction_is_warmer_than_its_board_and_faster() {
        let junction = JunctionConfig { kelvin_per_watt: 3.0, time_constant: Duration::from_millis(200) };
        let mut drive = Thermal::new(ThermalConfig { junction: Some(junction), ..CONFIG }, at(0));
        let power = Power { whole: 8.0, controller: 4.0 };
        drive.look(at(200), power);
        let Temperatures { board, junction: Some(junction) } = drive.now() else { panic!("it has a sensor") };
        // 40 · (1 − e⁻⁰·¹) and 12 · (1 − e⁻¹).
        assert!((board - 303.806_503).abs() < 1e-5, "{board}");
        assert!((junction - board - 7.585_447).abs() < 1e-5, "{junction}");
        assert_eq!(drive.now().hottest(), junction);
        drive.look(at(60_000), power);
        assert!((kelvins(&drive) - 352.0).abs() < 1e-6);
        let after = drive.cooled_within(345.0, watts(0.0), Duration::from_millis(60_000)).expect("it cools");
        let mut later = drive.clone();
        later.look(at(60_000) + after, watts(0.0));
        assert!((kelvins(&later) - 345.0).abs() < 1e-6);
        // The board alone would take 267 ms.
        assert!(after < Duration::from_millis(200), "{after}");
    }
}
