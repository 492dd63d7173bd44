//! What is in a trace: footprint, mix, skew, sizes, rate, sequentiality, re-use. Read once, in memory that
//! doesn't grow with the trace.

use super::input::{Compression, TraceFile};
use super::recorded::{ReadOptions, Step, ToolError, read_records};
use super::sample::{BLOCK_BYTES, BLOCKS_MAX, Sample};
use super::shape::{Gaps, Rate, RateReport, SizeReport, Sizes, Streams};
use aster_workload::RequestKind;
use aster_workload::trace::Recorded;
use serde::Serialize;

/// What is in a trace.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct TraceInfo {
    /// Its name.
    pub file: String,
    /// Bytes of the file, packed as it is.
    pub file_bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
    /// How it is packed.
    pub compression: Compression,
    /// How it is written, by the name that `--trace-format` takes.
    pub format: &'static str,
    /// Requests of all kinds.
    pub requests: u64,
    /// From the first request to the last, in seconds.
    pub duration_s: f64,
    /// Its requests by kind; kinds without a request are left out.
    pub kinds: Vec<KindInfo>,
    /// Requests by size: powers of two.
    pub sizes: Vec<SizeBin>,
    /// Writes that ask for force unit access.
    pub fua_writes: u64,
    /// When requests come.
    pub rate: RateReport,
    /// What is asked of each device, in the order in which they appear.
    pub devices: Vec<DeviceInfo>,
    /// The blocks that reads and writes touch.
    pub footprint: Footprint,
    /// How accesses spread over blocks.
    pub skew: Vec<Skew>,
    /// How blocks are used again.
    pub reuse: Reuse,
}

/// The requests of a kind.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct KindInfo {
    /// `read`, `write`, `trim` or `flush`.
    pub kind: &'static str,
    /// How many there are.
    pub requests: u64,
    /// Their share of all.
    pub share: f64,
    /// Their bytes.
    pub bytes: u64,
    /// Their sizes; absent of flushes.
    pub size: Option<SizeReport>,
    /// Share of them that begin and end at multiples of 4096 bytes; absent of flushes.
    pub aligned_4k_share: Option<f64>,
    /// Share of them that begin where the one before, of that kind and device, ended; absent of flushes.
    pub sequential_share: Option<f64>,
    /// Share of them that begin where one of the last 32 streams of that kind and device ended; absent of
    /// flushes.
    pub streamed_share: Option<f64>,
}

/// Requests of a range of sizes.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct SizeBin {
    /// The smallest size in it.
    pub from_bytes: u64,
    /// The first size beyond it.
    pub to_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
}

/// What is asked of a device.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct DeviceInfo {
    /// As the trace names it.
    pub name: String,
    /// Requests of all kinds.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes trimmed.
    pub trimmed_bytes: u64,
    /// The first byte that is asked for.
    pub first: u64,
    /// One past the last.
    pub end: u64,
}

/// Distinct blocks that reads and writes touch, in bytes.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Footprint {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// One in so many blocks was looked at, chosen by a hash of its address: where it is 1, figures of
    /// footprint, skew and reuse are exact; else they are estimates.
    pub one_block_in: u64,
    /// Of all blocks.
    pub bytes: u64,
    /// Of those read.
    pub read_bytes: u64,
    /// Of those written.
    pub written_bytes: u64,
    /// Of those both read and written.
    pub read_and_written_bytes: u64,
}

/// Which share of the accesses goes to the most accessed blocks.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Skew {
    /// Which accesses: `all`, `reads` or `writes`.
    pub of: &'static str,
    /// The share that the hottest 1 % of these blocks get.
    pub hottest_1_percent: f64,
    /// 10 %.
    pub hottest_10_percent: f64,
    /// 20 %.
    pub hottest_20_percent: f64,
    /// Accesses to the hottest block that was looked at.
    pub most: u64,
    /// Accesses a block, in the mean.
    pub mean: f64,
}

/// How blocks are used again. An access is a request that touches a block.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Reuse {
    /// Accesses of all reads and writes to all blocks, which are counted one by one.
    pub accesses: u64,
    /// Share of them that find a block for the first time.
    pub first_share: f64,
    /// Share of written blocks that had been written before; absent without writes.
    pub overwrite_share: Option<f64>,
    /// Bytes of distinct blocks between two accesses to one: the median; absent if none is used twice.
    pub distance_p50_bytes: Option<u64>,
    /// The 90th percentile.
    pub distance_p90_bytes: Option<u64>,
    /// Share of accesses that a cache would find, by its size.
    pub lru: Vec<LruHits>,
}

