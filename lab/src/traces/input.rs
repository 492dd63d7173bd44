use super::blktrace::{Events, Order, Unreadable};
use super::zstd::Frames;
use flate2::bufread::MultiGzDecoder;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The longest line of a trace. Without a bound a file without line ends would be kept in memory.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Bytes per read.
const READ_BYTES: usize = 256 << 10;

/// How a trace's file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip (RFC 1952), of one or several members.
    Gzip,
    /// Zstandard (RFC 8878), of one or several frames.
    Zstd,
}

impl Compression {
    /// Its name, and the program that decompresses to standard output.
    const fn in_words(self) -> Option<(&'static str, &'static str)> {
        match self {
            Compression::None => None,
            Compression::Gzip => Some(("gzip", "gzip -dc")),
            Compression::Zstd => Some(("zstd", "zstd -dc")),
        }
    }
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// A skippable frame, as pzstd begins with; its first byte counts from 50h to 5Fh.
const ZSTD_SKIPPABLE: &[u8] = &[0x2a, 0x4d, 0x18];
/// Magic bytes of other formats, and the program that decompresses each.
const OTHERS: [(&[u8], &str, &str); 4] = [
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", "xz -dc"),
    (b"BZh", "bzip2", "bzip2 -dc"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "lz4 -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

/// The file of a trace, which can be read several times.
#[derive(Clone, Debug)]
pub struct TraceFile {
    name: String,
    /// Its path; `None` for input that could be read only once.
    path: Option<PathBuf>,
    file: Rc<File>,
    compression: Compression,
    /// For blktrace's binary events, unpacked: the byte order. Other files are text.
    binary: Option<Order>,
}

impl TraceFile {
    /// The file at `path`. One that can be read only once, such as a pipe, is copied to a temporary file.
    ///
    /// # Errors
    /// A message for the user, without the file's name.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => "no such file; a trace is expected here".to_owned(),
            _ => error.to_string(),
        })?;
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        if metadata.is_dir() {
            return Err("is a folder; name a file".into());
        }
        let name = path.display().to_string();
        match metadata.is_file() {
            true => Ok(TraceFile { path: Some(path.to_owned()), ..Self::of(name, file)? }),
            false => Self::read_once(name, file),
        }
    }

    /// The content of `from`, copied to a temporary file.
    ///
    /// # Errors
    /// A message for the user.
    pub fn read_once(name: String, mut from: impl Read) -> Result<Self, String> {
        let folder = std::env::temp_dir();
        let copied = tempfile::tempfile_in(&folder).and_then(|mut file| {
            io::copy(&mut from, &mut file)?;
            file.rewind()?;
            Ok(file)
        });
        Self::of(name, copied.map_err(|error| not_copied(&folder, &error))?)
    }

