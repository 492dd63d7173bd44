use super::*;
use aster_workload::trace::{Format, Records};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A request with the name of its device.
type Named = (Recorded, String);

fn read_back(text: &str, format: Format) -> Vec<Named> {
    let mut records = Records::new(text.lines(), format);
    let mut all = Vec::new();
    while let Some(record) = records.next_record().unwrap() {
        all.push((record, records.devices()[record.device].clone()));
    }
    all
}

fn written(all: &[Named], written_as: WrittenAs) -> String {
    let mut writer = Writer::new(Vec::new(), written_as).unwrap();
    all.iter().for_each(|(record, name)| writer.write(record, name).unwrap());
    String::from_utf8(writer.finish().unwrap().0).unwrap()
}

fn changed(text: &str, how: &Change) -> Result<(String, Changed), ToolError> {
    let file = TraceFile::read_once("t".into(), text.as_bytes()).unwrap();
    let done = change(&file, &ReadOptions::default(), how, WrittenAs::Blktrace, Vec::new(), &mut |_| true);
    done.map(|(text, changed)| (String::from_utf8(text).unwrap(), changed))
}

fn blktrace(text: &str) -> Vec<Recorded> {
    read_back(text, Format::Blkparse).into_iter().map(|(record, _)| record).collect()
}

/// Requests in the order of time, of up to three devices with names as blkparse has them.
fn any_records() -> impl Strategy<Value = Vec<Named>> {
    let kinds = prop_oneof![
        4 => Just(RequestKind::Read),
        4 => Just(RequestKind::Write),
        1 => Just(RequestKind::Trim),
        1 => Just(RequestKind::Flush),
    ];
    let record = (kinds, 0u64..1 << 22, 1u64..600, 0u64..3, any::<bool>(), any::<bool>(), 0u64..5_000_000);
    proptest::collection::vec(record, 1..40).prop_map(|records| {
        let (mut now, mut met) = (0, Vec::new());
        let named = |(kind, sector, sectors, device, fua, flush, gap): (
            RequestKind,
            u64,
            u64,
            u64,
            bool,
            bool,
            u64,
        )| {
            let is_flush = kind == RequestKind::Flush;
            now += if met.is_empty() { 0 } else { gap };
            let name = format!("8,{device}");
            let known = met.iter().position(|other| *other == name);
            let device = known.unwrap_or_else(|| {
                met.push(name.clone());
                met.len() - 1
            });
            let record = Recorded {
                kind,
                offset: if is_flush { 0 } else { sector * 512 },
                length: if is_flush { 0 } else { sectors * 512 },
                fua: fua && kind == RequestKind::Write,
                flush_before: flush && kind == RequestKind::Write,
                at: Duration::from_nanos(now),
                device,
            };
            (record, name)
        };
        records.into_iter().map(named).collect()
    })
}

