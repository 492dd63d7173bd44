//! The keys. Times carry their unit in the key's name; sizes are bytes unless the name says otherwise.

use super::board::{EmmcProfile, PowerProfile, ThermalProfile};
use super::capacity::NamedCapacity;
use super::cores::CoresProfile;
use super::costs::CostsProfile;
use super::ecc::EccProfile;
use super::ftl::{CollectionName, FirstAccessName, MappingName, TableBlocksName};
use super::host::{HostProfile, NVME_SOFTWARE};
use super::package::PackageProfile;
use super::scheduler::SchedulerProfile;
use super::target::TargetProfile;
use aster_units::{CellMode, Content, Geometry, Restriction};
use serde::{Deserialize, Serialize};

/// One SSD.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What the drive is, for people.
    pub description: String,
    /// How page content is kept; a run may override it.
    #[serde(default)]
    pub content: ContentKind,
    /// Decides every seeded choice: deviations, bad blocks, bit errors.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The NAND array.
    pub geometry: GeometryProfile,
    /// Use less than the whole array (C31).
    #[serde(default)]
    pub restrict: RestrictProfile,
    /// The NAND package.
    pub package: PackageProfile,
    /// Channel bus and controller.
    pub channel: ChannelProfile,
    /// Error correction and page format.
    pub ecc: EccProfile,
    /// Memories of the board.
    pub board: BoardProfile,
    /// The host link.
    pub link: LinkProfile,
    /// Processor cores.
    pub cores: CoresProfile,
    /// Cycles that firmware spends; all zero when absent.
    #[serde(default)]
    pub costs: CostsProfile,
    /// Flash scheduler.
    #[serde(default)]
    pub scheduler: SchedulerProfile,
    /// Status polling.
    #[serde(default)]
    pub poll: PollProfile,
    /// Flash translation layer.
    pub ftl: FtlProfile,
    /// Front end; most keys are those of an NVMe controller.
    pub host: HostProfile,
    /// An FTL on the host, which makes blocks of a drive that has none of its own. Absent, the host sees the
    /// drive itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetProfile>,
    /// Keys for pieces of your own, which get them unchecked. Without such a piece the table is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<toml::Table>,
}

fn default_seed() -> u64 {
    1
}

/// See [`Content`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentKind {
    /// Every byte.
    #[default]
    Full,
    /// One tag per 4 KiB sector.
    Fingerprint,
}

impl From<ContentKind> for Content {
    fn from(kind: ContentKind) -> Content {
        match kind {
            ContentKind::Full => Content::Full,
            ContentKind::Fingerprint => Content::Fingerprint,
        }
    }
}

/// Shape of the array.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GeometryProfile {
    /// Channels.
    pub channels: u16,
    /// Chip enables per channel.
    pub ways: u8,
    /// LUNs per chip enable.
    #[serde(default = "one")]
    pub luns: u8,
    /// Planes per LUN.
    #[serde(default = "one")]
    pub planes: u8,
    /// What the host sees, by name, as `"512 GB"`; absent, it follows from the blocks and the spare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<NamedCapacity>,
    /// Blocks per LUN, all planes together; 0 for the fewest that `capacity` takes.
    #[serde(default)]
    pub blocks_per_lun: u32,
    /// Pages per block.
    pub pages_per_block: u16,
    /// Data bytes per page.
    pub page_bytes: u32,
    /// Spare bytes per page.
    pub spare_bytes: u16,
}

fn one() -> u8 {
    1
}

/// Capacity restriction (C31): the part of the array that the firmware uses. Absent keys restrict nothing.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RestrictProfile {
    /// Channels used.
    pub channels: Option<u16>,
    /// Ways used per channel.
    pub ways: Option<u8>,
    /// Planes used per LUN.
    pub planes: Option<u8>,
    /// Blocks used per LUN, all used planes together; all blocks of these planes when absent.
    pub blocks_per_lun: Option<u32>,
    /// Pages used per block: its first ones, or its first LSB pages.
    pub pages_per_block: Option<u16>,
    /// SLC mode of cells with more bits: only LSB pages are used, one per word line of a block.
    #[serde(default)]
    pub lsb_pages: bool,
}

