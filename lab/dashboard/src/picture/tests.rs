use super::*;
use crate::frame::Work;
use aster_events::EventKind;
use aster_lab::watch::EventLine;
use aster_units::Geometry;
use proptest::prelude::*;

fn shape() -> DriveShape {
    let geometry = Geometry {
        channels: 2,
        ways: 2,
        luns: 2,
        planes: 2,
        blocks_per_lun: 8,
        pages_per_block: 4,
        page_bytes: 16_384,
        spare_bytes: 1024,
    };
    DriveShape { geometry, array: geometry, mapping_unit_bytes: 8192 }
}

fn at(us: u64) -> Instant {
    Instant::from_picos(us * 1_000_000)
}

fn busy(kind: u8, us: u64) -> Event {
    Event::ArrayBusy { channel: 1, way: 1, lun: 1, kind, picoseconds: us * 1_000_000 }
}

#[test]
fn a_die_works_until_its_array_is_ready() {
    let mut picture = Picture::new(shape(), true);
    // Channel 1, way 1, LUN 1 of 2 × 2 × 2.
    let lun = 7;
    let work = |picture: &mut Picture, us| picture.frame(at(us)).dies[lun].work;
    assert_eq!(work(&mut picture, 0), Work::Idle);
    // LUN 1 of way 1 is slot 3 of its channel.
    picture.hear(at(1), &Event::TransactionStarted { channel: 1, slot: 3 });
    assert_eq!(work(&mut picture, 1), Work::Transfer);
    assert_eq!(picture.frame(at(1)).channels, [false, true]);
    picture.hear(at(2), &Event::TransactionEnded { channel: 1, slot: 3, bytes: 16 });
    picture.hear(at(2), &busy(1, 500));
    assert_eq!([3, 501, 502].map(|us| work(&mut picture, us)), [Work::Program, Work::Program, Work::Idle]);
    assert!(picture.frame(at(3)).dies[..lun].iter().all(|die| die.work == Work::Idle));
}

#[test]
fn a_read_within_a_program_suspends_it() {
    let mut picture = Picture::new(shape(), true);
    let die = |picture: &mut Picture, us| {
        let die = picture.frame(at(us)).dies[7];
        (die.work, die.suspended)
    };
    picture.hear(at(0), &busy(1, 500));
    picture.hear(at(100), &busy(0, 50));
    assert_eq!(die(&mut picture, 110), (Work::Read, Some(Work::Program)));
    // It waits while the page is transferred.
    assert_eq!(die(&mut picture, 160), (Work::Idle, Some(Work::Program)));
    picture.hear(at(170), &busy(1, 400));
    assert_eq!(die(&mut picture, 180), (Work::Program, None));
    // A read behind an erase suspends nothing.
    picture.hear(at(600), &busy(2, 10));
    picture.hear(at(700), &busy(0, 50));
    assert_eq!(die(&mut picture, 710), (Work::Read, None));
    // A program that is given up while it is suspended.
    picture.hear(at(800), &busy(1, 500));
    picture.hear(at(850), &busy(0, 50));
    picture.hear(at(900), &Event::FlashFinished { lun: 7, kind: 1, row: 0, status: 5, corrected: 0 });
    assert_eq!(die(&mut picture, 950), (Work::Idle, None));
}

#[test]
fn operations_wait_are_issued_and_end() {
    let mut picture = Picture::new(shape(), true);
    let (lun, kind, row) = (3, 0, 9);
    for task in 0..3 {
        picture.hear(at(0), &Event::FlashQueued { task, lun, kind, row, buffer: 0 });
    }
    picture.hear(at(0), &Event::FlashIssued { lun, kind, row });
    assert_eq!(picture.frame(at(0)).dies[3].waiting, 2);
    let finished = Event::FlashFinished { lun, kind, row, status: 0, corrected: 0 };
    picture.hear(at(1), &finished);
    // One that is given up before it was issued.
    picture.hear(at(1), &finished);
    let frame = picture.frame(at(1));
    assert_eq!((frame.dies[3].waiting, frame.dies[3].reads, frame.totals.flash_reads), (1, 2, 2));
}

