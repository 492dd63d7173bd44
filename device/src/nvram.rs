//! Whose the bytes of the NVRAM are, and which of its records are damaged.

use crate::media::NVRAM_BYTES;
use aster_ftl::damaged_root_copies;
use aster_hostif::PersistentState;
use aster_parties::NvramSlice;
use aster_ports::medium::SharedNvram;

/// Bytes that are the front end's, at the end.
const FRONT_END_BYTES: usize = 128;
/// Where they begin: what is before them is the translation's.
pub(crate) const FRONT_END_AT: usize = NVRAM_BYTES - FRONT_END_BYTES;

/// The front end's part.
pub(crate) fn front_end_part(nvram: &SharedNvram) -> NvramSlice {
    NvramSlice::new(nvram, FRONT_END_AT, FRONT_END_BYTES)
}

/// A record in NVRAM that is damaged, while the drive does without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DamagedRecord {
    /// Its first byte in NVRAM.
    pub at: usize,
    /// Which record it is.
    pub what: &'static str,
    /// What the drive does instead.
    pub instead: &'static str,
}

/// The records in `nvram` that are damaged. Those that were never written are not.
pub fn damaged_records(nvram: &SharedNvram) -> Vec<DamagedRecord> {
    let copies = damaged_root_copies(nvram);
    let instead = match copies.iter().all(|(_, is_damaged)| *is_damaged) {
        true => "neither is whole: the drive recovers from its NAND alone",
        false => "the other is used",
    };
    let names = ["copy 1 of 2 of the root record", "copy 2 of 2 of the root record"];
    let of_root = copies.into_iter().zip(names).filter(|((_, is_damaged), _)| *is_damaged);
    let mut damaged: Vec<_> = of_root.map(|((at, _), what)| DamagedRecord { at, what, instead }).collect();
    if PersistentState::is_damaged(&front_end_part(nvram)) {
        let instead = "SMART's counters begin anew, and the block size is the profile's";
        damaged.push(DamagedRecord { at: FRONT_END_AT, what: "the record of the drive's life", instead });
    }
    damaged
}
