use crate::terms::map_cache::{MapCache, MapKind, MapSizes};
use crate::terms::oob::OOB_BYTES;
use crate::terms::sizes::ROOT_BYTES;
use crate::terms::units::UnitShape;
use aster_parties::Refresh;
use aster_units::{Content, Duration, Geometry, Restriction};

/// How many pages the host sees.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Capacity {
    /// Exactly this many pages' worth of mapping units.
    Pages(u32),
    /// As many as leave this much spare space: physical data pages divided by logical pages, minus one, in
    /// percent (P5, G12).
    OverProvisioning(f64),
}

/// How wear is levelled (C93).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WearLevelling {
    /// Free blocks are written in the order in which they were erased.
    #[default]
    None,
    /// The host's data goes to the least worn free block, and garbage collection's copies go to the most
    /// worn.
    Dynamic,
    /// As `Dynamic`, and cold data moves out of blocks with little wear.
    Static {
        /// How many erases a block with data may be behind the LUN's most worn block; at least 1.
        spread: u32,
    },
}

/// Which LUNs share their spare blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pools {
    /// Each LUN is a pool of its own: a logical page belongs to a LUN, and garbage collection copies within
    /// it.
    #[default]
    PerLun,
    /// All LUNs are one pool: the LUN is chosen whenever a page is programmed.
    One,
}

/// How garbage collection and the host share the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Collection {
    /// A victim is emptied as fast as flash permits. A task that waits for room or for a data buffer entry
    /// competes with later ones.
    #[default]
    OnDemand,
    /// The host pays for copies with the pages that it programs, and waiting tasks are served in the order of
    /// arrival.
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

/// What a read of an unmapped logical page does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FirstAccess {
    /// Nothing: it returns zeroes.
    #[default]
    Zeroes,
    /// It assigns a place, as a write of zeroes does (S26).
    Assigns,
}

/// How the host is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostConfig {
    /// Entries of the data buffer, one page each.
    pub buffer_entries: u32,
    /// Slices in progress at once.
    pub slice_workers: u16,
    /// Command slots of the front end: command identifiers are below this.
    pub command_slots: u16,
    /// The front end completes reads, and writes without force unit access, as soon as all their data has
    /// been moved (P13). A flush that the host sends then must include such writes, so it waits for all
    /// earlier ones.
    pub auto_completion: bool,
    /// Read only the sectors asked for, not the whole page.
    pub partial_reads: bool,
    /// What a read of an unmapped logical page does.
    pub first_access: FirstAccess,
}

impl HostConfig {
    /// Entries that may be dirty. The others stay free for reads when nothing can be evicted any more.
    pub fn dirty_max(&self) -> u32 {
        self.buffer_entries - (self.buffer_entries / 16).max(1)
    }
}

/// When garbage collection runs, and with how much at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GcConfig {
    /// How garbage collection and the host share the drive.
    pub collection: Collection,
    /// Free blocks of a LUN that only garbage collection may take, if the LUN is a pool of its own.
    pub reserve_blocks: u32,
    /// Garbage collection begins when a LUN that is a pool of its own has this many free blocks or fewer. A
    /// pool of several begins as many blocks above its reserve.
    pub free_blocks: u32,
    /// Pages that garbage collection of a LUN has in flight, 1 to [`GC_DEPTH_MAX`].
    pub depth: u8,
}

impl GcConfig {
    /// Whether garbage collection runs at the host's pace and waiting tasks are served in order.
    pub(crate) fn is_paced(&self) -> bool {
        self.collection == Collection::Paced
    }
}

/// Pages that a word line has, and whether they are programmed together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineConfig {
    /// The number of consecutive pages of a block that lie on one word line, if a program that is cut off
    /// destroys the earlier pages of its line; 1 if it doesn't. From 1 to 4.
    pub pages: u16,
    /// A word line at a time is programmed, completed with padding: the layer below packs the programs into
    /// one operation (C83, G8).
    pub whole: bool,
}

impl LineConfig {
    /// Pages whose programs begin together.
    pub(crate) fn at_once(&self) -> u32 {
        if self.whole { u32::from(self.pages) } else { 1 }
    }
    /// Copies of a log page, one word line in all.
    pub(crate) fn log_copies(&self) -> u32 {
        u32::from(self.pages.max(LOG_COPIES_MIN))
    }
}

