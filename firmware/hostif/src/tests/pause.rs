//! Pauses: the disk under the media is full, or owes bytes.

use super::bench::{Bench, DATA, config};
use super::mandatory::log_page;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_ports::host::HostOp;
use aster_ports::medium::{Backlog, MediumError};
use aster_wire::nvme::admin::{AbortDword10, AdminCommand, FormatDword10};
use aster_wire::nvme::io::{BlockRange, DatasetManagement, IoCommand};
use aster_wire::nvme::log::{ErrorEntry, NO_COMMAND};
use aster_wire::nvme::registers::{Register, ShutdownNotification, ShutdownStatus};
use aster_wire::nvme::{AdminOpcode, Sqe, Status};
use core::cell::Cell;
use zerocopy::FromBytes;

/// A disk whose answers the test sets.
#[derive(Default)]
pub struct Disk {
    pub full: Cell<bool>,
    pub owed: Cell<u64>,
}

impl Backlog for Disk {
    fn is_full(&self) -> bool {
        self.full.get()
    }
    fn owed(&self) -> u64 {
        self.owed.get()
    }
    fn memory(&self) -> u64 {
        self.owed.get()
    }
    fn needed(&self) -> u64 {
        self.owed.get()
    }
    fn missing(&self) -> u64 {
        self.owed.get()
    }
    fn no_room(&self) -> Option<MediumError> {
        None
    }
    fn fault(&self) -> Option<MediumError> {
        None
    }
    fn retry(&self) {}
}

pub fn bench() -> (Bench, Rc<Disk>) {
    let (bench, disk) = (Bench::ready(config()), Rc::new(Disk::default()));
    bench.front.pause_with(Some(disk.clone()));
    (bench, disk)
}

impl Disk {
    pub fn say(&self, bench: &mut Bench, full: bool, owed: u64) {
        self.full.set(full);
        self.owed.set(owed);
        bench.front.look_at_room();
        bench.run();
    }
}

fn write(fua: bool) -> Sqe {
    IoCommand::Write(BlockRange::new(0, 8).with_force_unit_access(fua)).to_sqe(1, 0, DATA, 0)
}
pub fn write_at(block: u64) -> Sqe {
    IoCommand::Write(BlockRange::new(block, 8)).to_sqe(1, 0, DATA, 0)
}
pub fn read() -> Sqe {
    IoCommand::Read(BlockRange::new(0, 8)).to_sqe(1, 0, DATA, 0)
}
/// A deallocation of an empty range.
fn trim(bench: &mut Bench) -> Sqe {
    bench.memory.0[DATA as usize + 8192..][..16].fill(0);
    IoCommand::DatasetManagement(DatasetManagement::deallocate(1)).to_sqe(1, 0, DATA + 8192, 0)
}
pub fn abort(queue: u16, cid: u16) -> Sqe {
    let abort = AbortDword10(0).with_sq_id(queue).with_cid(cid);
    AdminCommand::Abort(abort).to_sqe(0, 0, 0, 0)
}
fn flush() -> Sqe {
    IoCommand::Flush.to_sqe(1, 0, 0, 0)
}
pub fn push(bench: &mut Bench, sqe: Sqe) -> u16 {
    let cid = bench.push(1, sqe);
    bench.ring(1);
    bench.run();
    cid
}
fn seen(bench: &Bench, op: HostOp) -> usize {
    bench.ftl.seen.borrow().iter().filter(|command| command.op == op).count()
}

#[test]
fn writes_wait_while_there_is_no_room_and_nothing_else_does() {
    let (mut bench, disk) = bench();
    disk.say(&mut bench, true, 0);
    let waits = [push(&mut bench, write(false)), push(&mut bench, write(true))];
    assert_eq!(seen(&bench, HostOp::Write), 0, "the FTL has not heard of them");
    let trim = trim(&mut bench);
    let zeroes = IoCommand::WriteZeroes(BlockRange::new(0, 8)).to_sqe(1, 0, 0, 0);
    for sqe in [read(), trim, zeroes, flush()] {
        assert!(bench.status(1, sqe).is_success(), "{sqe:?}");
    }
    assert!(bench.fetch_page(log_page(2, 512))[0] == 0, "no warning: the media are as good as before");
    assert!(waits.iter().all(|&cid| bench.completion(1, cid).is_none()));
    disk.say(&mut bench, false, 0);
    assert!(waits.iter().all(|&cid| bench.completion(1, cid).unwrap().status().is_success()));
}

