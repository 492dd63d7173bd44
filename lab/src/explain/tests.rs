use super::names::*;
use super::*;
use aster_events::{Event, EventSink, Wait};
use aster_observe::Lives;
use aster_units::Duration;

const SHAPE: Geometry = Geometry {
    channels: 2,
    ways: 2,
    luns: 1,
    planes: 1,
    blocks_per_lun: 8,
    pages_per_block: 16,
    page_bytes: 16_384,
    spare_bytes: 1664,
};

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn transfer(task: u32) -> Event {
    Event::TransferQueued { task, from_host: false, bytes: 4096, buffer: task, compare: false }
}

/// A read of `takes` µs of array time from `from` on, on a worker of its own.
fn read(from: u64, takes: u64, slot: u16) -> Vec<(u64, Event)> {
    let (lun, row, task) = (u32::from(slot), 7, u32::from(slot) + 10);
    let end = from + 10 + takes;
    vec![
        (from, Event::CommandFetched { command: slot, queue: 1, opcode: 2, host_id: slot }),
        (from + 1, Event::CommandStarted { command: slot, offset: 8192, length: 4096 }),
        (from + 3, Event::SliceStarted { command: slot, lpn: 0, write: false, task }),
        (from + 4, Event::FlashQueued { task, lun, kind: 0, row, buffer: task }),
        (from + 6, Event::FlashIssued { lun, kind: 0, row }),
        (from + 7, Event::TransactionStarted { channel: slot, slot: 0 }),
        (from + 10, Event::TransactionEnded { channel: slot, slot: 0, bytes: 0 }),
        (
            from + 10,
            Event::ArrayBusy { channel: slot, way: 0, lun: 0, kind: 0, picoseconds: takes * 1_000_000 },
        ),
        (end + 1, Event::TransactionStarted { channel: slot, slot: 0 }),
        (end + 5, Event::TransactionEnded { channel: slot, slot: 0, bytes: 4096 }),
        (end + 8, Event::FlashFinished { lun, kind: 0, row, status: 0, corrected: 2 }),
        (end + 9, transfer(task)),
        (end + 13, Event::TransferEnded { task, failed: false }),
        (end + 14, Event::SliceEnded { task }),
        (end + 16, Event::CommandFinished { command: slot }),
        (end + 19, Event::CommandCompleted { command: slot, status: 0 }),
    ]
}

fn explanation(which: Which, mut events: Vec<(u64, Event)>) -> Option<Explanation> {
    events.sort_by_key(|(at, _)| *at);
    let mut collector = Collector::new(which);
    collector.begin(0, Instant::ZERO, None);
    let mut lives = Lives::new(SHAPE, 4, |piece: &Piece| collector.hear(piece));
    for (at, event) in &events {
        lives.event(us(*at), event);
    }
    drop(lives);
    collector.explanations(&SHAPE, false).into_iter().next()
}

#[test]
fn the_shares_of_a_command_add_up_to_its_time() {
    let found = explanation(Which::Number(1), read(100, 50, 0)).unwrap();
    assert_eq!((found.name.as_str(), found.length, found.total_us), ("Read", 4096, 79.0));
    let shares: Vec<_> = found.shares.iter().map(|share| (share.what.as_str(), share.us)).collect();
    let want = [
        (FRONT, 1.0),
        (DIVIDE, 2.0),
        (CORE, 3.0),
        (LUN, 2.0),
        (READ_ARRAY, 50.0),
        (CHANNEL, 7.0),
        (OPERATION, 5.0),
        (TRANSFER, 4.0),
        (LAST, 2.0),
        (COMPLETION, 3.0),
    ];
    assert_eq!(shares, want);
    assert_eq!(found.shares.iter().map(|share| share.us).sum::<f64>(), found.total_us);
}

#[test]
fn the_shares_of_a_command_that_is_answered_ahead_end_with_its_completion() {
    let (ahead, task) = (|from: u64| read(from, 50, 0), 10);
    let mut events = ahead(100);
    // The event after the transfer's beginning, at 169, comes late.
    events.truncate(events.len() - 4);
    let moving = |at, buffer| (at, Event::DmaStarted { from_host: false, bytes: 4096, buffer, waits: 0 });
    let moved = |at| (at, Event::DmaFinished { from_host: false, bytes: 4096 });
    events.extend([
        // Another slice, whose data is moved first, but which the FTL ends last.
        (104, Event::SliceStarted { command: 0, lpn: 1, write: false, task: 11 }),
        (105, Event::TransferQueued { task: 11, from_host: false, bytes: 4096, buffer: 11, compare: false }),
        moving(105, 11),
        moved(110),
        moving(170, task),
        moved(172),
        (172, Event::CommandAnswered { command: 0 }),
        (175, Event::CommandCompleted { command: 0, status: 0 }),
        (180, Event::TransferEnded { task, failed: false }),
        (181, Event::SliceEnded { task }),
        (182, Event::TransferEnded { task: 11, failed: false }),
        (183, Event::SliceEnded { task: 11 }),
        (184, Event::CommandFinished { command: 0 }),
    ]);
    let found = explanation(Which::Number(1), events).unwrap();
    let shares: Vec<_> = found.shares.iter().map(|share| (share.what.as_str(), share.us)).collect();
    let want = [
        (FRONT, 1.0),
        (DIVIDE, 2.0),
        (CORE, 2.0),
        (LUN, 2.0),
        (READ_ARRAY, 50.0),
        (CHANNEL, 7.0),
        (OPERATION, 5.0),
        (LINK, 2.0),
        (TRANSFER, 1.0),
        (COMPLETION, 3.0),
    ];
    assert_eq!((shares, found.total_us), (want.to_vec(), 75.0));
    assert_eq!(found.shares.iter().map(|share| share.us).sum::<f64>(), found.total_us);
}

