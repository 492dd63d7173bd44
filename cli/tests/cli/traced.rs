//! One command in the trace of `--perfetto`, from the doorbell to the array and back (C45).

use crate::place::Place;
use serde_json::Value;
use std::collections::BTreeMap;

/// One request at a time, of pages that are on flash.
const READS: &str = "[reads]\nrw=randread\nbs=4k\nsize=16m\nnumber_ios=200\niodepth=1\n";

/// The groups of tracks, as they stand in the picture.
const COMMANDS: u64 = 1;
const SLICES: u64 = 2;
const WAITING: u64 = 4;
const STATION: u64 = 5;
const FLASH: u64 = 6;
const CHANNELS: u64 = 7;
const ARRAYS: u64 = 8;

/// A bar, its times in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Bar<'a> {
    track: (u64, u64),
    from: u64,
    to: u64,
    name: &'a str,
    args: &'a Value,
}

struct Trace {
    events: Vec<Value>,
}

fn picos(micros: f64) -> u64 {
    (micros * 1e6).round() as u64
}
fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}
fn track(event: &Value) -> (u64, u64) {
    (number(&event["pid"]), number(&event["tid"]))
}

impl Trace {
    fn of(place: &Place, run: &[&str]) -> Self {
        place.write("reads.fio", READS);
        let rest = ["--job", "reads.fio", "--precondition", "0", "--perfetto", "p.json", "--json"];
        place.report(&[&["run"][..], run, &rest].concat());
        let mut trace: Value = serde_json::from_str(&place.read("p.json")).unwrap();
        let Value::Array(events) = trace["traceEvents"].take() else { panic!("no trace") };
        Trace { events }
    }
    fn bars(&self) -> impl Iterator<Item = Bar<'_>> {
        self.events.iter().filter(|event| event["ph"] == "X").map(|event| {
            let (from, took) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
            let name = event["name"].as_str().unwrap();
            Bar { track: track(event), from: picos(from), to: picos(from + took), name, args: &event["args"] }
        })
    }
    /// What was done for each command, in the order of time.
    fn commands(&self) -> BTreeMap<u64, Vec<Bar<'_>>> {
        let mut commands: BTreeMap<u64, Vec<Bar<'_>>> = BTreeMap::new();
        for bar in self.bars() {
            if let Some(command) = bar.args["command"].as_u64() {
                commands.entry(command).or_default().push(bar);
            }
        }
        commands.values_mut().for_each(|bars| bars.sort_by_key(|bar| (bar.from, bar.track)));
        commands
    }
    /// The arrows of a command in the order of time: how it is drawn, where and when.
    fn arrows(&self, command: u64) -> Vec<(&str, (u64, u64), u64)> {
        let ours = self.events.iter().filter(|event| event["id"].as_u64() == Some(command));
        let mut arrows: Vec<_> = ours
            .map(|event| (event["ph"].as_str().unwrap(), track(event), picos(event["ts"].as_f64().unwrap())))
            .collect();
        arrows.sort_by_key(|(_, track, at)| (*at, *track));
        arrows
    }
    fn track_name(&self, of: (u64, u64)) -> &str {
        let named = |event: &&Value| event["name"] == "thread_name" && track(event) == of;
        self.events.iter().find(named).expect("a track has a name")["args"]["name"].as_str().unwrap()
    }
}

/// The times of a read's steps.
#[derive(Debug)]
struct Chain<'a> {
    command: Bar<'a>,
    fetched: u64,
    queued: Bar<'a>,
    flash: Bar<'a>,
    first: Bar<'a>,
    array: Bar<'a>,
}

