use super::*;
use crate::fixtures::{SHAPE, us};
use alloc::vec::Vec;
use aster_units::{BlockAddr, PageInBlock};

/// The pieces that result from events at these microseconds.
fn pieces(events: &[(u64, Event)]) -> Vec<Piece> {
    let mut kept = Vec::new();
    let mut lives = Lives::new(SHAPE, 4, |piece: &Piece| kept.push(*piece));
    lives.queue_created(1, 8);
    for (at, event) in events {
        lives.event(us(*at), event);
    }
    drop(lives);
    kept
}

fn fetched(command: u16) -> Event {
    Event::CommandFetched { command, queue: 1, opcode: 2, host_id: command }
}
fn slice(command: u16, lpn: u32, task: u32) -> Event {
    Event::SliceStarted { command, lpn, write: false, task }
}
fn queued(task: u32, lun: u32, row: u32) -> Event {
    Event::FlashQueued { task, lun, kind: 0, row, buffer: task }
}
fn transfer(task: u32) -> Event {
    Event::TransferQueued { task, from_host: false, bytes: 4096, buffer: task, compare: false }
}
fn issued(lun: u32, row: u32) -> Event {
    Event::FlashIssued { lun, kind: 0, row }
}
fn finished(lun: u32, row: u32) -> Event {
    Event::FlashFinished { lun, kind: 0, row, status: 0, corrected: 3 }
}

/// Correction in software belongs to the read that it follows, also when later reads of the LUN end first.
#[test]
fn a_correction_goes_on_from_the_end_of_its_read() {
    let corrected = |row| Event::PageCorrected { lun: 3, row, frames: 2, failed: 0, corrected: 5 };
    let all = pieces(&[
        (1, fetched(3)),
        (3, slice(3, 9, 5)),
        (4, queued(5, 3, 77)),
        (6, issued(3, 77)),
        (20, finished(3, 77)),
        (20, issued(3, 78)),
        (30, finished(3, 78)),
        (42, corrected(77)),
        (43, corrected(77)),
        (44, corrected(79)),
    ]);
    let of_engine: Vec<_> = all
        .iter()
        .filter(|piece| matches!(piece.activity, Activity::Corrected { .. }))
        .map(|piece| (piece.activity, piece.from, piece.to, piece.command, piece.task))
        .collect();
    let what = Activity::Corrected { lun: LunIndex(3), row: 77, frames: 2, corrected: 5 };
    assert_eq!(of_engine, [(what, us(20), us(42), Some(0), Some(5))]);
}

#[test]
fn a_read_is_followed_from_its_doorbell_to_the_array_and_back() {
    let all = pieces(&[
        (0, Event::DoorbellWritten { queue: 1, completion: false, value: 1 }),
        (1, fetched(3)),
        (2, Event::CommandStarted { command: 3, offset: 0, length: 4096 }),
        (3, slice(3, 9, 5)),
        (4, queued(5, 3, 77)),
        (6, issued(3, 77)),
        (7, Event::TransactionStarted { channel: 1, slot: 1 }),
        (8, Event::TransactionEnded { channel: 1, slot: 1, bytes: 0 }),
        (8, Event::ArrayBusy { channel: 1, way: 1, lun: 0, kind: 0, picoseconds: 50_000_000 }),
        (70, finished(3, 77)),
        (71, transfer(5)),
        (72, Event::DmaStarted { from_host: false, bytes: 4096, buffer: 5, waits: 500_000 }),
        (74, Event::DmaFinished { from_host: false, bytes: 4096 }),
        (75, Event::TransferEnded { task: 5, failed: false }),
        (76, Event::SliceEnded { task: 5 }),
        (77, Event::CommandFinished { command: 3 }),
        (79, Event::CommandCompleted { command: 3, status: 0 }),
    ]);
    let lun = LunIndex(3);
    let names: Vec<_> = all.iter().map(|p| (p.from, p.to, p.command, p.task)).collect();
    let own = (Some(0), Some(5));
    let want = [
        (us(4), us(6), own),
        (us(7), us(8), own),
        (us(8), us(58), own),
        (us(6), us(70), own),
        (us(72), us(72) + Duration::from_nanos(500), own),
        (us(72) + Duration::from_nanos(500), us(74), own),
        (us(71), us(75), own),
        (us(3), us(76), own),
        (us(0), us(79), (Some(0), None)),
    ];
    assert_eq!(names, want.map(|(from, to, (command, task))| (from, to, command, task)));
    assert_eq!(all[0].activity, Activity::Queued { lun, kind: 0, row: 77 });
    assert_eq!(all[1].activity, Activity::Transaction { channel: 1, lun, bytes: 0 });
    assert_eq!(all[2].activity, Activity::Array { lun, kind: 0 });
    assert_eq!(all[3].activity, Activity::Flash { lun, kind: 0, row: 77, status: 0, corrected: 3 });
    assert_eq!(all[7].activity, Activity::Slice { lpn: 9, write: false });
    assert!(matches!(all[8].activity, Activity::Command(span) if span.slices == 1));
}

