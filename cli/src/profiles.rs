//! Finding, listing and checking profiles.

use crate::args::{CheckArgs, ProfilesArgs};
use crate::board_words;
use crate::console;
use crate::failure::Failure;
use crate::files::{HAND_WRITTEN_MAX, read_text};
use crate::interrupt::Interrupt;
use crate::set;
use crate::units::capacity;
use aster_device::profile::{BLOCK, DataModeName, PACKAGES, Profile, RaidName, SHIPPED};
use aster_device::{Carried, FreshErrors, Media, Pieces, Transport, carried, least_command};
use aster_driver::Config;
use aster_events::Recorder;
use aster_image::{KeptProfile, is_image, kept_profile};
use aster_lab::measure::drive_of;
use aster_lab::spare::Spare;
use aster_lab::warning::Warning;
use aster_lab::words::counted;
use aster_run_virtual::{Machine, RunError};
use aster_units::{Content, Duration, Instant, SECTOR_BYTES};
use serde::Serialize;
use std::path::{MAIN_SEPARATOR, Path};

/// A profile and what to call it.
pub(crate) struct Named {
    /// The shipped profile's name, or the file's without its ending.
    pub(crate) name: String,
    pub(crate) profile: Profile,
}

/// The profile that the user named, with overrides applied.
///
/// # Errors
/// When there is none, or it is wrong.
pub(crate) fn find(wanted: &Path, overrides: &[String]) -> Result<Named, Failure> {
    find_with(wanted, None, overrides)
}

/// The profile that the user named, or else the one that the image at `image` keeps, with overrides applied.
///
/// # Errors
/// As [`find`], and when there is no image, or it keeps none.
pub(crate) fn find_or_kept(
    wanted: Option<&Path>,
    image: Option<&Path>,
    overrides: &[String],
) -> Result<Named, Failure> {
    let image = match (wanted, image) {
        (Some(wanted), _) => return find(wanted, overrides),
        (None, Some(image)) => image,
        (None, None) => return Err(Failure::usage("name a profile (see `aster profiles`)")),
    };
    if !image.exists() {
        return Err(Failure::file(image, "no such image; name a profile, and it is made as that drive"));
    }
    if image.is_dir() {
        return Err(Failure::file(image, "is a folder; name a file"));
    }
    let Some(KeptProfile { name, text }) = kept_profile(image)? else {
        let problem = "keeps no profile yet: name the one that it was made with, which `aster run` and \
                       `aster serve` let it keep from then on";
        return Err(Failure::file(image, problem));
    };
    let of_image = format!("{}'s profile", image.display());
    // The text is Aster's own. If this version refuses it, another one wrote it.
    if let Err(error) = Profile::parse(&of_image, &text) {
        return Err(Failure::usage(format!(
            "{error}. Another version of Aster kept this profile, or a program with pieces of its own: use \
             that one, or name a profile, which may have pieces of Aster's in their place"
        )));
    }
    let profile = set::parse_with(&of_image, &text, overrides)?;
    set::refuse_unread(&profile, overrides)?;
    Ok(Named { name, profile })
}

/// As [`find`], with the profile's package replaced by the shipped package `part`, if given.
///
/// # Errors
/// Also when there is no such package, or the profile's page format doesn't fit it.
pub(crate) fn find_with(wanted: &Path, part: Option<&str>, overrides: &[String]) -> Result<Named, Failure> {
    if let Some(part) = part
        && !PACKAGES.iter().any(|(name, _)| *name == part)
    {
        let known: Vec<_> = PACKAGES.iter().map(|(name, _)| *name).collect();
        return Err(Failure::usage(format!(
            "--package {part}: no such package; there are {}",
            known.join(", ")
        )));
    }
    let parse = |file: &str, text: &str| {
        let profile = match part {
            None => set::parse_with(file, text, overrides),
            Some(part) => set::parse_with(
                &format!("{file} with package {part}"),
                &set::with_package(file, text, part)?,
                overrides,
            ),
        }?;
        set::refuse_unread(&profile, overrides)?;
        Ok::<_, Failure>(profile)
    };
    if let Some((name, text)) = shipped(wanted) {
        let profile = parse(&format!("profiles/{name}.toml"), text)?;
        return Ok(Named { name: name.to_owned(), profile });
    }
    if !wanted.exists() && !looks_like_a_file(wanted) {
        return Err(unknown(wanted));
    }
    if !wanted.exists()
        && let Some((name, _)) = wanted.file_stem().and_then(|stem| shipped(Path::new(stem)))
    {
        return Err(Failure::file(
            wanted,
            format!("no such file; the shipped profile is named without an ending: {name}"),
        ));
    }
    if is_image(wanted) {
        let problem = "is a drive's image, but a profile is expected here: name the profile that it was made \
                       with, and this file with --image, if the command has that option";
        return Err(Failure::file(wanted, problem));
    }
    let text = read_text(wanted, HAND_WRITTEN_MAX, "a profile")?;
    let profile = parse(&wanted.display().to_string(), &text)?;
    let name = wanted.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Ok(Named { name, profile })
}

