//! The format of an image: its magic, and where its parts begin.

/// Where the NVRAM begins: after the header's page.
pub(super) const NVRAM_AT: u64 = 4096;
/// Where the eMMC begins: after the profile that an image keeps. Images of before have zeroes there.
pub(super) const EMMC_AT: u64 = 256 << 10;
/// Where the NAND image begins.
pub(super) const NAND_AT: u64 = 1 << 20;

/// Format 5: log pages store moves in the two shortest forms.
pub(super) const MAGIC: &[u8; 16] = b"ASTER DRIVE V5\n\0";
/// Format 4: stored maps have parity pages, and log pages store moves in one short form. This version
/// reads all content of such an image. An older Aster, however, would take content that this version
/// writes for damage. The image therefore gets format 5 before a drive may write to it.
const MAGIC_BEFORE: &[u8; 16] = b"ASTER DRIVE V4\n\0";
pub(super) const READ: [&[u8; 16]; 2] = [MAGIC_BEFORE, MAGIC];
// The beginning of every format's magic.
pub(super) const KIND: &[u8] = b"ASTER DRIVE V";
// The keys that the drive was made with, as text: lines of `key = value`, filled up with zeroes.
pub(super) const MADE_WITH_AT: u64 = MAGIC.len() as u64;
// CRC-32C of the header up to here, little-endian.
pub(super) const CHECKSUM_AT: u64 = NVRAM_AT - 4;

/// The formats that are read, in words.
pub(super) fn formats() -> String {
    READ.map(|magic| format!("\"{}\"", name_of(magic))).join(" and ")
}

/// A format's name, without its padding.
pub(super) fn name_of(magic: &[u8]) -> String {
    String::from_utf8_lossy(magic).trim_end_matches(['\0', '\n']).escape_debug().to_string()
}
