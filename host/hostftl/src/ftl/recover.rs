//! Power-on: the states of blocks from the drive's reports, and the map from the records beside sectors
//! (H20).
//!
//! Every page that was written is read. The newest version of a sector counts. A page that was torn by a loss
//! of power is among the last of its block; a group that was being written is closed for good, since nothing
//! may be programmed behind such a page. A group of which nothing counts is erased before anything else is
//! written, so that the copies in it can't take the place of what they were copied from a second time.

use super::block_table::BlockTable;
use super::config::{HostFtlConfig, Parity};
use super::find_table::TableFinder;
use super::flash::{Done, Flash, Span};
use super::groups::{GroupPlace, Groups};
use super::keeping::StoredTable;
use super::map::Map;
use super::mended::Fit;
use super::oob::{SectorKind, SectorRecord, Version, Wear};
use super::others::{self, Others};
use super::place::{PagePlace, PlaceFormat, SectorPlace};
use super::retired::Retired;
use super::root::{ROOT_BYTES, Root};
use super::spare::Spare;
use super::table_place::{TablePlace, lanes_of};
use crate::driver::{ArrayDriver, ArrayInfo};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::Exec;
use aster_parties::NvramSlice;
use aster_ports::dram::SharedDram;
use aster_units::BufferId;
use aster_wire::array::{LANES_MAX, NO_BLOCK, StatusCode};
use aster_wire::ocssd::BlockFlags;

/// Blocks that are read side by side.
const SIDE_BY_SIDE: usize = 64;
/// Page buffers: those of the blocks, and those of the other pages of a row.
pub(super) const BUFFERS: usize = SIDE_BY_SIDE + others::BUFFERS as usize;

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
    /// Blocks that were erased.
    pub erases: u64,
    /// Dies of lanes that were found not to answer, and are known not to.
    pub dead: usize,
    pub spare: Spare,
    pub retired: Retired,
    /// The stored block group table.
    pub table: StoredTable,
}