#[test]
fn nothing_is_called_durable_before_it_is() {
    let (mut bench, disk) = bench();
    disk.say(&mut bench, false, 1);
    assert!(bench.status(1, write(false)).is_success(), "that promises nothing");
    let waits = [push(&mut bench, flush()), push(&mut bench, write(true))];
    let format = bench.push(0, Sqe::new(AdminOpcode::FormatNvm.raw(), 1));
    bench.ring(0);
    bench.run();
    assert!(seen(&bench, HostOp::Flush) == 1 && seen(&bench, HostOp::Write) == 2, "they are done");
    assert!(waits.iter().all(|&cid| bench.completion(1, cid).is_none()));
    assert_eq!(bench.completion(0, format), None);
    let asked = bench.cc().with_shn(ShutdownNotification::Normal.raw());
    bench.write(Register::Configuration, asked.0.into());
    assert_eq!(bench.csts().shutdown(), Some(ShutdownStatus::Occurring));
    disk.say(&mut bench, false, 0);
    assert!(waits.iter().all(|&cid| bench.completion(1, cid).unwrap().status().is_success()));
    assert!(bench.completion(0, format).unwrap().status().is_success());
    assert_eq!(bench.csts().shutdown(), Some(ShutdownStatus::Complete));
}

#[test]
fn the_host_hears_of_it_once_and_again_after_a_reset() {
    let (mut bench, disk) = bench();
    let request = |bench: &mut Bench| {
        let cid = bench.push(0, Sqe::new(AdminOpcode::AsyncEventRequest.raw(), 0));
        bench.ring(0);
        bench.run();
        cid
    };
    let (first, second) = (request(&mut bench), request(&mut bench));
    disk.say(&mut bench, true, 0);
    disk.say(&mut bench, true, 0);
    // Error status, transient internal error, log page 01h.
    assert_eq!(bench.completion(0, first).unwrap().result.get(), 0x0001_0400);
    let page = bench.fetch_page(log_page(1, 128));
    let [entry, before] = [0, 64].map(|at| ErrorEntry::read_from_bytes(&page[at..at + 64]).unwrap());
    assert_eq!((entry.error_count.get(), entry.sq_id.get(), before.error_count.get()), (1, NO_COMMAND, 0));
    assert_eq!(bench.completion(0, second), None);
    bench.disable();
    bench.enable();
    let third = request(&mut bench);
    assert_eq!(bench.completion(0, third).unwrap().result.get(), 0x0001_0400);
}

#[test]
fn a_write_that_waits_does_not_come_behind_a_shutdown() {
    let (mut bench, disk) = bench();
    disk.say(&mut bench, true, 0);
    push(&mut bench, write(false));
    let asked = bench.cc().with_shn(ShutdownNotification::Normal.raw());
    bench.write(Register::Configuration, asked.0.into());
    assert_eq!(bench.csts().shutdown(), Some(ShutdownStatus::Complete));
    disk.say(&mut bench, false, 0);
    assert_eq!(seen(&bench, HostOp::Write), 0);
}

#[test]
fn a_write_whose_list_of_pages_comes_behind_a_shutdown_is_dropped() {
    for lists_before in [0, 1] {
        let (mut bench, disk) = bench();
        disk.say(&mut bench, true, 0);
        // Two pages of PRP list. The first ends with its only entry, which names the second.
        let (first, second) = (DATA + 0x40_0000, DATA + 0x40_1000);
        let entries = [(first + 4088, second), (second, DATA + 4096), (second + 8, DATA + 8192)];
        for (at, entry) in entries {
            bench.memory.0[at as usize..][..8].copy_from_slice(&entry.to_le_bytes());
        }
        bench.hold_link = true;
        let command = IoCommand::Write(BlockRange::new(0, 24)).to_sqe(1, 0, DATA, first + 4088);
        push(&mut bench, command);
        // The fetch, and this many pages of the list.
        for _ in 0..=lists_before {
            assert!(bench.carry_out_one());
            bench.run();
        }
        let asked = bench.cc().with_shn(ShutdownNotification::Normal.raw());
        bench.write(Register::Configuration, asked.0.into());
        assert_eq!(bench.front.controller().commands_in_flight(), 1, "its list is on its way");
        bench.release_link();
        bench.run();
        assert_eq!(bench.front.controller().commands_in_flight(), 0);
        disk.say(&mut bench, false, 0);
        assert_eq!(seen(&bench, HostOp::Write), 0);
        assert_eq!(bench.csts().shutdown(), Some(ShutdownStatus::Complete));
    }
}

#[test]
fn what_a_reset_has_taken_does_not_come_back_with_the_room() {
    let (mut bench, disk) = bench();
    disk.say(&mut bench, true, 1);
    push(&mut bench, flush());
    bench.disable();
    bench.enable();
    bench.create_pair(1, 64);
    disk.say(&mut bench, false, 0);
    assert_eq!(bench.reap(1, true), 0, "the new host has sent nothing");
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
    assert_eq!(bench.status(1, flush()), Status::SUCCESS);
}

/// First blocks of the writes that have reached the FTL, in order.
pub fn written(bench: &Bench) -> Vec<u64> {
    let seen = bench.ftl.seen.borrow();
    seen.iter().filter(|command| command.op == HostOp::Write).map(|command| command.offset / 512).collect()
}

