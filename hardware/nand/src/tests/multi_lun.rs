//! Several LUNs behind one chip enable.

use super::bench::*;
use crate::{NandArray, NandInspect};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::{Event, EventSink, Recorder};
use aster_ports::package::{Package, ProtocolError};
use aster_units::{BlockAddr, Content, Geometry, Instant, LunIndex, PageInBlock};
use core::cell::RefCell;

const TWO: Geometry = Geometry { luns: 2, ..GEOMETRY };

struct Keep(Rc<RefCell<Vec<Event>>>);
impl EventSink for Keep {
    fn event(&mut self, _: Instant, event: &Event) {
        self.0.borrow_mut().push(*event);
    }
}

fn two() -> (Bus, NandInspect, Rc<RefCell<Vec<Event>>>) {
    let mut c = config(Content::Full);
    c.geometry = TWO;
    let kept = Rc::new(RefCell::new(vec![]));
    let recorder = Recorder::default();
    recorder.attach(Keep(kept.clone()));
    let mut array = NandArray::new(c, None, &recorder).unwrap();
    let inspect = array.inspect();
    (Bus::new(array.take_packages(0).remove(0)), inspect, kept)
}

fn row(lun: u8, block: u32, page: u16) -> [u8; 3] {
    let row = TWO.row(lun, BlockAddr(block), PageInBlock(page)).0;
    [row as u8, (row >> 8) as u8, (row >> 16) as u8]
}

fn write(bus: &mut Bus, lun: u8, bytes: &[u8]) {
    let row = row(lun, 0, 0);
    bus.cmd(0x80).addr(&[0, 0]).addr(&row).bytes_in(bytes).cmd(0x10);
    assert_eq!(bus.until_ready(), 0xe0);
}

#[test]
fn one_lun_works_while_the_other_is_busy_and_each_has_its_status() {
    let (mut bus, _, _) = two();
    write(&mut bus, 0, &[10]);
    bus.cmd(0x60).addr(&row(1, 3, 0)).cmd(0xd0);
    assert_eq!(bus.status(), 0x80, "70h answers for the LUN addressed last");
    assert_eq!(bus.cmd(0x78).addr(&row(0, 0, 0)).out(1).bytes(), [0xe0]);
    bus.cmd(0x00).addr(&[0, 0]).addr(&row(0, 0, 0)).cmd(0x30);
    assert_eq!(bus.until_ready(), 0xe0);
    assert_eq!(bus.cmd(0x00).out(1).bytes(), [10]);
    assert_eq!(bus.cmd(0x78).addr(&row(1, 0, 0)).out(1).bytes(), [0x80], "the erase is still on");
}

#[test]
fn a_busy_lun_refuses_its_own_row() {
    let (mut bus, _, _) = two();
    bus.cmd(0x60).addr(&row(1, 3, 0)).cmd(0xd0);
    let [a, b, c] = row(1, 0, 0);
    bus.cmd(0x00).addr(&[0, 0, a, b]);
    assert_eq!(bus.try_addr(c), Err(ProtocolError::Busy { lun: 1, command: 0x00 }));
    assert_eq!(bus.try_cmd(0x90), Err(ProtocolError::Busy { lun: 1, command: 0x90 }), "a target command");
}

#[test]
fn a_register_is_read_through_06h_after_another_lun_was_addressed() {
    let (mut bus, _, _) = two();
    write(&mut bus, 0, &[10, 11]);
    write(&mut bus, 1, &[20, 21]);
    for lun in [0, 1] {
        bus.cmd(0x00).addr(&[0, 0]).addr(&row(lun, 0, 0)).cmd(0x30);
    }
    for lun in [0, 1] {
        while bus.cmd(0x78).addr(&row(lun, 0, 0)).out(1).bytes()[0] & 0x40 == 0 {}
    }
    // Each 78h turned the other LUN's output off.
    assert_eq!(bus.cmd(0x00).try_out(1), Err(ProtocolError::UnexpectedData));
    // 06h C1 C2 R1 R2 R3 E0h (ONFI 5.1, CHANGE READ COLUMN ENHANCED).
    assert_eq!(bus.cmd(0x06).addr(&[1, 0]).addr(&row(0, 0, 0)).cmd(0xe0).out(1).bytes(), [11]);
    assert_eq!(bus.cmd(0x06).addr(&[1, 0]).addr(&row(1, 0, 0)).cmd(0xe0).out(1).bytes(), [21]);
    // 78h to LUN 0 turns LUN 1's output off.
    bus.cmd(0x78).addr(&row(0, 0, 0)).out(1);
    assert_eq!(bus.cmd(0x00).try_out(1), Err(ProtocolError::UnexpectedData));
    bus.cmd(0x05).addr(&[0, 0]);
    assert_eq!(bus.try_cmd(0xe0), Err(ProtocolError::UnexpectedCommand { command: 0xe0 }));
}

#[test]
fn the_ready_pin_is_low_while_any_lun_works_and_events_name_it() {
    let (mut bus, inspect, kept) = two();
    write(&mut bus, 1, &[1]);
    let now = bus.now;
    assert!(bus.package.ready(now));
    bus.cmd(0x60).addr(&row(1, 0, 0)).cmd(0xd0);
    let now = bus.now;
    assert!(!bus.package.ready(now));
    bus.until_ready();
    assert_eq!(
        *kept.borrow(),
        [
            Event::ArrayBusy { channel: 0, way: 0, lun: 1, kind: 1, picoseconds: 481_000_000 },
            Event::ArrayBusy { channel: 0, way: 0, lun: 1, kind: 2, picoseconds: 5_000_000_000 },
        ]
    );
    assert_eq!(inspect.totals(LunIndex(1)).erases, 1);
    assert_eq!(inspect.totals(LunIndex(0)).erases, 0);
    assert_eq!(inspect.totals_of_drive().programs, 1);
    assert_eq!(inspect.erase_spread((0..inspect.config().geometry.blocks_per_lun).map(BlockAddr)).max, 1);
}

#[test]
fn reset_reaches_all_luns() {
    let (mut bus, inspect, _) = two();
    for lun in [0, 1] {
        bus.cmd(0x60).addr(&row(lun, 3, 0)).cmd(0xd0);
    }
    bus.cmd(0xff);
    for lun in [0, 1] {
        while bus.cmd(0x78).addr(&row(lun, 0, 0)).out(1).bytes() != [0xe0] {}
        assert!(inspect.block(LunIndex(u32::from(lun)), BlockAddr(3)).torn);
    }
}