fn shipped(wanted: &Path) -> Option<(&'static str, &'static str)> {
    SHIPPED.iter().copied().find(|(name, _)| wanted.to_str() == Some(name))
}

/// True for a name that can't be meant as a shipped profile's.
fn looks_like_a_file(wanted: &Path) -> bool {
    wanted.extension().is_some() || wanted.to_string_lossy().contains(MAIN_SEPARATOR)
}

fn unknown(wanted: &Path) -> Failure {
    let wanted = wanted.to_string_lossy();
    let names: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
    let nearest = names
        .iter()
        .map(|name| (aster_units::edit_distance(&wanted, name), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len() / 2)
        .map_or(".".to_owned(), |(_, name)| format!("; did you mean \"{name}\"?"));
    Failure::usage(format!(
        "\"{wanted}\" is neither a file nor a shipped profile{nearest} Shipped are {}.",
        names.join(", ")
    ))
}

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

/// `aster profiles`.
///
/// # Errors
/// When there is no such profile.
pub(crate) fn list(args: &ProfilesArgs) -> Result<(), Failure> {
    if let Some(wanted) = &args.name {
        return match shipped(wanted) {
            Some((_, text)) => console::print(text),
            None => Err(unknown(wanted)),
        };
    }
    let all = SHIPPED.iter().map(|(name, text)| {
        let profile = Profile::parse(&format!("profiles/{name}.toml"), text).map_err(Failure::usage)?;
        Ok::<_, Failure>(Listed {
            name,
            flash_bytes: raw_bytes(&profile),
            shape: shape(&profile),
            description: profile.description,
        })
    });
    let all = all.collect::<Result<Vec<_>, Failure>>()?;
    if args.json {
        return console::json(&all);
    }
    let widest = all.iter().map(|listed| listed.name.len()).max().unwrap_or(0);
    for Listed { name, description, shape, flash_bytes } in all {
        console::line(&format!("{name:widest$}  {description}"))?;
        console::line(&format!("{:widest$}  {} of flash: {shape}", "", capacity(flash_bytes)))?;
    }
    Ok(())
}

/// A shipped profile in the list.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    description: String,
    shape: String,
    flash_bytes: u64,
}

/// What `aster check` found.
#[derive(Serialize)]
struct Checked {
    /// What the user named.
    name: String,
    shape: String,
    flash_bytes: u64,
    exported_bytes: u64,
    /// Flash over what is exported, minus one.
    spare_percent: f64,
    /// The FTL on the host; `null` without one.
    target: Option<Target>,
    /// What the blocks of a LUN are for; `null` for another translation than our page-mapping FTL.
    blocks: Option<Spare>,
    /// Payload that the link carries in one direction at most; `null` without a limit.
    link_bytes_per_s: Option<u64>,
    /// How firmware exchanges packets with the host; `null` where hardware is the transaction layer.
    transport: Option<Packets>,
    /// What the bus of each channel carries at most.
    channel_bytes_per_s: u64,
    /// Wrong bits of a chunk and its parity on average, in the worst pages of a new block.
    errors_a_chunk: f64,
    /// The probability that such a chunk can't be corrected.
    chunk_loss: f64,
    /// Simulated seconds from power-on.
    ready_after_s: f64,
    factory_bad_blocks: u64,
    /// The least time of any command, without firmware and flash, in nanoseconds.
    least_command_ns: f64,
    /// Every key, including those with their default.
    profile: Profile,
}

