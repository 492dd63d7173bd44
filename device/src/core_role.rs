//! What the processor cores of a drive are for (S15).

use crate::profile::Profile;

/// What a core is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CoreRole {
    /// The translation, and a front end in software.
    Translation,
    /// Flash operations and their scheduler.
    Flash,
    /// Correction in software.
    Correction,
}

impl CoreRole {
    /// The roles that have a core of their own in `profile`'s drive, in the order of the cores' numbers.
    pub(crate) fn of(profile: &Profile) -> impl Iterator<Item = CoreRole> {
        let flash = profile.cores.flash_core.then_some(CoreRole::Flash);
        let correction = profile.cores.ecc_core.then_some(CoreRole::Correction);
        [CoreRole::Translation].into_iter().chain(flash).chain(correction)
    }
}
