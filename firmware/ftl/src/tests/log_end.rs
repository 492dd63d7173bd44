//! The end of the log, and its beginning anew: neither takes anything along that was flushed.

use super::bench::{Bench, config};
use super::flash::Faults;
use super::recovery::{PAGE, roomy};
use crate::{Boot, DriveState, FtlConfig};
use aster_ports::host::{ByteRange, CommandId, HostOp, HostStatus};
use aster_units::{Content, Duration, Geometry, LunIndex};
use std::vec;
use std::vec::Vec;

impl Bench {
    /// No program and no erase in a block of the log succeeds any more.
    pub(super) fn wear_out_log(&self) {
        let mut cells = self.cells.borrow_mut();
        self.log_slots().into_iter().for_each(|block| cells.bad[block.at()] = true);
    }
    /// Runs a command alone, for `left` events at most; `None` when they were not enough.
    fn run_for(&self, left: &mut u32, send: impl FnOnce() -> CommandId) -> Option<HostStatus> {
        send();
        while !self.has_completion() {
            *left = left.checked_sub(1)?;
            let deadline = self.exec.next_deadline().expect("the drive makes progress");
            self.exec.advance_to(deadline);
        }
        Some(self.wait().0.status)
    }
    fn byte(&self, lpn: u64) -> u8 {
        let data = self.holds(lpn);
        assert!(data.iter().all(|&byte| byte == data[0]), "page {lpn} is torn");
        data[0]
    }
}

/// Trims and writes pages, each flushed, until the drive takes no more or the events are used up. Says of
/// each page what it may hold.
fn work(bench: &Bench, left: &mut u32, may_hold: &mut [Vec<u8>]) -> Option<()> {
    for round in 0..30u8 {
        let (trimmed, written) = (10 + u64::from(round) % 10, 20 + u64::from(round) % 10);
        let data = vec![100 + round; PAGE as usize];
        may_hold[trimmed as usize].push(0);
        may_hold[written as usize].push(100 + round);
        let trim = bench
            .run_for(left, || bench.send_deallocate(&[ByteRange { offset: trimmed * PAGE, length: PAGE }]))?;
        let write = bench.run_for(left, || bench.send(HostOp::Write, written * PAGE, PAGE, false, data))?;
        let flush = bench.run_for(left, || bench.send(HostOp::Flush, 0, 0, false, vec![]))?;
        if flush == HostStatus::Success {
            for (lpn, status) in [(trimmed, trim), (written, write)] {
                let versions = &mut may_hold[lpn as usize];
                if status == HostStatus::Success {
                    versions.drain(..versions.len() - 1);
                } else {
                    versions.pop();
                }
            }
        }
        if [trim, write, flush] == [HostStatus::ReadOnly, HostStatus::ReadOnly, HostStatus::Success] {
            break;
        }
    }
    // Whatever comes afterwards.
    while let Some(deadline) = bench.exec.next_deadline() {
        *left = left.checked_sub(1)?;
        bench.exec.advance_to(deadline);
    }
    None
}

/// A drive whose log has ended works on, if it has come back writable, until it finds out again. What it
/// takes until then is as safe as ever, and in the end it is read-only and stays so.
fn goes_on_to_its_end(bench: Bench, may_hold: &mut [Vec<u8>], case: &str) {
    work(&bench, &mut u32::MAX.clone(), may_hold);
    assert_eq!(bench.ftl.state(), DriveState::ReadOnly, "{case}");
    let bench = bench.restart();
    bench.rest();
    assert_eq!(
        (bench.ftl.stats().boot, bench.ftl.state()),
        (Boot::Recovered, DriveState::ReadOnly),
        "{case}"
    );
    for (lpn, versions) in (0..).zip(may_hold) {
        let byte = bench.byte(lpn);
        assert!(versions.contains(&byte), "{case}: page {lpn} holds {byte}, not {versions:?}");
    }
}

/// Whether all LUNs are one pool: a test can't choose the LUN of a page then.
fn has_one_pool(bench: &Bench) -> bool {
    bench.config.luns_per_pool() > 1
}

