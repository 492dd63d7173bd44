//! Why a listener can't write, and the files that they write to.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Why nothing can be written of what was heard.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The file can't be made, or its name says nothing of how to write it.
    #[error("{path}: {problem}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The file could not be written to its end.
    #[error("{path}: {error}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl WatchError {
    pub(super) fn file(path: &Path, problem: impl std::fmt::Display) -> Self {
        WatchError::File { path: path.to_owned(), problem: problem.to_string() }
    }
    pub(super) fn write(path: &Path, error: io::Error) -> Self {
        WatchError::Write { path: path.to_owned(), error }
    }
}

/// A file to write; what it held is gone.
pub(super) fn create(path: &Path) -> Result<BufWriter<File>, WatchError> {
    let words = |error: io::Error| match error.kind() {
        io::ErrorKind::IsADirectory => WatchError::file(path, "is a folder; name a file"),
        io::ErrorKind::NotFound => WatchError::file(path, "its folder is not there"),
        _ => WatchError::file(path, error),
    };
    File::create(path).map(BufWriter::new).map_err(words)
}
