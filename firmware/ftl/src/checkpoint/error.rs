use aster_ports::flash::FlashError;
use aster_units::{BlockAddr, LunIndex};
use core::fmt;

/// Why a drive can't serve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BootError {
    /// The stored state belongs to a drive of another shape.
    OtherDrive,
    /// A page of the stored map can't be read.
    MapUnreadable {
        /// Which.
        page: u32,
    },
    /// The stored map contradicts itself.
    MapInvalid {
        /// How.
        why: &'static str,
    },
    /// A pool has too many bad blocks.
    TooFewBlocks {
        /// Its first LUN, and how many it has.
        luns: (LunIndex, u32),
        /// Its good blocks.
        good: u32,
        /// The blocks that the capacity needs.
        needed: u64,
    },
    /// A drive that was to hold data from the beginning can't.
    NotFilled {
        /// Why.
        why: &'static str,
    },
    /// The scan for bad blocks could not read a block.
    Scan {
        /// The LUN.
        lun: LunIndex,
        /// The block.
        block: BlockAddr,
        /// Why, if the channel controller said so.
        error: Option<FlashError>,
    },
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BootError::OtherDrive => f.write_str(
                "the image belongs to a drive of another geometry, capacity, placement or content",
            ),
            BootError::MapUnreadable { page } => write!(f, "page {page} of the stored map can't be read"),
            BootError::MapInvalid { why } => {
                write!(
                    f,
                    "the stored map contradicts itself ({why}): the image is damaged; use a copy \
                     of it, or a new image"
                )
            }
            BootError::TooFewBlocks { luns: (first, luns), good, needed } => {
                match luns {
                    1 => write!(f, "LUN {first} has")?,
                    luns => write!(f, "its {luns} LUNs together have")?,
                }
                write!(
                    f,
                    " {good} good blocks, but the capacity needs {needed} (its logical pages, metadata and \
                     garbage collection). A new drive of this profile needs more over-provisioning; one that \
                     has worked before has lost blocks that failed or can't be read"
                )
            }
            BootError::NotFilled { why } => write!(f, "the drive could not be filled: {why}"),
            BootError::Scan { lun, block, error } => {
                write!(f, "LUN {lun}, block {block}: no bad-block mark can be read")?;
                error.as_ref().map_or(Ok(()), |error| write!(f, ": {error}"))
            }
        }
    }
}
impl core::error::Error for BootError {}
