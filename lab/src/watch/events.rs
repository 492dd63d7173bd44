//! The events of a run, one JSON object per line: every one from power-on, those of a window, or those of the
//! slowest commands.

use super::error::{WatchError, create};
use super::lines::DriveShape;
use super::numbers::Numbers;
use super::slowest::Slowest;
use super::spans::{SLOTS, add};
use super::window::WorkWindow;
use aster_events::{Event, EventSink, Recorder, Tee};
use aster_observe::{CommandSpan, Spans};
use aster_run_virtual::Machine;
use aster_units::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Where events are written to, until the first error.
struct Lines<W: Write>(Rc<RefCell<Output<W>>>);

struct Output<W: Write> {
    into: W,
    window: WorkWindow,
    numbers: Numbers,
    error: Option<io::Error>,
}

/// What a line has beside the event.
#[derive(Clone, Copy, Default)]
struct Context {
    /// Time since the work's beginning, during the work.
    in_work: Option<Duration>,
    /// Number of the command whose slot the event names.
    number: Option<u64>,
}

/// One event as a JSON object with its times in picoseconds, its name, its fields by name, and the command's
/// number.
fn write_line(into: &mut impl Write, at: Instant, event: &Event, context: Context) -> io::Result<()> {
    write!(into, "{{\"at_ps\":{}", at.as_picos())?;
    if let Some(in_work) = context.in_work {
        write!(into, ",\"work_ps\":{}", in_work.as_picos())?;
    }
    write!(into, ",\"event\":\"{}\"", event.kind().name())?;
    let mut result = Ok(());
    event.for_each_field(|name, value| {
        if result.is_ok() {
            result = write!(into, ",\"{name}\":{value}");
        }
    });
    result?;
    if let Some(number) = context.number {
        write!(into, ",\"number\":{number}")?;
    }
    into.write_all(b"}\n")
}

impl<W: Write> EventSink for Lines<W> {
    fn event(&mut self, at: Instant, event: &Event) {
        self.0.borrow_mut().hear(at, event, |_| true);
    }
}

impl<W: Write> Output<W> {
    /// Takes the next event, and writes it if `counts` accepts it at that time.
    fn hear(&mut self, at: Instant, event: &Event, counts: impl FnOnce(Instant) -> bool) {
        self.numbers.hear(event);
        if self.error.is_none() && counts(at) {
            let context = Context { in_work: self.window.in_work(at), number: self.numbers.of(event) };
            self.write(at, event, context);
        }
    }
    fn write(&mut self, at: Instant, event: &Event, context: Context) {
        if self.error.is_none() {
            self.error = write_line(&mut self.into, at, event, context).err();
        }
    }
}

/// Takes the span of a command that has ended.
type Ended = Box<dyn FnMut(&CommandSpan)>;

/// What identifies a flash operation across its events: LUN, kind and row.
type Operation = (u64, u64, u64);

/// Keeps the events of the slowest commands: those that name a command, the firmware task that carries out a
/// slice of it, or a flash operation that such a task has requested.
struct OfSlowest {
    window: WorkWindow,
    spans: Spans<Ended>,
    ended: Rc<Cell<Option<CommandSpan>>>,
    numbers: Numbers,
    /// By firmware task.
    tasks: BTreeMap<u64, u64>,
    operations: BTreeMap<Operation, u64>,
    slowest: Slowest<(Instant, Event, Context)>,
}

impl OfSlowest {
    fn new(most: usize, window: WorkWindow) -> Self {
        let ended = Rc::new(Cell::new(None));
        let sink = Rc::clone(&ended);
        OfSlowest {
            numbers: Numbers::new(window.clone()),
            window,
            spans: Spans::new(SLOTS, Box::new(move |span| sink.set(Some(*span)))),
            ended,
            tasks: BTreeMap::new(),
            operations: BTreeMap::new(),
            slowest: Slowest::new(most, usize::from(SLOTS)),
        }
    }

