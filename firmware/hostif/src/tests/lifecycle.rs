//! Enabling, resets, shutdown, fatal errors.

use super::bench::{Bench, DATA, HOST_BYTES, config};
use crate::HostIfConfig;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_ports::host::{HostOp, HostStatus};
use aster_units::Duration;
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::registers::{Cc, Csts, Register, ShutdownStatus};
use aster_wire::nvme::{AdminOpcode, Sqe};
use core::cell::RefCell;

fn write(slba: u64, blocks: u32) -> Sqe {
    IoCommand::Write(BlockRange::new(slba, blocks)).to_sqe(1, 0, DATA, DATA + 0x10_0000)
}

#[test]
fn enabling_with_a_bad_set_up_is_fatal_and_a_reset_heals_it() {
    type Spoil = fn(&mut Bench) -> Cc;
    let cases: [(&str, Spoil); 7] = [
        ("admin queues of one entry", |b| {
            b.write(Register::AdminQueueAttributes, 0);
            b.cc()
        }),
        ("no admin submission queue", |b| {
            b.write(Register::AdminSubmissionQueue, 0xfff);
            b.cc()
        }),
        ("no admin completion queue", |b| {
            b.write(Register::AdminCompletionQueue, 0);
            b.cc()
        }),
        ("pages of 8 KiB", |b| b.cc().with_mps(1)),
        ("a reserved command set", |b| b.cc().with_css(2)),
        ("arbitration that isn't offered", |b| b.cc().with_ams(1)),
        ("vendor arbitration", |b| b.cc().with_ams(7)),
    ];
    for (name, spoil) in cases {
        let mut bench = Bench::new(config());
        bench.set_admin_queues(32);
        let cc = spoil(&mut bench);
        bench.write(Register::Configuration, cc.0.into());
        assert_eq!(bench.csts(), Csts(0).with_cfs(true), "{name}");
        bench.disable();
        assert_eq!(bench.csts(), Csts(0), "{name}");
        bench.enable();
    }
}

#[test]
fn the_admin_queue_is_fixed_while_enabled() {
    let mut bench = Bench::ready(config());
    let before = bench.read(Register::AdminQueueAttributes);
    bench.write(Register::AdminQueueAttributes, 0);
    bench.write(Register::AdminSubmissionQueue, 0x5000);
    assert_eq!(bench.read(Register::AdminQueueAttributes), before);
    assert_eq!(bench.read(Register::AdminSubmissionQueue), Bench::submission_at(0));
    bench.write(Register::Configuration, bench.cc().with_mps(3).0.into());
    assert_eq!(Cc(bench.read(Register::Configuration) as u32).mps(), 0);
    // In two halves, as a driver without 64-bit writes does it.
    bench.disable();
    bench.front.mmio_write(0x2c, 4, 0x1);
    bench.front.mmio_write(0x28, 4, 0x7000);
    assert_eq!(bench.read(Register::AdminSubmissionQueue), 0x1_0000_7000);
}

#[test]
fn a_reset_in_the_middle_of_transfers_waits_for_the_link_and_forgets_the_commands() {
    let mut bench = Bench::ready(config());
    for n in 0..6 {
        bench.push(1, write(n * 16, 16));
    }
    bench.push(0, Sqe::new(AdminOpcode::AsyncEventRequest.raw(), 0));
    bench.ring(0);
    bench.run();
    bench.ftl.paused.set(true);
    bench.ring(1);
    bench.run();
    bench.hold_link = true;
    bench.ftl.paused.set(false);
    bench.run();
    bench.front.mmio_write(0x14, 4, bench.cc().with_en(false).0.into());
    bench.run();
    assert!(bench.csts().rdy(), "data is still on the link");
    bench.release_link();
    assert_eq!(bench.csts(), Csts(0));
    assert_eq!(bench.reap(1, false), 0);
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
    bench.enable();
    bench.create_pair(1, 64);
    assert!(bench.status(1, write(0, 16)).is_success());
}

#[test]
fn commands_that_the_ftl_keeps_do_not_hold_up_a_reset() {
    let mut bench = Bench::ready(config());
    bench.ftl.paused.set(true);
    for n in 0..4 {
        bench.push(1, write(n, 1));
    }
    bench.ring(1);
    bench.run();
    bench.disable();
    assert_eq!(bench.csts(), Csts(0));
    bench.enable();
    bench.create_pair(1, 64);
    assert_eq!(bench.front.controller().commands_in_flight(), 4);
    bench.memory.0[DATA as usize..][..512].fill(0x77);
    bench.ftl.paused.set(false);
    bench.run();
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
    assert_eq!(bench.reap(1, false), 0);
    assert!(bench.ftl.disk.borrow()[..2048].iter().all(|&b| b == 0), "their DMA was refused");
    assert!(bench.status(1, write(0, 1)).is_success());
}

#[test]
fn enabling_while_a_reset_still_waits_enables_after_it() {
    let mut bench = Bench::ready(config());
    bench.push(1, write(0, 1));
    bench.hold_link = true;
    bench.ring(1);
    bench.run();
    bench.front.mmio_write(0x14, 4, bench.cc().with_en(false).0.into());
    bench.front.mmio_write(0x14, 4, bench.cc().0.into());
    bench.forget_pair(0, 32);
    bench.release_link();
    assert_eq!(bench.csts(), Csts(0).with_rdy(true));
    bench.create_pair(1, 64);
    assert!(bench.status(1, write(0, 1)).is_success());
}

