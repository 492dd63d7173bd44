//! RESET during an operation, power-off, and what is left afterwards.

use super::bench::*;
use crate::{NandArray, NandConfig, NandError};
use alloc::boxed::Box;

use alloc::vec::Vec;
use aster_events::Recorder;
use aster_ports::package::PageData;
use aster_units::{BlockAddr, Content, Duration};

#[test]
fn reset_during_a_program_tears_the_page() {
    let (mut bus, inspect) = one(config(Content::Full));
    let (data, oob) = page_of(Content::Full, 1);
    bus.program(1, 0, 7);
    bus.load(1, 1, &PageData { content: Content::Full, data: &data, oob: &oob, seed: 5 }).unwrap();
    bus.cmd(0x10).wait(Duration::from_micros(100)).cmd(0xff);
    assert_eq!(bus.until_ready(), 0xe0);
    assert!(bus.read(1, 1).flips().len() > 500, "uncorrectable");
    expect_page(&bus.read(1, 0), 7);
    assert_eq!(bus.program(1, 1, 2), 0xe1, "a torn page is used up");
    assert_eq!(bus.program(1, 2, 2), 0xe0);
    assert_eq!(inspect.bad_blocks(LUN), []);
    bus.erase(1);
    bus.program(1, 0, 3);
    expect_page(&bus.read(1, 0), 3);
}

#[test]
fn reset_during_an_erase_leaves_a_block_that_must_be_erased_again() {
    let (mut bus, inspect) = one(config(Content::Fingerprint));
    bus.program(1, 0, 7);
    let row = bus.row(1, 0);
    bus.cmd(0x60).addr(&row).cmd(0xd0).wait(Duration::from_millis(2)).cmd(0xff);
    assert_eq!(bus.until_ready(), 0xe0);
    assert!(inspect.block(LUN, BlockAddr(1)).torn);
    assert!(bus.read(1, 0).flips().len() > 500);
    assert!(bus.read(1, 5).flips().len() > 500, "pages that were erased before as well");
    assert_eq!(bus.program(1, 1, 2), 0xe1);
    assert_eq!(bus.erase(1), 0xe0);
    assert_eq!(bus.program(1, 0, 2), 0xe0);
    expect_page(&bus.read(1, 0), 2);
}

#[test]
fn reset_during_a_read_leaves_the_register_without_data() {
    let (mut bus, _) = one(config(Content::Full));
    bus.program(1, 0, 7);
    bus.start_read(1, 0).cmd(0xff).until_ready();
    assert!(bus.cmd(0x00).try_out(1).is_err());
    expect_page(&bus.read(1, 0), 7);
    bus.cmd(0xff).until_ready();
    let row = bus.row(1, 0);
    bus.cmd(0x06).addr(&[0, 0]).addr(&row).cmd(0xe0);
    assert!(bus.try_out(1).is_err(), "not by selecting it either");
}

#[test]
fn reset_after_the_program_was_done_tears_nothing() {
    let (mut bus, _) = one(config(Content::Full));
    let (data, oob) = page_of(Content::Full, 1);
    bus.load(1, 0, &PageData { content: Content::Full, data: &data, oob: &oob, seed: 5 }).unwrap();
    // Nothing accesses the LUN before the RESET, which carries the program out.
    bus.cmd(0x10).wait(Duration::from_millis(1)).cmd(0xff).until_ready();
    expect_page(&bus.read(1, 0), 1);
}

fn reboot(array: &NandArray, bus: Bus) -> (NandArray, Bus) {
    drop(bus);
    let mut array = NandArray::power_up(array.cells(), &Recorder::default()).unwrap();
    let bus = Bus::new(array.take_packages(0).remove(0));
    (array, bus)
}

