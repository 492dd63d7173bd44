//! A disk under the media that is full, and what is behind it.

use super::bench::{Bench, DATA, config};
use super::mandatory::log_page;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_ports::host::HostOp;
use aster_ports::medium::{Backlog, MediumError};
use aster_wire::nvme::io::{BlockRange, DatasetManagement, IoCommand};
use aster_wire::nvme::log::{ErrorEntry, NO_COMMAND};
use aster_wire::nvme::registers::{Register, ShutdownNotification, ShutdownStatus};
use aster_wire::nvme::{AdminOpcode, Sqe, Status};
use core::cell::Cell;
use zerocopy::FromBytes;

/// A disk that says what a test wants it to.
#[derive(Default)]
struct Disk {
    full: Cell<bool>,
    owed: Cell<u64>,
}

impl Backlog for Disk {
    fn is_full(&self) -> bool {
        self.full.get()
    }
    fn owed(&self) -> u64 {
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

fn bench() -> (Bench, Rc<Disk>) {
    let (bench, disk) = (Bench::ready(config()), Rc::new(Disk::default()));
    bench.front.hold_with(Some(disk.clone()));
    (bench, disk)
}

impl Disk {
    fn say(&self, bench: &mut Bench, full: bool, owed: u64) {
        self.full.set(full);
        self.owed.set(owed);
        bench.front.look_at_room();
        bench.run();
    }
}

fn write(fua: bool) -> Sqe {
    IoCommand::Write(BlockRange::new(0, 8).with_force_unit_access(fua)).to_sqe(1, 0, DATA, 0)
}
fn flush() -> Sqe {
    IoCommand::Flush.to_sqe(1, 0, 0, 0)
}
fn push(bench: &mut Bench, sqe: Sqe) -> u16 {
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
    let read = IoCommand::Read(BlockRange::new(0, 8)).to_sqe(1, 0, DATA, 0);
    bench.memory.0[DATA as usize + 8192..][..16].fill(0);
    let trim = IoCommand::DatasetManagement(DatasetManagement::deallocate(1)).to_sqe(1, 0, DATA + 8192, 0);
    let zeroes = IoCommand::WriteZeroes(BlockRange::new(0, 8)).to_sqe(1, 0, 0, 0);
    for sqe in [read, trim, zeroes, flush()] {
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
fn a_reset_and_the_end_of_its_queue_take_a_write_that_waits() {
    let (mut bench, disk) = bench();
    disk.say(&mut bench, true, 0);
    let cid = push(&mut bench, write(false));
    let abort = aster_wire::nvme::admin::AbortDword10(0).with_sq_id(1).with_cid(cid);
    let abort = aster_wire::nvme::admin::AdminCommand::Abort(abort).to_sqe(0, 0, 0, 0);
    assert_eq!(bench.send(0, abort).result.get(), 1, "a host that tries again fails its user in the end");
    bench.disable();
    bench.enable();
    bench.create_pair(1, 64);
    push(&mut bench, write(false));
    let delete = aster_wire::nvme::admin::AdminCommand::DeleteIoSq(1).encode(0);
    assert!(bench.status(0, delete).is_success());
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
    disk.say(&mut bench, false, 0);
    assert_eq!(seen(&bench, HostOp::Write), 0);
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
        // Two pages of list: the first ends with its only entry, which names the second.
        let (first, second) = (DATA + 0x40_0000, DATA + 0x40_1000);
        let entries = [(first + 4088, second), (second, DATA + 4096), (second + 8, DATA + 8192)];
        for (at, entry) in entries {
            bench.memory.0[at as usize..][..8].copy_from_slice(&entry.to_le_bytes());
        }
        bench.hold_link = true;
        let command = IoCommand::Write(BlockRange::new(0, 24)).to_sqe(1, 0, DATA, first + 4088);
        push(&mut bench, command);
        // The fetch, and as many pages of the list.
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
fn writes_that_wait_in_every_slot_leave_the_admin_queue_and_go_on_with_the_room() {
    let (mut bench, disk) = bench();
    disk.say(&mut bench, true, 0);
    let waits: Vec<u16> = (0..=config().slots).map(|_| push(&mut bench, write(false))).collect();
    bench.memory.0[DATA as usize + 8192..][..16].fill(0);
    let trim = IoCommand::DatasetManagement(DatasetManagement::deallocate(1)).to_sqe(1, 0, DATA + 8192, 0);
    let trim = push(&mut bench, trim);
    assert_eq!(bench.completion(1, trim), None);
    assert_eq!(bench.fetch_page(log_page(2, 512))[0], 0);
    disk.say(&mut bench, false, 0);
    for cid in waits.into_iter().chain([trim]) {
        assert!(bench.completion(1, cid).unwrap().status().is_success());
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
