//! CPU time of this process.

use std::fs;

/// Seconds of CPU time that this process has used, in the kernel's nanoseconds (`/proc/self/schedstat`).
pub fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()) {
        Some(nanoseconds) => nanoseconds as f64 / 1e9,
        None => {
            use std::sync::OnceLock;
            use std::time::Instant;
            static START: OnceLock<Instant> = OnceLock::new();
            START.get_or_init(Instant::now).elapsed().as_secs_f64()
        }
    }
}

/// Resident memory of this process at its highest, in bytes (`VmHWM`).
pub fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}
