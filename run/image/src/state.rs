//! The bytes that describe an image's content, for a checksum.

use super::look::open;
use super::{EMMC_AT, ImageError, NAND_AT, NVRAM_AT};
use aster_device::profile::Profile;
use aster_device::{EMMC_BYTES, NVRAM_BYTES, nand_records_bytes};
use aster_units::Content;
use rustix::fs::{SeekFrom, seek};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes per call.
const PART_BYTES: u64 = 4096;

/// Calls `each` with all bytes that describe the content of the drive in the image at `path`, and their
/// offsets: NVRAM, eMMC, the blocks' entries, the pages' records with their checksums. Parts of zeroes are
/// left out, so that holes make no difference. Serial number and format aren't included, so a copy gives the
/// same.
///
/// # Errors
/// When the file can't be read, or the profile doesn't describe a working drive.
pub fn image_state(
    path: &Path,
    profile: &Profile,
    content: Option<Content>,
    each: &mut dyn FnMut(u64, &[u8]),
) -> Result<(), ImageError> {
    let records = nand_records_bytes(profile, content)?;
    let io_error = |error| ImageError::Io { path: path.to_owned(), error };
    let file = open(path)?;
    let mut buffer = [0; PART_BYTES as usize];
    for (from, bytes) in [(NVRAM_AT, NVRAM_BYTES as u64), (EMMC_AT, EMMC_BYTES), (NAND_AT, records)] {
        let (mut at, end) = (from, from + bytes);
        while at < end {
            match seek(&file, SeekFrom::Data(at)) {
                // Round down to a part's beginning, independently of the file system's blocks.
                Ok(data) => at = at.max(data / PART_BYTES * PART_BYTES),
                Err(rustix::io::Errno::NXIO) => break,
                Err(error) => return Err(io_error(error.into())),
            }
            let hole = seek(&file, SeekFrom::Hole(at)).map_err(|error| io_error(io::Error::from(error)))?;
            while at < hole.min(end) {
                let part = &mut buffer[..PART_BYTES.min(end - at) as usize];
                file.read_exact_at(part, at).map_err(io_error)?;
                if part.iter().any(|&byte| byte != 0) {
                    each(at, part);
                }
                at += part.len() as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::booted;
    use super::super::{CloneSerial, clone_image, open_image};
    use super::*;
    use std::fs::OpenOptions;

    fn state(path: &Path, profile: &Profile) -> Vec<(u64, Vec<u8>)> {
        let mut parts = Vec::new();
        image_state(path, profile, None, &mut |at, part| parts.push((at, part.to_vec()))).unwrap();
        parts
    }

    #[test]
    fn a_copy_has_the_same_state_and_whatever_changes_what_it_holds_changes_that() {
        let folder = tempfile::tempdir().unwrap();
        let (path, profile) = booted(folder.path());
        let before = state(&path, &profile);
        assert!(!before.is_empty());
        let copy = folder.path().join("copy");
        clone_image(&path, &copy, CloneSerial::New, |_| true).unwrap();
        assert_eq!(state(&copy, &profile), before);
        // A copy without holes.
        let bytes = std::fs::read(&copy).unwrap();
        std::fs::write(&copy, &bytes).unwrap();
        assert_eq!(state(&copy, &profile), before);
        drop(open_image(&copy, &profile, None).unwrap());
        assert_eq!(state(&copy, &profile), before, "who only opens it leaves it as it is");
        let records = nand_records_bytes(&profile, None).unwrap();
        let file = OpenOptions::new().write(true).open(&copy).unwrap();
        for at in [NVRAM_AT + 17, EMMC_AT + 4097, NAND_AT + 4096 + 5, NAND_AT + records - 3] {
            file.write_all_at(&[bytes[at as usize] ^ 0x40], at).unwrap();
            assert_ne!(state(&copy, &profile), before, "byte {at}");
            file.write_all_at(&[bytes[at as usize]], at).unwrap();
        }
        assert_eq!(state(&copy, &profile), before);
    }
}