proptest! {
    #[test]
    fn text_of_blktrace_is_read_back_as_it_was(all in any_records()) {
        prop_assert_eq!(read_back(&written(&all, WrittenAs::Blktrace), Format::Blkparse), all);
    }

    #[test]
    fn an_iolog_is_read_back_but_for_force_unit_access_and_what_is_below_a_microsecond(all in any_records()) {
        let micros = |at: Duration| Duration::from_micros(at.as_nanos() / 1_000);
        let expected: Vec<Named> = all.iter().flat_map(|(record, name)| {
            let flush = Recorded { kind: RequestKind::Flush, offset: 0, length: 0, ..*record };
            let before = record.flush_before.then_some(flush);
            before.into_iter().chain([*record]).map(|of| {
                (Recorded { fua: false, flush_before: false, at: micros(of.at), ..of }, name.clone())
            })
        }).collect();
        prop_assert_eq!(read_back(&written(&all, WrittenAs::Iolog), Format::Iolog), expected);
    }

    #[test]
    fn slices_of_time_and_of_count_come_to_the_whole(
        all in any_records(), at in 0u64..100_000_000, n in 0u64..40,
    ) {
        let text = written(&all, WrittenAs::Blktrace);
        let of = |slice: Slice| match changed(&text, &Change::Slice(slice)) {
            Ok((part, _)) => blktrace(&part),
            Err(ToolError::Trace(none)) if none.contains("nothing is left") => Vec::new(),
            Err(error) => panic!("{error:?}"),
        };
        // Times count from the first request of a part.
        let plain = |records: &[Recorded]| -> Vec<_> {
            records.iter().map(|of| (of.kind, of.offset, of.length, of.fua, of.flush_before)).collect()
        };
        let whole = plain(&all.iter().map(|(record, _)| *record).collect::<Vec<_>>());
        let at = Duration::from_nanos(at);
        let early = of(Slice { until: Some(at), ..Slice::default() });
        let late = of(Slice { from: Some(at), ..Slice::default() });
        prop_assert_eq!([plain(&early), plain(&late)].concat(), whole.clone());
        prop_assert_eq!(early.len(), all.iter().filter(|(record, _)| record.at < at).count());
        let head = if n == 0 { Vec::new() } else { of(Slice { count: Some(n), ..Slice::default() }) };
        let tail = of(Slice { skip: n, ..Slice::default() });
        prop_assert_eq!([plain(&head), plain(&tail)].concat(), whole);
        prop_assert_eq!(head.len() as u64, n.min(all.len() as u64));
    }

    #[test]
    fn a_slice_of_addresses_asks_for_each_byte_within_and_no_other(
        all in any_records(), from in 0u64..1 << 31, bytes in 512u64..1 << 31,
    ) {
        let range = from / 512 * 512..(from + bytes) / 512 * 512 + 512;
        let slice = Slice { range: Some(range.clone()), ..Slice::default() };
        let inside = |record: &Recorded| match record.kind {
            RequestKind::Flush => Some((0, 0)),
            _ => {
                let (offset, end) = (record.offset.max(range.start), record.end().min(range.end));
                (end > offset).then(|| (offset, end - offset))
            }
        };
        let expected: Vec<_> = all.iter().filter_map(|(record, _)| inside(record)).collect();
        match changed(&written(&all, WrittenAs::Blktrace), &Change::Slice(slice)) {
            Ok((part, _)) => {
                let part: Vec<_> = blktrace(&part).iter().map(|of| (of.offset, of.length)).collect();
                prop_assert_eq!(part, expected);
            }
            Err(error) => prop_assert!(expected.is_empty(), "{:?}", error),
        }
    }

    #[test]
    fn what_was_scaled_up_scales_back(all in any_records(), factor in 1u64..50) {
        let text = written(&all, WrittenAs::Blktrace);
        let by = |factor: u64| {
            let stretch = Scale { time: Stretch::By(factor), addresses: Stretch::By(factor), chunk: 65_536 };
            Change::Scale(stretch)
        };
        let (larger, told) = changed(&text, &by(factor * UNCHANGED)).unwrap();
        for (large, (small, _)) in blktrace(&larger).iter().zip(&all) {
            prop_assert_eq!(large.at.as_nanos(), small.at.as_nanos() * factor);
            prop_assert_eq!(large.offset / 65_536, small.offset / 65_536 * factor);
            prop_assert_eq!((large.offset % 65_536, large.length), (small.offset % 65_536, small.length));
        }
        prop_assert_eq!(told.wrote.requests, all.len() as u64);
        let end = all.iter().map(|(record, _)| record.end()).max().unwrap();
        let fits = Scale { time: Stretch::By(UNCHANGED), addresses: Stretch::To(end), chunk: 65_536 };
        let (back, told) = changed(&larger, &Change::Scale(fits)).unwrap();
        prop_assert!(told.end <= end);
        let lengths = |records: &[Recorded]| records.iter().map(|of| of.length).collect::<Vec<_>>();
        prop_assert_eq!(lengths(&blktrace(&back)), lengths(&blktrace(&text)));
    }

    #[test]
    fn a_duration_is_reached(all in any_records(), micros in 1u64..10_000_000) {
        let took = all.last().unwrap().0.at;
        let wanted = Duration::from_micros(micros);
        let scale = Scale { time: Stretch::To(wanted), addresses: Stretch::By(UNCHANGED), chunk: 4096 };
        match changed(&written(&all, WrittenAs::Blktrace), &Change::Scale(scale)) {
            Ok((_, told)) => prop_assert_eq!(told.duration, wanted),
            Err(error) => prop_assert!(took.is_zero(), "{:?}", error),
        }
    }

    #[test]
    fn a_dense_trace_keeps_order_neighbours_and_what_is_the_same(all in any_records()) {
        const UNIT: u64 = 4096;
        let moves = |of: &Recorded| matches!(of.kind, RequestKind::Read | RequestKind::Write);
        // Each touched unit's place, counted as it is defined.
        let mut places: BTreeMap<(usize, u64), u64> = BTreeMap::new();
        for (of, _) in all.iter().filter(|(of, _)| moves(of)) {
            let units = of.offset / UNIT..=(of.end() - 1) / UNIT;
            units.for_each(|unit| _ = places.insert((of.device, unit), 0));
        }
        places.values_mut().zip(0..).for_each(|(place, n)| *place = n);
        let expected = all.iter().filter_map(|(of, _)| match of.kind {
            RequestKind::Flush => Some((of.kind, 0, 0)),
            RequestKind::Trim => {
                // Of a trim, what is touched.
                let bytes = of.offset..of.end();
                let [first, last] = [bytes.start, bytes.end - 1].map(|byte| (of.device, byte / UNIT));
                let units = places.range(first..=last);
                let touched = units.map(|((_, unit), place)| {
                    let from = bytes.start.max(unit * UNIT) - unit * UNIT;
                    let to = bytes.end.min((unit + 1) * UNIT) - unit * UNIT;
                    (place * UNIT + from, place * UNIT + to)
                });
                let touched: Vec<_> = touched.collect();
                Some((of.kind, touched.first()?.0, touched.last()?.1 - touched.first()?.0))
            }
            _ => Some((of.kind, places[&(of.device, of.offset / UNIT)] * UNIT + of.offset % UNIT, of.length)),
        });
        let expected: Vec<_> = expected.collect();
        match changed(&written(&all, WrittenAs::Blktrace), &Change::Remap { unit: UNIT }) {
            Ok((dense, told)) => {
                let dense = blktrace(&dense);
                let dense: Vec<_> = dense.iter().map(|of| (of.kind, of.offset, of.length)).collect();
                prop_assert_eq!(dense, expected);
                prop_assert!(told.end <= places.len() as u64 * UNIT);
            }
            Err(error) => prop_assert!(expected.is_empty(), "{:?}", error),
        }
    }
}

