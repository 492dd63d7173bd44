use crate::terms::map_cache::{MapCache, MapKind, MapSizes};
use crate::terms::oob::OOB_BYTES;
use crate::terms::sizes::ROOT_BYTES;
use crate::terms::units::UnitShape;
use aster_parties::Refresh;
use aster_units::{Content, Duration, Geometry, Restriction};

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

/// How the host is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostConfig {
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
    /// Free blocks of a LUN that only garbage collection may take.
    pub reserve_blocks: u32,
    /// Garbage collection begins when a LUN has this many free blocks or fewer.
    pub free_blocks: u32,
    /// Pages that garbage collection of a LUN has in flight, 1 to [`GC_DEPTH_MAX`].
    pub depth: u8,
}

impl GcConfig {
    /// Whether garbage collection goes at the host's pace, and who waits is served in order.
    pub(crate) fn is_paced(&self) -> bool {
        self.collection == Collection::Paced
    }
}

/// Pages that a word line has, and whether they are programmed together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineConfig {
    /// Pages that lie on one word line, one after the other in a block, if a program that is cut off takes
    /// those before it on its line along; 1 if it doesn't. 1 to 4.
    pub pages: u16,
    /// Programs begin a word line at a time, completed with padding: what is below packs them into one
    /// operation (C83, G8).
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
    /// How blocks are worn alike.
    pub wear_levelling: WearLevelling,
    /// When data is written anew before it fades.
    pub refresh: Refresh,
    /// A block is retired when a page in it can't be corrected, twice in a row (S12).
    pub retire_uncorrectable: bool,
    /// One page is read each time so much has passed, to find data that fades; zero for never.
    pub scan_interval: Duration,
    /// The pause after each page moved for wear or refresh, while the LUN has room, and before each copy that
    /// the host doesn't pay for where collection is paced.
    pub background_gap: Duration,
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
    /// How the host is served.
    pub host: HostConfig,
    /// When garbage collection runs, and with how much at once.
    pub gc: GcConfig,
    /// Pages that a word line has, and whether they are programmed together.
    pub lines: LineConfig,
    /// The map is stored after so many pages of data were programmed; 0 for 256 times as many as the map
    /// takes.
    pub checkpoint_pages: u32,
    /// What the drive does for its data and its blocks while it has time.
    pub care: CareConfig,
    /// What firmware steps cost.
    pub costs: FtlCosts,
}

/// Bytes of a mapping unit at least: a logical block of the smallest format.
pub const MAPPING_UNIT_MIN: u32 = 512;
/// Mapping units of a page at most: a page's OOB record, of 10 bytes for each, must leave room for parity.
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
/// Copies of a log page at least: of two, one may become unreadable.
const LOG_COPIES_MIN: u16 = 2;
/// Pages that garbage collection of a LUN has in flight at most.
pub const GC_DEPTH_MAX: u8 = 16;
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
    /// Garbage collection of a LUN begins when it has so many free blocks or fewer: no later than when the
    /// host has none.
    pub(crate) fn collects_at(&self) -> u32 {
        self.gc.free_blocks.max(self.gc.reserve_blocks + self.mapping_reserve_blocks())
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
        self.geometry.page_bytes * self.lines.at_once()
    }
    /// Mapping units that the host sees.
    pub fn logical_units(&self) -> u64 {
        self.logical_pages() * u64::from(self.units().per_page())
    }
    /// Flash requests in flight: as many as all workers can send at once, since the order in which requests
    /// are queued is the order of pages in a block.
    pub fn flash_requests(&self) -> u16 {
        // A slice reads the units of a frame from as many pages as they lie in.
        let of_slices = u32::from(self.host.slice_workers) * self.units().per_page();
        let workers = of_slices + self.geometry.total_luns() * (self.buffers().gc_of_a_lun() + 4);
        workers.max(self.flash_requests_min()).min(u32::from(u16::MAX)) as u16
    }
    /// Flash requests in flight without which tasks could wait for each other for ever. A request keeps its
    /// place until its task takes the results, and some tasks wait for a place while they have others:
    /// garbage collection for the pages that a LUN moves and the word line that they complete, a flush for a
    /// page of padding per LUN, and the storing of a map for its buffers.
    pub(crate) fn flash_requests_min(&self) -> u32 {
        let of_a_lun = self.buffers().gc_of_a_lun() + self.lines.at_once() + 1;
        // A map on flash waits for a place for a page that it looks at while it has others ahead, and for a
        // line that it writes.
        let of_map = self.buffers().loads() + self.buffers().flushes() * (self.lines.at_once() + 1);
        self.geometry.total_luns() * of_a_lun + self.buffers().map() + 1 + of_map
    }
    /// Logical units that are pinned in the mapping at once, at most. A slice pins those of the frame that it
    /// unmaps or fills, and those of the entries that it evicts together; garbage collection pins as many as
    /// its buffers have room for.
    pub(crate) fn pins(&self) -> u32 {
        let of_slices = u32::from(self.host.slice_workers) * (self.lines.at_once() + 1);
        let of_collectors = self.geometry.total_luns() * self.buffers().gc_of_a_lun();
        (of_slices + of_collectors) * self.units().per_page()
    }
}
