//! A file tree as a tar stream.

use std::io;
use std::path::Path;

/// Folders that aren't part of a project's own tree.
const LEFT_OUT: [&str; 3] = [".git", "target", "node_modules"];
/// The most bytes of a tree's files: the stream is in memory more than once.
const TREE_BYTES_MAX: u64 = 512 << 20;

/// The tree below `root` as one tar stream, in the order of names, so that the same tree gives the same
/// bytes.
///
/// # Errors
/// When a file can't be read, or there are more than 512 MiB.
pub(crate) fn tar_of(root: &Path) -> io::Result<(Vec<u8>, usize)> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.mode(tar::HeaderMode::Deterministic);
    let mut added = Added::default();
    add(&mut archive, root, Path::new(""), &mut added)?;
    Ok((archive.into_inner()?, added.files))
}

/// The stream so far.
#[derive(Default)]
struct Added {
    files: usize,
    bytes: u64,
}

fn add(archive: &mut tar::Builder<Vec<u8>>, root: &Path, below: &Path, added: &mut Added) -> io::Result<()> {
    let mut entries: Vec<_> = root.join(below).read_dir()?.collect::<Result<_, _>>()?;
    entries.sort_by_key(|e| e.file_name());
    for entry in entries {
        let name = below.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !LEFT_OUT.iter().any(|l| entry.file_name() == *l) {
                add(archive, root, &name, added)?;
            }
        } else if kind.is_file() && entry.path().extension().is_none_or(|e| e != "aster") {
            added.bytes += entry.metadata()?.len();
            if added.bytes > TREE_BYTES_MAX {
                return Err(io::Error::other(format!(
                    "there are more than {} MiB in it; name a smaller one with --tree",
                    TREE_BYTES_MAX >> 20
                )));
            }
            archive.append_path_with_name(entry.path(), &name)?;
            added.files += 1;
        }
    }
    Ok(())
}

/// Files in a tar stream.
///
/// # Errors
/// When it isn't a tar stream.
pub(crate) fn files_of(stream: &[u8]) -> io::Result<usize> {
    let mut files = 0;
    for entry in tar::Archive::new(stream).entries()? {
        let entry = entry?;
        files += usize::from(entry.header().entry_type().is_file());
    }
    Ok(files)
}
