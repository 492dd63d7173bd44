use super::*;
use crate::fixtures::us;
use alloc::rc::Rc;
use core::cell::RefCell;

struct Drive {
    spans: Spans<Collect>,
    kept: Rc<RefCell<Vec<CommandSpan>>>,
}
type Collect = Box<dyn FnMut(&CommandSpan)>;

impl Drive {
    fn new(slots: u16) -> Self {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let into = kept.clone();
        Drive { spans: Spans::new(slots, Box::new(move |span| into.borrow_mut().push(*span))), kept }
    }
    fn tell(&mut self, at: u64, event: Event) {
        self.spans.event(us(at), &event);
    }
    fn ring(&mut self, at: u64, queue: u16, value: u16) {
        self.tell(at, Event::DoorbellWritten { queue, completion: false, value });
    }
    fn fetch(&mut self, at: u64, command: u16, queue: u16) {
        self.tell(at, Event::CommandFetched { command, queue, opcode: 2, host_id: command + 100 });
    }
    fn complete(&mut self, at: u64, command: u16) {
        self.tell(at, Event::CommandCompleted { command, status: 0 });
    }
    /// Doorbell times of the completed commands, in the order of completion.
    fn doorbells(&self) -> Vec<Option<Instant>> {
        self.kept.borrow().iter().map(|span| span.at(Stage::Doorbell)).collect()
    }
}

#[test]
fn a_read_is_followed_from_its_doorbell_to_its_completion() {
    let mut drive = Drive::new(4);
    drive.spans.queue_created(1, 8);
    drive.ring(10, 1, 1);
    drive.fetch(12, 3, 1);
    drive.tell(15, Event::CommandStarted { command: 3, offset: 4096, length: 32_768 });
    drive.tell(16, Event::SliceStarted { command: 3, lpn: 0, write: false, task: 0 });
    drive.tell(17, Event::SliceStarted { command: 3, lpn: 1, write: false, task: 0 });
    drive.tell(90, Event::CommandFinished { command: 3 });
    assert!(drive.kept.borrow().is_empty(), "not before it is complete");
    drive.tell(95, Event::CommandCompleted { command: 3, status: 0x281 });
    let span = drive.kept.borrow()[0];
    let about = (span.command, span.queue, span.opcode, span.host_id, span.offset, span.length, span.slices);
    assert_eq!(about, (3, 1, 2, 103, 4096, 32_768, 2));
    assert_eq!(span.status, 0x281);
    let steps: Vec<_> = span.steps().map(|(stage, took)| (stage, took.as_nanos() / 1_000)).collect();
    use Stage::*;
    let want = [(Doorbell, 0), (Fetched, 2), (Started, 3), (FirstSlice, 1), (Finished, 74), (Completed, 5)];
    assert_eq!(steps, want);
    assert_eq!((span.total(), drive.spans.lost()), (Duration::from_micros(85), 0));
}

#[test]
fn a_command_that_is_answered_ahead_is_followed_to_its_completion_and_collected_at_its_last_end() {
    use Stage::*;
    for (completed, finished) in [(95, 99), (95, 92)] {
        let mut drive = Drive::new(4);
        drive.fetch(12, 3, 1);
        drive.tell(15, Event::CommandStarted { command: 3, offset: 4096, length: 32_768 });
        drive.tell(16, Event::SliceStarted { command: 3, lpn: 0, write: false, task: 0 });
        drive.tell(90, Event::CommandAnswered { command: 3 });
        let mut ends = [
            (completed, Event::CommandCompleted { command: 3, status: 0 }),
            (finished, Event::CommandFinished { command: 3 }),
        ];
        ends.sort_by_key(|(at, _)| *at);
        drive.tell(ends[0].0, ends[0].1);
        assert!(drive.kept.borrow().is_empty(), "something is still done for it");
        drive.tell(ends[1].0, ends[1].1);
        let span = drive.kept.borrow()[0];
        let steps: Vec<_> = span.steps().map(|(stage, took)| (stage, took.as_nanos() / 1_000)).collect();
        assert_eq!(steps, [(Fetched, 0), (Started, 3), (FirstSlice, 1), (Finished, 74), (Completed, 5)]);
        assert_eq!((span.total(), drive.spans.lost()), (Duration::from_micros(83), 0));
    }
    let mut drive = Drive::new(4);
    drive.fetch(12, 3, 1);
    drive.tell(90, Event::CommandAnswered { command: 3 });
    drive.tell(91, Event::CommandDropped { command: 3 });
    drive.tell(92, Event::CommandFinished { command: 3 });
    assert_eq!((drive.spans.lost(), drive.kept.borrow().len()), (1, 0));
}

