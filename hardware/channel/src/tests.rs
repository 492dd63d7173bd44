//! The cycle rules, calculated by hand, against a package that only records what it sees.
//!
//! The clock period is 10 ns. A push at 0 is sampled at once and starts two cycles later, at 20 ns.
//! Cycles below count from there.

use crate::{BusTiming, CycleTable, Ecc, Engine, EngineClock, EngineConfig, StageConfig};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_exec::Exec;
use aster_ports::channel::{ChannelPort, TxnError, TxnFault, TxnResult};
use aster_ports::dram::Dram;
use aster_ports::layout::{PageLayout, Placement};
use aster_ports::package::{
    BurstTiming, DataIn, DataMode, DataOut, Interface, Package, ProtocolError, Shown,
};
use aster_ports::resource::{Bandwidth, SharedBandwidth};
use aster_txn::{Descriptor, Direction, Latch, Txn};
use aster_units::*;
use core::cell::RefCell;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    Select,
    Release,
    Command(u8),
    Address(u8),
    Out { last: u64 },
    In { last: u64 },
}
use Call::*;

/// Way, nanoseconds, call.
type Log = Rc<RefCell<Vec<(u8, u64, Call)>>>;

struct Fake {
    way: u8,
    log: Log,
}

/// The command that the fake package objects to.
const REFUSED: u8 = 0xee;
const STATUS: u8 = 0xe0;

fn nanos(at: Instant) -> u64 {
    at.since(Instant::ZERO).as_nanos()
}

impl Fake {
    fn note(&self, at: Instant, call: Call) {
        self.log.borrow_mut().push((self.way, nanos(at), call));
    }
}

impl Package for Fake {
    fn select(&mut self, at: Instant, on: bool) -> Result<(), ProtocolError> {
        self.note(at, if on { Select } else { Release });
        Ok(())
    }
    fn latch(&mut self, at: Instant, latch: Latch) -> Result<(), ProtocolError> {
        match latch {
            Latch::Command(REFUSED) => return Err(ProtocolError::UnexpectedCommand { command: REFUSED }),
            Latch::Command(value) => self.note(at, Command(value)),
            Latch::Address(value) => self.note(at, Address(value)),
        }
        Ok(())
    }
    fn data_out<R>(
        &mut self,
        timing: BurstTiming,
        length: u32,
        take: impl FnOnce(&DataOut<'_>) -> R,
    ) -> Result<R, ProtocolError> {
        self.note(timing.first, Out { last: nanos(timing.last) });
        Ok(take(&DataOut::Bytes(&[STATUS; LONGEST as usize][..length as usize])))
    }
    fn shows(&mut self, _: Instant) -> Option<Shown<'_>> {
        Some(Shown { data: DataOut::Bytes(&[STATUS; 8]), twice: true })
    }
    fn takes_twice(&self) -> bool {
        true
    }
    fn data_in(&mut self, timing: BurstTiming, _: u32, _: DataIn<'_>) -> Result<(), ProtocolError> {
        self.note(timing.first, In { last: nanos(timing.last) });
        Ok(())
    }
    fn ready(&self, _: Instant) -> bool {
        true
    }
    fn ready_from(&self, at: Instant) -> Instant {
        at
    }
}

const fn ns(n: u64) -> Duration {
    Duration::from_nanos(n)
}

/// In cycles: CE# setup 2, hold 1, latch 3, read preamble 2 and postamble 1, tWB 10, tWHR 8, tADL 11, tCCS
/// 31, tRHW 10; a byte takes two.
const TIMING: BusTiming = BusTiming {
    interface: Interface::POWER_ON,
    t_cs: ns(15),
    t_ch: ns(5),
    t_ceh: ns(12),
    t_wc: ns(25),
    t_hold: ns(5),
    t_pair_out: ns(40),
    t_pair_in: ns(40),
    t_wpre: ns(0),
    t_wpst: ns(0),
    t_rpre: ns(11),
    t_rpst: ns(1),
    t_wb: ns(95),
    t_whr: ns(75),
    t_adl: ns(101),
    t_ccs: ns(301),
    t_rhw: ns(98),
};
const CLOCK: EngineClock = EngineClock { period: ns(10), fifo_latency: 2, gap: 2 };
const LONGEST: u32 = 16_384 + 1_664;

