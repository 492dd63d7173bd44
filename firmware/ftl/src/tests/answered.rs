//! What comes right behind a write that the host knows done, and the FTL not yet.

use super::bench::{Bench, config};
use super::checked_host::CheckedHost;
use crate::{FtlConfig, HostConfig};
use aster_ports::host::{ByteRange, HostOp, HostStatus};
use aster_units::{Content, Duration};
use std::vec;
use std::vec::Vec;

const PAGE: u64 = 8192;

fn ahead() -> Bench {
    let bench = Bench::fresh(FtlConfig {
        host: HostConfig { auto_completion: true, ..config(Content::Full).host },
        ..config(Content::Full)
    });
    bench.tell_after(Duration::from_micros(50));
    bench
}
/// Writes `byte` over a range, and comes back when the host knows.
fn write(bench: &Bench, offset: u64, length: u64, byte: u8) {
    assert_eq!(bench.run(HostOp::Write, offset, length, vec![byte; length as usize]).0, HostStatus::Success);
    assert!(bench.commands_in_work() > 0, "the host is ahead of the FTL");
}
fn read(bench: &Bench, offset: u64, length: u64) -> Vec<u8> {
    let (status, data) = bench.run(HostOp::Read, offset, length, vec![0xEE; length as usize]);
    assert_eq!(status, HostStatus::Success);
    data
}

#[test]
fn a_flush_covers_every_write_that_the_host_knows_done() {
    for pages in [1, 5] {
        let bench = ahead();
        write(&bench, 0, pages * PAGE, 7);
        write(&bench, 9 * PAGE + 512, 1024, 8);
        assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        let bench = bench.restart();
        assert_eq!(read(&bench, 0, pages * PAGE), vec![7; (pages * PAGE) as usize]);
        assert_eq!(read(&bench, 9 * PAGE + 512, 1024), [8; 1024]);
    }
}

#[test]
fn a_flush_without_auto_completion_waits_for_no_write_in_work() {
    let bench = Bench::fresh(config(Content::Full));
    assert_eq!(bench.run(HostOp::Write, 0, PAGE, vec![1; PAGE as usize]).0, HostStatus::Success);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    // Nothing is dirty, and the data of a write of many pages are on their way.
    bench.send(HostOp::Write, 0, 8 * PAGE, false, vec![2; 8 * PAGE as usize]);
    let flush = bench.send(HostOp::Flush, 0, 0, false, vec![]);
    assert_eq!(bench.wait().0.id, flush);
}

#[test]
fn a_shutdown_brings_every_write_that_the_host_knows_done_to_flash() {
    let bench = ahead();
    write(&bench, PAGE, 2 * PAGE, 7);
    assert_eq!(bench.shut_down(), HostStatus::Success);
    assert_eq!(read(&bench.restart(), PAGE, 2 * PAGE), vec![7; 2 * PAGE as usize]);
}

#[test]
fn what_takes_pages_away_wins_over_the_write_before_it() {
    let takes: [fn(&Bench); 4] = [
        |bench| {
            bench.send_deallocate(&[ByteRange { offset: 0, length: 3 * PAGE }]);
            assert_eq!(bench.wait().0.status, HostStatus::Success);
        },
        |bench| {
            let zeroes = HostOp::WriteZeroes { deallocate: true };
            assert_eq!(bench.run(zeroes, 0, 3 * PAGE, vec![]).0, HostStatus::Success);
        },
        |bench| {
            bench.send(HostOp::WriteZeroes { deallocate: false }, 0, 3 * PAGE, true, vec![]);
            assert_eq!(bench.wait().0.status, HostStatus::Success);
        },
        |bench| {
            assert_eq!(bench.run(HostOp::Format { erase: false }, 0, 0, vec![]).0, HostStatus::Success);
        },
    ];
    for before in [false, true] {
        for take in takes {
            let bench = ahead();
            if before {
                write(&bench, 0, 3 * PAGE, 1);
                assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
            }
            write(&bench, 0, 3 * PAGE, 2);
            take(&bench);
            bench.rest();
            assert_eq!(read(&bench, 0, 3 * PAGE), vec![0; 3 * PAGE as usize]);
            assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
            let bench = bench.restart();
            assert_eq!(read(&bench, 0, 3 * PAGE), vec![0; 3 * PAGE as usize]);
        }
    }
}

#[test]
fn what_comes_to_the_same_page_meets_the_write_before_it() {
    let bench = ahead();
    write(&bench, 0, PAGE, 3);
    assert_eq!(read(&bench, 0, PAGE), [3; PAGE as usize]);
    write(&bench, 512, 512, 4);
    let mut held = vec![3; PAGE as usize];
    held[512..1024].fill(4);
    assert_eq!(bench.run(HostOp::Compare, 0, PAGE, held.clone()).0, HostStatus::Success);
    write(&bench, 1024, 512, 5);
    held[1024..1536].fill(5);
    // A forced write of a part brings all of the page.
    bench.send(HostOp::Write, 2048, 512, true, vec![6; 512]);
    assert_eq!(bench.wait().0.status, HostStatus::Success);
    held[2048..2560].fill(6);
    write(&bench, 4096, 512, 9);
    held[4096..4608].fill(9);
    bench.send(HostOp::WriteZeroes { deallocate: false }, 7680, 512, true, vec![]);
    assert_eq!(bench.wait().0.status, HostStatus::Success);
    held[7680..].fill(0);
    assert_eq!(read(&bench.restart(), 0, PAGE), held);
}

#[test]
fn random_work_is_as_the_host_expects_when_the_host_is_ahead() {
    for content in [Content::Full, Content::Fingerprint] {
        let mut bench = Bench::fresh(FtlConfig {
            host: HostConfig { auto_completion: true, ..config(content).host },
            ..config(content)
        });
        let mut host = CheckedHost::new(&bench);
        for round in 0..2 {
            host.work(&bench, 1_500, round);
            assert_eq!(bench.shut_down(), HostStatus::Success);
            bench = bench.restart();
            host.verify(&bench);
        }
    }
}
