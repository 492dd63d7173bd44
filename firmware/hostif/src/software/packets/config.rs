//! How firmware sends packets, and what that costs.

/// Cycles of the core for each step of the transaction layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCosts {
    /// Building the header of a request, message or completion and passing it to the DMA controller.
    pub build: u64,
    /// Looking at a packet in the receive buffer: a completion, or a request of the host.
    pub receive: u64,
    /// Copying a KiB of a completion's data to its place.
    pub copy_kib: u64,
    /// Filling an entry of the buffer descriptor table.
    pub describe: u64,
    /// Looking at the completion bitmap, when the data mover has told of it.
    pub notice: u64,
}

/// How firmware sends packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketConfig {
    /// The board moves the data of completions (S6).
    pub offload: bool,
    /// The host's accesses to registers are packets, too (S3).
    pub registers: bool,
    /// What its steps cost.
    pub costs: PacketCosts,
}

impl PacketConfig {
    /// Whether anything costs time.
    pub(in super::super) fn has_costs(&self) -> bool {
        self.costs != PacketCosts::default()
    }
}
