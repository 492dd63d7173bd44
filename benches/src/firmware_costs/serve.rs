//! What the measured drives serve.

use aster_device::Media;
use aster_device::profile::Profile;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{drive, job, machine, run};
use aster_units::Content;
use aster_workload::runner::Contents;
use aster_workload::{Access, Mix};

/// Requests outstanding, enough to give every way work.
const OUTSTANDING: u32 = 64;

/// A new drive, booted.
pub fn machine_of(profile: &Profile, recorder: &Recorder) -> Machine {
    machine(profile, Some(Content::Fingerprint), Media::fresh(), recorder)
}

/// Serves `requests` writes of 16 KiB, and as many reads.
pub fn serve(machine: &Machine, requests: u64) {
    let contents = Contents::unversioned(drive(machine), 1);
    let of = |name, mix| aster_workload::Job {
        queue_depth: OUTSTANDING,
        ..job(name, Access::Sequential, mix, 16 << 10, requests)
    };
    run(machine, &[of("write", Mix::Write), of("read", Mix::Read)], contents);
}
