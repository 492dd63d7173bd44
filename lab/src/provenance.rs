//! A report's provenance: everything that determines a run, so that it can be repeated, and the machine that
//! it ran on.

mod host;

pub use host::HostFacts;

use crate::preconditioning::Preconditioning;
use aster_device::profile::{ContentKind, Profile};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Everything that determines the figures of a run. Two runs with the same provenance have the same figures
/// on any machine. Each key must be there, even one that may be `null`, and no other: what a run was made by
/// isn't guessed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The Aster that ran it.
    pub aster: Build,
    /// The drive.
    pub profile: ProfileRecord,
    /// Pieces that are not Aster's own: such a run can be repeated only by the program that brought them.
    pub own_pieces: Vec<String>,
    /// What the channels are: `timed` or `rtl`.
    pub hardware: String,
    /// How pages keep their content: `full` or `fingerprint`.
    pub content: ContentKind,
    /// Seeds what the work leaves to chance.
    pub seed: u64,
    /// What was written before the work: `{"overwritten": PERCENT}` of the drive at random after a fill, or
    /// `{"steady": {"distribution": …}}`; `null` without preconditioning.
    #[serde(deserialize_with = "Option::deserialize")]
    pub precondition: Option<Preconditioning>,
    /// The age of the array in hours when the work began; `null` when it wasn't set.
    #[serde(deserialize_with = "Option::deserialize")]
    pub age_hours: Option<u32>,
    /// Failed requests were counted and did not end their task.
    pub keep_going: bool,
    /// What was run.
    pub work: WorkRecord,
    /// The file that the drive is kept in; `null` in memory.
    #[serde(deserialize_with = "Option::deserialize")]
    pub image: Option<ImageRecord>,
    /// The command line after the program's name; empty when a program ran it.
    pub arguments: Vec<String>,
    /// The machine that it ran on, which its simulated figures don't depend on.
    pub host: HostFacts,
}

/// A version of Aster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Its number.
    pub version: String,
    /// The commit that it was built from, with `-dirty` after it when the tree had changes; `null` when that
    /// isn't known.
    pub commit: Option<String>,
}

/// A profile as it was when the run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileRecord {
    /// The profile's name.
    pub name: String,
    /// Keys that were overridden, as KEY=VALUE: they are applied in `keys`.
    pub overrides: Vec<String>,
    /// Every key with its value, overridden, given or by default.
    pub keys: Profile,
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkRecord {
    /// A fio job file.
    Job {
        /// Its name.
        name: String,
        /// All of it.
        text: String,
        /// Everything that was read was checked, whatever the jobs say.
        verify: bool,
    },
    /// A trace. How it was replayed is in the arguments.
    Trace {
        /// What reports call it.
        name: String,
        /// The file; `null` for input that could be read only once, such as standard input: repeating the run
        /// then needs a file.
        path: Option<PathBuf>,
        /// Of the file's bytes, in hexadecimal digits.
        sha256: String,
    },
    /// Requests of a program of the user's, which alone can repeat them.
    Live {
        /// What the program called them.
        name: String,
    },
}

/// The image that a run's drive was kept in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRecord {
    /// The file.
    pub path: PathBuf,
    /// Its content when the run began: SHA-256 of its NVRAM and of its records of blocks and pages with their
    /// checksums; `null` when the run made it.
    pub state: Option<String>,
}

/// An absolute path.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// SHA-256 of the concatenated parts, in hexadecimal digits.
pub fn sha256<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    parts.into_iter().for_each(|part| hash.update(part));
    hex(hash)
}

pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