type Outcome = Result<TxnResult, TxnFault>;

struct Bench {
    exec: Exec,
    port: Rc<ChannelPort>,
    log: Log,
    results: Rc<RefCell<Vec<(usize, Outcome)>>>,
    memory: SharedBandwidth,
    _engine: Rc<Engine<Fake>>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.exec.shut_down();
    }
}

impl Bench {
    fn new() -> Self {
        Bench::with(CLOCK, 0)
    }

    fn with(clock: EngineClock, memory_bytes_per_second: u64) -> Self {
        let exec = Exec::new();
        let layout = PageLayout::new(4, LONGEST, 256, 21, 16, Placement::Interleaved).unwrap();
        let port = ChannelPort::new(&exec, ChannelId(0), 2, 4);
        let memory = Bandwidth::new(memory_bytes_per_second);
        let config = EngineConfig {
            clock,
            tables: vec![CycleTable::new(&TIMING, &clock).unwrap()],
            stages: StageConfig {
                layout,
                ecc: Ecc::new(12, 14, 13, &layout).unwrap(),
                correction: Default::default(),
                detect_latency: Duration::ZERO,
                correct_latency: Duration::ZERO,
                solver: None,
            },
            longest_burst: LONGEST,
            memory: memory.clone().into(),
        };
        let log = Log::default();
        let packages = (0..2).map(|way| Fake { way, log: log.clone() }).collect();
        let dram = Dram::new(Content::Full, 4, 16, 4, 1, 0);
        let engine = Engine::start(&port, &dram, packages, config, &Recorder::default());
        Bench { exec, port, log, results: Rc::default(), memory, _engine: engine }
    }

    fn issue(&self, slot: usize, at: u64, build: impl FnOnce(&mut Txn)) {
        build(&mut self.port.txn(slot));
        let (port, results) = (self.port.clone(), self.results.clone());
        self.port.issue(slot, Instant::ZERO + ns(at), Duration::ZERO);
        self.exec.spawn(async move {
            let result = port.finished(slot).await.map_err(|fault| *fault);
            results.borrow_mut().push((slot, result));
        });
    }

    fn run(&self) -> Vec<(usize, Outcome)> {
        while let Some(next) = self.exec.next_deadline() {
            self.exec.advance_to(next);
        }
        self.results.take()
    }

    /// Runs one transaction, pushed at 0, and returns what the package saw, in cycles from the
    /// transaction's start.
    fn cycles(build: impl FnOnce(&mut Txn)) -> Vec<(u64, Call)> {
        let bench = Bench::new();
        bench.issue(0, 0, build);
        assert!(bench.run()[0].1.is_ok());
        let cycle = |at: u64| {
            assert_eq!(at % 10, 0, "everything happens at an edge of the clock");
            at / 10 - 2
        };
        let calls = bench.log.take();
        let call = |call| match call {
            Out { last } => Out { last: cycle(last) },
            In { last } => In { last: cycle(last) },
            other => other,
        };
        calls.into_iter().map(|(_, at, c)| (cycle(at), call(c))).collect()
    }

    /// When each transaction selected a chip, in order: way and nanoseconds.
    fn selections(&self) -> Vec<(u8, u64)> {
        self.log.borrow().iter().filter(|c| c.2 == Select).map(|c| (c.0, c.1)).collect()
    }
}

fn read_status(txn: &mut Txn) {
    txn.begin("status", 1).cmd(0x70).describe(Descriptor::mailbox_out()).data_read(1).end();
}

fn command_only(txn: &mut Txn, chips: u32) {
    txn.begin("reset", chips).cmd(0xff).end();
}

