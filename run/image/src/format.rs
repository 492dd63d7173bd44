//! The format of an image: its magic, and where its parts begin.

/// Where the NVRAM begins: after the header's page.
pub(super) const NVRAM_AT: u64 = 4096;
/// Where the eMMC begins: after the profile that an image keeps.
pub(super) const EMMC_AT: u64 = 256 << 10;
/// Where the NAND image begins.
pub(super) const NAND_AT: u64 = 1 << 20;

/// Images have one format: this version reads what it writes, and refuses all others by their names.
pub(super) const MAGIC: &[u8; 16] = b"ASTER DRIVE V7\n\0";
// The beginning of every format's magic.
pub(super) const KIND: &[u8] = b"ASTER DRIVE V";
// The keys that the drive was made with, as text: lines of `key = value`, filled up with zeroes.
pub(super) const MADE_WITH_AT: u64 = MAGIC.len() as u64;
// CRC-32C of the header up to here, little-endian.
pub(super) const CHECKSUM_AT: u64 = NVRAM_AT - 4;

/// A format's name as people have it, such as V7. `magic` begins with [`KIND`].
pub(super) fn name_of(magic: &[u8]) -> String {
    String::from_utf8_lossy(&magic[KIND.len() - 1..])
        .trim_end_matches(['\0', '\n'])
        .escape_debug()
        .to_string()
}
