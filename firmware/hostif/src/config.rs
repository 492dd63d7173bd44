//! Configuration of the front end. It is checked once, when the device is built.

use crate::bar::BarLayout;
use alloc::rc::Rc;
use alloc::string::String;
use aster_exec::Exec;
use aster_parties::{CommandSet, History, PreferredWrites};
use aster_ports::host::CommandPort;
use aster_ports::link::MAX_SEGMENTS;
use aster_units::Duration;
use aster_wire::nvme::cqe::CQE_BYTES;
use aster_wire::nvme::identify::LbaFormat;
use aster_wire::nvme::sqe::SQE_BYTES;

/// Most I/O queue pairs: queues have 16-bit identifiers, and 0 is the admin queue (NVMe 1.4 §5.21.1.7).
pub const QUEUE_PAIRS_MAX: u16 = u16::MAX;
/// Most entries of an I/O queue (NVMe 1.4 §3.1.1, CAP.MQES).
pub const QUEUE_ENTRIES_MAX: u32 = 1 << 16;
/// Most command slots for I/O.
pub const SLOTS_MAX: u16 = 4096;
/// Largest MDTS: 2¹⁰ pages of 4 KiB.
pub const TRANSFER_PAGES_LOG2_MAX: u8 = 10;
/// Most MSI-X vectors (PCIe: 2,048).
pub const VECTORS_MAX: u16 = 2048;
/// Most submission queue entries that one fetch brings.
pub const FETCH_BATCH_MAX: u8 = 64;
/// Command slots set aside for the admin queue. Without them, I/O completions that the host doesn't take
/// could block it.
pub const ADMIN_SLOTS: u16 = 8;
/// Asynchronous Event Requests that may wait (AERL + 1). Fewer than [`ADMIN_SLOTS`], so that other commands
/// still run.
pub(crate) const ASYNC_EVENT_REQUESTS: u8 = 4;
/// Bytes of scratch memory per slot: a PRP list page, the ranges of Dataset Management, or an admin data
/// structure.
pub(crate) const SCRATCH_BYTES: usize = 4096;
/// Link operations per DMA request: a page buffer has at most 60 KiB, which touch at most 16 host pages.
const REQUEST_OPERATIONS_MAX: usize = 16usize.div_ceil(MAX_SEGMENTS);
/// The memory page: CAP.MPSMIN = MPSMAX = 0.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Size of a logical block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockSize {
    /// 512 bytes.
    Bytes512,
    /// 4,096 bytes.
    Bytes4096,
}

impl BlockSize {
    /// As a power of two.
    pub const fn log2(self) -> u8 {
        match self {
            BlockSize::Bytes512 => 9,
            BlockSize::Bytes4096 => 12,
        }
    }
    /// Bytes.
    pub const fn bytes(self) -> u32 {
        1 << self.log2()
    }
}

/// Who fetches submission queue entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fetching {
    /// The controller, in the order of its arbiter, as many at once as the batch says.
    #[default]
    Arbiter,
    /// Workers of each queue, one entry after the other (`software`). A landing place a worker.
    ByWorkers,
}

/// WCTEMP of a drive without a temperature sensor: 70 °C, which the standard recommends
/// (NVMe 1.4 §5.15.2.2).
pub const WARNING_KELVINS: u16 = 343;
/// CCTEMP is so much above WCTEMP where nothing else is said.
pub const CRITICAL_ABOVE_WARNING: u16 = 10;

