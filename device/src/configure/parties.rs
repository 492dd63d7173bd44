//! What parties are told of the drive that they are part of (`base/parties`).

use crate::profile::Profile;
use aster_parties::MediaFacts;
use aster_units::{CellMode, Content};

/// What a translation may know of a profile's media.
pub(crate) fn media_facts(profile: &Profile, content: Content) -> MediaFacts {
    // Of a word line whose upper pages are left out, none can take the others along.
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
