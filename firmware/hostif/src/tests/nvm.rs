//! I/O commands reach the FTL as they should, and its outcomes reach the host.

use super::bench::{Bench, DATA, NAMESPACE_BYTES, config};
use super::mandatory::{log_page, set_feature};
use crate::HostIfConfig;
use crate::config::BlockSize;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, EventSink};
use aster_parties::History;
use aster_ports::host::{HostCommand, HostOp, HostStatus};
use aster_units::{Duration, Instant};
use aster_wire::nvme::admin::{AdminCommand, FormatDword10};
use aster_wire::nvme::dsm::Range;
use aster_wire::nvme::features::FeatureId;
use aster_wire::nvme::io::{BlockRange, DatasetManagement, IoCommand};
use aster_wire::nvme::log::HealthLog;
use aster_wire::nvme::{Sqe, Status};
use core::cell::{Cell, RefCell};
use zerocopy::{FromBytes, IntoBytes};

fn write(range: BlockRange) -> Sqe {
    IoCommand::Write(range).to_sqe(1, 0, DATA, 0)
}
fn last(bench: &Bench) -> HostCommand {
    *bench.ftl.seen.borrow().last().unwrap()
}

#[test]
fn force_unit_access_and_a_disabled_cache_write_through() {
    let mut bench = Bench::ready(config());
    let range = BlockRange::new(3, 1);
    assert!(bench.status(1, write(range)).is_success());
    assert!(!last(&bench).fua);
    assert!(bench.status(1, write(range.with_force_unit_access(true))).is_success());
    assert!(last(&bench).fua);
    assert!(bench.status(0, set_feature(FeatureId::VolatileWriteCache, 0, 0)).is_success());
    assert!(bench.status(1, write(range)).is_success());
    assert!(last(&bench).fua);
    let mut bench = Bench::ready(HostIfConfig { volatile_write_cache: false, ..config() });
    assert!(bench.status(1, write(range)).is_success());
    assert!(last(&bench).fua);
}

#[test]
fn compare_finds_a_difference_and_none() {
    let mut bench = Bench::ready(config());
    bench.memory.0[DATA as usize..][..1024].fill(9);
    assert!(bench.status(1, write(BlockRange::new(0, 2))).is_success());
    let compare = IoCommand::Compare(BlockRange::new(0, 2)).to_sqe(1, 0, DATA, 0);
    assert!(bench.status(1, compare).is_success());
    bench.memory.0[DATA as usize + 1023] = 8;
    assert!(bench.status(1, compare).is(Status::COMPARE_FAILURE));
}

#[test]
fn write_zeroes_clears_and_passes_its_deallocate_bit() {
    let mut bench = Bench::ready(config());
    bench.ftl.disk.borrow_mut().fill(1);
    let mut range = BlockRange::new(4, 2);
    range.control = range.control.with_deallocate(true);
    assert!(bench.status(1, IoCommand::WriteZeroes(range).to_sqe(1, 0, 0, 0)).is_success());
    assert_eq!(last(&bench).op, HostOp::WriteZeroes { deallocate: true });
    let disk = bench.ftl.disk.borrow();
    assert_eq!((disk[2047], disk[2048], disk[3071], disk[3072]), (1, 0, 0, 1));
}