#[test]
fn a_command_that_is_answered_ahead_comes_after_all_that_was_done_for_it() {
    let all = pieces(&[
        (1, fetched(3)),
        (2, Event::CommandStarted { command: 3, offset: 0, length: 4096 }),
        (3, slice(3, 9, 5)),
        (4, transfer(5)),
        (8, Event::CommandAnswered { command: 3 }),
        (9, Event::CommandCompleted { command: 3, status: 0 }),
        (12, Event::TransferEnded { task: 5, failed: false }),
        (13, Event::SliceEnded { task: 5 }),
        (14, Event::CommandFinished { command: 3 }),
    ]);
    let times: Vec<_> = all.iter().map(|p| (p.from, p.to, p.command)).collect();
    assert_eq!(times, [(us(4), us(12), Some(0)), (us(3), us(13), Some(0)), (us(1), us(9), Some(0))]);
    assert!(matches!(all[2].activity, Activity::Command(_)));
}

#[test]
fn work_in_the_background_is_nobodys() {
    let all = pieces(&[(1, queued(9, 0, 1)), (2, issued(0, 1)), (3, finished(0, 1))]);
    assert!(all.iter().all(|piece| piece.command.is_none() && piece.task == Some(9)), "{all:?}");
    assert_eq!(all.len(), 2);
}

#[test]
fn a_read_behind_another_has_its_own_array_and_the_first_ones_transfer_is_the_firsts() {
    let all = pieces(&[
        (0, fetched(0)),
        (0, fetched(1)),
        (1, slice(0, 1, 5)),
        (1, slice(1, 2, 6)),
        (2, queued(5, 0, 10)),
        (2, queued(6, 0, 20)),
        (3, issued(0, 10)),
        (4, Event::ArrayBusy { channel: 0, way: 0, lun: 0, kind: 0, picoseconds: 1 }),
        (9, issued(0, 20)),
        (10, Event::TransactionStarted { channel: 0, slot: 0 }),
        (11, Event::ArrayBusy { channel: 0, way: 0, lun: 0, kind: 0, picoseconds: 1 }),
        (12, Event::TransactionEnded { channel: 0, slot: 0, bytes: 9 }),
    ]);
    let whose = |f: fn(&Activity) -> bool| -> Vec<_> {
        all.iter().filter(|p| f(&p.activity)).map(|p| p.command).collect()
    };
    assert_eq!(whose(|a| matches!(a, Activity::Transaction { .. })), [Some(0)]);
    assert_eq!(whose(|a| matches!(a, Activity::Array { .. })), [Some(0), Some(1)]);
}

