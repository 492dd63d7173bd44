//! How warm the board is: one heat capacity behind one thermal resistance, and the sensor's thresholds
//! (H1, H4).

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
}

impl ThermalConfig {
    /// The temperature that `watts` keep, in kelvins.
    pub fn settled(&self, watts: f64) -> f64 {
        self.ambient + self.kelvin_per_watt * watts
    }
}

/// The temperature of a board, of first order: τ · dT/dt = settled(P) − T. Between two looks the power is
/// constant, so the temperature at any instant is a closed form, and nothing happens while nobody looks.
#[derive(Clone, Debug)]
pub struct Thermal {
    config: ThermalConfig,
    kelvins: f64,
    at: Instant,
}

impl Thermal {
    /// A board that is as warm as the air at `at`.
    pub fn new(config: ThermalConfig, at: Instant) -> Self {
        Thermal { config, kelvins: config.ambient, at }
    }
    /// The temperature at [`Thermal::at`], in kelvins.
    pub fn kelvins(&self) -> f64 {
        self.kelvins
    }
    /// The latest look.
    pub fn at(&self) -> Instant {
        self.at
    }
    /// Looks at `now`, after `watts` since the look before. `now` isn't before that.
    pub fn look(&mut self, now: Instant, watts: f64) {
        let constants = self.constants(now.since(self.at));
        let settled = self.config.settled(watts);
        self.kelvins = settled + (self.kelvins - settled) * libm::exp(-constants);
        self.at = now;
    }
    /// How long after [`Thermal::at`] it has cooled to `kelvins`, with `watts` from then on. Zero if it has
    /// already; `None` if it never does.
    pub fn cooled_after(&self, kelvins: f64, watts: f64) -> Option<Duration> {
        let settled = self.config.settled(watts);
        if self.kelvins <= kelvins {
            return Some(Duration::from_picos(0));
        }
        let constants = libm::log((self.kelvins - settled) / (kelvins - settled));
        let picos = constants * self.config.time_constant.as_picos() as f64;
        (settled < kelvins && picos < u64::MAX as f64).then(|| Duration::from_picos(picos as u64))
    }
    fn constants(&self, time: Duration) -> f64 {
        time.as_picos() as f64 / self.config.time_constant.as_picos() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: ThermalConfig =
        ThermalConfig { ambient: 300.0, kelvin_per_watt: 5.0, time_constant: Duration::from_millis(2_000) };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// 8 W keep it 40 K above the air: 1 − e⁻¹ of them after one time constant, and 1 − e⁻³ after three.
    #[test]
    fn a_step_of_power_is_answered_by_an_exponential() {
        let mut board = Thermal::new(CONFIG, at(500));
        assert_eq!((board.kelvins(), board.at()), (300.0, at(500)));
        board.look(at(2_500), 8.0);
        assert!((board.kelvins() - 325.284_822).abs() < 1e-5, "{}", board.kelvins());
        board.look(at(6_500), 8.0);
        assert!((board.kelvins() - 338.008_517).abs() < 1e-5, "{}", board.kelvins());
        // Without power, half of what is left goes in ln 2 time constants.
        board.look(at(6_500) + Duration::from_micros(1_386_294), 0.0);
        assert!((board.kelvins() - 319.004_258).abs() < 1e-4, "{}", board.kelvins());
    }

    #[test]
    fn it_does_not_matter_how_often_somebody_looks() {
        let (mut once, mut often) = (Thermal::new(CONFIG, at(0)), Thermal::new(CONFIG, at(0)));
        once.look(at(3_000), 7.0);
        (1..=3_000).for_each(|millis| often.look(at(millis), 7.0));
        often.look(at(3_000), 1e6);
        assert!((once.kelvins() - often.kelvins()).abs() < 1e-9, "{} {}", once.kelvins(), often.kelvins());
    }

    #[test]
    fn it_tells_when_it_will_have_cooled() {
        let mut board = Thermal::new(CONFIG, at(0));
        board.look(at(60_000), 8.0);
        let after = board.cooled_after(320.0, 1.0).expect("1 W keeps it at 305 K");
        let mut later = board.clone();
        later.look(at(60_000) + after, 1.0);
        assert!((later.kelvins() - 320.0).abs() < 1e-6, "{}", later.kelvins());
        assert!(after.as_picos() > 0);
        assert_eq!(later.cooled_after(321.0, 1.0), Some(Duration::from_picos(0)));
        assert_eq!(board.cooled_after(305.0, 1.0), None, "that is where it settles");
        assert_eq!(board.cooled_after(320.0, 4.0), None, "and there as well");
    }
}
