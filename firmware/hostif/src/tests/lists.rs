//! Lists of addresses that firmware asks for, instead of the controller alone (C86).

use super::bench::Bench;
use super::command_set::{COPY, ERASE, LIST_TO, SET_STATE, bench as with_vectors, of, put};
use super::mandatory::delete;
use alloc::vec::Vec;
use aster_parties::FrontEnd;
use aster_ports::host::{CommandId, HostOp};
use aster_wire::nvme::admin::{AbortDword10, AdminCommand, FormatDword10};
use aster_wire::nvme::{AdminOpcode, Sqe, Status};

/// A bench whose firmware asks for lists.
fn bench() -> Bench {
    let bench = with_vectors();
    bench.ftl.port.manage_lists();
    bench
}
/// Sends a command and lets it come as far as it does.
fn arrive(bench: &mut Bench, queue: u16, sqe: Sqe) -> u16 {
    let cid = bench.push(queue, sqe);
    bench.ring(queue);
    bench.run();
    cid
}
/// An erase of these units whose list waits: its identifier, and what the firmware knows it by.
fn waiting(bench: &mut Bench, units: &[u64]) -> (u16, CommandId) {
    let sqe = of(bench, ERASE, units);
    let cid = arrive(bench, 1, sqe);
    assert!(bench.completion(1, cid).is_none(), "it waits");
    (cid, bench.ftl.port.next_list().expect("the firmware hears of it"))
}
/// The firmware asks for a list and waits for it.
fn fetch(bench: &mut Bench, command: CommandId) {
    bench.ftl.port.fetch_list(command);
    bench.run();
    assert!(bench.ftl.port.list_ended());
}
/// The firmware asks for the list of a command that has ended: there is no DMA, and nothing to wait for.
fn fetch_none(bench: &mut Bench, command: CommandId) {
    bench.hold_link = true;
    fetch(bench, command);
    bench.release_link();
}
fn status(bench: &mut Bench, queue: u16, cid: u16) -> Status {
    bench.completion(queue, cid).expect("it has ended").status()
}
fn operations(bench: &Bench) -> Vec<HostOp> {
    bench.ftl.seen.borrow().iter().map(|command| command.op).collect()
}

#[test]
fn a_list_is_fetched_when_the_firmware_asks_for_it() {
    let mut bench = bench();
    let (cid, command) = waiting(&mut bench, &[1, 2]);
    assert!(operations(&bench).is_empty());
    fetch(&mut bench, command);
    assert!(bench.ftl.port.is_known(command), "the firmware has had it before");
    assert!(status(&mut bench, 1, cid).is_success());
    assert_eq!(bench.ftl.metadata.borrow().len(), 0);
    // A copy has two lists, and the firmware asks for each.
    let mut sqe = of(&mut bench, COPY, &[1, 2]);
    put(&mut bench, LIST_TO, &[3, 4]);
    sqe.dwords_10_15[4] = (LIST_TO as u32).into();
    let cid = arrive(&mut bench, 1, sqe);
    for _ in 0..2 {
        assert!(bench.completion(1, cid).is_none());
        let command = bench.ftl.port.next_list().expect("a list waits");
        fetch(&mut bench, command);
    }
    assert!(status(&mut bench, 1, cid).is_success());
    assert_eq!(operations(&bench)[1], HostOp::VectorCopy);
    // A single address is in the command, and admin commands aren't the loop's.
    let sqe = of(&mut bench, ERASE, &[5]);
    let cid = arrive(&mut bench, 1, sqe);
    assert!(status(&mut bench, 1, cid).is_success());
    let sqe = of(&mut bench, SET_STATE, &[2, 200]);
    assert!(bench.status(0, sqe).is_success());
    assert!(bench.ftl.port.next_list().is_none());
}

#[test]
fn lists_and_commands_without_one_keep_their_order() {
    let mut bench = bench();
    let port = bench.ftl.port.clone();
    bench.ftl.paused.set(true);
    // Eight tasks of the FTL have a command each; the ninth command waits, and a list behind it.
    for unit in 0..9 {
        let sqe = of(&mut bench, ERASE, &[unit]);
        arrive(&mut bench, 1, sqe);
    }
    let sqe = of(&mut bench, ERASE, &[20, 21]);
    let behind = arrive(&mut bench, 1, sqe);
    assert_eq!(port.next_list(), None, "a command came before it");
    assert!(port.try_next_command().is_some());
    let command = port.next_list().expect("it is the list's turn");
    assert!(!port.is_known(command), "its slot's command has not been handed over");
    fetch(&mut bench, command);
    assert!(port.is_known(command));
    assert!(bench.completion(1, behind).is_none());
}