#[test]
fn arrays_of_operations_that_were_sent_together_are_theirs_in_turn() {
    let array = |kind| Event::ArrayBusy { channel: 0, way: 0, lun: 0, kind, picoseconds: 1 };
    let program = |row| Event::FlashIssued { lun: 0, kind: 1, row };
    let all = pieces(&[
        (1, Event::FlashQueued { task: 5, lun: 0, kind: 1, row: 10, buffer: 0 }),
        (1, Event::FlashQueued { task: 6, lun: 0, kind: 1, row: 11, buffer: 0 }),
        (1, queued(7, 0, 20)),
        (2, program(10)),
        (2, program(11)),
        (2, issued(0, 20)),
        (3, array(1)),
        (4, array(1)),
        (5, array(0)),
        // Of the last program: the page's other plane.
        (6, array(1)),
    ]);
    let arrays = all.iter().filter(|p| matches!(p.activity, Activity::Array { .. }));
    assert_eq!(arrays.map(|p| p.task).collect::<Vec<_>>(), [5, 6, 7, 6].map(Some));
}

/// The host has sent the drive two programs of a LUN, one of them of two planes. What the drive hasn't begun
/// waits for the LUN, and its array works for what it has begun.
#[test]
fn of_what_a_host_has_sent_a_drive_one_operation_is_at_work_and_others_wait() {
    let geometry = Geometry { planes: 2, ..SHAPE };
    let (lun, kind) = (0, 1);
    let row = |block, page| geometry.row(0, BlockAddr(block), PageInBlock(page)).0;
    let mut kept = Vec::new();
    let mut lives = Lives::new(geometry, 4, |piece: &Piece| kept.push(*piece));
    let queue = |task, row| Event::FlashQueued { task, lun, kind, row, buffer: u32::MAX };
    let issue = |row| Event::FlashIssued { lun, kind, row };
    let finish = |row| Event::FlashFinished { lun, kind, row, status: 0, corrected: 0 };
    let (first, second, plane) = (row(2, 5), row(4, 0), row(3, 5));
    for (task, row) in [(7, first), (8, second)] {
        lives.event(us(1), &queue(task, row));
        lives.event(us(2), &issue(row));
    }
    let array = Event::ArrayBusy { channel: 0, way: 0, lun: 0, kind, picoseconds: 10_000_000 };
    // The drive takes them the other way round.
    for (at, row) in [(10, second), (30, first), (50, plane)] {
        lives.below(us(at), &issue(row));
        lives.below(us(at + 1), &array);
        lives.below(us(at + 15), &finish(row));
    }
    lives.event(us(26), &finish(second));
    lives.event(us(66), &finish(first));
    drop(lives);
    let of = |wanted: u32| -> Vec<_> {
        let pieces = kept.iter().filter(|piece| piece.task == Some(wanted));
        pieces
            .map(|piece| {
                let what = match piece.activity {
                    Activity::Queued { .. } => "waits",
                    Activity::Array { .. } => "array",
                    Activity::Flash { .. } => "flash",
                    _ => "other",
                };
                (what, piece.from, piece.to)
            })
            .collect()
    };
    let waits = ("waits", us(1), us(2));
    let of_second = [waits, ("array", us(11), us(21)), ("waits", us(2), us(10)), ("flash", us(10), us(26))];
    assert_eq!(of(8), of_second);
    let arrays = [("array", us(31), us(41)), ("array", us(51), us(61))];
    let ends = [("waits", us(2), us(30)), ("flash", us(30), us(66))];
    assert_eq!(of(7), [&[waits][..], &arrays, &ends].concat());
}

#[test]
fn ends_without_beginnings_and_places_that_are_not_there_are_left_out() {
    let all = pieces(&[
        (1, finished(0, 1)),
        (1, finished(99, 1)),
        (1, issued(99, 1)),
        (1, queued(1, 99, 1)),
        (1, Event::SliceEnded { task: 70 }),
        (1, Event::TransferEnded { task: 71, failed: false }),
        (1, Event::TransactionEnded { channel: 0, slot: 0, bytes: 1 }),
        (1, Event::TransactionEnded { channel: 9, slot: 0, bytes: 1 }),
        (1, Event::DmaFinished { from_host: true, bytes: 1 }),
        (1, Event::WaitEnded { task: 72 }),
        (1, Event::WaitStarted { task: 73, reason: 200, buffer: 1 }),
        (1, Event::WaitEnded { task: 73 }),
        (1, Event::OperationDelivered { kind: 3, lun: 99, buffer: 1 }),
        (1, Event::OperationDelivered { kind: 200, lun: 0, buffer: 1 }),
        (1, Event::OperationIssued { kind: 3, lun: 0, buffer: 1 }),
        (1, Event::OperationEnded { kind: 3, lun: 0, buffer: 1, status: 0 }),
        (1, Event::CommandCompleted { command: 2, status: 0 }),
        (1, Event::CommandCompleted { command: 200, status: 0 }),
    ]);
    assert_eq!(all, []);
}