#[test]
fn a_function_reset_clears_the_admin_queue_registers() {
    let mut bench = Bench::ready(config());
    bench.front.function_reset();
    bench.run();
    assert_eq!(bench.csts(), Csts(0));
    for register in [
        Register::Configuration,
        Register::AdminQueueAttributes,
        Register::AdminSubmissionQueue,
        Register::AdminCompletionQueue,
    ] {
        assert_eq!(bench.read(register), 0, "{}", register.name());
    }
    bench.enable();
}

#[test]
fn a_shutdown_completes_when_the_ftl_has_finished_it() {
    let mut bench = Bench::ready(config());
    bench.ftl.paused.set(true);
    bench.write(Register::Configuration, bench.cc().with_shn(1).0.into());
    assert_eq!(bench.csts().shutdown(), Some(ShutdownStatus::Occurring));
    bench.ftl.paused.set(false);
    bench.run();
    assert_eq!(bench.csts().shutdown(), Some(ShutdownStatus::Complete));
    assert_eq!(bench.ftl.seen.borrow().last().unwrap().op, HostOp::Shutdown);
    assert!(bench.front.history().shut_down);
    // No command is taken until a reset.
    bench.push(1, write(0, 1));
    bench.ring(1);
    bench.run();
    assert_eq!(bench.reap(1, false), 0);
    bench.disable();
    assert_eq!(bench.csts(), Csts(0));
    bench.enable();
    assert!(!bench.front.history().shut_down);
    // The next power-on knows that the last power-off was clean.
    bench.write(Register::Configuration, bench.cc().with_shn(2).0.into());
    let history = bench.front.history();
    assert_eq!((history.power_cycles, history.unsafe_shutdowns), (1, 0));
    let next = Bench::new(HostIfConfig { history, ..config() });
    assert_eq!((next.front.history().power_cycles, next.front.history().unsafe_shutdowns), (2, 0));
}

#[test]
fn a_shutdown_asked_for_twice_around_a_reset_is_done_twice() {
    let mut bench = Bench::ready(config());
    bench.ftl.paused.set(true);
    bench.write(Register::Configuration, bench.cc().with_shn(1).0.into());
    bench.disable();
    bench.enable();
    bench.write(Register::Configuration, bench.cc().with_shn(1).0.into());
    assert_eq!(bench.csts().shutdown(), Some(ShutdownStatus::Occurring));
    bench.ftl.paused.set(false);
    bench.run();
    assert_eq!(bench.csts().shutdown(), Some(ShutdownStatus::Complete));
    let shutdowns = bench.ftl.seen.borrow().iter().filter(|c| c.op == HostOp::Shutdown).count();
    assert_eq!(shutdowns, 2);
}

#[test]
fn a_shutdown_while_disabled_is_over_with_the_next_enabling() {
    let mut bench = Bench::new(config());
    bench.write(Register::Configuration, bench.cc().with_en(false).with_shn(2).0.into());
    assert_eq!(bench.csts().shutdown(), Some(ShutdownStatus::Complete));
    bench.enable();
    bench.create_pair(1, 64);
    assert!(bench.status(1, write(0, 1)).is_success());
}

#[test]
fn a_shutdown_that_fails_is_not_clean() {
    let mut bench = Bench::ready(config());
    bench.ftl.outcome.set(HostStatus::WriteFault);
    bench.write(Register::Configuration, bench.cc().with_shn(1).0.into());
    assert!(bench.csts().cfs());
    assert_eq!(bench.csts().shutdown(), Some(ShutdownStatus::Complete));
    assert!(!bench.front.history().shut_down);
}

#[test]
fn queues_in_memory_that_does_not_exist_are_fatal_until_a_reset() {
    let mut bench = Bench::new(config());
    bench.set_admin_queues(32);
    bench.write(Register::AdminSubmissionQueue, HOST_BYTES as u64);
    bench.write(Register::Configuration, bench.cc().0.into());
    bench.push(0, Sqe::new(0, 0));
    bench.ring(0);
    bench.run();
    assert!(bench.csts().cfs());
    bench.run_for(Duration::from_millis(1));
    bench.disable();
    bench.enable();
    bench.write(Register::Configuration, bench.cc().with_en(false).0.into());
    bench.set_admin_queues(32);
    bench.write(Register::AdminCompletionQueue, HOST_BYTES as u64);
    bench.write(Register::Configuration, bench.cc().0.into());
    bench.push(0, Sqe::new(0, 0));
    bench.ring(0);
    bench.run();
    assert_eq!(bench.csts().cfs(), Bench::writes_are_answered());
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
}

#[test]
fn the_drives_life_is_told_once_a_second_and_at_once_when_a_shutdown_comes_or_ends() {
    let mut bench = Bench::ready(config());
    let told: Rc<RefCell<Vec<(u64, bool)>>> = Rc::default();
    let into = Rc::clone(&told);
    bench.front.on_history(move |life| into.borrow_mut().push((life.write_commands, life.shut_down)));
    let later = |bench: &Bench, millis| {
        let at = bench.exec.now() + Duration::from_millis(millis);
        bench.exec.advance_to(at);
        bench.exec.catch_up(at);
    };
    for _ in 0..20 {
        assert!(bench.status(1, write(0, 1)).is_success());
    }
    assert_eq!(*told.borrow(), []);
    later(&bench, 1_100);
    assert_eq!(*told.borrow(), [], "who does nothing needs no waking");
    assert!(bench.status(1, write(0, 1)).is_success());
    assert_eq!(told.borrow().len(), 1);
    assert!(told.borrow()[0].0 >= 20);
    bench.write(Register::Configuration, bench.cc().with_shn(1).0.into());
    bench.run();
    assert_eq!(told.borrow()[1..], [(21, true)]);
    bench.disable();
    bench.enable();
    assert_eq!(told.borrow()[2..], [(21, false)]);
}
