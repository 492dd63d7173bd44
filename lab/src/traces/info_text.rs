//! What is in a trace, as text.

use super::info::{KindInfo, TraceInfo};
use crate::words::counted;
use std::fmt::Write;

/// The most devices that the text names.
const DEVICES_TOLD: usize = 20;
/// Characters of the longest bar.
const BAR: f64 = 32.0;
/// Rows that a rate over time has.
const RATE_ROWS: usize = 16;

/// What is in a trace, for people.
pub fn info_text(info: &TraceInfo) -> String {
    let mut text = String::new();
    let out = &mut text;
    head(out, info);
    kinds(out, info);
    sizes(out, info);
    blocks(out, info);
    rate(out, info);
    devices(out, info);
    text
}

/// Writing to a string can't fail.
macro_rules! put {
    ($out:expr, $($rest:tt)*) => { let _ = writeln!($out, $($rest)*); };
}

fn head(out: &mut String, info: &TraceInfo) {
    let packed = match info.compression {
        super::Compression::None => "",
        super::Compression::Gzip => ", gzip",
        super::Compression::Zstd => ", zstd",
    };
    put!(out, "{} ({}{packed}, {})", info.file, info.format, bytes(info.file_bytes));
    let of = counted(info.devices.len() as u64, "device");
    put!(out, "{} of {of} in {}", counted(info.requests, "request"), seconds(info.duration_s));
}

fn kinds(out: &mut String, info: &TraceInfo) {
    put!(
        out,
        "\n{:<6} {:>12} {:>7} {:>11} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7}",
        "kind",
        "requests",
        "share",
        "data",
        "mean",
        "p50",
        "p99",
        "largest",
        "4k",
        "seq",
        "streams"
    );
    for kind in &info.kinds {
        let KindInfo { kind: name, requests, share, bytes: data, size, .. } = kind;
        let _ = write!(out, "{name:<6} {requests:>12} {:>7}", percent(*share));
        let Some(size) = size else {
            put!(out, "");
            continue;
        };
        let shares = [kind.aligned_4k_share, kind.sequential_share, kind.streamed_share];
        let [aligned, sequential, streamed] = shares.map(|share| share.map_or(String::new(), percent));
        put!(
            out,
            " {:>11} {:>9} {:>9} {:>9} {:>9} {aligned:>7} {sequential:>7} {streamed:>7}",
            bytes(*data),
            bytes(size.mean as u64),
            bytes(size.p50),
            bytes(size.p99),
            bytes(size.max)
        );
    }
    if info.fua_writes > 0 {
        put!(out, "{} for force unit access", asks(info.fua_writes));
    }
    put!(
        out,
        "4k: whole blocks of 4 KiB. seq: from where the last request of that kind ended. streams: from where \
         one of the\nlast 32 streams ended."
    );
}

fn asks(writes: u64) -> String {
    format!("{} {}", counted(writes, "write"), if writes == 1 { "asks" } else { "ask" })
}

fn sizes(out: &mut String, info: &TraceInfo) {
    let sum = |bin: &super::SizeBin| bin.reads + bin.writes + bin.trims;
    let Some(most) = info.sizes.iter().map(sum).max() else { return };
    put!(out, "\n{:>9} {:>12} {:>12} {:>12}", "from", "reads", "writes", "trims");
    for bin in &info.sizes {
        let bar = bar(sum(bin) as f64 / most as f64);
        let (reads, writes, trims) = (bin.reads, bin.writes, bin.trims);
        put!(out, "{:>9} {reads:>12} {writes:>12} {trims:>12} {bar}", bytes(bin.from_bytes));
    }
}

