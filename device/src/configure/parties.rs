//! The facts about their drive that parties get (`base/parties`).

use crate::profile::Profile;
use aster_parties::MediaFacts;
use aster_units::{CellMode, Content};

/// What a translation may know of a profile's media.
pub(crate) fn media_facts(profile: &Profile, content: Content) -> MediaFacts {
    // If only LSB pages are used, no upper page's program can destroy a lower page.
    let takes_along =
        !profile.restrict.lsb_pages && (profile.package.pair_loss || profile.scheduler.one_shot);
    MediaFacts {
        geometry: profile.used_geometry(),
        restriction: profile.restriction(),
        content,
        lost_together: if takes_along { CellMode::from(profile.package.cells).bits() as u16 } else { 1 },
        whole_lines: profile.scheduler.one_shot,
        correctable: profile.ecc.corrected.min(u8::MAX.into()) as u8,
    }
}