/// What the drive does for its data and its blocks while it has time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CareConfig {
    /// How wear is levelled.
    pub wear_levelling: WearLevelling,
    /// When data is rewritten before it fades.
    pub refresh: Refresh,
    /// A block is retired if one of its pages can't be corrected twice in a row (S12).
    pub retire_uncorrectable: bool,
    /// One page is read at this interval to find data that fades; zero for never.
    pub scan_interval: Duration,
    /// The pause after each page that is moved for wear or refresh, while the LUN has room. With paced
    /// collection it is also the pause before each copy that the host doesn't pay for.
    pub background_gap: Duration,
}

/// Everything that can be chosen about the FTL. Checked by [`FtlConfig::validate`], constant afterwards.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FtlConfig {
    /// The array that the firmware uses; with [`FtlConfig::allocating_planes`] each plane is a LUN in it.
    pub geometry: Geometry,
    /// Planes of a LUN that are allocated one by one; 1 if a LUN is allocated as a whole.
    pub planes_apart: u8,
    /// Where the array's pages lie in the packages, if it is smaller than these (C31).
    pub restriction: Option<Restriction>,
    /// How data buffers keep content.
    pub content: Content,
    /// Bytes of a mapping unit, from 512 to a page; 0 for a page. A page has a power of two of them, and each
    /// is a multiple of the smallest piece of content.
    pub mapping_unit_bytes: u32,
    /// Where the map is.
    pub map: MapKind,
    /// Which LUNs share their spare blocks.
    pub pools: Pools,
    /// Logical capacity.
    pub capacity: Capacity,
    /// How the host is served.
    pub host: HostConfig,
    /// When garbage collection runs, and with how much at once.
    pub gc: GcConfig,
    /// Streams of what the host writes, from 1 to [`STREAMS_MAX`]: each fills a block of its own in a LUN.
    pub streams: u8,
    /// Pages that a word line has, and whether they are programmed together.
    pub lines: LineConfig,
    /// The map is stored after this many pages of data have been programmed; 0 for 256 times as many as the
    /// map takes.
    pub checkpoint_pages: u32,
    /// What the drive does for its data and its blocks while it has time.
    pub care: CareConfig,
    /// What firmware steps cost.
    pub costs: FtlCosts,
}

/// The fewest bytes of a mapping unit: a logical block of the smallest format.
pub const MAPPING_UNIT_MIN: u32 = 512;
/// The most mapping units of a page: a page's OOB record, with 10 bytes for each, must leave room for parity.
pub(crate) const UNITS_PER_PAGE_MAX: u32 = 16;
/// Bytes of the OOB record of a page of `page_bytes` with mapping units of `unit_bytes`; 0 for a page. If a
/// configuration would refuse these units, it is the record of a page that is one unit.
pub fn oob_bytes(page_bytes: u32, unit_bytes: u32) -> usize {
    let units = page_bytes.checked_div(unit_bytes).unwrap_or(1);
    match page_bytes == units * unit_bytes && units.is_power_of_two() && units <= UNITS_PER_PAGE_MAX {
        true => UnitShape::new(page_bytes, unit_bytes).oob_bytes(),
        false => OOB_BYTES,
    }
}
/// The fewest copies of a log page: of two, one may become unreadable.
const LOG_COPIES_MIN: u16 = 2;
/// The most streams of what the host writes.
pub const STREAMS_MAX: u8 = 16;
/// The most pages that a LUN's garbage collection has in flight.
pub const GC_DEPTH_MAX: u8 = 16;
/// LUNs of a pool for each block of its reserve beyond that of a pool of one LUN.
const LUNS_PER_RESERVED: u32 = 4;
/// Bytes of NVRAM, from 0 on, that the FTL keeps its root record in (twice).
pub const NVRAM_BYTES: usize = 2 * ROOT_BYTES;

