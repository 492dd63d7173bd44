//! What the FTL keeps in NVRAM. Data are found without it.

use aster_codec::checksum::crc32c;
use aster_parties::NvramSlice;

/// Bytes of the record.
pub(crate) const RECORD_BYTES: usize = 24;
/// "PBLK".
const MAGIC: u32 = 0x4b4c_4250;
/// Where the checksum is, over what is before it.
const CHECKSUM_AT: usize = 20;

/// How the media were left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// There is no record: the drive is new, or its NVRAM has lost its content.
    Missing,
    /// Anything may be in flight.
    InUse,
    /// By a shutdown.
    Clean,
    /// Within a format: nothing that is on the media counts.
    Formatting,
}

/// The record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    /// How the media were left.
    pub(crate) left: Left,
    /// Lines of smaller sequence numbers were written before the last format. Blocks that it could not erase
    /// still hold their data.
    pub(crate) counts_from: u64,
}

impl Record {
    pub(crate) const MISSING: Record = Record { left: Left::Missing, counts_from: 0 };

    pub(crate) fn read(nvram: &NvramSlice) -> Self {
        let mut bytes = [0; RECORD_BYTES];
        nvram.read(0, &mut bytes);
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if word(0) != MAGIC || word(CHECKSUM_AT) != crc32c(&bytes[..CHECKSUM_AT]) {
            return Record::MISSING;
        }
        let left = match word(4) {
            0 => Left::InUse,
            1 => Left::Clean,
            2 => Left::Formatting,
            _ => return Record::MISSING,
        };
        let counts_from = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
        Record { left, counts_from }
    }
    pub(crate) fn write(self, nvram: &NvramSlice) {
        let mut bytes = [0; RECORD_BYTES];
        let value: u32 = match self.left {
            Left::Missing | Left::InUse => 0,
            Left::Clean => 1,
            Left::Formatting => 2,
        };
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&value.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.counts_from.to_le_bytes());
        let crc = crc32c(&bytes[..CHECKSUM_AT]);
        bytes[CHECKSUM_AT..].copy_from_slice(&crc.to_le_bytes());
        nvram.write(0, &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::medium::Nvram;

    #[test]
    fn a_record_is_read_back_and_a_damaged_one_is_none() {
        let nvram = NvramSlice::new(&Nvram::volatile(RECORD_BYTES), 0, RECORD_BYTES);
        assert_eq!(Record::read(&nvram), Record::MISSING);
        let record = |left| Record { left, counts_from: 0x1234_5678_9abc };
        for left in [Left::Clean, Left::Formatting, Left::InUse] {
            record(left).write(&nvram);
            assert_eq!(Record::read(&nvram), record(left));
        }
        record(Left::Clean).write(&nvram);
        for bit in 0..8 * RECORD_BYTES {
            let mut byte = [0];
            nvram.read(bit / 8, &mut byte);
            nvram.write(bit / 8, &[byte[0] ^ 1 << (bit % 8)]);
            assert_eq!(Record::read(&nvram), Record::MISSING, "bit {bit}");
            nvram.write(bit / 8, &byte);
        }
    }
}