#[test]
fn under_the_big_loop_an_operation_waits_for_those_before_it_and_then_for_its_way() {
    let delivered = |kind, buffer| Event::OperationDelivered { kind, lun: 0, buffer };
    let issued_operation = |kind, buffer| Event::OperationIssued { kind, lun: 0, buffer };
    let ended = |kind, buffer| Event::OperationEnded { kind, lun: 0, buffer, status: 0 };
    let all = pieces(&[
        (0, fetched(0)),
        (1, slice(0, 1, 5)),
        (2, queued(5, 0, 10)),
        (4, delivered(3, 5)),
        (4, delivered(6, 5)),
        (9, issued_operation(3, 5)),
        (9, issued(0, 10)),
        (60, ended(3, 5)),
        (63, issued_operation(6, 5)),
        (70, ended(6, 5)),
        (70, finished(0, 10)),
        (71, transfer(5)),
        (73, delivered(1, 5)),
        (78, issued_operation(1, 5)),
        (90, ended(1, 5)),
        (91, Event::TransferEnded { task: 5, failed: false }),
        (92, Event::SliceEnded { task: 5 }),
    ]);
    let waits: Vec<_> = all
        .iter()
        .filter(|p| matches!(p.activity, Activity::Dependent { .. } | Activity::Reserved { .. }))
        .map(|p| (p.activity, p.from, p.to))
        .collect();
    let want = [
        (Activity::Dependent { kind: 3 }, us(2), us(4)),
        (Activity::Reserved { kind: 3 }, us(4), us(9)),
        (Activity::Reserved { kind: 6 }, us(60), us(63)),
        (Activity::Dependent { kind: 1 }, us(71), us(73)),
        (Activity::Reserved { kind: 1 }, us(73), us(78)),
    ];
    assert_eq!(waits, want);
    assert!(all.iter().all(|p| (p.command, p.task) == (Some(0), Some(5))), "{all:?}");
}

#[test]
fn what_a_slice_waits_for_is_the_slices() {
    let all = pieces(&[
        (0, fetched(0)),
        (1, slice(0, 1, 5)),
        (2, Event::WaitStarted { task: 5, reason: Wait::Room.number(), buffer: u32::MAX }),
        (7, Event::WaitEnded { task: 5 }),
    ]);
    let want = Piece {
        activity: Activity::Waiting { reason: Wait::Room, holder: None },
        command: Some(0),
        task: Some(5),
        from: us(2),
        to: us(7),
    };
    assert_eq!(all, [want]);
}

/// The waits and the read within it are told as well. Another task that joins has its own.
#[test]
fn a_wait_for_the_map_goes_on_through_the_waits_and_the_read_in_it() {
    let all = pieces(&[
        (0, fetched(0)),
        (1, slice(0, 1, 5)),
        (2, Event::MapMissed { task: 5, page: 40 }),
        (2, Event::WaitStarted { task: 5, reason: Wait::MergeBuffer.number(), buffer: u32::MAX }),
        (3, Event::MapMissed { task: 6, page: 40 }),
        (7, Event::WaitEnded { task: 5 }),
        (8, queued(5, 3, 77)),
        (9, issued(3, 77)),
        (20, finished(3, 77)),
        (21, Event::MapBrought { task: 5 }),
        (22, Event::MapBrought { task: 6 }),
        (23, Event::MapBrought { task: 5 }),
    ]);
    let told: Vec<_> = all.iter().map(|p| (p.activity, p.from, p.to, p.command, p.task)).collect();
    let read = Activity::MapRead { page: 40 };
    assert_eq!(told.len(), 5, "the wait, the LUN, the read, and the map twice: {told:?}");
    assert_eq!(told[0].0, Activity::Waiting { reason: Wait::MergeBuffer, holder: None });
    assert_eq!(told[3], (read, us(2), us(21), Some(0), Some(5)));
    assert_eq!(told[4], (read, us(3), us(22), None, Some(6)));
}

