use crate::terms::map_cache::{MapCache, MapKind, MapSizes};
use crate::terms::oob::OOB_BYTES;
use crate::terms::row_layout::ROW_BYTES;
use crate::terms::sizes::{MAP_BLOCKS_MAX, MAP_ENTRY_BYTES, PAGES_PER_WORD_LINE_MAX, ROOT_BYTES};
use crate::terms::units::UnitShape;
use aster_parties::Refresh;
use aster_units::{Content, Duration, Geometry, GeometryError, LunIndex, Restriction, SECTOR_BYTES};
use core::fmt;

/// How many pages the host sees.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Capacity {
    /// As many mapping units as exactly so many pages have.
    Pages(u32),
    /// As many as leave this much spare: physical data pages over logical pages, minus one, in percent (P5,
    /// G12).
    OverProvisioning(f64),
}

/// How blocks are worn alike (C93).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WearLevelling {
    /// Free blocks are written in the order in which they were erased.
    #[default]
    None,
    /// The host's data goes to the least worn free block, what garbage collection copies to the most worn.
    Dynamic,
    /// And cold data moves out of blocks that are little worn.
    Static {
        /// Erases that a block with data may be behind the most worn of its LUN; at least 1.
        spread: u32,
    },
}

/// How garbage collection and the host share the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Collection {
    /// A victim is emptied as fast as flash permits, and who waits for room or for a data buffer entry
    /// competes with those that come later.
    #[default]
    OnDemand,
    /// The host pays for copies with what it programs, and who waits is served in the order of arrival.
    Paced,
}

/// What firmware steps cost, in cycles of the FTL's core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FtlCosts {
    /// Taking a command and cutting it into slices.
    pub command: u64,
    /// Beginning a slice.
    pub slice: u64,
    /// A look-up or change of the mapping.
    pub translate: u64,
    /// Finding or allocating a data buffer entry.
    pub buffer: u64,
    /// Asking for a host DMA.
    pub dma: u64,
    /// Completing a command.
    pub complete: u64,
    /// Moving a page in garbage collection.
    pub move_page: u64,
    /// Replaying an entry of the log in recovery.
    pub replay: u64,
}

/// What a read of a logical page that is nowhere does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FirstAccess {
    /// Nothing: it gives zeroes.
    #[default]
    Zeroes,
    /// It assigns a place, as a write of zeroes does (S26).
    Assigns,
}

/// Everything that can be chosen about the FTL. Checked by [`FtlConfig::validate`], constant afterwards.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FtlConfig {
    /// The array that the firmware uses; with [`FtlConfig::allocating_planes`] each plane is a LUN in it.
    pub geometry: Geometry,
    /// Planes of a LUN that are allocated one by one; 1 where a LUN is allocated as a whole.
    pub planes_apart: u8,
    /// Where its pages lie in the packages, if it is less than what they have (C31).
    pub restriction: Option<Restriction>,
    /// How data buffers keep content.
    pub content: Content,
    /// Bytes that the map knows a place of: 512 to a page, a power of two of them to a page, and a multiple
    /// of what content keeps as a whole; 0 for a page.
    pub mapping_unit_bytes: u32,
    /// Where the map is.
    pub map: MapKind,
    /// Logical capacity.
    pub capacity: Capacity,
    /// Entries of the data buffer, one page each.
    pub buffer_entries: u32,
    /// Slices in work at once.
    pub slice_workers: u16,
    /// Command slots of the front end: command identifiers are below this.
    pub command_slots: u16,
    /// The front end completes reads, and writes without force unit access, as soon as all their data have
    /// been moved (P13): a flush that the host sends then must not miss such a write, so it waits for those
    /// that came before it.
    pub auto_completion: bool,
    /// Read only the sectors asked for, not the whole page.
    pub partial_reads: bool,
    /// What a read of a logical page that is nowhere does.
    pub first_access: FirstAccess,
    /// Free blocks of a LUN that only garbage collection may take.
    pub gc_reserve_blocks: u32,
    /// Garbage collection begins when a LUN has this many free blocks or fewer.
    pub gc_free_blocks: u32,
    /// How garbage collection and the host share the drive.
    pub collection: Collection,
    /// Pages that garbage collection of a LUN has in flight, 1 to [`GC_DEPTH_MAX`].
    pub gc_depth: u8,
    /// Pages that lie on one word line, one after the other in a block, if a program that is cut off takes
    /// those before it on its line along; 1 if it doesn't. 1 to 4.
    pub pages_per_word_line: u16,
    /// Programs begin a word line at a time, completed with padding: what is below packs them into one
    /// operation (C83, G8).
    pub whole_lines: bool,
    /// The map is stored after so many pages of data were programmed; 0 for 256 times as many as the map
    /// takes.
    pub checkpoint_pages: u32,
    /// How blocks are worn alike.
    pub wear_levelling: WearLevelling,
    /// When data is written anew before it fades.
    pub refresh: Refresh,
    /// A block is retired when a page in it can't be corrected, twice in a row (S12).
    pub retire_uncorrectable: bool,
    /// One page is read each time so much has passed, to find data that fades; zero for never.
    pub scan_interval: Duration,
    /// The pause after each page moved for wear or refresh, while the LUN has room.
    pub background_gap: Duration,
    /// What firmware steps cost.
    pub costs: FtlCosts,
}

