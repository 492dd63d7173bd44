//! What the FTL keeps in NVRAM. Data are found without it.

use aster_codec::checksum::crc32c;
use aster_parties::NvramSlice;

/// Bytes of the record.
pub(crate) const RECORD_BYTES: usize = 16;
/// "PBLK".
const MAGIC: u32 = 0x4b4c_4250;

/// How the media were left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    /// There is none: the drive is new, or its NVRAM has lost its content.
    Missing,
    /// Anything may be in flight.
    InUse,
    /// By a shutdown.
    Clean,
    /// Within a format: nothing that is on the media counts.
    Formatting,
}

impl Record {
    pub(crate) fn read(nvram: &NvramSlice) -> Self {
        let mut bytes = [0; RECORD_BYTES];
        nvram.read(0, &mut bytes);
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        if word(0) != MAGIC || word(12) != crc32c(&bytes[..12]) {
            return Record::Missing;
        }
        match word(4) {
            0 => Record::InUse,
            1 => Record::Clean,
            2 => Record::Formatting,
            _ => Record::Missing,
        }
    }
    pub(crate) fn write(self, nvram: &NvramSlice) {
        let mut bytes = [0; RECORD_BYTES];
        let value: u32 = match self {
            Record::Missing | Record::InUse => 0,
            Record::Clean => 1,
            Record::Formatting => 2,
        };
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&value.to_le_bytes());
        let crc = crc32c(&bytes[..12]);
        bytes[12..].copy_from_slice(&crc.to_le_bytes());
        nvram.write(0, &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::medium::Nvram;

    #[test]
    fn a_record_is_read_back_and_a_damaged_one_is_none() {
        let nvram = NvramSlice::new(&Nvram::volatile(16), 0, 16);
        assert_eq!(Record::read(&nvram), Record::Missing);
        for record in [Record::Clean, Record::Formatting, Record::InUse] {
            record.write(&nvram);
            assert_eq!(Record::read(&nvram), record);
        }
        Record::Clean.write(&nvram);
        for bit in 0..128 {
            let mut byte = [0];
            nvram.read(bit / 8, &mut byte);
            nvram.write(bit / 8, &[byte[0] ^ 1 << (bit % 8)]);
            assert_eq!(Record::read(&nvram), Record::Missing, "bit {bit}");
            nvram.write(bit / 8, &byte);
        }
    }
}