#[test]
fn blocks_hold_what_is_mapped_to_them() {
    let mut picture = Picture::new(shape(), true);
    let g = shape().geometry;
    let map = |picture: &mut Picture, lpn, lun: u32, block: u32, unit: u32| {
        let page = lun * g.pages_per_lun() + block * u32::from(g.pages_per_block);
        picture.hear(at(0), &Event::MapUpdated { lpn, ppa: page * 2 + unit });
    };
    map(&mut picture, 0, 1, 5, 0);
    map(&mut picture, 1, 1, 5, 1);
    map(&mut picture, 2, 7, 7, 3);
    let valid = |picture: &mut Picture, lun: usize, block: usize| {
        picture.frame(at(0)).blocks.unwrap().valid[lun][block]
    };
    assert_eq!((valid(&mut picture, 1, 5), valid(&mut picture, 7, 7)), (2, 1));
    // Moved, moved within its block, and deallocated.
    map(&mut picture, 0, 2, 1, 0);
    map(&mut picture, 2, 7, 7, 5);
    picture.hear(at(0), &Event::MapUpdated { lpn: 1, ppa: u32::MAX });
    assert_eq!((valid(&mut picture, 1, 5), valid(&mut picture, 2, 1), valid(&mut picture, 7, 7)), (0, 1, 1));
    let blocks = picture.frame(at(0)).blocks.unwrap();
    assert_eq!((blocks.blocks_per_cell, blocks.units_per_cell), (1, 8));
    let row = g.row(1, aster_units::BlockAddr(5), aster_units::PageInBlock(0)).0;
    for status in [0, 1, 0] {
        picture.hear(at(1), &Event::FlashFinished { lun: 1, kind: 2, row, status, corrected: 0 });
    }
    picture.hear(at(1), &Event::BlockRetired { lun: 1, block: 5 });
    let blocks = picture.frame(at(1)).blocks.unwrap();
    assert_eq!((blocks.erases[1][5], blocks.bad[1][5]), (2.0, 1), "one erase has failed");
    assert_eq!(blocks.erases.iter().flatten().sum::<f64>(), 2.0);
}

#[test]
fn write_amplification_is_what_was_programmed_for_what_was_written() {
    let mut picture = Picture::new(shape(), true);
    assert_eq!(picture.frame(at(0)).totals.waf, None);
    picture.hear(at(0), &Event::CommandFetched { command: 1, queue: 1, opcode: 1, host_id: 0 });
    picture.hear(at(0), &Event::CommandStarted { command: 1, offset: 0, length: 8192 });
    picture.hear(at(1), &Event::FlashFinished { lun: 0, kind: 1, row: 0, status: 0, corrected: 0 });
    picture.hear(at(2), &Event::CommandCompleted { command: 1, status: 0 });
    let totals = picture.frame(at(3)).totals;
    assert_eq!((totals.writes, totals.written_bytes, totals.waf), (1, 8192, Some(2.0)));
}

proptest! {
    /// Events are what a file says, and a file may say anything.
    #[test]
    fn no_event_breaks_a_picture(
        lines in prop::collection::vec((0..EventKind::COUNT, any::<[u64; 8]>(), 0..10u64), 0..200)
    ) {
        let mut picture = Picture::new(shape(), true);
        for (kind, values, small) in lines {
            let kind = EventKind::ALL[kind];
            let mut text = format!("{{\"at_ps\":{},\"event\":\"{}\"", values[7], kind.name());
            for (n, field) in kind.fields().iter().enumerate() {
                // Some that fit, and some that are near to what is there.
                let value = match n % 2 {
                    0 => values[n % 7] >> 32 & 0xff,
                    _ => small.wrapping_mul(values[n % 7]),
                };
                text += &format!(",\"{field}\":{value}");
            }
            text.push('}');
            if let Ok(EventLine::Event { at, event, .. }) = EventLine::parse(text.as_bytes()) {
                picture.hear(at, &event);
            }
        }
        let frame = picture.frame(Instant::ZERO);
        prop_assert_eq!(frame.dies.len(), 8);
        let valid: u64 = frame.blocks.unwrap().valid.iter().flatten().sum();
        prop_assert!(valid <= 200);
    }
}