    /// The command that an event is part of.
    fn command_of(&mut self, event: &Event) -> Option<u64> {
        let (mut slot, mut task, mut lun, mut kind, mut row) = (None, None, None, None, None);
        event.for_each_field(|name, value| match name {
            "command" => slot = Some(value),
            "task" => task = Some(value),
            "lun" => lun = Some(value),
            "kind" => kind = Some(value),
            "row" => row = Some(value),
            _ => {}
        });
        let operation = || Some((lun?, kind?, row?));
        match (event, slot, task) {
            (Event::SliceStarted { .. }, Some(slot), Some(task)) => {
                let command = self.numbers.of_slot(slot)?;
                self.tasks.insert(task, command);
                Some(command)
            }
            (Event::SliceEnded { .. }, _, Some(task)) => self.tasks.remove(&task),
            (Event::FlashQueued { .. }, _, Some(task)) => {
                let command = self.tasks.get(&task).copied()?;
                operation().map(|operation| self.operations.insert(operation, command));
                Some(command)
            }
            (Event::FlashFinished { .. }, ..) => self.operations.remove(&operation()?),
            (_, Some(slot), _) => self.numbers.of_slot(slot),
            (_, _, Some(task)) => self.tasks.get(&task).copied(),
            _ => self.operations.get(&operation()?).copied(),
        }
    }
}

impl EventSink for OfSlowest {
    fn event(&mut self, at: Instant, event: &Event) {
        self.spans.event(at, event);
        self.numbers.hear(event);
        let command = self.command_of(event);
        if self.window.ends().is_none() {
            return;
        }
        if let Some(command) = command {
            let context = Context { in_work: self.window.in_work(at), number: self.numbers.of(event) };
            self.slowest.hear(command, (at, *event, context));
        }
        if let Some(span) = self.ended.take()
            && let Some(command) = self.numbers.of_slot(span.command.into())
        {
            self.slowest.ended(command, span.total(), self.window.has(span.ends().0));
        }
    }
}

/// Writes the events of a window.
struct Windowed<W: Write>(WorkWindow, Rc<RefCell<Output<W>>>);

impl<W: Write> EventSink for Windowed<W> {
    fn event(&mut self, at: Instant, event: &Event) {
        self.1.borrow_mut().hear(at, event, |at| self.0.has(at));
    }
}

/// Writes a recorder's events to a file, until it is finished.
pub struct EventFile {
    path: PathBuf,
    recorder: Recorder,
    window: WorkWindow,
    output: Rc<RefCell<Output<Box<dyn Write>>>>,
    slowest: RefCell<Option<Rc<RefCell<OfSlowest>>>>,
}