#[test]
fn what_becomes_of_a_command_whose_list_waits_is_seen_when_the_firmware_asks_for_it() {
    // The host aborts it.
    let mut bench = bench();
    let (cid, command) = waiting(&mut bench, &[1, 2]);
    let abort = AdminCommand::Abort(AbortDword10(0).with_sq_id(1).with_cid(cid)).to_sqe(0, 0, 0, 0);
    assert_eq!(bench.send(0, abort).result.get(), 0, "it was aborted");
    assert!(bench.completion(1, cid).is_none(), "the firmware still has it");
    fetch_none(&mut bench, command);
    assert!(status(&mut bench, 1, cid).is(Status::ABORT_REQUESTED));

    // Its list is nowhere.
    let mut sqe = of(&mut bench, ERASE, &[1, 2]);
    sqe.dwords_10_15[1] = u32::MAX.into();
    let cid = arrive(&mut bench, 1, sqe);
    let command = bench.ftl.port.next_list().unwrap();
    fetch(&mut bench, command);
    assert!(status(&mut bench, 1, cid).is(Status::DATA_TRANSFER_ERROR));

    // A format begins.
    let (cid, command) = waiting(&mut bench, &[1, 2]);
    bench.ftl.paused.set(true);
    arrive(&mut bench, 0, AdminCommand::FormatNvm(FormatDword10(1)).to_sqe(1, 0, 0, 0));
    fetch(&mut bench, command);
    assert!(status(&mut bench, 1, cid).is(Status::FORMAT_IN_PROGRESS));
    bench.ftl.paused.set(false);
    bench.run();

    // Its queue is deleted, which needn't wait for it, and made again.
    let (cid, command) = waiting(&mut bench, &[1, 2]);
    assert!(bench.status(0, delete(AdminOpcode::DeleteIoSq, 1)).is_success());
    assert!(bench.status(0, delete(AdminOpcode::DeleteIoCq, 1)).is_success());
    bench.forget_pair(1, 64);
    bench.create_pair(1, 64);
    let in_flight = bench.front.commands_in_flight();
    fetch_none(&mut bench, command);
    assert!(bench.completion(1, cid).is_none(), "nobody waits for it any more");
    assert_eq!(bench.front.commands_in_flight(), in_flight - 1, "and its slot is free");

    // The host resets the controller: RDY needn't wait for it either.
    let (_, command) = waiting(&mut bench, &[1, 2]);
    bench.disable();
    assert!(!bench.csts().rdy());
    bench.enable();
    fetch_none(&mut bench, command);
    assert_eq!(bench.front.commands_in_flight(), 0);
    assert_eq!(operations(&bench), [HostOp::Format { erase: false }], "no vector has come through");
    assert!(bench.ftl.port.next_list().is_none());
}

#[test]
fn what_becomes_of_a_command_while_its_list_is_fetched_ends_the_firmwares_wait() {
    for reset in [false, true] {
        let mut bench = bench();
        let (cid, command) = waiting(&mut bench, &[1, 2]);
        bench.hold_link = true;
        bench.ftl.port.fetch_list(command);
        bench.run();
        assert!(!bench.ftl.port.list_ended());
        if reset {
            bench.disable();
        } else {
            let abort = AdminCommand::Abort(AbortDword10(0).with_sq_id(1).with_cid(cid));
            bench.set_one_aside();
            arrive(&mut bench, 0, abort.to_sqe(0, 0, 0, 0));
            bench.carry_out_one();
            bench.run();
        }
        bench.release_link();
        bench.run();
        assert!(bench.ftl.port.list_ended());
        assert_eq!(bench.front.commands_in_flight(), 0);
        assert!(operations(&bench).is_empty());
        if !reset {
            assert!(status(&mut bench, 1, cid).is(Status::ABORT_REQUESTED));
        }
    }
}