/// The FTL on the host, or the block layer in its place.
#[derive(Serialize)]
struct Target {
    kind: String,
    /// What a command costs the host's software.
    command_ns: u32,
    page_cache_mib: Option<u32>,
    /// Settings of the Host-FTL paper's FTL; `null` for another one.
    hostftl: Option<HostFtl>,
}

/// Settings of the Host-FTL paper's FTL.
#[derive(Serialize)]
struct HostFtl {
    raid: RaidName,
    /// Bytes of the flash that hold sums.
    parity_bytes: u64,
    /// What parity takes of the spare, in percent of what is exported.
    parity_percent: f64,
    /// Writes that become composite pages, in bytes at least; `null` for none. With parity all go as rows.
    composite_bytes: Option<u32>,
    /// Erases by which the groups of a die may differ; `null` without wear levelling (T of H27).
    wear_window: Option<u32>,
    /// Percent above the mean at which hot data leave a die; `null` if they stay (D of H30).
    region_percent: Option<f64>,
    /// Commands that have ended at which the drive sends a status frame.
    status_entries: u8,
    /// Microseconds after which it sends one in any case; `null` if each is sent at once.
    status_us: Option<u16>,
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
    fn in_words(&self) -> String {
        let cache = self.page_cache_mib.map_or(String::new(), |mib| format!(", page cache of {mib} MiB"));
        let what = if self.kind == BLOCK { "the host's block layer" } else { "an FTL on the host" };
        let settings = self.hostftl.as_ref().map_or(String::new(), HostFtl::in_words);
        format!("target    {}: {what}, {} ns a command{cache}\n  {settings}", self.kind, self.command_ns)
    }
}

impl HostFtl {
    fn in_words(&self) -> String {
        let parity = match self.raid {
            RaidName::Off => "no parity".to_owned(),
            RaidName::Fixed => format!("parity on a fixed lane: {}", capacity(self.parity_bytes)),
            RaidName::Rotating => format!("parity on rotating lanes: {}", capacity(self.parity_bytes)),
        };
        let composite = match (self.raid, self.composite_bytes) {
            (RaidName::Off, Some(bytes)) => {
                format!(", composite pages from {} on", capacity(bytes.into()))
            }
            (RaidName::Off, None) => ", no composite pages".to_owned(),
            (RaidName::Fixed | RaidName::Rotating, _) => String::new(),
        };
        let wear = match (self.wear_window, self.region_percent) {
            (None, _) => "no wear levelling".to_owned(),
            (Some(window), None) => format!("wear window of {window} erases, hot data stay in their die"),
            (Some(window), Some(percent)) => {
                format!("wear window of {window} erases, hot data leave a die {percent} % above the mean")
            }
        };
        let status = match self.status_us {
            None => "as commands end".to_owned(),
            Some(us) => format!("at {} ended commands, or {us} µs after the first", self.status_entries),
        };
        format!("          {parity}{composite}\n            {wear}\n            status frames {status}\n  ")
    }
}

/// The transport of a drive whose firmware is PCIe's transaction layer (S3), set up by a host.
#[derive(Serialize)]
struct Packets {
    max_payload_bytes: u32,
    max_read_request_bytes: u32,
    read_completion_boundary_bytes: u32,
    /// Reads that may be outstanding.
    tags: u16,
    /// What the root complex grants at first; a credit of data stands for 16 bytes.
    posted_header_credits: u16,
    posted_data_credits: u16,
    non_posted_header_credits: u16,
    /// The board moves the data of completions.
    completion_offload: bool,
    completion_timeout_ms: f64,
    /// What the function grants the host's accesses to registers; `null` where they are calls.
    register_packets: Option<RegisterCredits>,
}

/// Credits of the host's accesses to registers, as packets.
#[derive(Serialize)]
struct RegisterCredits {
    /// Of writes; a credit of data stands for 16 bytes.
    posted_header_credits: u16,
    posted_data_credits: u16,
    /// Of reads.
    non_posted_header_credits: u16,
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
    fn in_words(&self) -> String {
        let mover = if self.completion_offload { "the board (completion offload)" } else { "firmware" };
        let registers = match &self.register_packets {
            None => "calls".to_owned(),
            Some(credits) => format!(
                "packets, too, with credits for {} writes and {} reads",
                credits.posted_header_credits, credits.non_posted_header_credits
            ),
        };
        format!(
            "packets   MPS {}, MRRS {}, read completion boundary {}, {} tags, time-out of reads {} ms\
             \n            credits: {} posted headers and {} times 16 bytes of their data, {} non-posted \
             headers; completions moved by {mover}\n            the host's accesses to registers: \
             {registers}\n  ",
            self.max_payload_bytes,
            self.max_read_request_bytes,
            self.read_completion_boundary_bytes,
            self.tags,
            self.completion_timeout_ms,
            self.posted_header_credits,
            self.posted_data_credits,
            self.non_posted_header_credits,
        )
    }
}

