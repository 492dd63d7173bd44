//! Lanes in lockstep: what eight engines show, what it costs, and what becomes of the others when one lane
//! fails.

use super::*;
use aster_ports::channel::BusTap;
use aster_ports::flash::{FlashStatus, Outcome, Target};
use aster_ports::package::BurstTiming;
use aster_txn::Latch;

const LANES: usize = 8;
const EIGHT: Geometry = Geometry { channels: 8, ways: 1, ..GEOMETRY };
/// NV-DDR2 mode 4.
const FAST: (DataInterface, u8) = (DataInterface::NvDdr2, 4);
/// A page between its code words: 64 chunks of 256 and 21 bytes, and the OOB's.
const WHOLE: usize = 64 * 277 + 41;

fn eight(content: Content, change: impl FnOnce(&mut NandConfig, &mut FlashConfig)) -> Bench {
    let bench = Bench::with(EIGHT, content, Placement::Interleaved, FAST, change);
    for channel in 0..LANES {
        bench.bring_up_lun(bench.lane(channel));
        bench.fill(channel as u32, channel as u64 + 1);
    }
    bench
}

#[derive(Clone, Copy)]
enum Op {
    Read,
    Program,
    Erase,
}

/// Page 0 of block `n` on lane `n`, from buffer `first + n` or into it.
fn ends_of(bench: &Bench, op: Op, first: u32) -> Vec<LaneEnd> {
    let luns: Vec<Lun> = (0..LANES).map(|channel| bench.lane(channel)).collect();
    let target =
        |n: u32| Target { row: bench.row(n, 0), sectors: SectorRange::whole(4), buffer: BufferId(first + n) };
    let targets: Vec<Target> = (0..LANES as u32).map(target).collect();
    bench.run(async move || {
        let lanes: Vec<Lane<'_>> =
            luns.iter().zip(targets).map(|(lun, target)| Lane { lun, target }).collect();
        let mut ends = vec![Ok(Outcome::default()); LANES];
        match op {
            Op::Read => read_lanes(&lanes, &mut ends).await,
            Op::Program => program_lanes(&lanes, &mut ends).await,
            Op::Erase => erase_lanes(&lanes, &mut ends).await,
        }
        ends
    })
}

fn status_of(end: &LaneEnd) -> FlashStatus {
    end.as_ref().expect("it was carried out").status
}