    fn of(name: String, file: File) -> Result<Self, String> {
        let mut head = [0; 6];
        let mut known = 0;
        while known < head.len() {
            match file.read_at(&mut head[known..], known as u64).map_err(|error| error.to_string())? {
                0 => break,
                n => known += n,
            }
        }
        let head = &head[..known];
        if let Some((_, kind, program)) = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic)) {
            return Err(format!(
                "is compressed by {kind}; gzip and zstd are read as they are, others as in: \
                 {program} {name} | aster run … --trace -"
            ));
        }
        let skippable = head.len() > 3 && head[0] & 0xf0 == 0x50 && head[1..].starts_with(ZSTD_SKIPPABLE);
        let compression = if head.starts_with(GZIP) {
            Compression::Gzip
        } else if head.starts_with(ZSTD) || skippable {
            Compression::Zstd
        } else {
            Compression::None
        };
        let mut trace = TraceFile { name, path: None, file: Rc::new(file), compression, binary: None };
        trace.binary = trace.lines().magic().and_then(Order::of);
        Ok(trace)
    }

    /// Changes its name.
    pub fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Its name, for reports and errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it can be read again; `None` for input that could be read only once, such as standard input.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// How it is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Whether it holds blktrace's binary events, whose lines are events.
    pub fn is_binary(&self) -> bool {
        self.binary.is_some()
    }

    /// Bytes of the file, packed as it is.
    ///
    /// # Errors
    /// Those of the system.
    pub fn bytes(&self) -> io::Result<u64> {
        self.file.metadata().map(|of| of.len())
    }

    /// A place in it, for errors.
    pub(super) fn place(&self, line: usize, column: usize) -> String {
        match self.binary {
            Some(_) => self.row(line),
            None => format!("{}, column {column}", self.row(line)),
        }
    }

    /// A line of it, for errors.
    pub(super) fn row(&self, line: usize) -> String {
        format!("{} {line}", if self.is_binary() { "event" } else { "line" })
    }

    /// Its lines from the first on.
    pub fn lines(&self) -> Lines {
        self.lines_of(FileReader::new(&self.file, 0, None))
    }

    /// The same, while the file's bytes are counted and their checksum is computed.
    pub(super) fn summed_lines(&self) -> (Lines, Sum) {
        let sum = Sum(Rc::new(RefCell::new((Sha256::new(), 0))));
        let reader = FileReader::new(&self.file, 0, Some(sum.clone()));
        (self.lines_of(reader), sum)
    }

    /// Adds the bytes that `lines` left unread, such as bytes after a compressed stream, to the checksum.
    pub(super) fn finish(&self, sum: Sum) -> io::Result<(String, u64)> {
        let at = sum.0.borrow().1;
        let mut rest = FileReader::new(&self.file, at, Some(sum.clone()));
        io::copy(&mut rest, &mut io::sink())?;
        let (sha256, bytes) = sum.0.borrow().clone();
        Ok((sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), bytes))
    }

    fn lines_of(&self, reader: FileReader) -> Lines {
        let packed = self.compression.in_words().map(|(kind, program)| Packed {
            kind,
            program,
            path: self.path.clone(),
            seen: Rc::clone(&reader.ends),
        });
        let taken = Rc::clone(&reader.taken);
        let reader = BufReader::with_capacity(READ_BYTES, reader);
        let from: Box<dyn BufRead> = match self.compression {
            Compression::None => Box::new(reader),
            Compression::Gzip => Box::new(BufReader::with_capacity(READ_BYTES, MultiGzDecoder::new(reader))),
            Compression::Zstd => Box::new(BufReader::with_capacity(READ_BYTES, Frames::new(reader))),
        };
        let (events, bytes) = (self.binary.map(Events::new), Vec::new());
        Lines { from, packed, events, bytes, over: false, taken }
    }
}

/// Why input that can be read only once could not be copied to `folder`.
fn not_copied(folder: &Path, error: &io::Error) -> String {
    let folder = folder.display();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => format!(
            "can be read only once, and {folder} has no room for a copy of it: name another folder with \
             TMPDIR, or keep it in a file, which may be packed, and name that"
        ),
        _ => format!("copying it to a temporary file in {folder} (TMPDIR names another): {error}"),
    }
}

/// Checksum and number of the bytes of a file that have been read.
#[derive(Clone)]
pub(super) struct Sum(Rc<RefCell<(Sha256, u64)>>);

/// How reading a file ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It has not ended.
    Open,
    /// The reader reached the end after this many bytes.
    After(u64),
    /// The system failed to read further.
    Failed,
}

/// Reads a shared file from a given byte on.
struct FileReader {
    file: Rc<File>,
    at: u64,
    seen: Option<Sum>,
    ends: Rc<Cell<Ending>>,
    /// Bytes read.
    taken: Rc<Cell<u64>>,
}

impl FileReader {
    fn new(file: &Rc<File>, at: u64, seen: Option<Sum>) -> Self {
        let (ends, taken) = (Rc::new(Cell::new(Ending::Open)), Rc::default());
        FileReader { file: Rc::clone(file), at, seen, ends, taken }
    }
}

