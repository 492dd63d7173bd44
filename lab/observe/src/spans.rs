use crate::LatencyHistogram;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::{Event, EventSink};
use aster_units::{Duration, Instant};

/// A point in a command's life, in the usual order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// The host rang the doorbell for it.
    Doorbell,
    /// The front end has fetched it.
    Fetched,
    /// The FTL has taken it.
    Started,
    /// Its first slice begins.
    FirstSlice,
    /// The FTL has finished it or, if the front end completes it by itself, all its data have been moved.
    Finished,
    /// Its completion entry is in host memory.
    Completed,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Stage; 6] = [
        Stage::Doorbell,
        Stage::Fetched,
        Stage::Started,
        Stage::FirstSlice,
        Stage::Finished,
        Stage::Completed,
    ];

    /// A word for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Doorbell => "doorbell",
            Stage::Fetched => "fetched",
            Stage::Started => "started",
            Stage::FirstSlice => "first slice",
            Stage::Finished => "finished",
            Stage::Completed => "completed",
        }
    }
}

/// A command's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandSpan {
    /// Command slot.
    pub command: u16,
    /// Submission queue.
    pub queue: u16,
    /// NVMe opcode.
    pub opcode: u8,
    /// The host's command identifier.
    pub host_id: u16,
    /// First byte in the namespace; 0 when the FTL had no part in it.
    pub offset: u64,
    /// Bytes; 0 when the FTL had no part in it.
    pub length: u64,
    /// Slices that began.
    pub slices: u32,
    /// NVMe status field, 0 for success.
    pub status: u16,
    times: [Option<Instant>; Stage::ALL.len()],
}

impl CommandSpan {
    /// When the command passed a stage; `None` if it didn't, or if that wasn't seen.
    pub fn at(&self, stage: Stage) -> Option<Instant> {
        self.times[stage as usize]
    }

    /// The stages that the command passed, each with the time since the one before; the first with no time.
    pub fn steps(&self) -> impl Iterator<Item = (Stage, Duration)> + '_ {
        let mut before = None;
        Stage::ALL.into_iter().filter_map(move |stage| {
            let at = self.at(stage)?;
            let took = at.since(before.replace(at).unwrap_or(at));
            Some((stage, took))
        })
    }

    /// The first stage that was seen, and the last.
    pub fn ends(&self) -> (Instant, Instant) {
        let mut seen = self.times.iter().flatten();
        let first = seen.next().copied().unwrap_or_default();
        (first, seen.next_back().copied().unwrap_or(first))
    }

    /// From the first stage that was seen to the last.
    pub fn total(&self) -> Duration {
        let (first, last) = self.ends();
        last.since(first)
    }
}

/// A command between fetch and end.
#[derive(Clone, Copy)]
struct Open {
    span: CommandSpan,
    // The front end completes it by itself, and the FTL has not finished it yet.
    ahead: bool,
    // It has been completed, or dropped.
    over: Option<Over>,
}

#[derive(Clone, Copy)]
enum Over {
    Completed,
    Dropped,
}

/// When each entry of a submission queue was rung.
struct Queue {
    id: u16,
    rung: Box<[Instant]>,
    head: usize,
    tail: usize,
}

impl Queue {
    fn ring(&mut self, at: Instant, tail: usize) {
        // A tail beyond the queue's length is the host's mistake and changes nothing.
        while tail < self.rung.len() && self.tail != tail {
            self.rung[self.tail] = at;
            self.tail = (self.tail + 1) % self.rung.len();
        }
    }
    fn fetch(&mut self) -> Option<Instant> {
        if self.head == self.tail {
            return None;
        }
        let at = self.rung[self.head];
        self.head = (self.head + 1) % self.rung.len();
        Some(at)
    }
}

/// Follows commands from the doorbell to the completion entry. It passes each span to `collect` when the
/// command is complete and no work for it remains: the FTL may still work on a command that the front end
/// has completed by itself.
///
/// Spans are kept by command slot, in memory that is allocated once.
pub struct Spans<F> {
    open: Box<[Option<Open>]>,
    queues: Vec<Queue>,
    lost: u64,
    collect: F,
}

impl<F: FnMut(&CommandSpan)> Spans<F> {
    /// For a front end with `slots` command slots.
    pub fn new(slots: u16, collect: F) -> Self {
        Spans {
            open: vec![None; usize::from(slots)].into_boxed_slice(),
            queues: Vec::new(),
            lost: 0,
            collect,
        }
    }