/// Whether the drive's array is that of the profile.
///
/// # Errors
/// What differs, in words.
pub(super) fn check(config: &HostFtlConfig, info: &ArrayInfo) -> Result<PlaceFormat, String> {
    let g = &config.geometry;
    let same = [
        (u16::from(info.channels) * u16::from(info.lanes) == g.channels, "channels"),
        (info.lanes == config.lanes, "lanes"),
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

/// The groups, by the states of blocks that the drive reports and the stored table: with factory bad blocks
/// and what was found of tables.
async fn groups(
    recovery: &Recovery<'_>,
    retired: &Retired,
    trusts_nvram: bool,
    reads: &mut u64,
) -> Result<(Groups, u64, StoredTable), String> {
    let &Recovery { exec, flash, info, buffers, .. } = recovery;
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
        let lane = info.die(channel, die) * usize::from(info.lanes) + usize::from(lane);
        states[lane].get(usize::from(block)).and_then(|&state| BlockFlags::from_raw(state))
    };
    let is_usable = |state| matches!(state, Some(BlockFlags::Free | BlockFlags::Host));
    // A block that went bad in use may hold sectors that are in no other.
    let is_member = |state| is_usable(state) || state == Some(BlockFlags::GrownBad);
    let (mut stored, mut table) = (StoredTable::default(), None);
    if recovery.config.stores_table() {
        let dies = usize::from(info.dies);
        let fit = |die: usize, lane, block| {
            let (channel, die) = ((die / dies) as u8, (die % dies) as u8);
            match state(channel, die, lane, block) {
                known if is_usable(known) => Fit::Good,
                Some(BlockFlags::GrownBad) if retired.has((channel, die, lane, block)) => Fit::Emptied,
                Some(BlockFlags::GrownBad) => Fit::Bad,
                _ => Fit::Never,
            }
        };
        let refresh = recovery.config.refresh;
        let finder = TableFinder { exec, flash, buffers, info, refresh };
        let found = finder.find(TablePlace::read(recovery.table_nvram), !trusts_nvram, reads, fit).await;
        (stored.newest, stored.was_searched, table) = (found.newest, found.was_searched, found.table);
        (stored.misnamed, stored.is_faded, stored.mended) = (found.misnamed, found.is_faded, found.mended);
    }
    let first = || BlockTable::first(info, |c, d, lane, block| !is_member(state(c, d, lane, block)));
    let (table, place) = match table {
        Some((table, place)) => (table, Some(place)),
        None => (first(), None),
    };
    let mut groups = Groups::of(info, table);
    stored.place = place.and_then(|place| {
        let at = groups.with_some_of(0, 0, &place.blocks, lanes_of(place.area, info.lanes))?;
        Some((TablePlace { blocks: groups.members(at), ..place }, at))
    });
    if let Some((_, at)) = stored.place {
        groups.hold(at);
    }
    let (mut members, grown) = (0, Some(BlockFlags::GrownBad));
    for at in groups.all() {
        for (lane, block) in (0u8..).zip(groups.members(at)) {
            let is_bad = block != NO_BLOCK && state(at.channel, at.die, lane, block) == grown;
            members += usize::from(is_bad);
            if block != NO_BLOCK && !is_usable(state(at.channel, at.die, lane, block)) {
                groups.kill(at.page(0, lane));
            }
        }
    }
    let marked = |&&state: &&u8| BlockFlags::from_raw(state) == Some(BlockFlags::FactoryBad);
    let factory_bad = states.iter().flatten().filter(marked).count() as u64;
    let all_grown = states.iter().flatten().filter(|&&state| BlockFlags::from_raw(state) == grown).count();
    if all_grown > members {
        groups.lost_before();
    }
    Ok((groups, factory_bad, stored))
}

/// A block that is being read, page by page.
struct Scan {
    at: GroupPlace,
    lane: u8,
    block: u16,
    /// A page that could not be read, of which nobody knows whose data it held.
    lost: Option<u16>,
    /// Sectors whose data could not be read, by their pages and slots, while it isn't known whether their
    /// pages had been programmed.
    unread: Vec<(u16, u8, SectorRecord)>,
    /// Pages before the first erased one.
    pages: u16,
    /// How often it had been erased.
    wear: Wear,
    is_over: bool,
}

impl Scan {
    /// A page holds this record. If a page before it could not be read, that was known to be programmed when
    /// this one was sent, older data would come back in its place. Nothing is missing of a block that went
    /// bad, since its data were written again elsewhere.
    ///
    /// # Errors
    /// If data are missing.
    fn holds(&self, page: u16, record: &SectorRecord, is_alive: bool) -> Result<(), String> {
        let Some(lost) = self.lost.filter(|_| is_alive) else { return Ok(()) };
        if u32::from(lost) + u32::from(record.behind) >= u32::from(page) {
            return Ok(());
        }
        let (Scan { lane, block, .. }, GroupPlace { channel, die, .. }) = (self, self.at);
        Err(format!(
            "page {lost} of block {block} on channel {channel}, die {die}, lane {lane} can't be read, and \
             was not the last one to be written: older data would come back in its place"
        ))
    }
}

impl Scan {
    /// Takes the sectors that can't be read, of pages that were known to be programmed when the page with
    /// this record was sent: they count, and a read of them fails.
    fn settled(&mut self, page: u16, record: &SectorRecord) -> Vec<(SectorPlace, SectorRecord)> {
        let known = |of: u16| u32::from(of) + u32::from(record.behind) < u32::from(page);
        let (at, lane) = (self.at, self.lane);
        let settled = self.unread.extract_if(.., |&mut (of, ..)| known(of));
        settled.map(|(of, slot, record)| (SectorPlace { page: at.page(of, lane), slot }, record)).collect()
    }
}

/// What a group was found to hold.
#[derive(Clone, Copy, Default)]
struct FoundGroup {
    /// Pages that were written.
    written: u32,
    /// Some of them are from after the last format, or of a table, or can't be read.
    counts: bool,
    /// A page of them was rebuilt.
    harmed: bool,
    /// The most bits that were corrected in a chunk of a page that could be read.
    corrected: u8,
}

/// What the records say.
struct Versions {
    map: Map,
    /// The version that counts of each sector of which the map knows a place. Memory that nothing was found
    /// for isn't touched.
    versions: Vec<[u8; 6]>,
    floor: u64,
    newest: u64,
    /// The newest generation of a page of a table.
    newest_table: u64,
    any: bool,
}

impl Versions {
    fn found(&mut self, record: SectorRecord, at: SectorPlace) {
        (self.any, self.newest) = (true, self.newest.max(record.sequence));
        let Some(known) = self.versions.get_mut(record.sector as usize) else { return };
        // A page can hold a sector twice, if the first version was deallocated: the second one counts.
        let place = self.map.place_of(record.sector);
        if place.is_none_or(|place| place.page == at.page || record.is_before(Version(*known))) {
            *known = record.version().0;
            self.map.moved(record.sector, Some(at));
        }
    }
}

/// What power-on works with: what is expected of the drive, and the first [`BUFFERS`] page buffers.
pub(super) struct Recovery<'a> {
    pub exec: &'a Exec,
    pub flash: &'a Rc<Flash>,
    pub driver: &'a ArrayDriver,
    pub nvram: &'a NvramSlice,
    /// What of the NVRAM says where the block group table is.
    pub table_nvram: &'a NvramSlice,
    pub buffers: &'a SharedDram,
    pub config: &'a HostFtlConfig,
    pub info: &'a ArrayInfo,
    pub format: PlaceFormat,
    pub sectors: u32,
}

