//! Listing and checking profiles.

use crate::args::{CheckArgs, ProfilesArgs};
use crate::board_words;
use crate::console;
use crate::interrupt::Interrupt;
use aster_device::FreshErrors;
use aster_device::profile::{BLOCK, DataModeName, Profile, RaidName};
use aster_lab::asked::drives::{self, Checked, HostFtl, Listed, Packets, Target};
use aster_lab::asked::failure::Failure;
use aster_lab::asked::profiles::{doubt, find, shipped, unknown};
use aster_lab::words::{capacity, counted};

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
    let all = drives::listed()?;
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

/// The line about the FTL on the host.
fn target_words(target: &Target) -> String {
    let cache = target.page_cache_mib.map_or(String::new(), |mib| format!(", page cache of {mib} MiB"));
    let what = if target.kind == BLOCK { "the host's block layer" } else { "an FTL on the host" };
    let settings = target.hostftl.as_ref().map_or(String::new(), hostftl_words);
    format!("target    {}: {what}, {} ns a command{cache}\n  {settings}", target.kind, target.command_ns)
}

fn hostftl_words(hostftl: &HostFtl) -> String {
    let parity = match hostftl.raid {
        RaidName::Off => "no parity".to_owned(),
        RaidName::Fixed => format!("parity on a fixed lane: {}", capacity(hostftl.parity_bytes)),
        RaidName::Rotating => format!("parity on rotating lanes: {}", capacity(hostftl.parity_bytes)),
    };
    let composite = match (hostftl.raid, hostftl.composite_bytes) {
        (RaidName::Off, Some(bytes)) => {
            format!(", composite pages from {} on", capacity(bytes.into()))
        }
        (RaidName::Off, None) => ", no composite pages".to_owned(),
        (RaidName::Fixed | RaidName::Rotating, _) => String::new(),
    };
    let wear = match (hostftl.wear_window, hostftl.region_percent) {
        (None, _) => "no wear levelling".to_owned(),
        (Some(window), None) => format!("wear window of {window} erases, hot data stay in their die"),
        (Some(window), Some(percent)) => {
            format!("wear window of {window} erases, hot data leave a die {percent} % above the mean")
        }
    };
    let status = match hostftl.status_us {
        None => "as commands end".to_owned(),
        Some(us) => format!("at {} ended commands, or {us} µs after the first", hostftl.status_entries),
    };
    format!("          {parity}{composite}\n            {wear}\n            status frames {status}\n  ")
}

fn packet_words(packets: &Packets) -> String {
    let mover = if packets.completion_offload { "the board (completion offload)" } else { "firmware" };
    let registers = match &packets.register_packets {
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
        packets.max_payload_bytes,
        packets.max_read_request_bytes,
        packets.read_completion_boundary_bytes,
        packets.tags,
        packets.completion_timeout_ms,
        packets.posted_header_credits,
        packets.posted_data_credits,
        packets.non_posted_header_credits,
    )
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

/// `aster check`: builds the drive and boots it, to find errors that show only when the parts work together.
///
/// # Errors
/// When the profile is wrong, its parts don't fit together, the drive doesn't come up, or the user stops it.
pub(crate) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let named = find(&args.profile, &args.set)?;
    let interrupt = Interrupt::listen()?;
    let (found, fresh) = drives::check(&args.profile, named, &mut || !interrupt.asked())?;
    if args.json {
        console::json(&found)?;
    } else {
        console::print(&in_words(&found, &fresh))?;
    }
    if let Some(text) = doubt(&fresh) {
        console::note(&text.message);
    }
    Ok(())
}

fn in_words(found: &Checked, fresh: &FreshErrors) -> String {
    let Checked { name, ready, shape, flash_bytes, exported_bytes, spare_percent, profile, .. } = found;
    let (flash, exported) = (capacity(*flash_bytes), capacity(*exported_bytes));
    let sold = profile.geometry.capacity.as_ref().map_or(String::new(), |name| format!("{name}: "));
    let blocks = found.blocks.as_ref().map_or(String::new(), |blocks| format!("\n  {}", blocks.in_words()));
    let (link, channels) = (&profile.link, profile.used_geometry().channels);
    let carried = found.link_bytes_per_s.map_or("no limit".to_owned(), rate);
    let (cores, map) = (board_words::cores(profile), board_words::map(profile, *exported_bytes));
    let heat = board_words::heat(profile);
    let packets = found.transport.as_ref().map_or(String::new(), packet_words);
    let of_parity = found.target.as_ref().and_then(|target| target.hostftl.as_ref());
    let of_parity = of_parity.map(|hostftl| hostftl.parity_percent).filter(|&percent| percent > 0.0);
    let parity = of_parity.map_or(String::new(), |percent| {
        format!(": {percent:.1} % parity, {:.1} % the FTL's", spare_percent - percent)
    });
    let target = found.target.as_ref().map_or(String::new(), target_words);
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