#[test]
fn the_slowest_command_is_found_and_others_by_number() {
    let events = || [read(0, 50, 0), read(10, 90, 1), read(500, 60, 0)].concat();
    let number = |which| explanation(which, events()).map(|found| (found.command, found.total_us));
    assert_eq!(number(Which::Slowest), Some((2, 119.0)));
    assert_eq!(number(Which::Number(3)), Some((3, 89.0)));
    assert_eq!(number(Which::Number(4)), None);
}

#[test]
fn several_of_the_slowest_come_in_order_and_of_equals_the_first() {
    let events = [read(0, 50, 0), read(10, 90, 1), read(500, 90, 0), read(700, 60, 1)].concat();
    let mut collector = Collector::new(Which::SlowestOf(3));
    let mut events: Vec<(u64, Event)> = events;
    events.sort_by_key(|(at, _)| *at);
    collector.begin(0, us(0), None);
    let mut lives = Lives::new(SHAPE, 4, |piece: &Piece| collector.hear(piece));
    events.iter().for_each(|(at, event)| lives.event(us(*at), event));
    drop(lives);
    let found = collector.explanations(&SHAPE, false);
    let found: Vec<_> = found.iter().map(|of| (of.command, of.total_us)).collect();
    assert_eq!(found, [(2, 119.0), (3, 119.0), (4, 89.0)]);
}

#[test]
fn what_came_before_the_work_is_not_looked_at() {
    let mut collector = Collector::new(Which::Slowest);
    let mut events = [read(0, 500, 0), read(700, 50, 1)].concat();
    events.sort_by_key(|(at, _)| *at);
    collector.begin(1, us(600), None);
    let mut lives = Lives::new(SHAPE, 4, |piece: &Piece| collector.hear(piece));
    events.iter().for_each(|(at, event)| lives.event(us(*at), event));
    drop(lives);
    let found = collector.explanations(&SHAPE, false).remove(0);
    assert_eq!((found.command, found.total_us), (1, 79.0));
    assert_eq!((found.began_us, found.began_since_power_on_us), (100.0, 700.0));
    let said = "it began 100.000 µs after the work, 700.000 µs after power-on\n";
    assert!(found.table().contains(said), "{}", found.table());
}

#[test]
fn a_command_without_slices_is_the_ftls() {
    let events = vec![
        (0, Event::CommandFetched { command: 0, queue: 1, opcode: 0, host_id: 9 }),
        (2, Event::CommandStarted { command: 0, offset: 0, length: 0 }),
        (9, Event::CommandFinished { command: 0 }),
        (10, Event::CommandCompleted { command: 0, status: 0 }),
    ];
    let found = explanation(Which::Slowest, events).unwrap();
    let shares: Vec<_> = found.shares.iter().map(|share| (share.what.as_str(), share.us)).collect();
    assert_eq!((found.name.as_str(), shares), ("Flush", vec![(FRONT, 2.0), (REST, 7.0), (COMPLETION, 1.0)]));
}

#[test]
fn a_slice_that_takes_no_time_is_told_of() {
    let events = vec![
        (0, Event::CommandFetched { command: 0, queue: 1, opcode: 0, host_id: 9 }),
        (2, Event::CommandStarted { command: 0, offset: 0, length: 0 }),
        (4, Event::SliceStarted { command: 0, lpn: 0, write: true, task: 7 }),
        (4, Event::SliceEnded { task: 7 }),
        (9, Event::CommandFinished { command: 0 }),
        (10, Event::CommandCompleted { command: 0, status: 0 }),
    ];
    let found = explanation(Which::Slowest, events).unwrap();
    let shares: Vec<_> = found.shares.iter().map(|share| (share.what.as_str(), share.us)).collect();
    assert_eq!(shares, [(FRONT, 2.0), (DIVIDE, 2.0), (LAST, 5.0), (COMPLETION, 1.0)]);
}