fn blocks(out: &mut String, info: &TraceInfo) {
    let of = &info.footprint;
    if of.bytes == 0 {
        return;
    }
    put!(
        out,
        "\nfootprint {} in blocks of {}: {} read, {} written, {} both",
        bytes(of.bytes),
        bytes(of.block_bytes),
        bytes(of.read_bytes),
        bytes(of.written_bytes),
        bytes(of.read_and_written_bytes)
    );
    if of.one_block_in > 1 {
        put!(
            out,
            "estimated, with what follows, from one block in {}: the trace touches more than fit the sample",
            of.one_block_in
        );
    }
    put!(
        out,
        "\n{:<7} {:>11} {:>11} {:>11} {:>10} {:>10}",
        "skew",
        "hottest 1 %",
        "10 %",
        "20 %",
        "mean",
        "most"
    );
    for skew in &info.skew {
        put!(
            out,
            "{:<7} {:>11} {:>11} {:>11} {:>10.1} {:>10}",
            skew.of,
            percent(skew.hottest_1_percent),
            percent(skew.hottest_10_percent),
            percent(skew.hottest_20_percent),
            skew.mean,
            skew.most
        );
    }
    put!(out, "shares of the accesses to so many of the blocks; accesses a block, and to the hottest");
    let reuse = &info.reuse;
    let _ = write!(
        out,
        "\n{} of blocks, {} of them the first of their block",
        if reuse.accesses == 1 { "1 access".to_owned() } else { format!("{} accesses", reuse.accesses) },
        percent(reuse.first_share)
    );
    if let Some(share) = reuse.overwrite_share {
        let _ = write!(out, "; {} of the written blocks had been written before", percent(share));
    }
    put!(out, "");
    if let (Some(p50), Some(p90)) = (reuse.distance_p50_bytes, reuse.distance_p90_bytes) {
        put!(
            out,
            "between two accesses to a block are {} of others at the median, {} at the 90th percentile",
            bytes(p50),
            bytes(p90)
        );
    }
    let hits = reuse.lru.iter().map(|lru| format!("{} {}", bytes(lru.bytes), percent(lru.share)));
    put!(out, "an LRU cache would find: {}", hits.collect::<Vec<_>>().join(", "));
}

fn rate(out: &mut String, info: &TraceInfo) {
    let rate = &info.rate;
    let Some(mean) = rate.requests_per_s else { return };
    let mb = |of: Option<f64>| of.map_or(String::new(), |mb| format!("{mb:.1} MB/s"));
    let (read, written) = (mb(rate.read_mb_per_s), mb(rate.written_mb_per_s));
    let _ = write!(out, "\n{mean:.0} requests/s in the mean, {read} read, {written} written");
    if let Some(busiest) = rate.busiest_requests_per_s {
        let _ = write!(out, "; {busiest:.0} requests/s in the busiest interval");
    }
    put!(out, "");
    if let Some(gaps) = &rate.gaps {
        let variation =
            gaps.variation.map_or(String::new(), |of| format!(", coefficient of variation {of:.2}"));
        put!(
            out,
            "gaps between requests: median {:.1} µs, p99 {:.1} µs{variation}",
            gaps.p50_us,
            gaps.p99_us
        );
    }
    let rows: Vec<(f64, f64, f64)> = rate
        .over_time
        .chunks(rate.over_time.len().div_ceil(RATE_ROWS).max(1))
        .filter_map(|of| {
            let (from, until) = (of.first()?.from_s, of.last()?.until_s);
            let requests: u64 = of.iter().map(|of| of.requests).sum();
            (until > from).then(|| (from, until, requests as f64 / (until - from)))
        })
        .collect();
    let most = rows.iter().map(|(.., rate)| *rate).fold(0.0, f64::max);
    for (from, until, rate) in rows {
        let (from, until) = (seconds(from), seconds(until));
        put!(out, "{from:>11} to {until:>11} {rate:>12.0}/s {}", bar(rate / most));
    }
}

fn devices(out: &mut String, info: &TraceInfo) {
    put!(
        out,
        "\n{:<20} {:>12} {:>11} {:>11} {:>11} {:>11} {:>11}",
        "device",
        "requests",
        "read",
        "written",
        "trimmed",
        "from",
        "to"
    );
    for device in info.devices.iter().take(DEVICES_TOLD) {
        let numbers =
            [device.read_bytes, device.written_bytes, device.trimmed_bytes, device.first, device.end]
                .map(bytes);
        let [read, written, trimmed, from, to] = numbers;
        let (name, requests) = (&device.name, device.requests);
        put!(out, "{name:<20} {requests:>12} {read:>11} {written:>11} {trimmed:>11} {from:>11} {to:>11}");
    }
    if info.devices.len() > DEVICES_TOLD {
        let more = counted((info.devices.len() - DEVICES_TOLD) as u64, "device");
        put!(out, "and {more} more; --json has all");
    }
}

fn bar(share: f64) -> String {
    "█".repeat((share * BAR).round() as usize)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Bytes in binary units, three digits of them.
fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut scaled, mut unit) = (bytes as f64, 0);
    while scaled >= 1000.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let digits = if scaled.fract() == 0.0 || scaled >= 100.0 { 0 } else { 1 };
    format!("{scaled:.digits$} {}", UNITS[unit])
}

fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 86_400.0 * 2.0 => format!("{:.2} days", s / 86_400.0),
        s if s >= 7_200.0 => format!("{:.2} h", s / 3_600.0),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} µs", s * 1e6),
    }
}
