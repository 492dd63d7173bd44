//! Write amplification of a drive.

use super::report::Plan;
use crate::experiment::ExperimentError;
use crate::spare::theory::QUEUE_DEPTH;
use aster_device::Media;
use aster_device::profile::Profile;
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_units::Content;
use aster_workload::runner::{Contents, HostTask, OnFailure, Runner, drive_of};
use aster_workload::{Access, BlockSizes, Distribution, Extent, Job, Mix, PerDirection, Zone};

/// Fills a drive, overwrites it until write amplification has settled, and measures.
pub(super) fn write_amplification(
    plan: &Plan,
    profile: &Profile,
    skewed: &Distribution,
    follow: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<f64, ExperimentError> {
    let depth = profile.host.queue_entries - 1;
    let config = Config { depth: depth.min(QUEUE_DEPTH as u16), ..Config::default() };
    let content = Some(Content::Fingerprint);
    let machine =
        Machine::power_on(&plan.name, profile, content, Media::fresh(), &Recorder::default(), config)?;
    machine.boot()?;
    let drive = drive_of(machine.driver());
    // The simulation's pages are what the map knows a place of.
    let page = unit_bytes(profile);
    let pages = drive.bytes / u64::from(page);
    let passes = plan.passes;
    let all = f64::from(1 + passes.settle + passes.measure);
    let mut contents = Contents::unversioned(drive, plan.seed);
    let mut go = |job: Job, before: u32, times: u32| -> Result<(), ExperimentError> {
        let tasks = HostTask::of_jobs(&[job], drive, plan.seed + u64::from(before));
        let tasks = tasks.map_err(|error| ExperimentError::Run(error.to_string()))?;
        let taken = std::mem::replace(&mut contents, Contents::unversioned(drive, plan.seed));
        let mut runner = Runner::new(machine.driver(), tasks, taken, (), OnFailure::EndTask);
        let mut heard = Ok(());
        machine.run(&mut runner, |runner| {
            let (done, total) = runner.progress();
            let share = done as f64 / total.max(1) as f64;
            heard = follow((f64::from(before) + f64::from(times) * share) / all);
            heard.is_ok()
        })?;
        heard?;
        let (statistics, taken, ()) = runner.finish();
        contents = taken;
        match statistics.into_iter().find_map(|of_task| of_task.first_failure) {
            Some(failure) => Err(ExperimentError::Run(failure.to_string())),
            None => Ok(()),
        }
    };
    let fill = Job { access: Access::Sequential, ..writes(page, pages) };
    let overwrite =
        |times: u32| Job { distribution: skewed.clone(), ..writes(page, u64::from(times) * pages) };
    go(fill, 0, 1)?;
    go(overwrite(passes.settle), 1, passes.settle)?;
    let before = machine.device().stats().ftl.flash_programs;
    go(overwrite(passes.measure), 1 + passes.settle, passes.measure)?;
    let after = machine.device().stats().ftl.flash_programs;
    let (written, copied) = (after.host - before.host, after.gc - before.gc);
    Ok((written + copied) as f64 / written.max(1) as f64)
}

/// Bytes of a mapping unit.
pub(super) fn unit_bytes(profile: &Profile) -> u32 {
    match profile.ftl.mapping_unit_bytes {
        0 => profile.geometry.page_bytes,
        bytes => bytes,
    }
}

/// Writes of one page each, anywhere.
fn writes(page: u32, requests: u64) -> Job {
    Job {
        name: "writes".into(),
        access: Access::Random,
        mix: Mix::Write,
        block_sizes: PerDirection::all(BlockSizes::Fixed(page)),
        number_ios: Some(requests),
        size: Some(Extent::Percent(100)),
        io_size: Some(Extent::Bytes(requests * u64::from(page))),
        queue_depth: QUEUE_DEPTH,
        random_map: false,
        // With repeatable addresses, the measured writes would go to the same pages in the same order as
        // those of the settling phase.
        repeatable: false,
        ..Job::default()
    }
}

/// Writes of which so many percent go to the rest of the pages: with 90, 90 % go to 10 % of the pages.
pub(super) fn distribution(hot_percent: u8) -> Distribution {
    if hot_percent == 50 {
        return Distribution::Uniform;
    }
    let zones = [(hot_percent, 100 - hot_percent), (100 - hot_percent, hot_percent)];
    let zone = |(requests_percent, size): (u8, u8)| Zone { requests_percent, size: Extent::Percent(size) };
    Distribution::Zoned(PerDirection::all(zones.map(zone).into()))
}
