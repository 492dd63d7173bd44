//! Jobs on a drive in virtual time, one after the other.

use aster_run_virtual::Machine;
use aster_workload::runner::{Contents, HostTask, OnFailure, Runner};
use aster_workload::{Drive, Extent, Job};

/// The drive as jobs see it.
pub fn drive_of(m: &Machine) -> Drive {
    let namespace = m.driver().namespace();
    Drive {
        bytes: namespace.blocks * u64::from(namespace.block_bytes),
        block_bytes: namespace.block_bytes,
        streams: m.driver().streams(),
    }
}

/// Runs `number` requests of `block` bytes as `job` describes them; returns what the drive holds then.
///
/// # Panics
/// When a request fails, or the job does other work than it was given.
pub fn run(m: &Machine, job: Job, (block, number): (u32, u64), contents: Contents) -> Contents {
    let job = Job {
        number_ios: Some(number),
        // Without this a job ends when it has moved as many bytes as the drive has.
        io_size: Some(Extent::Bytes(number * u64::from(block))),
        random_map: false,
        ..job
    };
    let tasks = HostTask::of_jobs(&[job], drive_of(m), 1).unwrap_or_else(|e| panic!("{e}"));
    let mut runner = Runner::new(m.driver(), tasks, contents, (), OnFailure::EndTask);
    m.run(&mut runner, |_| true).unwrap_or_else(|e| panic!("{e}"));
    let (statistics, back, _) = runner.finish();
    assert_eq!(statistics[0].failures, 0, "{:?}", statistics[0].first_failure);
    assert_eq!(statistics[0].requests(), number, "the job did other work than it was given");
    back
}
