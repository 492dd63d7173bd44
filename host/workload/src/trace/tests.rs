use super::*;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

const DRIVE: Drive = Drive { bytes: 1 << 40, block_bytes: 512, streams: 0 };

fn replay(text: &str, format: Format, drive: Drive, replay: Replay) -> Result<Vec<Request>, TraceError> {
    let mut trace = Trace::new(text.lines(), format, drive, replay);
    let mut got = Vec::new();
    while let Some(request) = trace.next_request()? {
        got.push(request);
    }
    Ok(got)
}

fn plain(text: &str, format: Format) -> Result<Vec<Request>, TraceError> {
    replay(text, format, DRIVE, Replay::default())
}

fn message(text: &str, format: Format) -> String {
    plain(text, format).unwrap_err().to_string()
}

fn request(kind: RequestKind, offset: u64, length: u32, nanos: u64) -> Request {
    Request { kind, offset, length, fua: false, stream: 0, at: Some(Duration::from_nanos(nanos)) }
}

#[test]
fn blkparse_gives_its_queue_events() {
    let text = "  8,0    1       11     0.009507758   697  Q  WS 223490 + 8 [kjournald]
  8,0    1       12     0.009507998   697  G  WS 223490 + 8 [kjournald]
  8,0    3        1     0.009508758   700  Q   R 1000 + 16 [fio]
  8,0    3        0     0.009508800     0  m   N cfq workload slice:100
  8,0    1       13     0.010507758   697  Q  DS 0 + 4194304 [fstrim]
  8,0    1       14     0.010507758   697  Q FWFS 64 + 8 [jbd2/sda1]
  8,0    1       15     0.010507759   697  Q  FN [kworker]
  8,0    1       16     0.010507760   697  Q FWS 0 + 0 [kworker]
  8,0    1       17     0.010507761   697  C  WS 223490 + 8 [0]
CPU0 (8,0):
 Reads Queued:           1,        8KiB\t Writes Queued:           2,        8KiB

Total (8,0):
Throughput (R/W): 0KiB/s / 0KiB/s
";
    let got = plain(text, Format::Blkparse).unwrap();
    let gib = 1 << 30;
    let millis = 1_000_000;
    let flush = |nanos| request(RequestKind::Flush, 0, 0, nanos);
    assert_eq!(
        got,
        [
            request(RequestKind::Write, 223_490 * 512, 4096, 0),
            request(RequestKind::Read, 512_000, 8192, 1_000),
            request(RequestKind::Trim, 0, gib, millis),
            request(RequestKind::Trim, u64::from(gib), gib, millis),
            flush(millis),
            Request { fua: true, ..request(RequestKind::Write, 64 * 512, 4096, millis) },
            flush(millis + 1),
            flush(millis + 2),
        ]
    );
}

#[test]
fn msr_lines_are_taken_with_their_file_times() {
    let text = "128166372003061629,usr,0,Read,7014609920,24576,41286\n\
                128166372016382155,usr,0,Write,1317441536,8192,1963\n";
    assert_eq!(
        plain(text, Format::Msr).unwrap(),
        [
            request(RequestKind::Read, 7_014_609_920, 24_576, 0),
            request(RequestKind::Write, 1_317_441_536, 8192, 1_332_052_600),
        ]
    );
}

#[test]
fn a_line_that_names_the_fields_of_msr_is_no_request() {
    let names = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";
    let line = "128166372003061629,usr,0,Read,4096,512,41286\n";
    for header in [names.to_string(), format!("\u{feff}{names}"), names.to_lowercase().replace(',', ", ")] {
        assert_eq!(Format::detect(&header), Some(Format::Msr), "{header}");
        let got = plain(&format!("{header}\n{line}"), Format::Msr).unwrap();
        assert_eq!(got, [request(RequestKind::Read, 4096, 512, 0)], "{header}");
    }
    for other in ["Timestamp,Hostname,DiskNumber,Type,Offset,Size", &format!("{names},more")] {
        assert_eq!(Format::detect(other), None);
        assert!(plain(&format!("{other}\n{line}"), Format::Msr).is_err());
    }
}