#[test]
fn more_writes_than_slots_stop_nothing_behind_them_and_go_on_in_order() {
    let (mut bench, disk) = bench();
    let slots = u64::from(config().slots);
    disk.say(&mut bench, true, 0);
    let parked: Vec<u16> = (0..slots + 20).map(|block| push(&mut bench, write_at(block))).collect();
    assert_eq!(bench.front.controller().commands_in_flight() as u64, slots + 20);
    for _ in 0..3 {
        let trim = trim(&mut bench);
        for sqe in [read(), trim, flush()] {
            assert!(bench.status(1, sqe).is_success(), "behind them in their queue: {sqe:?}");
        }
    }
    assert_eq!(bench.fetch_page(log_page(2, 512))[0], 0);
    assert_eq!(seen(&bench, HostOp::Write), 0);
    // A write that arrives while parked ones resume waits for its turn.
    disk.full.set(false);
    let last = bench.push(1, write_at(slots + 20));
    bench.ring(1);
    disk.say(&mut bench, false, 0);
    for cid in parked.into_iter().chain([last]) {
        assert!(bench.completion(1, cid).unwrap().status().is_success());
    }
    assert_eq!(written(&bench), Vec::from_iter(0..=slots + 20));
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
}

#[test]
fn no_more_writes_are_parked_than_their_queue_holds_and_others_go_on() {
    let (mut bench, disk) = bench();
    bench.create_pair(2, 64);
    bench.create_pair(3, 8);
    disk.say(&mut bench, true, 0);
    let in_third: Vec<u16> = (0..7)
        .map(|block| {
            let cid = bench.push(3, write_at(block));
            bench.ring(3);
            bench.run();
            cid
        })
        .collect();
    let behind = bench.push(3, read());
    bench.ring(3);
    bench.run();
    assert_eq!(bench.completion(3, behind), None, "its host has more commands than its queue has entries");
    assert!(bench.status(2, read()).is_success() && bench.status(1, read()).is_success());
    disk.say(&mut bench, false, 0);
    for cid in in_third.into_iter().chain([behind]) {
        assert!(bench.completion(3, cid).unwrap().status().is_success());
    }
}

#[test]
fn parked_writes_go_with_their_queue_and_with_a_reset() {
    let (mut bench, disk) = bench();
    bench.create_pair(2, 8);
    disk.say(&mut bench, true, 0);
    push(&mut bench, write_at(0));
    for block in 1..8 {
        bench.push(2, write_at(block));
        bench.ring(2);
        bench.run();
    }
    let delete = AdminCommand::DeleteIoSq(2).encode(0);
    assert!(bench.status(0, delete).is_success());
    assert_eq!(bench.front.controller().commands_in_flight(), 1);
    // A new queue with that number may park as many.
    assert!(bench.status(0, AdminCommand::DeleteIoCq(2).encode(0)).is_success());
    bench.create_pair(2, 8);
    bench.push(2, write_at(8));
    assert!(bench.status(2, read()).is_success());
    bench.disable();
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
    bench.enable();
    bench.create_pair(1, 64);
    push(&mut bench, write_at(9));
    bench.front.function_reset();
    bench.run();
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
    disk.say(&mut bench, false, 0);
    assert_eq!(seen(&bench, HostOp::Write), 0);
}

#[test]
fn a_disk_that_is_full_again_parks_what_goes_on_where_it_was() {
    let (mut bench, disk) = bench();
    disk.say(&mut bench, true, 0);
    // Each write has a PRP list page, so resuming takes a while.
    let list = DATA + 0x40_0000;
    bench.memory.0[list as usize..][..8].copy_from_slice(&(DATA + 4096).to_le_bytes());
    bench.memory.0[list as usize + 8..][..8].copy_from_slice(&(DATA + 8192).to_le_bytes());
    let of_list = |block| IoCommand::Write(BlockRange::new(block, 24)).to_sqe(1, 0, DATA, list);
    let parked: Vec<u16> = (0..40).map(|block| push(&mut bench, of_list(block))).collect();
    bench.hold_link = true;
    disk.say(&mut bench, false, 0);
    let abort = bench.push(0, abort(1, parked[3]));
    bench.ring(0);
    disk.full.set(true);
    bench.release_link();
    assert_eq!(bench.completion(0, abort).unwrap().result.get(), 0);
    assert_eq!(seen(&bench, HostOp::Write), 0);
    assert_eq!(bench.completion(1, parked[3]).unwrap().status(), Status::ABORT_REQUESTED);
    disk.say(&mut bench, false, 0);
    assert_eq!(written(&bench), Vec::from_iter((0..40).filter(|&block| block != 3)));
}

#[test]
fn a_format_ends_parked_writes_whose_blocks_are_others_now() {
    let (mut bench, disk) = bench();
    disk.say(&mut bench, true, 0);
    let parked = [push(&mut bench, write(false)), push(&mut bench, write(true))];
    let format = AdminCommand::FormatNvm(FormatDword10(0).with_lba_format(1)).to_sqe(1, 0, 0, 0);
    assert!(bench.status(0, format).is_success());
    for cid in parked {
        assert_eq!(bench.completion(1, cid).unwrap().status(), Status::FORMAT_IN_PROGRESS);
    }
    disk.say(&mut bench, false, 0);
    assert_eq!(seen(&bench, HostOp::Write), 0);
}
