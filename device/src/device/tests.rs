//! The host's accesses: their order, and when they have no effect.

use super::*;
use crate::profile::shipped;
use aster_hostif::BarLayout;
use aster_units::Duration;

const INTMS: u32 = 0x0c;
const INTMC: u32 = 0x10;
const AQA: u32 = 0x24;
const COMMAND: u16 = 0x04;
const MEMORY_AND_BUS_MASTER: u32 = 0x0006;
const PMCSR: u16 = 0x44;
const DEVICE_CONTROL: u16 = 0x58;
const FUNCTION_LEVEL_RESET: u32 = 1 << 15;
const MSIX_CONTROL: u16 = 0x92;
const MSIX_ENABLE: u32 = 1 << 15;
const MSIX_FUNCTION_MASK: u32 = 1 << 14;
const MESSAGE_ADDRESS: u64 = 0xfee0_0000;
const MSIX_TABLE_OFFSET: u32 = BarLayout::of(4, 5).table;

/// A drive whose function answers. A posted write takes [`LATENCY`] to reach it.
fn device() -> Device {
    let profile = shipped("tiny").unwrap();
    assert_eq!(u64::from(profile.link.latency_ns), LATENCY.as_nanos());
    let device = Device::power_on("tiny", &profile, None, Media::fresh(), &Recorder::default()).unwrap();
    device.config_write(COMMAND, 2, MEMORY_AND_BUS_MASTER);
    device
}

const LATENCY: Duration = Duration::from_nanos(300);

fn at(ns: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(ns)
}

/// A register's value, read without a host access.
fn register(device: &Device, offset: u32) -> u64 {
    match device.face.front.read(0, offset, 4) {
        BarRead::Now(value) => value,
        BarRead::Later(tag) => panic!("{tag:?}"),
    }
}

#[test]
fn a_read_does_not_overtake_the_writes_before_it() {
    let device = device();
    device.bar_write(0, INTMS, 4, 0xffff_ffff);
    assert_eq!(register(&device, INTMS), 0, "it is on its way");
    assert_eq!(device.bar_read(0, INTMS, 4), 0xffff_ffff);
    device.bar_write(0, INTMC, 4, 0xffff);
    device.config_read(0, 4);
    assert_eq!(register(&device, INTMS), 0xffff_0000, "a configuration read pushes, too");
}

#[test]
fn a_write_after_one_that_was_pushed_takes_its_own_time() {
    let device = device();
    device.bar_write(0, INTMS, 4, 1);
    device.bar_read(0, INTMS, 4);
    device.advance_to(at(100));
    device.bar_write(0, INTMS, 4, 2);
    device.advance_to(at(399));
    assert_eq!(register(&device, INTMS), 1);
    device.advance_to(at(400));
    assert_eq!(register(&device, INTMS), 3);
}

#[test]
fn a_function_level_reset_leaves_no_write_behind_that_was_sent_before_it() {
    let device = device();
    device.bar_write(0, AQA, 4, 0x001f_001f);
    device.config_write(DEVICE_CONTROL, 2, FUNCTION_LEVEL_RESET);
    device.config_write(COMMAND, 2, MEMORY_AND_BUS_MASTER);
    device.advance_to(at(1_000));
    assert_eq!(device.bar_read(0, AQA, 4), 0);
}

#[test]
fn the_msix_table_is_written_in_order_with_the_registers() {
    let device = device();
    device.bar_write(0, INTMS, 4, 1);
    device.bar_write(0, MSIX_TABLE_OFFSET, 8, MESSAGE_ADDRESS);
    let entry = || device.face.pci.borrow().bar_read(0, MSIX_TABLE_OFFSET, 8);
    device.advance_to(at(299));
    assert_eq!((entry(), register(&device, INTMS)), (Some(0), 0));
    device.advance_to(at(300));
    assert_eq!((entry(), register(&device, INTMS)), (Some(MESSAGE_ADDRESS), 1));
    device.bar_write(0, MSIX_TABLE_OFFSET, 8, 0);
    assert_eq!(device.bar_read(0, MSIX_TABLE_OFFSET, 8), 0);
}

/// The interrupts that leave the drive up to `until`.
fn interrupts(device: &Device, until: Instant) -> Vec<(u64, u32)> {
    let mut found = Vec::new();
    while let Some(next) = device.next_deadline().filter(|next| *next <= until) {
        device.advance_to(next);
        while let Some(op) = device.next_out() {
            let LinkOp::Interrupt { vector } = op else { panic!("nobody enabled the controller: {op:?}") };
            found.extend(device.message(vector));
        }
    }
    found
}

#[test]
fn a_message_behind_a_mask_is_sent_once_when_the_mask_goes() {
    let device = device();
    let entry = |vector: u32| MSIX_TABLE_OFFSET + 16 * vector;
    for vector in 0..2 {
        device.bar_write(0, entry(vector), 8, MESSAGE_ADDRESS);
        device.bar_write(0, entry(vector) + 8, 4, u64::from(vector) + 40);
    }
    device.bar_write(0, entry(1) + 12, 4, 0);
    device.config_write(MSIX_CONTROL, 2, MSIX_ENABLE | MSIX_FUNCTION_MASK);
    assert_eq!((device.message(0), device.message(1)), (None, None));
    assert_eq!(interrupts(&device, at(10_000)), []);
    device.config_write(MSIX_CONTROL, 2, MSIX_ENABLE);
    assert_eq!(interrupts(&device, at(20_000)), [(MESSAGE_ADDRESS, 41)]);
    device.bar_write(0, entry(0) + 12, 4, 0);
    assert_eq!(interrupts(&device, at(30_000)), [(MESSAGE_ADDRESS, 40)]);
    device.config_write(MSIX_CONTROL, 2, MSIX_ENABLE);
    assert_eq!(interrupts(&device, at(40_000)), []);
}

#[test]
fn bar0_answers_only_with_memory_space_on_and_in_d0() {
    let device = device();
    let version = device.bar_read(0, 8, 4);
    assert_eq!(version, 0x0001_0400);
    for (offset, off, on) in [(COMMAND, 0x0004, MEMORY_AND_BUS_MASTER), (PMCSR, 3, 0)] {
        device.config_write(offset, 2, off);
        assert_eq!(device.bar_read(0, 8, 4), u64::MAX);
        assert_eq!(device.bar_read(0, MSIX_TABLE_OFFSET, 8), u64::MAX);
        device.bar_write(0, INTMS, 4, 1);
        device.bar_write(0, MSIX_TABLE_OFFSET, 8, MESSAGE_ADDRESS);
        device.config_write(offset, 2, on);
        device.advance_to(device.now() + LATENCY);
        assert_eq!((device.bar_read(0, INTMS, 4), device.bar_read(0, MSIX_TABLE_OFFSET, 8)), (0, 0));
        assert_eq!(device.bar_read(0, 8, 4), version);
    }
}