impl Read for FileReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(into, self.at).inspect_err(|_| self.ends.set(Ending::Failed))?;
        if n == 0 && !into.is_empty() {
            self.ends.set(Ending::After(self.at));
        }
        self.at += n as u64;
        self.taken.set(self.taken.get() + n as u64);
        if let Some(sum) = &self.seen {
            let (sha256, bytes) = &mut *sum.0.borrow_mut();
            sha256.update(&into[..n]);
            *bytes += n as u64;
        }
        Ok(n)
    }
}

/// What is known of a compressed file when it can't be decompressed.
struct Packed {
    kind: &'static str,
    program: &'static str,
    path: Option<PathBuf>,
    seen: Rc<Cell<Ending>>,
}

impl Packed {
    /// What is wrong and what to do, instead of the decoder's message.
    fn problem(&self, error: &io::Error) -> String {
        let kind = self.kind;
        let what = match self.seen.get() {
            Ending::Failed => return error.to_string(),
            Ending::After(bytes) => {
                format!(
                    "the {kind} file is cut off: it ends after {bytes} bytes, in the middle of what is packed"
                )
            }
            Ending::Open => {
                format!("the {kind} file is damaged: what is packed can't be unpacked from here on")
            }
        };
        let rest = self.path.as_ref().map(|path| {
            // The last decompressed line may be incomplete.
            format!(
                ", or replay what can be had of it: {} {} | sed '$d' | aster run … --trace -",
                self.program,
                path.display()
            )
        });
        format!("{what}; take a whole copy{}", rest.unwrap_or_default())
    }
}

/// The lines of a trace, without their ends. An error is the last.
pub struct Lines {
    from: Box<dyn BufRead>,
    packed: Option<Packed>,
    /// Takes blktrace's events apart; `None` for text.
    events: Option<Events>,
    /// The line that is read, kept to be reused.
    bytes: Vec<u8>,
    over: bool,
    /// Bytes of the file that have been read, packed as it is.
    taken: Rc<Cell<u64>>,
}

impl Lines {
    #[cfg(test)]
    pub(super) fn of(from: &'static [u8]) -> Self {
        let (bytes, taken) = (Vec::new(), Rc::default());
        Lines { from: Box::new(from), packed: None, events: None, bytes, over: false, taken }
    }

    /// How many bytes of the file have been read, however far they have been unpacked. It may be kept while
    /// the lines are read.
    pub(super) fn taken(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.taken)
    }

    /// The first four bytes, unpacked; `None` if there are fewer, or they can't be read.
    fn magic(mut self) -> Option<[u8; 4]> {
        let mut head = [0; 4];
        self.from.read_exact(&mut head).ok().map(|()| head)
    }

    /// Why the file can't be read.
    fn problem(&self, error: &io::Error) -> String {
        match &self.packed {
            Some(packed) => packed.problem(error),
            None => error.to_string(),
        }
    }

    fn read(&mut self) -> Result<Option<String>, String> {
        if let Some(events) = &mut self.events {
            let mut line = String::new();
            return match events.read(&mut self.from, &mut line) {
                Ok(true) => Ok(Some(line)),
                Ok(false) => Ok(None),
                Err(Unreadable::Event(what)) => Err(what),
                Err(Unreadable::File(error)) => Err(self.problem(&error)),
            };
        }
        self.bytes.clear();
        let read = (&mut self.from).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut self.bytes);
        read.map_err(|error| self.problem(&error))?;
        if self.bytes.is_empty() {
            return Ok(None);
        }
        if self.bytes.len() as u64 > LINE_BYTES_MAX {
            return Err(format!("is longer than {LINE_BYTES_MAX} bytes; is it the right file?"));
        }
        // A carriage return is part of the ending in front of a line feed only.
        let line = match self.bytes.strip_suffix(b"\n") {
            Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
            None => &self.bytes,
        };
        match std::str::from_utf8(line) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(error) => Err(format!(
                "not text (byte {} of the line is not UTF-8); is it the right file?",
                error.valid_up_to() + 1
            )),
        }
    }
}

impl Iterator for Lines {
    type Item = Result<String, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let line = self.read().transpose();
        self.over = !matches!(line, Some(Ok(_)));
        line
    }
}
