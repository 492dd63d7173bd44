//! Why an image can't be used.

use super::change;
use super::format::{MAGIC, NVRAM_AT, name_of};
use aster_device::{BuildError, DamagedPage};
use aster_ports::medium::MediumError;
use std::io;
use std::path::PathBuf;

/// Why an image can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The operating system refused.
    #[error("{path}: {words}", path = path.display(), words = change::in_words(error))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// There is no such file.
    #[error("{path}: no such file; a drive's image is expected here", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file can't be made, since its folder doesn't exist.
    #[error("{path}: its folder is not there", path = path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// Another process has the file open.
    #[error("{path}: another process uses this drive: let it end, or name another \
             file", path = path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file isn't a drive image.
    #[error("{path}: not a drive image (the first 16 bytes differ): name another \
             file", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The image has a format that this version can't read.
    #[error(
        "{path}: this image has format {found}, and this Aster reads {ours}: use the Aster that made it, or \
         make a new drive in another file",
        path = path.display(),
        ours = name_of(MAGIC)
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The name of its format.
        found: String,
    },
    /// The target of a copy exists already.
    #[error("{path}: there is a file of that name, which is not overwritten: name another, or remove \
             it", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The copy was stopped.
    #[error("interrupted: nothing was left behind")]
    Interrupted,
    /// Pages of the image no longer have the content that was programmed.
    #[error("{path}: {text}: something else has written there; use a copy that is \
             whole", path = path.display(), text = damage(pages))]
    DamagedPages {
        /// The file.
        path: PathBuf,
        /// The damaged pages.
        pages: Vec<DamagedPage>,
    },
    /// The file is empty.
    #[error("{path}: an empty file, where a drive is expected: remove it, and a new drive is made, or name \
             another file", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The header's checksum is wrong.
    #[error(
        "{path}: damaged header (the checksum of its first {bytes} bytes is wrong): something else has \
         written there; use a copy that is whole, or name another file for a new drive",
        path = path.display(),
        bytes = NVRAM_AT
    )]
    Header {
        /// The file.
        path: PathBuf,
    },
    /// The image was made with another profile or with another kind of content.
    #[error(
        "{path}: made with another profile or content: {differences}; use what it was made with, or name \
         another file",
        path = path.display()
    )]
    OtherDrive {
        /// The file.
        path: PathBuf,
        /// Each key that differs, with both values.
        differences: String,
    },
    /// The file is shorter than the image.
    #[error(
        "{path}: truncated: {found} bytes, but its drive has {needed}: use a copy that is whole, or name \
         another file for a new drive",
        path = path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes there.
        found: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// A complete image, of a version that lays out the same drive in another way.
    #[error(
        "{path}: made by another version of Aster: a complete drive of {recorded} bytes, where this version \
         has {needed} for the same profile. Use the Aster that made it, or name another file for a new drive",
        path = path.display()
    )]
    Layout {
        /// The file.
        path: PathBuf,
        /// Bytes with which it was made.
        recorded: u64,
        /// Bytes with which this version would make it.
        needed: u64,
    },
    /// The profile that an image keeps is damaged, or written in a form that this version can't read.
    #[error("{path}: {what}: name the profile that it was made with", path = path.display())]
    Kept {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// Part of the image is damaged, or no drive boots from it.
    #[error("{path}: {reason}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// The NVRAM can't be read.
    #[error("{path}: {error}", path = path.display())]
    Medium {
        /// The file.
        path: PathBuf,
        /// Where and why.
        error: MediumError,
    },
    /// The profile doesn't describe a working drive.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Most damaged pages that a message names.
const NAMED_MAX: usize = 4;

fn damage(pages: &[DamagedPage]) -> String {
    let named: Vec<String> = pages.iter().take(NAMED_MAX).map(DamagedPage::to_string).collect();
    let more = if pages.len() > NAMED_MAX { ", and others" } else { "" };
    let are = if pages.len() == 1 { "page isn't" } else { "pages aren't" };
    format!("{} {are} what was programmed (checksum), {}{more}", pages.len(), named.join("; "))
}
