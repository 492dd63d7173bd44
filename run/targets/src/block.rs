//! A drive that has its own FTL, as the host's block layer sees it.

use aster_device::plug::{MediaFacts, PieceError, TargetPiece};
use aster_device::profile::{NVME_SOFTWARE, Profile};
use aster_device::{BuildError, capacity_below};
use aster_host_block::{Plain, PlainConfig};

pub(crate) fn make(profile: &Profile, facts: &MediaFacts) -> Result<Box<dyn TargetPiece>, BuildError> {
    let host = &profile.host;
    let refuse = |key, has: &str, must: &str| {
        let reason = format!("must be {must} under target.kind = \"block\", but is \"{has}\"");
        Err(PieceError::new(key, reason).into())
    };
    if !["nvme", NVME_SOFTWARE].contains(&host.front_end.as_str()) {
        let must = format!("\"nvme\" or \"{NVME_SOFTWARE}\"");
        return refuse("host.front_end", &host.front_end, &must);
    }
    if host.command_set != "nvm" {
        return refuse("host.command_set", &host.command_set, "\"nvm\"");
    }
    Ok(Box::new(Plain::new(PlainConfig {
        capacity_bytes: capacity_below(profile, facts.content)?,
        content: facts.content,
        queue_depth: host.queue_entries - 1,
        transfer_bytes_max: host.transfer_bytes_max,
    })))
}
