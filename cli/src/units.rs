//! Numbers of bytes as people read and write them.

use std::ops::Range;

/// Powers of 1024 by their letter.
const LETTERS: &str = "kmgtpe";

/// Takes bytes apart, such as 4096, 4k or 1.5g, as fio writes them.
pub(crate) fn bytes_of(text: &str) -> Result<u64, String> {
    let expected = || "expected bytes, such as 4096, 64k or 1.5g (k m g t p, by 1024)".to_owned();
    let lower = text.trim().to_ascii_lowercase();
    let number = lower.strip_suffix("ib").or(lower.strip_suffix('b')).unwrap_or(&lower).trim_end();
    if let Ok(bytes) = number.parse::<u64>() {
        return Ok(bytes);
    }
    let letter = number.chars().next_back().ok_or_else(expected)?;
    let power = LETTERS.find(letter).ok_or_else(expected)? as i32 + 1;
    let number = number[..number.len() - 1].trim_end();
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(expected());
    }
    let number: f64 = number.parse().map_err(|_| expected())?;
    let bytes = number * 1024f64.powi(power);
    (bytes < 2f64.powi(64)).then_some(bytes as u64).ok_or_else(|| "expected less than 2^64 bytes".into())
}

/// Takes a range of bytes apart, such as 0..64g.
pub(crate) fn byte_range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("expected bytes from..to, such as 0..64g")?;
    let from = if from.is_empty() { 0 } else { bytes_of(from)? };
    let to = if to.is_empty() { u64::MAX } else { bytes_of(to)? };
    if to <= from { Err(format!("nothing is between {from} and {to}")) } else { Ok(from..to) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units_of_1024() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("4k", 4096), ("64KiB", 65_536), ("1.5g", 3 << 29), ("2 T", 2 << 40)]
        {
            assert_eq!(bytes_of(text), Ok(bytes), "{text}");
        }
        for refused in ["", "k", "-1", "4x", "1e3", "nan", "infk", "4kk", "99999999e"] {
            assert!(bytes_of(refused).is_err(), "{refused}");
        }
        assert_eq!(byte_range("4k..1m"), Ok(4096..1 << 20));
        assert_eq!(byte_range(".."), Ok(0..u64::MAX));
        for refused in ["", "5", "4k..4k", "1m..4k", "x..y"] {
            assert!(byte_range(refused).is_err(), "{refused}");
        }
    }
}
