//! Pin changes of hand-made bus activity.

use crate::wave::{Change, Label, Level, Signal, WaveFilter, WaveTap, Waveform};
use alloc::vec::Vec;
use aster_events::{Event, EventSink};
use aster_ports::channel::BusTap;
use aster_ports::package::{BurstTiming, DataMode};
use aster_txn::Latch;
use aster_units::{ChannelId, Instant};

fn ps(at: u64) -> Instant {
    Instant::from_picos(at)
}

fn tap() -> WaveTap {
    WaveTap::new(ChannelId(3), 2, WaveFilter::Everything)
}

/// The changes of one signal.
fn of(wave: &Waveform, signal: Signal) -> Vec<(u64, Level)> {
    let changes = wave.changes().iter().filter(|c| c.signal == signal);
    changes.map(|c| (c.at.as_picos(), c.level)).collect()
}

fn burst(mode: DataMode, out: bool, bytes: &[u8]) -> Waveform {
    let mut tap = tap();
    tap.transaction(ps(0), ps(2_000), "burst");
    tap.chips(ps(0), 1);
    tap.burst(BurstTiming { first: ps(1_000), last: ps(1_400), mode }, out, bytes);
    tap.chips(ps(2_000), 0);
    tap.waveform()
}

use Level::{High, Low};
fn byte(value: u8) -> Level {
    Level::Byte(Some(value))
}
const FREE: Level = Level::Byte(None);

#[test]
fn latches_rise_at_their_edge_with_cle_or_ale_and_the_byte_held_around_it() {
    let mut tap = tap();
    tap.transaction(ps(0), ps(1_000), "read");
    tap.chips(ps(0), 0b10);
    tap.latch(ps(100), ps(200), Latch::Command(0x00));
    tap.latch(ps(200), ps(300), Latch::Address(0x1f));
    tap.latch(ps(300), ps(400), Latch::Command(0x30));
    tap.chips(ps(1_000), 0);
    let wave = tap.waveform();
    assert_eq!((wave.channel(), wave.truncated()), (ChannelId(3), false));
    assert_eq!(of(&wave, Signal::ChipEnable(0)), []);
    assert_eq!(of(&wave, Signal::ChipEnable(1)), [(0, Low), (1_000, High)]);
    let edges = [(150, Low), (200, High), (250, Low), (300, High), (350, Low), (400, High)];
    assert_eq!(of(&wave, Signal::WriteEnable), edges);
    // What a sampler sees at WE#'s rise: CLE, ALE and DQ at that instant.
    let level = |signal, at| of(&wave, signal).into_iter().rfind(|&(t, _)| t <= at).unwrap().1;
    let sample = |at| {
        [Signal::CommandLatchEnable, Signal::AddressLatchEnable, Signal::Data].map(|signal| level(signal, at))
    };
    assert_eq!(sample(200), [High, Low, byte(0x00)]);
    assert_eq!(sample(300), [Low, High, byte(0x1f)]);
    assert_eq!(sample(400), [High, Low, byte(0x30)]);
    assert_eq!(sample(425), [Low, Low, FREE]);
    let cycles: Vec<_> = of(&wave, Signal::Cycle).into_iter().map(|(_, level)| level).collect();
    let text = |label| Level::Text(label);
    assert_eq!(cycles.first(), Some(&text(Label::Command(0x00))));
    assert_eq!(cycles.last(), Some(&text(Label::Idle)));
    assert!(cycles.contains(&text(Label::Address(0x1f))));
    let names = [(0, text(Label::Name("read"))), (1_000, text(Label::Idle))];
    assert_eq!(of(&wave, Signal::Transaction), names);
}

#[test]
fn an_sdr_read_pulses_re_once_a_byte_and_an_sdr_write_pulses_we() {
    let out = burst(DataMode::Sdr, true, &[0xa5, 0x5a]);
    assert_eq!(of(&out, Signal::ReadEnable), [(1_000, Low), (1_100, High), (1_200, Low), (1_300, High)]);
    assert_eq!(of(&out, Signal::Data), [(1_000, byte(0xa5)), (1_200, byte(0x5a)), (1_400, FREE)]);
    assert_eq!((of(&out, Signal::WriteEnable), of(&out, Signal::Strobe)), (Vec::new(), Vec::new()));
    let into = burst(DataMode::Sdr, false, &[0xa5, 0x5a]);
    assert_eq!(of(&into, Signal::WriteEnable), [(1_100, Low), (1_200, High), (1_300, Low), (1_400, High)]);
    assert_eq!(of(&into, Signal::Data), [(1_050, byte(0xa5)), (1_250, byte(0x5a)), (1_450, FREE)]);
    assert_eq!(of(&into, Signal::ReadEnable), []);
}