/// What an LRU cache of blocks would find.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct LruHits {
    /// The cache's bytes, as percent of the footprint.
    pub percent: u64,
    /// The same in bytes.
    pub bytes: u64,
    /// Share of all accesses that find their block in it.
    pub share: f64,
}

/// The kinds, in the order of reports.
const KINDS: [(RequestKind, &str); 4] = [
    (RequestKind::Read, "read"),
    (RequestKind::Write, "write"),
    (RequestKind::Trim, "trim"),
    (RequestKind::Flush, "flush"),
];
/// Caches, in percent of the footprint.
const CACHES: [u64; 7] = [1, 2, 5, 10, 20, 50, 100];

/// Requests of a kind, while a trace is read.
#[derive(Default)]
struct Kind {
    requests: u64,
    bytes: u64,
    sizes: Sizes,
    aligned: u64,
    sequential: u64,
    streamed: u64,
    /// By device.
    streams: Vec<Streams>,
}

impl Kind {
    fn count(&mut self, record: &Recorded) {
        self.requests += 1;
        if record.kind == RequestKind::Flush {
            return;
        }
        self.bytes = self.bytes.saturating_add(record.length);
        self.sizes.count(record.length);
        let is_whole = record.offset.is_multiple_of(BLOCK_BYTES) && record.length.is_multiple_of(BLOCK_BYTES);
        self.aligned += u64::from(is_whole);
        if self.streams.len() <= record.device {
            self.streams.resize_with(record.device + 1, Streams::default);
        }
        let (next, streamed) = self.streams[record.device].follow(record.offset, record.end());
        self.sequential += u64::from(next);
        self.streamed += u64::from(streamed);
    }

    fn report(&self, kind: &'static str, all: u64) -> Option<KindInfo> {
        let share = |n: u64| n as f64 / self.requests as f64;
        let size = self.sizes.report(self.bytes);
        let of = |n: u64| size.is_some().then(|| share(n));
        (self.requests > 0).then(|| KindInfo {
            kind,
            requests: self.requests,
            share: self.requests as f64 / all as f64,
            bytes: self.bytes,
            aligned_4k_share: of(self.aligned),
            sequential_share: of(self.sequential),
            streamed_share: of(self.streamed),
            size: size.clone(),
        })
    }
}

/// All that is counted while a trace is read.
struct Counting {
    kinds: [Kind; KINDS.len()],
    devices: Vec<Option<DeviceInfo>>,
    sample: Sample,
    accesses: [u64; 2],
    rate: Rate,
    gaps: Gaps,
    fua_writes: u64,
}

impl Counting {
    fn count(&mut self, record: &Recorded, name: &str) {
        let kind = KINDS.iter().position(|(kind, _)| *kind == record.kind).unwrap_or(1);
        self.kinds[kind].count(record);
        self.fua_writes += u64::from(record.fua);
        self.gaps.count(record.at);
        self.rate.count(record.at, record.kind, record.length);
        if self.devices.len() <= record.device {
            self.devices.resize(record.device + 1, None);
        }
        let device = self.devices[record.device].get_or_insert_with(|| DeviceInfo {
            name: name.to_owned(),
            first: u64::MAX,
            ..DeviceInfo::default()
        });
        device.requests += 1;
        if record.kind == RequestKind::Flush {
            return;
        }
        device.first = device.first.min(record.offset);
        device.end = device.end.max(record.end());
        let bytes = match record.kind {
            RequestKind::Read => &mut device.read_bytes,
            RequestKind::Trim => &mut device.trimmed_bytes,
            _ => &mut device.written_bytes,
        };
        *bytes = bytes.saturating_add(record.length);
        if record.kind == RequestKind::Trim || record.length == 0 {
            return;
        }
        let is_write = record.kind == RequestKind::Write;
        let blocks = record.offset / BLOCK_BYTES..=(record.end() - 1) / BLOCK_BYTES;
        self.accesses[usize::from(is_write)] += blocks.end() - blocks.start() + 1;
        blocks.for_each(|block| self.sample.touch(record.device, block, is_write));
    }
}

