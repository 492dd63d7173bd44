//! Data gets to the right place, whatever the shape of the PRPs.

use super::bench::{Bench, DATA, config};
use crate::HostIfConfig;
use alloc::vec::Vec;
use aster_units::Rng;
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::{Sqe, Status};
use proptest::prelude::*;

const PAGE: u64 = 4096;

/// PRPs for `bytes` bytes that begin `offset` bytes into a page, over pages in a shuffled order. The list
/// begins `list_offset` bytes into its page. Returns PRP1, PRP2 and the runs in order.
fn scatter(
    bench: &mut Bench,
    offset: u64,
    bytes: u64,
    list_offset: u64,
    seed: u64,
) -> (u64, u64, Vec<(u64, u64)>) {
    let count = (offset + bytes).div_ceil(PAGE);
    let mut pages: Vec<u64> = (0..count).map(|n| DATA + n * PAGE).collect();
    let mut random = Rng::new(seed);
    for at in (1..pages.len()).rev() {
        pages.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut runs = Vec::new();
    let mut left = bytes;
    for (n, page) in pages.iter().enumerate() {
        let start = if n == 0 { offset } else { 0 };
        let run = (PAGE - start).min(left);
        runs.push((page + start, run));
        left -= run;
    }
    let prp1 = pages[0] + offset;
    let prp2 = match pages.len() {
        1 => 0,
        2 => pages[1],
        _ => write_list(bench, &pages[1..], list_offset),
    };
    (prp1, prp2, runs)
}

fn write_list(bench: &mut Bench, pages: &[u64], list_offset: u64) -> u64 {
    let lists = DATA + 0x40_0000;
    let mut list = lists;
    let mut at = list + list_offset;
    for (n, page) in pages.iter().enumerate() {
        let last_of_list = at % PAGE == PAGE - 8;
        if last_of_list && n + 1 < pages.len() {
            list += PAGE;
            bench.memory.0[at as usize..at as usize + 8].copy_from_slice(&list.to_le_bytes());
            at = list;
        }
        bench.memory.0[at as usize..at as usize + 8].copy_from_slice(&page.to_le_bytes());
        at += 8;
    }
    lists + list_offset
}

fn gather(bench: &Bench, runs: &[(u64, u64)]) -> Vec<u8> {
    let piece = |&(at, len): &(u64, u64)| bench.memory.0[at as usize..(at + len) as usize].to_vec();
    runs.iter().flat_map(piece).collect()
}

fn command(read: bool, slba: u64, blocks: u32, prp1: u64, prp2: u64) -> Sqe {
    let range = BlockRange::new(slba, blocks);
    if read { IoCommand::Read(range) } else { IoCommand::Write(range) }.to_sqe(1, 0, prp1, prp2)
}

#[test]
fn what_is_written_is_read_back() {
    let mut bench = Bench::ready(config());
    bench.memory.0[DATA as usize..DATA as usize + 4096].fill(0xa5);
    assert_eq!(bench.status(1, command(false, 8, 8, DATA, 0)), Status::SUCCESS);
    assert_eq!(bench.status(1, command(true, 8, 8, DATA + 0x2000, 0)), Status::SUCCESS);
    assert!(bench.memory.0[DATA as usize + 0x2000..][..4096].iter().all(|&b| b == 0xa5));
    assert_eq!(bench.interrupts, [0, 0, 1, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..Default::default() })]
    #[test]
    fn any_first_offset_any_list_and_any_chain_reach_the_right_bytes(
        offset in (0u64..1024).prop_map(|n| n * 4),
        blocks in 1u32..=2048,
        slba in 0u64..4000,
        list_offset in prop_oneof![
            Just(0u64),
            Just(PAGE - 8),
            Just(PAGE - 16),
            (0u64..512).prop_map(|n| n * 8)
        ],
        seed: u64,
        auto_completion: bool,
    ) {
        let mut bench = Bench::ready(HostIfConfig { auto_completion, ..config() });
        let bytes = u64::from(blocks) * 512;
        let (prp1, prp2, runs) = scatter(&mut bench, offset, bytes, list_offset, seed);
        let mut random = Rng::new(!seed);
        bench.memory.0[DATA as usize..DATA as usize + 0x20_0000].fill_with(|| random.below(256) as u8);
        let written = gather(&bench, &runs);
        prop_assert_eq!(bench.status(1, command(false, slba, blocks, prp1, prp2)), Status::SUCCESS);
        let disk = bench.ftl.disk.borrow()[(slba * 512) as usize..][..bytes as usize].to_vec();
        prop_assert!(disk == written);
        bench.memory.0[DATA as usize..DATA as usize + 0x20_0000].fill(0);
        prop_assert_eq!(bench.status(1, command(true, slba, blocks, prp1, prp2)), Status::SUCCESS);
        prop_assert!(gather(&bench, &runs) == written);
    }
}
