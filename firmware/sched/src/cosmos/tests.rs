//! Figs 13 and 14 step by step, and a test that only the orders of Fig 10 can come out.

use super::dependency::DependencyChecker;
use super::priority::{Candidate, PriorityManager};
use super::station::ReservationStation;
use crate::loop_operation::{Operation, OperationKind};
use OperationKind::{Erase, ReadTransfer, ReadTrigger, RxDma, TxDma, Write};
use alloc::vec::Vec;
use aster_units::{BufferId, LunIndex, Rng};
use proptest::prelude::*;

/// Fig 10: the operations for a page of a host's read, of a host's write, and of garbage collection.
const READ: &[OperationKind] = &[ReadTrigger, ReadTransfer, TxDma];
const WRITE: &[OperationKind] = &[RxDma, Write];
const COPY: &[OperationKind] = &[ReadTrigger, ReadTransfer, Write];
const SETS: [&[OperationKind]; 4] = [READ, WRITE, COPY, &[Erase]];

/// Checker and station of one channel, and the issued operations, by kind and entry.
struct Bench {
    checker: DependencyChecker,
    station: ReservationStation,
    priorities: PriorityManager,
    ways: u8,
}

impl Bench {
    fn new(ways: u8) -> Self {
        Bench {
            checker: DependencyChecker::new(64),
            station: ReservationStation::new(u32::from(ways), 64),
            priorities: PriorityManager::new(1, ways),
            ways,
        }
    }
    fn deposit(&mut self, kinds: &[OperationKind], way: u8, entry: u32) {
        self.checker.deposit(kinds, LunIndex(u32::from(way)), BufferId(entry));
    }
    fn deliver(&mut self) -> Vec<Operation> {
        let mut delivered = Vec::new();
        while let Some((first, second)) = self.checker.deliver() {
            for operation in [Some(first), second].into_iter().flatten() {
                self.station.push(operation);
                delivered.push(operation);
            }
        }
        delivered
    }
    /// The operations that would be issued to the channel now if `idle` ways are idle, in order.
    fn order(&mut self, idle: &[u8]) -> Vec<(OperationKind, u32)> {
        let mut candidates: Vec<_> = idle
            .iter()
            .filter_map(|&way| {
                let lun = LunIndex(u32::from(way));
                self.station.head(lun).map(|head| Candidate { way, lun, kind: head.kind })
            })
            .collect();
        self.priorities.order(0, &mut candidates);
        candidates.iter().map(|c| (c.kind, self.station.head(c.lun).unwrap().buffer.0)).collect()
    }
    fn complete_host(&mut self) -> bool {
        let head = self.station.take_host().unwrap();
        self.checker.completed(&head)
    }
    fn complete(&mut self, way: u8) -> bool {
        let head = self.station.release(LunIndex(u32::from(way)));
        self.checker.completed(&head)
    }
}

fn named(operations: &[Operation]) -> Vec<(OperationKind, u32)> {
    operations.iter().map(|o| (o.kind, o.buffer.0)).collect()
}

/// LPN 0 is read; LPNs 1 and 2 are written; all lie on ways of one channel (C43).
#[test]
fn figures_13_and_14_come_out_step_by_step() {
    let mut bench = Bench::new(4);
    bench.deposit(READ, 0, 0);
    bench.deposit(WRITE, 1, 1);
    bench.deposit(WRITE, 2, 2);
    // Step 2-1: one operation of each set, two of the read's.
    let first = bench.deliver();
    assert_eq!(named(&first), [(ReadTrigger, 0), (ReadTransfer, 0), (RxDma, 1), (RxDma, 2)]);
    // Step 2-2: the read-trigger is issued and stays at its queue's head; the read-transfer waits behind it.
    assert_eq!(bench.order(&[0, 1, 2, 3]), [(ReadTrigger, 0)]);
    assert_eq!(bench.station.host_head().map(|head| head.buffer.0), Some(1));
    assert!(bench.order(&[1, 2, 3]).is_empty(), "way 0 works");
    assert!(bench.deliver().is_empty(), "nothing has been completed");
    // Step 2-3: the writes follow their RxDMA.
    assert!(!bench.complete_host() && !bench.complete_host());
    assert_eq!(named(&bench.deliver()), [(Write, 1), (Write, 2)]);
    // Step 2-4: the read-trigger has ended too. The writes go before the read-transfer, although that came
    // first.
    assert!(!bench.complete(0));
    assert!(bench.deliver().is_empty(), "the read-transfer has been delivered before");
    assert_eq!(bench.order(&[0, 1, 2, 3]), [(Write, 1), (Write, 2), (ReadTransfer, 0)]);
    // Step 2-5: the TxDMA follows the read-transfer.
    assert!(bench.complete(1) && bench.complete(2));
    assert!(!bench.complete(0));
    assert_eq!(named(&bench.deliver()), [(TxDma, 0)]);
    // Step 2-6.
    assert_eq!(bench.station.host_head().map(|head| head.kind), Some(TxDma));
    assert!(bench.complete_host());
    assert!(bench.station.is_empty() && bench.deliver().is_empty());
}

proptest! {
    /// A2 before A1 never comes out, whatever is deposited and whatever ends first; A1, B1, A2, B2 may (C32,
    /// C33).
    #[test]
    fn an_operation_is_delivered_only_after_those_before_it_have_been_completed(
        seed: u64,
        sets in 1usize..40,
        ways in 1u8..5,
    ) {
        let mut rng = Rng::new(seed);
        let mut bench = Bench::new(ways);
        let kinds: Vec<_> = (0..sets).map(|_| SETS[rng.below(SETS.len() as u64) as usize]).collect();
        let (mut delivered, mut completed) = (alloc::vec![0; sets], alloc::vec![0; sets]);
        let mut deposited = 0;
        while completed.iter().zip(&kinds).any(|(done, kinds)| *done < kinds.len()) {
            match rng.below(4) {
                0 if deposited < sets => {
                    let way = rng.below(u64::from(ways)) as u8;
                    bench.deposit(kinds[deposited], way, deposited as u32);
                    deposited += 1;
                }
                1 => for operation in bench.deliver() {
                    let set = operation.buffer.index();
                    prop_assert_eq!(operation.kind, kinds[set][delivered[set]], "a set's own order");
                    let waits_for = if operation.kind == ReadTransfer { delivered[set] - 1 }
                        else { delivered[set] };
                    prop_assert!(completed[set] >= waits_for, "{:?} came too early", operation.kind);
                    delivered[set] += 1;
                },
                2 => if let Some(head) = bench.station.host_head().copied() {
                    completed[head.buffer.index()] += 1;
                    let ended = bench.complete_host();
                    prop_assert_eq!(ended,
                        completed[head.buffer.index()] == kinds[head.buffer.index()].len());
                },
                _ => {
                    let way = rng.below(u64::from(bench.ways)) as u8;
                    if let Some(head) = bench.station.head(LunIndex(u32::from(way))).copied() {
                        completed[head.buffer.index()] += 1;
                        let ended = bench.complete(way);
                        prop_assert_eq!(ended,
                            completed[head.buffer.index()] == kinds[head.buffer.index()].len());
                    }
                }
            }
        }
        prop_assert!(bench.station.is_empty());
    }
}

#[test]
#[should_panic(expected = "out of its set's order")]
fn an_end_out_of_order_is_a_bug() {
    let mut checker = DependencyChecker::new(1);
    checker.deposit(READ, LunIndex(0), BufferId(0));
    let (_, transfer) = checker.deliver().unwrap();
    checker.completed(&transfer.unwrap());
}