/// Bytes of a mapping unit at least: a logical block of the smallest format.
pub const MAPPING_UNIT_MIN: u32 = 512;
/// Mapping units of a page at most: a page's OOB record, of 11 bytes for each, must leave room for parity.
pub(crate) const UNITS_PER_PAGE_MAX: u32 = 16;
/// Bytes of the OOB record of each page with so many bytes, where the map knows places of `unit_bytes`; 0 for
/// a page. For units that a configuration would refuse it is the record of a page that is a unit.
pub fn oob_bytes(page_bytes: u32, unit_bytes: u32) -> usize {
    let units = page_bytes.checked_div(unit_bytes).unwrap_or(1);
    match page_bytes == units * unit_bytes && units.is_power_of_two() && units <= UNITS_PER_PAGE_MAX {
        true => UnitShape::new(page_bytes, unit_bytes).oob_bytes(),
        false => OOB_BYTES,
    }
}
/// Pages that garbage collection of a LUN has in flight at most.
pub const GC_DEPTH_MAX: u8 = 16;
/// Bytes of NVRAM, from 0 on, that the FTL keeps its root record in (twice).
pub const NVRAM_BYTES: usize = 2 * ROOT_BYTES;
const MERGE_BUFFERS_MAX: u32 = 64;
const LOG_LINES_MIN: u64 = 8;
/// Slices in work at most where the map is on flash: what several of them have pinned is counted in a list,
/// which is searched from its beginning.
const MAP_WORKERS_MAX: u16 = 1024;
/// Bytes of a map cache at most.
const MAP_CACHE_MAX: u64 = 1 << 40;
/// Translation pages that are read side by side, and that are written side by side.
const LOADS_MAX: u32 = 16;
const FLUSHES_MAX: u32 = 8;

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
        /// Blocks a LUN needs: its share of the logical pages, metadata, and what garbage collection works
        /// in.
        needed: u64,
        /// Blocks a LUN has.
        available: u32,
        /// As many as a LUN must have, since with more of them the capacity grows as well; `None` when no
        /// number will do. Blocks that are bad from the factory are not among them.
        enough: Option<u32>,
    },
    /// The cache of a map on flash is so small that collecting garbage costs more than it gains.
    MapCache {
        /// The part of a LUN's closed blocks that counts once the drive is full.
        full: f64,
        /// The part at which collecting gains nothing with this cache.
        full_max: f64,
        /// The fewest bytes of a cache with which it gains something; `None` when none are enough.
        least: Option<u64>,
    },
    /// The cache of a map on flash has no room for what must be in memory.
    MapCacheBytes {
        /// Its bytes.
        bytes: u64,
        /// The fewest bytes that do; `None` when none are enough.
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
        /// Requests in flight without which tasks could wait for each other for ever.
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
                // The capacity comes from the blocks: what is missing is no answer to how many it takes.
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

impl FtlConfig {
    /// Checks every bound that the FTL relies on.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = |ok, key, must| if ok { Ok(()) } else { Err(ConfigError::Range { key, must }) };
        check(
            self.planes_apart == 1 || self.geometry.luns <= 8,
            "placement",
            "one that leaves planes in their LUNs where a chip enable has more than 8 planes",
        )?;
        self.geometry.validate().map_err(ConfigError::Geometry)?;
        self.check_unit()?;
        check(self.restriction().holds(&self.lun_geometry()), "geometry", "within the packages' array")?;
        check((4..=1 << 24).contains(&self.buffer_entries), "buffer_entries", "from 4 to 16777216")?;
        check((1..=4096).contains(&self.slice_workers), "slice_workers", "from 1 to 4096")?;
        check(self.command_slots > 0, "command_slots", "at least 1")?;
        check((1..=GC_DEPTH_MAX).contains(&self.gc_depth), "gc_depth", "from 1 to 16")?;
        check(
            u32::from(self.gc_depth) >= self.pages_at_once(),
            "gc_depth",
            "at least as many as a word line has pages where whole lines are programmed",
        )?;
        check(self.gc_reserve_blocks > 0, "gc_reserve_blocks", "at least 1")?;
        check(
            (self.gc_reserve_blocks..self.geometry.blocks_per_lun).contains(&self.gc_free_blocks),
            "gc_free_blocks",
            "at least gc_reserve_blocks and below blocks_per_lun",
        )?;
        check(
            !matches!(self.wear_levelling, WearLevelling::Static { spread: 0 }),
            "wear_spread",
            "at least 1",
        )?;
        check(
            self.refresh.corrected <= self.refresh.correctable,
            "refresh",
            "at most as many wrong bits as can be corrected",
        )?;
        check(
            (1..=PAGES_PER_WORD_LINE_MAX as u16).contains(&self.pages_per_word_line),
            "pages_per_word_line",
            "from 1 to 4",
        )?;
        check(
            u32::from(self.geometry.pages_per_block).is_multiple_of(self.pages_at_once()),
            "pages_per_block",
            "a multiple of pages_per_word_line where whole lines are programmed",
        )?;
        check(
            self.log_lines() >= LOG_LINES_MIN,
            "geometry",
            "such that its log has 8 pages: more LUNs, more blocks, or more pages a block",
        )?;
        match self.capacity {
            Capacity::Pages(pages) => check(pages > 0, "capacity", "at least one page")?,
            Capacity::OverProvisioning(percent) => check(
                percent.is_finite() && (0.0..=10_000.0).contains(&percent),
                "over_provisioning_percent",
                "from 0 to 10000",
            )?,
        }
        check(
            self.map_blocks() as usize <= MAP_BLOCKS_MAX,
            "geometry",
            "such that the stored map fits the blocks that a root record lists",
        )?;
        check(
            self.free_list_max() > 0,
            "geometry",
            "such that a page of the log holds the lists of all LUNs: larger pages, or fewer LUNs",
        )?;
        self.check_map()?;
        let (needed, available) = (self.blocks_needed_per_lun(), self.geometry.blocks_per_lun);
        if !self.has_blocks() {
            let with = |blocks_per_lun| {
                let geometry = Geometry { blocks_per_lun, ..self.geometry };
                FtlConfig { geometry, ..*self }.has_blocks()
            };
            let enough = (available..=available.saturating_mul(16).max(256)).find(|&blocks| with(blocks));
            return Err(ConfigError::Capacity { needed, available, enough });
        }
        let (full, full_max) = (self.full(), self.full_max());
        if !self.gains_room() {
            let least = self.least_cache(|config| config.gains_room());
            return Err(ConfigError::MapCache { full, full_max, least });
        }
        Ok(())
    }
    fn check_unit(&self) -> Result<(), ConfigError> {
        let refused = |must| Err(ConfigError::Range { key: "mapping_unit_bytes", must });
        let page = self.geometry.page_bytes;
        let unit = if self.mapping_unit_bytes == 0 { page } else { self.mapping_unit_bytes };
        if unit > page || !page.is_multiple_of(unit) || !(page / unit).is_power_of_two() {
            return refused("0 for a page, or a page divided by 2, 4, 8 and so on");
        }
        if page / unit > UNITS_PER_PAGE_MAX {
            return refused("a 16th of a page at least");
        }
        if unit < MAPPING_UNIT_MIN {
            return refused("512 at least");
        }
        if self.content == Content::Fingerprint && !unit.is_multiple_of(SECTOR_BYTES as u32) {
            return refused("4096 at least where content is fingerprints: each stands for 4096 bytes");
        }
        if self.physical_units() > u64::from(u32::MAX) - 1 {
            return refused("such that the array has fewer than 2^32 - 1 units");
        }
        Ok(())
    }
    fn check_map(&self) -> Result<(), ConfigError> {
        let MapKind::DemandPaged(cache) = self.map else { return Ok(()) };
        let check = |ok, key, must| if ok { Ok(()) } else { Err(ConfigError::Range { key, must }) };
        check(
            self.units().per_page() == 1,
            "mapping_unit_bytes",
            "0, a page, where the map is paged on demand: its own pages are units as well",
        )?;
        check(
            (1..=self.geometry.page_bytes / MAP_ENTRY_BYTES as u32)
                .contains(&cache.entries(self.geometry.page_bytes)),
            "map",
            "such that a page holds its entries",
        )?;
        check(
            self.slice_workers <= MAP_WORKERS_MAX,
            "slice_workers",
            "at most 1024 where the map is paged on demand",
        )?;
        match self.map_sizes() {
            Some(_) => Ok(()),
            None => {
                // Of a drive that is too full in any case, the error about that comes next.
                let least = self.least_cache(|config| config.map_sizes().is_some() && config.gains_room());
                let least = least.or_else(|| self.least_cache(|config| config.map_sizes().is_some()));
                Err(ConfigError::MapCacheBytes { bytes: cache.bytes, least })
            }
        }
    }
    /// The fewest bytes of a map cache with which the configuration `does`; `None` when none are enough.
    fn least_cache(&self, does: impl Fn(&FtlConfig) -> bool) -> Option<u64> {
        let cache = self.map_cache()?;
        let does =
            |bytes| does(&FtlConfig { map: MapKind::DemandPaged(MapCache { bytes, ..cache }), ..*self });
        // More bytes are never worse, so halving finds the first that do.
        let (mut few, mut enough) = (0, MAP_CACHE_MAX);
        if !does(enough) {
            return None;
        }
        while enough - few > 1 {
            let half = few + (enough - few) / 2;
            if does(half) { enough = half } else { few = half }
        }
        Some(enough)
    }
    /// Whether collecting garbage gains room once the drive is full.
    fn gains_room(&self) -> bool {
        self.full() < self.full_max()
    }
    /// The part of a LUN's closed blocks that counts once the drive is full.
    fn full(&self) -> f64 {
        let kept = self.gc_reserve_blocks + self.mapping_reserve_blocks() + 1;
        let closed = self.data_blocks_per_lun().saturating_sub(kept.into());
        let pages = (self.logical_pages() + self.map_units()).div_ceil(self.geometry.total_luns().into());
        pages as f64 / (closed * u64::from(self.geometry.pages_per_block)) as f64
    }
    /// The part of these at which collecting gains no room, since it costs as many translation pages. Where
    /// memory has room for all units, and where the map is in memory, there is none.
    fn full_max(&self) -> f64 {
        match self.map_sizes() {
            Some(sizes) if u64::from(sizes.host_rows) < self.logical_units() => sizes.full_max(),
            _ => f64::INFINITY,
        }
    }
    /// Whether a LUN's blocks are enough, while none of them is bad.
    pub fn has_blocks(&self) -> bool {
        self.logical_pages() > 0 && self.blocks_needed_per_lun() <= u64::from(self.geometry.blocks_per_lun)
    }

    /// Where the array's pages lie in the packages.
    pub fn restriction(&self) -> Restriction {
        self.restriction.unwrap_or(Restriction::none(self.lun_geometry()))
    }
    /// Pages' worth of mapping units that the host sees.
    pub fn logical_pages(&self) -> u64 {
        match self.capacity {
            Capacity::Pages(pages) => u64::from(pages),
            Capacity::OverProvisioning(percent) => {
                let pages = (self.data_pages() as f64 / (1.0 + percent / 100.0)) as u64;
                // Those of the map are the drive's.
                pages.saturating_sub(self.map_units_of(pages))
            }
        }
    }
    fn map_units_of(&self, pages: u64) -> u64 {
        match self.map {
            MapKind::Resident => 0,
            MapKind::DemandPaged(cache) => {
                let entries = cache.entries(self.geometry.page_bytes).max(1);
                (pages * u64::from(self.units().per_page())).div_ceil(entries.into())
            }
        }
    }
    /// Mapping units that the map itself takes, which come behind those of the host: its translation pages,
    /// if it is on flash.
    pub(crate) fn map_units(&self) -> u64 {
        self.map_units_of(self.logical_pages())
    }
    /// What the cache of a map on flash is divided into; none of a map in memory, or of a cache that is too
    /// small.
    pub(crate) fn map_sizes(&self) -> Option<MapSizes> {
        let MapKind::DemandPaged(cache) = self.map else { return None };
        let workers = u32::from(self.slice_workers).max(self.pages_at_once());
        cache.sizes(&self.geometry, self.logical_units(), self.pins(), workers)
    }
    /// The cache of a map on flash.
    pub(crate) fn map_cache(&self) -> Option<MapCache> {
        match self.map {
            MapKind::Resident => None,
            MapKind::DemandPaged(cache) => Some(cache),
        }
    }
    /// Garbage collection of a LUN begins when it has so many free blocks or fewer: no later than when the
    /// host has none.
    pub(crate) fn collects_at(&self) -> u32 {
        self.gc_free_blocks.max(self.gc_reserve_blocks + self.mapping_reserve_blocks())
    }
    /// Free blocks of a LUN that are kept for translation pages.
    pub(crate) fn mapping_reserve_blocks(&self) -> u32 {
        u32::from(self.map_cache().is_some())
    }
    /// How pages are divided into mapping units.
    pub(crate) const fn units(&self) -> UnitShape {
        UnitShape::new(self.geometry.page_bytes, self.unit_bytes())
    }
    /// Bytes of a mapping unit.
    pub const fn unit_bytes(&self) -> u32 {
        match self.mapping_unit_bytes {
            0 => self.geometry.page_bytes,
            bytes if bytes > self.geometry.page_bytes => self.geometry.page_bytes,
            bytes => bytes,
        }
    }
    /// Mapping units that the array has room for.
    pub(crate) fn physical_units(&self) -> u64 {
        self.geometry.total_pages() * u64::from(self.units().per_page())
    }
    /// Bytes of the OOB record that the FTL writes with each page.
    pub const fn oob_bytes(&self) -> usize {
        self.units().oob_bytes()
    }
    /// Bytes that are programmed together at least: a page, or the pages of a word line where those are.
    pub fn program_bytes(&self) -> u32 {
        self.geometry.page_bytes * self.pages_at_once()
    }
    /// Mapping units that the host sees.
    pub fn logical_units(&self) -> u64 {
        self.logical_pages() * u64::from(self.units().per_page())
    }
    /// Flash requests in flight: as many as all workers can send at once, since the order in which requests
    /// are queued is the order of pages in a block.
    pub fn flash_requests(&self) -> u16 {
        // A slice reads the units of a frame from as many pages as they lie in.
        let of_slices = u32::from(self.slice_workers) * self.units().per_page();
        let workers = of_slices + self.geometry.total_luns() * (self.gc_buffers_per_lun() + 4);
        workers.max(self.flash_requests_min()).min(u32::from(u16::MAX)) as u16
    }
    /// Flash requests in flight without which tasks could wait for each other for ever. A request keeps its
    /// place until its task takes the results, and some tasks wait for a place while they have others:
    /// garbage collection for the pages that a LUN moves and the word line that they complete, a flush for a
    /// page of padding per LUN, and the storing of a map for its buffers.
    pub(crate) fn flash_requests_min(&self) -> u32 {
        let of_a_lun = self.gc_buffers_per_lun() + self.pages_at_once() + 1;
        // A map on flash waits for a place for a page that it looks at while it has others ahead, and for a
        // line that it writes.
        let of_map = self.load_buffers() + self.flush_buffers() * (self.pages_at_once() + 1);
        self.geometry.total_luns() * of_a_lun + self.map_buffers() + 1 + of_map
    }
    /// Logical units that are pinned in the mapping at once, at most. A slice pins those of the frame that it
    /// unmaps or fills, and those of the entries that it evicts together; garbage collection pins as many as
    /// its buffers have room for.
    pub(crate) fn pins(&self) -> u32 {
        let of_slices = u32::from(self.slice_workers) * (self.pages_at_once() + 1);
        let of_collectors = self.geometry.total_luns() * self.gc_buffers_per_lun();
        (of_slices + of_collectors) * self.units().per_page()
    }
    /// Data buffers that the DRAM must have: data buffer entries, merge buffers, those in which pages are
    /// packed, garbage collection's, padding, the scan's.
    pub fn data_buffers(&self) -> u32 {
        self.scan_buffer() + 1
    }
    /// Metadata buffers that the DRAM must have: the map's, the log's, one for single pages, and the scan's
    /// if there is one.
    pub fn metadata_buffers(&self) -> u32 {
        let own_gc = u32::from(self.map_cache().is_some()) * self.geometry.total_luns();
        self.load_buffer_base() + self.load_buffers() + self.flush_buffers() + own_gc
    }
    fn load_buffer_base(&self) -> u32 {
        self.map_buffers() + 2 + u32::from(self.scan_interval > Duration::ZERO)
    }
    /// Metadata buffers that translation pages are read into.
    pub(crate) fn load_buffers(&self) -> u32 {
        u32::from(self.map_cache().is_some()) * self.geometry.total_luns().min(LOADS_MAX)
    }
    /// Metadata buffers that translation pages are written from, each by a task of its own.
    pub(crate) fn flush_buffers(&self) -> u32 {
        u32::from(self.map_cache().is_some()) * self.geometry.total_luns().min(FLUSHES_MAX)
    }
    /// The `n`th metadata buffer that a translation page is read into.
    pub(crate) fn load_buffer(&self, n: u32) -> u32 {
        self.load_buffer_base() + n
    }
    /// The `n`th metadata buffer that a translation page is written from.
    pub(crate) fn flush_buffer(&self, n: u32) -> u32 {
        self.load_buffer_base() + self.load_buffers() + n
    }
    /// The metadata buffer in which garbage collection of a LUN moves a translation page; none where the map
    /// has none.
    pub(crate) fn own_gc_buffer(&self, lun: LunIndex) -> Option<u32> {
        self.map_cache().map(|_| self.flush_buffer(self.flush_buffers()) + lun.0)
    }
    /// Metadata buffers in which pages of the map are made: one a LUN, and a whole line at least.
    pub(crate) fn map_buffers(&self) -> u32 {
        self.geometry.total_luns().max(self.pages_at_once())
    }
    /// The metadata buffer in which log pages are made.
    pub(crate) fn log_buffer(&self) -> u32 {
        self.map_buffers()
    }
    /// The metadata buffer for single pages.
    pub(crate) fn scratch_buffer(&self) -> u32 {
        self.map_buffers() + 1
    }
    /// The metadata buffer that the scan reads into.
    pub(crate) fn metadata_scan_buffer(&self) -> u32 {
        self.map_buffers() + 2
    }
    /// Pages whose programs begin together.
    pub(crate) fn pages_at_once(&self) -> u32 {
        if self.whole_lines { u32::from(self.pages_per_word_line) } else { 1 }
    }
    /// The data buffer whose page completes word lines.
    pub(crate) fn padding_buffer(&self) -> u32 {
        self.gc_buffer(self.geometry.total_luns(), 0)
    }

    /// The data buffer that the scan reads into.
    pub(crate) fn scan_buffer(&self) -> u32 {
        self.padding_buffer() + 1
    }

    /// Buffers in which old and new sectors of a page meet, and in which host data is compared.
    pub(crate) fn merge_buffers(&self) -> u32 {
        u32::from(self.slice_workers).min(MERGE_BUFFERS_MAX)
    }
    /// The first merge buffer.
    pub(crate) fn merge_buffer_base(&self) -> u32 {
        self.buffer_entries
    }
    /// Buffers in which units of several frames are packed into a page; none where a unit is a page.
    pub(crate) fn packing_buffers(&self) -> u32 {
        match self.units().per_page() {
            1 => 0,
            _ => self.merge_buffers().max(self.pages_at_once()),
        }
    }
    /// The first packing buffer.
    pub(crate) fn packing_buffer_base(&self) -> u32 {
        self.buffer_entries + self.merge_buffers()
    }
    /// Buffers that garbage collection of a LUN has: one for each page that it has in flight, and where pages
    /// are packed, one for the page that is being packed and one for the page after that.
    pub(crate) fn gc_buffers_per_lun(&self) -> u32 {
        let packs = self.units().per_page() > 1;
        u32::from(self.gc_depth) + if packs { 2 } else { 0 }
    }
    /// Garbage collection's `slot`th buffer for `lun`.
    pub(crate) fn gc_buffer(&self, lun: u32, slot: u32) -> u32 {
        self.packing_buffer_base() + self.packing_buffers() + lun * self.gc_buffers_per_lun() + slot
    }
    /// Entries that may be dirty. The others stay free for reads when nothing can be evicted any more.
    pub fn dirty_max(&self) -> u32 {
        self.buffer_entries - (self.buffer_entries / 16).max(1)
    }
    /// Whether garbage collection goes at the host's pace, and who waits is served in order.
    pub(crate) fn is_paced(&self) -> bool {
        self.collection == Collection::Paced
    }
}
