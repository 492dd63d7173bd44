//! Files that the user names: text to read, files to write.

use super::failure::Failure;
use crate::figure::{beside, is_picture};
use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Read};
use std::path::Path;

/// The longest profile or job file that is read. Both are written by hand, so this is generous.
pub const HAND_WRITTEN_MAX: u64 = 1 << 20;

/// The name of standard input in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// Whether a path stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A file that can't be opened, where there should be `what`, such as "a profile".
pub fn unopened(path: &Path, what: &str, error: Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::file(path, format!("no such file; {what} is expected here")),
        _ => Failure::file(path, error),
    }
}

/// The text of a file of at most `bytes_max` bytes, or of standard input if `path` is `-`. There should be
/// `what`, such as "a profile".
///
/// # Errors
/// Names the file, and what is wrong with it.
pub fn read_text(path: &Path, bytes_max: u64, what: &str) -> Result<String, Failure> {
    let stands_for = |path| if is_standard_input(path) { Path::new(STANDARD_INPUT) } else { path };
    let (source, path) = (path, stands_for(path));
    let fail = |error: std::io::Error| Failure::file(path, error);
    let mut bytes = Vec::new();
    if is_standard_input(source) {
        std::io::stdin().take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    } else {
        let file = File::open(path).map_err(|error| unopened(path, what, error))?;
        if file.metadata().map_err(fail)?.is_dir() {
            return Err(Failure::file(path, "is a folder; name a file"));
        }
        file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    }
    if bytes.len() as u64 > bytes_max {
        return Err(Failure::file(
            path,
            format!("is longer than {bytes_max} bytes; {what} is expected here"),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
        Failure::file(
            path,
            format!("line {line}: not text (byte {at} is not UTF-8); {what} is expected here"),
        )
    })
}

/// Creates a file to write, and truncates an existing one.
///
/// # Errors
/// When it can't be made.
pub fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let words = |error: Error| match error.kind() {
        ErrorKind::IsADirectory => Failure::file(path, "is a folder; name a file"),
        ErrorKind::NotFound => Failure::file(path, "its folder is not there"),
        _ => Failure::file(path, error),
    };
    File::create(path).map(BufWriter::new).map_err(words)
}

/// Creates a folder for files; it may exist already.
///
/// # Errors
/// When it can't be made.
pub fn make_folder(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            Failure::file(path, "is a file, or lies below one; name a folder")
        }
        _ => Failure::file(path, error),
    })
}

/// Refuses to write to files that the run reads, and to write one file twice, so that no file is overwritten
/// by accident.
///
/// # Errors
/// Names the file that has two uses.
pub fn keep_apart(read: &[Option<&Path>], written: &[Option<&Path>]) -> Result<(), Failure> {
    // Two paths of the same file count as the same; a path that doesn't exist is compared as it is.
    let known = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // A picture's numbers are written beside it.
    let numbers = written.iter().flatten().filter(|path| is_picture(path)).map(|path| beside(path));
    let written: Vec<_> = written.iter().flatten().map(|path| known(path)).chain(numbers).collect();
    for (i, path) in written.iter().enumerate() {
        if read.iter().flatten().any(|other| known(other) == *path) {
            return Err(Failure::file(
                path,
                "is read by this run and would be overwritten; name another file",
            ));
        }
        if written[..i].contains(path) {
            return Err(Failure::file(path, "is named for two outputs; name two files"));
        }
    }
    Ok(())
}
