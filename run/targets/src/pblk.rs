//! pblk, from a profile.

use aster_device::BuildError;
use aster_device::plug::{MediaFacts, PieceError, TargetPiece};
use aster_device::profile::{OPEN_CHANNEL_12, OPEN_CHANNEL_20, Profile};
use aster_pblk::{Pblk, PblkConfig};

/// The command sets of open-channel drives.
const OPEN_CHANNEL: [&str; 2] = [OPEN_CHANNEL_12, OPEN_CHANNEL_20];
/// The mebibytes that a map may take when the profile doesn't say: a drive of 1 TiB.
const MAP_MIB: u32 = 1024;

pub(crate) fn make(profile: &Profile, facts: &MediaFacts) -> Result<Box<dyn TargetPiece>, BuildError> {
    let host = &profile.host;
    let refuse = |key, reason: String| Err(PieceError::new(key, reason).into());
    if host.front_end != "nvme" || !OPEN_CHANNEL.contains(&host.command_set.as_str()) {
        let [old, new] = OPEN_CHANNEL;
        let reason =
            format!("must be \"{old}\" or \"{new}\" of an NVMe controller under target.kind = \"pblk\"");
        return refuse("host.command_set", reason);
    }
    crate::nvme::check(profile, Pblk::QUEUE_PAIRS)?;
    if profile.package.pair_loss && !profile.restrict.lsb_pages {
        let reason = "must be false under target.kind = \"pblk\", or restrict.lsb_pages true: the drive \
                      tells its host of no paired pages, and a program that is cut off would take along \
                      what was flushed";
        return refuse("package.pair_loss", reason.to_owned());
    }
    let target = profile.target.as_ref().expect("a target is made of a profile that has one");
    let config = PblkConfig {
        geometry: facts.geometry,
        content: facts.content,
        over_provisioning_percent: profile.ftl.over_provisioning_percent,
        sectors_per_write: target.sectors_per_write,
        one_write_per_lun: target.one_write_per_lun.unwrap_or(true),
        map_mib: target.map_mib.unwrap_or(MAP_MIB),
        queue_depth: host.queue_entries - 1,
    };
    Ok(Box::new(Pblk::new(config)?))
}
