//! What FTLs on the host need of an NVMe controller.

use aster_device::BuildError;
use aster_device::plug::PieceError;
use aster_device::profile::Profile;
use aster_device::units::SECTOR_BYTES;
use aster_openchannel::ADDRESSES_MAX;

/// Refuses a controller that can't transfer a vector's 64 sectors at once, or has fewer queue pairs than an
/// FTL uses.
pub(crate) fn check(profile: &Profile, queue_pairs: u16) -> Result<(), BuildError> {
    let host = &profile.host;
    let kind = profile.target.as_ref().map_or("", |target| &target.kind);
    let refuse = |key, least: u32, has: u32| {
        let reason = format!("must be {least} at least under target.kind = \"{kind}\", but is {has}");
        Err(PieceError::new(key, reason).into())
    };
    let (vector, has) = ((ADDRESSES_MAX * SECTOR_BYTES) as u32, host.transfer_bytes_max);
    if has < vector {
        return refuse("host.transfer_bytes_max", vector, has);
    }
    if host.queue_pairs < queue_pairs {
        return refuse("host.queue_pairs", queue_pairs.into(), host.queue_pairs.into());
    }
    Ok(())
}
