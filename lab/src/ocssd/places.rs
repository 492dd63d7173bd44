//! One FTL, two places: the page mapping of our drives in the drive and on the host of an open-channel drive,
//! and pblk beside it, over the same array with the same job.

use super::drive::{PaperDrive, Work};
use super::plan::{Place, Plan};
use crate::experiment::ExperimentError;
use aster_units::{Content, Duration};
use serde::Serialize;

/// What an FTL does at its place: random writes to a drive that is full, and then random reads of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceRow {
    /// Which FTL, where.
    pub place: Place,
    /// Writes per second.
    pub write_iops: f64,
    /// Mean latency of a write, µs.
    pub write_us: f64,
    /// Reads per second.
    pub read_iops: f64,
    /// Mean latency of a read, µs.
    pub read_us: f64,
    /// Bytes programmed per byte written.
    pub programmed: f64,
    /// Blocks erased by the writes, each plane's for itself.
    pub erased: u64,
    /// Bytes on the drive's link, in both directions, per byte written.
    pub over_link: f64,
    /// The share of the writes' time in which the drive's core worked.
    pub core: f64,
}

/// Each of them.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<PlaceRow>, ExperimentError> {
    let mut rows = Vec::new();
    for place in Place::ALL {
        told(rows.len() as f64 / Place::ALL.len() as f64)?;
        rows.push(row(plan, place)?);
    }
    Ok(rows)
}

fn row(plan: &Plan, place: Place) -> Result<PlaceRow, ExperimentError> {
    let places = &plan.places;
    // The page mapping stores its map in pages of data.
    let mut drive = PaperDrive::keeping(Content::Full, plan.places_profile(place)?)?;
    let range = drive.capacity();
    drive.fill(0, range)?;
    let of = |write, bytes, requests| Work {
        write,
        random: true,
        bytes,
        outstanding: places.outstanding,
        requests,
        from: 0,
        range,
    };
    // Random writes until collection has met blocks that random writes have filled.
    let writes = (range as f64 * places.written / f64::from(places.write_bytes)) as u64;
    drive.run("random writes before", &of(true, places.write_bytes, writes))?;
    let before = drive.drive.machine.device().stats();
    let written = drive.run("random writes", &of(true, places.write_bytes, writes))?;
    let after = drive.drive.machine.device().stats();
    let read = drive.run("random reads", &of(false, places.read_bytes, places.reads))?;
    let seconds = |took: Duration| took.as_secs_f64();
    let mean_us = |latencies: &[Duration]| {
        latencies.iter().map(|latency| latency.as_secs_f64() * 1e6).sum::<f64>()
            / latencies.len().max(1) as f64
    };
    let profile = &drive.drive.profile;
    let bytes = written.bytes as f64;
    let programs = after.nand.programs - before.nand.programs;
    let link = |stats: &aster_device::DriveStats| stats.link.to_host + stats.link.from_host;
    let busy = |stats: &aster_device::DriveStats| {
        let core = &stats.cores[0];
        core.cycles as f64 / (profile.cores.frequency_mhz * 1e6) + core.stalled.as_secs_f64()
    };
    Ok(PlaceRow {
        place,
        write_iops: writes as f64 / seconds(written.took),
        write_us: mean_us(&written.latencies),
        read_iops: places.reads as f64 / seconds(read.took),
        read_us: mean_us(&read.latencies),
        programmed: programs as f64 * f64::from(profile.geometry.page_bytes) / bytes,
        erased: after.nand.erases - before.nand.erases,
        over_link: (link(&after) - link(&before)) as f64 / bytes,
        core: (busy(&after) - busy(&before)) / seconds(written.took),
    })
}