    /// Notes that submission queue `id` has just been created with this many `entries`, at least 2. From
    /// now on the doorbells of its commands are known. Commands of queues that were not announced here
    /// have no [`Stage::Doorbell`].
    ///
    /// A doorbell gives the queue's tail, not the commands that it is for. Finding those takes the
    /// queue's length, and all doorbells since the queue was created.
    pub fn queue_created(&mut self, id: u16, entries: u16) {
        assert!(entries >= 2, "a queue has two entries at least (NVMe 1.4 §4.1.3)");
        self.queues.retain(|queue| queue.id != id);
        let rung = vec![Instant::ZERO; usize::from(entries)].into_boxed_slice();
        self.queues.push(Queue { id, rung, head: 0, tail: 0 });
    }

    /// Spans of commands that were dropped or not completed before their slot was used again, and events
    /// of slots whose command was not seen to be fetched.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn with(&mut self, command: u16, f: impl FnOnce(&mut CommandSpan)) {
        match self.open.get_mut(usize::from(command)).and_then(Option::as_mut) {
            Some(open) => f(&mut open.span),
            None => self.lost += 1,
        }
    }
    /// Applies `step` to the command in a slot. Its span is collected or lost when all parties are done
    /// with the command.
    fn go_on(&mut self, command: u16, step: impl FnOnce(&mut Open)) {
        let Some(slot) = self.open.get_mut(usize::from(command)) else {
            self.lost += 1;
            return;
        };
        let Some(open) = slot else {
            self.lost += 1;
            return;
        };
        step(open);
        let Open { span, ahead: false, over: Some(over) } = *open else { return };
        *slot = None;
        match over {
            Over::Completed => (self.collect)(&span),
            Over::Dropped => self.lost += 1,
        }
    }
}

impl<F: FnMut(&CommandSpan)> EventSink for Spans<F> {
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::DoorbellWritten { queue, completion: false, value } => {
                if let Some(queue) = self.queues.iter_mut().find(|q| q.id == queue) {
                    queue.ring(at, usize::from(value));
                }
            }
            Event::CommandFetched { command, queue, opcode, host_id }
            | Event::CommandResumed { command, queue, opcode, host_id } => {
                let mut times = [None; Stage::ALL.len()];
                // The doorbell of a resumed command was used up by its first fetch.
                let fetched = matches!(event, Event::CommandFetched { .. });
                let rung = self.queues.iter_mut().find(|q| fetched && q.id == queue).and_then(Queue::fetch);
                times[Stage::Doorbell as usize] = rung;
                times[Stage::Fetched as usize] = Some(at);
                let span = CommandSpan {
                    command,
                    queue,
                    opcode,
                    host_id,
                    offset: 0,
                    length: 0,
                    slices: 0,
                    status: 0,
                    times,
                };
                match self.open.get_mut(usize::from(command)) {
                    Some(slot) => {
                        let open = Open { span, ahead: false, over: None };
                        self.lost += u64::from(slot.replace(open).is_some());
                    }
                    None => self.lost += 1,
                }
            }
            Event::CommandStarted { command, offset, length } => self.with(command, |span| {
                span.times[Stage::Started as usize] = Some(at);
                (span.offset, span.length) = (offset, length);
            }),
            Event::SliceStarted { command, .. } => self.with(command, |span| {
                span.times[Stage::FirstSlice as usize].get_or_insert(at);
                span.slices += 1;
            }),
            Event::CommandAnswered { command } => self.go_on(command, |open| {
                open.span.times[Stage::Finished as usize] = Some(at);
                open.ahead = true;
            }),
            Event::CommandFinished { command } => self.go_on(command, |open| {
                if !core::mem::take(&mut open.ahead) {
                    open.span.times[Stage::Finished as usize] = Some(at);
                }
            }),
            Event::CommandCompleted { command, status } => self.go_on(command, |open| {
                open.span.times[Stage::Completed as usize] = Some(at);
                open.span.status = status;
                open.over = Some(Over::Completed);
            }),
            Event::CommandDropped { command } | Event::CommandParked { command } => {
                self.go_on(command, |open| open.over = Some(Over::Dropped));
            }
            _ => {}
        }
    }
}

/// Where commands spend their time: how long they took from each stage to the next, and in total.
#[derive(Clone, Debug, Default)]
pub struct SpanTable {
    steps: [LatencyHistogram; Stage::ALL.len()],
    total: LatencyHistogram,
}

impl SpanTable {
    /// Adds a command's span.
    pub fn record(&mut self, span: &CommandSpan) {
        // The first stage has nothing before it.
        for (stage, took) in span.steps().skip(1) {
            self.steps[stage as usize].record(took);
        }
        self.total.record(span.total());
    }
    /// How long commands took to reach `stage` from the stage that they passed before it.
    pub fn step(&self, stage: Stage) -> &LatencyHistogram {
        &self.steps[stage as usize]
    }
    /// From the first stage that was seen to completion.
    pub fn total(&self) -> &LatencyHistogram {
        &self.total
    }
}

#[cfg(test)]
mod tests;
