//! Power-on: the states of blocks from the drive's reports, and the map from the records beside sectors
//! (H20).
//!
//! Every page that was written is read. The highest sequence number of a sector counts, and of two in one
//! page the later one. A page that was torn by a loss of power is the last of its block; a group that was
//! being written is closed for good, since nothing may be programmed behind such a page.

use super::config::HostFtlConfig;
use super::flash::{Flash, Span};
use super::groups::Groups;
use super::map::Map;
use super::oob::{SectorKind, SectorRecord};
use super::place::{PagePlace, PlaceFormat, SectorPlace};
use super::root::Root;
use crate::driver::{ArrayDriver, ArrayInfo};
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::Exec;
use aster_units::BufferId;
use aster_wire::array::{NO_BLOCK, StatusCode};
use aster_wire::ocssd::BlockFlags;

/// Blocks that are read side by side.
pub(super) const SIDE_BY_SIDE: usize = 64;

/// What was found at power-on.
pub(super) struct Found {
    pub map: Map,
    pub groups: Groups,
    /// The sequence number of the next page.
    pub sequence: u64,
    pub root: Option<Root>,
    pub any: bool,
    pub factory_bad: u64,
    pub reads: u64,
}

/// Whether the drive's array is that of the profile.
///
/// # Errors
/// What differs, in words.
pub(super) fn check(config: &HostFtlConfig, info: &ArrayInfo) -> Result<PlaceFormat, String> {
    let g = &config.geometry;
    let same = [
        (u16::from(info.channels) * u16::from(info.lanes) == g.channels, "channels"),
        (u32::from(info.dies) == g.luns_per_channel(), "dies"),
        (info.planes == g.planes, "planes"),
        (info.blocks == g.blocks_per_lun, "blocks"),
        (info.pages == g.pages_per_block, "pages"),
        (info.sectors == g.sectors_per_page(), "sectors"),
    ];
    if let Some((_, what)) = same.into_iter().find(|(is_same, _)| !is_same) {
        return Err(format!("the drive reports other {what} than its profile has"));
    }
    PlaceFormat::of(info)
        .ok_or_else(|| "the drive has more sectors than a place of 32 bits names".to_string())
}

/// The groups, by the states of blocks that the drive reports.
async fn groups(flash: &Flash, info: &ArrayInfo) -> Result<(Groups, u64), String> {
    let mut states = vec![];
    for channel in 0..info.channels {
        for die in 0..info.dies {
            for lane in 0..info.lanes {
                let report = flash.report(channel, die, lane, info.blocks).await;
                states.push(report.ok_or("the drive doesn't report the states of its blocks")?);
            }
        }
    }
    let state = |channel: u8, die: u8, lane: u8, block: u16| {
        let die = usize::from(channel) * usize::from(info.dies) + usize::from(die);
        let lane = die * usize::from(info.lanes) + usize::from(lane);
        states[lane].get(usize::from(block)).and_then(|&state| BlockFlags::from_raw(state))
    };
    let is_usable = |state| matches!(state, Some(BlockFlags::Free | BlockFlags::Host));
    // A block that went bad in use may hold sectors that are in no other.
    let is_member = |state| is_usable(state) || state == Some(BlockFlags::GrownBad);
    let mut groups = Groups::of(info, |c, d, lane, block| !is_member(state(c, d, lane, block)));
    for (channel, die) in dies(info) {
        for group in 0..groups.count(channel, die) as u16 {
            for (lane, block) in (0u8..).zip(groups.members(channel, die, group)) {
                if block != NO_BLOCK && !is_usable(state(channel, die, lane, block)) {
                    groups.kill(PagePlace { channel, die, group, page: 0, lane });
                }
            }
        }
    }
    let marked = |&&state: &&u8| BlockFlags::from_raw(state) == Some(BlockFlags::FactoryBad);
    Ok((groups, states.iter().flatten().filter(marked).count() as u64))
}
fn dies(info: &ArrayInfo) -> impl Iterator<Item = (u8, u8)> + use<> {
    let dies = info.dies;
    (0..info.channels).flat_map(move |channel| (0..dies).map(move |die| (channel, die)))
}