/// Neither the log nor any block that it names takes the page which says that the drive takes no more writes.
/// Each time the power comes back the drive is writable, finds out with the first thing that it can't store,
/// and has lost nothing that it had promised.
#[test]
fn a_drive_on_which_nothing_can_be_written_any_more_finds_it_out_each_time() {
    for lines in [1, 2, 3] {
        let mut bench = Bench::fresh(roomy(lines));
        (0..40).for_each(|lpn| bench.write(lpn, 5));
        bench.flush();
        bench.trim(0, 10);
        bench.flush();
        bench.cells.borrow_mut().faults = Faults { program: 1, erase: 1, ..Faults::default() };
        for again in 0..3 {
            let case = std::format!("{lines} {again}");
            assert_eq!(bench.ftl.state(), DriveState::Ready, "{case}");
            // Trims and writes that nobody flushes are taken; what must be on flash is not.
            bench.trim(10, 2);
            bench.write(20, 6);
            let flush = || bench.run(HostOp::Flush, 0, 0, vec![]).0;
            if has_one_pool(&bench) {
                // Each attempt takes a block of another LUN along, so a flush gives up before the blocks end.
                let refused = (0..100).map(|_| flush()).find(|&status| status != HostStatus::WriteFault);
                assert_eq!(refused, Some(HostStatus::ReadOnly), "{case}");
            } else {
                assert_eq!(flush(), HostStatus::ReadOnly, "{case}");
            }
            assert_eq!(bench.ftl.state(), DriveState::ReadOnly, "{case}");
            let written = bench.run(HostOp::Write, 30 * PAGE, PAGE, vec![7; PAGE as usize]).0;
            assert_eq!(written, HostStatus::ReadOnly, "{case}");
            bench.rest();
            bench = bench.restart();
            bench.rest();
            assert_eq!(bench.ftl.stats().boot, Boot::Recovered, "{case}");
            for lpn in 0..40 {
                assert_eq!(bench.byte(lpn), if lpn < 10 { 0 } else { 5 }, "{case}: page {lpn}");
            }
        }
    }
}

/// A drive finds no room for its map at shutdown: no free block takes a page. The map before stays as long as
/// there is no other, so the power may go at any moment of it.
#[test]
fn a_shutdown_without_room_for_the_map_takes_nothing_along_wherever_the_power_goes() {
    let long = std::env::var("ASTER_LONG").is_ok_and(|long| long == "1");
    for read_only in [true, false] {
        let mut cuts = 0;
        for events in (0..).step_by(if long { 1 } else { 13 }) {
            // Full, so that there are few free blocks to try.
            let mut bench = Bench::fresh(config(Content::Full));
            let pages = u64::from(bench.ftl.logical_pages());
            (0..pages).for_each(|lpn| bench.write(lpn, 5));
            bench.flush();
            bench.rest();
            bench.store_map();
            bench.trim(0, 10);
            bench.flush();
            bench.trim(10, 5);
            {
                let kept = bench.stored_map().blocks.into_iter().chain(bench.log_slots());
                let kept: Vec<_> = kept.map(|block| block.at()).collect();
                let bad = &mut bench.cells.borrow_mut().bad;
                (0..bad.len()).filter(|block| !kept.contains(block)).for_each(|block| bad[block] = true);
            }
            if read_only {
                bench.make_read_only();
            }
            let mut left = events;
            let ended = bench.run_for(&mut left, || bench.send(HostOp::Shutdown, 0, 0, false, vec![]));
            assert!(ended.is_none_or(|status| status == HostStatus::Success), "{read_only} {events}");
            for again in 0..2 {
                bench = bench.restart();
                bench.rest();
                assert_eq!(bench.ftl.stats().boot, Boot::Recovered, "{read_only} {events} {again}");
                for lpn in 0..40 {
                    let byte = bench.byte(lpn);
                    let is_one = match lpn {
                        0..10 => byte == 0,
                        10..15 if ended.is_none() => byte == 0 || byte == 5,
                        10..15 => byte == 0,
                        _ => byte == 5,
                    };
                    assert!(is_one, "{read_only} {events} {again}: page {lpn} holds {byte}");
                }
            }
            if ended.is_some() {
                break;
            }
            cuts += 1;
        }
        assert!(cuts > 5, "the shutdown was cut off {cuts} times");
    }
}