/// A rate in decimal units, as data sheets have it.
fn rate(bytes_per_s: u64) -> String {
    let mega = bytes_per_s as f64 / 1e6;
    if mega < 1000.0 { format!("{mega:.0} MB/s") } else { format!("{:.2} GB/s", mega / 1e3) }
}

/// The data interface's name in ONFI.
fn interface(profile: &Profile) -> &'static str {
    match profile.channel.data_interface {
        DataModeName::Sdr => "SDR",
        DataModeName::NvDdr => "NV-DDR",
        DataModeName::NvDdr2 => "NV-DDR2",
    }
}

/// A range of times by page type.
fn times(by_type: &[f64]) -> String {
    let least = by_type.iter().copied().fold(f64::INFINITY, f64::min);
    let most = by_type.iter().copied().fold(0.0, f64::max);
    if least < most { format!("{least} to {most} µs") } else { format!("{most} µs") }
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

/// `aster check`: builds the drive and boots it, to find errors that show only when the parts work together.
///
/// # Errors
/// When the profile is wrong, its parts don't fit together, the drive doesn't come up, or the user stops it.
pub(crate) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let Named { name, profile } = find(&args.profile, &args.set)?;
    let content = Some(smallest_content(&profile));
    let machine = boot_new(&args.profile, &name, &profile, content, &Interrupt::listen()?)?;
    let fresh = FreshErrors::of(&profile)?;
    let (flash_bytes, exported_bytes) = (raw_bytes(&profile), drive_of(&machine).bytes);
    let ready = machine.now().since(Instant::ZERO);
    let Carried { link, channel } = carried(&profile).map_err(|error| Failure::file(&args.profile, error))?;
    let found = Checked {
        name: args.profile.display().to_string(),
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
        factory_bad_blocks: machine.device().stats().ftl.factory_bad_blocks,
        least_command_ns: least_command(&profile).as_picos() as f64 / 1e3,
        profile,
    };
    if args.json {
        console::json(&found)?;
    } else {
        console::print(&in_words(&found, &fresh, ready))?;
    }
    if let Some(text) = doubt(&fresh) {
        console::note(&text.message);
    }
    Ok(())
}

/// A new drive of a profile that the user named `wanted`, which has come up.
///
/// # Errors
/// When it doesn't come up, which is the profile's fault, or the user stops it.
pub(crate) fn boot_new(
    wanted: &Path,
    name: &str,
    profile: &Profile,
    content: Option<Content>,
    interrupt: &Interrupt,
) -> Result<Machine, Failure> {
    let any = Config::default();
    let config =
        Config { queue_pairs: 1, depth: any.depth.min(profile.host.queue_entries - 1), vectors: 2, ..any };
    let machine = Machine::power_on(name, profile, content, Media::fresh(), &Recorder::default(), config)?;
    machine.boot_while(&mut || !interrupt.asked()).map_err(|error| match error {
        RunError::Interrupted(_) => error.into(),
        error => Failure::file(wanted, error),
    })?;
    Ok(machine)
}