/// Reads a trace and says what is in it.
///
/// # Errors
/// When the trace can't be read, or one of its lines is wrong.
pub fn info(
    file: &TraceFile,
    options: &ReadOptions,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<TraceInfo, ToolError> {
    let mut counting = Counting {
        kinds: Default::default(),
        devices: Vec::new(),
        sample: Sample::new(BLOCKS_MAX),
        accesses: [0; 2],
        rate: Rate::default(),
        gaps: Gaps::default(),
        fua_writes: 0,
    };
    let through = read_records(file, options, progress, |record, name| {
        counting.count(record, name);
        Ok(Step::Next)
    })?;
    let (format, requests) = (through.format, through.requests);
    let (sha256, file_bytes) = through.checksum(file)?;
    let (footprint, skew, reuse) = of_blocks(&counting);
    let Counting { kinds, devices, rate, gaps, fua_writes, .. } = counting;
    let duration = gaps.duration();
    let devices = devices.into_iter().flatten().map(|device| match device.end {
        0 => DeviceInfo { first: 0, ..device },
        _ => device,
    });
    Ok(TraceInfo {
        file: file.name().to_owned(),
        file_bytes,
        sha256,
        compression: file.compression(),
        format: format.name(),
        requests,
        duration_s: duration.as_secs_f64(),
        kinds: KINDS.iter().zip(&kinds).filter_map(|(of, kind)| kind.report(of.1, requests)).collect(),
        sizes: bins(&kinds),
        fua_writes,
        rate: rate.report(duration, gaps.report()),
        devices: devices.collect(),
        footprint,
        skew,
        reuse,
    })
}

/// Requests by powers of two of their sizes, from the first that there are to the last.
fn bins(kinds: &[Kind; KINDS.len()]) -> Vec<SizeBin> {
    let [reads, writes, trims, _] = kinds;
    let bins = [reads, writes, trims].map(|kind| kind.sizes.by_octave());
    let held = |octave: &usize| bins.iter().any(|of| of[*octave] > 0);
    let all = 0..u64::BITS as usize;
    let (Some(first), Some(last)) = (all.clone().find(held), all.rev().find(held)) else { return Vec::new() };
    let bin = |octave: usize| SizeBin {
        from_bytes: 1 << octave,
        to_bytes: 1u64.checked_shl(octave as u32 + 1).unwrap_or(u64::MAX),
        reads: bins[0][octave],
        writes: bins[1][octave],
        trims: bins[2][octave],
    };
    (first..=last).map(bin).collect()
}

fn of_blocks(counting: &Counting) -> (Footprint, Vec<Skew>, Reuse) {
    let told = counting.sample.told();
    let [all, read, written, both] = told.blocks;
    let bytes = |blocks: u64| blocks.saturating_mul(BLOCK_BYTES);
    let footprint = Footprint {
        block_bytes: BLOCK_BYTES,
        one_block_in: told.one_in,
        bytes: bytes(all),
        read_bytes: bytes(read),
        written_bytes: bytes(written),
        read_and_written_bytes: bytes(both),
    };
    let skew = ["all", "reads", "writes"].into_iter().zip(&told.counts).filter_map(|(of, counts)| {
        let sum: u64 = counts.iter().sum();
        let hottest = |percent: usize| {
            let blocks = (counts.len() * percent).div_ceil(100);
            counts[..blocks].iter().sum::<u64>() as f64 / sum as f64
        };
        Some(Skew {
            of,
            most: *counts.first()?,
            mean: sum as f64 / counts.len() as f64,
            hottest_1_percent: hottest(1),
            hottest_10_percent: hottest(10),
            hottest_20_percent: hottest(20),
        })
    });
    let accesses: u64 = counting.accesses.iter().sum();
    // An estimate of the distinct blocks may be beyond what was counted.
    let share = |n: u64, of: u64| if of == 0 { 0.0 } else { (n as f64 / of as f64).min(1.0) };
    let lru = CACHES.into_iter().filter(|_| all > 0).map(|percent| {
        let blocks = (u128::from(all) * u128::from(percent)).div_ceil(100) as u64;
        let share = share(counting.sample.found_by_lru(blocks), accesses);
        LruHits { percent, bytes: bytes(blocks), share }
    });
    let writes = counting.accesses[1];
    let reuse = Reuse {
        accesses,
        first_share: share(all, accesses),
        overwrite_share: (writes > 0).then(|| 1.0 - share(written, writes)),
        distance_p50_bytes: counting.sample.distance(50).map(bytes),
        distance_p90_bytes: counting.sample.distance(90).map(bytes),
        lru: lru.collect(),
    };
    (footprint, skew.collect(), reuse)
}
