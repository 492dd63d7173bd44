//! Vectors of open-channel drives with a pointer to what isn't host memory.

use aster_wire::nvme::Sqe;
use zerocopy::little_endian::U32;

/// An address behind all memory of a host, at the beginning of a page.
const NOWHERE: u64 = 1 << 52;

/// The pointer of a vector that names no memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nowhere {
    /// That of the data's first page.
    Data,
    /// That of what comes behind it: the second page, or the list of further pages.
    Behind,
    /// That of the metadata.
    Metadata,
    /// That of the list of addresses.
    Addresses,
    /// That of a copy's list of destinations.
    Destinations,
}

impl Nowhere {
    /// Those that a vector of `count` sectors has.
    pub fn of_transfer(count: usize) -> Vec<Nowhere> {
        let more: &[_] = if count > 1 { &[Nowhere::Behind, Nowhere::Addresses] } else { &[] };
        [&[Nowhere::Data, Nowhere::Metadata], more].concat()
    }
    /// Sets the pointer in a command.
    pub fn apply(self, sqe: &mut Sqe) {
        let mut set = |dword: usize| {
            let halves = [NOWHERE as u32, (NOWHERE >> 32) as u32].map(U32::new);
            sqe.dwords_10_15[dword - 10..][..2].copy_from_slice(&halves);
        };
        match self {
            Nowhere::Addresses => set(10),
            Nowhere::Destinations => set(14),
            Nowhere::Data => sqe.prp1 = NOWHERE.into(),
            Nowhere::Behind => sqe.prp2 = NOWHERE.into(),
            Nowhere::Metadata => sqe.mptr = NOWHERE.into(),
        }
    }
    /// Whether the controller needs the pointer to know what a vector of `count` sectors is, so that it ends
    /// the vector before the translation has seen it.
    pub fn is_of_a_list(self, count: usize) -> bool {
        match self {
            Nowhere::Addresses | Nowhere::Destinations => true,
            Nowhere::Behind => count > 2,
            Nowhere::Data | Nowhere::Metadata => false,
        }
    }
    /// The sector, if it is one alone, whose data can't be moved. The drive doesn't notice if it has nothing
    /// to move there.
    pub fn sector(self, count: usize) -> Option<usize> {
        match self {
            Nowhere::Data => Some(0),
            Nowhere::Behind if count == 2 => Some(1),
            _ => None,
        }
    }
}
