//! The error information log (NVMe 1.4 §5.14.1.1).

use crate::controller::Controller;
use aster_wire::nvme::Status;
use aster_wire::nvme::log::{ErrorEntry, NO_COMMAND};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

/// Entries kept (ELPE + 1): one 4 KiB page of them.
pub(crate) const ERROR_ENTRIES: usize = 64;

/// The latest errors, and how many there were in the drive's life.
#[derive(Debug)]
pub(crate) struct ErrorLog {
    entries: [ErrorEntry; ERROR_ENTRIES],
    count: u64,
}

impl ErrorLog {
    pub fn new(count: u64) -> Self {
        ErrorLog { entries: [ErrorEntry::default(); ERROR_ENTRIES], count }
    }
    /// Errors over the drive's life.
    pub fn count(&self) -> u64 {
        self.count
    }
    fn push(&mut self, entry: impl FnOnce(u64) -> ErrorEntry) {
        self.count += 1;
        self.entries[self.count as usize % ERROR_ENTRIES] = entry(self.count);
    }
    /// Writes the log, latest entry first.
    pub fn write(&self, out: &mut [u8]) {
        for (back, to) in out.chunks_exact_mut(ErrorEntry::BYTES).take(ERROR_ENTRIES).enumerate() {
            let at = (self.count as usize).wrapping_sub(back) % ERROR_ENTRIES;
            to.copy_from_slice(self.entries[at].as_bytes());
        }
    }
}

/// Outcomes that the host brought about or that are no error of the drive or the command.
fn is_logged(status: Status) -> bool {
    ![
        Status::ABORT_REQUESTED,
        Status::ABORTED_SQ_DELETION,
        Status::COMPARE_FAILURE,
        Status::FORMAT_IN_PROGRESS,
    ]
    .iter()
    .any(|other| status.is(*other))
}

impl Controller {
    /// Logs a slot's status and marks it with "more".
    pub(crate) fn log_command_error(&mut self, id: u16) {
        let slot = &mut self.slots[id];
        if !is_logged(slot.status) {
            return;
        }
        slot.status = slot.status.with_more(true);
        // The phase tag is set when the entry is posted; the log shows it as 0 (NVMe 1.4 §5.14.1.1).
        let slot = &self.slots[id];
        // The first block that the error concerns, as far as that is known.
        let first_block = slot.failed_at.unwrap_or(slot.command.offset) >> self.block_size.log2();
        self.errors.push(|count| {
            let mut entry = ErrorEntry::new(count, slot.queue, slot.sqe.cid(), slot.status, false);
            entry.nsid = U32::new(slot.sqe.nsid.get());
            if slot.queue != 0 && slot.stage == crate::slots::Stage::Ftl {
                entry.lba = U64::new(first_block);
            }
            entry
        });
    }

    /// Logs an error that belongs to no command.
    pub(crate) fn log_error(&mut self, status: Status) {
        self.errors.push(|count| ErrorEntry::new(count, NO_COMMAND, NO_COMMAND, status, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromBytes;

    #[test]
    fn the_latest_error_comes_first_and_old_ones_fall_out() {
        let mut log = ErrorLog::new(1000);
        for cid in 0..70 {
            log.push(|count| ErrorEntry::new(count, 1, cid, Status::INVALID_FIELD, false));
        }
        let mut bytes = [0; 4096];
        log.write(&mut bytes);
        let first = ErrorEntry::read_from_bytes(&bytes[..64]).unwrap();
        let last = ErrorEntry::read_from_bytes(&bytes[4032..]).unwrap();
        assert_eq!((first.error_count.get(), first.cid.get()), (1070, 69));
        assert_eq!((last.error_count.get(), last.cid.get()), (1007, 6));
    }
}