#[test]
fn the_end_of_the_log_takes_nothing_along_wherever_the_power_goes() {
    let long = std::env::var("ASTER_LONG").is_ok_and(|long| long == "1");
    let (mut comes_back_writable, mut ended) = (0, 0);
    for lines in [1, 2, 3] {
        for events in (0..).step_by(if long { 1 } else { 7 }) {
            let mut bench = Bench::fresh(roomy(lines));
            (0..40).for_each(|lpn| bench.write(lpn, 5));
            bench.flush();
            bench.trim(0, 10);
            bench.flush();
            let mut may_hold: Vec<_> = (0..40).map(|lpn| vec![if lpn < 10 { 0 } else { 5 }]).collect();
            bench.wear_out_log();
            let mut left = events;
            work(&bench, &mut left, &mut may_hold);
            let before = bench.ftl.state();
            for again in [false, true] {
                bench = bench.restart();
                bench.rest();
                let state = bench.ftl.state();
                assert_eq!(bench.ftl.stats().boot, Boot::Recovered, "{lines} {events} {again}");
                if before == DriveState::ReadOnly {
                    assert_eq!(state, DriveState::ReadOnly, "{lines} {events} {again}");
                }
                comes_back_writable += u32::from(state == DriveState::Ready);
                for (lpn, versions) in (0..).zip(&mut may_hold) {
                    let byte = bench.byte(lpn);
                    assert!(
                        versions.contains(&byte),
                        "{lines} {events} {again}: page {lpn} holds {byte}, not {versions:?}"
                    );
                    *versions = vec![byte];
                }
            }
            goes_on_to_its_end(bench, &mut may_hold, &std::format!("{lines} {events}"));
            ended += u32::from(before == DriveState::ReadOnly);
            if left > 0 {
                break;
            }
        }
    }
    assert!(comes_back_writable > 0 && ended > 0, "{comes_back_writable} {ended}");
}

/// A drive of twenty pages, the first five trimmed, whose log ends with the flush that would have told it so.
fn behind_an_unjournaled_trim() -> Bench {
    let bench = Bench::fresh(roomy(1));
    (0..20).for_each(|lpn| bench.write(lpn, 5));
    bench.flush();
    bench.wear_out_log();
    bench.trim(0, 5);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::ReadOnly);
    bench
}

/// What the drive can't tell the log any more it must not promise.
#[test]
fn a_flush_behind_a_trim_that_the_log_does_not_take_fails() {
    let bench = behind_an_unjournaled_trim();
    assert_eq!(bench.ftl.state(), DriveState::ReadOnly);
    assert!(bench.has_log_ended());
    // What was trimmed is stale now, but where it lies nothing is erased.
    let erases = bench.ftl.stats().flash_erases.total();
    bench.rest();
    assert_eq!(bench.ftl.stats().flash_erases.total(), erases);
}

/// A trim that the log is never told of keeps nobody from reading, with force unit access either.
#[test]
fn reads_go_on_behind_a_trim_that_the_log_does_not_take() {
    let bench = behind_an_unjournaled_trim();
    // Trimmed, never written, and there.
    for (lpn, byte) in [(3, 0), (100, 0), (10, 5)] {
        for fua in [false, true] {
            bench.send(HostOp::Read, lpn * PAGE, PAGE, fua, vec![0xEE; PAGE as usize]);
            let (completion, data) = bench.wait();
            assert_eq!(
                (completion.status, &data),
                (HostStatus::Success, &vec![byte; PAGE as usize]),
                "{lpn} {fua}"
            );
        }
    }
}

/// A shutdown that collects ahead does not wait for a garbage collection which the end of the log has
/// stopped.
#[test]
fn the_end_of_the_log_ends_collecting_ahead() {
    let bench = Bench::fresh(roomy(1));
    (0..40).for_each(|lpn| bench.write(lpn, 1));
    bench.flush();
    // Half of the pages of each block.
    (0..40).filter(|lpn| lpn % 8 < 4).for_each(|lpn| bench.write(lpn, 2));
    bench.flush();
    bench.rest();
    assert!(bench.has_victim(LunIndex(0)));
    // Nothing begins that would end and wake it.
    bench.pause_collection();
    let ended = bench.collect_ahead(1000);
    bench.rest();
    assert!(!ended.get());
    bench.wear_out_log();
    bench.write_log_page();
    assert!(bench.has_log_ended());
    assert!(ended.get());
}