#[test]
fn iolog_2_waits_and_iolog_3_has_times() {
    let two = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda write 0 4096\n/dev/sda wait 250 0\n\
               /dev/sda wait 50 0\n\
               /dev/sda read 4096 8192\n/dev/sda sync 0 0\n/dev/sda trim 0 4096\n/dev/sda close\n";
    let three = "fio version 3 iolog\n0 /dev/sda add\n10 /dev/sda open\n20 /dev/sda write 0 4096\n320 \
                 /dev/sda read 4096 8192\n\
                 320 /dev/sda datasync\n320 /dev/sda trim 0 4096\n400 /dev/sda close\n";
    let want = [
        request(RequestKind::Write, 0, 4096, 0),
        request(RequestKind::Read, 4096, 8192, 300_000),
        request(RequestKind::Flush, 0, 0, 300_000),
        request(RequestKind::Trim, 0, 4096, 300_000),
    ];
    assert_eq!(plain(two, Format::Iolog).unwrap(), want);
    assert_eq!(plain(three, Format::Iolog).unwrap(), want);
}

#[test]
fn errors_point_at_the_place() {
    let blk = |line: &str| message(line, Format::Blkparse);
    assert_eq!(
        blk("8,0 1 11 0.009507758 697 Q WS 223490 + 8 [a]\n8,0 1 x 0.009507758 697 Q WS 223490 + 8 [a]"),
        "line 2, column 7: expected a sequence number, found \"x\""
    );
    assert!(blk("hello").starts_with("line 1, column 1: expected a device"));
    assert!(blk("8,0 1 11 0.5 697 Q WS 1 + 8").starts_with("line 1, column 10: expected a time"));
    assert!(
        blk("8,0 1 11 0.009507758 697 Q WX 1 + 8")
            .starts_with("line 1, column 29: expected read/write flags")
    );
    assert!(blk("8,0 1 11 0.009507758 697 Q W 1 - 8").ends_with("expected +, found \"-\""));
    assert!(blk("8,0 1 11 0.009507758 697 Q W 1 + 0").contains("count above 0"));
    assert!(blk("8,0 1 11 0.009507758 697").ends_with("found the end of the line"));
    let msr = |line: &str| message(line, Format::Msr);
    assert_eq!(msr("1,usr,0,Reed,0,512,1"), "line 1, column 9: expected Read or Write, found \"Reed\"");
    assert_eq!(
        msr("1,usr,0,Read,0"),
        "line 1, column 15: expected a size in bytes, found the end of the line"
    );
    assert!(msr("1,usr,0,Read,0,0,1").contains("a size above 0"));
    assert!(msr("1,usr,0,Read,0,512,1,9").contains("seven fields"));
    assert!(
        msr("1,usr,0,Read,0,512,1\n99999999999999,usr,0,Read,0,512,1")
            .starts_with("line 2, column 1: expected a time within 50 days")
    );
    let io = |text: &str| message(text, Format::Iolog);
    assert!(io("nonsense").contains("fio version 2 iolog"));
    assert!(io("fio version 3 iolog\n5 /dev/sda wait 5 0").starts_with("line 2, column 12: expected add"));
    assert!(
        io("fio version 2 iolog\n/dev/sda write -1 5").starts_with("line 2, column 16: expected an offset")
    );
}

#[test]
fn requests_that_do_not_fit_are_refused_folded_or_widened() {
    let drive = Drive { bytes: 1 << 20, block_bytes: 4096, streams: 0 };
    let with = |beyond, unaligned, offset: u64, length: u64| {
        let text = format!("1,a,0,Write,{offset},{length},1");
        let options = Replay { beyond, unaligned, ..Replay::default() };
        replay(&text, Format::Msr, drive, options)
            .map(|got| (got[0].offset, got[0].length))
            .map_err(|e| e.problem)
    };
    use Beyond::{Refuse, Wrap};
    let tight = Unaligned::Refuse;
    assert!(matches!(with(Refuse, tight, 1 << 20, 4096), Err(TraceProblem::BeyondDrive { .. })));
    assert_eq!(with(Wrap, tight, (1 << 20) + 8192, 4096), Ok((8192, 4096)));
    assert_eq!(with(Wrap, tight, (2 << 20) - 4096, 8192), Ok(((1 << 20) - 8192, 8192)));
    assert!(matches!(with(Wrap, tight, 0, 2 << 20), Err(TraceProblem::BeyondDrive { .. })));
    assert!(matches!(with(Wrap, Unaligned::Widen, u64::MAX, 2), Err(TraceProblem::BeyondDrive { .. })));
    assert!(matches!(with(Refuse, tight, 512, 4096), Err(TraceProblem::Unaligned { block: 4096, .. })));
    assert_eq!(with(Refuse, Unaligned::Widen, 512, 4096), Ok((0, 8192)));
}

