//! Garbage collection where blocks fail under it, and where the power goes between a block's last copy and
//! its erase.

use super::bench::{Bench, config};
use super::recovery::{PAGE, roomy};
use crate::journal::log_page::Header;
use crate::terms::block::{BlockIndex, BlockState};
use crate::terms::sizes::PROGRAM_ATTEMPTS;
use crate::{Boot, Capacity, DriveState, FtlConfig};
use aster_units::{Content, Lpn, LunIndex};
use std::vec;
use std::vec::Vec;

const LUN: LunIndex = LunIndex(0);

/// A drive of which the first LUN's oldest block is the next to be collected. Of the pages that were in it,
/// which are given as well, the last one alone counts.
fn with_a_victim(config: FtlConfig) -> (Bench, BlockIndex, Vec<u64>) {
    let bench = Bench::fresh(config);
    let luns = u64::from(config.geometry.total_luns());
    (0..8 * luns).for_each(|lpn| bench.write(lpn, 1));
    bench.flush();
    let of = |lpn: u64| bench.block_of(bench.place_of(Lpn(lpn as u32)).unwrap());
    let victim = of(0);
    let there: Vec<_> = (0..8).map(|n| n * luns).filter(|&lpn| of(lpn) == victim).collect();
    there[..there.len() - 1].iter().for_each(|&lpn| bench.write(lpn, 2));
    bench.flush();
    bench.write_log_page();
    assert_eq!(bench.block_table()[victim.at()].state, BlockState::Closed);
    (bench, victim, there)
}

/// A copy that fails as often as it is tried costs its block a try, and no more: with other free blocks there
/// the LUN goes on.
#[test]
fn copies_that_fail_while_there_are_free_blocks_do_not_end_the_drive() {
    let capacity = Capacity::OverProvisioning(60.0);
    let (bench, victim, there) = with_a_victim(FtlConfig { capacity, ..config(Content::Full) });
    bench.cells.borrow_mut().next_programs_fail = vec![LUN; PROGRAM_ATTEMPTS as usize];
    // As a shutdown does to have room.
    bench.collect_ahead(bench.ftl.free_blocks(LUN) as u32);
    bench.rest();
    assert!(bench.cells.borrow().next_programs_fail.is_empty(), "no copy was tried so often");
    assert!(!bench.is_full(LUN));
    assert_eq!(bench.ftl.state(), DriveState::Ready);
    // The block is collected all the same.
    assert!(there.iter().all(|&lpn| bench.block_of(bench.place_of(Lpn(lpn as u32)).unwrap()) != victim));
    bench.write(0, 9);
    bench.flush();
    assert_eq!(bench.holds(0), vec![9; PAGE as usize]);
    assert_eq!(bench.holds(there[there.len() - 1]), vec![1; PAGE as usize]);
}

/// The last page of the log, as it stands on flash.
fn last_log_page(bench: &Bench) -> Header {
    let page = bench.cells.borrow().content(bench.last_log_page()).unwrap();
    Header::decode(&page).expect("a log page").0
}

/// A page of the log that is written between a block's last copy and its erase names the block, since it may
/// not have all its moves. The next one, which knows them to be told, does not. Each copy counts one more
/// than its original.
#[test]
fn a_collected_block_is_listed_until_its_moves_are_journaled() {
    let (mut bench, victim, there) = with_a_victim(roomy(1));
    let record = |bench: &Bench, lpn: u64| {
        let at = bench.place_of(Lpn(lpn as u32)).unwrap();
        bench.cells.borrow().record(at).unwrap()
    };
    let counts = there[there.len() - 1];
    let before = record(&bench, counts);
    bench.collect_ahead(bench.ftl.free_blocks(LUN) as u32);
    let emptied = || bench.collected().contains(&victim);
    while !emptied() {
        bench.exec.advance_to(bench.exec.next_deadline().expect("the block is being emptied"));
    }
    let number = bench.log_number();
    bench.ask_for_log();
    while bench.log_number() == number {
        bench.exec.advance_to(bench.exec.next_deadline().expect("a log page is being written"));
    }
    assert_eq!(last_log_page(&bench).collected, [victim]);
    assert!(!emptied(), "the log has been told of all");
    let copy = record(&bench, counts);
    assert_eq!((copy.sequence, copy.copy), (before.sequence, before.copy + 1));
    bench = bench.restart();
    assert_eq!((bench.holds(there[0])[0], bench.holds(counts)[0]), (2, 1));
    assert_eq!(bench.ftl.stats().boot, Boot::Recovered);
    // All of it has moved.
    assert_eq!(bench.valid_units_in(victim), 0);
}
