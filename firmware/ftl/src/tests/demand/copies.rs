//! The copies of the directory in eMMC: none of them is ever needed, and none is believed that isn't of the
//! stored map.

use super::bench::{Bench, Decisions, config};
use super::checked_host::CheckedHost;
use super::flash::Cells;
use crate::checkpoint::directory_copies::of_another_map;
use crate::{Boot, DriveState};
use aster_board::{EmmcCells, SharedEmmcCells};
use aster_ports::emmc::{EMMC_BLOCK_BYTES, EmmcCommand};
use aster_ports::host::{HostOp, HostStatus};
use aster_ports::medium::Nvram;
use aster_units::{Content, Lpn, Upa};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

/// What a drive without power keeps, as often as it is wanted.
struct Kept {
    config: crate::FtlConfig,
    cells: Cells,
    nvram: Vec<u8>,
    emmc: Vec<Vec<u8>>,
    copy_blocks: u32,
}

/// What a drive knows when it has booted.
#[derive(PartialEq, Debug)]
struct State {
    boot: Boot,
    directory: Vec<Upa>,
    changes: BTreeMap<Lpn, Upa>,
    valid: u64,
    log: u64,
    sequence: u64,
}

/// What it took to know that.
#[derive(PartialEq, Debug)]
struct Cost {
    nanos: u64,
    flash_reads: u64,
    emmc_reads: u64,
}

impl Kept {
    fn of(bench: Bench) -> Kept {
        let (config, copy_blocks) = (bench.config, bench.copy_blocks());
        let (cells, nvram, emmc) = bench.cut();
        let cells = cells.borrow().clone();
        let emmc = (0..emmc.blocks()).map(|block| emmc.block(block)).collect();
        Kept { config, cells, nvram: nvram.snapshot(), emmc, copy_blocks }
    }
    fn emmc(&self) -> SharedEmmcCells {
        let cells = EmmcCells::in_memory((self.emmc.len() * EMMC_BLOCK_BYTES) as u64);
        (0..).zip(&self.emmc).for_each(|(block, content)| cells.set_block(block, content));
        cells
    }
    /// Powers on with other content of the eMMC.
    fn power_on(&self, emmc: SharedEmmcCells) -> Bench {
        let nvram = Nvram::volatile(self.nvram.len());
        nvram.restore(&self.nvram);
        let cells = Rc::new(RefCell::new(self.cells.clone()));
        let bench = Bench::with_emmc(Decisions::default(), self.config, cells, nvram, emmc);
        bench.wait_booted();
        assert_eq!((bench.ftl.state(), bench.ftl.boot_error()), (DriveState::Ready, None));
        bench
    }
    fn boot_with(&self, change: impl Fn(&EmmcCells)) -> (Bench, State, Cost) {
        let emmc = self.emmc();
        change(&emmc);
        let bench = self.power_on(emmc);
        let (state, cost) = (state(&bench), cost(&bench));
        (bench, state, cost)
    }
    fn delete(&self, emmc: &EmmcCells, copy: u32) {
        let first = copy * self.copy_blocks;
        (first..first + self.copy_blocks).for_each(|at| emmc.set_block(at, &[0; EMMC_BLOCK_BYTES]));
    }
}

fn state(bench: &Bench) -> State {
    let (directory, changes) = bench.map().state();
    State {
        boot: bench.ftl.stats().boot,
        directory,
        changes,
        valid: bench.ftl.valid_units(),
        log: bench.log_number(),
        sequence: bench.last_sequence(),
    }
}

fn cost(bench: &Bench) -> Cost {
    let stats = bench.ftl.stats();
    Cost { nanos: stats.boot_nanos, flash_reads: stats.boot_reads, emmc_reads: bench.card.stats().reads }
}

/// A drive at work that has stored its map several times.
fn worked(requests: u64) -> (Bench, CheckedHost) {
    let bench = Bench::fresh(config(Content::Full));
    let mut host = CheckedHost::new(&bench);
    host.fill(&bench);
    host.work(&bench, requests, 11);
    (bench, host)
}