#[test]
fn minima_round_up_to_the_clock() {
    let table = CycleTable::new(&TIMING, &CLOCK).unwrap();
    assert_eq!((table.chip_setup, table.chip_hold, table.latch, table.gap), (2, 1, 3, 2));
    assert_eq!((table.read_preamble, table.read_postamble), (2, 1));
    assert_eq!((table.t_wb, table.t_whr, table.t_adl, table.t_ccs, table.t_rhw), (10, 8, 11, 31, 10));
    assert_eq!(table.lead, 1 + 2 + 2 + 1, "WE# falls half a latch, rounded down, after the chip's setup");
    // Bursts round up as a whole: 3 bytes of 20 ns, and of 11 ns.
    assert_eq!(table.strobes(true, 3), 6);
    let odd = CycleTable::new(&BusTiming { t_pair_in: ns(22), ..TIMING }, &CLOCK).unwrap();
    assert_eq!(odd.strobes(false, 3), 4);
    let exact = CycleTable::new(&BusTiming { t_wc: ns(30), ..TIMING }, &CLOCK).unwrap();
    assert_eq!(exact.latch, 3);
}

#[test]
fn a_push_is_sampled_at_the_next_edge() {
    for (pushed, start) in [(0, 20), (1, 30), (9, 30), (10, 30), (13, 40)] {
        let bench = Bench::new();
        bench.issue(0, pushed, read_status);
        bench.run();
        assert_eq!(bench.selections(), [(0, start)], "pushed at {pushed}");
    }
}

#[test]
fn fifo_latency_and_gap_are_counted_in_cycles() {
    // A command ends at cycle 2 + 3 + 10 + 1 = 16. CE# stays high for tCEH, two cycles, whatever the gap.
    for (fifo_latency, gap, first, second) in
        [(0, 0, 0, 160 + 20), (5, 2, 50, 50 + 160 + 50), (2, 4, 20, 20 + 160 + 40), (2, 2, 20, 20 + 160 + 20)]
    {
        let bench = Bench::with(EngineClock { period: ns(10), fifo_latency, gap }, 0);
        bench.issue(0, 0, |t| command_only(t, 1));
        bench.issue(1, 0, |t| command_only(t, 2));
        bench.run();
        assert_eq!(bench.selections(), [(0, first), (1, second)], "{fifo_latency} and {gap}");
    }
}

#[test]
fn twb_counts_from_the_last_latch() {
    let want = [(0, Select), (5, Command(0xff)), (5 + 10 + 1, Release)];
    assert_eq!(Bench::cycles(|t| command_only(t, 1)), want);
}

#[test]
fn twhr_counts_from_the_last_latch_and_trhw_holds_the_chip() {
    // Two cycles of preamble, one of postamble. The next transaction keeps six of tRHW's ten.
    let want = [(0, Select), (5, Command(0x70)), (5 + 8 + 2, Out { last: 17 }), (18 + 10 - 6 + 1, Release)];
    assert_eq!(Bench::cycles(read_status), want);
}

#[test]
fn trhw_lies_between_data_out_and_a_latch() {
    let calls = Bench::cycles(|t| {
        t.begin("two", 1).cmd(0x70).describe(Descriptor::mailbox_out()).data_read(1).cmd(0x00).end();
    });
    assert_eq!(calls[3], (18 + 10 + 3, Command(0x00)));
}

#[test]
fn tadl_counts_from_the_last_address() {
    let calls = Bench::cycles(|t| {
        t.begin("features", 1).cmd(0xef).addr(1).describe(Descriptor::mailbox_in(4)).data_write(4).end();
    });
    let want = [(0, Select), (5, Command(0xef)), (8, Address(1)), (8 + 11, In { last: 27 }), (28, Release)];
    assert_eq!(calls, want);
}

#[test]
fn tccs_follows_a_column_change_either_way() {
    let out = Bench::cycles(|t| {
        t.begin("column", 1).cmd(0x05).column(Column(0)).cmd(0xe0);
        t.describe(Descriptor::mailbox_out()).data_read(2).end();
    });
    assert_eq!(out[4..6], [(14, Command(0xe0)), (14 + 31 + 2, Out { last: 51 })]);
    let input = Bench::cycles(|t| {
        t.begin("column", 1).cmd(0x85).column(Column(0));
        t.describe(Descriptor::mailbox_in(0)).data_write(2).end();
    });
    assert_eq!(input[3..5], [(11, Address(0)), (11 + 31, In { last: 46 })]);
}

