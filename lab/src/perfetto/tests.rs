use super::*;
use aster_events::{Event, EventSink, Function};
use aster_observe::CommandSpan;
use aster_observe::Spans;
use aster_units::{Duration, LunIndex};
use std::cell::Cell;

const SHAPE: Geometry = Geometry {
    channels: 2,
    ways: 2,
    luns: 1,
    planes: 1,
    blocks_per_lun: 8,
    pages_per_block: 16,
    page_bytes: 16_384,
    spare_bytes: 1664,
};

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}
fn piece(activity: Activity, command: Option<u64>, from: u64, to: u64) -> Piece {
    Piece { activity, command, task: Some(3), from: us(from), to: us(to) }
}
fn command(from: u64, to: u64) -> Piece {
    let kept = Cell::new(None::<CommandSpan>);
    let mut spans = Spans::new(1, |span: &CommandSpan| kept.set(Some(*span)));
    spans.event(us(from), &Event::CommandFetched { command: 0, queue: 1, opcode: 2, host_id: 5 });
    spans.event(us(to), &Event::CommandCompleted { command: 0, status: 0 });
    drop(spans);
    piece(Activity::Command(kept.get().unwrap()), Some(8), from, to)
}
/// Of two array controllers, and a core before and behind theirs.
fn firmware() -> Firmware {
    Firmware { cores: 4, controllers: 2, functions: Vec::new() }
}
fn events(pieces: &[Piece]) -> Vec<Value> {
    let mut trace = PerfettoTrace::new(Vec::new(), SHAPE, firmware());
    pieces.iter().for_each(|piece| trace.hear(piece));
    let text = trace.finish().unwrap();
    let all: Value = serde_json::from_slice(&text).unwrap();
    all["traceEvents"].as_array().unwrap().clone()
}
fn bars(events: &[Value]) -> Vec<&Value> {
    events.iter().filter(|event| event["ph"] == "X").collect()
}

#[test]
fn a_command_is_a_bar_with_its_stages_and_arrows_lead_to_its_parts() {
    let slice = Activity::Slice { lpn: 4, write: false };
    let flash = Activity::Flash { lun: LunIndex(2), kind: 0, row: 9, status: 0, corrected: 0 };
    let all = events(&[piece(flash, Some(8), 3, 70), piece(slice, Some(8), 2, 80), command(1, 90)]);
    let arrows: Vec<_> = all.iter().filter(|e| e["ph"] == "s" || e["ph"] == "t").collect();
    assert!(arrows.iter().all(|arrow| arrow["id"] == 8), "{arrows:?}");
    let order: Vec<_> =
        arrows.iter().map(|arrow| (arrow["ph"].as_str().unwrap(), arrow["ts"].as_f64().unwrap())).collect();
    assert_eq!(order, [("t", 3.0), ("t", 2.0), ("s", 1.0)]);
    let read = bars(&all).into_iter().find(|bar| bar["name"] == "Read").unwrap().clone();
    assert_eq!(
        (read["ts"].as_f64(), read["dur"].as_f64(), &read["args"]["host_id"]),
        (Some(1.0), Some(89.0), &json!(5))
    );
    assert!(bars(&all).iter().any(|bar| bar["name"] == "until completed"));
    let tracks = |name: &str| all.iter().filter(|e| e["args"]["name"] == name).count();
    assert_eq!((tracks("channel 0 way 1 LUN 0"), tracks("task 3"), tracks("queue 1 lane 0")), (1, 1, 1));
}

#[test]
fn commands_that_overlap_have_tracks_of_their_own_and_a_free_one_is_used_again() {
    let all = events(&[command(5, 9), command(1, 20), command(30, 40)]);
    let tracks: Vec<_> = bars(&all)
        .iter()
        .filter(|bar| bar["name"] == "Read")
        .map(|bar| bar["tid"].as_u64().unwrap() & 0xffff)
        .collect();
    assert_eq!(tracks, [0, 1, 0]);
}

#[test]
fn an_operation_behind_another_is_drawn_from_its_end_and_says_when_it_began() {
    let flash = |row| Activity::Flash { lun: LunIndex(1), kind: 0, row, status: 0, corrected: 0 };
    let all = events(&[piece(flash(1), None, 0, 50), piece(flash(2), None, 40, 90)]);
    let second = bars(&all)[1].clone();
    assert_eq!((second["ts"].as_f64(), second["dur"].as_f64()), (Some(50.0), Some(40.0)));
    assert_eq!(second["args"]["began_us"], 40.0);
    assert!(all.iter().all(|event| event["ph"] != "t"), "work of nobody has no arrow");
}

#[test]
fn times_count_from_the_beginning_of_the_work_and_none_is_before() {
    let mut trace = PerfettoTrace::new(Vec::new(), SHAPE, firmware());
    trace.begin(us(100));
    let array = |from, to| piece(Activity::Array { lun: LunIndex(1), kind: 2 }, None, from, to);
    [array(80, 130), array(140, 150)].iter().for_each(|piece| trace.hear(piece));
    let all: Value = serde_json::from_slice(&trace.finish().unwrap()).unwrap();
    let all = all["traceEvents"].as_array().unwrap().clone();
    let times: Vec<_> = bars(&all).iter().map(|bar| (bar["ts"].as_f64(), bar["dur"].as_f64())).collect();
    assert_eq!(times, [(Some(0.0), Some(30.0)), (Some(40.0), Some(10.0))]);
    assert_eq!(bars(&all)[0]["args"]["began_us"], -20.0);
}

#[test]
fn a_trace_of_nothing_is_a_trace() {
    assert_eq!(events(&[]), Vec::<Value>::new());
}

#[test]
fn the_first_error_is_told_at_the_end() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut trace = PerfettoTrace::new(Full, SHAPE, firmware());
    trace.hear(&command(1, 2));
    assert_eq!(trace.finish().map(drop).unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn the_cores_of_array_controllers_have_names() {
    let worked = |core| Activity::Firmware { core, function: Function::Polling };
    let pieces: Vec<_> = (0..4).map(|core| piece(worked(core), None, 1, 2)).collect();
    let all = events(&pieces);
    for name in ["core 0", "controller 0", "controller 1", "core 3"] {
        assert!(all.iter().any(|e| e["args"]["name"] == name), "{name}: {all:?}");
    }
}
