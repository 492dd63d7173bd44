//! The keys. Times carry their unit in the key's name; sizes are bytes unless the name says otherwise.

use super::package::{PackageProfile, coupling, numbers};
use aster_units::{CellMode, Content, Geometry};
use serde::{Deserialize, Serialize};

/// One SSD.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What it is, for people.
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
    /// NVMe controller.
    pub host: HostProfile,
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
    /// A tag a 4 KiB sector.
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
    /// Chip enables a channel.
    pub ways: u8,
    /// LUNs a chip enable.
    #[serde(default = "one")]
    pub luns: u8,
    /// Planes a LUN.
    #[serde(default = "one")]
    pub planes: u8,
    /// Blocks a LUN, all planes together.
    pub blocks_per_lun: u32,
    /// Pages a block.
    pub pages_per_block: u16,
    /// Data bytes a page.
    pub page_bytes: u32,
    /// Spare bytes a page.
    pub spare_bytes: u16,
}

fn one() -> u8 {
    1
}

/// Capacity restriction (C31): what the firmware uses of the array. Absent keys restrict nothing.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RestrictProfile {
    /// Channels used.
    pub channels: Option<u16>,
    /// Ways used a channel.
    pub ways: Option<u8>,
    /// Blocks used a LUN.
    pub blocks_per_lun: Option<u32>,
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
    /// In hardware: an operation module a LUN and an arbiter (B29, BABOL's Fig 4).
    Synchronous,
    /// In hardware: control words, filters and a dispatcher (B29, Cosmos+, C14).
    Asynchronous,
}

/// Channel bus and controller.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelProfile {
    /// What drives the channel. In hardware it costs no core anything.
    #[serde(default)]
    pub controller: ControllerName,
    /// Data interface after bring-up.
    pub data_interface: DataModeName,
    /// ONFI timing mode of that interface.
    pub timing_mode: u8,
    /// Millions of bytes that the bus moves a second at most; what the timing mode allows when absent.
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
}

fn default_clock() -> f64 {
    10.0
}
fn two() -> u32 {
    2
}

/// Where parity lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementName {
    /// In the spare area.
    #[default]
    Spare,
    /// Behind each chunk.
    Interleaved,
}

/// Error correction and page format.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EccProfile {
    /// The code's field is GF(2^field).
    pub field: u32,
    /// Errors a chunk that the code is designed for.
    pub designed: usize,
    /// Errors a chunk that are corrected; at most `designed` (G6).
    pub corrected: usize,
    /// Data bytes a chunk.
    pub chunk_bytes: u16,
    /// Where parity lies.
    #[serde(default)]
    pub placement: PlacementName,
    /// Pages pass the scrambler (C20).
    #[serde(default = "yes")]
    pub scrambler: bool,
    /// Nanoseconds from the last byte off the bus to data known good.
    #[serde(default)]
    pub detect_ns: u32,
    /// Nanoseconds to correct one damaged chunk; to search its roots where the key equation solver is shared.
    #[serde(default)]
    pub correct_ns: u32,
    /// Channels that share a key equation solver (C22); 0 when each has its own, in `correct_ns`.
    #[serde(default)]
    pub solver_channels: u16,
    /// Nanoseconds that a shared solver takes for a chunk.
    #[serde(default)]
    pub solver_ns: u32,
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
    /// Nanoseconds that the core under the big loop waits for a word of memory that its caches leave out: a completion flag.
    #[serde(default)]
    pub uncached_ns: u32,
    /// A capacitor stands behind the NVRAM: it keeps what it holds when the power goes without a shutdown.
    #[serde(default)]
    pub nvram_kept: bool,
    /// Buses between DRAM, processor and controllers.
    #[serde(default)]
    pub buses: BusesProfile,
}

/// The buses of Table 6 (C55) beside DRAM and the flash bus; MB/s are 10⁶ bytes, 0 for unlimited. Under the big loop the core's register
/// accesses and the controllers' completion flags contend for buses 9 to 11, its looks at those flags with everything in DRAM. Bus 7
/// has only the core on it: it takes time.
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
    /// Bus 6: processor to memory controller, what the caches leave out.
    pub processor_memory_mb_per_s: u64,
    /// Bus 8: central interconnect to memory controller, the controllers' completion flags.
    pub central_memory_mb_per_s: u64,
    /// Bus 7: processor to central interconnect, MHz.
    pub processor_mhz: f64,
    /// Bus 9: central interconnect to the control path's, MHz.
    pub central_mhz: f64,
    /// Buses 10 and 11: the control path's interconnect to the controllers' registers, MHz.
    pub control_mhz: f64,
    /// Cycles that a word takes on each of buses 7, 9 and 10 or 11, one way: the firmware waits once for a register that it writes, twice
    /// for one that it reads.
    pub register_cycles: u32,
}

