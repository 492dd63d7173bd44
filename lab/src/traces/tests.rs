use super::*;
use aster_workload::Drive;
use aster_workload::trace::{Beyond, Format, Region, Times, Unaligned};
use flate2::Compression as Level;
use flate2::write::GzEncoder;
use std::io::Write;

const DRIVE: Drive = Drive { bytes: 1 << 20, block_bytes: 512, streams: 0 };
const TWO_DISKS: &str = "128166372003061629,usr,0,Read,4096,4096,41286\n\
                         128166372003061630,usr,1,Write,0,4096,41286\n\
                         128166372003061631,usr,0,Write,8192,8192,41286\n";

fn file(bytes: &[u8]) -> Result<TraceFile, String> {
    TraceFile::read_once("t.csv".into(), bytes)
}
fn asked(choice: Choice) -> TraceOptions {
    TraceOptions {
        format: None,
        choice,
        placing: Placing::Apart,
        times: Times::AsFastAsPossible,
        beyond: Beyond::Refuse,
        unaligned: Unaligned::Refuse,
    }
}
fn named(names: &[&str]) -> Choice {
    Choice::Named(names.iter().map(|&name| name.to_owned()).collect())
}
fn read(text: &str, asked: &TraceOptions) -> Result<Survey, String> {
    survey(&file(text.as_bytes())?, asked, DRIVE)
}
fn regions(survey: &Survey) -> Vec<(u64, u64)> {
    survey.devices.iter().filter_map(|d| d.region).map(|Region { offset, bytes }| (offset, bytes)).collect()
}
fn gzipped(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Level::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}
fn zstd_packed(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn lines_are_those_of_the_text() {
    for text in ["", "a", "a\n", "\n", "a\r\nb\n\nµ\r", "a\n\r\n"] {
        let owned: Vec<String> = Lines::of(text.as_bytes()).map(Result::unwrap).collect();
        assert!(owned.iter().map(String::as_str).eq(text.lines()), "{text:?}: {owned:?}");
    }
    let mut bad = Lines::of(b"a\nb\xff\nc\n");
    assert_eq!(bad.next(), Some(Ok("a".into())));
    assert!(bad.next().unwrap().unwrap_err().contains("byte 2 of the line is not UTF-8"));
    assert_eq!(bad.next(), None, "an error is the last");
    let endless: &'static [u8] = vec![b'x'; 100_000].leak();
    assert!(Lines::of(endless).next().unwrap().unwrap_err().contains("longer than 65536"));
}

#[test]
fn a_packed_trace_is_the_trace() {
    let plain = read(TWO_DISKS, &asked(Choice::All)).unwrap();
    let (first, second) = TWO_DISKS.split_at(60);
    let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd_packed(TWO_DISKS)].concat();
    for (packed, kind) in [
        (gzipped(TWO_DISKS), Compression::Gzip),
        ([gzipped(first), gzipped(second)].concat(), Compression::Gzip),
        (zstd_packed(TWO_DISKS), Compression::Zstd),
        ([zstd_packed(first), zstd_packed(second)].concat(), Compression::Zstd),
        (skippable, Compression::Zstd),
    ] {
        let file = file(&packed).unwrap();
        assert_eq!(file.compression(), kind);
        let found = survey(&file, &asked(Choice::All), DRIVE).unwrap();
        assert_eq!((found.file_bytes, found.requests), (packed.len() as u64, 3));
        assert_ne!(found.sha256, plain.sha256, "the checksum is the file's");
        let same = Survey { sha256: plain.sha256.clone(), file_bytes: plain.file_bytes, ..found };
        assert_eq!(same, plain);
        // Twice, because it is read twice. Truncated anywhere it gives an error or the lines up to there,
        // never a panic.
        assert!(file.lines().all(|line| line.is_ok()));
        for end in 0..packed.len() {
            if let Ok(cut) = self::file(&packed[..end]) {
                let _ = survey(&cut, &asked(Choice::All), DRIVE);
            }
        }
        let half = self::file(&packed[..packed.len() - 9]).unwrap();
        let error = survey(&half, &asked(Choice::All), DRIVE).unwrap_err();
        let kind = if kind == Compression::Gzip { "gzip" } else { "zstd" };
        let cut =
            format!("the {kind} file is cut off: it ends after {} bytes, in the middle", packed.len() - 9);
        assert!(error.starts_with("line ") && error.contains(&cut), "{error}");
        assert!(error.ends_with("take a whole copy"), "what came by a pipe can't be named: {error}");
    }
    let error = file(b"BZh91AY").unwrap_err();
    assert!(error.contains("bzip2 -dc t.csv | aster run"), "{error}");
}