#[test]
fn deallocation_covers_its_ranges_and_nothing_else() {
    let mut bench = Bench::ready(config());
    bench.ftl.disk.borrow_mut().fill(1);
    // The list lies over two pages.
    let at = DATA as usize + 4096 - 24;
    let ranges = [Range::new(1, 1), Range::new(7, 0), Range::new(9, 2)];
    let bytes: Vec<u8> = ranges.iter().flat_map(|r| r.as_bytes().to_vec()).collect();
    bench.memory.0[at..at + 24].copy_from_slice(&bytes[..24]);
    bench.memory.0[DATA as usize + 0x5000..][..24].copy_from_slice(&bytes[24..]);
    let command = DatasetManagement::deallocate(3);
    let sqe = IoCommand::DatasetManagement(command).to_sqe(1, 0, at as u64, DATA + 0x5000);
    assert!(bench.status(1, sqe).is_success());
    {
        let disk = bench.ftl.disk.borrow();
        let zero: Vec<usize> = (0..16).filter(|block| disk[block * 512] == 0).collect();
        assert_eq!(zero, [1, 9, 10]);
    }
    let wrong = Range::new(NAMESPACE_BYTES / 512 - 1, 2);
    bench.memory.0[at..at + 16].copy_from_slice(wrong.as_bytes());
    assert!(bench.status(1, sqe).is(Status::LBA_OUT_OF_RANGE));
    // Hints alone need no data.
    let hints = IoCommand::DatasetManagement(DatasetManagement::default()).to_sqe(1, 0, 1, 1);
    assert!(bench.status(1, hints).is_success());
    assert_eq!(bench.ftl.seen.borrow().len(), 1);
}

#[test]
fn every_outcome_of_the_ftl_has_its_status() {
    let mut bench = Bench::ready(config());
    for (outcome, expected) in [
        (HostStatus::UnrecoveredRead, Status::UNRECOVERED_READ_ERROR),
        (HostStatus::WriteFault, Status::WRITE_FAULT),
        (HostStatus::CompareFailure, Status::COMPARE_FAILURE),
        (HostStatus::DataTransfer, Status::DATA_TRANSFER_ERROR),
        (HostStatus::ReadOnly, Status::WRITE_TO_READ_ONLY_RANGE),
        (HostStatus::Aborted, Status::ABORT_REQUESTED),
    ] {
        bench.ftl.outcome.set(outcome);
        let status = bench.status(1, write(BlockRange::new(0, 1)));
        assert!(status.is(expected), "{outcome:?}: {status}");
    }
}

#[test]
fn health_counts_what_the_host_did_and_history_carries_it_on() {
    let history = History { power_cycles: 4, bytes_read: 511_488, ..History::default() };
    let mut bench = Bench::ready(HostIfConfig { history, ..config() });
    for _ in 0..3 {
        assert!(bench.status(1, write(BlockRange::new(0, 1))).is_success());
    }
    let read = IoCommand::Read(BlockRange::new(0, 2)).to_sqe(1, 0, DATA, 0);
    assert!(bench.status(1, read).is_success());
    bench.ftl.outcome.set(HostStatus::UnrecoveredRead);
    assert!(bench.status(1, read).is(Status::UNRECOVERED_READ_ERROR));
    bench.run_for(Duration::from_secs(3600));
    let page = bench.fetch_page(log_page(2, 512));
    let health = HealthLog::read_from_bytes(&page[..512]).unwrap();
    assert_eq!((health.host_read_commands.get(), health.host_write_commands.get()), (2, 3));
    assert_eq!((health.data_units_read.get(), health.data_units_written.get()), (2, 1));
    assert_eq!((health.power_on_hours.get(), health.media_errors.get()), (1, 1));
    assert_eq!((health.power_cycles.get(), health.unsafe_shutdowns.get()), (5, 1));
    let kept = bench.front.history();
    assert_eq!((kept.write_commands, kept.error_count, kept.shut_down), (3, 1, false));
}