impl EventFile {
    /// Creates the file at `path`, with `shape` as its first line. It receives the events of `recorder` from
    /// now on, unless the window is a part of the run.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn create(
        path: &Path,
        shape: Option<&DriveShape>,
        recorder: &Recorder,
        window: &WorkWindow,
    ) -> Result<Self, WatchError> {
        let mut into: Box<dyn Write> = Box::new(create(path)?);
        let numbers = Numbers::new(window.clone());
        let error = shape.and_then(|shape| into.write_all(shape.line().as_bytes()).err());
        let output = Rc::new(RefCell::new(Output { into, window: window.clone(), numbers, error }));
        if !window.chosen {
            recorder.attach(Lines(Rc::clone(&output)));
        }
        Ok(EventFile {
            path: path.to_owned(),
            recorder: recorder.clone(),
            window: window.clone(),
            output,
            slowest: RefCell::default(),
        })
    }

    /// Listens to `machine`, whose I/O queues have not been used yet, for a part of the run.
    pub fn attach(&self, machine: &Machine) {
        let window = self.window.clone();
        match window.slowest {
            _ if !window.chosen => {}
            None => add(
                machine,
                Tee::default().with(Rc::new(RefCell::new(Windowed(window, Rc::clone(&self.output))))),
            ),
            Some(most) => {
                let mut slowest = OfSlowest::new(most, window);
                let driver = machine.driver();
                for queue in driver.queues() {
                    slowest.spans.queue_created(queue.0, driver.depth(queue) + 1);
                }
                let slowest = Rc::new(RefCell::new(slowest));
                add(machine, Tee::default().with(Rc::clone(&slowest)));
                *self.slowest.borrow_mut() = Some(slowest);
            }
        }
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// The first error since the file was made.
    pub fn finish(self) -> Result<(), WatchError> {
        self.recorder.detach();
        let mut output = self.output.borrow_mut();
        if let Some(slowest) = self.slowest.take() {
            let empty = Slowest::new(0, 0);
            let kept = std::mem::replace(&mut slowest.borrow_mut().slowest, empty);
            kept.finish().for_each(|(at, event, context)| output.write(at, &event, context));
        }
        let result = match output.error.take() {
            Some(error) => Err(error),
            None => output.into.flush(),
        };
        result.map_err(|error| WatchError::write(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::WindowOptions;
    use super::*;

    #[test]
    fn a_line_names_time_event_and_fields() {
        let mut line = Vec::new();
        let event = Event::DoorbellWritten { queue: 3, completion: true, value: 7 };
        let at = Instant::from_picos(12_345);
        write_line(&mut line, at, &event, Context::default()).unwrap();
        let in_work = Some(Duration::from_picos(45));
        write_line(&mut line, at, &event, Context { in_work, number: None }).unwrap();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"at_ps\":12345,\"event\":\"DoorbellWritten\",\"queue\":3,\"completion\":1,\"value\":7}\n\
             {\"at_ps\":12345,\"work_ps\":45,\"event\":\"DoorbellWritten\",\"queue\":3,\"completion\":1,\
             \"value\":7}\n"
        );
    }

    #[test]
    fn a_command_is_numbered_from_the_beginning_of_the_work_on_in_every_line_that_names_it() {
        let window = WorkWindow::new(WindowOptions::default());
        let into = Rc::new(RefCell::new(Output {
            into: Vec::new(),
            window: window.clone(),
            numbers: Numbers::new(window.clone()),
            error: None,
        }));
        let mut lines = Lines(Rc::clone(&into));
        let fetched = |command| Event::CommandFetched { command, queue: 1, opcode: 2, host_id: 9 };
        let mut hear = |event: Event| lines.event(Instant::ZERO, &event);
        // Two commands before the work; one of them ends after the work's beginning.
        [4, 5].into_iter().for_each(|slot| hear(fetched(slot)));
        window.begin(Instant::ZERO);
        [4, 7].into_iter().for_each(|slot| hear(fetched(slot)));
        hear(Event::CommandFinished { command: 7 });
        hear(Event::CommandFinished { command: 5 });
        hear(Event::SliceEnded { task: 7 });
        hear(fetched(5));
        let text = String::from_utf8(into.borrow().into.clone()).unwrap();
        let numbers =
            text.lines().map(|line| line.split("\"number\":").nth(1).map(|n| n.trim_end_matches('}')));
        let expected = [None, None, Some("1"), Some("2"), Some("2"), None, None, Some("3")];
        assert_eq!(numbers.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn a_full_disk_is_reported_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let into: Box<dyn Write> = Box::new(Full);
        let recorder = Recorder::default();
        let window = WorkWindow::new(WindowOptions::default());
        let numbers = Numbers::new(window.clone());
        let output = Rc::new(RefCell::new(Output { into, window, numbers, error: None }));
        recorder.attach(Lines(Rc::clone(&output)));
        recorder.emit(Instant::ZERO, || Event::PageMoved { lpn: 1, ppa: 0 });
        recorder.emit(Instant::ZERO, || Event::PageMoved { lpn: 2, ppa: 0 });
        let file = EventFile {
            path: "events.jsonl".into(),
            recorder: recorder.clone(),
            window: WorkWindow::new(WindowOptions::default()),
            output,
            slowest: RefCell::default(),
        };
        let error = file.finish().unwrap_err().to_string();
        assert!(error.starts_with("events.jsonl: "), "{error}");
        assert!(!recorder.is_on());
    }
}