#[test]
fn the_table_tells_steps_in_the_order_of_time() {
    let table = explanation(Which::Number(1), read(100, 50, 0)).unwrap().table();
    let places: Vec<_> = [
        "slice: logical page 0, read",
        "read waits for channel 0 way 0",
        "array of channel 0 way 0: read",
        "channel 0: 4096 B",
        "host DMA, 4096 B to the host",
        "where the time went",
    ]
    .iter()
    .map(|text| table.find(text))
    .collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{table}");
}

#[test]
fn a_slices_firmware_has_a_share_of_its_own_and_other_tasks_firmware_is_not_the_commands() {
    use aster_events::Function;
    let worked = |task, function: Function, us: u64| Event::FirmwareWorked {
        core: 0,
        function: function.number(),
        task,
        picoseconds: us * 1_000_000,
    };
    let mut events = read(100, 50, 0);
    // Of the slice's task 10: half a microsecond would be lost in the array's time, the first is not.
    events.push((103, worked(10, Function::AddressTranslator, 1)));
    events.push((120, worked(10, Function::DataBufferManager, 1)));
    events.push((121, worked(99, Function::GarbageCollector, 1)));
    let found = explanation(Which::Number(1), events).unwrap();
    let share = |what: &str| found.shares.iter().find(|share| share.what == what).map(|share| share.us);
    assert_eq!(share(FIRMWARE), Some(1.0));
    let steps = |what: &str| found.steps.iter().filter(|step| step.what == what).count();
    assert_eq!(
        ["address translator", "data buffer manager", "garbage collector"]
            .map(|f| steps(&format!("firmware: {f}"))),
        [1, 1, 0]
    );
    let all: f64 = found.shares.iter().map(|share| share.us).sum();
    assert!((all - found.total_us).abs() < 1e-9);
}

#[test]
fn a_wait_for_a_data_buffer_entry_is_divided_by_what_its_holder_did() {
    let (holder, waiter, any) = (10, 11, u32::MAX);
    let wait = |task, buffer| Event::WaitStarted { task, reason: Wait::BufferEntry.number(), buffer };
    let events = vec![
        (0, Event::CommandFetched { command: 0, queue: 1, opcode: 1, host_id: 0 }),
        (0, Event::CommandFetched { command: 1, queue: 1, opcode: 1, host_id: 1 }),
        (0, Event::CommandFetched { command: 2, queue: 1, opcode: 1, host_id: 2 }),
        (1, Event::CommandStarted { command: 2, offset: 8192, length: 4096 }),
        // The holder waits for another's entry, programs the one that it got, and thinks about it.
        (2, Event::SliceStarted { command: 0, lpn: 3, write: true, task: 9 }),
        (3, Event::SliceStarted { command: 1, lpn: 4, write: true, task: holder }),
        (4, Event::TransferQueued { task: 9, from_host: true, bytes: 4096, buffer: 1, compare: false }),
        (5, wait(holder, any)),
        (10, Event::SliceStarted { command: 2, lpn: 5, write: true, task: waiter }),
        (10, wait(waiter, any)),
        (13, Event::TransferEnded { task: 9, failed: false }),
        (14, Event::EntryReleased { task: 9, buffer: 1 }),
        (14, Event::WaitEnded { task: holder }),
        (14, Event::FlashQueued { task: holder, lun: 0, kind: 1, row: 6, buffer: 1 }),
        (16, Event::FlashIssued { lun: 0, kind: 1, row: 6 }),
        (17, Event::ArrayBusy { channel: 0, way: 0, lun: 0, kind: 1, picoseconds: 60_000_000 }),
        (80, Event::FlashFinished { lun: 0, kind: 1, row: 6, status: 0, corrected: 0 }),
        (82, Event::EntryReleased { task: holder, buffer: 1 }),
        (82, Event::WaitEnded { task: waiter }),
        (82, Event::BufferMissed { task: waiter, lpn: 5, buffer: 1 }),
        (90, Event::SliceEnded { task: waiter }),
        (90, Event::CommandFinished { command: 2 }),
        (90, Event::CommandCompleted { command: 2, status: 0 }),
    ];
    let found = explanation(Which::Number(3), events).unwrap();
    let shares: Vec<_> = found.shares.iter().map(|share| (share.what.as_str(), share.us)).collect();
    let of = |what: &str| format!("waiting for a data buffer entry, its holder: {what}");
    let [core, lun, array, operation, transfer] = [CORE, LUN, PROGRAM_ARRAY, OPERATION, TRANSFER].map(of);
    let want = [
        (FRONT, 1.0),
        (DIVIDE, 9.0),
        (CORE, 8.0),
        (core.as_str(), 3.0),
        (&lun, 2.0),
        (&array, 60.0),
        (&operation, 4.0),
        (&transfer, 3.0),
    ];
    assert_eq!(shares, want, "{}", found.table());
    let table = found.table();
    for step in ["last a write of logical page 4", "its holder: array of channel 0 way 0: program"] {
        assert!(table.contains(step), "no {step} in\n{table}");
    }
}
