//! The profile that an image stores, between NVRAM and eMMC, so that later runs need no other.
//!
//! 16 bytes of magic, the text's length as 4 bytes, the text, and the CRC-32C of all that; integers are
//! little-endian. The text is a comment with the profile's name and then the profile with all defaults filled
//! in. An image that has none yet has zeroes there.

use super::change::{in_words, is_out_of_room};
use super::header::{length_of, made_with};
use super::look::open;
use super::{EMMC_AT, ImageError, NAND_AT, NVRAM_AT};
use aster_codec::checksum::crc32c;
use aster_device::profile::Profile;
use aster_device::{EMMC_BYTES, NVRAM_BYTES};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const KEPT_AT: u64 = 128 << 10;
const MAGIC: &[u8; 16] = b"ASTER PROFILE 1\n";
/// The beginning of every form's magic; a number and a line end follow.
const KIND: &[u8] = b"ASTER PROFILE ";
const HEAD_BYTES: usize = MAGIC.len() + 4;
const CHECKSUM_BYTES: usize = 4;
const TEXT_MAX: usize = (EMMC_AT - KEPT_AT) as usize - HEAD_BYTES - CHECKSUM_BYTES;
const _: () = assert!(NVRAM_AT + NVRAM_BYTES as u64 <= KEPT_AT, "NVRAM ends before it");
const _: () = assert!(EMMC_AT + EMMC_BYTES <= NAND_AT, "the eMMC ends before NAND");
/// The beginning of the text; the name follows.
const NAME: &str = "# ";

/// The profile that an image keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptProfile {
    /// The profile's name.
    pub name: String,
    /// A profile's text, for [`Profile::parse`].
    pub text: String,
}

/// Stores `profile` in the image at `path`, whose drive isn't powered, unless it has one already. The image's
/// header decides how it keeps content, whatever the profile says.
///
/// An image works without a stored profile, so lack of room is no error: the next use stores it. Returns a
/// message for people in that case.
///
/// # Errors
/// When the file can't be written for another reason.
pub fn keep_profile(path: &Path, name: &str, profile: &Profile) -> Result<Option<String>, ImageError> {
    if !matches!(kept_profile(path), Ok(None)) {
        return Ok(None);
    }
    let one_line = printable(name);
    let written = || -> io::Result<()> {
        let text = profile.to_toml().map_err(io::Error::other)?;
        write(&OpenOptions::new().write(true).open(path)?, &format!("{NAME}{one_line}\n{text}"))
    };
    match written() {
        Ok(()) => Ok(None),
        Err(error) if is_out_of_room(&error) => Ok(Some(format!(
            "{}: no room to keep the profile in it ({}): it is kept when the image is next used and there is \
             room",
            path.display(),
            in_words(&error)
        ))),
        Err(error) => Err(ImageError::Io { path: path.to_owned(), error }),
    }
}

/// A name without line ends and control characters.
fn printable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).collect()
}

