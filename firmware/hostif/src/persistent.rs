//! What an NVMe controller keeps without power: SMART's counters and the block format.

use crate::config::BlockSize;
use aster_codec::checksum::crc32c;
use aster_parties::{History, NvramSlice};

const MAGIC: [u8; 4] = *b"LIFE";
const RECORD_BYTES: usize = 128;

/// The record in NVRAM: fixed fields, little-endian, with a CRC-32C. Without a valid record the drive
/// counts as new.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PersistentState {
    /// The drive's life up to the last power-off.
    pub history: History,
    /// The block format; `None` if the drive has none yet.
    pub block_size: Option<BlockSize>,
}

impl PersistentState {
    /// Reads the record that begins at `saved`'s first byte.
    pub fn load(saved: &NvramSlice) -> Self {
        let mut bytes = [0; RECORD_BYTES];
        saved.read(0, &mut bytes);
        Self::decode(&bytes).unwrap_or_default()
    }

    /// Whether there is a record with a bad CRC. [`PersistentState::load`] treats such a record as none.
    pub(crate) fn is_damaged(saved: &NvramSlice) -> bool {
        let mut bytes = [0; RECORD_BYTES];
        saved.read(0, &mut bytes);
        bytes != [0; RECORD_BYTES] && Self::decode(&bytes).is_none()
    }

    pub(crate) fn store(&self, saved: &NvramSlice) {
        saved.write(0, &self.encode());
    }

    fn encode(&self) -> [u8; RECORD_BYTES] {
        let h = &self.history;
        let mut bytes = [0; RECORD_BYTES];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&MAGIC);
        put(&[u8::from(h.shut_down), self.block_size.map_or(0, BlockSize::log2), 0, 0]);
        for wide in [h.bytes_read, h.bytes_written, h.busy_picos, h.powered_picos] {
            put(&wide.to_le_bytes());
        }
        for word in [
            h.read_commands,
            h.write_commands,
            h.power_cycles,
            h.unsafe_shutdowns,
            h.media_errors,
            h.error_count,
        ] {
            put(&word.to_le_bytes());
        }
        let sum = crc32c(&bytes[..RECORD_BYTES - 4]);
        bytes[RECORD_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        let (body, sum) = bytes.split_at(RECORD_BYTES - 4);
        if body[..4] != MAGIC || u32::from_le_bytes(sum.try_into().ok()?) != crc32c(body) {
            return None;
        }
        let wide = |i: usize| Some(u128::from_le_bytes(body.get(8 + 16 * i..24 + 16 * i)?.try_into().ok()?));
        let word = |i: usize| Some(u64::from_le_bytes(body.get(72 + 8 * i..80 + 8 * i)?.try_into().ok()?));
        let history = History {
            bytes_read: wide(0)?,
            bytes_written: wide(1)?,
            busy_picos: wide(2)?,
            powered_picos: wide(3)?,
            read_commands: word(0)?,
            write_commands: word(1)?,
            power_cycles: word(2)?,
            unsafe_shutdowns: word(3)?,
            media_errors: word(4)?,
            error_count: word(5)?,
            shut_down: body[4] != 0,
        };
        let block_size = match body[5] {
            9 => Some(BlockSize::Bytes512),
            12 => Some(BlockSize::Bytes4096),
            _ => None,
        };
        Some(PersistentState { history, block_size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_round_trips_and_a_damaged_record_is_a_new_drives() {
        let history = History {
            bytes_read: 1 << 70,
            bytes_written: 3,
            read_commands: 4,
            write_commands: 5,
            busy_picos: 6,
            powered_picos: 7,
            power_cycles: 8,
            unsafe_shutdowns: 9,
            media_errors: 10,
            error_count: 11,
            shut_down: true,
        };
        let state = PersistentState { history, block_size: Some(BlockSize::Bytes512) };
        let bytes = state.encode();
        assert_eq!(PersistentState::decode(&bytes), Some(state));
        for i in 0..RECORD_BYTES {
            let mut bad = bytes;
            bad[i] ^= 0x10;
            assert_eq!(PersistentState::decode(&bad), None, "byte {i}");
        }
    }
}
