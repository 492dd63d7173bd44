//! Checks a profile without building the drive, and finds the key to blame.

use crate::configure::{self, BuildError};
use crate::core_role::CoreRole;
use crate::media::Media;
use crate::nvram::{front_end_part, target_front_end_part};
use crate::pieces::{Behind, Pieces};
use crate::profile::{MESSAGE_UNIT, Profile, geometry_key};
use crate::target;
use aster_ftl::ConfigError as FtlError;
use aster_hostif::{ConfigError as HostError, PersistentState};
use aster_nand::{NandArray, NandError};
use aster_parties::NvramSlice;
use aster_ports::medium::SharedNvram;
use aster_ports::resource::Bandwidth;
use aster_units::{BlockAddr, Content, LunIndex};
use aster_wire::nvme::identify::{Cns, IdentifyNamespace};
use aster_wire::ocssd::VENDOR_SPECIFIC_VERSION;

/// Checks everything about a profile that needs no medium. `content` overrides the profile's.
///
/// # Errors
/// As [`Device::power_on`](crate::Device::power_on), where they concern the profile.
pub fn check(profile: &Profile, content: Option<Content>) -> Result<(), BuildError> {
    check_with(&Pieces::default(), profile, content)
}

/// As [`check`], for a drive with a reader's own `pieces`.
///
/// # Errors
/// As [`check`].
pub fn check_with(pieces: &Pieces, profile: &Profile, content: Option<Content>) -> Result<(), BuildError> {
    let content = content.unwrap_or(profile.content.into());
    configure::nand(profile, content)?.validate()?;
    let translation = pieces.make_translation(profile, content).map_err(|error| match error {
        BuildError::Ftl(FtlError::Capacity { needed, available, .. }) => {
            // The refusal counts blocks of a plane where planes are allocated one by one.
            let apart = configure::ftl(profile, &configure::media_facts(profile, content)).planes_apart;
            let (needed, available) = (needed * u64::from(apart), available * u32::from(apart));
            FtlError::Capacity { needed, available, enough: blocks_that_do(profile, content) }.into()
        }
        error => error,
    })?;
    pieces.make_scheduler(profile)?;
    pieces.make_front_end(profile, content, "check", None, Behind::of_translation(profile, &*translation))?;
    if target::is_made(pieces, profile)? {
        let made = target::make(pieces, profile, content)?;
        target::make_front_end(pieces, profile, content, "check", None, &*made)?;
    }
    pieces.check_own_keys(profile)?;
    for role in CoreRole::of(profile) {
        configure::frequency(profile, role)?;
    }
    configure::flash(profile)?;
    configure::engine(profile, &Bandwidth::new(profile.board.dram_mb_per_s * 1_000_000), None)?;
    Ok(())
}

/// How many times its blocks a package may grow in the search for enough blocks.
const PACKAGE_GROWTH_MAX: u32 = 16;
/// For a small package the search goes up to this many blocks.
const PACKAGE_BLOCKS_TRIED: u32 = 256;

/// The smallest number of blocks per LUN, above the profile's, with which the drive comes up; `None` if
/// there is none. A larger number may still fail: more blocks also mean more capacity, and a further block
/// may be bad.
fn blocks_that_do(profile: &Profile, content: Content) -> Option<u32> {
    let with = |blocks: u32| {
        let mut profile = profile.clone();
        match &mut profile.restrict.blocks_per_lun {
            Some(restricted) => *restricted = blocks,
            None => profile.geometry.blocks_per_lun = blocks,
        }
        profile
    };
    let first = profile.restrict.blocks_per_lun.unwrap_or(profile.geometry.blocks_per_lun).saturating_add(1);
    let last = match profile.restrict.blocks_per_lun {
        Some(_) => profile.blocks_of_planes(profile.used_geometry().planes),
        None => profile.geometry.blocks_per_lun.saturating_mul(PACKAGE_GROWTH_MAX).max(PACKAGE_BLOCKS_TRIED),
    };
    (first..=last).find(|&blocks| has_good_blocks(&with(blocks), content))
}