#[test]
fn a_packed_trace_that_is_torn_or_damaged_says_how_far_it_went_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv.gz");
    let many: String = (0..5_000).map(|i| format!("{i},h,{},Read,0,512,{}\n", i % 7, i * 31)).collect();
    let told = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        survey(&TraceFile::open(&path).unwrap(), &asked(Choice::All), DRIVE).unwrap_err()
    };
    let whole = gzipped(&many);
    let error = told(&whole[..whole.len() / 2]);
    let line: usize = error["line ".len()..].split(',').next().unwrap().parse().unwrap();
    assert!(
        line > 100 && error.contains(&format!(", behind {} requests: the gzip file is cut off", line - 1)),
        "{error}"
    );
    assert!(
        error.contains("take a whole copy, or replay what can be had of it: gzip -dc ")
            && error.contains("| sed '$d' |")
    );
    // Its checksum, and then its first block.
    for (at, place) in [
        (whole.len() - 8, "line 5001, column 1, behind 5000 requests"),
        (12, "line 1, column 1, before any request"),
    ] {
        let mut damaged = whole.clone();
        damaged[at..][..4].fill(0xff);
        let error = told(&damaged);
        assert!(error.starts_with(place) && error.contains(": the gzip file is damaged: "), "{error}");
    }
    let mut damaged = zstd_packed(&many);
    let end = damaged.len();
    damaged[end - 4] ^= 1;
    let error = told(&damaged);
    assert!(error.contains("the zstd file is damaged: ") && error.contains("zstd -dc "), "{error}");
    for words in ["deflate", "Error", "kind:", "parse"] {
        assert!(!error.contains(words), "a library's words: {error}");
    }
}

#[test]
fn the_checksum_is_that_of_the_file() {
    let found = read("1,a,0,Read,0,512,1\n", &asked(Choice::First)).unwrap();
    assert_eq!(found.sha256, "d482c4dd25473aa6153a3a80ce74d5fc1b7c88fa3ecc654926d8ac79e0133524");
    assert_eq!(found.file_bytes, 19);
}

#[test]
fn one_device_has_the_whole_drive_and_the_others_are_told() {
    let first = read(TWO_DISKS, &asked(Choice::First)).unwrap();
    assert_eq!((first.requests, first.written_bytes, regions(&first)), (2, 8192, vec![(0, 1 << 20)]));
    let told: Vec<_> = first.devices.iter().map(|d| (d.name.as_str(), d.requests)).collect();
    assert_eq!(told, [("usr,0", 2), ("usr,1", 1)]);
    let second = read(TWO_DISKS, &asked(named(&["usr,1"]))).unwrap();
    assert_eq!((second.requests, second.written_bytes), (1, 4096));
}

#[test]
fn several_devices_lie_one_behind_the_other_or_share_their_addresses() {
    let all = asked(Choice::All);
    let apart = read(TWO_DISKS, &all).unwrap();
    assert_eq!((apart.requests, regions(&apart)), (3, vec![(0, 65_536), (65_536, 65_536)]));
    let turned = read(TWO_DISKS, &asked(named(&["usr,1", "usr,0"]))).unwrap();
    assert_eq!(regions(&turned), [(65_536, 65_536), (0, 65_536)], "in the order in which they are named");
    let same = read(TWO_DISKS, &TraceOptions { placing: Placing::Same, ..all }).unwrap();
    assert_eq!(regions(&same), [(0, 1 << 20), (0, 1 << 20)]);
}

#[test]
fn devices_that_do_not_fit_are_refused_or_shrunk_alike() {
    let far = TWO_DISKS.replace("Write,0,", "Write,1040384,").replace("Write,8192,", "Write,1032192,");
    let all = asked(Choice::All);
    let error = read(&far, &all).unwrap_err();
    for words in ["need 2097152 bytes", "\"usr,0\" 1048576", "the drive has 1048576", "--trace-wrap"] {
        assert!(error.contains(words), "{error}");
    }
    let wrapped = TraceOptions { beyond: Beyond::Wrap, ..all };
    assert_eq!(regions(&read(&far, &wrapped).unwrap()), [(0, 524_288), (524_288, 524_288)]);
    let long = far.replace("Read,4096,4096", "Read,0,1044480");
    assert!(read(&long, &wrapped).unwrap_err().contains("requests of 1044480 bytes"));
}

#[test]
fn a_device_that_is_not_there_is_answered_with_those_that_are() {
    let error = read(TWO_DISKS, &asked(named(&["usr,0", "usr,7"]))).unwrap_err();
    assert_eq!(error, "holds no request to \"usr,7\"; it has \"usr,0\" (2 requests), \"usr,1\" (1 request)");
    let twice = read(TWO_DISKS, &asked(named(&["usr,0", "usr,0"]))).unwrap_err();
    assert!(twice.contains("named twice"), "{twice}");
    let many: String = (0..30).map(|i| format!("1,h,{i},Read,0,512,1\n")).collect();
    assert!(read(&many, &asked(named(&["x"]))).unwrap_err().ends_with(" and 10 devices more"));
}

