//! Why a profile doesn't describe a working drive.

use crate::profile::ProfileError;
use aster_nand::NandError;
use aster_parties::PieceError;

/// Why a profile doesn't describe a working drive.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The profile is wrong.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A value that doesn't fit other parts of the drive.
    #[error("{key}: {reason}")]
    Value {
        /// The profile's key.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The NAND image or array.
    #[error(transparent)]
    Nand(#[from] NandError),
    /// The front end's configuration.
    #[error("host: {0}")]
    Host(#[from] aster_hostif::ConfigError),
    /// The FTL's configuration.
    #[error("ftl: {0}")]
    Ftl(#[from] aster_ftl::ConfigError),
    /// A party that could not be started.
    #[error(transparent)]
    Piece(#[from] PieceError),
}

pub(crate) fn value(key: &'static str, reason: impl ToString) -> BuildError {
    BuildError::Value { key, reason: reason.to_string() }
}
