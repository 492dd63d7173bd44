//! Table 2: the paper's drive beside the profile's.

use super::plan::Plan;
use crate::experiment::ExperimentError;
use aster_device::namespace;
use aster_device::profile::Profile;
use serde::Serialize;

/// A row of Table 2.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table2Row {
    /// What it is.
    pub name: &'static str,
    /// Of the profile's drive.
    pub ours: f64,
    /// The paper's.
    pub paper: f64,
    /// Whether they agree. The capacity agrees if it rounds to the paper's.
    pub agrees: bool,
}

/// All rows.
pub(super) fn rows(plan: &Plan) -> Result<Vec<Table2Row>, ExperimentError> {
    let p = plan.profile()?;
    let t = &plan.paper.table_2;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let (g, page_bytes) = (p.array_geometry(), p.geometry.page_bytes);
    let bytes = capacity_bytes(plan, &p)?;
    let capacity = Table2Row {
        name: "capacity, TB",
        ours: bytes as f64 / 1e12,
        paper: t.capacity_tb,
        agrees: (bytes as f64 / 1e12).round() == t.capacity_tb,
    };
    let cache = u64::from(p.ftl.buffer_entries) * u64::from(page_bytes);
    let exact = [
        ("mapping table cache, MiB", mib(p.ftl.map_cache_bytes.unwrap_or(0)), t.mapping_cache_mib),
        ("write cache, MiB", mib(cache), t.write_cache_mib),
        ("channels", f64::from(g.channels), t.channels),
        ("chips per channel", f64::from(g.ways), t.chips_per_channel),
        ("NVMe I/O queues", f64::from(p.host.queue_pairs), t.io_queues),
        ("NVMe queue depth", f64::from(p.host.queue_entries), t.queue_depth),
        ("page size, B", f64::from(page_bytes), t.page_bytes),
        ("OOB of a page, B", f64::from(g.raw_page_bytes() - page_bytes), t.oob_bytes),
        ("pages per block", f64::from(g.pages_per_block), t.pages_per_block),
        ("blocks per plane", f64::from(g.blocks_per_lun / u32::from(g.planes)), t.blocks_per_plane),
        ("planes per die", f64::from(g.planes), t.planes_per_die),
        ("dies per chip", f64::from(g.luns), t.dies_per_chip),
    ];
    let exact = exact.map(|(name, ours, paper)| Table2Row { name, ours, paper, agrees: ours == paper });
    Ok([capacity].into_iter().chain(exact).collect())
}

fn capacity_bytes(plan: &Plan, profile: &Profile) -> Result<u64, ExperimentError> {
    let (bytes, _) = namespace(profile, None, None).map_err(|error| ExperimentError::Drive {
        figure: "Table 2",
        key: plan.profile_name().to_owned(),
        reason: error.to_string(),
    })?;
    Ok(bytes)
}