#[test]
fn a_format_changes_the_block_size_and_tells_the_device() {
    let mut bench = Bench::ready(config());
    let told = Rc::new(Cell::new(None));
    let cell = told.clone();
    bench.front.on_format(move |size| cell.set(Some(size)));
    bench.ftl.disk.borrow_mut().fill(3);
    bench.ftl.paused.set(true);
    let cid = bench.push(0, AdminCommand::FormatNvm(FormatDword10(1)).to_sqe(1, 0, 0, 0));
    bench.ring(0);
    bench.run();
    assert!(bench.status(1, write(BlockRange::new(0, 1))).is(Status::FORMAT_IN_PROGRESS));
    assert_eq!((told.get(), bench.front.lba_format()), (None, BlockSize::Bytes512));
    bench.ftl.paused.set(false);
    bench.run();
    assert!(bench.completion(0, cid).unwrap().status().is_success());
    assert_eq!((told.get(), bench.front.lba_format()), (Some(BlockSize::Bytes4096), BlockSize::Bytes4096));
    assert!(bench.ftl.disk.borrow().iter().all(|&b| b == 0));
    assert!(bench.status(1, write(BlockRange::new(NAMESPACE_BYTES / 4096 - 1, 1))).is_success());
    assert_eq!(last(&bench).length, 4096);
    assert!(bench.status(1, write(BlockRange::new(NAMESPACE_BYTES / 4096, 1))).is(Status::LBA_OUT_OF_RANGE));
}

#[test]
fn a_format_asks_the_media_to_be_erased_when_the_host_does() {
    let mut bench = Bench::ready(config());
    for (settings, erase) in [(0, false), (1, true)] {
        let control = FormatDword10(0).with_secure_erase(settings);
        assert!(bench.status(0, AdminCommand::FormatNvm(control).to_sqe(1, 0, 0, 0)).is_success());
        assert_eq!(last(&bench).op, HostOp::Format { erase });
    }
    // A format that failed to erase fails, and the block size stays as it was.
    bench.ftl.outcome.set(HostStatus::WriteFault);
    let control = FormatDword10(1).with_secure_erase(1);
    assert!(bench.status(0, AdminCommand::FormatNvm(control).to_sqe(1, 0, 0, 0)).is(Status::WRITE_FAULT));
    assert_eq!(bench.front.lba_format(), BlockSize::Bytes512);
}

struct Keep(Rc<RefCell<Vec<Event>>>);

impl EventSink for Keep {
    fn event(&mut self, _at: Instant, event: &Event) {
        self.0.borrow_mut().push(*event);
    }
}

#[test]
fn a_command_leaves_its_events_in_order() {
    let mut bench = Bench::ready(config());
    let kept = Rc::new(RefCell::new(Vec::new()));
    bench.recorder.attach(Keep(kept.clone()));
    let far = BlockRange::new(NAMESPACE_BYTES, 1);
    let host_id = bench.send(1, write(far)).cid.get();
    let of_link = |e: &Event| matches!(e, Event::DmaStarted { .. } | Event::DmaFinished { .. });
    let events: Vec<_> = kept.borrow().iter().copied().filter(|e| !of_link(e)).collect();
    let Event::CommandFetched { command, .. } = events[1] else { panic!("{events:?}") };
    assert_eq!(
        events[..],
        [
            Event::DoorbellWritten { queue: 1, completion: false, value: 1 },
            Event::CommandFetched { command, queue: 1, opcode: 1, host_id },
            Event::InterruptSent { vector: 1 },
            // LBA Out of Range, without DNR and More.
            Event::CommandCompleted { command, status: 0x80 },
            Event::DoorbellWritten { queue: 1, completion: true, value: 1 },
        ]
    );
}

#[test]
fn latencies_delay_decoding_and_completion() {
    let slow = HostIfConfig {
        fetch_latency: Duration::from_micros(3),
        completion_latency: Duration::from_micros(5),
        ..config()
    };
    let mut bench = Bench::new(slow);
    bench.enable();
    let cid = bench.push(0, Sqe::new(0x7b, 0));
    let begin = bench.exec.now();
    bench.ring(0);
    bench.run_for(Duration::from_nanos(7_999));
    assert_eq!(bench.completion(0, cid), None);
    assert!(bench.exec.now().since(begin) >= Duration::from_nanos(7_999));
    bench.run_for(Duration::from_micros(100));
    assert!(bench.completion(0, cid).unwrap().status().is(Status::INVALID_OPCODE));
}
