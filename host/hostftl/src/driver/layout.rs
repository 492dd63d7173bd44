//! Where things lie in the driver's region of host memory.

use super::tags::TAGS;
use aster_wire::array::{FRAME_BYTES_MAX, STATUS_FRAME_BYTES, STATUS_FRAMES};

/// The status buffer begins at a multiple of this.
const STATUS_ALIGNMENT: usize = 4096;
const _: () = assert!(STATUS_FRAMES * STATUS_FRAME_BYTES <= STATUS_ALIGNMENT);
/// Bytes of the driver's region, which begins at a multiple of 4096: the status buffer, and a frame for each
/// command.
pub const REGION_BYTES: usize = STATUS_ALIGNMENT + TAGS * FRAME_BYTES_MAX;

/// Where status frame `frame` lies in the region.
pub(super) const fn status_frame(frame: usize) -> u64 {
    (frame * STATUS_FRAME_BYTES) as u64
}
/// Where the frame lies whose first command has this number. It stays there until that command has ended,
/// and by then the drive has fetched it.
pub(super) const fn command_frame(first: usize) -> u64 {
    (STATUS_ALIGNMENT + first * FRAME_BYTES_MAX) as u64
}