/// Follows a read with exactly one flash read; `None` for other reads. With `by_itself` the controller
/// completes commands, and the firmware senses the end of their data later (P13).
fn follow<'a>(trace: &'a Trace, id: u64, bars: &[Bar<'a>], by_itself: bool) -> Option<Chain<'a>> {
    let all = |group: u64| bars.iter().copied().filter(move |bar| bar.track.0 == group).collect::<Vec<_>>();
    let one = |group: u64| match all(group)[..] {
        [bar] => Some(bar),
        _ => None,
    };
    // Bars that are drawn later than they began aren't part of this test.
    let is_plain = bars.iter().all(|bar| bar.args.get("began_us").is_none());
    let (flash, array) = (one(FLASH)?, one(ARRAYS).filter(|_| is_plain)?);
    let command = one(COMMANDS).expect("a command has a bar");
    let queued = one(WAITING).expect("a flash operation has waited for its LUN");
    let slices = all(SLICES);
    let [slice, transfer] = slices[..] else { panic!("a slice, and its host DMA: {slices:?}") };
    let transactions = all(CHANNELS);
    let (first, data) = (transactions[0], *transactions.last().unwrap());
    assert!(
        command.name == "Read" && slice.name.starts_with("slice: ") && transfer.name.starts_with("host DMA")
    );

    // The stages divide the command without gap or overlap.
    let mut stages: Vec<_> = trace
        .bars()
        .filter(|bar| bar.track == command.track && bar.name.starts_with("until "))
        .filter(|bar| bar.from >= command.from && bar.to <= command.to)
        .collect();
    stages.sort_by_key(|bar| bar.to);
    let names: Vec<_> = stages.iter().map(|bar| bar.name).collect();
    let [fetched, started, first_slice, finished, completed] = stages[..] else { panic!("{stages:?}") };
    let words = ["until fetched", "until started", "until first slice", "until finished", "until completed"];
    assert_eq!(names, words);
    assert!(stages.windows(2).all(|pair| pair[0].to == pair[1].from), "{stages:?}");

    // Each step begins exactly when its inputs are there.
    let chain = [
        ("doorbell", command.from),
        ("fetched", fetched.to),
        ("started", started.to),
        ("first slice", first_slice.to),
        ("flash request", queued.from),
        ("taken by the scheduler", queued.to),
        ("first transaction", first.from),
        ("array", array.from),
        ("array ready", array.to),
        ("data on the channel", data.from),
        ("data moved", data.to),
        ("flash read ended", flash.to),
        ("host DMA", transfer.from),
        ("finished", finished.to),
        ("completed", completed.to),
    ];
    assert!(chain.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{chain:?}");
    for pair in [[0, 1], [1, 2], [2, 3], [7, 8], [9, 10], [12, 13], [13, 14]] {
        assert!(chain[pair[0]].1 < chain[pair[1]].1, "no time passes: {chain:?}");
    }
    assert!(transfer.from < transfer.to && transfer.to <= slice.to, "{bars:?}");
    match by_itself {
        true => assert!(finished.to < transfer.to, "{bars:?}"),
        false => assert!(slice.to <= finished.to, "{bars:?}"),
    }
    assert_eq!((command.from, command.to), (fetched.from, completed.to));
    assert_eq!((slice.from, queued.to), (first_slice.to, flash.from), "{bars:?}");
    assert!(array.from <= first.to, "the array begins with the command's last cycle: {bars:?}");

    // One LUN and one row on all tracks.
    let lun = number(&flash.args["lun"]);
    let by_lun = [queued, flash, array].into_iter().chain(transactions);
    assert!(by_lun.into_iter().all(|bar| bar.args["lun"] == lun), "{bars:?}");
    assert_eq!((flash.track.1, array.track.1), (lun, lun));
    assert_eq!(flash.args["row"], queued.args["row"]);
    assert!(flash.name.contains(&format!("row {:06X}h", number(&flash.args["row"]))), "{}", flash.name);
    let name = trace.track_name(flash.track);
    assert_eq!(name, trace.track_name(array.track));
    assert!(name.starts_with(&format!("{} way ", trace.track_name(first.track))), "{name}");

    // An arrow to the begin of every bar, from the command on, and deeper with time.
    let arrows = trace.arrows(id);
    let (source, parts) = arrows.split_first().expect("arrows");
    assert_eq!(*source, ("s", command.track, command.from));
    assert!(parts.iter().all(|(how, ..)| *how == "t"), "{arrows:?}");
    let heads: Vec<_> = bars.iter().map(|bar| (bar.track, bar.from)).collect();
    assert_eq!(arrows.iter().map(|(_, track, at)| (*track, *at)).collect::<Vec<_>>(), heads);
    let first_at = |group| arrows.iter().find(|(_, track, _)| track.0 == group).expect("an arrow").2;
    let depths = [COMMANDS, SLICES, WAITING, FLASH, CHANNELS, ARRAYS].map(first_at);
    assert!(depths.is_sorted(), "{arrows:?}");
    Some(Chain { command, fetched: fetched.to, queued, flash, first, array })
}

/// The events of the same run say the same, at the same picosecond.
#[test]
fn a_read_is_followed_from_doorbell_to_array_at_the_times_of_its_events() {
    let place = Place::new();
    let trace = Trace::of(&place, &["tiny", "--events", "e.jsonl"]);
    let mut events: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for line in place.read("e.jsonl").lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        // Both count from the beginning of the work.
        if let Some(at) = event["work_ps"].as_u64() {
            events.entry(at).or_default().push(event);
        }
    }
    let happened = |at: u64, name: &str, fields: &[(&str, u64)]| {
        let at_once = events.get(&at).map_or(&[][..], Vec::as_slice);
        let is_it = |event: &&Value| {
            event["event"] == name && fields.iter().all(|(field, value)| event[*field] == *value)
        };
        assert!(at_once.iter().any(|event| is_it(&event)), "no {name} {fields:?} at {at}: {at_once:?}");
    };
    let mut followed = 0;
    for (id, bars) in trace.commands() {
        let Some(chain) = follow(&trace, id, &bars, false) else { continue };
        followed += 1;
        let Chain { command, fetched, queued, flash, first, array } = chain;
        let (lun, row) = (number(&flash.args["lun"]), number(&flash.args["row"]));
        let page = [("lun", lun), ("kind", 0), ("row", row)];
        happened(command.from, "DoorbellWritten", &[("queue", 1), ("completion", 0)]);
        let host_id = number(&command.args["host_id"]);
        happened(fetched, "CommandFetched", &[("queue", 1), ("host_id", host_id)]);
        happened(queued.from, "FlashQueued", &page);
        happened(flash.from, "FlashIssued", &page);
        happened(first.from, "TransactionStarted", &[("channel", first.track.1)]);
        let busy = [("channel", first.track.1), ("kind", 0), ("picoseconds", array.to - array.from)];
        happened(array.from, "ArrayBusy", &busy);
        happened(flash.to, "FlashFinished", &page);
        happened(command.to, "CommandCompleted", &[("status", 0)]);
    }
    assert!(followed > 10, "{followed} reads were followed");
}

/// Under the big loop the reservation station stands between the FTL and the channel, twice for a read:
/// before the array, and before its data.
#[test]
fn under_the_big_loop_a_read_is_followed_through_the_reservation_station() {
    let place = Place::new();
    let mut run = vec!["cosmos-board", "--content", "fingerprint"];
    for change in [
        "geometry.channels=2",
        "geometry.ways=2",
        "geometry.blocks_per_lun=64",
        "geometry.pages_per_block=64",
        "ecc.solver_channels=2",
        "ftl.buffer_entries=64",
    ] {
        run.extend(["--set", change]);
    }
    let trace = Trace::of(&place, &run);
    let mut followed = 0;
    for (id, bars) in trace.commands() {
        let Some(Chain { queued, flash, array, .. }) = follow(&trace, id, &bars, true) else { continue };
        followed += 1;
        let station = |what: &str| {
            let named = |bar: &&Bar<'_>| bar.track.0 == STATION && bar.name.starts_with(what);
            *bars.iter().find(named).unwrap_or_else(|| panic!("no {what}: {bars:?}"))
        };
        let checked = station("read-trigger waits for the dependency checker");
        let trigger = station("read-trigger waits in the reservation station");
        let moved = station("read-transfer waits in the reservation station");
        assert!(queued.from <= checked.from && checked.to <= trigger.from, "{bars:?}");
        assert_eq!(trigger.to, flash.from, "{bars:?}");
        let data = bars.iter().rev().find(|bar| bar.track.0 == CHANNELS).expect("data");
        assert!(array.to <= moved.from && moved.from < moved.to && moved.to <= data.from, "{bars:?}");
    }
    assert!(followed > 10, "{followed} reads were followed");
}
