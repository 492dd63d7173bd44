//! The keys of `[costs]`.

use serde::{Deserialize, Serialize};

/// Cycles of firmware steps (design §2). A step that is absent costs nothing.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct CostsProfile {
    /// NVMe manager and FTL: taking a command. MCU behind a message unit: moving a command to its NAND array
    /// controller.
    pub command: u64,
    /// FTL: a slice of a command. MCU: moving a host address of a command.
    pub slice: u64,
    /// FTL: translating a logical page.
    pub translate: u64,
    /// FTL: finding or allocating a data buffer entry.
    pub buffer: u64,
    /// FTL: asking for a host DMA. MCU: requesting a status frame.
    pub dma: u64,
    /// FTL: completing a command. MCU: collecting a status entry.
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
    /// Big loop: each pass. MCU: the register checks of each pass of its loop.
    pub loop_pass: u64,
    /// Big loop: checking a busy way or a host DMA in flight.
    pub loop_status: u64,
    /// Big loop: comparing the priority of an operation.
    pub loop_compare: u64,
    /// Big loop: building a control word or a unit of host DMA.
    pub loop_issue: u64,
    /// Big loop: an operation that has ended.
    pub loop_finish: u64,
    /// NVMe in software: taking a submission queue entry and asking for it.
    pub nvme_fetch: u64,
    /// NVMe in software: decoding a command.
    pub nvme_parse: u64,
    /// NVMe in software: setting up a DMA of data or of a list.
    pub nvme_transfer: u64,
    /// NVMe in software: sending a completion entry.
    pub nvme_complete: u64,
    /// NVMe in software: sending an interrupt.
    pub nvme_interrupt: u64,
    /// NVMe in software: carrying out an access of the host to a register, a doorbell among them. With 0 the
    /// board answers it at once, unless it comes as a packet.
    pub nvme_register: u64,
    /// Packets: building the header of a request, of a message or of a completion.
    pub tlp_build: u64,
    /// Packets: looking at a completion or a request of the host in the receive buffer.
    pub tlp_receive: u64,
    /// Packets: copying a KiB of the data of completions.
    pub tlp_copy_kib: u64,
    /// Packets: filling an entry of the completion offload's table.
    pub tlp_describe: u64,
    /// Packets: looking at the completion offload's bitmap.
    pub tlp_notice: u64,
    /// Flash interface layer: taking a request into its chip's queue.
    pub fil_take: u64,
    /// Flash interface layer: starting a phase of a transaction, or asking for a status.
    pub fil_dispatch: u64,
    /// Flash interface layer: looking whether what a die has under way has ended.
    pub fil_poll: u64,
    /// Flash interface layer: a transaction that has ended.
    pub fil_finish: u64,
    /// Translation: passing a frame with wrong bits to the ECC engine.
    pub ecc_submit: u64,
    /// ECC engine: a frame's syndromes and key equation, and its way through the rings.
    pub ecc_frame: u64,
    /// ECC engine: locating and correcting a wrong bit.
    pub ecc_error: u64,
    /// ECC engine: computing the code bits of a frame, with `ecc.detector = "crc"`.
    pub ecc_encode: u64,
}