/// A block that is being read, page by page.
struct Scan {
    at: PagePlace,
    block: u16,
    /// A page that could not be read.
    lost: Option<u16>,
    is_over: bool,
}

/// Finds what is on the drive. `config` and `sectors` say what is expected, and the first
/// [`SIDE_BY_SIDE`] page buffers are used.
///
/// # Errors
/// In words, when the drive can't be used.
pub(super) async fn recover(
    exec: &Exec,
    flash: &Rc<Flash>,
    driver: &ArrayDriver,
    (info, format, sectors, root): (&ArrayInfo, PlaceFormat, u32, Option<Root>),
) -> Result<Found, String> {
    let (mut groups, factory_bad) = groups(flash, info).await?;
    let floor = root.unwrap_or_default().floor;
    let mut map = Map::new(format, sectors);
    // The sequence number of each sector's version in the map.
    let mut versions = vec![0u64; sectors as usize];
    let (mut newest, mut any, mut reads) = (floor, false, 0);
    let mut blocks = vec![];
    for (channel, die) in dies(info) {
        for group in 0..groups.count(channel, die) as u16 {
            for (lane, block) in (0u8..).zip(groups.members(channel, die, group)) {
                if block != NO_BLOCK {
                    let at = PagePlace { channel, die, group, page: 0, lane };
                    blocks.push(Scan { at, block, lost: None, is_over: false });
                }
            }
        }
    }
    // Blocks of one number on all dies and lanes: each of them is another die's work.
    blocks.sort_by_key(|scan| scan.at.group);
    for scans in blocks.chunks_mut(SIDE_BY_SIDE) {
        for page in 0..info.pages {
            let mut tickets = vec![];
            for (n, scan) in (0..).zip(scans.iter()).filter(|(_, scan)| !scan.is_over) {
                let span = Span {
                    page: PagePlace { page, ..scan.at },
                    block: scan.block,
                    first: 0,
                    count: info.sectors,
                };
                tickets.push((n as usize, flash.read(span, BufferId(n), 0)));
            }
            reads += tickets.len() as u64;
            for (n, ticket) in tickets {
                let done = ticket.done(exec).await;
                let scan = &mut scans[n];
                let at = PagePlace { page, ..scan.at };
                let data: Vec<(u8, SectorRecord)> = (0..)
                    .zip(done.records)
                    .filter_map(|(slot, record)| Some((slot, record?)))
                    .filter(|(_, record)| record.kind == SectorKind::Data && record.sequence > floor)
                    .collect();
                match done.code {
                    Ok(StatusCode::Erased) => scan.is_over = true,
                    Ok(StatusCode::Uncorrectable) => scan.lost = scan.lost.or(Some(page)),
                    Ok(StatusCode::Done) if !data.is_empty() && scan.lost.is_some_and(|lost| lost > 0) => {
                        let PagePlace { channel, die, lane, .. } = at;
                        return Err(format!(
                            "page {} of block {} on channel {channel}, die {die}, lane {lane} can't be read, \
                             and was not the last one to be written: older data would come back in its place",
                            scan.lost.unwrap_or(0),
                            scan.block
                        ));
                    }
                    Ok(StatusCode::Done) => {}
                    other => {
                        let fault = driver.fault().map(|fault| fault.to_string());
                        return Err(
                            fault.unwrap_or_else(|| format!("a read at power-on has ended as {other:?}"))
                        );
                    }
                }
                for (slot, record) in data {
                    (any, newest) = (true, newest.max(record.sequence));
                    let version = versions.get_mut(record.sector as usize).filter(|v| **v <= record.sequence);
                    if let Some(version) = version {
                        *version = record.sequence;
                        map.moved(record.sector, Some(SectorPlace { page: at, slot }));
                    }
                }
            }
        }
    }
    for sector in 0..sectors {
        if let Some(place) = map.place_of(sector) {
            groups.gained(place.page);
        }
    }
    // A group of which the map knows nothing is erased before it is written: it is free, whatever it holds.
    for (channel, die) in dies(info) {
        for group in 0..groups.count(channel, die) as u16 {
            if groups.valid(channel, die, group) > 0 {
                groups.found(channel, die, group);
            }
        }
    }
    Ok(Found { map, groups, sequence: newest + 1, root, any, factory_bad, reads })
}