impl FtlConfig {
    /// Where the array's pages lie in the packages.
    pub fn restriction(&self) -> Restriction {
        self.restriction.unwrap_or(Restriction::none(self.planes().lun_geometry()))
    }
    /// Pages' worth of mapping units that the host sees.
    pub fn logical_pages(&self) -> u64 {
        match self.capacity {
            Capacity::Pages(pages) => u64::from(pages),
            Capacity::OverProvisioning(percent) => {
                let pages = (self.areas().data_pages() as f64 / (1.0 + percent / 100.0)) as u64;
                // The map's own pages belong to the drive.
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
    /// Mapping units that the map itself takes: its translation pages, if it is on flash. They come after
    /// those of the host.
    pub(crate) fn map_units(&self) -> u64 {
        self.map_units_of(self.logical_pages())
    }
    /// What the cache of a map on flash is divided into; `None` if the map is in memory or the cache is too
    /// small.
    pub(crate) fn map_sizes(&self) -> Option<MapSizes> {
        let MapKind::DemandPaged(cache) = self.map else { return None };
        let workers = u32::from(self.host.slice_workers).max(self.lines.at_once());
        cache.sizes(&self.geometry, self.logical_units(), self.pins(), workers)
    }
    /// The cache of a map on flash.
    pub(crate) fn map_cache(&self) -> Option<MapCache> {
        match self.map {
            MapKind::Resident => None,
            MapKind::DemandPaged(cache) => Some(cache),
        }
    }
    /// Free blocks of a pool that only garbage collection may take. Where several victims of a pool are in
    /// work, each needs room for what it has yet to copy, and programs may fail in several LUNs at a time.
    pub fn pool_reserve_blocks(&self) -> u32 {
        match self.pools {
            Pools::PerLun => self.gc.reserve_blocks,
            Pools::One => self.gc.reserve_blocks + self.geometry.total_luns().div_ceil(LUNS_PER_RESERVED),
        }
    }
    /// LUNs of a pool.
    pub fn luns_per_pool(&self) -> u32 {
        match self.pools {
            Pools::PerLun => 1,
            Pools::One => self.geometry.total_luns(),
        }
    }
    /// Garbage collection of a LUN begins when it has this many free blocks or fewer: at the latest when none
    /// is left for the host.
    pub(crate) fn collects_at(&self) -> u32 {
        let beside = self.pool_reserve_blocks() - self.gc.reserve_blocks;
        self.gc.free_blocks.max(self.gc.reserve_blocks + self.mapping_reserve_blocks()) + beside
    }
    /// Free blocks of a LUN that are kept for translation pages.
    pub(crate) fn mapping_reserve_blocks(&self) -> u32 {
        u32::from(self.map_cache().is_some())
    }
    /// Streams of the host beyond the first.
    pub(crate) fn further_streams(&self) -> u32 {
        u32::from(self.streams).saturating_sub(1)
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
    /// The fewest bytes that are programmed together: a page, or a word line's pages if these are programmed
    /// together.
    pub fn program_bytes(&self) -> u32 {
        self.geometry.page_bytes * self.lines.at_once()
    }
    /// Mapping units that the host sees.
    pub fn logical_units(&self) -> u64 {
        self.logical_pages() * u64::from(self.units().per_page())
    }
    /// Flash requests in flight: as many as all workers can send at once, since the order in which requests
    /// are queued is the order of pages in a block.
    pub fn flash_requests(&self) -> u16 {
        // A slice may have to read each unit of a frame from a different page.
        let of_slices = u32::from(self.host.slice_workers) * self.units().per_page();
        let workers = of_slices + self.geometry.total_luns() * (self.buffers().gc_of_a_lun() + 4);
        workers.max(self.flash_requests_min()).min(u32::from(u16::MAX)) as u16
    }
    /// The fewest flash requests in flight with which tasks can't deadlock. A request keeps its place until
    /// its task takes the results, and some tasks wait for a place while they hold others: garbage collection
    /// for the pages that a LUN moves and the word line that they complete, a flush for a padding page per
    /// LUN, and the storing of a map for its buffers.
    pub(crate) fn flash_requests_min(&self) -> u32 {
        let of_a_lun = self.buffers().gc_of_a_lun() + self.lines.at_once() + 1;
        // A map on flash waits for a place for a translation page while it reads others ahead, and for a word
        // line that it writes.
        let of_map = self.buffers().loads() + self.buffers().flushes() * (self.lines.at_once() + 1);
        self.geometry.total_luns() * of_a_lun + self.buffers().map() + 1 + of_map
    }
    /// The most logical units that are pinned in the mapping at once. A slice pins the units of the frame
    /// that it unmaps or fills, and those of the entries that it evicts together. Garbage collection pins as
    /// many as its buffers have room for.
    pub(crate) fn pins(&self) -> u32 {
        let of_slices = u32::from(self.host.slice_workers) * (self.lines.at_once() + 1);
        let of_collectors = self.geometry.total_luns() * self.buffers().gc_of_a_lun();
        (of_slices + of_collectors) * self.units().per_page()
    }
}