#[test]
fn a_timer_overlaps_the_waits_and_never_adds() {
    let first_strobe = |timer: u64| {
        let calls = Bench::cycles(|t| {
            t.begin("status", 1).cmd(0x70).timer(ns(timer));
            t.describe(Descriptor::mailbox_out()).data_read(1).end();
        });
        calls[2].0
    };
    // tWHR of 8 cycles, then the preamble of 2.
    assert_eq!([0, 50, 80].map(first_strobe), [15; 3]);
    assert_eq!([81, 90, 120].map(first_strobe), [5 + 9 + 2, 5 + 9 + 2, 5 + 12 + 2]);
    let release = |timer: u64| {
        Bench::cycles(|t| {
            t.begin("reset", 1).cmd(0xff).timer(ns(timer)).end();
        })[2]
    };
    assert_eq!([40, 100, 130].map(release), [(16, Release), (16, Release), (5 + 13 + 1, Release)]);
}

/// A raw burst of `bytes` of buffer 0.
fn raw(txn: &mut Txn, direction: Direction, bytes: u32) {
    txn.describe(Descriptor::raw(direction, BufferId(0), 0));
    match direction {
        Direction::Out => txn.data_read(bytes),
        Direction::In => txn.data_write(bytes),
    };
}

/// The result of reading or writing 20 bytes after one latch, with a memory of this rate.
fn paced(direction: Direction, bytes_per_second: u64) -> (u64, Vec<(u8, u64, Call)>) {
    let bench = Bench::with(CLOCK, bytes_per_second);
    bench.issue(0, 0, |t| {
        t.begin("paced", 1).cmd(0x85);
        raw(t, direction, 8);
        t.end();
    });
    let finished = nanos(bench.run()[0].1.unwrap().finished);
    (finished, bench.log.take())
}

#[test]
fn words_of_a_slow_memory_pause_the_strobes_of_a_write_burst() {
    // A word of eight bytes takes 16 cycles on the bus, and 800 cycles in a memory of 1 MB/s. Delivered in
    // cycle 800, it may begin in cycle 801.
    let (finished, log) = paced(Direction::In, 1_000_000);
    let cycles = |n: u64| 20 + 10 * n;
    assert_eq!(log[2], (0, cycles(801), In { last: cycles(801 + 16) }));
    assert_eq!(finished, cycles(801 + 16 + 1));
    // 500 MB/s: 16 ns per word. The first word arrives long before tCCS is over.
    let (_, log) = paced(Direction::In, 500_000_000);
    assert_eq!(log[2], (0, cycles(5 + 31), In { last: cycles(5 + 31 + 16) }));
}

#[test]
fn the_last_word_read_goes_to_memory_before_the_channel_is_free() {
    // Strobes from cycle 15 to 31. CE# is released at 37: after tRHW, minus what the next transaction
    // keeps of it.
    let cycles = |n: u64| 20 + 10 * n;
    let (finished, log) = paced(Direction::Out, 1_000_000);
    assert_eq!(log[2], (0, cycles(15), Out { last: cycles(31) }));
    assert_eq!(log[3].2, Release);
    assert_eq!(finished, cycles(800 + 1));
    let (unlimited, same) = paced(Direction::Out, 0);
    assert_eq!((same, unlimited), (log.clone(), log[3].1));
}

#[test]
fn a_full_fifo_pauses_the_strobes_of_a_read_burst() {
    // 600 words of 16 cycles each, to a memory that takes one every 800 cycles. The FIFO holds 512.
    let bench = Bench::with(CLOCK, 1_000_000);
    bench.issue(0, 0, |t| {
        t.begin("full", 1).cmd(0x00);
        raw(t, Direction::Out, 8 * 600);
        t.end();
    });
    let finished = nanos(bench.run()[0].1.unwrap().finished);
    let cycles = |n: u64| 20 + 10 * n;
    // Word 599 needs the room of word 87, which memory took in cycle 88 * 800.
    assert_eq!(bench.log.borrow()[2].2, Out { last: cycles(88 * 800 + 1 + 16) });
    assert_eq!(finished, cycles(600 * 800 + 1));
}