/// What one channel's pins show, and when.
struct Timed(Rc<RefCell<Vec<(Instant, Seen)>>>);
impl BusTap for Timed {
    fn transaction(&mut self, _: Instant, _: Instant, _: &'static str) {}
    fn chips(&mut self, at: Instant, chips: u32) {
        self.0.borrow_mut().push((at, Seen::Chips(chips)));
    }
    fn latch(&mut self, _: Instant, edge: Instant, latch: Latch) {
        let seen = match latch {
            Latch::Command(c) => Seen::Cmd(c),
            Latch::Address(a) => Seen::Addr(a),
        };
        self.0.borrow_mut().push((edge, seen));
    }
    fn burst(&mut self, timing: BurstTiming, out: bool, bytes: &[u8]) {
        let seen = if out { Seen::Out(bytes.len()) } else { Seen::In(bytes.len()) };
        self.0.borrow_mut().push((timing.first, seen));
    }
    fn ready(&mut self, _: Instant, _: usize, _: bool) {}
}

/// PAGE PROGRAM (ONFI 5.1 §5.20), READ STATUS (§5.13), READ (§5.14), CHANGE READ COLUMN (§5.16) and BLOCK
/// ERASE (§5.11) of block n on lane n. Block n of 16 pages begins with row 0000n0h.
#[test]
fn eight_engines_show_the_same_cycles_at_the_same_times_for_different_blocks() {
    use Seen::*;
    let bench = eight(Content::Full, |_, _| {});
    let seen: Vec<_> = (0..LANES)
        .map(|channel| {
            let seen = Rc::new(RefCell::new(Vec::new()));
            bench.channels[channel].1.set_tap(Some(Box::new(Timed(seen.clone()))));
            seen
        })
        .collect();
    // Bring-up has just ended on the last lane, and what follows a transaction's end at once is sampled
    // a clock later.
    bench.exec.advance_to(bench.exec.now() + Duration::from_micros(1));
    for (op, first) in [(Op::Program, 0), (Op::Read, 8), (Op::Erase, 0)] {
        assert!(ends_of(&bench, op, first).iter().all(|end| status_of(end) == FlashStatus::Done));
    }
    let status = [Chips(1), Cmd(0x70), Out(1), Chips(0)];
    for (n, seen) in seen.iter().enumerate() {
        let row = Addr(0x10 * n as u8);
        let want = [
            &[Chips(1), Cmd(0x80), Addr(0), Addr(0), row.clone(), Addr(0), Addr(0)][..],
            &[In(WHOLE), Cmd(0x10), Chips(0)],
            &status,
            &[Chips(1), Cmd(0x00), Addr(0), Addr(0), row.clone(), Addr(0), Addr(0), Cmd(0x30), Chips(0)],
            &status,
            &[Chips(1), Cmd(0x05), Addr(0), Addr(0), Cmd(0xe0), Out(WHOLE), Chips(0)],
            &[Chips(1), Cmd(0x60), row, Addr(0), Addr(0), Cmd(0xd0), Chips(0)],
            &status,
        ]
        .concat();
        let cycles: Vec<Seen> = seen.borrow().iter().map(|(_, cycle)| cycle.clone()).collect();
        assert_eq!(cycles, want, "lane {n}");
    }
    let times = |n: usize| seen[n].borrow().iter().map(|(at, _)| *at).collect::<Vec<Instant>>();
    for n in 1..LANES {
        assert_eq!(times(n), times(0), "lane {n}");
    }
}

/// Each lane's data go to its own block and come back to its own buffer.
#[test]
fn a_composite_page_comes_back_as_it_was_programmed() {
    for content in [Content::Full, Content::Fingerprint] {
        let bench = eight(content, |_, _| {});
        ends_of(&bench, Op::Program, 0);
        for end in ends_of(&bench, Op::Read, 8) {
            assert_eq!(end, Ok(Outcome::default()));
        }
        assert!((0..8).all(|n| bench.same(n, 8 + n)), "{content:?}");
        ends_of(&bench, Op::Erase, 0);
        assert!(ends_of(&bench, Op::Read, 8).iter().all(|end| end.as_ref().is_ok_and(|o| o.erased)));
    }
}

/// Trigger, a poll and a transfer for a read, whatever the number of lanes.
#[test]
fn a_group_costs_what_one_operation_does() {
    let costs = FlashCosts { request: 0, transaction: 1_000, poll: 70 };
    let bench = eight(Content::Fingerprint, |_, flash| flash.costs = costs);
    let charged = |op| {
        let before = bench.core.stats().cycles;
        ends_of(&bench, op, 0);
        bench.core.stats().cycles - before
    };
    assert_eq!([Op::Program, Op::Read, Op::Erase].map(charged), [2_070, 3_070, 2_070]);
    let (lun, row, before) = (bench.lane(0), bench.row(1, 0), bench.core.stats().cycles);
    bench.run(async move || read_page(&lun, row, SectorRange::whole(4), BufferId(0)).await.unwrap());
    assert_eq!(bench.core.stats().cycles - before, 3_070, "one lane alone");
}

#[test]
fn a_group_ends_with_its_slowest_lane() {
    let us = Duration::from_micros;
    let bench = eight(Content::Fingerprint, |nand, _| nand.timing.deviation_die = us(20));
    ends_of(&bench, Op::Program, 0);
    let alone: Vec<Duration> = (0..LANES)
        .map(|n| {
            let (lun, row, from) = (bench.lane(n), bench.row(n as u32, 0), bench.exec.now());
            bench.run(async move || read_page(&lun, row, SectorRange::whole(4), BufferId(8)).await.unwrap());
            bench.exec.now().since(from)
        })
        .collect();
    let from = bench.exec.now();
    ends_of(&bench, Op::Read, 8);
    let together = bench.exec.now().since(from);
    let (fastest, slowest) = (alone.iter().min().unwrap(), alone.iter().max().unwrap());
    assert!(*slowest > *fastest + us(5), "{alone:?}");
    assert!(together >= *slowest && together < *slowest + us(2), "{together} and {alone:?}");
}

#[test]
fn a_lane_that_fails_is_named_and_the_others_are_good() {
    let bench = eight(Content::Full, |_, _| {});
    bench.inspect.fail_program(LunIndex(3), BlockAddr(3), PageInBlock(0));
    bench.inspect.fail_erase(LunIndex(6), BlockAddr(6));
    let failed = |ends: Vec<LaneEnd>| {
        let failed = |n: &usize| status_of(&ends[*n]) != FlashStatus::Done;
        (0..LANES).filter(failed).map(|n| (n, status_of(&ends[n]))).collect::<Vec<_>>()
    };
    assert_eq!(failed(ends_of(&bench, Op::Program, 0)), [(3, FlashStatus::Failed)]);
    let bits: Vec<u32> = (0..14).collect();
    assert!(bench.inspect.flip_bits(LunIndex(5), BlockAddr(5), PageInBlock(0), &bits));
    let ends = ends_of(&bench, Op::Read, 8);
    assert_eq!(ends[5].as_ref().map(|o| (o.status, o.failed_sectors)), Ok((FlashStatus::Uncorrectable, 1)));
    assert!((0..8).filter(|n| ![3, 5].contains(n)).all(|n| bench.same(n, 8 + n)));
    // A block that failed once is bad for good.
    let bad = [(3, FlashStatus::Failed), (6, FlashStatus::Failed)];
    assert_eq!(failed(ends_of(&bench, Op::Erase, 0)), bad);
}

#[test]
fn a_lane_that_never_gets_ready_is_named_and_the_others_are_good() {
    for for_good in [false, true] {
        let bench = eight(Content::Full, |_, flash| flash.poll.for_good = for_good);
        ends_of(&bench, Op::Program, 0);
        bench.inspect.force_busy(LunIndex(4), true);
        for (op, name) in [(Op::Read, "read"), (Op::Erase, "erase"), (Op::Program, "program")] {
            let from = bench.exec.now();
            for (n, end) in ends_of(&bench, op, 8).iter().enumerate() {
                match end {
                    Ok(outcome) => assert!(n != 4 && outcome.status == FlashStatus::Done, "{name}: lane {n}"),
                    Err(FlashError::NeverReady { transaction, row, .. }) => {
                        assert_eq!((n, *transaction, *row), (4, name, bench.row(4, 0)));
                    }
                    Err(FlashError::Transaction(_)) => assert_eq!(n, 4, "busy since the group before"),
                    Err(error) => panic!("{name}, lane {n}: {error}"),
                }
            }
            let took = bench.exec.now().since(from);
            assert!(took < Duration::from_millis(21 * 5), "{name}: {took}");
            assert_eq!(
                (0..LANES).map(|n| bench.lane(n).is_dead()).position(|dead| dead),
                for_good.then_some(4)
            );
        }
    }
}

/// A lane whose row is outside of its package: the first transaction of that lane fails.
#[test]
fn a_lane_whose_transaction_fails_takes_no_further_part() {
    let bench = eight(Content::Full, |_, _| {});
    let luns: Vec<Lun> = (0..2).map(|channel| bench.lane(channel)).collect();
    let row = bench.row(1, 0);
    let seen = bench.watch();
    let ends = bench.run(async move || {
        let target = |row, n| Target { row, sectors: SectorRange::whole(4), buffer: BufferId(n) };
        let lanes = [
            Lane { lun: &luns[0], target: target(RowAddr(0x00ff_ffff), 0) },
            Lane { lun: &luns[1], target: target(row, 1) },
        ];
        let mut ends = [Ok(Outcome::default()), Ok(Outcome::default())];
        program_lanes(&lanes, &mut ends).await;
        ends
    });
    assert!(!seen.borrow().contains(&Seen::Cmd(0x70)), "nobody asks lane 0 for its status");
    let lun = bench.lane(0);
    let whole = SectorRange::whole(4);
    bench.run(async move || read_page(&lun, row, whole, BufferId(9)).await.expect("the lane is usable"));
    let Err(FlashError::Transaction(fault)) = &ends[0] else { panic!("{:?}", ends[0]) };
    assert_eq!(fault.error, TxnError::Protocol(ProtocolError::Row { row: RowAddr(0x00ff_ffff) }));
    assert_eq!(status_of(&ends[1]), FlashStatus::Done);
}
