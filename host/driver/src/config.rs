use crate::memory::{GuestMemory, HOST_PAGE_BYTES};
use aster_units::{Content, Duration, SECTOR_BYTES};
use aster_wire::nvme::cqe::CQE_BYTES;
use aster_wire::nvme::prp::{PageSize, PrpShape};
use aster_wire::nvme::sqe::SQE_BYTES;
use aster_wire::pcie::MSIX_VECTORS_MAX;

/// Entries of the admin queues. One less is the number of admin commands in flight.
pub const ADMIN_ENTRIES: u16 = 32;
/// Pages for the data of a vendor-specific admin command.
pub(crate) const VENDOR_PAGES: u64 = 16;
/// Bytes of those pages, and of the PRP list that names them.
pub(crate) const VENDOR_AREA_BYTES: u64 = (VENDOR_PAGES + 1) * HOST_PAGE_BYTES;
/// The host page size that the driver uses.
pub(crate) const PAGE: PageSize = PageSize::FOUR_KIB;

/// How the driver learns of completions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletionMode {
    /// By MSI-X.
    Interrupt,
    /// I/O queues have no interrupt; the driver polls them at this interval while commands are in flight.
    /// Admin commands still interrupt.
    Polled {
        /// Simulated time between two polls, above zero.
        period: Duration,
    },
}

/// What the driver sets up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// I/O queue pairs, 1 to 65,535. The controller may grant fewer.
    pub queue_pairs: u16,
    /// Commands in flight per queue pair, 1 to 4,095: the queues have one entry more. The controller may
    /// reduce it.
    pub depth: u16,
    /// Largest data transfer of one command in bytes, a multiple of 4 KiB up to 32 MiB. The controller's MDTS
    /// may reduce it.
    pub transfer_bytes_max: u32,
    /// Offset of each data buffer in its first page: a multiple of 4 below 4,096, since an application's
    /// memory may begin anywhere. 0 for `fingerprint`, where only whole sectors have a tag.
    pub buffer_offset: u32,
    /// MSI-X vectors of the function, at least 1. Vector 0 is the admin queue's; I/O queues share the others.
    /// [`Config::vectors_for`] knows those of Aster's controller.
    pub vectors: u16,
    /// The namespace to use; `None` is the first active one.
    pub namespace: Option<u32>,
    /// What the data buffers hold: bytes or tags.
    pub content: Content,
    /// How the driver learns of completions.
    pub completion: CompletionMode,
    /// A command that takes longer is reported as overdue. Simulated time.
    pub command_timeout: Duration,
}

impl Default for Config {
    /// One queue pair of 128 commands of up to 128 KiB in bytes, interrupt driven, 30 s to complete.
    fn default() -> Self {
        Config {
            queue_pairs: 1,
            depth: 128,
            transfer_bytes_max: 128 << 10,
            buffer_offset: 0,
            vectors: 2,
            namespace: None,
            content: Content::Full,
            completion: CompletionMode::Interrupt,
            command_timeout: Duration::from_secs(30),
        }
    }
}

/// What is wrong with a [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{field} must be {must}")]
pub struct ConfigError {
    /// The offending field's name.
    pub field: &'static str,
    /// What it must be.
    pub must: &'static str,
}

/// Most commands in flight per queue pair.
const DEPTH_MAX: u16 = 4095;
/// Most bytes per command.
const TRANSFER_BYTES_LIMIT: u32 = 32 << 20;

impl Config {
    /// Checks every field.
    ///
    /// # Errors
    /// Names the first field that is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = |ok, field, must| if ok { Ok(()) } else { Err(ConfigError { field, must }) };
        let page = HOST_PAGE_BYTES as u32;
        check(self.queue_pairs >= 1, "queue_pairs", "1 to 65535")?;
        check((1..=DEPTH_MAX).contains(&self.depth), "depth", "1 to 4095")?;
        check(
            (page..=TRANSFER_BYTES_LIMIT).contains(&self.transfer_bytes_max)
                && self.transfer_bytes_max.is_multiple_of(page),
            "transfer_bytes_max",
            "a multiple of 4 KiB up to 32 MiB",
        )?;
        check(
            self.buffer_offset < page && self.buffer_offset.is_multiple_of(4),
            "buffer_offset",
            "a multiple of 4 below 4096",
        )?;
        check(
            self.content == Content::Full || self.buffer_offset == 0,
            "buffer_offset",
            "0 when content is fingerprint",
        )?;
        check(self.vectors >= 1, "vectors", "at least 1")?;
        let period = match self.completion {
            CompletionMode::Interrupt => true,
            CompletionMode::Polled { period } => !period.is_zero(),
        };
        check(period, "completion", "polled with a period above zero")?;
        check(!self.command_timeout.is_zero(), "command_timeout", "above zero")
    }

    /// Vectors for so many I/O queue pairs: one for each and one for the admin queue, or as many as MSI-X
    /// has.
    pub const fn vectors_for(queue_pairs: u16) -> u16 {
        if queue_pairs < MSIX_VECTORS_MAX { queue_pairs + 1 } else { MSIX_VECTORS_MAX }
    }

    /// Memory that fits the driver exactly.
    pub fn memory(&self) -> GuestMemory {
        let page_up = |bytes: u64| bytes.next_multiple_of(HOST_PAGE_BYTES);
        let rings = |entries: u64| page_up(entries * SQE_BYTES as u64) + page_up(entries * CQE_BYTES as u64);
        let slots = u64::from(self.queue_pairs) * u64::from(self.depth);
        let (data_bytes, data_tags) = match self.content {
            Content::Full => (self.data_pages() * HOST_PAGE_BYTES, 0),
            Content::Fingerprint => (0, u64::from(self.transfer_bytes_max) / SECTOR_BYTES as u64),
        };
        let admin = u64::from(ADMIN_ENTRIES);
        let bytes = rings(admin)
            + (admin - 1) * HOST_PAGE_BYTES
            + u64::from(self.queue_pairs) * rings(u64::from(self.depth) + 1)
            + slots * ((1 + self.list_pages()) * HOST_PAGE_BYTES + data_bytes)
            + VENDOR_AREA_BYTES;
        let index =
            |n: u64| usize::try_from(n).expect("the configured buffers fit this machine's address space");
        GuestMemory::new(index(bytes), index(slots * data_tags))
    }

    /// Pages of a slot's data buffer.
    pub(crate) fn data_pages(&self) -> u64 {
        (u64::from(self.buffer_offset) + u64::from(self.transfer_bytes_max)).div_ceil(HOST_PAGE_BYTES)
    }
    /// Pages of a slot's PRP list.
    pub(crate) fn list_pages(&self) -> u64 {
        match PrpShape::of(u64::from(self.buffer_offset), u64::from(self.transfer_bytes_max), PAGE) {
            PrpShape::List { list_pages, .. } => list_pages,
            PrpShape::None | PrpShape::One | PrpShape::Two => 0,
        }
    }
    /// The vector of an I/O queue (1-based).
    pub(crate) fn vector_of(&self, queue: u16) -> u16 {
        if self.vectors == 1 { 0 } else { 1 + (queue - 1) % (self.vectors - 1) }
    }
}