/// ONFI data interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataModeName {
    /// Asynchronous.
    Sdr,
    /// Source synchronous with a clock.
    NvDdr,
    /// Source synchronous without a clock; toggle mode.
    NvDdr2,
}

/// Kinds of channel controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControllerName {
    /// Flash operations in software, on a core (B1).
    #[default]
    Software,
    /// In hardware: one operation module per LUN and an arbiter (B29, BABOL's Fig 4).
    Synchronous,
    /// In hardware: control words, filters and a dispatcher (B29, Cosmos+, C14).
    Asynchronous,
}

/// Channel bus and controller.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelProfile {
    /// What drives the channel. A hardware controller takes no core's time.
    #[serde(default)]
    pub controller: ControllerName,
    /// Data interface after bring-up.
    pub data_interface: DataModeName,
    /// ONFI timing mode of that interface.
    pub timing_mode: u8,
    /// Highest bus rate in millions of bytes per second; what the timing mode allows when absent.
    #[serde(default)]
    pub rate_mt_s: Option<u32>,
    /// Controller clock period in nanoseconds.
    #[serde(default = "default_clock")]
    pub clock_ns: f64,
    /// Cycles from a pushed transaction to its first bus cycle.
    #[serde(default = "two")]
    pub fifo_cycles: u32,
    /// Cycles between two transactions.
    #[serde(default = "two")]
    pub gap_cycles: u32,
    /// Consecutive channels that are the lanes of one array controller (G24), up to 8. With
    /// `cores.flash_core` each controller has a core for their flash operations. What a command of a drive
    /// without a map names at one page of several lanes is one operation. The message unit takes them for the
    /// lanes of one of its channels: when absent, as many as divide the channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u8>,
}

fn default_clock() -> f64 {
    10.0
}
fn two() -> u32 {
    2
}

fn yes() -> bool {
    true
}

/// Memories of the board.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BoardProfile {
    /// DRAM bandwidth in MB/s (10⁶ bytes), 0 for unlimited.
    pub dram_mb_per_s: u64,
    /// Nanoseconds that the big loop's core waits for a word of uncached memory, such as a completion flag.
    #[serde(default)]
    pub uncached_ns: u32,
    /// The NVRAM has a capacitor: it keeps its content when power is lost without a shutdown.
    #[serde(default)]
    pub nvram_kept: bool,
    /// Buses between DRAM, processor and controllers.
    #[serde(default)]
    pub buses: BusesProfile,
    /// What the PCIe function tells its host of its power; nothing when absent (H4).
    pub power: Option<PowerProfile>,
    /// How warm the drive gets, from the energy of what it does; 25 °C for ever when absent (H1).
    pub thermal: Option<ThermalProfile>,
    /// An eMMC, in which a map on flash keeps the places of its translation pages, twice; none when absent
    /// (S24).
    pub emmc: Option<EmmcProfile>,
}

