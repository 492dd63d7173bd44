//! The page mapping of our drives, on the host: over a drive that takes command frames, or over an
//! open-channel one.

use aster_device::plug::{MediaFacts, PieceError, TargetPiece};
use aster_device::profile::{MESSAGE_UNIT, OPEN_CHANNEL_12, Profile};
use aster_device::units::Content;
use aster_device::{BuildError, page_mapping_on_host};
use aster_host_translation::{Connect, TranslationTarget, frames, vectors};

pub(crate) fn make(profile: &Profile, facts: &MediaFacts) -> Result<Box<dyn TargetPiece>, BuildError> {
    let host = &profile.host;
    let connect: Connect = match host.front_end.as_str() {
        MESSAGE_UNIT => Box::new(frames::connect),
        "nvme" if host.command_set == OPEN_CHANNEL_12 => {
            crate::nvme::check(profile, vectors::QUEUE_PAIRS)?;
            let queue_entries = host.queue_entries;
            Box::new(move |wiring| vectors::connect(wiring, queue_entries))
        }
        "nvme" => {
            let reason = format!(
                "must be \"{OPEN_CHANNEL_12}\" of an NVMe controller under target.kind = \"page-mapping\", \
                 but is \"{}\"",
                host.command_set
            );
            return Err(PieceError::new("host.command_set", reason).into());
        }
        other => {
            let reason = format!(
                "must be \"{MESSAGE_UNIT}\" or \"nvme\" under target.kind = \"page-mapping\", but is \
                 \"{other}\""
            );
            return Err(PieceError::new("host.front_end", reason).into());
        }
    };
    if facts.content == Content::Fingerprint {
        let reason = "must be \"full\" under target.kind = \"page-mapping\": its map is stored in pages that \
                      the drive takes for data, of which fingerprints keep no bytes";
        return Err(PieceError::new("content", reason).into());
    }
    let (translation, oob_bytes) = page_mapping_on_host(profile, facts)?;
    Ok(Box::new(TranslationTarget::new(translation, facts.geometry, oob_bytes, connect)?))
}
