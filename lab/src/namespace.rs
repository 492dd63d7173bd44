//! The blocks that a drive's host sees.

use aster_device::profile::Profile;
use aster_device::{BuildError, Pieces};
use aster_targets::with_ours;
use aster_units::Content;
use aster_workload::NO_BLOCKS;

/// Bytes of the namespace of a new drive of this profile, for work that writes and reads it.
///
/// # Errors
/// When the profile doesn't describe a working drive, or the drive has no logical blocks.
pub fn bytes_to_write(profile: &Profile, content: Option<Content>) -> Result<u64, BuildError> {
    let pieces = with_ours(Pieces::default());
    let (bytes, _) = aster_device::namespace_with(&pieces, profile, content, None)?;
    match aster_device::has_blocks(&pieces, profile)? {
        true => Ok(bytes),
        false => Err(BuildError::Value { key: "target.kind", reason: NO_BLOCKS.to_owned() }),
    }
}
