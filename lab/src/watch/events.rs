//! Every event of a run, one JSON object a line.

use super::error::{WatchError, create};
use aster_run_virtual::events::{Event, EventSink, Recorder};
use aster_units::Instant;
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Where events are written to, until the first error.
struct Lines<W: Write>(Rc<RefCell<Output<W>>>);

struct Output<W: Write> {
    into: W,
    error: Option<io::Error>,
}

/// One event as a JSON object with its time in picoseconds, its name, and its fields by name.
fn write_line(into: &mut impl Write, at: Instant, event: &Event) -> io::Result<()> {
    write!(into, "{{\"at_ps\":{},\"event\":\"{}\"", at.as_picos(), event.kind().name())?;
    let mut result = Ok(());
    event.for_each_field(|name, value| {
        if result.is_ok() {
            result = write!(into, ",\"{name}\":{value}");
        }
    });
    result?;
    into.write_all(b"}\n")
}

impl<W: Write> EventSink for Lines<W> {
    fn event(&mut self, at: Instant, event: &Event) {
        let mut output = self.0.borrow_mut();
        if output.error.is_none() {
            let written = write_line(&mut output.into, at, event);
            output.error = written.err();
        }
    }
}

/// Writes what a recorder hears to a file, until it is finished.
pub struct EventFile {
    path: PathBuf,
    recorder: Recorder,
    output: Rc<RefCell<Output<Box<dyn Write>>>>,
}

impl EventFile {
    /// Attaches the file at `path` to `recorder`.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn attach(path: &Path, recorder: &Recorder) -> Result<Self, WatchError> {
        let into: Box<dyn Write> = Box::new(create(path)?);
        let output = Rc::new(RefCell::new(Output { into, error: None }));
        recorder.attach(Lines(Rc::clone(&output)));
        Ok(EventFile { path: path.to_owned(), recorder: recorder.clone(), output })
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first error since the file was made.
    pub fn finish(self) -> Result<(), WatchError> {
        self.recorder.detach();
        let mut output = self.output.borrow_mut();
        let result = match output.error.take() {
            Some(error) => Err(error),
            None => output.into.flush(),
        };
        result.map_err(|error| WatchError::write(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_time_event_and_fields() {
        let mut line = Vec::new();
        let event = Event::DoorbellWritten { queue: 3, completion: true, value: 7 };
        write_line(&mut line, Instant::from_picos(12_345), &event).unwrap();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "{\"at_ps\":12345,\"event\":\"DoorbellWritten\",\"queue\":3,\"completion\":1,\"value\":7}\n"
        );
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
        let output = Rc::new(RefCell::new(Output { into, error: None }));
        recorder.attach(Lines(Rc::clone(&output)));
        recorder.emit(Instant::ZERO, || Event::PageMoved { lpn: 1, ppa: 0 });
        recorder.emit(Instant::ZERO, || Event::PageMoved { lpn: 2, ppa: 0 });
        let file = EventFile { path: "events.jsonl".into(), recorder: recorder.clone(), output };
        let error = file.finish().unwrap_err().to_string();
        assert!(error.starts_with("events.jsonl: "), "{error}");
        assert!(!recorder.is_on());
    }
}
