//! A change of an image's file, and the errors of a change that the system refuses.

use aster_ports::medium::MediumError;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a page of the file: pending changes are kept in pages of this size, which most file systems use.
pub(super) const PAGE_BYTES: u64 = 4096;

/// A message about an error at a byte of the file.
pub(super) fn failed(offset: u64, error: &dyn std::fmt::Display) -> MediumError {
    MediumError { offset, reason: error.to_string() }
}

/// Whether the write can succeed later, when there is room: the cause is a full disk, a quota, or a limit
/// on the size of files.
pub(super) fn is_out_of_room(error: &io::Error) -> bool {
    let out_of_room = [Errno::NOSPC, Errno::DQUOT, Errno::FBIG];
    error.raw_os_error().is_some_and(|raw| out_of_room.iter().any(|errno| errno.raw_os_error() == raw))
}

/// An error's message without its number.
pub(super) fn in_words(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC) => "no space left on the disk".into(),
        Some(Errno::DQUOT) => "the disk quota is used up".into(),
        Some(Errno::FBIG) => "the file would outgrow what the system's limits allow (ulimit -f)".into(),
        Some(Errno::ISDIR) => "is a folder; name a file".into(),
        Some(Errno::IO) => "the disk failed (input/output error)".into(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
    }
}
/// An error that ends the drive.
pub(super) fn final_words(error: &io::Error) -> String {
    let words = in_words(error);
    match is_out_of_room(error) {
        true => format!(
            "{words}: the drive ends as by a loss of power, and what was flushed is there; make room, and \
             use it again"
        ),
        false => words,
    }
}

/// The data of a change.
#[derive(Debug)]
pub(super) enum Change<'a> {
    Bytes(&'a [u8]),
    /// A hole of this many bytes.
    Hole(u64),
}

/// Makes a change at a byte of the file.
pub(super) fn change(file: &File, at: u64, change: &Change<'_>) -> io::Result<()> {
    let length = match *change {
        Change::Bytes(bytes) => return file.write_all_at(bytes, at),
        Change::Hole(length) => length,
    };
    match fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, length) {
        Ok(()) => Ok(()),
        // For file systems without holes, write zeroes.
        Err(Errno::OPNOTSUPP) => {
            let zeroes = [0; 4096];
            let mut done = 0;
            while done < length {
                let n = (length - done).min(zeroes.len() as u64);
                file.write_all_at(&zeroes[..n as usize], at + done)?;
                done += n;
            }
            Ok(())
        }
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_told_in_words_with_what_to_do() {
        let said = |errno: Errno| final_words(&io::Error::from(errno));
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG] {
            let words = said(errno);
            assert!(words.contains("what was flushed is there; make room"), "{words}");
        }
        assert_eq!(said(Errno::IO), "the disk failed (input/output error)");
        assert_eq!(said(Errno::ROFS), "Read-only file system");
    }
}
