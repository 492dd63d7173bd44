//! The error information log (NVMe 1.4 §5.14.1.1).

use aster_wire::nvme::Status;
use aster_wire::nvme::log::ErrorEntry;
use zerocopy::IntoBytes;

/// Entries kept (ELPE + 1). They fill one 4 KiB page.
pub(crate) const ERROR_ENTRIES: usize = 64;

/// The latest errors, and the number of errors in the drive's life.
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
    pub fn push(&mut self, entry: impl FnOnce(u64) -> ErrorEntry) {
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

/// Whether an outcome goes into the log. Outcomes that the host caused, and those that are no error of the
/// drive or the command, do not.
pub(crate) fn is_logged(status: Status) -> bool {
    ![
        Status::ABORT_REQUESTED,
        Status::ABORTED_SQ_DELETION,
        Status::COMPARE_FAILURE,
        Status::FORMAT_IN_PROGRESS,
    ]
    .iter()
    .any(|other| status.is(*other))
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
