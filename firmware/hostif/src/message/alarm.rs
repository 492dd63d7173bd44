//! The temperature as the host sees it, and its alarm (H4).

use aster_parties::MediaHealth;
use aster_wire::array::registers::ALARM_HYSTERESIS;

/// Temperature and alarm threshold, in kelvins.
pub(super) struct Alarm {
    kelvins: u16,
    /// 0 for none.
    threshold: u16,
    /// The threshold after a reset.
    initial: u16,
    is_on: bool,
}

impl Alarm {
    /// Nobody has measured yet.
    pub fn new(threshold: u16) -> Self {
        let kelvins = MediaHealth::default().temperature_kelvins;
        Alarm { kelvins, threshold, initial: threshold, is_on: false }
    }
    pub const fn kelvins(&self) -> u16 {
        self.kelvins
    }
    pub const fn threshold(&self) -> u16 {
        self.threshold
    }
    pub const fn is_on(&self) -> bool {
        self.is_on
    }
    /// The sensor tells `kelvins`. True if that begins an alarm.
    pub fn set_kelvins(&mut self, kelvins: u16) -> bool {
        self.kelvins = kelvins;
        self.look()
    }
    /// The host sets the threshold. True if that begins an alarm.
    pub fn set_threshold(&mut self, threshold: u16) -> bool {
        self.threshold = threshold;
        self.look()
    }
    /// The threshold is what it was at power-on. A reset announces nothing.
    pub fn reset(&mut self) {
        self.threshold = self.initial;
        self.look();
    }
    fn look(&mut self) -> bool {
        let was_on = self.is_on;
        let enough =
            if was_on { self.threshold.saturating_sub(ALARM_HYSTERESIS - 1) } else { self.threshold };
        self.is_on = self.threshold > 0 && self.kelvins >= enough;
        self.is_on && !was_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_comes_once_for_each_time_the_threshold_is_reached() {
        let mut alarm = Alarm::new(340);
        let told = [339, 340, 345, 339, 340, 338, 339, 340].map(|kelvins| alarm.set_kelvins(kelvins));
        assert_eq!(told, [false, true, false, false, false, false, false, true]);
        assert!(alarm.is_on());
        assert_eq!((alarm.set_threshold(350), alarm.is_on()), (false, false));
        assert_eq!((alarm.set_threshold(330), alarm.set_threshold(335)), (true, false));
        alarm.set_threshold(0);
        assert!(!alarm.is_on(), "no threshold, no alarm");
        alarm.reset();
        assert_eq!((alarm.threshold(), alarm.is_on()), (340, true));
        assert!(!alarm.set_kelvins(341), "a reset announces nothing, and it stays on");
    }
}
