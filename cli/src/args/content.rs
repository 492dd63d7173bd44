//! What pages keep.

use aster_units::Content;
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ContentArg {
    /// Every byte
    Full,
    /// One 64-bit tag per 4 KiB sector: a terabyte fits, integrity is still checked
    Fingerprint,
}

impl From<ContentArg> for Content {
    fn from(kind: ContentArg) -> Content {
        match kind {
            ContentArg::Full => Content::Full,
            ContentArg::Fingerprint => Content::Fingerprint,
        }
    }
}
