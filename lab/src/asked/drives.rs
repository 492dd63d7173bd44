//! What drive a profile makes: the list of those that come along, and what `aster check` finds.

use super::failure::Failure;
use super::profiles::Named;
use crate::measure::drive_of;
use crate::spare::Spare;
use crate::words::{capacity, counted};
use aster_device::profile::{Profile, RaidName, SHIPPED};
use aster_device::{Carried, FreshErrors, Media, Pieces, Transport, carried, least_command};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::{Machine, RunError};
use aster_units::{Content, Duration, Instant, SECTOR_BYTES};
use serde::Serialize;
use std::path::Path;

/// A description of a drive's array.
fn shape(profile: &Profile) -> String {
    let used = profile.used_geometry();
    let controllers = match (profile.array_controllers(), profile.channel.lanes) {
        (Some(controllers), Some(lanes)) => {
            format!("{} of {}: ", counted(controllers, "controller"), counted(lanes, "lane"))
        }
        _ => String::new(),
    };
    format!(
        "{controllers}{} × {} × {}, {} of {} pages of {}",
        counted(used.channels, "channel"),
        counted(used.ways, "way"),
        counted(used.luns, "LUN"),
        counted(used.blocks_per_lun, "block"),
        used.pages_per_block,
        capacity(used.page_bytes.into()),
    )
}

/// Data bytes of all pages that the firmware uses.
fn raw_bytes(profile: &Profile) -> u64 {
    let used = profile.used_geometry();
    used.total_pages() * u64::from(used.page_bytes)
}

/// A shipped profile in the list.
#[derive(Serialize)]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// Its own description.
    pub description: String,
    /// Its array in words.
    pub shape: String,
    /// Data bytes of all pages that the firmware uses.
    pub flash_bytes: u64,
}

/// What `aster check` found.
#[derive(Serialize)]
pub struct Checked {
    /// What the user named.
    pub name: String,
    /// Its array in words.
    pub shape: String,
    /// Data bytes of all pages that the firmware uses.
    pub flash_bytes: u64,
    /// Bytes that the host sees.
    pub exported_bytes: u64,
    /// Flash over what is exported, minus one.
    pub spare_percent: f64,
    /// The FTL on the host; `null` without one.
    pub target: Option<Target>,
    /// What the blocks of a LUN are for; `null` for another translation than our page-mapping FTL.
    pub blocks: Option<Spare>,
    /// Payload that the link carries in one direction at most; `null` without a limit.
    pub link_bytes_per_s: Option<u64>,
    /// How firmware exchanges packets with the host; `null` where hardware is the transaction layer.
    pub transport: Option<Packets>,
    /// What the bus of each channel carries at most.
    pub channel_bytes_per_s: u64,
    /// Wrong bits of a chunk and its parity on average, in the worst pages of a new block.
    pub errors_a_chunk: f64,
    /// The probability that such a chunk can't be corrected.
    pub chunk_loss: f64,
    /// Simulated seconds from power-on.
    pub ready_after_s: f64,
    /// The same, exactly.
    #[serde(skip)]
    pub ready: Duration,
    /// Blocks that were bad from the beginning.
    pub factory_bad_blocks: u64,
    /// The least time of any command, without firmware and flash, in nanoseconds.
    pub least_command_ns: f64,
    /// Every key, including those with their default.
    pub profile: Profile,
}

/// The FTL on the host, or the block layer in its place.
#[derive(Serialize)]
pub struct Target {
    /// The profile's `target.kind`.
    pub kind: String,
    /// What a command costs the host's software.
    pub command_ns: u32,
    /// The page cache of the host; `null` for none.
    pub page_cache_mib: Option<u32>,
    /// Settings of the Host-FTL paper's FTL; `null` for another one.
    pub hostftl: Option<HostFtl>,
}

/// Settings of the Host-FTL paper's FTL.
#[derive(Serialize)]
pub struct HostFtl {
    /// Where parity goes.
    pub raid: RaidName,
    /// Bytes of the flash that hold sums.
    pub parity_bytes: u64,
    /// What parity takes of the spare, in percent of what is exported.
    pub parity_percent: f64,
    /// Writes that become composite pages, in bytes at least; `null` for none. With parity all go as rows.
    pub composite_bytes: Option<u32>,
    /// Erases by which the groups of a die may differ; `null` without wear levelling (T of H27).
    pub wear_window: Option<u32>,
    /// Percent above the mean at which hot data leave a die; `null` if they stay (D of H30).
    pub region_percent: Option<f64>,
    /// Commands that have ended at which the drive sends a status frame.
    pub status_entries: u8,
    /// Microseconds after which it sends one in any case; `null` if each is sent at once.
    pub status_us: Option<u16>,
}

impl Target {
    fn of(profile: &Profile, exported_bytes: u64) -> Option<Target> {
        let target = profile.target.as_ref()?;
        let raid = target.raid.unwrap_or_default();
        let parity_bytes = match raid {
            RaidName::Off => 0,
            RaidName::Fixed | RaidName::Rotating => raw_bytes(profile) / u64::from(profile.lanes()),
        };
        let hostftl = (target.kind == "hostftl").then(|| HostFtl {
            raid,
            parity_bytes,
            parity_percent: parity_bytes as f64 / exported_bytes.max(1) as f64 * 100.0,
            composite_bytes: target.composite_bytes.filter(|&bytes| bytes > 0),
            wear_window: target.wear_window,
            region_percent: target.region_percent,
            status_entries: target.status_entries.unwrap_or(1),
            status_us: target.status_us,
        });
        Some(Target {
            kind: target.kind.clone(),
            command_ns: target.command_ns.unwrap_or(0),
            page_cache_mib: target.page_cache_mib,
            hostftl,
        })
    }
}