/// What is buffered when the log ends goes as far as blocks are open or named. The rest is told, and nothing
/// waits for ever.
#[test]
fn what_no_named_block_takes_fails_to_be_flushed() {
    let mut bench = Bench::fresh(roomy(1));
    if has_one_pool(&bench) {
        return;
    }
    let luns = u64::from(bench.config.geometry.total_luns());
    bench.rest();
    bench.wear_out_log();
    // All in one LUN, which uses up what is named of it.
    let write = |n: u64| {
        bench.run(HostOp::Write, n * luns * PAGE, PAGE, vec![1 + n as u8; PAGE as usize]).0
            == HostStatus::Success
    };
    let written = (0..100).take_while(|&n| write(n)).count() as u64;
    assert!((12..100).contains(&written), "{written}");
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::ReadOnly);
    assert_eq!(bench.ftl.state(), DriveState::ReadOnly);
    let unflushed = u64::from(bench.dirty_entries());
    assert!(unflushed > 0);
    bench.rest();
    bench = bench.restart();
    let there = (0..written).filter(|n| u64::from(bench.byte(n * luns)) == n + 1).count() as u64;
    assert_eq!(there, written - unflushed);
    assert_eq!(bench.ftl.state(), DriveState::ReadOnly);
}

/// A drive that finds its log unreadable begins a new one. Should the power go while it does, what is left of
/// the old one must not pass for a whole log.
#[test]
fn a_new_log_leaves_no_old_one_that_ends_earlier() {
    let (mut cut_between, mut cases) = (0, 0);
    let base = roomy(1);
    let geometry = Geometry { blocks_per_lun: 24, pages_per_block: 16, ..base.geometry };
    for wanted in [0, 1, 7] {
        let mut bench = Bench::fresh(FtlConfig { geometry, ..base });
        if has_one_pool(&bench) {
            return;
        }
        bench.rest();
        assert_eq!(bench.log_slots().len(), 8);
        // All in one LUN, so that nobody else asks for a page of the log.
        let luns = u64::from(bench.config.geometry.total_luns());
        (0..20).for_each(|n| bench.write(n * luns, 9));
        bench.flush();
        // The newest slot is the wanted one, and one page of it is there.
        for page in 0.. {
            assert!(page < 400, "the log goes through all its slots");
            if page > 80 && bench.log_at() == Some((wanted, 1)) {
                break;
            }
            if bench.has_room_in_log() { bench.write_log_page() } else { bench.store_map() }
        }
        // What counts stands in blocks that its last page is the first to name.
        for n in 30.. {
            assert!(n < 250, "blocks are used up");
            if bench.log_at().unwrap().1 > 1 {
                break;
            }
            bench.write(n * luns, 10);
        }
        (0..20).for_each(|n| bench.write(n * luns, 11));
        bench.flush();
        let (at, number) = (bench.log_at(), bench.log_number());
        assert!(at.is_some_and(|(slot, line)| slot == wanted && line > 1), "{at:?}");
        let newest = bench.log_slots()[wanted];
        let first = newest.0 * 16;
        for page in first..first + 2 {
            bench.cells.borrow_mut().uncorrectable.insert(page, u16::MAX);
        }
        bench = bench.restart();
        // Until the first page of the new log is on its way.
        while bench.ftl.stats().boot == Boot::None && bench.ftl.stats().flash_erases.metadata == 0 {
            bench.exec.advance_to(bench.exec.next_deadline().unwrap());
        }
        let erased = bench.exec.now() + Duration::from_micros(3100);
        while let Some(deadline) = bench.exec.next_deadline().filter(|&at| at <= erased) {
            bench.exec.advance_to(deadline);
        }
        cut_between += u32::from(bench.log_number() == number);
        cases += 1;
        bench = bench.restart();
        for n in 0..20 {
            assert_eq!(bench.byte(n * luns), 11, "page {n}, slot {wanted}");
        }
        bench.rest();
        assert_eq!(bench.ftl.state(), DriveState::Ready);
    }
    assert_eq!(cut_between, cases);
}