impl Recovery<'_> {
    /// Finds what is on the drive, of which NVRAM keeps this root.
    ///
    /// # Errors
    /// In words, when the drive can't be used.
    pub async fn run(&self, root: Option<Root>) -> Result<Found, String> {
        let mut reads = 0;
        if let Some(found) = self.attempt(root, true, &mut reads).await? {
            return Ok(found);
        }
        let found = self.attempt(root, false, &mut reads).await?;
        Ok(found.expect("what was searched isn't compared with NVRAM"))
    }
    /// The same. `None`, with nothing changed, if the table is that of NVRAM, and a newer one is on flash.
    async fn attempt(
        &self,
        root: Option<Root>,
        trusts_nvram: bool,
        reads: &mut u64,
    ) -> Result<Option<Found>, String> {
        let &Recovery { exec, flash, driver, nvram, config, info, format, sectors, .. } = self;
        let mut retired = Retired::read(nvram, ROOT_BYTES, info);
        let (mut groups, factory_bad, table) = groups(self, &retired, trusts_nvram, reads).await?;
        if config.raid.is_some() {
            groups = groups.with_parity();
        }
        if config.wear_window.is_some() {
            groups = groups.levelled().with_regions(self.config.regions);
        }
        groups = groups.refreshed(config.refresh);
        let blocks = u64::from(config.geometry.total_luns()) * u64::from(info.blocks);
        let spare = Spare::new(config, info, sectors, blocks - factory_bad);
        let floor = root.unwrap_or_default().floor;
        let mut versions = Versions {
            map: Map::new(format, sectors),
            versions: vec![[0; 6]; sectors as usize],
            floor,
            newest: floor,
            newest_table: 0,
            any: false,
        };
        let mut of_groups = BTreeMap::new();
        // Blocks of one number on all dies and lanes: each of them is another die's work.
        let mut blocks = vec![];
        let with_data = |at: &GroupPlace| table.place.is_none_or(|(_, of_table)| of_table != *at);
        for at in groups.all().into_iter().filter(with_data) {
            for (lane, block) in (0u8..).zip(groups.members(at)).filter(|&(_, block)| block != NO_BLOCK) {
                if retired.has((at.channel, at.die, lane, block)) {
                    groups.kill(at.page(0, lane));
                    continue;
                }
                blocks.push(Scan {
                    at,
                    lane,
                    block,
                    lost: None,
                    unread: vec![],
                    pages: 0,
                    wear: Wear::default(),
                    is_over: false,
                });
            }
        }
        for scans in blocks.chunks_mut(SIDE_BY_SIDE) {
            for page in 0..info.pages {
                let mut tickets = vec![];
                for (n, scan) in (0..).zip(scans.iter()).filter(|(_, scan)| !scan.is_over) {
                    let span = Span {
                        page: scan.at.page(page, scan.lane),
                        block: scan.block,
                        first: 0,
                        count: info.sectors,
                    };
                    tickets.push((n as usize, flash.read(span, BufferId(n), 0)));
                }
                if tickets.is_empty() {
                    break;
                }
                *reads += tickets.len() as u64;
                for (n, ticket) in tickets {
                    let mut done = ticket.done(exec).await;
                    let scan = &mut scans[n];
                    let at = scan.at.page(page, scan.lane);
                    // A page that a loss of power has cut off doesn't fade.
                    let corrected = if done.is_good() { done.corrected } else { 0 };
                    let is_unread = matches!(done.code, Ok(StatusCode::Uncorrectable | StatusCode::OobLost));
                    let harmed = self.rebuild(at, &mut done, (&groups, &retired)).await;
                    // What can't be rebuilt either may be the sum of a row.
                    let harmed = harmed || is_unread && config.raid.is_some();
                    let is_alive = groups.is_alive(scan.at, scan.lane);
                    let of_group: &mut FoundGroup = of_groups.entry(scan.at).or_default();
                    of_group.harmed |= harmed;
                    of_group.corrected = of_group.corrected.max(corrected);
                    look(scan, (page, info.sectors), &done, (is_alive, of_group), &mut versions)
                        .map_err(|error| driver.fault().map_or(error, |fault| fault.to_string()))?;
                }
            }
        }
        let is_named = table.place.is_some() && !table.was_searched;
        if is_named && versions.newest_table > table.newest {
            return Ok(None);
        }
        let dead = flash.dead();
        for &(channel, die, lane) in &dead {
            if config.raid.is_none() {
                return Err(format!(
                    "lane {lane} of channel {channel} doesn't answer on die {die}, and without target.raid \
                     nobody else has what it held: older data would come back in its place"
                ));
            }
            groups.kill_lane(channel, die, lane);
        }
        if flash.foreign() > floor {
            let (then, now) = match config.raid {
                None => ("parity", "is \"off\""),
                Some(Parity::Fixed) => ("no parity", "is \"fixed\""),
                Some(Parity::Rotating) => ("no parity", "is \"rotating\""),
            };
            return Err(format!(
                "what is on the drive was written with another target.raid: with {then}, and target.raid \
                 {now}. Use the one that it was written with, format the drive under that one, or take a \
                 new drive"
            ));
        }
        for sector in 0..sectors {
            if let Some(place) = versions.map.place_of(sector) {
                groups.gained(place.page);
            }
        }
        // Members on lanes that don't answer. Sums of a group's rows may be among them.
        let dead_members = |groups: &Groups, at: GroupPlace| {
            let of_die = dead.iter().filter(|&&(channel, die, _)| (channel, die) == (at.channel, at.die));
            let members = groups.members(at);
            let blocks = of_die.map(|&(.., lane)| (lane, members[usize::from(lane)]));
            let counts = |lane, block| block != NO_BLOCK && !retired.has((at.channel, at.die, lane, block));
            blocks.filter(|&(lane, block)| counts(lane, block)).count()
        };
        let lost = |at: &&GroupPlace| of_groups[*at].counts && dead_members(&groups, **at) > 1;
        if let Some(GroupPlace { channel, die, .. }) = of_groups.keys().find(lost) {
            return Err(format!(
                "{} lanes of channel {channel} don't answer on die {die}, and parity makes what one of them \
                 held: older data would come back in place of the rest",
                dead.iter().filter(|(c, d, _)| (c, d) == (channel, die)).count()
            ));
        }
        let torn = if config.raid.is_some() { self.torn(&blocks, &groups) } else { BTreeSet::new() };
        let mut stale = vec![];
        groups.found_erases(&erases_of(&blocks));
        for (at, FoundGroup { written, counts, harmed, corrected }) in of_groups {
            match (groups.valid(at) > 0, counts) {
                (true, _) => {
                    groups.found(at, written);
                    groups.corrected(at, corrected);
                    // The sums of its rows may be of another block.
                    let is_mended = config.raid.is_some() && table.mended.contains(&at);
                    if harmed || is_mended || dead_members(&groups, at) > 0 {
                        groups.harm(at);
                    }
                    if torn.contains(&at) {
                        groups.tear(at);
                    }
                }
                (false, true) => stale.push(at),
                // Blank, or from before a format.
                (false, false) => {}
            }
        }
        let erases = self.erase(&mut groups, &stale).await;
        stale.iter().for_each(|&at| retired.retire(nvram, &groups, at));
        let Versions { map, newest, any, .. } = versions;
        let sequence = newest + 1;
        let reads = *reads;
        Ok(Some(Found {
            map,
            groups,
            retired,
            table,
            sequence,
            root,
            any,
            factory_bad,
            reads,
            erases,
            spare,
            dead: dead.len(),
        }))
    }

    /// The groups with a row that is not there on all lanes that can be written: a loss of power has cut it
    /// off.
    fn torn(&self, blocks: &[Scan], groups: &Groups) -> BTreeSet<GroupPlace> {
        let mut pages: BTreeMap<GroupPlace, u16> = BTreeMap::new();
        let alive = || blocks.iter().filter(|scan| groups.is_alive(scan.at, scan.lane));
        let differs =
            |scan: &&Scan| *pages.entry(scan.at).or_insert(scan.pages) != scan.pages || scan.lost.is_some();
        alive().filter(differs).map(|scan| scan.at).collect()
    }
    /// Completes what a read of a page found by the other pages of its row. Returns whether it could.
    async fn rebuild(&self, at: PagePlace, done: &mut Done, (groups, retired): (&Groups, &Retired)) -> bool {
        let is_lost =
            matches!(done.code, Ok(StatusCode::Uncorrectable | StatusCode::OobLost | StatusCode::LaneDead));
        if self.config.raid.is_none() || !is_lost {
            return false;
        }
        let of = at.group();
        let is_read =
            |&(lane, block): &(u8, u16)| block != NO_BLOCK && !retired.has((of.channel, of.die, lane, block));
        let blocks = (0..).zip(groups.members(of)).filter(is_read);
        let others = Others::read(self.flash, at, blocks, SIDE_BY_SIDE as u32);
        let rebuilt = others.records(self.exec, self.flash, |_| ()).await;
        for (slot, rebuilt) in rebuilt.into_iter().enumerate().filter(|(_, rebuilt)| rebuilt.is_some()) {
            done.records[slot] = done.records[slot].or(rebuilt);
            done.unread[slot] = None;
        }
        if done.records[..usize::from(self.info.sectors)].iter().all(Option::is_some) {
            done.code = Ok(StatusCode::Done);
        }
        rebuilt.iter().any(Option::is_some)
    }
    /// Erases groups of which nothing counts. Returns how many blocks were erased.
    async fn erase(&self, groups: &mut Groups, stale: &[GroupPlace]) -> u64 {
        let mut erases = 0;
        for some in stale.chunks(SIDE_BY_SIDE) {
            let erased = some.iter().map(|&at| {
                let alive = groups.alive(at);
                erases += alive.iter().filter(|&&block| block != NO_BLOCK).count() as u64;
                (at, self.flash.erase(at.channel, at.die, alive))
            });
            for (at, ticket) in erased.collect::<Vec<_>>() {
                let failed = ticket.done(self.exec).await.failed;
                for lane in (0..LANES_MAX as u8).filter(|lane| failed >> lane & 1 != 0) {
                    groups.kill(at.page(0, lane));
                }
                groups.erased(at);
            }
        }
        erases
    }
}

