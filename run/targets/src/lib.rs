//! The targets of ours that `target.kind` chooses from: FTLs on the host. `device` knows their names alone,
//! since it may not use what is of the host.
#![forbid(unsafe_code)]

mod hostftl;
mod pblk;

use aster_device::plug::PieceError;
use aster_device::profile::Profile;
use aster_device::units::Content;
use aster_device::{BuildError, Pieces, page_mapping_on_host};
use aster_hostftl::over_frames::TranslationTarget;

/// The front end of drives that take command frames.
const MESSAGE_UNIT: &str = "message-unit";

/// `pieces` with our targets. A reader's own target of the same name goes before ours.
pub fn with_ours(pieces: Pieces) -> Pieces {
    let pieces = pieces.our_target("hostftl", |profile, facts| {
        takes_frames(profile)?;
        hostftl::make(profile, facts)
    });
    pieces.our_target("pblk", pblk::make).our_target("page-mapping", |profile, facts| {
        takes_frames(profile)?;
        if facts.content == Content::Fingerprint {
            let reason = "must be \"full\" under target.kind = \"page-mapping\": its map is stored in pages \
                          that the drive takes for data, of which fingerprints keep no bytes";
            return Err(PieceError::new("content", reason).into());
        }
        let (translation, oob_bytes) = page_mapping_on_host(profile, facts)?;
        Ok(Box::new(TranslationTarget::new(translation, facts.geometry, oob_bytes)?))
    })
}

/// Refuses a drive that takes no frames.
fn takes_frames(profile: &Profile) -> Result<(), BuildError> {
    if profile.host.front_end == MESSAGE_UNIT {
        return Ok(());
    }
    let kind = profile.target.as_ref().map_or("", |target| &target.kind);
    let reason = format!("must be \"{MESSAGE_UNIT}\" under target.kind = \"{kind}\"");
    Err(PieceError::new("host.front_end", reason).into())
}