/// The buses of Table 6 (C55) beside DRAM and the flash bus; MB/s are 10⁶ bytes, 0 for unlimited. Under the
/// big loop the core's register accesses and the controllers' completion flags contend for buses 9 to 11. The
/// core's reads of those flags contend with all other DRAM accesses. Only the core uses bus 7, so it only
/// adds latency.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusesProfile {
    /// Bus 1: memory controller to memory interconnect.
    pub memory_mb_per_s: u64,
    /// Bus 2: memory interconnect to host interface controller.
    pub host_mb_per_s: u64,
    /// Bus 3: memory interconnect to the channels' interconnect.
    pub channels_mb_per_s: u64,
    /// Bus 4: that interconnect to one channel controller.
    pub channel_mb_per_s: u64,
    /// Data of pages that are read, on their way from a channel controller to bus 4; 0 when that bus alone
    /// limits them.
    pub channel_read_mb_per_s: f64,
    /// Data of pages that are programmed, on their way from bus 4 to a channel controller; 0 as above.
    pub channel_write_mb_per_s: f64,
    /// Bus 6: processor to memory controller, for uncached memory.
    pub processor_memory_mb_per_s: u64,
    /// Bus 8: central interconnect to memory controller, the controllers' completion flags.
    pub central_memory_mb_per_s: u64,
    /// Bus 7: processor to central interconnect, MHz.
    pub processor_mhz: f64,
    /// Bus 9: central interconnect to the control path's, MHz.
    pub central_mhz: f64,
    /// Buses 10 and 11: the control path's interconnect to the controllers' registers, MHz.
    pub control_mhz: f64,
    /// Average cycles of a word on each of buses 7, 9 and 10 or 11, one way; a register access of the
    /// firmware, under the big loop or to `host.command_fifo`, waits for both ways.
    pub register_cycles: f64,
}

/// The host link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkProfile {
    /// PCIe generation, 1 to 5.
    pub generation: u8,
    /// Lanes.
    pub lanes: u8,
    /// No limit to the bytes per second: a transfer takes `latency_ns` alone, which must then be above 0,
    /// since with commands that take no time a job with a time limit would run for ever.
    #[serde(default)]
    pub unlimited: bool,
    /// One way through link and root complex, nanoseconds.
    #[serde(default)]
    pub latency_ns: u32,
    /// Payload bytes per packet.
    #[serde(default = "default_payload")]
    pub packet_payload: u32,
    /// Header, framing and acknowledgement bytes per packet.
    #[serde(default = "default_overhead")]
    pub packet_overhead: u32,
    /// PCI vendor.
    #[serde(default = "default_vendor")]
    pub vendor_id: u16,
    /// PCI device.
    #[serde(default = "default_device")]
    pub device_id: u16,
}

fn default_payload() -> u32 {
    256
}
fn default_overhead() -> u32 {
    26
}
/// The PCI vendor of our drives.
pub(crate) const VENDOR: u16 = 0x1d1d;
/// The PCI device of our drives.
pub(crate) const DEVICE: u16 = 0xa57e;

fn default_vendor() -> u16 {
    VENDOR
}
fn default_device() -> u16 {
    DEVICE
}

/// The name of Cosmos+'s low-level scheduler among those of `scheduler.policy`.
pub const COSMOS: &str = "cosmos";
/// The name of SoftSSD's flash interface layer among them.
pub const FIL: &str = "fil";
/// The translation that drives have.
pub const PAGE_MAPPING: &str = "page-mapping";
/// The command set of Open-Channel SSD 1.2.
pub const OPEN_CHANNEL_12: &str = "open-channel-1.2";
/// The command set of Open-Channel SSD 2.0.
pub const OPEN_CHANNEL_20: &str = "open-channel-2.0";
/// The front end that takes command frames, `host.front_end`.
pub const MESSAGE_UNIT: &str = "message-unit";
/// The translation without a map, `ftl.kind`.
pub const VECTORS: &str = "vectors";
/// The stream policy of a single stream.
pub const ONE_STREAM: &str = "one";
/// The stream policy that goes by how long ago a page was written last.
pub const UPDATE_DISTANCE: &str = "update-distance";
/// The placement in which all LUNs are one pool.
pub const STRIPED: &str = "striped";
/// The name of the policy that goes by what the host names (NVMe 1.4 §9.3), for `ftl.stream_policy`.
pub const DIRECTIVE: &str = "directive";
/// The victim policy that draws blocks at random, of which it chooses one.
pub const D_CHOICES: &str = "d-choices";
/// The victim policy that looks at the oldest blocks alone.
pub const WINDOWED_GREEDY: &str = "windowed-greedy";
/// The name of the scheduler that serves reads before programs and erases.
pub const READS_FIRST: &str = "reads-first";

