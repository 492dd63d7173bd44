//! An image's header: the file's first page.

use super::error::ImageError;
use super::format::{CHECKSUM_AT, KIND, MADE_WITH_AT, MAGIC, NAND_AT, NVRAM_AT, name_of};
use aster_codec::checksum::{crc32c, crc32c_of};
use rustix::rand::{GetRandomFlags, getrandom};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The header's key for the file's length.
pub(super) const LENGTH_KEY: &str = "bytes";
/// The header's key for the drive's serial number. Each image has its own.
pub(super) const SERIAL_KEY: &str = "serial";
/// Makes the empty `file` an image of `bytes` bytes. The magic is written last, so that a partial image
/// isn't valid.
pub(super) fn write_new(
    file: &File,
    bytes: u64,
    mut made_with: Vec<(&'static str, String)>,
) -> io::Result<()> {
    file.set_len(bytes)?;
    made_with.push((LENGTH_KEY, bytes.to_string()));
    made_with.push((SERIAL_KEY, new_serial()?));
    let text: String = made_with.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    write_header(file, &text)
}

/// Writes the header page with `text`, the keys that the drive was made with. The magic is written last.
pub(super) fn write_header(file: &File, text: &str) -> io::Result<()> {
    let mut header = [0; NVRAM_AT as usize];
    header[..MAGIC.len()].copy_from_slice(MAGIC);
    assert!(MADE_WITH_AT + (text.len() as u64) < CHECKSUM_AT, "the keys have outgrown their page");
    header[MAGIC.len()..][..text.len()].copy_from_slice(text.as_bytes());
    let (covered, checksum) = header.split_at_mut(CHECKSUM_AT as usize);
    checksum.copy_from_slice(&crc32c(covered).to_le_bytes());
    file.write_all_at(&header[MAGIC.len()..], MADE_WITH_AT)?;
    file.write_all_at(MAGIC, 0)
}

/// A serial number from the system's random numbers. Two drives with the same serial number can't be in one
/// host: Linux takes the second for another path to the first, and refuses it.
pub(super) fn new_serial() -> io::Result<String> {
    let mut random = [0; 8];
    let mut filled = 0;
    while filled < random.len() {
        filled += getrandom(&mut random[filled..], GetRandomFlags::empty())?;
    }
    Ok(format!("ASTER{:015X}", u64::from_le_bytes(random) >> 4))
}

/// The serial number from a header's `text`.
pub(super) fn serial(text: &str, path: &Path) -> Result<String, ImageError> {
    let serial = value(text, SERIAL_KEY).ok_or_else(|| ImageError::Header { path: path.to_owned() })?;
    if is_serial(serial) {
        return Ok(serial.to_owned());
    }
    let reason = format!(
        "its header's serial number, \"{}\", is no 1 to {SERIAL_CHARS_MAX} printable ASCII characters: \
         something else \
         has written there; use a copy that is whole",
        serial.escape_debug()
    );
    Err(ImageError::Damaged { path: path.to_owned(), reason })
}

/// Characters of a serial number (NVMe 1.4 §5.15.2.2).
const SERIAL_CHARS_MAX: usize = 20;

/// Whether this is a valid serial number.
pub fn is_serial(text: &str) -> bool {
    (1..=SERIAL_CHARS_MAX).contains(&text.len()) && text.bytes().all(|b| matches!(b, b' '..=b'~'))
}

/// The file's original length, from its header's `text`.
pub(super) fn length_of(text: &str) -> Option<u64> {
    value(text, LENGTH_KEY).and_then(|value| value.parse().ok())
}

/// A key's value in a header's `text`.
pub(super) fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
}

/// The keys that an image was made with, from a complete header: lines of `key = value`.
pub(super) fn made_with(file: &File, path: &Path) -> Result<String, ImageError> {
    let io_error = |error| ImageError::Io { path: path.to_owned(), error };
    let bytes = file.metadata().map_err(io_error)?.len();
    let mut header = [0; NVRAM_AT as usize];
    let present = header.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
    file.read_exact_at(&mut header[..present], 0).map_err(io_error)?;
    if present == 0 {
        return Err(ImageError::Empty { path: path.to_owned() });
    }
    if present < MAGIC.len() && MAGIC.starts_with(&header[..present]) {
        return Err(ImageError::Truncated { path: path.to_owned(), found: bytes, needed: NAND_AT });
    }
    // With the right magic: of an image whose first bytes alone are damaged, the rest tells what it is.
    let is_whole = |header: &[u8]| {
        let (covered, checksum) = header.split_at(CHECKSUM_AT as usize);
        crc32c_of([&MAGIC[..], &covered[MAGIC.len()..]]).to_le_bytes() == checksum
    };
    if !header.starts_with(MAGIC) {
        if !header.starts_with(KIND) {
            return Err(match is_whole(&header) {
                true => ImageError::Header { path: path.to_owned() },
                false => ImageError::Foreign { path: path.to_owned() },
            });
        }
        let found = name_of(&header[..MAGIC.len()]);
        return Err(ImageError::Format { path: path.to_owned(), found });
    }
    if bytes < NVRAM_AT {
        // The rest of a truncated header may still have the length.
        let text = String::from_utf8_lossy(&header[MAGIC.len()..]);
        let needed = length_of(&text).unwrap_or(NAND_AT);
        return Err(ImageError::Truncated { path: path.to_owned(), found: bytes, needed });
    }
    if !is_whole(&header) {
        return Err(ImageError::Header { path: path.to_owned() });
    }
    let text = header[MAGIC.len()..CHECKSUM_AT as usize].split(|&b| b == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// The differences between the image's `text`, the keys that it was made with, and `wanted`, as messages.
pub(super) fn differences(text: &str, wanted: &[(&'static str, String)]) -> Vec<String> {
    let kept = |key: &str| value(text, key).unwrap_or("not given").escape_debug().to_string();
    let other = wanted.iter().filter(|(key, wanted)| value(text, key) != Some(wanted));
    other.map(|(key, value)| format!("{key} is {} there and {value} here", kept(key))).collect()
}
