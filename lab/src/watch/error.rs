//! Why a listener can't write, and the files that they write to.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Why a listener's output can't be written.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The file can't be created, or its name doesn't tell its format.
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
        /// The system's error.
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

/// The name that elsewhere means standard output.
const STANDARD_OUTPUT: &str = "-";

/// Creates a file to write, and truncates an existing one.
pub(super) fn create(path: &Path) -> Result<BufWriter<File>, WatchError> {
    if path.as_os_str() == STANDARD_OUTPUT {
        return Err(WatchError::file(
            path,
            "standard output carries the report, and can't carry this beside it: name a file, or a pipe that \
             another program reads (mkfifo makes one); a file of this very name is ./-",
        ));
    }
    let words = |error: io::Error| match error.kind() {
        io::ErrorKind::IsADirectory => WatchError::file(path, "is a folder; name a file"),
        io::ErrorKind::NotFound => WatchError::file(path, "its folder is not there"),
        _ => WatchError::file(path, error),
    };
    File::create(path).map(BufWriter::new).map_err(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_output_is_refused_and_a_file_of_its_name_is_not() {
        let refused = create(Path::new("-")).unwrap_err().to_string();
        assert!(refused.starts_with("-: standard output carries the report"), "{refused}");
        let folder = tempfile::tempdir().unwrap();
        assert!(create(&folder.path().join("-")).is_ok());
    }
}