/// Status polling.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct PollProfile {
    /// Time between two polls of a busy LUN, nanoseconds.
    pub interval_ns: u32,
    /// How long before the typical time the first poll comes, nanoseconds.
    pub early_ns: u32,
    /// Gives up after this many times the typical time.
    pub patience: u32,
}

impl Default for PollProfile {
    fn default() -> Self {
        PollProfile { interval_ns: 1_000, early_ns: 0, patience: 20 }
    }
}

/// Which LUN a logical page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssignerName {
    /// Consecutive pages go channel after channel (C70, ChPrev).
    #[default]
    ChannelFirst,
    /// Consecutive pages go way after way (WayPrev).
    WayFirst,
    /// Seeded at random, but evenly over many pages (Random).
    Random,
}

impl AssignerName {
    /// As profiles write it.
    pub fn name(self) -> &'static str {
        match self {
            AssignerName::ChannelFirst => "channel-first",
            AssignerName::WayFirst => "way-first",
            AssignerName::Random => "random",
        }
    }
}

/// How blocks are worn alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevellingName {
    /// Free blocks are written in the order in which they were erased.
    None,
    /// The least worn free block is written first.
    Dynamic,
    /// Also moves cold data out of the least worn blocks.
    #[default]
    Static,
}

/// Flash translation layer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FtlProfile {
    /// What turns the host's commands into flash requests: `"page-mapping"`; `"vectors"`, which has no map,
    /// since the host addresses flash (open-channel); or a translation of your own.
    #[serde(default = "default_kind")]
    pub kind: String,
    /// Physical over logical capacity, minus one, in percent.
    pub over_provisioning_percent: f64,
    /// Pages in the data buffer.
    pub buffer_entries: u32,
    /// Slices of commands in progress at once.
    #[serde(default = "default_workers")]
    pub slice_workers: u16,
    /// Bytes that the map knows a place of: a page divided by a power of two, up to 16, and 512 at least; 0
    /// for a page. Smaller ones are packed into pages in the order of their arrival.
    #[serde(default)]
    pub mapping_unit_bytes: u32,
    /// Where the map is: in memory as a whole, on flash with a cache in memory, or where a mapping of a
    /// reader's own, by its name, keeps it.
    #[serde(default)]
    pub mapping: MappingName,
    /// Memory of a map on flash, for changes and for pages of the map; a hundredth of what the whole map
    /// would take, or the least that works, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_cache_bytes: Option<u64>,
    /// Read only the sectors asked for, not the whole page.
    #[serde(default = "yes")]
    pub partial_reads: bool,
    /// What a read does of logical blocks that were never written, or were deallocated: it gives zeroes, or
    /// they get a place on flash as if zeroes had been written, as in the SoftSSD paper's drive.
    #[serde(default)]
    pub first_access: FirstAccessName,
    /// Which LUN a logical page belongs to.
    #[serde(default)]
    pub assigner: AssignerName,
    /// Which LUN a logical page belongs to, by name: an `assigner`, in the place of that key; an order of
    /// channels, ways, dies and planes, such as `"cwdp"`, in which planes are allocated one by one;
    /// `"striped"`, where all LUNs are one pool and the LUN is chosen whenever a page is programmed; or a
    /// placement of a reader's own.
    #[serde(default)]
    pub placement: Option<String>,
    /// Which closed block garbage collection empties next: `"greedy"`, the one with the fewest valid pages;
    /// `"cost-benefit"`, which goes by the age of its data, too; `"d-choices"`, the one with the fewest of
    /// some drawn at random; `"fifo"`, the oldest; `"windowed-greedy"`, the one with the fewest of the
    /// oldest; or a policy of a reader's own.
    #[serde(default = "default_victims")]
    pub victims: String,
    /// Blocks that `"d-choices"` draws, of which it empties one; 10 when absent.
    #[serde(default)]
    pub victim_choices: Option<u32>,
    /// The blocks of a LUN that `"windowed-greedy"` looks at, the oldest ones; 50 when absent.
    #[serde(default)]
    pub victim_window_percent: Option<u32>,
    /// Streams of what the host writes: each fills blocks of its own, so that pages which become stale
    /// together lie together. `stream_policy` chooses the stream of a page.
    #[serde(default = "default_streams")]
    pub streams: u8,
    /// Which stream a page that the host writes belongs to: `"one"` for all; `"update-distance"`, by how much
    /// the host has written since it wrote the page last; `"directive"`, as the host names streams (NVMe 1.4
    /// §9.3): all but the first, which has what it names none for; or a policy of a reader's own.
    #[serde(default = "default_stream_policy")]
    pub stream_policy: String,
    /// Garbage collection begins when a LUN has this many free blocks or fewer; where all LUNs are one pool
    /// (`placement = "striped"`), when the pool has as many and one more for each four LUNs.
    #[serde(default = "default_gc")]
    pub gc_free_blocks: u32,
    /// How garbage collection goes on: as fast as flash permits, or in portions that the host's programs pay
    /// for, with all that wait for room or a buffer entry served in order of arrival.
    #[serde(default)]
    pub collection: CollectionName,
    /// Pages that garbage collection of a LUN has in flight.
    #[serde(default = "default_gc_depth")]
    pub gc_depth: u8,
    /// Pages of data programmed between two stored maps; 0 for 256 times as many as a stored map takes.
    #[serde(default)]
    pub checkpoint_pages: u32,
    /// How the wear of blocks is levelled.
    #[serde(default)]
    pub wear_levelling: LevellingName,
    /// How many erases fewer than the most worn block of its LUN a block with cold data may have.
    #[serde(default = "default_spread")]
    pub wear_spread: u32,
    /// Data are refreshed when a read corrects this share of what the code can; 0 for never.
    #[serde(default = "default_refresh")]
    pub refresh_corrected_percent: u32,
    /// Data are refreshed when their block was read this often; 0 for never.
    #[serde(default = "default_refresh_reads")]
    pub refresh_reads: u32,
    /// A block is retired when a page in it can't be corrected, and still can't be when its data has moved:
    /// as the SoftSSD paper's drive does. Without it such a block is erased and used again.
    #[serde(default)]
    pub retire_uncorrectable: bool,
    /// Interval in microseconds at which the background scan reads a page, to find data with many bit errors;
    /// 0 for no scan.
    #[serde(default)]
    pub scan_us: u32,
    /// Pause after each page that moves for wear levelling or refresh, while its LUN has room; before each
    /// copy that the host doesn't pay for, where collection is paced; also how long the drive must have no
    /// commands before blocks without valid pages are erased; microseconds.
    #[serde(default = "default_gap")]
    pub background_gap_us: u32,
    /// What the host of a drive without a map may do with the first block of each LUN and plane, which is the
    /// Cosmos+ board's bad-block table: all; nothing; or it doesn't see it.
    #[serde(default)]
    pub table_blocks: TableBlocksName,
    /// A drive without a map carries out what a command names at the same page of several planes as one
    /// multi-plane operation. The package must have the command, and channels must be in software.
    #[serde(default)]
    pub mp_native: bool,
    /// A drive of Open-Channel SSD 1.2 takes raw vectors (95h, 96h): pages as they are in the array, without
    /// ECC and scrambler, with the spare area in place of metadata. Channels must be in software.
    #[serde(default)]
    pub raw_vectors: bool,
    /// Chunks of a drive of Open-Channel SSD 2.0 that may be open at a time; 0 for any number.
    #[serde(default)]
    pub open_chunks_max: u32,
}

