//! The NVMe front end (`firmware/hostif`).

use super::board::{alarm_kelvins, critical_kelvins};
use super::sched::register_access;
use super::times::nanos;
use crate::profile::{ArbitrationName, DIRECTIVE, Profile, TransportName};
use aster_hostif::{
    BlockSize, CRITICAL_ABOVE_WARNING, Fetching, HostIfConfig, Nvm, PacketConfig, PacketCosts,
    SoftwareConfig, SoftwareCosts, StreamOffer, WARNING_KELVINS, vectors_for,
};
use aster_units::{Content, Duration};

pub(crate) fn host(profile: &Profile, name: &str, content: Content, namespace_bytes: u64) -> HostIfConfig {
    let h = &profile.host;
    let mut model: String = format!("Aster {name}").chars().filter(|c| matches!(c, ' '..='~')).collect();
    model.truncate(40);
    let warning_kelvins = alarm_kelvins(profile).unwrap_or(WARNING_KELVINS);
    HostIfConfig {
        queue_pairs: h.queue_pairs,
        queue_entries: u32::from(h.queue_entries),
        slots: h.command_slots,
        dma_requests: h.dma_requests(),
        transfer_pages_log2: (h.transfer_bytes_max / 4096).trailing_zeros() as u8,
        serial: format!("ASTER{:012X}", profile.seed & 0xffff_ffff_ffff),
        model,
        firmware_revision: env!("CARGO_PKG_VERSION").chars().take(8).collect(),
        vendor_id: profile.link.vendor_id,
        subsystem_vendor_id: profile.link.vendor_id,
        ieee_oui: [0; 3],
        namespace_bytes,
        preferred_writes: None,
        offers_512: content == Content::Full,
        block_size: block_size(profile, content),
        volatile_write_cache: true,
        weighted_round_robin: h.arbitration == ArbitrationName::Weighted,
        arbitration_burst_log2: 3,
        fetch_batch: h.fetch_batch,
        fetching: Fetching::Arbiter,
        vectors: vectors_for(h.queue_pairs),
        fetch_latency: nanos(h.fetch_ns),
        completion_latency: nanos(h.completion_ns),
        transfer_latency: nanos(h.dma_ns),
        auto_completion: h.auto_completion,
        media_errors_max: h.media_errors_max,
        warning_kelvins,
        critical_kelvins: critical_kelvins(profile).unwrap_or(warning_kelvins + CRITICAL_ABOVE_WARNING),
        history: Default::default(),
    }
}

/// The command set of drives that know logical blocks. A drive whose stream policy goes by what the host
/// names offers all streams but the first, which has what names none.
pub(crate) fn nvm(profile: &Profile) -> Nvm {
    let geometry = profile.used_geometry();
    match host_streams(profile) {
        0 => Nvm::default(),
        streams => Nvm::default().with_streams(StreamOffer {
            streams,
            write_bytes: geometry.page_bytes,
            granularity: geometry.pages_per_block,
        }),
    }
}

/// Streams that the host of a drive with this profile may have open; 0 for none (NVMe 1.4 §9.3).
pub fn host_streams(profile: &Profile) -> u8 {
    if profile.ftl.stream_policy == DIRECTIVE { profile.ftl.streams.saturating_sub(1) } else { 0 }
}

/// How long an access to the command FIFO takes, if NVMe in hardware has one.
pub(crate) fn command_fifo(profile: &Profile) -> Option<Duration> {
    profile.host.command_fifo.then(|| register_access(profile))
}

/// What NVMe in software has beside its controller.
pub(crate) fn nvme_software(profile: &Profile) -> SoftwareConfig {
    let c = &profile.costs;
    let costs = SoftwareCosts {
        fetch: c.nvme_fetch,
        parse: c.nvme_parse,
        transfer: c.nvme_transfer,
        complete: c.nvme_complete,
        interrupt: c.nvme_interrupt,
        register: c.nvme_register,
    };
    SoftwareConfig { workers: profile.host.workers_per_queue(), costs, packets: packets(profile) }
}

/// How firmware sends packets, if it does.
fn packets(profile: &Profile) -> Option<PacketConfig> {
    let (host, c) = (&profile.host, &profile.costs);
    let costs = PacketCosts {
        build: c.tlp_build,
        receive: c.tlp_receive,
        copy_kib: c.tlp_copy_kib,
        describe: c.tlp_describe,
        notice: c.tlp_notice,
    };
    let config = PacketConfig { offload: host.completion_offload(), registers: host.register_packets, costs };
    (host.transport == TransportName::Tlp).then_some(config)
}

/// The block format of a new drive. 512-byte blocks need full content.
fn block_size(profile: &Profile, content: Content) -> BlockSize {
    match (content, profile.host.block_bytes) {
        (Content::Full, 512) => BlockSize::Bytes512,
        (Content::Fingerprint | Content::Full, _) => BlockSize::Bytes4096,
    }
}