fn waits(task: u32, buffer: u32) -> Event {
    Event::WaitStarted { task, reason: Wait::BufferEntry.number(), buffer }
}

#[test]
fn whoever_waits_for_a_data_buffer_entry_knows_who_had_it() {
    let released = |task, buffer| Event::EntryReleased { task, buffer };
    let all = pieces(&[
        (0, fetched(0)),
        (0, fetched(1)),
        (1, slice(0, 7, 5)),
        (2, slice(1, 8, 6)),
        // Any entry will do, and another task takes the first one.
        (3, waits(6, u32::MAX)),
        (9, released(4, 1)),
        (9, Event::WaitEnded { task: 6 }),
        (9, waits(6, u32::MAX)),
        (20, released(5, 2)),
        (20, released(4, 3)),
        (21, Event::WaitEnded { task: 6 }),
        (21, Event::BufferMissed { task: 6, lpn: 8, buffer: 2 }),
        // Only this entry will do.
        (30, waits(6, 2)),
        (40, released(5, 2)),
        (41, released(4, 3)),
        (42, Event::WaitEnded { task: 6 }),
        (43, Event::SliceEnded { task: 6 }),
    ]);
    let holder = Some(Holder { task: 5, since: us(1), slice: Some((7, false)) });
    let waiting = Activity::Waiting { reason: Wait::BufferEntry, holder };
    let found: Vec<_> = all.iter().map(|p| (p.activity, p.from, p.to)).collect();
    let own = Activity::Slice { lpn: 8, write: false };
    assert_eq!(found, [(waiting, us(3), us(21)), (waiting, us(30), us(42)), (own, us(2), us(43))]);
}

#[test]
fn bytes_on_the_link_are_the_oldest_transfers_of_their_buffer() {
    let asked =
        |task, bytes| Event::TransferQueued { task, from_host: false, bytes, buffer: 1, compare: false };
    let started = |buffer, bytes, waits| Event::DmaStarted { from_host: false, bytes, buffer, waits };
    let finished = |bytes| Event::DmaFinished { from_host: false, bytes };
    let all = pieces(&[
        (0, fetched(0)),
        (1, slice(0, 7, 5)),
        (1, slice(0, 8, 6)),
        (2, asked(5, 8192)),
        (2, asked(6, 4096)),
        (3, started(1, 4096, 0)),
        (3, started(1, 4096, 1_000_000)),
        (3, started(u32::MAX, 16, 2_000_000)),
        (3, started(1, 4096, 2_000_000)),
        (4, finished(4096)),
        (5, finished(4096)),
        (6, finished(16)),
        (7, finished(4096)),
    ]);
    let queued = all.iter().filter(|p| matches!(p.activity, Activity::LinkQueued { .. }));
    let moved = all.iter().filter(|p| matches!(p.activity, Activity::Link { .. }));
    let queued: Vec<_> = queued.map(|p| (p.task, p.from, p.to)).collect();
    let moved: Vec<_> = moved.map(|p| (p.task, p.from, p.to)).collect();
    assert_eq!(queued, [(Some(5), us(3), us(4)), (None, us(3), us(5)), (Some(6), us(3), us(5))]);
    let want =
        [(Some(5), us(3), us(4)), (Some(5), us(4), us(5)), (None, us(5), us(6)), (Some(6), us(5), us(7))];
    assert_eq!(moved, want);
}
