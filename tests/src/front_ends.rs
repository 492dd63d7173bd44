//! NVMe controllers that a drive can have: hardware, and firmware over either transport, whose host reaches
//! registers by calls or by packets.

use aster_device::profile::{NVME_SOFTWARE, Profile, TransportName};

/// What chooses one of a profile's parts, with costs of its cores, and its name.
pub type Kind = (&'static str, fn(&mut Profile));

/// All of them.
pub const NVME: [Kind; 4] = [
    ("nvme", |_| {}),
    ("nvme-software by the link", software),
    ("nvme-software by packets", packets),
    ("nvme-software by packets, registers too", register_packets),
];

/// SoftSSD's firmware over operations of the link, and registers that the board answers at once.
pub fn by_operations(p: &mut Profile) {
    (p.host.transport, p.host.completion_offload) = (TransportName::Link, None);
    registers_for_free(p);
    let c = &mut p.costs;
    (c.tlp_build, c.tlp_receive, c.tlp_copy_kib, c.tlp_describe, c.tlp_notice) = (0, 0, 0, 0, 0);
}

/// SoftSSD's packets, but for the host's accesses to registers: those are calls, which cost nothing.
pub fn registers_for_free(p: &mut Profile) {
    (p.host.register_packets, p.costs.nvme_register) = (false, 0);
}

/// SoftSSD with NVMe in hardware in place of its firmware.
pub fn in_hardware(p: &mut Profile) {
    by_operations(p);
    (p.host.front_end, p.host.workers_per_queue) = ("nvme".to_owned(), None);
    let c = &mut p.costs;
    (c.nvme_fetch, c.nvme_parse, c.nvme_transfer, c.nvme_complete, c.nvme_interrupt) = (0, 0, 0, 0, 0);
}

fn software(p: &mut Profile) {
    p.host.front_end = NVME_SOFTWARE.to_owned();
    (p.host.fetch_ns, p.host.completion_ns, p.host.dma_ns) = (0, 0, 0);
    let c = &mut p.costs;
    (c.nvme_fetch, c.nvme_parse, c.nvme_transfer, c.nvme_complete, c.nvme_interrupt) =
        (300, 300, 200, 300, 100);
}

fn packets(p: &mut Profile) {
    software(p);
    p.host.transport = TransportName::Tlp;
    (p.costs.tlp_build, p.costs.tlp_describe, p.costs.tlp_notice) = (40, 40, 40);
}

fn register_packets(p: &mut Profile) {
    packets(p);
    p.host.register_packets = true;
    (p.costs.tlp_receive, p.costs.nvme_register) = (40, 100);
}
