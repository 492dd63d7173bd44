//! Tests of which transactions belong to an operation.

use crate::wave::{Label, Level, Signal, WaveFilter, WaveTap};
use alloc::vec::Vec;
use aster_ports::channel::BusTap;
use aster_ports::package::{BurstTiming, DataMode};
use aster_txn::Latch;
use aster_units::{ChannelId, Instant};

struct Script {
    tap: WaveTap,
    now: u64,
}

const READY: &[u8] = &[0xe0, 0xe0];
const BUSY: &[u8] = &[0x80, 0x80];

impl Script {
    fn new(filter: WaveFilter) -> Self {
        Script { tap: WaveTap::new(ChannelId(0), 4, filter), now: 0 }
    }

    fn run(&mut self, name: &'static str, way: u32, latches: &[Latch], out: &[u8]) {
        let at = |n: u64| Instant::from_picos(self.now + n);
        self.tap.transaction(at(0), at(900), name);
        self.tap.chips(at(0), 1 << way);
        for (i, &latch) in (0..).zip(latches) {
            self.tap.latch(at(10 * i), at(10 * i + 10), latch);
        }
        if !out.is_empty() {
            let timing = BurstTiming { first: at(500), last: at(600), mode: DataMode::NvDdr2 };
            self.tap.burst(timing, true, out);
        }
        self.tap.chips(at(900), 0);
        self.now += 1_000;
    }

    fn begin(&mut self, name: &'static str, way: u32, command: u8, row: u8) {
        let columns = if command == 0x60 { 0 } else { 2 };
        let mut latches: Vec<Latch> = [Latch::Command(command)].into();
        latches.extend([Latch::Address(0)].iter().cycle().take(columns));
        latches.extend([row, 0, 0].map(Latch::Address));
        self.run(name, way, &latches, &[]);
    }
    fn poll(&mut self, way: u32, status: &[u8]) {
        self.run("read status", way, &[Latch::Command(0x70)], status);
    }
    fn poll_row(&mut self, way: u32, row: u8, status: &[u8]) {
        let row = [row, 0, 0].map(Latch::Address);
        self.run("read status", way, &[&[Latch::Command(0x78)], &row[..]].concat(), status);
    }
    fn transfer(&mut self, way: u32) {
        let latches = [Latch::Command(0x05), Latch::Address(0), Latch::Address(0), Latch::Command(0xe0)];
        self.run("read transfer", way, &latches, &[1, 2, 3]);
    }

    /// Names and times (in transactions from the beginning) of what was kept.
    fn kept(&self) -> Vec<(u64, &'static str)> {
        let changes = self.tap.waveform().changes().to_vec();
        let names =
            changes.iter().filter(|c| c.signal == Signal::Transaction).filter_map(|c| match c.level {
                Level::Text(Label::Name(name)) => Some((c.at.as_picos() / 1_000, name)),
                _ => None,
            });
        names.collect()
    }
}

#[test]
fn the_first_read_program_and_erase_are_kept_from_trigger_to_end_and_no_more() {
    let mut s = Script::new(WaveFilter::first_of_each());
    s.run("set features", 0, &[Latch::Command(0xef), Latch::Address(1)], &[]);
    s.poll(0, READY);
    s.begin("program", 1, 0x80, 4); // 2, kept
    s.begin("read", 0, 0x00, 9); // 3, kept
    s.poll(1, BUSY); // 4, kept
    s.begin("program", 2, 0x80, 5); // another's
    s.poll(0, READY); // 6, kept: of the read
    s.poll(2, BUSY); // another's
    s.transfer(0); // 8, kept: ends the read
    s.poll(1, READY); // 9, kept: ends the program
    s.begin("read", 0, 0x00, 10); // the second
    s.poll(0, READY);
    s.transfer(0);
    assert!(!s.tap.is_complete());
    s.begin("erase", 3, 0x60, 0); // 13, kept
    s.poll(3, READY); // 14, kept
    assert!(s.tap.is_complete());
    s.begin("erase", 3, 0x60, 0);
    let want = [
        (2, "program"),
        (3, "read"),
        (4, "read status"),
        (6, "read status"),
        (8, "read transfer"),
        (9, "read status"),
        (13, "erase"),
        (14, "read status"),
    ];
    assert_eq!(s.kept(), want);
}

#[test]
fn luns_behind_one_chip_enable_are_told_apart_by_their_rows() {
    let mut s = Script::new(WaveFilter::Operations { begin: ["erase"].into(), each: 1 });
    s.begin("erase", 0, 0x60, 0x20); // 0, kept
    s.begin("program", 0, 0x80, 0xa0);
    s.poll_row(0, 0xa0, READY);
    s.poll_row(0, 0x20, BUSY); // 3, kept
    s.poll_row(0, 0x20, READY); // 4, kept
    s.poll_row(0, 0x20, READY);
    let want = [(0, "erase"), (3, "read status"), (4, "read status")];
    assert_eq!(s.kept(), want);
}

#[test]
fn an_operation_that_was_given_up_does_not_take_the_polls_of_the_next() {
    let mut s = Script::new(WaveFilter::Operations { begin: ["read"].into(), each: 1 });
    s.begin("read", 0, 0x00, 1);
    s.poll(0, BUSY);
    s.begin("program", 0, 0x80, 2);
    s.poll(0, READY);
    assert!(s.tap.is_complete());
    assert_eq!(s.kept(), [(0, "read"), (1, "read status")]);
}

#[test]
fn as_many_operations_of_a_name_are_kept_as_asked_for() {
    let mut s = Script::new(WaveFilter::Operations { begin: ["read", "read id"].into(), each: 2 });
    for way in 0..3 {
        s.begin("read", way, 0x00, 1);
    }
    for way in 0..3 {
        s.transfer(way);
    }
    // Its bytes come in the same transaction, so the capture waits for nothing more.
    s.run("read id", 0, &[Latch::Command(0x90), Latch::Address(0)], &[0x2c, 0x88]);
    s.run("read id", 0, &[Latch::Command(0x90), Latch::Address(0x20)], b"ONFI");
    assert!(s.tap.is_complete());
    assert_eq!(s.kept().iter().filter(|(_, name)| *name == "read").count(), 2);
    assert_eq!(s.kept().iter().filter(|(_, name)| *name == "read transfer").count(), 2);
    assert_eq!(s.kept().len(), 6);
}
