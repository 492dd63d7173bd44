//! Numbers in words.

/// Bytes in binary units, with at most one decimal.
pub fn capacity(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut scaled = bytes as f64;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let digits = if scaled.fract() < 0.05 || scaled.fract() > 0.95 { 0 } else { 1 };
    format!("{scaled:.digits$} {}", UNITS[unit])
}

/// A number with a noun whose plural takes an s: "1 request", "3 requests".
pub fn counted(n: impl Into<u64>, what: &str) -> String {
    match n.into() {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_is_one() {
        assert_eq!([0u64, 1, 2].map(|n| counted(n, "request")), ["0 requests", "1 request", "2 requests"]);
    }

    #[test]
    fn capacities_are_short() {
        let text = [512, 16 << 10, 64 << 30, (3 << 40) / 2].map(capacity);
        assert_eq!(text, ["512 bytes", "16 KiB", "64 GiB", "1.5 TiB"]);
    }
}
