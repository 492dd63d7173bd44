//! The work's commands as a table: a row for each, kept in memory column by column.

use super::numbers::Numbers;
use super::spans::{SLOTS, add_to_commands};
use super::window::WorkWindow;
use aster_driver::{CommandName, QueueId};
use aster_events::{Event, EventSink};
use aster_observe::{CommandSpan, Spans};
use aster_run_virtual::Machine;
use aster_units::Instant;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Rows of a part of the table, which is allocated as a whole.
pub const PART_ROWS: usize = 1 << 16;

/// A part of the table: columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandRows {
    /// Number in the work, from 1, in the order in which the front end fetched them: what `aster explain`
    /// takes.
    pub number: Vec<u64>,
    /// When the host rang the doorbell, in microseconds from the beginning of the work.
    pub submit_us: Vec<f64>,
    /// When its completion entry was in host memory.
    pub complete_us: Vec<f64>,
    /// NVMe opcode.
    pub opcode: Vec<u8>,
    /// First byte in the namespace; 0 for a command without one.
    pub offset: Vec<u64>,
    /// Bytes; 0 for a command without any.
    pub bytes: Vec<u64>,
    /// Submission queue.
    pub queue: Vec<u16>,
    /// NVMe status field, 0 for success.
    pub status: Vec<u16>,
}

impl CommandRows {
    fn with_room() -> Self {
        fn room<T>() -> Vec<T> {
            Vec::with_capacity(PART_ROWS)
        }
        CommandRows {
            number: room(),
            submit_us: room(),
            complete_us: room(),
            opcode: room(),
            offset: room(),
            bytes: room(),
            queue: room(),
            status: room(),
        }
    }

    fn push(&mut self, number: u64, began: Instant, span: &CommandSpan) {
        let (submit, complete) = span.ends();
        let since = |at: Instant| at.since(began).as_micros_f64();
        self.number.push(number);
        self.submit_us.push(since(submit));
        self.complete_us.push(since(complete));
        self.opcode.push(span.opcode);
        self.offset.push(span.offset);
        self.bytes.push(span.length);
        self.queue.push(span.queue);
        self.status.push(span.status);
    }
}

/// The commands of the work that have completed, in the order of their completion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandTable {
    /// The parts of the table, in their order; all but the last have [`PART_ROWS`] rows.
    pub parts: Vec<CommandRows>,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// The names of the jobs by queue; `None` for a queue that several share, or none uses.
    pub jobs: Vec<(u16, Option<String>)>,
}

impl CommandTable {
    /// The NVMe name of an I/O command's opcode.
    pub fn name_of(opcode: u8) -> String {
        CommandName { queue: QueueId(1), opcode }.to_string()
    }

    fn push(&mut self, number: u64, began: Instant, span: &CommandSpan) {
        match self.parts.last_mut().filter(|part| part.number.len() < PART_ROWS) {
            Some(part) => part.push(number, began, span),
            None => {
                let mut part = CommandRows::with_room();
                part.push(number, began, span);
                self.parts.push(part);
            }
        }
    }
}

/// Takes the span of a command that has ended.
type Ended = Box<dyn FnMut(&CommandSpan)>;

struct Listening {
    spans: Spans<Ended>,
    ended: Rc<Cell<Option<CommandSpan>>>,
    numbers: Numbers,
    window: WorkWindow,
    table: CommandTable,
}

impl EventSink for Listening {
    fn event(&mut self, at: Instant, event: &Event) {
        self.spans.event(at, event);
        self.numbers.hear(event);
        if let (Some(span), Some(began)) = (self.ended.take(), self.window.began())
            && let Some(number) = self.numbers.of_slot(span.command.into())
            && self.window.ends().is_some()
        {
            self.table.push(number, began, &span);
        }
    }
}

/// Listens to a machine's commands from its boot on, and keeps those of the work.
pub(super) struct CommandSink {
    window: WorkWindow,
    listening: RefCell<Option<Rc<RefCell<Listening>>>>,
}

impl CommandSink {
    pub(super) fn new(window: &WorkWindow) -> Self {
        CommandSink { window: window.clone(), listening: RefCell::default() }
    }

    /// Listens to `machine`, whose I/O queues have not been used yet, beside existing listeners.
    pub(super) fn attach(&self, machine: &Machine) {
        let ended = Rc::new(Cell::new(None));
        let sink = Rc::clone(&ended);
        let collect: Ended = Box::new(move |span| sink.set(Some(*span)));
        let mut spans = Spans::new(SLOTS, collect);
        let driver = machine.driver();
        for queue in driver.queues() {
            // A queue holds one command less than it has entries (NVMe 1.4 §4.1.2).
            spans.queue_created(queue.0, driver.depth(queue) + 1);
        }
        let block_bytes = driver.namespace().block_bytes;
        let listening = Rc::new(RefCell::new(Listening {
            spans,
            ended,
            numbers: Numbers::new(self.window.clone()),
            window: self.window.clone(),
            table: CommandTable { block_bytes, ..CommandTable::default() },
        }));
        add_to_commands(machine, &listening);
        *self.listening.borrow_mut() = Some(listening);
    }

    /// The commands so far.
    pub(super) fn take(&self) -> CommandTable {
        let listening = self.listening.borrow();
        listening.as_ref().map_or_else(CommandTable::default, |of| std::mem::take(&mut of.borrow_mut().table))
    }
}