impl FtlProfile {
    /// The name of the placement.
    pub fn placement(&self) -> &str {
        self.placement.as_deref().unwrap_or(self.assigner.name())
    }
}

fn default_streams() -> u8 {
    1
}
fn default_stream_policy() -> String {
    ONE_STREAM.to_owned()
}
fn default_victims() -> String {
    "greedy".to_owned()
}
fn default_kind() -> String {
    PAGE_MAPPING.to_owned()
}
fn default_spread() -> u32 {
    100
}
fn default_refresh() -> u32 {
    80
}
fn default_refresh_reads() -> u32 {
    100_000
}
fn default_gap() -> u32 {
    1_000
}

fn default_workers() -> u16 {
    256
}
fn default_gc() -> u32 {
    3
}
fn default_gc_depth() -> u8 {
    2
}

impl Profile {
    /// The array that the packages have.
    pub fn array_geometry(&self) -> Geometry {
        let g = &self.geometry;
        Geometry {
            channels: self.restrict.channels.unwrap_or(g.channels),
            ways: self.restrict.ways.unwrap_or(g.ways),
            luns: g.luns,
            planes: g.planes,
            blocks_per_lun: g.blocks_per_lun,
            pages_per_block: g.pages_per_block,
            page_bytes: g.page_bytes,
            spare_bytes: g.spare_bytes,
        }
    }

