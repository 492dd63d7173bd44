//! Which records in NVRAM are damaged.

use crate::configure::BuildError;
use crate::nvram::{FRONT_END_AT, front_end_part, translation_part};
use crate::pieces::{Behind, Pieces};
use crate::profile::Profile;
use crate::target;
use aster_parties::DamagedRecord;
use aster_ports::medium::SharedNvram;
use aster_units::Content;

/// The damaged records in `nvram`, named by their place. The translation and the front end of the
/// profile's drive each check their own. Records that were never written don't count as damaged. `content`
/// overrides the profile's.
///
/// # Errors
/// When the profile doesn't describe a working drive.
pub fn damaged_records(
    pieces: &Pieces,
    profile: &Profile,
    content: Option<Content>,
    nvram: &SharedNvram,
) -> Result<Vec<DamagedRecord>, BuildError> {
    let content = content.unwrap_or(profile.content.into());
    let translation = pieces.make_translation(profile, content)?;
    let behind = Behind::of_translation(profile, &*translation);
    let front_end = pieces.make_front_end(profile, content, "check", None, behind)?;
    let mut damaged = translation.damaged_records(&translation_part(nvram, translation.needs().nvram_bytes));
    let of_front_end = front_end.damaged_records(&front_end_part(nvram)).into_iter();
    damaged.extend(of_front_end.map(|record| DamagedRecord { at: FRONT_END_AT + record.at, ..record }));
    if profile.target.is_some() {
        damaged.extend(target::damaged_records(pieces, profile, content, nvram)?);
    }
    Ok(damaged)
}