/// Whether the profile is valid and each pool has enough blocks that are not factory bad.
pub(crate) fn has_good_blocks(profile: &Profile, content: Content) -> bool {
    let used = profile.used_geometry();
    let Ok(nand) = configure::nand(profile, content) else { return false };
    let ftl = configure::ftl(profile, &configure::media_facts(profile, content));
    // The cheapest checks first: thousands of numbers may be tried.
    let is_drive = used.validate().is_ok()
        && ftl.areas().has_blocks()
        && nand.validate().is_ok()
        && ftl.validate().is_ok();
    let restriction = ftl.restriction();
    // Of a LUN, or of a plane that is allocated by itself.
    let good = |unit| {
        let bad: Vec<_> = NandArray::factory_bad_blocks(&nand, ftl.planes().lun_and_plane(unit).0).collect();
        let blocks =
            (0..ftl.geometry.blocks_per_lun).map(|block| ftl.planes().block_in_lun(unit, BlockAddr(block)));
        blocks.filter(|&block| bad.binary_search(&restriction.block(block)).is_err()).count() as u64
    };
    let (of_pool, needed) = (ftl.luns_per_pool(), ftl.areas().blocks_needed_per_pool());
    let has_enough = |pool: u32| {
        let units = pool * of_pool..(pool + 1) * of_pool;
        units.map(|unit| good(LunIndex(unit))).sum::<u64>() >= needed
    };
    is_drive && (0..ftl.geometry.total_luns() / of_pool).all(has_enough)
}

/// Bytes of the namespace and of a logical block of this profile's drive on `media`. Without media the
/// drive is new.
///
/// # Errors
/// As [`check`].
pub fn namespace(
    profile: &Profile,
    content: Option<Content>,
    media: Option<&Media>,
) -> Result<(u64, u32), BuildError> {
    namespace_with(&Pieces::default(), profile, content, media)
}

/// As [`namespace`], for a drive with a reader's own `pieces`.
///
/// # Errors
/// As [`check`].
pub fn namespace_with(
    pieces: &Pieces,
    profile: &Profile,
    content: Option<Content>,
    media: Option<&Media>,
) -> Result<(u64, u32), BuildError> {
    check_with(pieces, profile, content)?;
    let content = content.unwrap_or(profile.content.into());
    let (bytes, profile, part): (_, _, fn(&SharedNvram) -> NvramSlice) = match profile.target {
        Some(_) => {
            let bytes = target::make(pieces, profile, content)?.capacity_bytes();
            (bytes, &configure::before_target(profile), target_front_end_part)
        }
        None => (pieces.make_translation(profile, content)?.capacity_bytes(), profile, front_end_part),
    };
    // A front end of the reader's own may keep anything in its part of the NVRAM.
    let media = media.filter(|_| pieces.front_ends.is_ours(&profile.host.front_end));
    let kept = media.and_then(|media| PersistentState::load(&part(&media.nvram)).block_size);
    let mut config = configure::host(profile, "check", content, bytes);
    if pieces.front_ends.is_ours(&profile.host.front_end) {
        config.suit(&*pieces.make_command_set(profile)?);
    }
    Ok((bytes, aster_hostif::block_size(&config, kept).bytes()))
}

/// Whether the host of this profile's drive sees logical blocks. Without a target an open-channel drive has
/// none, since its host addresses sectors of flash, and neither has one that takes command frames.
///
/// # Errors
/// When the drive's command set doesn't suit it.
pub fn has_blocks(pieces: &Pieces, profile: &Profile) -> Result<bool, BuildError> {
    if profile.target.is_none() && profile.host.front_end == MESSAGE_UNIT {
        return Ok(false);
    }
    if profile.target.is_some() || !pieces.front_ends.is_ours(&profile.host.front_end) {
        return Ok(true);
    }
    let mut page = [0; size_of::<IdentifyNamespace>()];
    pieces.make_command_set(profile)?.identify(Cns::Namespace, &mut page);
    let described = IdentifyNamespace::view(&page).expect("it is as long as the structure");
    Ok(described.vendor[VENDOR_SPECIFIC_VERSION] != 1)
}

impl BuildError {
    /// The key or table of the profile that is to blame, and what is wrong with it.
    pub fn blame(&self) -> (String, String) {
        let (key, reason) = match self {
            BuildError::Profile(error) => {
                return (error.key.clone().unwrap_or_default(), error.reason.clone());
            }
            BuildError::Piece(error) => return (error.key.to_owned(), error.reason.clone()),
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
            BuildError::Ftl(error @ (FtlError::MapCache { .. } | FtlError::MapCacheBytes { .. })) => {
                ("ftl.map_cache_bytes", error.to_string())
            }
            BuildError::Ftl(error) => ("ftl", error.to_string()),
        };
        (key.to_owned(), reason)
    }
}

fn ftl_key(field: &str) -> &'static str {
    match field {
        "buffer_entries" => "ftl.buffer_entries",
        "mapping_unit_bytes" => "ftl.mapping_unit_bytes",
        "slice_workers" => "ftl.slice_workers",
        "gc_depth" => "ftl.gc_depth",
        "gc_free_blocks" => "ftl.gc_free_blocks",
        "over_provisioning_percent" => "ftl.over_provisioning_percent",
        "placement" => "ftl.placement",
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
