//! `aster image`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

pub(super) const IMAGE_EXAMPLES: &str = "\
Examples:
  aster image info drive.aster
  aster image info drive.aster --profile > same-drive.toml
  aster image check drive.aster
  aster image check made-long-ago.aster cosmos-plus
  aster image clone drive.aster before-the-experiment.aster --check
  aster image clone --check=cosmos-plus made-long-ago.aster copy.aster

Exit status: 0 when the image is sound, 1 when a part of it is damaged, 2 when it is no \
whole image, is in use or
another profile's, and for mistakes in the command line or profile, 130 when it was interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum ImageCommand {
    /// Say what an image was made with and what it takes on the disk
    Info {
        /// The image
        image: PathBuf,
        /// Print it as JSON on standard output, with every key of the profile that it keeps
        #[arg(long)]
        json: bool,
        /// Print the profile that it keeps, every key, and nothing else
        #[arg(long, conflicts_with = "json")]
        profile: bool,
    },
    /// Check an image: the checksums of its header, of all blocks and pages, and whether the drive comes up
    /// from it
    ///
    /// Nothing is written to it.
    Check(ImageCheckArgs),
    /// Copy an image that is not in use, and keep it sparse
    ///
    /// Without --check an image is copied as it is, and damage in the copy is told. Whether the drive comes
    /// up from it is not tried.
    Clone {
        /// The image
        image: PathBuf,
        /// The copy, which isn't there yet
        to: PathBuf,
        /// Keep the serial number, for a copy that takes the drive's place: two of one number can't be in one
        /// host
        #[arg(long)]
        keep_serial: bool,
        /// Check the image before, as the drive of this profile or of the one that it keeps; what is damaged
        /// is not copied
        #[arg(long, value_name = "PROFILE", num_args = 0..=1, require_equals = true)]
        check: Option<Option<PathBuf>>,
        /// Override a key of the profile; may be repeated
        #[arg(long, value_name = "KEY=VALUE", requires = "check")]
        set: Vec<String>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct ImageCheckArgs {
    /// The image
    pub(crate) image: PathBuf,
    /// The profile that it was made with: a shipped one's name or a TOML file [default: the one that it
    /// keeps]
    pub(crate) profile: Option<PathBuf>,
    /// Print what was found as JSON on standard output, of a damaged image as well
    #[arg(long)]
    pub(crate) json: bool,
    /// Override a key of the profile; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}