    /// The array that the firmware uses (C31).
    pub fn used_geometry(&self) -> Geometry {
        let (array, restrict) = (self.array_geometry(), &self.restrict);
        let planes = restrict.planes.unwrap_or(array.planes);
        Geometry {
            planes,
            blocks_per_lun: restrict.blocks_per_lun.unwrap_or_else(|| self.blocks_of_planes(planes)),
            pages_per_block: restrict.pages_per_block.unwrap_or(self.usable_pages()),
            ..array
        }
    }
    /// The array that the host of an open-channel drive addresses: without hidden blocks.
    pub fn addressed_geometry(&self) -> Geometry {
        let used = self.used_geometry();
        let hidden = match self.ftl.table_blocks {
            TableBlocksName::Hide => u32::from(used.planes),
            TableBlocksName::Off | TableBlocksName::Fail => 0,
        };
        Geometry { blocks_per_lun: used.blocks_per_lun.saturating_sub(hidden), ..used }
    }
    /// Whether the host of an open-channel drive addresses chunks (2.0), and not blocks of a plane (1.2).
    pub fn is_of_chunks(&self) -> bool {
        let is_nvme = ["nvme", NVME_SOFTWARE].contains(&self.host.front_end.as_str());
        is_nvme && self.host.command_set == OPEN_CHANNEL_20
    }
    /// Where that array lies in the packages (C31).
    pub fn restriction(&self) -> Restriction {
        let page_step = if self.restrict.lsb_pages { self.cell_mode().bits().into() } else { 1 };
        Restriction { array: self.array_geometry(), planes: self.used_geometry().planes, page_step }
    }
    /// Pages that the host sees by `geometry.capacity`; none where the array is restricted.
    pub(crate) fn named_pages(&self) -> Option<u32> {
        let capacity = self.geometry.capacity.as_ref().filter(|_| self.restrict == Default::default())?;
        let pages = capacity.bytes().div_ceil(u64::from(self.geometry.page_bytes.max(1)));
        Some(u32::try_from(pages).unwrap_or(u32::MAX))
    }
    pub(super) fn cell_mode(&self) -> CellMode {
        self.package.cells.into()
    }
    /// Blocks that this many planes of a LUN have.
    pub(crate) fn blocks_of_planes(&self, planes: u8) -> u32 {
        let g = &self.geometry;
        g.blocks_per_lun / u32::from(g.planes.max(1)) * u32::from(planes)
    }
    /// Pages of a block that the firmware may use.
    pub(super) fn usable_pages(&self) -> u16 {
        let pages = self.geometry.pages_per_block;
        if self.restrict.lsb_pages { Restriction::lsb_pages(pages, self.cell_mode()) } else { pages }
    }
}