#[test]
fn others_in_memory_come_first() {
    let bench = Bench::with(CLOCK, 1_000_000);
    // Another user's 10 bytes take 10 µs.
    bench.memory.reserve(Instant::ZERO, 10);
    bench.issue(0, 0, |t| {
        t.begin("late", 1).cmd(0x85);
        raw(t, Direction::In, 8);
        t.end();
    });
    bench.run();
    assert_eq!(bench.log.borrow()[2].1, 10_000 + 8_000 + 10);
}

#[test]
fn ddr_strobes_in_pairs_and_register_data_twice() {
    let table = |mode, t_pair_out| {
        let interface = Interface { mode, timing_mode: 0 };
        CycleTable::new(&BusTiming { interface, t_pair_out, t_pair_in: t_pair_out, ..TIMING }, &CLOCK)
            .unwrap()
    };
    let toggle = table(DataMode::NvDdr2, ns(30));
    assert_eq!((toggle.transfers(1, true), toggle.transfers(4, true)), (2, 8));
    assert_eq!((toggle.transfers(1, false), toggle.transfers(6, false)), (2, 6));
    assert_eq!((toggle.strobes(true, 2), toggle.strobes(true, 3), toggle.strobes(true, 8)), (3, 5, 12));
    let sdr = table(DataMode::Sdr, ns(60));
    assert_eq!((sdr.transfers(1, true), sdr.transfers(3, false)), (1, 3));
    // 2.5 ns per transfer are two phases; 3 ns round up to three.
    assert_eq!(table(DataMode::NvDdr2, ns(5)).byte_phases_out, 2);
    assert_eq!(table(DataMode::NvDdr2, ns(6)).byte_phases_out, 3);
    // RE# is low for as many phases as it is high, so 17 ns round up to 17.5.
    assert_eq!(table(DataMode::Sdr, ns(34)).byte_phases_out, 14);
}

#[test]
fn nv_ddr_steps_begin_on_an_edge_of_clk() {
    let interface = Interface { mode: DataMode::NvDdr, timing_mode: 3 };
    let timing = BusTiming { interface, t_pair_out: ns(15), t_pair_in: ns(15), ..TIMING };
    let table = CycleTable::new(&timing, &CLOCK).unwrap();
    assert_eq!((table.grain, table.byte_phases_in), (2, 8), "15 ns of CLK take two cycles");
    for entry in [
        table.chip_setup,
        table.chip_hold,
        table.gap,
        table.latch,
        table.read_preamble,
        table.read_postamble,
        table.t_wb,
        table.t_whr,
        table.t_adl,
        table.t_ccs,
        table.t_rhw,
        table.lead,
    ] {
        assert_eq!(entry % 2, 0);
    }
    assert_eq!((table.latch, table.latch_from, table.latch_hold), (4, 4 * 8 - 8, 8));
    assert_eq!((table.wait(ns(10)), table.wait(ns(21))), (2, 4));
}

#[test]
fn mailbox_bytes_of_several_bursts_follow_one_another() {
    let bench = Bench::new();
    bench.issue(0, 0, |t| {
        t.begin("twice", 1).cmd(0x70).describe(Descriptor::mailbox_out()).data_read(1);
        t.cmd(0x70).describe(Descriptor::mailbox_out()).data_read(2).end();
    });
    assert_eq!(bench.run()[0].1.unwrap().mailbox, 0xe0_e0e0);
}

#[test]
fn a_clock_too_fast_for_the_registers_is_refused_by_entry() {
    let error =
        CycleTable::new(&TIMING, &EngineClock { period: Duration::from_picos(50), ..CLOCK }).unwrap_err();
    assert_eq!(error.entry, "chip_setup");
}