#[test]
fn nothing_to_replay_is_an_error() {
    let first = asked(Choice::First);
    assert_eq!(read("", &first), Err("is empty".into()));
    assert_eq!(read("\n \n", &first), Err("is empty".into()));
    assert!(read("fio version 3 iolog\n", &first).unwrap_err().contains("no request"));
    assert!(read("Dear diary\n", &first).unwrap_err().contains("--trace-format"));
    assert!(TraceFile::open(std::path::Path::new("/")).unwrap_err().contains("folder"));
}

#[test]
fn a_bad_line_is_named() {
    let first = asked(Choice::First);
    let error = read(&TWO_DISKS.replace("Write,0,", "Scribble,0,"), &first).unwrap_err();
    assert!(error.starts_with("line 2, column "), "{error}");
    let error = read(&TWO_DISKS.replace("Write,8192,", "Write,81920000,"), &first).unwrap_err();
    assert!(error.starts_with("line 3, column "), "{error}");
    let mqsim = TraceOptions { format: Some(Format::Mqsim), ..first };
    assert!(read(TWO_DISKS, &mqsim).unwrap_err().starts_with("line 1, column 1: expected a time"));
}

/// Accepts this many bytes and then reports that there is no room.
struct TooLong(usize);

impl std::io::Read for TooLong {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = into.len().min(self.0);
        self.0 -= n;
        if n == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(n) }
    }
}

#[test]
fn a_copy_that_does_not_fit_is_told_with_what_to_do() {
    let error = TraceFile::read_once("standard input".into(), TooLong(100_000)).unwrap_err();
    let folder = std::env::temp_dir().display().to_string();
    assert!(
        error.contains(&format!("{folder} has no room for a copy")) && error.contains("TMPDIR"),
        "{error}"
    );
}

/// Two reads, a write, a trim and a flush, as blktrace's binary events.
fn binary(order: super::blktrace::Order) -> Vec<u8> {
    let sda = 8 << 20;
    let event = |at: u64, sector: u64, bytes: u32, categories: u32| {
        let action = 1 | categories << 16;
        super::blktrace::tests::event(order, (at, sector, bytes, action, sda), b"pdu")
    };
    let name = super::blktrace::tests::event(order, (1, 0, 0, 1 << 10 << 16, 0), b"kworker");
    [
        name,
        event(1_000, 8, 4096, 1),
        event(2_000, 16, 8192, 1 << 1 | 1 << 15),
        event(3_000, 0, 0, 1 << 2 | 1 << 1),
        event(4_000, 64, 4096, 1 << 13 | 1 << 1),
        event(5_000, 8, 4096, 1),
    ]
    .concat()
}

#[test]
fn binary_events_of_blktrace_are_replayed_packed_and_of_either_byte_order() {
    use super::blktrace::Order;
    let all = asked(Choice::All);
    let told = |bytes: &[u8]| survey(&file(bytes).unwrap(), &all, DRIVE).unwrap();
    let little = told(&binary(Order::Little));
    assert_eq!((little.format, little.requests, little.written_bytes), (Format::Blkparse, 4, 8192));
    assert_eq!(little.devices[0].name, "8,0");
    let big = told(&binary(Order::Big));
    let packed = {
        let mut packed = GzEncoder::new(Vec::new(), Level::default());
        packed.write_all(&binary(Order::Little)).unwrap();
        told(&packed.finish().unwrap())
    };
    assert_eq!((&big.devices, &packed.devices), (&little.devices, &little.devices));
    let mut broken = binary(Order::Little);
    broken.truncate(48 + 7 + 51 + 20);
    let error = survey(&file(&broken).unwrap(), &all, DRIVE).unwrap_err();
    assert!(
        error.starts_with("event 3, behind 1 request: the file ends in the middle of an event"),
        "{error}"
    );
    let msr = TraceOptions { format: Some(Format::Msr), ..asked(Choice::All) };
    let error = survey(&file(&binary(Order::Little)).unwrap(), &msr, DRIVE).unwrap_err();
    assert!(error.contains("holds blktrace's binary events and not msr text"), "{error}");
    // What is wrong with a request is told by its event, too.
    let beyond = super::blktrace::tests::event(Order::Little, (9, 1 << 30, 512, 1 | 1 << 16, 8 << 20), b"");
    let error = survey(&file(&beyond).unwrap(), &all, DRIVE).unwrap_err();
    assert!(error.starts_with("event 1: 512 bytes at 549755813888 reach beyond"), "{error}");
}

