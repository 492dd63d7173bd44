//! The checks of `[board.power]`.

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
}