/// The configuration of a drive's front end.
#[derive(Clone, Debug)]
pub struct HostIfConfig {
    /// I/O queue pairs: 1 to [`QUEUE_PAIRS_MAX`].
    pub queue_pairs: u16,
    /// Most entries of an I/O queue: 2 to [`QUEUE_ENTRIES_MAX`] (CAP.MQES + 1; G11: 256 or 1,024).
    pub queue_entries: u32,
    /// I/O commands in the drive at a time: 1 to [`SLOTS_MAX`].
    pub slots: u16,
    /// DMA requests that the FTL may have in flight: at least 1. [`HostIfConfig::command_port`] makes a
    /// port for this many.
    pub dma_requests: u16,
    /// Most data of a command in 4 KiB pages, as a power of two: 1 to [`TRANSFER_PAGES_LOG2_MAX`] (MDTS).
    pub transfer_pages_log2: u8,
    /// Serial number: printable ASCII, at most 20 characters.
    pub serial: String,
    /// Model number: printable ASCII, at most 40 characters.
    pub model: String,
    /// Firmware revision: printable ASCII, at most 8 characters.
    pub firmware_revision: String,
    /// PCI vendor ID.
    pub vendor_id: u16,
    /// PCI subsystem vendor ID.
    pub subsystem_vendor_id: u16,
    /// IEEE organisationally unique identifier, as Identify carries it (least significant byte first).
    pub ieee_oui: [u8; 3],
    /// Namespace 1's size in bytes: a positive multiple of 4,096.
    pub namespace_bytes: u64,
    /// The writes that suit the translation best, for Identify to tell; `None` for none.
    pub preferred_writes: Option<PreferredWrites>,
    /// Whether blocks of 512 bytes are offered beside 4,096. Impossible with fingerprint content.
    pub offers_512: bool,
    /// The format at power-on. A Format NVM changes it; see [`crate::NvmeFrontEnd::on_format`].
    pub block_size: BlockSize,
    /// Whether a volatile write cache is present. Without one, every write is durable before it completes.
    pub volatile_write_cache: bool,
    /// Whether weighted round robin with urgent priority class is offered beside round robin (NVMe 1.4
    /// §4.13).
    pub weighted_round_robin: bool,
    /// Commands that one queue may send per turn by default, as a power of two; 7 for no limit (RAB and
    /// AB).
    pub arbitration_burst_log2: u8,
    /// Submission queue entries that one fetch brings at most, or workers per queue: 1 to 64.
    pub fetch_batch: u8,
    /// Who fetches.
    pub fetching: Fetching,
    /// MSI-X vectors: 1 to [`VECTORS_MAX`].
    pub vectors: u16,
    /// Time from a command's arrival to its decoding.
    pub fetch_latency: Duration,
    /// Time from a command's end to the sending of its completion entry.
    pub completion_latency: Duration,
    /// Time from a DMA request of the FTL to its first packet. Requests overlap.
    pub transfer_latency: Duration,
    /// Whether reads, and writes that need not be durable, complete when the last byte of their data has
    /// been moved, even if the FTL is not done with them (P13). All other commands complete when the FTL
    /// has finished them.
    pub auto_completion: bool,
    /// Unrecovered integrity errors from which on SMART calls the drive unreliable; 0 for never.
    pub media_errors_max: u32,
    /// The composite temperature from which on SMART warns, until the host sets another threshold (WCTEMP).
    pub warning_kelvins: u16,
    /// The composite temperature from which on the drive is critically hot (CCTEMP).
    pub critical_kelvins: u16,
    /// The drive's lifetime counters at this power-on.
    pub history: History,
}

/// What is wrong with a [`HostIfConfig`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// A number is out of its range.
    #[error("{name} is {value}, it must be {min} to {max}")]
    Range {
        /// The field.
        name: &'static str,
        /// Its value.
        value: u64,
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
    },
    /// A text does not fit or is not printable ASCII.
    #[error("{name} must be 1 to {max} printable ASCII characters")]
    Text {
        /// The field.
        name: &'static str,
        /// Most characters.
        max: usize,
    },
    /// The namespace is no whole number of 4 KiB blocks.
    #[error("namespace_bytes is {0}, it must be a positive multiple of 4096")]
    NamespaceBytes(u64),
    /// 512-byte blocks are in use but not offered.
    #[error("block_size is 512 bytes, but this drive offers blocks of 4096 bytes alone")]
    BlockSize,
}

fn range(name: &'static str, value: u64, min: u64, max: u64) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) { Ok(()) } else { Err(ConfigError::Range { name, value, min, max }) }
}

fn text(name: &'static str, text: &str, max: usize) -> Result<(), ConfigError> {
    let good = !text.is_empty() && text.len() <= max && text.bytes().all(|b| matches!(b, b' '..=b'~'));
    if good { Ok(()) } else { Err(ConfigError::Text { name, max }) }
}