/// The transport of a drive whose firmware is PCIe's transaction layer (S3), set up by a host.
#[derive(Serialize)]
pub struct Packets {
    /// MPS.
    pub max_payload_bytes: u32,
    /// MRRS.
    pub max_read_request_bytes: u32,
    /// RCB.
    pub read_completion_boundary_bytes: u32,
    /// Reads that may be outstanding.
    pub tags: u16,
    /// What the root complex grants at first; a credit of data stands for 16 bytes.
    pub posted_header_credits: u16,
    /// Credits of posted data.
    pub posted_data_credits: u16,
    /// Credits of non-posted headers.
    pub non_posted_header_credits: u16,
    /// The board moves the data of completions.
    pub completion_offload: bool,
    /// Time after which a read has failed.
    pub completion_timeout_ms: f64,
    /// What the function grants the host's accesses to registers; `null` where they are calls.
    pub register_packets: Option<RegisterCredits>,
}

/// Credits of the host's accesses to registers, as packets.
#[derive(Serialize)]
pub struct RegisterCredits {
    /// Of writes; a credit of data stands for 16 bytes.
    pub posted_header_credits: u16,
    /// Credits of posted data.
    pub posted_data_credits: u16,
    /// Of reads.
    pub non_posted_header_credits: u16,
}

impl Packets {
    fn of(transport: &Transport, profile: &Profile) -> Self {
        let Transport { settings, completion_boundary, posted, non_posted, completion_timeout, registers } =
            transport;
        Packets {
            max_payload_bytes: settings.max_payload,
            max_read_request_bytes: settings.max_read_request,
            read_completion_boundary_bytes: *completion_boundary,
            tags: settings.tags(),
            posted_header_credits: posted.headers,
            posted_data_credits: posted.data,
            non_posted_header_credits: non_posted.headers,
            completion_offload: profile.host.completion_offload(),
            completion_timeout_ms: completion_timeout.as_micros_f64() / 1e3,
            register_packets: registers.map(|(writes, reads)| RegisterCredits {
                posted_header_credits: writes.headers,
                posted_data_credits: writes.data,
                non_posted_header_credits: reads.headers,
            }),
        }
    }
}

/// The content of which a page takes the least memory; it doesn't affect what `aster check` prints.
fn smallest_content(profile: &Profile) -> Content {
    // Fingerprints stand for a sector each, and an FTL on the host may need every byte.
    let whole_sectors = profile.ftl.mapping_unit_bytes.is_multiple_of(SECTOR_BYTES as u32);
    match whole_sectors && profile.target.is_none() {
        true => Content::Fingerprint,
        false => profile.content.into(),
    }
}

/// The shipped profiles, in their order.
///
/// # Errors
/// When one of them is wrong, which a test rules out.
pub fn listed() -> Result<Vec<Listed>, Failure> {
    let all = SHIPPED.iter().map(|(name, text)| {
        let profile = Profile::parse(&format!("profiles/{name}.toml"), text).map_err(Failure::usage)?;
        Ok(Listed {
            name,
            flash_bytes: raw_bytes(&profile),
            shape: shape(&profile),
            description: profile.description,
        })
    });
    all.collect()
}

/// Builds the drive of a profile that the user named `wanted` and boots it, to find errors that show only
/// when the parts work together. `goes_on` is asked now and then; `false` ends it early.
///
/// # Errors
/// When the parts don't fit together, the drive doesn't come up, or it was ended early.
pub fn check(
    wanted: &Path,
    Named { name, profile }: Named,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<(Checked, FreshErrors), Failure> {
    let content = Some(smallest_content(&profile));
    let machine = boot_new(wanted, &name, &profile, content, goes_on)?;
    let fresh = FreshErrors::of(&profile)?;
    let (flash_bytes, exported_bytes) = (raw_bytes(&profile), drive_of(&machine).bytes);
    let ready = machine.now().since(Instant::ZERO);
    let Carried { link, channel } = carried(&profile).map_err(|error| Failure::file(wanted, error))?;
    let found = Checked {
        name: wanted.display().to_string(),
        shape: shape(&profile),
        flash_bytes,
        exported_bytes,
        spare_percent: (flash_bytes as f64 / exported_bytes.max(1) as f64 - 1.0) * 100.0,
        target: Target::of(&profile, exported_bytes),
        blocks: Spare::of(&Pieces::default(), &profile, smallest_content(&profile)),
        link_bytes_per_s: link,
        transport: machine.device().transport().map(|transport| Packets::of(&transport, &profile)),
        channel_bytes_per_s: channel,
        errors_a_chunk: fresh.expected,
        chunk_loss: fresh.lost,
        ready_after_s: ready.as_secs_f64(),
        ready,
        factory_bad_blocks: machine.device().stats().ftl.factory_bad_blocks,
        least_command_ns: least_command(&profile).as_picos() as f64 / 1e3,
        profile,
    };
    Ok((found, fresh))
}

/// A new drive of a profile that the user named `wanted`, which has come up.
///
/// # Errors
/// When it doesn't come up, which is the profile's fault, or the user stops it.
pub fn boot_new(
    wanted: &Path,
    name: &str,
    profile: &Profile,
    content: Option<Content>,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Machine, Failure> {
    let any = Config::default();
    let config =
        Config { queue_pairs: 1, depth: any.depth.min(profile.host.queue_entries - 1), vectors: 2, ..any };
    let machine = Machine::power_on(name, profile, content, Media::fresh(), &Recorder::default(), config)?;
    machine.boot_while(goes_on).map_err(|error| match error {
        RunError::Interrupted(_) => error.into(),
        error => Failure::file(wanted, error),
    })?;
    Ok(machine)
}
