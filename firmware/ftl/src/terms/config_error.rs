//! Why a configuration of the FTL is refused.

use crate::terms::config::NVRAM_BYTES;
use crate::terms::row_layout::ROW_BYTES;
use aster_units::GeometryError;
use core::fmt;

/// Why a configuration is refused. Every variant names the key.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ConfigError {
    /// The geometry itself is wrong.
    Geometry(GeometryError),
    /// A number is out of its range.
    Range {
        /// The offending key.
        key: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// The LUNs have too few blocks for the capacity.
    Capacity {
        /// Blocks that a LUN needs: for its share of the logical pages, for metadata, and for garbage
        /// collection to work in.
        needed: u64,
        /// Blocks a LUN has.
        available: u32,
        /// The number of blocks that a LUN must have. It may differ from `needed`, since the capacity grows
        /// with the number of blocks. `None` if no number is enough. Blocks that are bad from the factory
        /// don't count.
        enough: Option<u32>,
    },
    /// The cache of a map on flash is so small that collecting garbage costs more than it gains.
    MapCache {
        /// The part of a LUN's closed blocks that is valid once the drive is full.
        full: f64,
        /// The valid part at which collecting gains nothing with this cache.
        full_max: f64,
        /// The fewest bytes of a cache with which collecting gains something; `None` if no number is enough.
        least: Option<u64>,
    },
    /// The cache of a map on flash has no room for what must be in memory.
    MapCacheBytes {
        /// Its bytes.
        bytes: u64,
        /// The fewest bytes that are enough; `None` if no number is.
        least: Option<u64>,
    },
    /// The DRAM has fewer buffers than the FTL needs, or buffers of another shape.
    Dram {
        /// What is missing.
        what: &'static str,
    },
    /// The flash port has room for fewer requests than the FTL needs.
    Flash {
        /// Requests that it has room for.
        available: usize,
        /// The fewest requests in flight with which tasks can't deadlock.
        needed: u32,
    },
    /// The NVRAM is too small for the root record.
    Nvram {
        /// Bytes it has.
        available: usize,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Geometry(error) => write!(f, "geometry: {error}"),
            ConfigError::Range { key, must } => write!(f, "{key} must be {must}"),
            ConfigError::Capacity { needed, available, enough } => {
                write!(
                    f,
                    "capacity: each LUN needs {needed} blocks (its logical pages, metadata and garbage \
                     collection) but has {available}; raise the over-provisioning"
                )?;
                // The capacity depends on the number of blocks: adding the missing ones may not be enough.
                match enough {
                    Some(enough) => {
                        write!(f, ", or have {enough} blocks per LUN")
                    }
                    None => Ok(()),
                }
            }
            ConfigError::MapCache { full, full_max, least } => {
                match least {
                    Some(least) => write!(f, "must be at least {least}, or over-provisioning greater")?,
                    None => write!(f, "must go with more over-provisioning")?,
                }
                write!(
                    f,
                    ": once the drive is full, {:.1} % of what garbage collection empties count, and with \
                     this cache it gains room below {:.1} % only",
                    100.0 * full,
                    100.0 * full_max
                )
            }
            ConfigError::MapCacheBytes { bytes, least } => {
                match least {
                    Some(least) => write!(f, "must be at least {least}")?,
                    None => write!(f, "must be greater, and over-provisioning as well")?,
                }
                write!(
                    f,
                    ", but is {bytes}: it has to hold two pages of the map, {ROW_BYTES} bytes for each page \
                     of a block of each LUN, and as much for what is in work"
                )
            }
            ConfigError::Dram { what } => write!(f, "dram: {what}"),
            ConfigError::Flash { available, needed } => {
                write!(f, "flash: the port has room for {available} requests, but {needed} are needed")
            }
            ConfigError::Nvram { available } => {
                write!(f, "nvram: {available} bytes are too few, the root record takes {NVRAM_BYTES}")
            }
        }
    }
}
impl core::error::Error for ConfigError {}
