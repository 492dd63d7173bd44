//! The format of an image: its magic, and where its parts begin.

/// Where the NVRAM begins, behind the header's page.
pub(super) const NVRAM_AT: u64 = 4096;
/// Where the NAND image begins.
pub(super) const NAND_AT: u64 = 1 << 20;

/// 5: log pages tell moves in the two forms that are shortest.
pub(super) const MAGIC: &[u8; 16] = b"ASTER DRIVE V5\n\0";
/// 4: stored maps have pages of parity, log pages tell moves in one short form. All that such an image holds
/// is read as what it is, but what a drive writes to it an older Aster would take for damage: it has format 5
/// from the moment that a drive may.
const MAGIC_BEFORE: &[u8; 16] = b"ASTER DRIVE V4\n\0";
pub(super) const READ: [&[u8; 16]; 2] = [MAGIC_BEFORE, MAGIC];
// What all formats begin with.
pub(super) const KIND: &[u8] = b"ASTER DRIVE V";
// What the drive was made with, as text: lines of `key = value`, zeroes behind the last.
pub(super) const MADE_WITH_AT: u64 = MAGIC.len() as u64;
// CRC-32C of the header up to here, little-endian.
pub(super) const CHECKSUM_AT: u64 = NVRAM_AT - 4;

/// The formats that are read, in words.
pub(super) fn formats() -> String {
    READ.map(|magic| format!("\"{}\"", name_of(magic))).join(" and ")
}

/// A format's name, without what fills it up.
pub(super) fn name_of(magic: &[u8]) -> String {
    String::from_utf8_lossy(magic).trim_end_matches(['\0', '\n']).escape_debug().to_string()
}
