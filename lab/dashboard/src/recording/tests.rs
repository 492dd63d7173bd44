use super::*;
use aster_units::Geometry;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use tempfile::TempDir;

fn shape() -> DriveShape {
    let geometry = Geometry {
        channels: 2,
        ways: 2,
        luns: 1,
        planes: 1,
        blocks_per_lun: 8,
        pages_per_block: 4,
        page_bytes: 16_384,
        spare_bytes: 1024,
    };
    DriveShape { geometry, array: geometry, mapping_unit_bytes: 16_384 }
}

/// Writes of 16 KiB one behind the other, a microsecond apart and longer every time, each with a program of
/// its own and an erase now and then.
fn writes(from: u64, count: u64) -> String {
    let mut text = String::new();
    for n in from..from + count {
        let mut line = |us: u64, event: &str| {
            let _ = writeln!(text, "{{\"at_ps\":{},\"event\":{event}}}", us * 1_000_000);
        };
        let (at, slot, lun) = (n * 1000, n % 7, n % 4);
        line(
            at,
            &format!("\"CommandFetched\",\"command\":{slot},\"queue\":1,\"opcode\":1,\"host_id\":{slot}"),
        );
        line(
            at,
            &format!("\"CommandStarted\",\"command\":{slot},\"offset\":{},\"length\":16384", n * 16_384),
        );
        line(at, &format!("\"SliceStarted\",\"command\":{slot},\"lpn\":{},\"write\":1,\"task\":3", n % 50));
        line(at + 1, "\"SliceEnded\",\"task\":3");
        let row = n / 4 % 32;
        line(at + 1, &format!("\"MapUpdated\",\"lpn\":{},\"ppa\":{}", n % 50, lun * 32 + row));
        let kind = if n % 16 == 0 { 2 } else { 1 };
        line(
            at + 2,
            &format!("\"FlashQueued\",\"task\":9,\"lun\":{lun},\"kind\":{kind},\"row\":{row},\"buffer\":0"),
        );
        line(at + 2, &format!("\"FlashIssued\",\"lun\":{lun},\"kind\":{kind},\"row\":{row}"));
        let (channel, way) = (lun % 2, lun / 2);
        let place = format!("\"channel\":{channel},\"way\":{way},\"lun\":0,\"kind\":{kind}");
        line(at + 3, &format!("\"ArrayBusy\",{place},\"picoseconds\":400000000"));
        let end = at + 10 + n % 500;
        line(end, &format!("\"CommandFinished\",\"command\":{slot}"));
        line(end, &format!("\"CommandCompleted\",\"command\":{slot},\"status\":0"));
        let finished = format!("\"lun\":{lun},\"kind\":{kind},\"row\":{row},\"status\":0,\"corrected\":0");
        line(at + 600, &format!("\"FlashFinished\",{finished}"));
    }
    text
}

/// Lines of a write.
const LINES: u64 = 11;