impl HostIfConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        range("queue_pairs", self.queue_pairs.into(), 1, QUEUE_PAIRS_MAX.into())?;
        range("queue_entries", self.queue_entries.into(), 2, QUEUE_ENTRIES_MAX.into())?;
        range("slots", self.slots.into(), 1, SLOTS_MAX.into())?;
        range("dma_requests", self.dma_requests.into(), 1, u16::MAX.into())?;
        range("transfer_pages_log2", self.transfer_pages_log2.into(), 1, TRANSFER_PAGES_LOG2_MAX.into())?;
        range("arbitration_burst_log2", self.arbitration_burst_log2.into(), 0, 7)?;
        range("fetch_batch", self.fetch_batch.into(), 1, FETCH_BATCH_MAX.into())?;
        range("vectors", self.vectors.into(), 1, VECTORS_MAX.into())?;
        text("serial", &self.serial, 20)?;
        text("model", &self.model, 40)?;
        text("firmware_revision", &self.firmware_revision, 8)?;
        if self.namespace_bytes == 0 || !self.namespace_bytes.is_multiple_of(4096) {
            return Err(ConfigError::NamespaceBytes(self.namespace_bytes));
        }
        if self.block_size == BlockSize::Bytes512 && !self.offers_512 {
            return Err(ConfigError::BlockSize);
        }
        Ok(())
    }

    /// Offers no block that is too small for `set`.
    pub fn suit(&mut self, set: &dyn CommandSet) {
        self.offers_512 &= set.smallest_block_bytes() <= BlockSize::Bytes512.bytes();
    }
    /// Command slots in all: for I/O, for the admin queue, and one for the shutdown that CC.SHN asks for.
    pub const fn command_slots(&self) -> u16 {
        self.slots + ADMIN_SLOTS + 1
    }
    /// A port to the FTL with the bounds that this front end needs.
    pub fn command_port(&self, exec: &Exec) -> Rc<CommandPort> {
        CommandPort::new(exec, self.command_slots(), self.dma_requests)
    }
    /// Most DMA operations on the host link at a time: the room that a [`aster_ports::link::LinkPort`]
    /// needs. It is the sum of one fetch per queue; one list, scratch transfer or completion entry per
    /// slot; and, per DMA request of the FTL, the operations of a page buffer whose host pages are all
    /// scattered.
    pub fn link_operations(&self) -> usize {
        let (queues, slots) = (usize::from(self.queue_pairs) + 1, usize::from(self.slots + ADMIN_SLOTS));
        queues + slots + REQUEST_OPERATIONS_MAX * usize::from(self.dma_requests)
    }
    /// What lies where in BAR0.
    pub const fn bar(&self) -> BarLayout {
        BarLayout::of(self.queue_pairs, self.vectors)
    }
    /// Bytes of SRAM that the front end uses, from offset 0.
    pub fn sram_bytes(&self) -> usize {
        SramLayout::of(self).bytes
    }
    /// Most bytes of data per command.
    pub(crate) const fn transfer_bytes_max(&self) -> u64 {
        PAGE_BYTES << self.transfer_pages_log2
    }
    /// The LBA formats in the order of Identify Namespace.
    pub(crate) fn formats(&self) -> &'static [BlockSize] {
        const BOTH: [BlockSize; 2] = [BlockSize::Bytes512, BlockSize::Bytes4096];
        if self.offers_512 { &BOTH } else { &BOTH[1..] }
    }
    /// As [`HostIfConfig::formats`], on the wire. 512-byte blocks have the worse relative performance,
    /// because a write of one is a read-modify-write of its 4 KiB sector.
    pub(crate) fn wire_formats(&self) -> impl ExactSizeIterator<Item = LbaFormat> {
        self.formats().iter().map(|size| {
            LbaFormat::of_log2(size.log2()).with_relative_performance(u8::from(*size == BlockSize::Bytes512))
        })
    }
}

/// Where things lie in the SRAM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SramLayout {
    batch: usize,
    completions: usize,
    scratch: usize,
    bytes: usize,
}

impl SramLayout {
    pub(crate) fn of(config: &HostIfConfig) -> Self {
        let batch = usize::from(config.fetch_batch);
        let slots = usize::from(config.slots + ADMIN_SLOTS);
        let completions = (usize::from(config.queue_pairs) + 1) * batch * SQE_BYTES;
        let scratch = (completions + slots * CQE_BYTES).next_multiple_of(SCRATCH_BYTES);
        SramLayout { batch, completions, scratch, bytes: scratch + slots * SCRATCH_BYTES }
    }
    /// Where a submission queue's fetched entries land.
    #[inline]
    pub(crate) const fn landing(&self, queue: u16) -> usize {
        queue as usize * self.batch * SQE_BYTES
    }
    /// Where a slot's completion entry waits to be sent.
    #[inline]
    pub(crate) const fn completion(&self, slot: u16) -> usize {
        self.completions + slot as usize * CQE_BYTES
    }
    /// A slot's [`SCRATCH_BYTES`].
    #[inline]
    pub(crate) const fn scratch(&self, slot: u16) -> usize {
        self.scratch + slot as usize * SCRATCH_BYTES
    }
}
