//! All bounds of its configuration that the FTL relies on.

use crate::terms::config::{
    Capacity, FtlConfig, GC_DEPTH_MAX, MAPPING_UNIT_MIN, Pools, STREAMS_MAX, UNITS_PER_PAGE_MAX,
    WearLevelling,
};
use crate::terms::config_error::ConfigError;
use crate::terms::map_cache::{MapCache, MapKind};
use crate::terms::sizes::{MAP_BLOCKS_MAX, MAP_ENTRY_BYTES, PAGES_PER_WORD_LINE_MAX};
use aster_units::{Content, Geometry, SECTOR_BYTES};

const LOG_LINES_MIN: u64 = 8;
/// The most slices in progress if the map is on flash: rows pinned by several of them are counted in a list
/// that is searched linearly.
const MAP_WORKERS_MAX: u16 = 1024;
/// The most bytes of a map cache.
const MAP_CACHE_MAX: u64 = 1 << 40;

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
        check(
            self.restriction().holds(&self.planes().lun_geometry()),
            "geometry",
            "within the packages' array",
        )?;
        check((4..=1 << 24).contains(&self.host.buffer_entries), "buffer_entries", "from 4 to 16777216")?;
        check((1..=4096).contains(&self.host.slice_workers), "slice_workers", "from 1 to 4096")?;
        check(self.host.command_slots > 0, "command_slots", "at least 1")?;
        check((1..=GC_DEPTH_MAX).contains(&self.gc.depth), "gc_depth", "from 1 to 16")?;
        check(
            u32::from(self.gc.depth) >= self.lines.at_once(),
            "gc_depth",
            "at least as many as a word line has pages where whole lines are programmed",
        )?;
        check(self.gc.reserve_blocks > 0, "gc_reserve_blocks", "at least 1")?;
        check(
            (self.gc.reserve_blocks..self.geometry.blocks_per_lun).contains(&self.gc.free_blocks),
            "gc_free_blocks",
            "at least gc_reserve_blocks and below blocks_per_lun",
        )?;
        check(
            !matches!(self.care.wear_levelling, WearLevelling::Static { spread: 0 }),
            "wear_spread",
            "at least 1",
        )?;
        check(
            self.care.refresh.corrected <= self.care.refresh.correctable,
            "refresh",
            "at most as many wrong bits as can be corrected",
        )?;
        check(
            (1..=PAGES_PER_WORD_LINE_MAX as u16).contains(&self.lines.pages),
            "pages_per_word_line",
            "from 1 to 4",
        )?;
        check((1..=STREAMS_MAX).contains(&self.streams), "streams", "from 1 to 16")?;
        check(
            u32::from(self.geometry.pages_per_block).is_multiple_of(self.lines.at_once()),
            "pages_per_block",
            "a multiple of pages_per_word_line where whole lines are programmed",
        )?;
        check(
            self.areas().log_lines() >= LOG_LINES_MIN,
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
            self.areas().map_blocks() as usize <= MAP_BLOCKS_MAX,
            "geometry",
            "such that the stored map fits the blocks that a root record lists",
        )?;
        check(
            self.areas().free_list_max() > 0,
            "geometry",
            "such that a page of the log holds the lists of all LUNs: larger pages, or fewer LUNs",
        )?;
        self.check_map()?;
        self.check_pool()?;
        let (needed, available) = (self.areas().blocks_needed_per_pool(), self.geometry.blocks_per_lun);
        let needed = needed.div_ceil(self.luns_per_pool().into());
        if !self.areas().has_blocks() {
            let with = |blocks_per_lun| {
                let geometry = Geometry { blocks_per_lun, ..self.geometry };
                FtlConfig { geometry, ..*self }.areas().has_blocks()
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
    fn check_pool(&self) -> Result<(), ConfigError> {
        let check = |ok, key, must| if ok { Ok(()) } else { Err(ConfigError::Range { key, must }) };
        check(
            self.pools == Pools::PerLun || self.map == MapKind::Resident,
            "placement",
            "one that ties each page to a LUN where the map is paged on demand, not \"striped\"",
        )
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
            self.host.slice_workers <= MAP_WORKERS_MAX,
            "slice_workers",
            "at most 1024 where the map is paged on demand",
        )?;
        match self.map_sizes() {
            Some(_) => Ok(()),
            None => {
                // If the drive is too full in any case, the next check reports that.
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
        // More bytes are never worse, so a binary search finds the fewest.
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
    /// The part of a LUN's closed blocks that is valid once the drive is full.
    fn full(&self) -> f64 {
        let kept = self.gc.reserve_blocks + self.mapping_reserve_blocks() + self.further_streams() + 1;
        let closed = self.areas().data_blocks_per_lun().saturating_sub(kept.into());
        let pages = (self.logical_pages() + self.map_units()).div_ceil(self.geometry.total_luns().into());
        pages as f64 / (closed * u64::from(self.geometry.pages_per_block)) as f64
    }
    /// The valid part at which collecting gains no room, since it costs as many translation pages. There is
    /// no such limit if memory has room for all units or the map is in memory.
    fn full_max(&self) -> f64 {
        match self.map_sizes() {
            Some(sizes) if u64::from(sizes.host_rows) < self.logical_units() => sizes.full_max(),
            _ => f64::INFINITY,
        }
    }
}