const TWO_DISKS: &str = "8,0 0 1 0.000000000 1 Q R 8 + 8 [a]\n8,16 0 2 0.5 1 Q W 0 + 8 [a]\n";

#[test]
fn what_is_wrong_names_its_line() {
    let scale = |addresses| Scale { time: Stretch::By(UNCHANGED), addresses, chunk: 4096 };
    let said = |text: &str, how: Change| match changed(text, &how) {
        Err(ToolError::Trace(said)) => said,
        other => panic!("{other:?}"),
    };
    let whole = Change::Slice(Slice::default());
    assert!(said(TWO_DISKS, whole.clone()).starts_with("line 2, column 10: expected a time"));
    let text = TWO_DISKS.replace("0.5 ", "0.500000000 ");
    let small = said(&text, Change::Scale(scale(Stretch::To(512))));
    assert!(small.starts_with("line 1: 4096 bytes at 4096 are more than all of the 512"), "{small}");
    let text = text.replace("8 + 8", "36028797018963967 + 1");
    let beyond = said(&text, whole);
    assert!(
        beyond.starts_with("line 1, column 27: 512 bytes at 18446744073709551104 reach beyond"),
        "{beyond}"
    );
    let csv = "0,W,100,512,0\n";
    let odd = said(csv, Change::Slice(Slice::default()));
    assert!(
        odd.starts_with("line 1: 512 bytes at 100 are not whole sectors") && odd.contains("--as iolog"),
        "{odd}"
    );
}

#[test]
fn a_part_can_be_had_without_the_rest() {
    // The second line is wrong, and isn't reached.
    let one = Change::Slice(Slice { count: Some(1), ..Slice::default() });
    let file = TraceFile::read_once("t".into(), TWO_DISKS.as_bytes()).unwrap();
    let options = ReadOptions::default();
    let (_, told) = change(&file, &options, &one, WrittenAs::Iolog, Vec::new(), &mut |_| true).unwrap();
    assert_eq!((told.read, told.wrote.requests), (1, 1));
    let stopped = change(&file, &options, &one, WrittenAs::Iolog, Vec::new(), &mut |_| false);
    assert_eq!(stopped.unwrap_err(), ToolError::Stopped);
    let unknown = ReadOptions { devices: vec!["8,0".into(), "9,9".into()], format: None };
    let text = TWO_DISKS.replace("0.5 ", "0.500000000 ");
    let file = TraceFile::read_once("t".into(), text.as_bytes()).unwrap();
    let all = Change::Slice(Slice::default());
    let error = change(&file, &unknown, &all, WrittenAs::Iolog, Vec::new(), &mut |_| true).unwrap_err();
    let ToolError::Trace(said) = error else { panic!("{error:?}") };
    assert!(said.contains("holds no request to \"9,9\"; it has \"8,0\" (1 request)"), "{said}");
}