fn told(text: &str) -> TraceInfo {
    info(&file(text.as_bytes()).unwrap(), &ReadOptions::default(), &mut |_| true).unwrap()
}

#[test]
fn what_is_in_a_trace_is_told() {
    // Ten reads in a row, twice over; then one block is written five times, and trimmed.
    let mut text = String::from("fio version 3 iolog\n");
    for n in 0..20u64 {
        text += &format!("{} sda read {} 4096\n", n * 100, n % 10 * 4096);
    }
    for n in 20..25u64 {
        text += &format!("{} sda write 1048576 8192\n", n * 100);
    }
    text += "2500 sda trim 1048576 65536\n2600 sdb sync 0 0\n";
    let info = told(&text);
    assert_eq!((info.requests, info.format, info.devices.len()), (27, "iolog", 2));
    assert!((info.duration_s - 2.6e-3).abs() < 1e-12);
    let kinds: Vec<_> = info.kinds.iter().map(|kind| (kind.kind, kind.requests, kind.bytes)).collect();
    assert_eq!(kinds, [("read", 20, 81_920), ("write", 5, 40_960), ("trim", 1, 65_536), ("flush", 1, 0)]);
    let of = |at: usize| (info.kinds[at].sequential_share, info.kinds[at].streamed_share);
    assert_eq!((of(0), of(1), of(3)), ((Some(0.9), Some(0.9)), (Some(0.0), Some(0.0)), (None, None)));
    let footprint = &info.footprint;
    assert_eq!((footprint.one_block_in, footprint.bytes), (1, 12 * 4096));
    assert_eq!((footprint.read_bytes, footprint.written_bytes), (40_960, 8192));
    assert_eq!(footprint.read_and_written_bytes, 0);
    // Of 12 blocks, two get five accesses each, and ten two each; a tenth of 12 is two, rounded up.
    let skew = &info.skew[0];
    assert_eq!((skew.of, skew.most, skew.hottest_10_percent), ("all", 5, 10.0 / 30.0));
    assert_eq!((info.skew[1].most, info.skew[2].mean), (2, 5.0));
    let reuse = &info.reuse;
    assert_eq!((reuse.accesses, reuse.first_share, reuse.overwrite_share), (30, 12.0 / 30.0, Some(0.8)));
    // A loop over ten blocks is found by a cache of ten and by no smaller one; the pair by one of two.
    let lru: Vec<_> = reuse.lru.iter().map(|lru| (lru.bytes / 4096, (lru.share * 30.0).round())).collect();
    assert_eq!(lru, [(1, 0.0), (1, 0.0), (1, 0.0), (2, 8.0), (3, 8.0), (6, 8.0), (12, 18.0)]);
    assert_eq!(reuse.distance_p50_bytes, Some(9 * 4096));
    let bins: Vec<_> =
        info.sizes.iter().map(|bin| (bin.from_bytes, bin.reads, bin.writes, bin.trims)).collect();
    assert_eq!(
        bins,
        [(4096, 20, 0, 0), (8192, 0, 5, 0), (16_384, 0, 0, 0), (32_768, 0, 0, 0), (65_536, 0, 0, 1)]
    );
    let sda = &info.devices[0];
    assert_eq!((sda.requests, sda.first, sda.end), (26, 0, 1_048_576 + 65_536));
    let gaps = info.rate.gaps.as_ref().unwrap();
    assert!((gaps.p50_us / 100.0 - 1.0).abs() < 2e-3 && gaps.variation.unwrap() < 1e-3, "{gaps:?}");
    let text = info_text(&info);
    for says in ["27 requests of 2 devices", "footprint 48 KiB", "80.0 % of the written blocks", "sda", "sdb"]
    {
        assert!(text.contains(says), "{says}: {text}");
    }
}

#[test]
fn a_trace_without_time_or_data_is_told_as_well() {
    let flushes = told("fio version 3 iolog\n5 sda sync 0 0\n5 sda sync 0 0\n");
    assert_eq!((flushes.footprint.bytes, flushes.rate.requests_per_s, flushes.duration_s), (0, None, 0.0));
    assert!(flushes.skew.is_empty() && flushes.sizes.is_empty() && flushes.reuse.lru.is_empty());
    assert!(info_text(&flushes).contains("2 requests of 1 device in 0.0 µs"), "{}", info_text(&flushes));
    let text = "0,W,0,512,0\n";
    let one = told(text);
    assert_eq!((one.rate.gaps.is_none(), one.reuse.first_share), (true, 1.0));
    assert!(info_text(&one).contains("1 access of blocks"), "{}", info_text(&one));
}