/// Lets a drive store its map, which a shutdown does.
fn store(bench: &Bench) {
    let before = bench.ftl.stats().checkpoints;
    assert_eq!(bench.shut_down(), HostStatus::Success);
    assert!(bench.ftl.stats().checkpoints > before);
}

#[test]
fn a_drive_without_either_copy_or_with_damaged_ones_comes_to_the_same_state_in_another_time() {
    for is_shut_down in [true, false] {
        let (bench, mut host) = worked(700);
        store(&bench);
        store_once_more(&bench, &mut host);
        if !is_shut_down {
            host.work(&bench, 60, 12);
            assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        }
        let kept = Kept::of(bench);
        let (bench, whole, cost) = kept.boot_with(|_| {});
        assert_eq!(whole.boot, if is_shut_down { Boot::Clean } else { Boot::Recovered });
        assert_eq!((bench.counter("gtd_copies_found"), bench.counter("gtd_from_emmc")), (2, 1));
        host.verify(&bench);
        drop(bench);

        let (bench, none, without) = kept.boot_with(|emmc| (0..2).for_each(|copy| kept.delete(emmc, copy)));
        assert_eq!((bench.counter("gtd_copies_found"), bench.counter("gtd_from_emmc")), (0, 0));
        assert_eq!(none, whole);
        assert!(
            without.flash_reads > cost.flash_reads && without.nanos != cost.nanos,
            "{without:?} {cost:?}"
        );
        assert_eq!((without.emmc_reads, cost.emmc_reads), (2, 2 + u64::from(kept.copy_blocks)));
        host.verify(&bench);
        drop(bench);

        let mut of_map = Vec::new();
        for copy in 0..2 {
            let (bench, one, left) = kept.boot_with(|emmc| kept.delete(emmc, copy));
            assert_eq!((&one, bench.counter("gtd_copies_found")), (&whole, 1), "without copy {copy}");
            let from_emmc = bench.counter("gtd_from_emmc") == 1;
            assert_eq!(&left, if from_emmc { &cost } else { &without });
            of_map.extend((!from_emmc).then_some(copy));
        }
        let &[of_map] = &of_map[..] else { panic!("one copy is the stored map's: {of_map:?}") };

        for block in 0..kept.copy_blocks {
            for byte in [0, 9, 17, 40, EMMC_BLOCK_BYTES - 1] {
                let (bench, damaged, _) = kept.boot_with(|emmc| {
                    let at = of_map * kept.copy_blocks + block;
                    let mut content = emmc.block(at);
                    content[byte] ^= 0x10;
                    emmc.set_block(at, &content);
                });
                // Behind the entries a block has what nobody reads.
                let entries = usize::try_from(bench.counter("map_pages")).unwrap();
                let is_read = block == 0 || byte < 4 * entries;
                assert_eq!(damaged, whole, "block {block}, byte {byte}");
                assert_eq!(bench.counter("gtd_from_emmc"), u64::from(!is_read), "{block}, {byte}");
            }
        }
    }
}

/// After a shutdown: what changes the map, and another shutdown.
fn store_once_more(bench: &Bench, host: &mut CheckedHost) {
    host.work(bench, 40, 13);
    host.finish(bench);
    store(bench);
}

/// The copies of a drive that has stored its map since, and was told nothing of it.
#[test]
fn copies_of_older_maps_are_not_read() {
    let (bench, mut host) = worked(700);
    store(&bench);
    let old: Vec<_> = (0..bench.emmc.blocks()).map(|block| bench.emmc.block(block)).collect();
    store_once_more(&bench, &mut host);
    store_once_more(&bench, &mut host);
    let kept = Kept::of(bench);
    let (_, whole, _) = kept.boot_with(|_| {});
    let (bench, state, cost) = kept.boot_with(|emmc| {
        (0..).zip(&old).for_each(|(block, content)| emmc.set_block(block, content));
    });
    assert_eq!((bench.counter("gtd_copies_found"), bench.counter("gtd_from_emmc")), (2, 0));
    assert_eq!(cost.emmc_reads, 2, "a header says enough");
    assert_eq!(state, whole);
    host.verify(&bench);
}

