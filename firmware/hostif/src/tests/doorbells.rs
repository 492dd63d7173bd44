//! Doorbell Buffer Config, and what the front end tells a run mode about doorbells.

use super::bench::{Bench, config};
use alloc::vec::Vec;
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::registers::{Doorbell, DoorbellKind};
use aster_wire::nvme::{Sqe, Status};

const SHADOW: u64 = 0x30_0000;
const EVENT_INDEX: u64 = 0x30_1000;

fn configure(shadow: u64, event_index: u64) -> Sqe {
    AdminCommand::DoorbellBufferConfig.to_sqe(0, 0, shadow, event_index)
}

#[test]
fn doorbell_buffers_are_refused_where_nobody_looks_at_them() {
    let mut bench = Bench::ready(config());
    assert!(bench.status(0, configure(SHADOW, EVENT_INDEX)).is(Status::INVALID_OPCODE));
    assert_eq!(bench.front.controller().doorbell_buffer(), None);
}

#[test]
fn doorbell_buffers_die_at_a_controller_reset() {
    let mut bench = Bench::ready(config());
    bench.front.offer_doorbell_buffer();
    assert!(bench.status(0, configure(SHADOW, EVENT_INDEX)).is_success());
    let buffer = bench.front.controller().doorbell_buffer().expect("configured");
    assert_eq!((buffer.shadow, buffer.event_index), (SHADOW, EVENT_INDEX));
    bench.disable();
    assert_eq!(bench.front.controller().doorbell_buffer(), None);
}

#[test]
fn doorbell_buffers_must_be_two_whole_pages() {
    let mut bench = Bench::ready(config());
    bench.front.offer_doorbell_buffer();
    for (shadow, event_index) in
        [(SHADOW + 4, EVENT_INDEX), (SHADOW, EVENT_INDEX + 0x800), (0, 0), (SHADOW, SHADOW)]
    {
        assert!(bench.status(0, configure(shadow, event_index)).is(Status::INVALID_FIELD));
    }
    assert_eq!(bench.front.controller().doorbell_buffer(), None);
}

#[test]
fn the_generation_moves_with_every_queue_that_comes_or_goes() {
    let mut bench = Bench::ready(config());
    let listed = |bench: &Bench| {
        bench.front.controller().doorbells().map(|of| (of.doorbell, of.value)).collect::<Vec<_>>()
    };
    let tail = |queue| Doorbell { queue, kind: DoorbellKind::SubmissionTail };
    let head = |queue| Doorbell { queue, kind: DoorbellKind::CompletionHead };
    // Two commands made queue pair 1.
    assert_eq!(listed(&bench), [(tail(0), 2), (tail(1), 0), (head(0), 2), (head(1), 0)]);
    let mut last = bench.front.controller().doorbell_generation();
    let mut moved = |bench: &Bench| {
        let now = bench.front.controller().doorbell_generation();
        core::mem::replace(&mut last, now) != now
    };
    assert!(bench.status(0, Bench::create_cq(2, 16, 2)).is_success());
    assert!(moved(&bench));
    assert!(bench.status(0, Bench::create_sq(2, 16, 2)).is_success());
    assert!(moved(&bench));
    assert!(bench.status(0, AdminCommand::DeleteIoSq(2).encode(0)).is_success());
    assert!(moved(&bench));
    assert!(bench.status(0, AdminCommand::DeleteIoCq(2).encode(0)).is_success());
    assert!(moved(&bench));
    bench.disable();
    assert!(moved(&bench));
    assert_eq!(listed(&bench), []);
}

#[test]
fn a_queue_that_takes_anothers_number_is_told_from_it() {
    let mut bench = Bench::ready(config());
    let created = |bench: &Bench| {
        let controller = bench.front.controller();
        let all = controller.doorbells().filter(|of| of.doorbell.queue == 1);
        all.map(|of| of.created).collect::<Vec<_>>()
    };
    let before = created(&bench);
    assert!(bench.status(0, AdminCommand::DeleteIoSq(1).encode(0)).is_success());
    assert!(bench.status(0, Bench::create_sq(1, 16, 1)).is_success());
    let after = created(&bench);
    assert!(after[0] != before[0] && after[1] == before[1], "{before:?}, {after:?}");
}
