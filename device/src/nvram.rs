//! How the NVRAM is divided between translation and front end.

use crate::media::NVRAM_BYTES;
use aster_parties::NvramSlice;
use aster_ports::medium::SharedNvram;

/// Bytes of the front end, at the end of the NVRAM.
const FRONT_END_BYTES: usize = 128;
/// Where the front end's bytes begin. The translation's come before them.
pub(crate) const FRONT_END_AT: usize = NVRAM_BYTES - FRONT_END_BYTES;

/// Where the bytes of a target's NVMe controller begin. The target's come before them.
const TARGET_FRONT_END_AT: usize = FRONT_END_AT - FRONT_END_BYTES;

/// Bytes of NVRAM that a translation and a target may have together.
pub(crate) const WITH_TARGET: usize = TARGET_FRONT_END_AT;

/// The part of a target's NVMe controller.
pub(crate) fn target_front_end_part(nvram: &SharedNvram) -> NvramSlice {
    NvramSlice::new(nvram, TARGET_FRONT_END_AT, FRONT_END_BYTES)
}

/// The part of a target that needs `bytes` bytes.
pub(crate) fn target_part(nvram: &SharedNvram, bytes: usize) -> NvramSlice {
    NvramSlice::new(nvram, TARGET_FRONT_END_AT - bytes, bytes)
}

/// The front end's part.
pub(crate) fn front_end_part(nvram: &SharedNvram) -> NvramSlice {
    NvramSlice::new(nvram, FRONT_END_AT, FRONT_END_BYTES)
}

/// The part of a translation that needs `bytes` bytes.
pub(crate) fn translation_part(nvram: &SharedNvram, bytes: usize) -> NvramSlice {
    assert!(bytes <= FRONT_END_AT, "what is behind byte {FRONT_END_AT} is the front end's");
    NvramSlice::new(nvram, 0, bytes)
}
