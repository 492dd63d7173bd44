//! The host's commands, from events: queues, counts, latencies.

use crate::frame::{LatencyView, QueueView};
use aster_events::Event;
use aster_units::{Duration, Instant};
use std::collections::BTreeMap;

/// Latencies that are kept for percentiles; of more that end between two frames, the last ones.
const RECENT_MAX: usize = 4096;

/// Opcodes of the NVM command set (NVMe 1.4 §6, figure 346).
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const COMPARE: u8 = 0x05;

/// A command that has been fetched and has not ended.
#[derive(Clone, Copy)]
struct Open {
    number: u64,
    queue: u16,
    opcode: u8,
    since: Instant,
    offset: u64,
    length: u64,
}

/// A command that has been completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completed {
    /// How many were fetched before it.
    pub number: u64,
    /// Submission queue.
    pub queue: u16,
    /// NVMe opcode.
    pub opcode: u8,
    /// First byte in the namespace.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// When it was fetched.
    pub began: Instant,
    /// From there to its completion.
    pub took: Duration,
}

/// All commands.
#[derive(Clone, Default)]
pub(crate) struct Commands {
    fetched: u64,
    open: BTreeMap<u16, Open>,
    queues: BTreeMap<u16, QueueView>,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    recent: Vec<Duration>,
    /// Where the next latency goes once `recent` is full.
    next: usize,
    ended: u64,
}

impl Commands {
    fn queue(&mut self, id: u16) -> &mut QueueView {
        self.queues.entry(id).or_insert(QueueView { id, ..QueueView::default() })
    }

    /// Takes an event; those that tell nothing of commands are ignored. Returns a command of an I/O queue
    /// that it completes.
    pub(crate) fn hear(&mut self, at: Instant, event: &Event) -> Option<Completed> {
        match *event {
            Event::CommandFetched { command, queue, opcode, .. }
            | Event::CommandResumed { command, queue, opcode, .. } => {
                let number = self.fetched;
                self.fetched += 1;
                let open = Open { number, queue, opcode, since: at, offset: 0, length: 0 };
                let lost = self.open.insert(command, open);
                if let Some(lost) = lost {
                    self.end(&lost, false);
                }
                let queue = self.queue(queue);
                queue.outstanding += 1;
                // One that goes on has been fetched before.
                queue.fetched += u64::from(matches!(event, Event::CommandFetched { .. }));
            }
            Event::CommandStarted { command, offset, length } => {
                if let Some(open) = self.open.get_mut(&command) {
                    (open.offset, open.length) = (offset, length);
                }
            }
            Event::CommandCompleted { command, .. } => {
                let open = self.open.remove(&command)?;
                self.end(&open, true);
                return self.completed(at, &open);
            }
            Event::CommandDropped { command } | Event::CommandParked { command } => {
                if let Some(open) = self.open.remove(&command) {
                    self.end(&open, false);
                }
            }
            _ => {}
        }
        None
    }

    fn end(&mut self, open: &Open, completed: bool) {
        let queue = self.queue(open.queue);
        queue.outstanding = queue.outstanding.saturating_sub(1);
        queue.completed += u64::from(completed);
    }

    fn completed(&mut self, at: Instant, open: &Open) -> Option<Completed> {
        let Open { number, queue, opcode, since, offset, length } = *open;
        if queue == 0 {
            return None;
        }
        match opcode {
            READ | COMPARE => {
                self.reads += 1;
                self.read_bytes = self.read_bytes.saturating_add(length);
            }
            WRITE => {
                self.writes += 1;
                self.written_bytes = self.written_bytes.saturating_add(length);
            }
            _ => {}
        }
        let took = at.since(since.min(at));
        self.ended += 1;
        match self.recent.get_mut(self.next) {
            Some(place) => *place = took,
            None => self.recent.push(took),
        }
        self.next = (self.next + 1) % RECENT_MAX;
        Some(Completed { number, queue, opcode, offset, length, began: since, took })
    }

    /// Commands that have been fetched and have not ended.
    pub(crate) fn outstanding(&self) -> u64 {
        self.open.len() as u64
    }

    pub(crate) fn queues(&self) -> Vec<QueueView> {
        self.queues.values().copied().collect()
    }

    /// Latencies since they were taken last.
    pub(crate) fn take_latency(&mut self) -> LatencyView {
        let mut recent = std::mem::take(&mut self.recent);
        let commands = std::mem::take(&mut self.ended);
        self.next = 0;
        recent.sort_unstable();
        let at = |percent: usize| {
            let place = (recent.len() * percent).div_ceil(100).saturating_sub(1);
            recent.get(place).map(|latency| latency.as_micros_f64())
        };
        LatencyView { commands, p50_us: at(50), p99_us: at(99), max_us: at(100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_picos(us * 1_000_000)
    }

    fn fetched(command: u16, queue: u16, opcode: u8) -> Event {
        Event::CommandFetched { command, queue, opcode, host_id: 0 }
    }

    #[test]
    fn queues_count_what_they_have_and_latencies_are_of_the_last_frame() {
        let mut commands = Commands::default();
        let done = Event::CommandCompleted { command: 4, status: 0 };
        assert_eq!(commands.hear(at(0), &done), None, "its beginning was not seen");
        for us in 0..200 {
            commands.hear(at(us * 1000), &fetched(4, 1, READ));
            commands.hear(at(us * 1000), &Event::CommandStarted { command: 4, offset: 8, length: 512 });
            let completed = commands.hear(at(us * 1000 + us + 1), &done).unwrap();
            assert_eq!((completed.number, completed.length), (us, 512));
        }
        let latency = commands.take_latency();
        assert_eq!(latency.commands, 200);
        assert_eq!((latency.p50_us, latency.p99_us, latency.max_us), (Some(100.0), Some(198.0), Some(200.0)));
        assert_eq!(commands.take_latency(), LatencyView::default());
        commands.hear(at(1), &fetched(4, 1, WRITE));
        commands.hear(at(2), &fetched(5, 2, WRITE));
        commands.hear(at(3), &Event::CommandDropped { command: 5 });
        assert_eq!(commands.hear(at(3), &Event::CommandDropped { command: 5 }), None);
        let queue = |id, outstanding, fetched, completed| QueueView { id, outstanding, fetched, completed };
        assert_eq!(commands.queues(), [queue(1, 1, 201, 200), queue(2, 0, 1, 0)]);
        // A slot that is used anew without an end of what it had.
        commands.hear(at(4), &fetched(4, 0, 6));
        assert_eq!(commands.queues()[..2], [queue(0, 1, 1, 0), queue(1, 0, 201, 200)]);
        assert_eq!((commands.outstanding(), commands.reads, commands.read_bytes), (1, 200, 200 * 512));
        assert_eq!(commands.hear(at(9), &done), None, "an admin command is no I/O");
    }

    #[test]
    fn more_latencies_than_are_kept_are_counted() {
        let mut commands = Commands::default();
        for us in 0..10_000 {
            commands.hear(at(us), &fetched(1, 1, WRITE));
            let took = if us < 5000 { 1000 } else { 2 };
            commands.hear(at(us + took), &Event::CommandCompleted { command: 1, status: 0 });
        }
        let latency = commands.take_latency();
        assert_eq!((latency.commands, latency.max_us), (10_000, Some(2.0)));
    }
}