#[test]
fn cells_survive_power_off_and_registers_do_not() {
    let mut array = NandArray::new(config(Content::Fingerprint), None, &Recorder::default()).unwrap();
    let mut bus = Bus::new(array.take_packages(0).remove(0));
    assert_eq!(array.take_packages(0).len(), 0);
    bus.program(1, 0, 7);
    bus.erase(2);
    bus.read(1, 0);
    bus.cmd(0xef).addr(&[0x01]).bytes_in(&[0x27, 0, 0, 0]);
    let error = NandArray::power_up(array.cells(), &Recorder::default()).unwrap_err();
    assert_eq!(error, NandError::Powered { packages: 1 });
    let (array, mut bus) = reboot(&array, bus);
    assert_eq!(bus.status(), 0xe0, "in SDR again");
    assert!(bus.cmd(0x00).try_out(1).is_err(), "the register is empty");
    expect_page(&bus.read(1, 0), 7);
    assert_eq!(array.inspect().block(LUN, BlockAddr(2)).erases, 1);
}

#[test]
fn power_off_decides_what_was_done_in_time() {
    for (micros, torn) in [(480, true), (482, false)] {
        let mut array = NandArray::new(config(Content::Full), None, &Recorder::default()).unwrap();
        let mut bus = Bus::new(array.take_packages(0).remove(0));
        let (data, oob) = page_of(Content::Full, 1);
        bus.load(1, 0, &PageData { content: Content::Full, data: &data, oob: &oob, seed: 5 }).unwrap();
        bus.cmd(0x10);
        array.cells().power_off(bus.now + Duration::from_micros(micros));
        let (_, mut bus) = reboot(&array, bus);
        assert_eq!(!bus.read(1, 0).flips().is_empty(), torn);
    }
}

/// A busy history: pages of every form, torn ones, failures, wear.
fn live(bus: &mut Bus, inspect: &crate::NandInspect) {
    for block in 1..6 {
        for page in 0..5 {
            bus.program(block, page, block as u8 * 16 + page as u8);
        }
    }
    bus.erase(1);
    bus.erase(1);
    bus.program(1, 0, 0xee);
    let row = bus.row(6, 0);
    bus.cmd(0x80).addr(&[0, 0]).addr(&row).bytes_in(&[1, 2, 3]).cmd(0x10).until_ready();
    let data: Vec<u8> = (0..8192u32).map(|i| (i * 7) as u8).collect();
    bus.load(6, 1, &PageData { content: Content::Full, data: &data, oob: &[4; 16], seed: 99 }).unwrap();
    bus.cmd(0x10).until_ready();
    let row = bus.row(6, 2);
    bus.cmd(0x80).addr(&[0, 0]).addr(&row).cmd(0x10).until_ready();
    inspect.set_age_hours(50).unwrap();
    bus.program(7, 0, 0x77);
    inspect.fail_next_program(LUN);
    bus.program(8, 0, 1);
    let row = bus.row(9, 0);
    bus.cmd(0x60).addr(&row).cmd(0xd0).cmd(0xff).until_ready();
    bus.program(10, 0, 3);
    bus.load(10, 1, &PageData { content: Content::Full, data: &data, oob: &[4; 16], seed: 98 }).unwrap();
    bus.cmd(0x10).cmd(0xff).until_ready();
    for _ in 0..10 {
        bus.read(2, 2);
    }
}

/// Everything that a host can read, and the state of every block.
fn contents(bus: &mut Bus, inspect: &crate::NandInspect) -> (Vec<crate::BlockInfo>, Vec<Out>) {
    let infos = (0..16).map(|b| inspect.block(LUN, BlockAddr(b))).collect();
    (infos, (0..16).flat_map(|b| (0..8).map(move |p| (b, p))).map(|(b, p)| bus.read(b, p)).collect())
}

fn aging(content: Content) -> NandConfig {
    let mut c = config(content);
    c.errors.fresh = 1e-5;
    c.errors.retention = 1e-4;
    c.failures.factory_bad_per_mille = 60;
    c
}

