//! What the processor cores of a drive are for (S15).

use crate::profile::Profile;

/// What a core is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CoreRole {
    /// The translation, and a front end in software.
    Translation,
    /// Flash operations and their scheduler, of the lanes of this array controller: of all channels, if only
    /// one core is for that.
    Flash(u16),
    /// Correction in software.
    Correction,
}

impl CoreRole {
    /// The roles that have a core of their own in `profile`'s drive, in the order of the cores' numbers.
    pub(crate) fn of(profile: &Profile) -> impl Iterator<Item = CoreRole> {
        let flash = (0..profile.flash_cores()).map(CoreRole::Flash);
        let correction = profile.cores.ecc_core.then_some(CoreRole::Correction);
        [CoreRole::Translation].into_iter().chain(flash).chain(correction)
    }
}