#[test]
fn times_scale_or_vanish_and_never_go_back() {
    let text = "100,a,0,Read,0,512,1\n300,a,0,Read,0,512,1\n200,a,0,Read,0,512,1\n";
    let times = |times| {
        let got = replay(text, Format::Msr, DRIVE, Replay { times, ..Replay::default() }).unwrap();
        got.iter().map(|r| r.at.map(Duration::as_nanos)).collect::<Vec<_>>()
    };
    assert_eq!(times(Times::Recorded { speed: 1_000 }), [Some(0), Some(20_000), Some(20_000)]);
    assert_eq!(times(Times::Recorded { speed: 4_000 }), [Some(0), Some(5_000), Some(5_000)]);
    assert_eq!(times(Times::AsFastAsPossible), [None, None, None]);
}

const TWO_DISKS: &str = "1,usr,0,Read,0,512,1\n2,usr,1,Write,512,512,1\n3,usr,0,Read,1024,512,1\n";

fn offsets(replay: Replay) -> (Vec<u64>, Vec<Device>) {
    let mut trace = Trace::new(TWO_DISKS.lines(), Format::Msr, DRIVE, replay);
    let mut offsets = vec![];
    while let Some(r) = trace.next_request().unwrap() {
        offsets.push(r.offset);
    }
    (offsets, trace.devices().to_vec())
}

#[test]
fn devices_are_chosen_and_each_is_counted() {
    let of = |devices| offsets(Replay { devices, ..Replay::default() });
    let whole = Region::whole(DRIVE);
    let at =
        |device: &str, offset| Place { device: device.to_string(), region: Region { offset, bytes: 4096 } };
    let (first, met) = of(Devices::First);
    assert_eq!(first, [0, 1024]);
    let told: Vec<_> =
        met.iter().map(|d| (d.name.as_str(), d.region, d.requests, d.written_bytes, d.end)).collect();
    assert_eq!(told, [("usr,0", Some(whole), 2, 0, 1536), ("usr,1", None, 1, 512, 0)]);
    assert_eq!(of(Devices::All).0, [0, 512, 1024]);
    assert_eq!(of(Devices::Placed(vec![at("usr,1", 8192)])).0, [8704]);
    assert_eq!(of(Devices::Placed(vec![at("usr,1", 0), at("usr,0", 4096)])).0, [4096, 512, 5120]);
    assert_eq!(of(Devices::Placed(vec![])).1.len(), 2, "those left out are known by name");
}

#[test]
fn a_device_folds_into_its_own_region() {
    let region = Region { offset: 4096, bytes: 1024 };
    let devices = Devices::Placed(vec![Place { device: "usr,0".to_string(), region }]);
    let wrapped = Replay { devices: devices.clone(), beyond: Beyond::Wrap, ..Replay::default() };
    let (got, met) = offsets(wrapped);
    assert_eq!((got, met[0].end, met[0].longest), (vec![4096, 4096], 1536, 512));
    let options = Replay { devices, ..Replay::default() };
    let error = replay(TWO_DISKS, Format::Msr, DRIVE, options).unwrap_err();
    assert_eq!((error.line, error.column), (3, 14));
}

#[test]
fn mqsim_lines_are_sectors_and_zero_is_a_write() {
    let text = "11413000 0 657728 16 1\n11565000 1 8 64 0\n11721000 0 8 64 0\r\n".replace('\r', "");
    let got = plain(&text, Format::Mqsim).unwrap();
    let want = [
        request(RequestKind::Read, 657_728 * 512, 8192, 0),
        request(RequestKind::Write, 4096, 32_768, 308_000),
    ];
    assert_eq!(got, want);
    let micros = plain(&text, Format::MqsimMicros).unwrap();
    assert_eq!(micros[1].at, Some(Duration::from_millis(308)));
    let picos = plain(&text, Format::MqsimPicos).unwrap();
    assert_eq!(picos[1].at, Some(Duration::from_nanos(308)));
    let bad = |line: &str| message(line, Format::Mqsim);
    assert_eq!(bad("1 0 8 8 2"), "line 1, column 9: expected 0 for a write or 1 for a read, found \"2\"");
    assert!(bad("1 0 8 0 1").starts_with("line 1, column 7: expected a number of sectors above 0"));
    assert!(bad("1 0 8 8 1 5").contains("five fields"));
    assert!(bad("1 0 8 8").ends_with("found the end of the line"));
    assert!(bad("1 0 18446744073709551615 8 1").contains("below 2^55"));
}