/// The host link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkProfile {
    /// PCIe generation, 1 to 5.
    pub generation: u8,
    /// Lanes.
    pub lanes: u8,
    /// Lets transfers take no time at all.
    #[serde(default)]
    pub unlimited: bool,
    /// One way through link and root complex, nanoseconds.
    #[serde(default)]
    pub latency_ns: u32,
    /// Payload bytes a packet.
    #[serde(default = "default_payload")]
    pub packet_payload: u32,
    /// Header, framing and acknowledgement bytes a packet.
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
fn default_vendor() -> u16 {
    0x1d1d
}
fn default_device() -> u16 {
    0xa57e
}

/// Processor cores.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoresProfile {
    /// Clock in MHz.
    pub frequency_mhz: f64,
    /// Run flash operations on a core of their own.
    #[serde(default)]
    pub flash_core: bool,
    /// Inter-processor interrupt between the two, nanoseconds.
    #[serde(default)]
    pub interrupt_ns: u32,
}

/// Cycles of firmware steps (design §2). A step that is absent costs nothing.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct CostsProfile {
    /// NVMe manager and FTL: taking a command.
    pub command: u64,
    /// FTL: a slice of a command.
    pub slice: u64,
    /// FTL: translating a logical page.
    pub translate: u64,
    /// FTL: finding or allocating a data buffer entry.
    pub buffer: u64,
    /// FTL: asking for a host DMA.
    pub dma: u64,
    /// FTL: completing a command.
    pub complete: u64,
    /// FTL: moving a page in garbage collection.
    pub move_page: u64,
    /// FTL: replaying an entry of the log in recovery.
    pub replay: u64,
    /// Flash: taking a request.
    pub flash_request: u64,
    /// Flash: building and enqueueing a transaction.
    pub transaction: u64,
    /// Flash: looking at a status.
    pub poll: u64,
    /// Big loop: a pass, whatever it finds.
    pub loop_pass: u64,
    /// Big loop: looking at a way that works or a host DMA in flight.
    pub loop_status: u64,
    /// Big loop: comparing the priority of an operation.
    pub loop_compare: u64,
    /// Big loop: building a control word or a unit of host DMA.
    pub loop_issue: u64,
    /// Big loop: an operation that has ended.
    pub loop_finish: u64,
}

/// How a LUN's next request is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerPolicy {
    /// In the order they came.
    #[default]
    Fifo,
    /// Reads before programs and erases.
    ReadsFirst,
    /// Cosmos+'s low-level scheduler, in one big loop with the FTL (C34–C44). One LUN a way.
    Cosmos,
}

/// Which of the transactions that wait for a channel goes next (B18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionOrder {
    /// In the order of issue.
    #[default]
    Fifo,
    /// The LUNs take turns.
    RoundRobin,
    /// What makes an array busy first, then status, data out, data in.
    ByClass,
    /// The fewest bytes first.
    ShortestFirst,
    /// The LUN that has moved the fewest bytes first.
    FairShare,
}

/// Flash scheduler.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulerProfile {
    /// How a LUN's next request is chosen.
    #[serde(default)]
    pub policy: SchedulerPolicy,
    /// Operations that run at once behind one chip enable; 0 for as many as it has LUNs.
    #[serde(default)]
    pub package_operations_max: u32,
    /// Which of the transactions that wait for a channel goes next.
    #[serde(default)]
    pub transactions: TransactionOrder,
    /// Times that the big loop repeats a read which can't be corrected (C39).
    #[serde(default = "default_retries")]
    pub read_retries: u8,
    /// The big loop packs the programs of a TLC word line into one (C83). Of a package with `one_shot`.
    #[serde(default)]
    pub one_shot: bool,
}

impl Default for SchedulerProfile {
    fn default() -> Self {
        SchedulerProfile {
            policy: SchedulerPolicy::default(),
            package_operations_max: 0,
            transactions: TransactionOrder::default(),
            read_retries: default_retries(),
            one_shot: false,
        }
    }
}

