//! The written file is parsed again, and read as a logic analyser reads pins.

use super::write_vcd;
use aster_channel::{WaveFilter, WaveTap};
use aster_ports::channel::BusTap;
use aster_ports::package::{BurstTiming, DataMode};
use aster_txn::Latch;
use aster_units::{ChannelId, Instant};
use std::collections::BTreeMap;
use vcd::{Command, Header, IdCode, Parser, ScopeItem, TimescaleUnit, Value};

fn ns(n: u64) -> Instant {
    Instant::from_picos(n * 1_000)
}

/// READ of way 1 (00h, five address cycles, 30h), its status, and four bytes by CHANGE READ COLUMN.
fn read() -> (WaveTap, Vec<Latch>) {
    use Latch::{Address, Command};
    let mut tap = WaveTap::new(ChannelId(5), 2, WaveFilter::first_of_each());
    let trigger =
        [Command(0x00), Address(0), Address(0), Address(0x20), Address(0x01), Address(0), Command(0x30)];
    let column = [Command(0x05), Address(0x40), Address(0), Command(0xe0)];
    let mut transaction = |start: u64, name, latches: &[Latch], out: &[u8], ready| {
        tap.transaction(ns(start), ns(start + 900), name);
        tap.chips(ns(start), 0b10);
        for (i, &latch) in (0..).zip(latches) {
            tap.latch(ns(start + 20 + 30 * i), ns(start + 50 + 30 * i), latch);
        }
        if !out.is_empty() {
            let (first, last) = (ns(start + 600), ns(start + 600 + 5 * out.len() as u64));
            tap.burst(BurstTiming { first, last, mode: DataMode::NvDdr2 }, true, out);
        }
        tap.chips(ns(start + 900), 0);
        tap.ready(ns(start + 900), 0, true);
        tap.ready(ns(start + 900), 1, ready);
    };
    transaction(5_000, "read", &trigger, &[], false);
    transaction(65_000, "read status", &[Command(0x70)], &[0xe0, 0xe0], true);
    transaction(67_000, "read transfer", &column, &[0xde, 0xad, 0xbe, 0xef], true);
    (tap, [&trigger[..], &[Command(0x70)], &column].concat())
}

fn written(tap: &WaveTap) -> Vec<u8> {
    let mut file = Vec::new();
    write_vcd(&mut file, &tap.waveform()).unwrap();
    file
}

/// The variables of the file's only scope by name.
fn variables(header: &Header) -> BTreeMap<String, IdCode> {
    let scope = header.items.iter().find_map(|item| match item {
        ScopeItem::Scope(scope) => Some(scope),
        _ => None,
    });
    let scope = scope.unwrap();
    assert_eq!(scope.identifier, "channel5");
    let variable = |item: &ScopeItem| match item {
        ScopeItem::Var(v) => Some((v.reference.clone(), v.code)),
        _ => None,
    };
    scope.items.iter().filter_map(variable).collect()
}

#[test]
fn a_file_that_is_parsed_again_gives_the_same_latches_at_the_same_times_and_the_same_bytes() {
    let (tap, latched) = read();
    let file = written(&tap);
    let mut parser = Parser::new(&file[..]);
    let header = parser.parse_header().unwrap();
    assert_eq!(header.timescale, Some((1, TimescaleUnit::PS)));
    let names = variables(&header);
    let mut pins: BTreeMap<IdCode, Vec<Value>> = BTreeMap::new();
    let (mut now, mut latches, mut bytes) = (0, Vec::new(), Vec::new());
    let byte = |values: &[Value]| values.iter().fold(0u8, |byte, v| byte << 1 | u8::from(*v == Value::V1));
    for command in parser {
        match command.unwrap() {
            Command::Timestamp(at) => {
                assert!(at > now, "time runs forward");
                now = at;
            }
            Command::ChangeVector(id, values) => drop(pins.insert(id, values.iter().collect())),
            Command::ChangeScalar(id, value) => {
                let before = pins.insert(id, vec![value]);
                let high = |name: &str| pins[&names[name]] == [Value::V1];
                let changed = before.is_some_and(|b| b != [value]);
                if changed && id == names["WE_n"] && value == Value::V1 {
                    let dq = byte(&pins[&names["DQ"]]);
                    assert_ne!(high("CLE"), high("ALE"));
                    let latch = if high("CLE") { Latch::Command(dq) } else { Latch::Address(dq) };
                    latches.push((now, latch));
                }
                if changed && id == names["DQS"] {
                    bytes.push(now);
                }
            }
            _ => {}
        }
    }
    assert_eq!(latches.iter().map(|l| l.1).collect::<Vec<_>>(), latched);
    let trigger: Vec<u64> = (0..7).map(|i| ns(5_050 + 30 * i).as_picos()).collect();
    assert_eq!(latches[..7].iter().map(|l| l.0).collect::<Vec<_>>(), trigger);
    let strobes = [65_600, 65_605, 67_600, 67_605, 67_610, 67_615].map(|at| at * 1_000);
    assert_eq!(bytes, strobes);
}

#[test]
fn signals_carry_datasheet_names_and_begin_at_rest() {
    let (tap, _) = read();
    let file = String::from_utf8(written(&tap)).unwrap();
    let mut parser = Parser::new(file.as_bytes());
    let names = variables(&parser.parse_header().unwrap());
    let want = [
        "ALE",
        "CE0_n",
        "CE1_n",
        "CLE",
        "DQ",
        "DQS",
        "RB0_n",
        "RB1_n",
        "RE_n",
        "WE_n",
        "cycle",
        "transaction",
    ];
    assert_eq!(names.keys().collect::<Vec<_>>(), want.iter().collect::<Vec<_>>());
    let first = file.lines().find(|line| line.starts_with('#'));
    assert_eq!(first, Some("#4900000"), "100 ns before the first change");
    for text in ["sread_transfer", "sCMD_00h_READ", "sCMD_30h", "sADDR_20h", "sDATA_OUT_4"] {
        assert!(file.lines().any(|line| line.starts_with(text)), "{text} is missing");
    }
}

#[test]
fn a_pin_that_stays_is_not_written_again() {
    let (tap, _) = read();
    let file = written(&tap);
    let parser = Parser::new(&file[..]);
    let mut last: BTreeMap<IdCode, Value> = BTreeMap::new();
    for command in parser {
        if let Command::ChangeScalar(id, value) = command.unwrap() {
            assert_ne!(last.insert(id, value), Some(value));
        }
    }
}

#[test]
fn a_channel_that_did_nothing_is_a_file_without_changes() {
    let file = written(&WaveTap::new(ChannelId(5), 1, WaveFilter::Everything));
    let stamps = String::from_utf8(file).unwrap().lines().filter(|l| l.starts_with('#')).count();
    assert_eq!(stamps, 1);
}
