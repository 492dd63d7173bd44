//! Figs 25 and 26: the latency of one request by its size, and how its data is distributed over channels
//! and ways, by assigner.

use super::drive::{AccessPattern, PaperDrive, Setup};
use super::mode::Mode;
use super::plan::Plan;
use crate::experiment::ExperimentError;
use aster_device::profile::AssignerName;
use aster_events::Recorder;
use aster_units::{Geometry, Lpn, LunAddr};
use serde::Serialize;

/// An assigner at a size of request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// The paper's name of the assigner.
    pub assigner: &'static str,
    /// KiB of a request.
    pub kib: u32,
    /// System latency of a read, µs.
    pub read_us: f64,
    /// System latency of a write, µs.
    pub write_us: f64,
    /// Standard deviation of a request's KiB per channel, mean over requests (C74).
    pub deviation_channels: f64,
    /// The same over ways.
    pub deviation_ways: f64,
}

/// Fig 25's and 26's assigners.
pub(super) const ASSIGNERS: [(&str, AssignerName); 3] = [
    ("ChPrev", AssignerName::ChannelFirst),
    ("WayPrev", AssignerName::WayFirst),
    ("Random", AssignerName::Random),
];

pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<Distribution>, ExperimentError> {
    let mut all = Vec::new();
    let total = (ASSIGNERS.len() * plan.sizes_kib.len()) as f64;
    for (name, assigner) in ASSIGNERS {
        for &kib in &plan.sizes_kib {
            told(all.len() as f64 / total)?;
            all.push(point(plan, name, assigner, kib)?);
        }
    }
    Ok(all)
}

fn point(
    plan: &Plan,
    name: &'static str,
    assigner: AssignerName,
    kib: u32,
) -> Result<Distribution, ExperimentError> {
    let setup = Setup { assigner, ..Setup::full(Mode::Slc) };
    let bytes = kib << 10;
    let work =
        |write| AccessPattern { write, random: false, bytes, outstanding: 1, requests: plan.single_requests };
    let mut bench = PaperDrive::new(plan, &setup, &Recorder::default())?;
    let each = u64::from(bytes) / bench.page_bytes();
    let buffered = u64::from(bench.drive.profile.ftl.buffer_entries);
    let pages = (plan.single_requests * each).max(2 * buffered);
    let read = bench.steady(pages, &work(false))?;
    // The writes evict the previous pages, in the same order.
    let mut writing = PaperDrive::new(plan, &setup, &Recorder::default())?;
    let write = writing.steady(pages, &work(true))?;
    let device = bench.drive.machine.device();
    let geometry = *device.geometry();
    let (mut channels, mut ways) = (0.0, 0.0);
    for request in 0..plan.single_requests {
        let luns: Vec<LunAddr> = (request * each..(request + 1) * each)
            .filter_map(|lpn| device.translation().location_of(Lpn(lpn as u32)))
            .map(|ppa| geometry.lun_addr(geometry.split_ppa(ppa).0))
            .collect();
        let (c, w) = deviations(&geometry, &luns);
        channels += c;
        ways += w;
    }
    let mean = |sum: f64| sum / plan.single_requests as f64 * bench.page_bytes() as f64 / 1024.0;
    Ok(Distribution {
        assigner: name,
        kib,
        read_us: read.system_us,
        write_us: write.system_us,
        deviation_channels: mean(channels),
        deviation_ways: mean(ways),
    })
}

/// Standard deviations of the pages per channel and per way.
fn deviations(geometry: &Geometry, luns: &[LunAddr]) -> (f64, f64) {
    let deviation = |places: usize, of: &dyn Fn(&LunAddr) -> usize| {
        let mut counts = vec![0u32; places];
        luns.iter().for_each(|lun| counts[of(lun)] += 1);
        let mean = luns.len() as f64 / places as f64;
        let variance = counts.iter().map(|&n| (f64::from(n) - mean).powi(2)).sum::<f64>() / places as f64;
        variance.sqrt()
    };
    (
        deviation(usize::from(geometry.channels), &|lun| usize::from(lun.channel)),
        deviation(usize::from(geometry.ways), &|lun| usize::from(lun.way)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_on_every_channel_alike_deviate_by_nothing_and_those_on_one_by_much() {
        let plan = Plan::shipped().unwrap();
        let geometry = plan.profile().unwrap().array_geometry();
        let at = |channel, way| LunAddr { channel, way, lun: 0 };
        let spread: Vec<_> = (0..8).map(|channel| at(channel, 3)).collect();
        let (channels, ways) = deviations(&geometry, &spread);
        assert_eq!(channels, 0.0);
        // Eight pages on one way of eight: mean 1, variance (7² + 7 · 1²) / 8.
        assert!((ways - 7f64.sqrt()).abs() < 1e-12);
    }
}
