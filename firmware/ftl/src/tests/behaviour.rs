use super::bench::{Bench, config};
use super::oracle::{Op, Oracle, Request};
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, Rng};
use std::vec;

const BOTH: [Content; 2] = [Content::Full, Content::Fingerprint];

#[test]
fn an_unwritten_drive_reads_as_zeroes() {
    for content in BOTH {
        let bench = Bench::fresh(config(content));
        let mut oracle = Oracle::new(&bench);
        oracle.verify(&bench);
        assert_eq!(bench.ftl.stats().flash_reads.host, 0, "flash was read for unmapped pages");
    }
}

#[test]
fn random_work_agrees_with_the_oracle() {
    for content in BOTH {
        let bench = Bench::fresh(config(content));
        let mut oracle = Oracle::new(&bench);
        oracle.work(&bench, 6_000, 11);
        oracle.verify(&bench);
        assert!(bench.ftl.stats().gc_runs > 0, "the work was too small to matter");
    }
}

#[test]
fn a_full_drive_rewritten_at_random_ten_times_never_comes_to_a_dead_end() {
    let bench = Bench::fresh(config(Content::Fingerprint));
    let mut oracle = Oracle::new(&bench);
    oracle.fill(&bench);
    let (count, mut rng) = (oracle.granules_per_page(&bench), Rng::new(3));
    for _ in 0..10 * u64::from(bench.ftl.logical_pages()) {
        let first = rng.below(u64::from(bench.ftl.logical_pages())) * count;
        oracle.send(&bench, Request { op: Op::Write { fua: false }, first, count });
    }
    oracle.finish(&bench);
    oracle.verify(&bench);
    let stats = bench.ftl.stats();
    assert!(stats.waf() > 1.5, "at 7 % spare the amplification is {}", stats.waf());
}

#[test]
fn a_drive_shut_down_cleanly_comes_back_with_everything() {
    for content in BOTH {
        let mut bench = Bench::fresh(config(content));
        let mut oracle = Oracle::new(&bench);
        for round in 0..4 {
            oracle.work(&bench, 1_500, round);
            assert_eq!(bench.shut_down(), HostStatus::Success);
            bench = bench.restart();
            oracle.verify(&bench);
        }
    }
}

#[test]
fn comparing_and_reading_after_power_off_without_writing_stays_clean() {
    let mut bench = Bench::fresh(config(Content::Full));
    let mut oracle = Oracle::new(&bench);
    oracle.work(&bench, 500, 1);
    assert_eq!(bench.shut_down(), HostStatus::Success);
    for _ in 0..2 {
        bench = bench.restart();
        oracle.verify(&bench);
        bench.settle();
    }
    assert_eq!(bench.ftl.boot_error(), None);
}

#[test]
fn a_write_after_boot_without_a_shutdown_is_refused_at_the_next_boot() {
    let bench = Bench::fresh(config(Content::Full));
    assert_eq!(bench.run(HostOp::Write, 0, 512, vec![1; 512]).0, HostStatus::Success);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    let bench = bench.restart();
    bench.settle();
    assert_eq!(bench.ftl.boot_error(), Some(crate::BootError::Unclean));
    assert_eq!(bench.run(HostOp::Read, 0, 512, vec![0; 512]).0, HostStatus::UnrecoveredRead);
}