#[test]
fn transactions_are_atomic_and_in_the_order_of_issue() {
    let bench = Bench::new();
    for (slot, chips) in [(2, 1), (0, 2), (3, 1), (1, 2)] {
        bench.issue(slot, 0, |t| command_only(t, chips));
    }
    let order: Vec<usize> = bench.run().iter().map(|r| r.0).collect();
    assert_eq!(order, [2, 0, 3, 1]);
    let log = bench.log.take();
    assert_eq!(log.len(), 12);
    for (three, way) in log.chunks(3).zip([0, 1, 0, 1]) {
        assert!(three.iter().all(|c| c.0 == way), "{three:?}");
        assert_eq!([three[0].2, three[1].2, three[2].2], [Select, Command(0xff), Release]);
    }
    assert!(log.is_sorted_by_key(|c| c.1));
}

#[test]
fn each_error_leaves_the_channel_usable() {
    let outward = Descriptor::mailbox_out;
    type Build = fn(&mut Txn);
    type Expected = fn(TxnError) -> bool;
    let cases: [(&str, Build, Expected); 10] = [
        ("no chip", |t| command_only(t, 0), |e| matches!(e, TxnError::Word(_))),
        (
            "an unknown word",
            |t| {
                t.load_words("words", &[1 << 60 | 1, 15 << 60, 6 << 60]);
            },
            |e| matches!(e, TxnError::Word(_)),
        ),
        (
            "no end",
            |t| {
                t.begin("open", 1).cmd(0xff);
            },
            |e| e == TxnError::Unframed,
        ),
        (
            "no descriptor",
            |t| {
                t.begin("bare", 1).cmd(0x70).data_read(1).end();
            },
            |e| e == TxnError::Descriptor,
        ),
        (
            "the other direction",
            |t| {
                t.begin("turned", 1).cmd(0x70).describe(Descriptor::mailbox_in(0)).data_read(1).end();
            },
            |e| e == TxnError::Descriptor,
        ),
        (
            "too long",
            |t| {
                t.begin("long", 1);
                (0..200).for_each(|_| {
                    t.cmd(0);
                });
                t.end();
            },
            |e| e == TxnError::TooLong,
        ),
        (
            "longer than page and spare",
            |t| {
                t.begin("wide", 1).cmd(0).describe(Descriptor::mailbox_out()).data_read(LONGEST + 1).end();
            },
            |e| e == TxnError::Length { bytes: LONGEST + 1 },
        ),
        (
            "more than a mailbox holds",
            |t| {
                t.begin("post", 1).cmd(0).describe(Descriptor::mailbox_in(0)).data_write(9).end();
            },
            |e| e == TxnError::Frame,
        ),
        ("an unknown chip", |t| command_only(t, 4), |e| e == TxnError::Chip),
        (
            "an objection",
            |t| {
                t.begin("refused", 1).cmd(REFUSED).end();
            },
            |e| e == TxnError::Protocol(ProtocolError::UnexpectedCommand { command: REFUSED }),
        ),
    ];
    for (name, build, expected) in cases {
        let bench = Bench::new();
        bench.issue(0, 0, build);
        bench.issue(1, 0, read_status);
        let results = bench.run();
        let fault = results.iter().find(|r| r.0 == 0).unwrap().1.unwrap_err();
        assert!(expected(fault.error), "{name}: {fault}");
        let good = results.iter().find(|r| r.0 == 1).unwrap().1.unwrap();
        assert_eq!(good.mailbox, u64::from(STATUS), "{name}");
        let log = bench.log.take();
        let count = |call| log.iter().filter(|c| c.2 == call).count();
        assert_eq!(count(Select), count(Release), "{name}: every chip is let go");
    }
    // Two packages that would drive the bus at once.
    let bench = Bench::new();
    bench.issue(0, 0, |t| {
        t.begin("both", 3).cmd(0x70).describe(outward()).data_read(1).end();
    });
    let fault = bench.run()[0].1.unwrap_err();
    assert_eq!(fault.error, TxnError::Protocol(ProtocolError::Contention));
    assert_eq!(bench.log.borrow().iter().filter(|c| c.2 == Release).count(), 2);
}