#[test]
fn an_image_reopens_as_the_array_it_was() {
    for content in [Content::Full, Content::Fingerprint] {
        let c = aging(content);
        let medium = TestMedium::for_config(&c);
        let open = || NandArray::new(c.clone(), medium.boxed(), &Recorder::default()).unwrap();
        let mut array = open();
        let inspect = array.inspect();
        let mut bus = Bus::new(array.take_packages(0).remove(0));
        live(&mut bus, &inspect);
        // The same history in memory reads the same.
        let (mut twin, twin_inspect) = one(c.clone());
        live(&mut twin, &twin_inspect);
        let infos: Vec<_> = (0..16).map(|b| inspect.block(LUN, BlockAddr(b))).collect();
        let (memory_infos, memory_pages) = contents(&mut twin, &twin_inspect);
        assert_eq!(infos, memory_infos);
        let programmed = inspect.programmed_pages();
        drop((bus, inspect, array));
        let mut array = open();
        let inspect = array.inspect();
        assert_eq!(inspect.programmed_pages(), programmed);
        let mut bus = Bus::new(array.take_packages(0).remove(0));
        let (again_infos, again_pages) = contents(&mut bus, &inspect);
        assert_eq!(again_infos, infos, "{content:?}");
        assert_eq!(again_pages, memory_pages, "{content:?}");
        assert_eq!(inspect.age_hours(), 50);
        // And it continues where it was.
        assert_eq!(bus.program(7, 1, 1), 0xe0);
        assert_eq!(bus.program(2, 4, 1), 0xe1);
    }
}

#[test]
fn a_block_of_lsb_pages_reopens_as_it_was() {
    // C31
    for content in [Content::Full, Content::Fingerprint] {
        let all_pages = config(content);
        let mut c = all_pages.clone();
        c.variant.lsb_pages = true;
        let medium = TestMedium::for_config(&c);
        let opened = |c: &NandConfig| {
            let mut array = NandArray::new(c.clone(), medium.boxed(), &Recorder::default()).unwrap();
            (Bus::new(array.take_packages(0).remove(0)), array)
        };
        let open = || opened(&c);
        // Blocks in which all pages were programmed before, so that the records of upper pages hold
        // something. One block is only opened.
        let (mut bus, array) = opened(&all_pages);
        for block in [3, 4] {
            (0..8).for_each(|page| assert_eq!(bus.program(block, page, 9), 0xe0));
            assert_eq!(bus.erase(block), 0xe0);
        }
        drop((bus, array));
        let (mut bus, array) = open();
        let programs = [(3, 0), (3, 2), (3, 4), (4, 0)];
        programs.iter().for_each(|&(block, page)| assert_eq!(bus.program(block, page, page as u8), 0xe0));
        let pages = |bus: &mut Bus| -> Vec<_> { (0..8).map(|page| bus.read(3, page)).collect() };
        let before = pages(&mut bus);
        drop((bus, array));
        let (mut bus, array) = open();
        assert_eq!(array.inspect().programmed_pages(), 4, "{content:?}");
        assert_eq!(pages(&mut bus), before, "{content:?}");
        assert_eq!(bus.program(3, 5, 1), 0xe1);
        assert_eq!(bus.program(3, 6, 1), 0xe0);
        assert_eq!(bus.program(4, 2, 1), 0xe0);
        let mut damaged = Vec::new();
        let slots = if content == Content::Full { 4 } else { 0 };
        assert_eq!(array.inspect().verify(LUN, BlockAddr(3), &mut damaged), Ok(slots));
        assert!(damaged.is_empty(), "{damaged:?}");
    }
}

#[test]
fn erased_blocks_give_their_space_back() {
    let c = config(Content::Full);
    let medium = TestMedium::for_config(&c);
    let mut array = NandArray::new(c, medium.boxed(), &Recorder::default()).unwrap();
    let mut bus = Bus::new(array.take_packages(0).remove(0));
    let empty = medium.pages.borrow().len();
    for page in 0..8 {
        bus.program(3, page, 0xab);
    }
    assert_eq!(medium.pages.borrow().len(), empty + 8 * 2 + 2, "two slot pages each; records; block entries");
    bus.erase(3);
    assert_eq!(medium.pages.borrow().len(), empty + 2);
    assert!(NandArray::image_bytes(array.inspect().config()) >= 16 * 8 * 9_216);
}

