//! How things fail.

use aster_driver::{DriverError, Status};
use aster_wire::ocssd::{Place, status, v2};

/// Why a drive can't be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpenError {
    /// The command failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// It isn't a drive that this library knows.
    #[error("the drive is no open-channel drive that can be used: {0}")]
    Unknown(&'static str),
}

/// Why a vector was not carried out, or not in whole.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VectorError {
    /// The command did not end.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// It failed.
    #[error("{status} at {first}")]
    Failed {
        /// The command's status.
        status: Status,
        /// A bit for each address that failed, the first lowest. Of a vector that was refused, those in bad
        /// blocks.
        failed: u64,
        /// The first place that failed, or the vector's first.
        first: Place,
    },
}

impl VectorError {
    fn is_one_of(&self, statuses: &[Status]) -> bool {
        matches!(self, VectorError::Failed { status, .. } if statuses.iter().any(|of| status.is(*of)))
    }
    /// Whether all was read, but should be moved.
    pub fn is_high_ecc(&self) -> bool {
        self.is_one_of(&[status::HIGH_ECC, v2::status::HIGH_ECC])
    }
    /// Whether nothing was done since a block is bad, or was not to be written so.
    pub fn is_block_refused(&self) -> bool {
        let is_refused = matches!(self, VectorError::Failed { failed: 0, .. });
        self.is_one_of(&[status::PROTECTED_BLOCK, status::OUT_OF_ORDER])
            || is_refused && self.is_one_of(&[v2::status::OFFLINE])
    }
    /// Whether a sector's block was erased and the sector not written since.
    pub fn is_empty_page(&self) -> bool {
        self.is_one_of(&[status::EMPTY_PAGE, v2::status::UNWRITTEN])
    }
    /// Whether a chunk was not reset since it is free already (2.0).
    pub fn is_free_already(&self) -> bool {
        self.is_one_of(&[v2::status::INVALID_RESET])
    }
}

/// What a status of either version means. `None` for those that are NVMe's alone.
pub fn meaning(of: Status) -> Option<&'static str> {
    status::meaning(of).or_else(|| v2::status::meaning(of))
}