/// Its checksums are right and it names the stored map, but it is of another.
#[test]
fn a_copy_that_lies_is_found_out_by_the_stored_maps_own_checksum() {
    let (bench, mut host) = worked(700);
    store(&bench);
    store_once_more(&bench, &mut host);
    let kept = Kept::of(bench);
    let (_, whole, _) = kept.boot_with(|_| {});
    let (bench, state, _) = kept.boot_with(|emmc| {
        for copy in 0..2 {
            let first = copy * kept.copy_blocks;
            let mut blocks: Vec<_> = (first..first + kept.copy_blocks).map(|at| emmc.block(at)).collect();
            of_another_map(&mut blocks);
            (first..).zip(&blocks).for_each(|(at, block)| emmc.set_block(at, block));
        }
    });
    assert_eq!((bench.counter("gtd_copies_found"), bench.counter("gtd_from_emmc")), (2, 0));
    assert_eq!(state, whole);
    host.verify(&bench);
}

/// The power goes in each block of a copy. The other copy is of the map before, so NAND has to do.
#[test]
fn a_copy_that_a_loss_of_power_has_torn_is_not_believed() {
    let all = {
        let (bench, _) = worked(0);
        bench.copy_blocks()
    };
    for written in 0..all {
        for micros in [0, 130, 399] {
            let (bench, mut host) = worked(300);
            store(&bench);
            host.work(&bench, 40, 13);
            host.finish(&bench);
            let before = bench.card.stats().writes;
            bench.send(HostOp::Shutdown, 0, 0, false, vec![]);
            let is_there = || {
                let is_writing = matches!(bench.emmc_port.command(), Some(EmmcCommand::Write(_)));
                is_writing && bench.card.stats().writes == before + u64::from(written)
            };
            while !is_there() {
                bench.exec.advance_to(bench.exec.next_deadline().expect("the map is stored"));
            }
            bench.exec.advance_to(bench.exec.now() + aster_units::Duration::from_micros(micros));
            let kept = Kept::of(bench);
            let (bench, torn, _) = kept.boot_with(|_| {});
            assert_eq!((torn.boot, bench.counter("gtd_from_emmc")), (Boot::Recovered, 0));
            let (_, none, _) = kept.boot_with(|emmc| (0..2).for_each(|copy| kept.delete(emmc, copy)));
            assert_eq!(torn, none, "block {written} after {micros} µs");
            host.verify(&bench);
            // The next map's copy is whole again.
            store_once_more(&bench, &mut host);
            let bench = bench.restart();
            bench.wait_booted();
            assert_eq!((bench.ftl.stats().boot, bench.counter("gtd_from_emmc")), (Boot::Clean, 1));
            host.verify(&bench);
        }
    }
}

#[test]
fn the_copies_take_turns() {
    let (bench, mut host) = worked(100);
    let of_blocks =
        || -> Vec<_> { (0..2 * bench.copy_blocks()).map(|block| bench.emmc.block(block)).collect() };
    let half = bench.copy_blocks() as usize;
    let mut turns = Vec::new();
    store(&bench);
    for _ in 0..4 {
        let before = of_blocks();
        let written = bench.counter("gtd_copies_written");
        store_once_more(&bench, &mut host);
        assert_eq!(bench.counter("gtd_copies_written"), written + 1);
        let after = of_blocks();
        let changed = [before[..half] != after[..half], before[half..] != after[half..]];
        assert!(changed[0] != changed[1], "one copy stays as it is: {changed:?}");
        turns.push(changed[0]);
    }
    assert!(turns[0] != turns[1] && turns[1] != turns[2] && turns[2] != turns[3], "{turns:?}");
}