#[test]
fn an_image_of_another_array_is_refused_by_field() {
    let c = config(Content::Full);
    let medium = TestMedium::for_config(&c);
    drop(NandArray::new(c.clone(), medium.boxed(), &Recorder::default()).unwrap());
    let mut other = c.clone();
    other.geometry.pages_per_block = 4;
    let error = NandArray::new(other, medium.boxed(), &Recorder::default()).unwrap_err();
    assert_eq!(error, NandError::Mismatch { field: "pages_per_block", image: 8, config: 4 });
    let other = NandConfig { seed: 43, ..c };
    let error = NandArray::new(other, medium.boxed(), &Recorder::default()).unwrap_err();
    assert!(alloc::format!("{error}").contains("seed = 42, but the profile says 43"), "{error}");
}

#[test]
fn a_damaged_or_foreign_image_is_refused_with_its_place() {
    let c = config(Content::Full);
    let open =
        |medium: &TestMedium| NandArray::new(config(Content::Full), medium.boxed(), &Recorder::default());
    let made = || {
        let medium = TestMedium::for_config(&c);
        let mut array = open(&medium).unwrap();
        let mut bus = Bus::new(array.take_packages(0).remove(0));
        bus.program(2, 0, 1);
        bus.erase(3);
        medium
    };
    for (at, offset) in [(0u64, 0u64), (8, 0), (40, 0), (143, 0), (4096 + 32 * 3, 4096 + 32 * 3)] {
        let medium = made();
        medium.pages.borrow_mut().get_mut(&(at / 4096)).unwrap()[(at % 4096) as usize] ^= 0x10;
        let error = open(&medium).unwrap_err();
        assert!(matches!(error, NandError::Damaged { offset: o, .. } if o == offset), "{at}: {error}");
    }
    let small = TestMedium { size: 1_000_000, ..TestMedium::for_config(&config(Content::Full)) };
    assert!(matches!(open(&small).unwrap_err(), NandError::Size { found: 1_000_000, .. }));
}

#[test]
fn a_record_cut_off_in_the_middle_is_a_torn_page() {
    let c = config(Content::Full);
    let medium = TestMedium::for_config(&c);
    let open = || NandArray::new(config(Content::Full), medium.boxed(), &Recorder::default()).unwrap();
    let mut array = open();
    let mut bus = Bus::new(array.take_packages(0).remove(0));
    bus.program(0, 0, 1);
    bus.program(0, 1, 2);
    drop((bus, array));
    // The record of page 1 follows that of page 0. Each has 16 fixed bytes, 16 of OOB and three
    // checksums, rounded up. Spoil a byte of its OOB.
    let records = 4096 + (16u64 * 32).next_multiple_of(4096);
    medium.pages.borrow_mut().get_mut(&(records / 4096)).unwrap()[48 + 14] ^= 1;
    let mut array = open();
    let mut bus = Bus::new(array.take_packages(0).remove(0));
    expect_page(&bus.read(0, 0), 1);
    assert!(bus.read(0, 1).flips().len() > 100);
    assert_eq!(bus.program(0, 2, 3), 0xe0);
}

#[test]
fn a_failing_medium_fails_programs_and_spoils_reads() {
    let c = config(Content::Full);
    let medium = TestMedium::for_config(&c);
    let mut array = NandArray::new(c, medium.boxed(), &Recorder::default()).unwrap();
    let inspect = array.inspect();
    let mut bus = Bus::new(array.take_packages(0).remove(0));
    bus.program(0, 0, 1);
    medium.fails.set(true);
    assert_eq!(bus.program(0, 1, 1), 0xe1);
    assert_eq!(bus.erase(1), 0xe1);
    let got = bus.read(0, 0);
    assert!(got.flips().len() > 100, "never taken for good data");
    assert_eq!(inspect.medium_error().unwrap().reason, "the disk is on fire");
    let boxed: Option<Box<dyn aster_ports::medium::Medium>> = medium.boxed();
    assert!(NandArray::new(config(Content::Full), boxed, &Recorder::default()).is_err());
}