/// How often groups had been erased: as often as that block of theirs which was erased most often. One that
/// went bad was left out of later erases.
fn erases_of(blocks: &[Scan]) -> BTreeMap<GroupPlace, u32> {
    let mut of_groups = BTreeMap::new();
    for (at, erases) in blocks.iter().filter_map(|scan| Some((scan.at, scan.wear.erases()?))) {
        let most = of_groups.entry(at).or_insert(erases);
        *most = erases.max(*most);
    }
    of_groups
}

/// Looks at a page that was read.
///
/// # Errors
/// In words, when data are missing or the drive has failed.
fn look(
    scan: &mut Scan,
    (page, sectors): (u16, u8),
    done: &Done,
    (is_alive, of_group): (bool, &mut FoundGroup),
    versions: &mut Versions,
) -> Result<(), String> {
    match done.code {
        Ok(StatusCode::Erased) => {
            scan.is_over = true;
            return Ok(());
        }
        Ok(StatusCode::Done | StatusCode::Uncorrectable | StatusCode::OobLost | StatusCode::LaneDead) => {}
        other => return Err(format!("a read at power-on has ended as {other:?}")),
    }
    scan.pages = page + 1;
    // Of a lane that doesn't answer nobody knows whether the page was written, unless the others of its row
    // tell.
    let is_known = done.code != Ok(StatusCode::LaneDead) || done.records.iter().any(Option::is_some);
    of_group.written += u32::from(is_known);
    // A table that isn't where the one that counts is: its number may be found by a later search.
    for record in done.records.iter().flatten().filter(|record| record.kind == SectorKind::Table) {
        of_group.counts = true;
        versions.newest_table = versions.newest_table.max(record.sequence);
    }
    for (slot, record) in (0..).zip(done.records) {
        let Some(record) = record.filter(SectorRecord::is_mapped) else { continue };
        scan.wear.found(record.wear, page, sectors, slot);
        if record.sequence <= versions.floor {
            continue;
        }
        scan.holds(page, &record, is_alive)?;
        of_group.counts = true;
        if is_alive {
            scan.settled(page, &record).into_iter().for_each(|(at, record)| versions.found(record, at));
        }
        versions.found(record, SectorPlace { page: scan.at.page(page, scan.lane), slot });
    }
    for (slot, record) in (0..sectors).zip(done.unread) {
        let Some(record) = record.filter(SectorRecord::is_mapped) else { continue };
        if record.sequence > versions.floor {
            // No page gets its number again.
            versions.newest = versions.newest.max(record.sequence);
            scan.unread.push((page, slot, record));
        }
    }
    if !done.is_good() {
        of_group.counts |= is_known;
        let is_told = |slot: usize| done.records[slot].is_some() || done.unread[slot].is_some();
        if !(0..usize::from(sectors)).all(is_told) {
            scan.lost = scan.lost.or(Some(page));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::flash::{Records, SECTORS_MAX};

    const AT: GroupPlace = GroupPlace { channel: 0, die: 0, group: 3 };

    fn versions() -> Versions {
        let info = ArrayInfo { channels: 1, lanes: 8, dies: 1, planes: 1, blocks: 8, pages: 8, sectors: 4 };
        let map = Map::new(PlaceFormat::of(&info).unwrap(), 16);
        Versions { map, versions: vec![[0; 6]; 16], floor: 100, newest: 100, newest_table: 0, any: false }
    }
    fn read(code: StatusCode, records: &[SectorRecord]) -> Done {
        let mut of_page: Records = [None; SECTORS_MAX];
        of_page.iter_mut().zip(records).for_each(|(of, record)| *of = Some(*record));
        let unread = [None; SECTORS_MAX];
        Done { code: Ok(code), failed: 0, records: of_page, unread, corrected: 0, lost: false }
    }
    fn scan(lane: u8) -> Scan {
        let (lost, unread, wear) = (None, vec![], Wear::default());
        Scan { at: AT, lane, block: 5, lost, unread, pages: 0, wear, is_over: false }
    }
    /// What is found of a block of these pages.
    fn looked(pages: &[Done], is_alive: bool) -> (Result<(), String>, Versions, FoundGroup) {
        let (mut versions, mut of_group) = (versions(), FoundGroup::default());
        let mut scan = scan(2);
        let mut all = (0..).zip(pages);
        let looked = all.try_for_each(|(page, done)| {
            look(&mut scan, (page, 4), done, (is_alive, &mut of_group), &mut versions)
        });
        (looked, versions, of_group)
    }

    #[test]
    fn a_page_that_cannot_be_read_must_be_among_the_last_of_its_block() {
        let lost = read(StatusCode::Uncorrectable, &[]);
        let page = |behind| read(StatusCode::Done, &[SectorRecord { behind, ..SectorRecord::data(1, 101) }]);
        assert!(looked(&[page(0), lost], true).0.is_ok());
        // The first page as well: after an erase that was cut off no other page would be readable.
        let error = looked(&[lost, page(0)], true).0.unwrap_err();
        assert_eq!(
            error,
            "page 0 of block 5 on channel 0, die 0, lane 2 can't be read, and was not the last one to be \
             written: older data would come back in its place"
        );
        assert!(looked(&[page(0), lost, page(0)], true).0.is_err());
        // The lost page was on its way when the next ones were sent.
        assert!(looked(&[page(0), lost, page(1), page(2)], true).0.is_ok());
        assert!(looked(&[page(0), lost, page(1), page(1)], true).0.is_err());
        assert!(looked(&[lost, page(0)], false).0.is_ok(), "its program failed, and it is elsewhere");
    }

    /// Their data are lost and no older ones come back, if the page was known to be programmed when a later
    /// one was sent. Else a loss of power may have torn it, and the older ones count.
    #[test]
    fn sectors_that_cannot_be_read_count_if_it_is_known_whose_they_are() {
        let old = read(StatusCode::Done, &[SectorRecord::data(1, 101)]);
        let unread = |records: usize| {
            let mut unread = Records::default();
            let all = [1, 2, 3, 4].map(|sector| Some(SectorRecord::data(sector, 102)));
            unread[..records].copy_from_slice(&all[..records]);
            Done { unread, failed: 15, ..read(StatusCode::Uncorrectable, &[]) }
        };
        let later = |behind| read(StatusCode::Done, &[SectorRecord { behind, ..SectorRecord::data(5, 103) }]);
        let place = |versions: &Versions| versions.map.place_of(1).map(|at| at.page.page);
        let (result, versions, _) = looked(&[old, unread(4), later(0)], true);
        assert!(result.is_ok());
        assert_eq!(place(&versions), Some(1));
        assert!(looked(&[old, unread(3), later(0)], true).0.is_err(), "nobody knows whose one of them is");
        for torn in [&[old, unread(4)][..], &[old, unread(4), later(1)]] {
            let (result, versions, _) = looked(torn, true);
            assert!(result.is_ok());
            assert_eq!(place(&versions), Some(0));
            assert!(versions.newest >= 102, "its number isn't used again");
        }
        // Of a block that went bad, it is elsewhere.
        let (_, versions, _) = looked(&[old, unread(4), later(0)], false);
        assert_eq!(place(&versions), Some(0));
    }

    #[test]
    fn what_counts_is_newer_than_a_format_and_than_all_other_versions() {
        let data = |sector, sequence| SectorRecord::data(sector, sequence);
        let pages = [
            read(StatusCode::Done, &[data(1, 100), data(2, 105), data(3, 105), data(3, 105)]),
            read(StatusCode::Done, &[data(2, 104), data(3, 104), SectorRecord::PADDING]),
            read(StatusCode::Erased, &[]),
        ];
        let (looked, versions, of_group) = looked(&pages, true);
        assert!(looked.is_ok() && of_group.counts);
        assert_eq!((of_group.written, versions.newest), (2, 105));
        let place = |sector| versions.map.place_of(sector).map(|at| (at.page.page, at.slot));
        // Of two in one page the second was written later.
        assert_eq!((place(1), place(2), place(3)), (None, Some((0, 1)), Some((0, 3))));
        let old = read(StatusCode::Done, &[data(1, 100)]);
        assert!(!self::looked(&[old], true).2.counts);
        assert!(self::looked(&[read(StatusCode::Uncorrectable, &[])], true).2.counts);
        // A store that was cut off.
        let table = |generation| read(StatusCode::Done, &[SectorRecord::of_table(0, generation)]);
        let (_, versions, of_group) = self::looked(&[table(7), table(6)], true);
        assert!(of_group.counts);
        assert_eq!(versions.newest_table, 7);
    }

    /// H26: a block that went bad tells of fewer erases, and none of its parts are taken for the group's.
    #[test]
    fn a_group_was_erased_as_often_as_its_block_that_was_erased_most_often() {
        for bad in 0..3 {
            let of_lane = |lane: u8| {
                let mut scan = scan(lane);
                let erases = if lane == bad { 0x01_00ff } else { 0x01_0100 };
                let record = |slot| SectorRecord {
                    wear: Wear::part(erases, 0, 4, slot),
                    ..SectorRecord::data(slot.into(), 101)
                };
                let page = read(StatusCode::Done, &[0, 1, 2, 3].map(record));
                let of_group = &mut FoundGroup::default();
                look(&mut scan, (0, 4), &page, (lane != bad, of_group), &mut versions()).unwrap();
                scan
            };
            assert_eq!(erases_of(&[0, 1, 2].map(of_lane)), [(AT, 0x01_0100)].into());
        }
    }
}
