//! The keys of `[host]`.

use serde::{Deserialize, Serialize};

/// The front end that is an NVMe controller in hardware.
pub(super) const NVME: &str = "nvme";
/// The front end that is an NVMe controller in firmware.
pub const NVME_SOFTWARE: &str = "nvme-software";
/// Its workers per submission queue, if a profile doesn't say.
pub(super) const WORKERS_PER_QUEUE: u8 = 8;

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

/// How NVMe in software reaches the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportName {
    /// Operations of the link.
    #[default]
    Link,
    /// Transaction layer packets.
    Tlp,
}

/// Front end; most keys are those of an NVMe controller.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostProfile {
    /// What the host sees on PCIe: `"nvme"`, an NVMe controller in hardware, `"nvme-software"`, one in
    /// firmware on the first core (S1), or a front end of a reader's own.
    #[serde(default = "default_front_end")]
    pub front_end: String,
    /// What I/O commands mean, and which admin commands there are beside NVMe's: `"nvm"`;
    /// `"open-channel-1.2"` and `"open-channel-2.0"`, whose host addresses flash in vectors, by page or by
    /// chunk; or a command set of a reader's own ([command-sets.md](command-sets.md)).
    #[serde(default = "default_command_set")]
    pub command_set: String,
    /// I/O queue pairs, 1 to 65,535.
    pub queue_pairs: u16,
    /// Entries per queue, 2 to 4096.
    pub queue_entries: u16,
    /// Commands in progress at once.
    #[serde(default = "default_slots")]
    pub command_slots: u16,
    /// Largest transfer of a command in bytes, a power of two times 4 KiB.
    #[serde(default = "default_transfer")]
    pub transfer_bytes_max: u32,
    /// Tasks per submission queue that fetch and carry commands in NVMe in software (S18), 1 to 64; 8 when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers_per_queue: Option<u8>,
    /// How NVMe in software reaches the host: by operations of the link, which a DMA engine in hardware
    /// carries out; or by packets, for which firmware is the transaction layer (S3 to S7).
    #[serde(default)]
    pub transport: TransportName,
    /// With packets: the board moves the data of completions by a table of descriptors (S6). Without it,
    /// firmware looks at each completion and copies its data. On when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_offload: Option<bool>,
    /// With packets: the host's accesses to registers cross the link as packets, too, and firmware answers
    /// each read by a completion (S3). Without it, they come as calls, one way of the link after they were
    /// sent.
    #[serde(default)]
    pub register_packets: bool,
    /// NVMe in hardware presents commands by a memory-mapped FIFO (S35): the first core waits for a register
    /// access (`board.buses.register_cycles`) for each command that it takes and for each that it completes.
    #[serde(default)]
    pub command_fifo: bool,
    /// Submission queue entries that one fetch reads at most.
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
    /// The controller completes a read, or a write without force unit access, when the last byte of its data
    /// has been moved (P13), instead of when the FTL is done with it.
    #[serde(default)]
    pub auto_completion: bool,
    /// DMA requests of the firmware, units of 4 KiB under the big loop, that the controller holds at once;
    /// four for each command slot when absent. Under the big loop the FTL has as many of its own, and a read
    /// that misses the data buffer occupies one from its flash request on.
    #[serde(default)]
    pub dma_requests: Option<u16>,
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

impl HostProfile {
    /// Workers of each submission queue in NVMe in software.
    pub(crate) fn workers_per_queue(&self) -> u8 {
        self.workers_per_queue.unwrap_or(WORKERS_PER_QUEUE)
    }
    /// Whether the board moves the data of completions, if there are packets.
    pub fn completion_offload(&self) -> bool {
        self.completion_offload.unwrap_or(true)
    }
    /// DMA requests that the controller holds at once.
    pub(crate) fn dma_requests(&self) -> u16 {
        self.dma_requests.unwrap_or_else(|| self.command_slots.saturating_mul(4))
    }
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

fn default_front_end() -> String {
    NVME.to_owned()
}
fn default_command_set() -> String {
    "nvm".to_owned()
}
