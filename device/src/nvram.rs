//! How the NVRAM is divided between translation and front end.

use crate::media::NVRAM_BYTES;
use aster_parties::NvramSlice;
use aster_ports::medium::SharedNvram;

/// Bytes of the front end, at the end of the NVRAM.
const FRONT_END_BYTES: usize = 128;
/// Where the front end's bytes begin. The translation's come before them.
pub(crate) const FRONT_END_AT: usize = NVRAM_BYTES - FRONT_END_BYTES;

/// The front end's part.
pub(crate) fn front_end_part(nvram: &SharedNvram) -> NvramSlice {
    NvramSlice::new(nvram, FRONT_END_AT, FRONT_END_BYTES)
}

/// The part of a translation that needs `bytes` bytes.
pub(crate) fn translation_part(nvram: &SharedNvram, bytes: usize) -> NvramSlice {
    assert!(bytes <= FRONT_END_AT, "what is behind byte {FRONT_END_AT} is the front end's");
    NvramSlice::new(nvram, 0, bytes)
}