#[test]
fn a_doorbell_for_several_commands_is_each_ones_own_over_the_queues_end() {
    let mut drive = Drive::new(8);
    drive.spans.queue_created(1, 4);
    drive.ring(1, 1, 3);
    // A completion queue's doorbell, another queue's and an impossible tail change nothing.
    drive.tell(2, Event::DoorbellWritten { queue: 1, completion: true, value: 1 });
    drive.ring(2, 2, 3);
    drive.ring(2, 1, 4);
    for command in 0..3 {
        drive.fetch(5, command, 1);
    }
    drive.ring(7, 1, 0);
    drive.fetch(8, 3, 1);
    drive.ring(9, 1, 2);
    drive.fetch(10, 4, 1);
    drive.fetch(10, 5, 1);
    (0..6).for_each(|command| drive.complete(20, command));
    let want = [1, 1, 1, 7, 9, 9].map(|at| Some(us(at)));
    assert_eq!(drive.doorbells(), want);
}

#[test]
fn a_queue_that_nobody_told_of_has_no_doorbells_and_one_created_again_begins_anew() {
    let mut drive = Drive::new(4);
    drive.ring(1, 1, 1);
    drive.fetch(2, 0, 1);
    drive.complete(3, 0);
    drive.spans.queue_created(1, 4);
    drive.ring(4, 1, 2);
    drive.spans.queue_created(1, 4);
    drive.fetch(5, 0, 1);
    drive.complete(6, 0);
    drive.ring(7, 1, 1);
    drive.fetch(8, 0, 1);
    drive.complete(9, 0);
    assert_eq!(drive.doorbells(), [None, None, Some(us(7))]);
}

#[test]
fn an_admin_command_skips_the_ftl() {
    let mut drive = Drive::new(1);
    drive.fetch(2, 0, 0);
    drive.complete(9, 0);
    let span = drive.kept.borrow()[0];
    assert_eq!((span.at(Stage::Started), span.slices), (None, 0));
    assert_eq!(span.total(), Duration::from_micros(7));
}

#[test]
fn what_has_no_beginning_or_no_end_is_counted_as_lost() {
    let mut drive = Drive::new(2);
    drive.tell(1, Event::CommandFinished { command: 0 });
    drive.complete(1, 1);
    drive.fetch(2, 9, 1);
    drive.fetch(3, 0, 1);
    drive.fetch(4, 0, 1);
    drive.complete(5, 0);
    assert_eq!(drive.spans.lost(), 4);
    assert_eq!(drive.kept.borrow()[0].total(), Duration::from_micros(1));
    drive.fetch(6, 0, 1);
    drive.tell(7, Event::CommandDropped { command: 0 });
    assert_eq!(drive.spans.lost(), 5);
    drive.fetch(8, 0, 1);
    drive.complete(9, 0);
    assert_eq!((drive.spans.lost(), drive.kept.borrow().len()), (5, 2));
}

#[test]
fn a_command_that_was_parked_takes_no_doorbell_of_another() {
    let mut drive = Drive::new(2);
    drive.spans.queue_created(1, 8);
    drive.ring(1, 1, 1);
    drive.fetch(2, 0, 1);
    drive.tell(3, Event::CommandParked { command: 0 });
    drive.ring(4, 1, 2);
    drive.tell(5, Event::CommandResumed { command: 1, queue: 1, opcode: 1, host_id: 100 });
    drive.fetch(6, 0, 1);
    drive.complete(7, 1);
    drive.complete(8, 0);
    assert_eq!(drive.doorbells(), [None, Some(us(4))]);
    let kept = drive.kept.borrow();
    assert_eq!((kept[0].host_id, kept[0].total()), (100, Duration::from_micros(2)));
    assert_eq!(drive.spans.lost(), 1, "nobody knows how long it was parked");
}

#[test]
fn histograms_tell_where_commands_spend_their_time() {
    let histograms = Rc::new(RefCell::new(SpanTable::default()));
    let into = histograms.clone();
    let mut spans = Spans::new(1, move |span: &CommandSpan| into.borrow_mut().record(span));
    for n in 1..=10 {
        let fetched = Event::CommandFetched { command: 0, queue: 1, opcode: 1, host_id: 0 };
        spans.event(us(100 * n), &fetched);
        spans.event(us(100 * n + 2), &Event::CommandStarted { command: 0, offset: 0, length: 4096 });
        spans.event(us(101 * n + 2), &Event::CommandFinished { command: 0 });
        spans.event(us(101 * n + 5), &Event::CommandCompleted { command: 0, status: 0 });
    }
    let h = histograms.borrow();
    let max = |stage| h.step(stage).max();
    assert_eq!(h.step(Stage::Fetched).count(), 0);
    assert_eq!(
        (max(Stage::Started), max(Stage::Completed)),
        (Duration::from_micros(2), Duration::from_micros(3))
    );
    assert_eq!((max(Stage::Finished), h.step(Stage::Finished).count()), (Duration::from_micros(10), 10));
    assert_eq!((h.total().min(), h.total().max()), (Duration::from_micros(6), Duration::from_micros(15)));
}