#[test]
fn a_toggle_mode_burst_moves_dqs_once_a_byte_and_rests_low_after_an_odd_one() {
    let out = burst(DataMode::NvDdr2, true, &[1, 2, 3, 4]);
    let dqs = [(1_000, High), (1_100, Low), (1_200, High), (1_300, Low), (1_400, Low)];
    assert_eq!(of(&out, Signal::Strobe), dqs);
    let re = [(1_000, Low), (1_100, High), (1_200, Low), (1_300, High), (1_400, High)];
    assert_eq!(of(&out, Signal::ReadEnable), re);
    let odd = burst(DataMode::NvDdr2, true, &[7]);
    assert_eq!(of(&odd, Signal::Strobe), [(1_000, High), (1_400, Low)]);
    // A write: the strobe is in the middle of its byte, and RE# stays high.
    let into = burst(DataMode::NvDdr2, false, &[1, 2]);
    assert_eq!(of(&into, Signal::Strobe), [(1_100, High), (1_300, Low), (1_400, Low)]);
    assert!(of(&into, Signal::ReadEnable).iter().all(|&(_, level)| level == High));
}

#[test]
fn an_nv_ddr_burst_raises_cle_and_ale_and_tells_the_direction_on_wr() {
    let out = burst(DataMode::NvDdr, true, &[1, 2]);
    assert_eq!(of(&out, Signal::ReadEnable), [(1_000, Low), (1_400, High)]);
    for enable in [Signal::CommandLatchEnable, Signal::AddressLatchEnable] {
        assert_eq!(of(&out, enable), [(1_000, High), (1_400, Low)]);
    }
    let into = burst(DataMode::NvDdr, false, &[1, 2]);
    assert!(of(&into, Signal::ReadEnable).iter().all(|&(_, level)| level == High));
}

#[test]
fn bytes_share_a_burst_equally_without_drift() {
    let mut tap = tap();
    tap.transaction(ps(0), ps(9_000), "long");
    let bytes: Vec<u8> = (0..7).collect();
    let timing = BurstTiming { first: ps(1_000), last: ps(1_100), mode: DataMode::NvDdr2 };
    tap.burst(timing, true, &bytes);
    let wave = tap.waveform();
    let times: Vec<u64> = of(&wave, Signal::Data).iter().map(|&(at, _)| at).collect();
    assert_eq!(times, [1_000, 1_014, 1_028, 1_042, 1_057, 1_071, 1_085, 1_100]);
}

#[test]
fn ready_falls_and_rises_at_the_times_that_the_tap_tells() {
    let mut tap = tap();
    for (start, way_1_ready) in [(0, false), (1_000, false), (2_000, true)] {
        tap.transaction(ps(start), ps(start + 100), "poll");
        tap.chips(ps(start), 0b10);
        tap.chips(ps(start + 100), 0);
        tap.ready(ps(start + 100), 0, true);
        tap.ready(ps(start + 100), 1, way_1_ready);
    }
    let wave = tap.waveform();
    assert_eq!(of(&wave, Signal::Ready(0)), []);
    assert_eq!(of(&wave, Signal::Ready(1)), [(100, Low), (2_100, High)]);
}

#[test]
fn ready_follows_the_array_where_its_events_are_heard() {
    let mut tap = tap();
    let busy = |way, picoseconds| Event::ArrayBusy { channel: 3, way, lun: 0, kind: 0, picoseconds };
    tap.transaction(ps(0), ps(100), "read");
    tap.event(ps(80), &busy(1, 700));
    // Another LUN of the same way is busy for longer. Another channel's array doesn't count.
    tap.event(ps(90), &busy(1, 810));
    tap.event(ps(95), &Event::ArrayBusy { channel: 2, way: 0, lun: 0, kind: 0, picoseconds: 5 });
    tap.ready(ps(100), 1, false);
    tap.transaction(ps(2_000), ps(2_100), "poll");
    tap.ready(ps(2_100), 1, true);
    let wave = tap.waveform();
    assert_eq!(of(&wave, Signal::Ready(1)), [(80, Low), (900, High)]);
    assert_eq!(of(&wave, Signal::Ready(0)), []);
}

#[test]
fn a_failed_transaction_lets_go_of_chips_and_pins_at_its_end() {
    let mut tap = tap();
    tap.transaction(ps(0), ps(500), "refused");
    tap.chips(ps(0), 1);
    tap.latch(ps(100), ps(200), Latch::Command(0x11));
    let wave = tap.waveform();
    assert_eq!(of(&wave, Signal::ChipEnable(0)), [(0, Low), (500, High)]);
    assert_eq!(of(&wave, Signal::Data).last(), Some(&(225, FREE)));
}

#[test]
fn a_full_capture_keeps_whole_transactions_only() {
    let mut tap = tap();
    let page = [0x5a; 60_000];
    let mut transactions = 0;
    while !tap.is_complete() {
        let start = transactions * 10_000_000;
        tap.transaction(ps(start), ps(start + 2_000_000), "page");
        let timing = BurstTiming { first: ps(start), last: ps(start + 1_000_000), mode: DataMode::NvDdr2 };
        tap.burst(timing, true, &page);
        transactions += 1;
    }
    let wave = tap.waveform();
    assert!(wave.truncated() && wave.changes().len() <= crate::MAX_CHANGES);
    // Three changes per byte: two such pages fit.
    assert_eq!(transactions, 3);
    let ends = |c: &&Change| c.level == Level::Text(Label::Idle) && c.signal == Signal::Transaction;
    assert_eq!(wave.changes().iter().filter(ends).count(), 2);
    assert!(wave.changes().is_sorted_by_key(|c| c.at));
}