/// The magic is written last, so that an incomplete record isn't valid.
fn write(file: &File, text: &str) -> io::Result<()> {
    if text.len() > TEXT_MAX {
        return Err(io::Error::other(format!("a profile of {} bytes is too long to keep", text.len())));
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(crc32c(&bytes).to_le_bytes());
    file.write_all_at(&bytes[MAGIC.len()..], KEPT_AT + MAGIC.len() as u64)?;
    file.sync_data()?;
    file.write_all_at(MAGIC, KEPT_AT)
}

/// The profile that the image at `path` stores; `None` if it has none yet.
///
/// # Errors
/// When there is no image, or its stored profile is damaged.
pub fn kept_profile(path: &Path) -> Result<Option<KeptProfile>, ImageError> {
    let file = open(path)?;
    let text = made_with(&file, path)?;
    let io_error = |error| ImageError::Io { path: path.to_owned(), error };
    let kept = |what: String| ImageError::Kept { path: path.to_owned(), what };
    let damaged = || {
        kept(format!(
            "the profile that it keeps (byte {KEPT_AT}) is damaged, by something else that wrote there"
        ))
    };
    // The profile may be missing because the file is truncated; that isn't an image without one.
    let (found, needed) = (file.metadata().map_err(io_error)?.len(), length_of(&text));
    if let Some(needed) = needed.filter(|&needed| found < needed) {
        return Err(ImageError::Truncated { path: path.to_owned(), found, needed });
    }
    let mut head = [0; HEAD_BYTES];
    file.read_exact_at(&mut head, KEPT_AT).map_err(io_error)?;
    let (magic, length) = head.split_at(MAGIC.len());
    if magic != MAGIC {
        // Zeroes are also what is there if a process was stopped before it wrote the magic.
        return match (magic.iter().all(|&byte| byte == 0), magic.strip_prefix(KIND)) {
            (true, _) => Ok(None),
            (_, Some(form)) if form.last() == Some(&b'\n') => Err(kept(format!(
                "the profile that it keeps has form {}, of another version of Aster, where this one reads \
                 form 1",
                String::from_utf8_lossy(form).trim_end().escape_debug()
            ))),
            _ => Err(damaged()),
        };
    }
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if length > TEXT_MAX {
        return Err(damaged());
    }
    let mut bytes = vec![0; HEAD_BYTES + length + CHECKSUM_BYTES];
    file.read_exact_at(&mut bytes, KEPT_AT).map_err(io_error)?;
    let (covered, checksum) = bytes.split_at(HEAD_BYTES + length);
    if crc32c(covered).to_le_bytes() != checksum {
        return Err(damaged());
    }
    let text = std::str::from_utf8(&covered[HEAD_BYTES..]).map_err(|_| damaged())?;
    let name = text.lines().next().and_then(|line| line.strip_prefix(NAME)).ok_or_else(damaged)?;
    // Another program may have written it.
    Ok(Some(KeptProfile { name: printable(name), text: text.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::booted;
    use super::super::{CloneSerial, check_image, clone_image};
    use super::*;
    use aster_device::profile::SHIPPED;

    #[test]
    fn an_image_keeps_the_first_profile_it_is_given_and_a_copy_has_it_too() {
        let folder = tempfile::tempdir().unwrap();
        let (path, profile) = booted(folder.path());
        assert_eq!(kept_profile(&path).unwrap(), None, "none yet");
        keep_profile(&path, "my\ndrive", &profile).unwrap();
        let kept = kept_profile(&path).unwrap().unwrap();
        assert_eq!(kept.name, "mydrive");
        assert_eq!(Profile::parse("kept", &kept.text).unwrap(), profile);
        keep_profile(&path, "other", &profile).unwrap();
        assert_eq!(kept_profile(&path).unwrap().as_ref(), Some(&kept));
        check_image(&path, &profile, None, |_, _| true).unwrap();
        let copy = folder.path().join("copy");
        clone_image(&path, &copy, CloneSerial::New, |_| true).unwrap();
        assert_eq!(kept_profile(&copy).unwrap(), Some(kept));
    }

    #[test]
    fn a_name_that_another_program_wrote_has_nothing_that_a_terminal_obeys() {
        let folder = tempfile::tempdir().unwrap();
        let (path, profile) = booted(folder.path());
        let text = format!("{NAME}my\u{1b}[31m\u{9b}drive\n{}", profile.to_toml().unwrap());
        write(&OpenOptions::new().write(true).open(&path).unwrap(), &text).unwrap();
        assert_eq!(kept_profile(&path).unwrap().unwrap().name, "my[31mdrive");
    }

    #[test]
    fn every_shipped_profile_fits() {
        for (name, text) in SHIPPED {
            let text = Profile::parse(name, text).unwrap().to_toml().unwrap();
            assert!(text.len() < TEXT_MAX / 10, "{name}");
        }
    }

    #[test]
    fn a_damaged_one_is_told_and_no_other_comes_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (path, profile) = booted(folder.path());
        keep_profile(&path, "tiny", &profile).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        // Its magic, its length and its text.
        for at in [KEPT_AT, KEPT_AT + 19, KEPT_AT + 100] {
            file.write_all_at(&[!whole[at as usize]], at).unwrap();
            let error = kept_profile(&path).unwrap_err().to_string();
            assert!(error.contains("name the profile that it was made with"), "{error}");
            keep_profile(&path, "tiny", &profile).unwrap();
            assert!(kept_profile(&path).is_err());
            file.write_all_at(&[whole[at as usize]], at).unwrap();
        }
        file.write_all_at(b"2", KEPT_AT + 14).unwrap();
        let error = kept_profile(&path).unwrap_err().to_string();
        assert!(error.contains("has form 2, of another version of Aster"), "{error}");
        assert!(!error.contains("damaged"), "{error}");
        file.write_all_at(b"1", KEPT_AT + 14).unwrap();
        assert!(kept_profile(&path).unwrap().is_some());
    }
}