#[test]
fn a_line_that_cannot_be_read_is_told_by_its_number() {
    let lines = vec![Ok("1,a,0,Read,0,512,1".to_string()), Err("the disk is gone".to_string())];
    let mut trace = Trace::new(lines.into_iter(), Format::Msr, DRIVE, Replay::default());
    assert!(trace.next_request().is_ok());
    let error = trace.next_request().unwrap_err().to_string();
    assert_eq!(error, "line 2, column 1: the disk is gone");
    assert_eq!(trace.next_request(), Ok(None));
}

#[test]
fn a_failed_trace_gives_nothing_more() {
    let mut trace = Trace::new("bad\n1,a,0,Read,0,512,1".lines(), Format::Msr, DRIVE, Replay::default());
    assert!(trace.next_request().is_err());
    assert_eq!(trace.next_request(), Ok(None));
}

#[test]
fn formats_are_told_by_their_first_line() {
    assert_eq!(Format::detect("fio version 3 iolog"), Some(Format::Iolog));
    assert_eq!(Format::detect("128166372003061629,usr,0,Read,7014609920,24576,41286"), Some(Format::Msr));
    assert_eq!(
        Format::detect("  8,0    1  11 0.009507758   697  Q  WS 223490 + 8 [a]"),
        Some(Format::Blkparse)
    );
    assert_eq!(Format::detect("11413000 0 657728 16 1"), Some(Format::Mqsim));
    assert_eq!(Format::detect("[global]"), None);
    for (line, format, wrong) in [
        (
            "128166372003061629,usr,0,Raed,7014609920,24576,41286",
            Format::Msr,
            "expected Read or Write, found \"Raed\"",
        ),
        (
            "128166372003061629,usr,0,Read,7014609920",
            Format::Msr,
            "a size in bytes, found the end of the line",
        ),
        ("11413000 0 657728 16 2", Format::Mqsim, "expected 0 for a write or 1 for a read, found \"2\""),
        ("11413000 0 657728 16 x", Format::Mqsim, "found \"x\""),
        ("fio version 4 iolog", Format::Iolog, "\"fio version 3 iolog\" as the first line"),
        ("  8,0 1 11 x 697 Q WS 223490 + 8 [a]", Format::Blkparse, "found \"x\""),
    ] {
        assert_eq!(Format::detect(line), None, "{line}");
        let (nearest, problem) = Format::nearest(line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(nearest, format, "{line}");
        assert!(problem.to_string().contains(wrong), "{line}: {problem}");
    }
    for line in ["[global]", "Dear Aster,", "", "a b c d e"] {
        assert_eq!(Format::nearest(line), None, "{line}");
    }
    assert_eq!(Format::detect(""), None);
}

fn own_columns() -> Columns {
    Columns::parse("size:sectors,-,kind:10,time:ms,offset").unwrap()
}

fn any_format() -> impl Strategy<Value = Format> {
    prop_oneof![
        Just(Format::Blkparse),
        Just(Format::Msr),
        Just(Format::Iolog),
        Just(Format::Mqsim),
        Just(Format::Alibaba),
        Just(Format::Tencent),
        Just(Format::Systor),
        Just(Format::Columns(own_columns())),
    ]
}

/// Requests of a trace: (kind, sector, sectors, microseconds since the previous request).
fn any_requests() -> impl Strategy<Value = Vec<(u8, u64, u32, u64)>> {
    proptest::collection::vec((0u8..2, 0u64..1 << 30, 1u32..1 << 12, 0u64..1 << 30), 1..20)
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(format in any_format(), text in "(\\PC|\n){0,200}") {
        let _ = plain(&text, format);
    }

    #[test]
    fn nearly_right_lines_never_panic(
        format in any_format(),
        words in proptest::collection::vec(
            "8,0|Q|FWFS|[0-9]{1,25}|\\+|0\\.[0-9]{9}|[0-9]{1,3}\\.[0-9]{0,30}|1\\.é|R|0|1|Read|usr|wait|\
                write|sync|é",
            0..9,
        ),
        comma: bool,
    ) {
        let line = words.join(if comma { "," } else { " " });
        for header in ["", "fio version 2 iolog\n", "fio version 3 iolog\n"] {
            let _ = plain(&format!("{header}{line}"), format);
            let wrap = Replay { beyond: Beyond::Wrap, unaligned: Unaligned::Widen, ..Replay::default() };
            let _ = replay(&format!("{header}{line}"), format, DRIVE, wrap);
        }
        let _ = Format::detect(&line);
    }

    #[test]
    fn what_is_written_in_any_format_is_read_back(requests in any_requests()) {
        let (mut blk, mut msr, mut mqsim) = (String::new(), String::new(), String::new());
        let mut tables: [String; 4] = Default::default();
        let (mut two, mut three) = (String::from("fio version 2 iolog\n"), String::from("fio version 3 \
            iolog\n"));
        let (mut now, mut want) = (0, Vec::new());
        for (i, &(kind, sector, sectors, gap)) in requests.iter().enumerate() {
            let gap = if i == 0 { 0 } else { gap };
            now += gap;
            let (letter, word) = [("R", "read"), ("WS", "write")][usize::from(kind)];
            let (offset, length) = (sector * 512, sectors * 512);
            blk += &format!("8,0 0 {i} {}.{:06}000 1 Q {letter} {sector} + {sectors} \
                             [x]\n", 5 + now / 1_000_000, now % 1_000_000);
            msr += &format!("{},h,0,{word},{offset},{length},0\n", 128_166_372_003_061_629 + now * 10);
            mqsim += &format!("{} 4 {sector} {sectors} {}\n", now * 1_000, 1 - kind);
            let upper = &letter[..1];
            for (table, line) in tables.iter_mut().zip([
                format!("7,{upper},{offset},{length},{}\n", 1_577_808_144_360_767 + now),
                format!("{}.{:06},{sector},{sectors},{kind},7\n", 5 + now / 1_000_000, now % 1_000_000),
                format!("{}.{:06},,{word},7,{offset},{length}\n", 5 + now / 1_000_000, now % 1_000_000),
                format!("{sectors},,{},{}.{:03},{offset}\n", 1 - kind, now / 1_000, now % 1_000),
            ]) {
                *table += &line;
            }
            two += &format!("/d wait {gap} 0\n/d {word} {offset} {length}\n");
            three += &format!("{} /d {word} {offset} {length}\n", now + 7);
            let kind = [RequestKind::Read, RequestKind::Write][usize::from(kind)];
            want.push(request(kind, offset, length, now * 1_000));
        }
        for (text, format) in
            [(&blk, Format::Blkparse), (&msr, Format::Msr), (&mqsim, Format::Mqsim), (&two, Format::Iolog),
                (&three, Format::Iolog), (&tables[0], Format::Alibaba), (&tables[1], Format::Tencent),
                (&tables[2], Format::Systor), (&tables[3], Format::Columns(own_columns()))]
        {
            prop_assert_eq!(plain(text, format), Ok(want.clone()));
        }
    }
}

#[test]
fn a_trace_of_endless_devices_ends_with_an_error() {
    let lines =
        |devices: usize| (0..devices).map(|i| format!("{i},host,{i},Read,0,4096,0\n")).collect::<String>();
    assert!(plain(&lines(devices::DEVICES_MAX), Format::Msr).is_ok());
    let told = message(&lines(devices::DEVICES_MAX + 1), Format::Msr);
    assert!(
        told.starts_with("line 10001, ") && told.contains("beyond the 10000 that a trace may name"),
        "{told}"
    );
}

#[test]
fn published_tables_are_known_by_their_first_line() {
    for (line, format) in [
        ("419,W,8792731648,16384,1577808144360767", Format::Alibaba),
        ("device_id,opcode,offset,length,timestamp", Format::Alibaba),
        ("1538323199,105352008,584,1,1576", Format::Tencent),
        ("1455508800.004377,0.000325,R,2,17099317760,36864", Format::Systor),
        ("\u{feff}Timestamp,Response,IOType,LUN,Offset,Size", Format::Systor),
        ("128166372003061629,usr,0,Read,7014609920,24576,41286", Format::Msr),
    ] {
        assert_eq!(Format::detect(line), Some(format), "{line}");
    }
    for (line, nearest, says) in [
        ("419,W,8792731648,16384,x", Format::Alibaba, "expected a time"),
        ("1538323199,105352008,584,2,1576", Format::Tencent, "0 for a read or 1 for a write"),
        ("1455508800.004377,0.000325,R,2,17099317760,0", Format::Systor, "a size above 0"),
    ] {
        assert_eq!(Format::detect(line), None, "{line}");
        let (format, problem) = Format::nearest(line).unwrap();
        assert!(format == nearest && problem.to_string().contains(says), "{line}: {format:?} {problem}");
    }
}
