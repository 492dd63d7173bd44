//! The lines of a file that may still be written.

use aster_lab::watch::EventLine;
use aster_units::Instant;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The longest line that is read.
const LINE_MAX: usize = 4096;
/// Bytes at the file's end in which its last event is looked for.
const TAIL: u64 = 64 << 10;

/// Why a recording can't be shown.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}", path = path.display())]
pub struct RecordingError {
    path: PathBuf,
    problem: String,
}

impl RecordingError {
    fn new(path: &Path, problem: impl std::fmt::Display) -> Self {
        RecordingError { path: path.to_owned(), problem: problem.to_string() }
    }
    /// A command isn't among the slowest.
    pub(super) fn gone(path: &Path) -> Self {
        RecordingError::new(path, "this command is no longer among the slowest")
    }
}

/// Reads a file of events line by line.
pub(super) struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    /// What was read of a line that has no end yet.
    part: Vec<u8>,
    /// Where the next line begins.
    offset: u64,
    /// Lines before it.
    line: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self, RecordingError> {
        let refuse = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => RecordingError::new(path, "there is no such file"),
            _ => RecordingError::new(path, error),
        };
        let file = File::open(path).map_err(refuse)?;
        if !file.metadata().map_err(refuse)?.is_file() {
            let problem = "is no file that can be read again: name one that `aster run --events` writes";
            return Err(RecordingError::new(path, problem));
        }
        let file = BufReader::with_capacity(1 << 18, file);
        Ok(Lines { path: path.to_owned(), file, part: Vec::new(), offset: 0, line: 0 })
    }

    fn refuse(&self, problem: impl std::fmt::Display) -> RecordingError {
        RecordingError::new(&self.path, problem)
    }

    /// Why the file can't be shown if it doesn't tell what its drive looks like.
    pub(super) fn without_shape(&self, has_events: bool) -> RecordingError {
        match has_events {
            true => self.refuse(
                "its first line doesn't tell what drive its events are of, since another version of Aster \
                 wrote it; name the drive by --profile",
            ),
            false => self.refuse("has no events yet; start again when the run has begun"),
        }
    }

    /// The next line, if it is there as a whole.
    pub(super) fn next(&mut self) -> Result<Option<EventLine>, RecordingError> {
        let room = (LINE_MAX - self.part.len()) as u64;
        let read = (&mut self.file).take(room).read_until(b'\n', &mut self.part);
        if let Err(error) = read {
            return Err(self.refuse(error));
        }
        let Some(line) = self.part.strip_suffix(b"\n") else {
            return match self.part.len() < LINE_MAX {
                true if self.length() < self.offset => {
                    let problem = "is shorter than before: something else was written to it; start again";
                    Err(self.refuse(problem))
                }
                true => Ok(None),
                false => {
                    let number = self.line + 1;
                    Err(self.refuse(format_args!("line {number} is longer than any event: it isn't one")))
                }
            };
        };
        let parsed = EventLine::parse(line);
        self.offset += self.part.len() as u64;
        self.line += 1;
        self.part.clear();
        parsed.map(Some).map_err(|problem| self.refuse(format_args!("line {} {problem}", self.line)))
    }

    /// Where the next line begins, and how many are before it.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.offset, self.line)
    }

    /// Goes on at a line that begins there.
    pub(super) fn go_to(&mut self, offset: u64, line: u64) -> Result<(), RecordingError> {
        self.file.seek(SeekFrom::Start(offset)).map_err(|error| RecordingError::new(&self.path, error))?;
        (self.offset, self.line) = (offset, line);
        self.part.clear();
        Ok(())
    }

    /// Whether the file is another length than what was read of it.
    pub(super) fn have_changed(&self) -> bool {
        self.length() != self.offset + self.part.len() as u64
    }

    fn length(&self) -> u64 {
        self.file.get_ref().metadata().map_or(0, |of| of.len())
    }

    /// The time of the last whole line.
    pub(super) fn last_time(&self) -> Result<Instant, RecordingError> {
        let mut file = File::open(&self.path).map_err(|error| self.refuse(error))?;
        let length = file.metadata().map_err(|error| self.refuse(error))?.len();
        let mut tail = Vec::new();
        let read = file
            .seek(SeekFrom::Start(length.saturating_sub(TAIL)))
            .and_then(|_| file.take(TAIL).read_to_end(&mut tail));
        read.map_err(|error| self.refuse(error))?;
        let times = tail.split(|&byte| byte == b'\n').filter_map(|line| match EventLine::parse(line) {
            Ok(EventLine::Event { at, .. }) => Some(at),
            _ => None,
        });
        Ok(times.max().unwrap_or_default())
    }
}