fn in_words(found: &Checked, fresh: &FreshErrors, ready: Duration) -> String {
    let Checked { name, shape, flash_bytes, exported_bytes, spare_percent, profile, .. } = found;
    let (flash, exported) = (capacity(*flash_bytes), capacity(*exported_bytes));
    let sold = profile.geometry.capacity.as_ref().map_or(String::new(), |name| format!("{name}: "));
    let blocks = found.blocks.as_ref().map_or(String::new(), |blocks| format!("\n  {}", blocks.in_words()));
    let (link, channels) = (&profile.link, profile.used_geometry().channels);
    let carried = found.link_bytes_per_s.map_or("no limit".to_owned(), rate);
    let (cores, map) = (board_words::cores(profile), board_words::map(profile, *exported_bytes));
    let heat = board_words::heat(profile);
    let packets = found.transport.as_ref().map_or(String::new(), Packets::in_words);
    let of_parity = found.target.as_ref().and_then(|target| target.hostftl.as_ref());
    let of_parity = of_parity.map(|hostftl| hostftl.parity_percent).filter(|&percent| percent > 0.0);
    let parity = of_parity.map_or(String::new(), |percent| {
        format!(": {percent:.1} % parity, {:.1} % the FTL's", spare_percent - percent)
    });
    let target = found.target.as_ref().map_or(String::new(), Target::in_words);
    let exported = match exported_bytes {
        0 => "no logical blocks: the host addresses the flash itself".to_owned(),
        _ => format!("{sold}{exported} ({exported_bytes} bytes), {spare_percent:.1} % spare{parity}{blocks}"),
    };
    format!(
        "{name}: a good profile\n  {}\n  array     {shape}\n  times     tR {}, tPROG {}, tBERS {} µs\n  \
         flash     {flash} ({flash_bytes} bytes)\n  \
         exported  {exported}\n  \
         {target}\
         link      PCIe {}.0 × {}, payload at most {carried}\n  \
         {packets}bus       {} mode {}: {} per channel, {} in all\n  \
         {cores}{map}{heat}command   at least {:.0} ns, of link and controller, before firmware and flash\n  \
         ecc       {} wrong bits of {} corrected; a new block's worst pages have {:.2}\n  \
         booted    ready {ready} after power-on, simulated; {} found bad\n",
        profile.description,
        times(&profile.package.read_us),
        times(&profile.package.program_us),
        profile.package.erase_us,
        link.generation,
        link.lanes,
        interface(profile),
        profile.channel.timing_mode,
        rate(found.channel_bytes_per_s),
        rate(found.channel_bytes_per_s * u64::from(channels)),
        found.least_command_ns,
        fresh.corrected,
        fresh.bits,
        fresh.expected,
        counted(found.factory_bad_blocks, "block"),
    )
}

/// Above this share of lost chunks in new pages there is a warning.
const LOSS_WORTH_A_WORD: f64 = 1e-6;

/// A warning when the profile's ECC can hardly correct even new cells.
pub(crate) fn doubt(fresh: &FreshErrors) -> Option<Warning> {
    (fresh.lost > LOSS_WORTH_A_WORD).then(|| {
        let message = format!(
            "package.errors.fresh: in the worst pages of a new block one chunk in {:.0} has more than the {} \
             wrong bits that \
             ecc.corrected allows: expect reads to fail",
            1.0 / fresh.lost,
            fresh.corrected
        );
        Warning::new("fresh-errors", message).with([("lost_share", fresh.lost)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(wanted: &str) -> String {
        match find(Path::new(wanted), &[]) {
            Ok(_) => panic!("{wanted} was found"),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn a_misspelt_profile_gets_the_nearest_name() {
        assert!(problem("cosmos-puls").contains("did you mean \"cosmos-plus\"?"));
        assert!(problem("idael").contains("did you mean \"ideal\"?"));
        let far = problem("quantum-drive");
        assert!(
            !far.contains("did you mean")
                && aster_device::profile::SHIPPED.iter().all(|(name, _)| far.contains(name)),
            "{far}"
        );
    }

    #[test]
    fn a_missing_file_is_told_as_a_file() {
        assert!(problem("nowhere/my.toml").starts_with("nowhere/my.toml: "));
        for shipped in ["tiny.toml", "profiles/tiny.toml"] {
            let told = problem(shipped);
            assert!(
                told.starts_with(&format!("{shipped}: no such file")) && told.ends_with(": tiny"),
                "{told}"
            );
        }
        assert!(!problem("mine.toml").contains("shipped"));
    }

    #[test]
    fn every_shipped_profile_is_found_by_its_name() {
        for (name, _) in SHIPPED {
            assert_eq!(find(Path::new(name), &[]).map_err(|e| e.to_string()).unwrap().name, *name);
        }
    }

    #[test]
    fn capacities_are_short() {
        let text = [512, 16 << 10, 64 << 30, (3 << 40) / 2].map(capacity);
        assert_eq!(text, ["512 bytes", "16 KiB", "64 GiB", "1.5 TiB"]);
    }
}