fn default_retries() -> u8 {
    aster_sched::cosmos::RETRY_LIMIT
}

/// Status polling.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct PollProfile {
    /// Between two polls of a busy LUN, nanoseconds.
    pub interval_ns: u32,
    /// How long before the typical time the first poll comes, nanoseconds.
    pub early_ns: u32,
    /// Give up after so many times the typical time.
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

/// How blocks are worn alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevellingName {
    /// Free blocks are written in the order in which they were erased.
    None,
    /// The least worn free block is written first.
    Dynamic,
    /// And data at rest moves out of blocks that are left behind.
    #[default]
    Static,
}

/// Flash translation layer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FtlProfile {
    /// Physical over logical capacity, minus one, in percent.
    pub over_provisioning_percent: f64,
    /// Pages in the data buffer.
    pub buffer_entries: u32,
    /// Slices of commands in work at once.
    #[serde(default = "default_workers")]
    pub slice_workers: u16,
    /// Read only the sectors asked for, not the whole page.
    #[serde(default = "yes")]
    pub partial_reads: bool,
    /// Which LUN a logical page belongs to.
    #[serde(default)]
    pub assigner: AssignerName,
    /// Garbage collection begins when a LUN has this many free blocks or fewer.
    #[serde(default = "default_gc")]
    pub gc_free_blocks: u32,
    /// Pages that garbage collection of a LUN has in flight.
    #[serde(default = "default_gc_depth")]
    pub gc_depth: u8,
    /// Pages of data programmed between two stored maps; 0 for 256 times as many as the map takes.
    #[serde(default)]
    pub checkpoint_pages: u32,
    /// How blocks are worn alike.
    #[serde(default)]
    pub wear_levelling: LevellingName,
    /// Erases that a block with data at rest may be behind the most worn of its LUN.
    #[serde(default = "default_spread")]
    pub wear_spread: u32,
    /// Data is written anew when a read corrects so much of what the code can; 0 for never.
    #[serde(default = "default_refresh")]
    pub refresh_corrected_percent: u32,
    /// Data is written anew when its block was read so often; 0 for never.
    #[serde(default = "default_refresh_reads")]
    pub refresh_reads: u32,
    /// A page is read in the background each so many microseconds, to find data that fades; 0 for never.
    #[serde(default)]
    pub scan_us: u32,
    /// Pause after each page that moves for wear or refresh, while its LUN has room, microseconds.
    #[serde(default = "default_gap")]
    pub background_gap_us: u32,
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

/// Submission queue arbitration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArbitrationName {
    /// Round robin.
    #[default]
    RoundRobin,
    /// Weighted round robin with urgent class, if the host selects it.
    Weighted,
}

/// NVMe controller.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostProfile {
    /// I/O queue pairs, 1 to 64.
    pub queue_pairs: u16,
    /// Entries a queue, 2 to 4096.
    pub queue_entries: u16,
    /// Commands in work at once.
    #[serde(default = "default_slots")]
    pub command_slots: u16,
    /// Largest transfer of a command in bytes, a power of two times 4 KiB.
    #[serde(default = "default_transfer")]
    pub transfer_bytes_max: u32,
    /// Submission queue entries that one fetch brings at most.
    #[serde(default = "default_fetch")]
    pub fetch_batch: u8,
    /// Logical block bytes of a new drive: 512 or 4096.
    #[serde(default = "default_block")]
    pub block_bytes: u32,
    /// Submission queue arbitration offered.
    #[serde(default)]
    pub arbitration: ArbitrationName,
    /// From a doorbell to the fetch of its entries, nanoseconds.
    #[serde(default)]
    pub fetch_ns: u32,
    /// From the end of a command to its completion entry on the link, nanoseconds.
    #[serde(default)]
    pub completion_ns: u32,
    /// From a DMA request of the firmware to its first packet on the link, nanoseconds; requests overlap.
    #[serde(default)]
    pub dma_ns: u32,
    /// Percentage of spare blocks below which SMART warns.
    #[serde(default = "default_spare_threshold")]
    pub spare_threshold_percent: u8,
    /// Reads of lost data after which SMART calls the drive unreliable; 0 for never.
    #[serde(default = "default_media_errors")]
    pub media_errors_max: u32,
}

