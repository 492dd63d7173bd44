//! Whether the rooms accept a profile, without building them, and which key is to blame when one doesn't.

use crate::build::{self, BuildError};
use crate::life::Life;
use crate::media::Media;
use crate::profile::{Profile, geometry_key};
use aster_ftl::ConfigError as FtlError;
use aster_hostif::{BlockSize, ConfigError as HostError};
use aster_nand::NandError;
use aster_ports::resource::Bandwidth;
use aster_units::Content;

/// Checks everything about a profile that needs no medium. `content` overrides the profile's.
///
/// # Errors
/// What [`Device::power_on`](crate::Device::power_on) would say about the profile.
pub fn check(profile: &Profile, content: Option<Content>) -> Result<(), BuildError> {
    let content = content.unwrap_or(profile.content.into());
    build::nand(profile, content)?.validate()?;
    let ftl = build::ftl(profile, content, 1);
    ftl.validate()?;
    let bytes = ftl.logical_pages() * u64::from(ftl.geometry.page_bytes);
    build::host(profile, "check", content, bytes, BlockSize::Bytes4096).check()?;
    build::frequency(profile)?;
    build::flash(profile)?;
    build::engine(profile, &Bandwidth::new(profile.board.dram_mb_per_s * 1_000_000), None)?;
    Ok(())
}

/// Bytes of the namespace and of its logical blocks that a drive of this profile will have on `media`. Without media it is
/// a new one.
///
/// # Errors
/// As [`check`].
pub fn namespace(
    profile: &Profile,
    content: Option<Content>,
    media: Option<&Media>,
) -> Result<(u64, u32), BuildError> {
    check(profile, content)?;
    let content = content.unwrap_or(profile.content.into());
    let ftl = build::ftl(profile, content, 1);
    let kept = media.and_then(|media| Life::load(&media.nvram).block_size);
    let block_size = build::block_size(profile, content, kept);
    Ok((ftl.logical_pages() * u64::from(ftl.geometry.page_bytes), 1 << block_size.log2()))
}

impl BuildError {
    /// The key, or the table, of the profile that is to blame, and what is wrong with it.
    pub fn blame(&self) -> (String, String) {
        let (key, reason) = match self {
            BuildError::Profile(error) => {
                return (error.key.clone().unwrap_or_default(), error.reason.clone());
            }
            BuildError::Value { key, reason } => return ((*key).to_owned(), reason.clone()),
            BuildError::Nand(NandError::Geometry(error)) => (geometry_key(error.field), error.to_string()),
            BuildError::Nand(NandError::Layout { .. }) => ("ecc", self.to_string()),
            BuildError::Nand(NandError::Field { .. }) => ("package", self.to_string()),
            BuildError::Nand(_) => ("geometry", self.to_string()),
            BuildError::Host(HostError::Range { name, .. }) => (host_key(name), self.to_string()),
            BuildError::Host(_) => ("host", self.to_string()),
            BuildError::Ftl(FtlError::Range { key, must }) => (ftl_key(key), format!("must be {must}")),
            BuildError::Ftl(FtlError::Geometry(error)) => (geometry_key(error.field), error.to_string()),
            BuildError::Ftl(error @ FtlError::Capacity { .. }) => {
                ("ftl.over_provisioning_percent", error.to_string())
            }
            BuildError::Ftl(error) => ("ftl", error.to_string()),
        };
        (key.to_owned(), reason)
    }
}

fn ftl_key(field: &str) -> &'static str {
    match field {
        "buffer_entries" => "ftl.buffer_entries",
        "slice_workers" => "ftl.slice_workers",
        "gc_depth" => "ftl.gc_depth",
        "gc_free_blocks" => "ftl.gc_free_blocks",
        "over_provisioning_percent" => "ftl.over_provisioning_percent",
        "geometry" => "geometry",
        _ => "ftl",
    }
}

fn host_key(field: &str) -> &'static str {
    match field {
        "queue_pairs" | "vectors" => "host.queue_pairs",
        "queue_entries" => "host.queue_entries",
        "slots" => "host.command_slots",
        "dma_requests" => "host.dma_requests",
        "transfer_pages_log2" => "host.transfer_bytes_max",
        "fetch_batch" => "host.fetch_batch",
        _ => "host",
    }
}
