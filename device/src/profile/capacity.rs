//! Named capacities, as drives are sold.

use aster_units::SECTOR_BYTES;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Gigabytes for which the drive industry has standardised the number of logical blocks.
const STANDARD: std::ops::RangeInclusive<u64> = 50..=8_000;

/// A capacity such as `512 GB`.
///
/// From 50 GB to 8 TB, GB and TB mean the number of logical blocks that drives sold with this name have
/// (IDEMA LBA1-03): 512 GB is 1,000,215,216 blocks of 512 bytes, or 512,110,190,592 bytes. Other values in
/// GB and TB, and all in MB, are powers of ten; MiB, GiB and TiB are powers of two. All are rounded up to
/// 4 KiB.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct NamedCapacity {
    name: String,
    bytes: u64,
}

impl NamedCapacity {
    /// The name as the profile has it.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The least number of bytes that the host sees.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl TryFrom<String> for NamedCapacity {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let digits = name.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
        let unit = name.trim()[digits.len()..].trim_start();
        let scale = match unit {
            "MB" => Some(1_000_000),
            "GB" => Some(1_000_000_000),
            "TB" => Some(1_000_000_000_000),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            "TiB" => Some(1u64 << 40),
            _ => None,
        };
        let number = digits.parse::<u64>().ok().filter(|&number| number > 0);
        let bytes = number.zip(scale).and_then(|(number, scale)| {
            let gigabytes = match unit {
                "GB" => number,
                "TB" => number.checked_mul(1000)?,
                _ => 0,
            };
            match STANDARD.contains(&gigabytes) {
                true => Some((97_696_368 + 1_953_504 * (gigabytes - 50)) * 512),
                false => number.checked_mul(scale)?.checked_next_multiple_of(SECTOR_BYTES as u64),
            }
        });
        let bytes = bytes.ok_or_else(|| {
            format!(
                "must be a whole number with MB, GB, TB, MiB, GiB or TiB, as \"512 GB\", but is \"{name}\""
            )
        })?;
        Ok(NamedCapacity { name, bytes })
    }
}

impl From<NamedCapacity> for String {
    fn from(capacity: NamedCapacity) -> String {
        capacity.name
    }
}

impl fmt::Display for NamedCapacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(name: &str) -> Result<u64, String> {
        NamedCapacity::try_from(name.to_owned()).map(|capacity| capacity.bytes())
    }

    /// The numbers of LBA1-03's examples and of drives on the market.
    #[test]
    fn drives_have_the_blocks_that_their_name_means() {
        for (name, blocks) in [
            ("80 GB", 156_301_488),
            ("512 GB", 1_000_215_216),
            ("1 TB", 1_953_525_168),
            ("1000GB", 1_953_525_168),
            ("8 TB", 15_628_053_168u64),
        ] {
            assert_eq!(bytes(name), Ok(blocks * 512), "{name}");
        }
    }

    #[test]
    fn other_names_are_powers_of_ten_or_two() {
        for (name, size) in [
            ("1 MB", 1_003_520),
            ("32 GB", 32_000_000_000),
            ("9 TB", 9_000_000_000_000),
            ("3 MiB", 3 << 20),
            ("2 GiB", 2 << 30),
            ("1 TiB", 1 << 40),
        ] {
            assert_eq!(bytes(name), Ok(size), "{name}");
        }
    }

    #[test]
    fn what_is_no_capacity_is_refused_with_an_example() {
        for wrong in ["", "GB", "512", "512 gb", "-1 GB", "1.5 TB", "0 GB", "99999999999 TB", "5 GB 3"] {
            let said = bytes(wrong).unwrap_err();
            assert!(said.contains("\"512 GB\"") && said.ends_with(&format!("is \"{wrong}\"")), "{said}");
        }
    }
}