fn file(content: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.events");
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

fn us(us: u64) -> Instant {
    Instant::from_picos(us * 1_000_000)
}

/// A frame without what says how it was reached.
fn shown(recording: &mut Recording) -> Frame {
    let mut frame = recording.frame(false, 1.0);
    frame.position = None;
    frame.latency = crate::LatencyView::default();
    frame
}

#[test]
fn whatever_way_a_moment_is_reached_it_shows_the_same() {
    let writes_in_all = 20_000;
    let (_folder, path) = file(&(shape().line() + &writes(0, writes_in_all)));
    let straight = |goal| {
        let mut recording = Recording::open(&path, None).unwrap();
        assert_eq!(recording.advance(goal, u64::MAX), Reached::Goal);
        shown(&mut recording)
    };
    let moments = [7_000_500, 1, 19_999_000, 3_000_003, 3_000_004, 0, 12_345_678].map(us);
    let expected = moments.map(straight);
    let mut recording = Recording::open(&path, None).unwrap();
    assert_eq!(recording.until(), us(19_999_600));
    for (&moment, expected) in moments.iter().zip(&expected) {
        recording.seek(moment).unwrap();
        while recording.advance(moment, 1000) == Reached::Budget {}
        assert_eq!(&shown(&mut recording), expected, "{moment:?}");
    }
    assert_eq!(recording.advance(us(u64::MAX >> 20), u64::MAX), Reached::End);
    assert!(recording.is_at_end() && recording.problem().is_none());
    let frame = recording.frame(false, 1.0);
    let position = frame.position.unwrap();
    assert_eq!((position.events, position.jumps), (writes_in_all * LINES, moments.len() as u64));
    assert_eq!((frame.totals.writes, frame.totals.flash_erases), (writes_in_all, writes_in_all / 16));
    assert_eq!(frame.blocks.unwrap().valid.iter().flatten().sum::<u64>(), 50);
    // The first with 499 µs more than the shortest.
    assert_eq!((frame.slowest[0].id, frame.slowest[0].total_us), (499, 509.0));
    assert!(recording.checkpoints.len() <= CHECKPOINTS_MAX);
}

#[test]
fn steps_are_of_one_event_or_to_the_end_of_one_command() {
    let (_folder, path) = file(&(shape().line() + &writes(0, 2)));
    let mut recording = Recording::open(&path, None).unwrap();
    let events = |recording: &mut Recording| recording.frame(false, 1.0).position.unwrap().events;
    assert_eq!((recording.step(), recording.now()), (Reached::Goal, us(0)));
    assert_eq!(recording.step_command(100), Reached::Goal);
    assert_eq!((recording.now(), events(&mut recording)), (us(10), 10));
    assert_eq!(recording.step_command(3), Reached::Budget);
    assert_eq!(recording.step_command(100), Reached::Goal);
    assert_eq!((recording.now(), recording.step_command(100)), (us(1011), Reached::End));
    assert_eq!((recording.step(), events(&mut recording)), (Reached::End, 22));
    assert_eq!(recording.now(), us(1600));
}

#[test]
fn a_command_of_the_list_is_explained_from_the_file() {
    let (_folder, path) = file(&(shape().line() + &writes(0, 8000)));
    let mut recording = Recording::open(&path, None).unwrap();
    recording.advance(us(7_999_999), u64::MAX);
    for slow in recording.frame(false, 1.0).slowest {
        let told = recording.explain(slow.id).unwrap();
        assert_eq!((told.command, told.name.as_str()), (slow.id + 1, "Write"));
        assert_eq!((told.began_us, told.total_us, told.offset), (slow.began_us, slow.total_us, slow.offset));
        assert!(
            told.steps.iter().any(|step| step.what.starts_with("slice: logical page")),
            "{:?}",
            told.steps
        );
    }
    let error = recording.explain(0).unwrap_err().to_string();
    assert!(error.ends_with("no longer among the slowest"), "{error}");
}

#[test]
fn a_file_that_grows_is_followed() {
    let whole = shape().line() + &writes(0, 2);
    let (first, rest) = whole.split_at(whole.len() - 30);
    let (_folder, path) = file(first);
    let mut recording = Recording::open(&path, None).unwrap();
    assert_eq!(recording.advance(us(9999), u64::MAX), Reached::End);
    assert!(!recording.has_changed() && recording.problem().is_none());
    assert_eq!(recording.frame(false, 1.0).position.unwrap().events, 21, "a part of a line is no event");
    let mut more = OpenOptions::new().append(true).open(&path).unwrap();
    more.write_all(rest.as_bytes()).unwrap();
    assert!(recording.has_changed());
    assert_eq!(recording.advance(us(9999), u64::MAX), Reached::End);
    assert_eq!(recording.frame(false, 1.0).position.unwrap().events, 22);
    more.write_all(writes(2, 100).as_bytes()).unwrap();
    assert!(recording.has_changed());
    recording.advance(us(u64::MAX >> 20), u64::MAX);
    let frame = recording.frame(false, 1.0);
    assert_eq!((frame.totals.writes, recording.until()), (102, us(101_600)));
    // A new run has begun to write it.
    std::fs::write(&path, shape().line()).unwrap();
    assert!(recording.has_changed());
    recording.advance(us(u64::MAX >> 20), u64::MAX);
    assert!(recording.problem().unwrap().contains("is shorter than before"), "{:?}", recording.problem());
}

#[test]
fn what_is_no_events_file_is_refused_in_words() {
    let refused = |content: &[u8], shape| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e");
        std::fs::write(&path, content).unwrap();
        Recording::open(&path, shape).err().unwrap().to_string()
    };
    let events = writes(0, 1);
    assert!(refused(b"", None).contains("has no events yet"));
    assert!(refused(events.as_bytes(), None).contains("name the drive by --profile"));
    assert!(refused(b"PNG\n", None).contains("line 1 is no event"));
    assert!(refused(&[b'{'; 10_000], None).contains("line 1 is longer than any event"));
    assert!(refused(&[0xff, b'\n'], Some(shape())).contains("line 1 is no event"));
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &Path| Recording::open(path, None).err().unwrap().to_string();
    assert!(error(&folder.path().join("none")).contains("there is no such file"));
    assert!(error(folder.path()).contains("is no file"));
    // A file without a shape, of a drive that is named.
    let (_folder, path) = file(&events);
    let mut recording = Recording::open(&path, Some(shape())).unwrap();
    recording.advance(us(9999), u64::MAX);
    assert_eq!(recording.frame(false, 1.0).position.unwrap().events, LINES);
    recording.seek(us(0)).unwrap();
    recording.advance(us(0), u64::MAX);
    assert_eq!(recording.frame(false, 1.0).position.unwrap().events, 3);
}

#[test]
fn a_damaged_file_is_shown_up_to_its_damage() {
    let (_folder, path) = file(&(shape().line() + &writes(0, 3) + "{\"at_ps\":1,\"ev\n" + &writes(3, 3)));
    let mut recording = Recording::open(&path, None).unwrap();
    assert_eq!(recording.advance(us(99_999), u64::MAX), Reached::End);
    let position = recording.frame(false, 1.0).position.unwrap();
    assert_eq!((position.events, position.at_end), (3 * LINES, true));
    assert!(position.problem.unwrap().contains("run.events: line 35 is no event"));
    assert!(!recording.has_changed(), "nothing can be read behind it");
    recording.seek(us(0)).unwrap();
    recording.advance(us(5), u64::MAX);
    assert_eq!(recording.problem(), None);
}
