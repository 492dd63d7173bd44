//! Fig 11: commands per second of the host interface in software and in hardware, with nothing behind it. The
//! paper has 25,000 commands per second and, at 16 KiB, 400 MB/s, which are nearly one number if the
//! commands move their data. So ours do.

use super::drive::{PaperDrive, Work};
use super::immediate::{IMMEDIATE, Immediate};
use super::plan::Plan;
use super::threads::STAGGER;
use crate::experiment::ExperimentError;
use aster_device::Pieces;
use aster_device::profile::{Profile, TransportName};
use aster_events::Recorder;
use serde::Serialize;

/// Fig 11.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostInterfaces {
    /// Commands per second with NVMe in software.
    pub software_per_second: f64,
    /// And in hardware.
    pub hardware_per_second: f64,
}

/// Requests outstanding of each queue.
const OUTSTANDING: u32 = 8;

/// Measures both.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<HostInterfaces, ExperimentError> {
    told(0.0)?;
    let software_per_second = software(plan)?;
    told(0.5)?;
    let mut profile = plan.small_profile()?;
    profile.host.front_end = "nvme".to_owned();
    profile.host.workers_per_queue = None;
    // Its DMA engine is hardware, too, and it presents commands by a FIFO (S35).
    profile.host.command_fifo = true;
    plan.put_registers(&mut profile)?;
    (profile.host.transport, profile.host.completion_offload) = (TransportName::Link, None);
    profile.host.register_packets = false;
    let c = &mut profile.costs;
    (c.nvme_fetch, c.nvme_parse, c.nvme_transfer, c.nvme_complete, c.nvme_interrupt) = (0, 0, 0, 0, 0);
    c.nvme_register = 0;
    (c.tlp_build, c.tlp_receive, c.tlp_copy_kib, c.tlp_describe, c.tlp_notice) = (0, 0, 0, 0, 0);
    Ok(HostInterfaces { software_per_second, hardware_per_second: per_second(plan, profile)? })
}

/// Commands per second of NVMe in software.
pub(super) fn software(plan: &Plan) -> Result<f64, ExperimentError> {
    per_second(plan, plan.small_profile()?)
}

/// Commands per second of a drive behind whose host interface commands end once their data has been moved.
fn per_second(plan: &Plan, mut profile: Profile) -> Result<f64, ExperimentError> {
    profile.ftl.kind = IMMEDIATE.to_owned();
    // What belongs to the translation that isn't there.
    profile.ftl.mapping = aster_device::profile::MappingName::default();
    profile.ftl.map_cache_bytes = None;
    let cycles = profile.costs.command + profile.costs.complete;
    let range = u64::from(plan.reads_mib) << 20;
    let (page_bytes, dma) = (profile.geometry.page_bytes, profile.costs.dma);
    let queues = u32::from(profile.host.queue_pairs);
    let movers = queues * OUTSTANDING;
    let pieces = Pieces::default().translation(IMMEDIATE, move |_, _| {
        Ok(Box::new(Immediate { bytes: range + STAGGER, cycles, dma, page_bytes, movers }))
    });
    let mut drive = PaperDrive::of(profile, pieces, &Recorder::default())?;
    let work = Work {
        write: true,
        random: false,
        bytes: plan.request_bytes,
        threads: queues,
        outstanding: OUTSTANDING,
        requests: plan.host_requests,
        from: 0,
        range,
    };
    let done = drive.run("16 KiB writes that end with their data", &work)?;
    Ok(done.latencies.len() as f64 / done.took.as_secs_f64().max(f64::MIN_POSITIVE))
}
