//! Numbers of bytes as people read them.

/// Bytes in binary units, with at most one decimal.
pub(crate) fn capacity(bytes: u64) -> String {
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