fn default_spare_threshold() -> u8 {
    10
}
fn default_media_errors() -> u32 {
    100
}

fn default_slots() -> u16 {
    256
}
fn default_transfer() -> u32 {
    1 << 20
}
fn default_fetch() -> u8 {
    8
}
fn default_block() -> u32 {
    4096
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
        let blocks_per_lun = self.restrict.blocks_per_lun.unwrap_or(self.geometry.blocks_per_lun);
        Geometry { blocks_per_lun, ..self.array_geometry() }
    }

    /// Checks what types can't: ranges and relations. Errors are (key, reason).
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let g = &self.geometry;
        let full = Geometry { channels: g.channels, ways: g.ways, ..self.array_geometry() };
        full.validate().map_err(|e| (geometry_key(e.field), format!("must be {}", e.must)))?;
        self.used_geometry()
            .validate()
            .map_err(|e| (restrict_key(e.field), format!("must be {}", e.must)))?;
        let at_most = |key, used: Option<u32>, all: u32| match used {
            Some(used) if used > all => {
                Err((key, format!("restricts to {used}, but the geometry has only {all}")))
            }
            _ => Ok(()),
        };
        at_most("restrict.channels", self.restrict.channels.map(u32::from), u32::from(g.channels))?;
        at_most("restrict.ways", self.restrict.ways.map(u32::from), u32::from(g.ways))?;
        at_most("restrict.blocks_per_lun", self.restrict.blocks_per_lun, g.blocks_per_lun)?;
        let types = usize::from(CellMode::from(self.package.cells).bits());
        for (key, times) in
            [("package.read_us", &self.package.read_us), ("package.program_us", &self.package.program_us)]
        {
            if times.len() != types {
                return Err((
                    key,
                    format!("must give {types} times, one a page type, but gives {}", times.len()),
                ));
            }
            if times.iter().any(|t| !(t.is_finite() && *t > 0.0 && *t < 1e6)) {
                return Err((key, "must be times above 0 and below one second".to_owned()));
            }
        }
        let range = |key, value: f64, low: f64, high: f64| {
            if value.is_finite() && value >= low && value <= high {
                Ok(())
            } else {
                Err((key, format!("must be from {low} to {high}, but is {value}")))
            }
        };
        let p = &self.package;
        range("package.erase_us", p.erase_us, 0.001, 1e7)?;
        range("package.die_deviation_us", p.die_deviation_us, 0.0, 1e4)?;
        range("package.page_deviation_us", p.page_deviation_us, 0.0, 1e4)?;
        let deviation = p.die_deviation_us + p.page_deviation_us;
        let shortest =
            p.read_us.iter().chain(&p.program_us).chain([&p.erase_us]).fold(f64::MAX, |a, b| a.min(*b));
        if deviation >= shortest {
            let reason = format!(
                "must stay, with die_deviation_us, below the shortest array time of {shortest} µs, but they are {deviation}"
            );
            return Err(("package.page_deviation_us", reason));
        }
        range("package.factory_bad_per_mille", f64::from(p.factory_bad_per_mille), 0.0, 500.0)?;
        range("package.program_failures_per_million", f64::from(p.program_failures_per_million), 0.0, 1e6)?;
        range("package.erase_failures_per_million", f64::from(p.erase_failures_per_million), 0.0, 1e6)?;
        range("package.failure_growth", p.failure_growth, 0.0, 1e3)?;
        range("package.wear_out_percent", f64::from(p.wear_out_percent), 0.0, 1e6)?;
        for (key, value, low, high) in numbers(p) {
            range(key, value, low, high)?;
        }
        coupling(p)?;
        if self.channel.data_interface == DataModeName::NvDdr2
            && self.channel.timing_mode > p.nv_ddr2_mode_max
        {
            let reason = format!(
                "must be at most the package's nv_ddr2_mode_max, {}, but is {}",
                p.nv_ddr2_mode_max, self.channel.timing_mode
            );
            return Err(("channel.timing_mode", reason));
        }
        // The parameter page says it in 16 bits.
        range("package.column_change_ns", f64::from(p.column_change_ns), 1.0, f64::from(u16::MAX))?;
        if let Some(rate) = self.channel.rate_mt_s {
            range("channel.rate_mt_s", f64::from(rate), 1.0, 1e4)?;
        }
        range("channel.clock_ns", self.channel.clock_ns, 0.5, 1e3)?;
        range("channel.fifo_cycles", f64::from(self.channel.fifo_cycles), 0.0, 1e6)?;
        range("channel.gap_cycles", f64::from(self.channel.gap_cycles), 0.0, 1e6)?;
        range("ecc.field", f64::from(self.ecc.field), 5.0, 16.0)?;
        range("ecc.detect_ns", f64::from(self.ecc.detect_ns), 0.0, 1e9)?;
        range("ecc.correct_ns", f64::from(self.ecc.correct_ns), 0.0, 1e9)?;
        range("ecc.solver_channels", f64::from(self.ecc.solver_channels), 0.0, f64::from(g.channels))?;
        range("ecc.solver_ns", f64::from(self.ecc.solver_ns), 0.0, 1e9)?;
        range("board.dram_mb_per_s", self.board.dram_mb_per_s as f64, 0.0, 1e9)?;
        // FFFFh is what a slot without a device reads as.
        range("link.vendor_id", f64::from(self.link.vendor_id), 0.0, f64::from(u16::MAX - 1))?;
        range("link.latency_ns", f64::from(self.link.latency_ns), 0.0, 1e9)?;
        range("cores.interrupt_ns", f64::from(self.cores.interrupt_ns), 0.0, 1e9)?;
        range("poll.early_ns", f64::from(self.poll.early_ns), 0.0, 1e9)?;
        let c = &self.costs;
        for (key, cycles) in [
            ("costs.command", c.command),
            ("costs.slice", c.slice),
            ("costs.translate", c.translate),
            ("costs.buffer", c.buffer),
            ("costs.dma", c.dma),
            ("costs.complete", c.complete),
            ("costs.move_page", c.move_page),
            ("costs.flash_request", c.flash_request),
            ("costs.transaction", c.transaction),
            ("costs.poll", c.poll),
            ("costs.loop_pass", c.loop_pass),
            ("costs.loop_status", c.loop_status),
            ("costs.loop_compare", c.loop_compare),
            ("costs.loop_issue", c.loop_issue),
            ("costs.loop_finish", c.loop_finish),
        ] {
            range(key, cycles as f64, 0.0, 1e7)?;
        }
        range("ecc.designed", self.ecc.designed as f64, 1.0, 200.0)?;
        range("ecc.corrected", self.ecc.corrected as f64, 1.0, self.ecc.designed as f64)?;
        range("link.generation", f64::from(self.link.generation), 1.0, 5.0)?;
        if ![1, 2, 4, 8, 16].contains(&self.link.lanes) {
            return Err(("link.lanes", "must be 1, 2, 4, 8 or 16".to_owned()));
        }
        range("link.packet_payload", f64::from(self.link.packet_payload), 64.0, 4096.0)?;
        range("link.packet_overhead", f64::from(self.link.packet_overhead), 0.0, 1024.0)?;
        range("cores.frequency_mhz", self.cores.frequency_mhz, 1.0, 1e5)?;
        range("poll.interval_ns", f64::from(self.poll.interval_ns), 1.0, 1e9)?;
        range("poll.patience", f64::from(self.poll.patience), 2.0, 1e6)?;
        range("ftl.over_provisioning_percent", self.ftl.over_provisioning_percent, 0.5, 900.0)?;
        range("ftl.buffer_entries", f64::from(self.ftl.buffer_entries), 4.0, f64::from(1u32 << 24))?;
        range("ftl.slice_workers", f64::from(self.ftl.slice_workers), 1.0, 4096.0)?;
        range(
            "ftl.gc_free_blocks",
            f64::from(self.ftl.gc_free_blocks),
            2.0,
            f64::from(g.blocks_per_lun) / 2.0,
        )?;
        range("ftl.gc_depth", f64::from(self.ftl.gc_depth), 1.0, 16.0)?;
        range("ftl.wear_spread", f64::from(self.ftl.wear_spread), 1.0, 1e9)?;
        range("ftl.refresh_corrected_percent", f64::from(self.ftl.refresh_corrected_percent), 0.0, 100.0)?;
        range("ftl.background_gap_us", f64::from(self.ftl.background_gap_us), 0.0, 1e6)?;
        let h = &self.host;
        range("host.queue_pairs", f64::from(h.queue_pairs), 1.0, 64.0)?;
        range("host.queue_entries", f64::from(h.queue_entries), 2.0, 4096.0)?;
        range("host.command_slots", f64::from(h.command_slots), 1.0, 4096.0)?;
        range("host.fetch_ns", f64::from(h.fetch_ns), 0.0, 1e9)?;
        range("host.completion_ns", f64::from(h.completion_ns), 0.0, 1e9)?;
        range("host.dma_ns", f64::from(h.dma_ns), 0.0, 1e9)?;
        range("host.spare_threshold_percent", f64::from(h.spare_threshold_percent), 0.0, 100.0)?;
        range("scheduler.read_retries", f64::from(self.scheduler.read_retries), 0.0, 100.0)?;
        if self.scheduler.policy == SchedulerPolicy::Cosmos && g.luns != 1 {
            let reason =
                format!("\"cosmos\" has one queue a way: geometry.luns must be 1, but is {}", g.luns);
            return Err(("scheduler.policy", reason));
        }
        if self.scheduler.one_shot {
            let needs = |ok, what: &str| match ok {
                true => Ok(()),
                false => Err(("scheduler.one_shot", format!("must stay false without {what}"))),
            };
            needs(self.scheduler.policy == SchedulerPolicy::Cosmos, "scheduler.policy = \"cosmos\"")?;
            needs(p.one_shot.is_some(), "a package with one-shot programming, package.one_shot")?;
            needs(
                g.pages_per_block.is_multiple_of(3),
                "whole word lines, geometry.pages_per_block a multiple of 3",
            )?;
            needs(self.ftl.gc_depth >= 3, "ftl.gc_depth of at least 3, the pages of a word line")?;
        }
        let b = &self.board.buses;
        for (key, mb_per_s) in [
            ("board.buses.memory_mb_per_s", b.memory_mb_per_s),
            ("board.buses.host_mb_per_s", b.host_mb_per_s),
            ("board.buses.channels_mb_per_s", b.channels_mb_per_s),
            ("board.buses.channel_mb_per_s", b.channel_mb_per_s),
            ("board.buses.processor_memory_mb_per_s", b.processor_memory_mb_per_s),
            ("board.buses.central_memory_mb_per_s", b.central_memory_mb_per_s),
        ] {
            range(key, mb_per_s as f64, 0.0, 1e9)?;
        }
        range("board.uncached_ns", f64::from(self.board.uncached_ns), 0.0, 1e6)?;
        range("board.buses.register_cycles", f64::from(b.register_cycles), 0.0, 1e4)?;
        // A clock that nothing is counted in may be left out.
        let slowest = if b.register_cycles == 0 { 0.0 } else { 1.0 };
        for (key, mhz) in [
            ("board.buses.processor_mhz", b.processor_mhz),
            ("board.buses.central_mhz", b.central_mhz),
            ("board.buses.control_mhz", b.control_mhz),
        ] {
            range(key, mhz, slowest, 1e5)?;
        }
        range("host.fetch_batch", f64::from(h.fetch_batch), 1.0, 64.0)?;
        if !h.transfer_bytes_max.is_power_of_two() || !(8192..=1 << 21).contains(&h.transfer_bytes_max) {
            return Err((
                "host.transfer_bytes_max",
                "must be a power of two from 8192 to 2097152".to_owned(),
            ));
        }
        if ![512, 4096].contains(&h.block_bytes) {
            return Err(("host.block_bytes", "must be 512 or 4096".to_owned()));
        }
        if h.block_bytes != 4096 && self.content == ContentKind::Fingerprint {
            return Err(("host.block_bytes", "must be 4096 on a drive that keeps fingerprints".to_owned()));
        }
        Ok(())
    }
}

pub(crate) fn geometry_key(field: &str) -> &'static str {
    match field {
        "channels" => "geometry.channels",
        "ways" => "geometry.ways",
        "luns" => "geometry.luns",
        "planes" => "geometry.planes",
        "pages_per_block" => "geometry.pages_per_block",
        "page_bytes" => "geometry.page_bytes",
        "spare_bytes" => "geometry.spare_bytes",
        _ => "geometry.blocks_per_lun",
    }
}

fn restrict_key(field: &str) -> &'static str {
    match field {
        "channels" => "restrict.channels",
        "ways" => "restrict.ways",
        _ => "restrict.blocks_per_lun",
    }
}
