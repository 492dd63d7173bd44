//! One channel on a bench, per controller: what an operation costs the simulator with nothing above I3.

use crate::clock::cpu_seconds;
use aster_device::profile::{ControllerName, shipped};
use aster_events::Recorder;
use aster_ports::flash::FlashStatus;
use aster_run_bench::{Bench, BenchOperation, BenchWork, Pattern};
use aster_units::Content;

const LUNS: u8 = 8;
const REQUESTS: u64 = 300_000;

/// Prints operations per CPU second of each controller: sequential reads and random mixed work, 8 LUNs.
pub fn measure() {
    println!("one channel, cosmos-plus, 8 LUNs, fingerprint");
    for controller in [ControllerName::Software, ControllerName::Synchronous, ControllerName::Asynchronous] {
        for (operation, pattern) in
            [(BenchOperation::Read, Pattern::Sequential), (BenchOperation::Mixed, Pattern::Random)]
        {
            let name = format!("{controller:?} {operation:?} {pattern:?}").to_lowercase();
            one(
                controller,
                BenchWork { operation, pattern, requests: REQUESTS, time: None, sectors: None, seed: 1 },
                &name,
            );
        }
    }
}

fn one(controller: ControllerName, work: BenchWork, name: &str) {
    let mut profile = shipped("cosmos-plus").expect("it comes along");
    profile.channel.controller = controller;
    let bench = Bench::power_on(
        &profile,
        LUNS,
        4 * u16::from(LUNS),
        Some(Content::Fingerprint),
        &Recorder::default(),
    )
    .expect("a bench");
    let prepared = bench.prepare(&work, &mut |_| true).expect("enough good blocks");
    let (counts, from) = (bench.exec().counts(), cpu_seconds());
    let mut operations = 0u64;
    let ran = bench.run(prepared, &mut |sample| {
        // Programs that fail by the profile's error rate are part of the measurement.
        assert!(sample.right && sample.status != FlashStatus::Error);
        operations += 1;
        true
    });
    let seconds = cpu_seconds() - from;
    let after = bench.exec().counts();
    let each = |count: u64| count as f64 / operations as f64;
    println!(
        "  {name:<32} {:9.0} operations/CPU s  {:6.0} ns  {:4.1} transactions  {:4.1} events  {:4.1} posts  \
         {:4.1} polls  {:6.1} × real time",
        operations as f64 / seconds,
        seconds * 1e9 / operations as f64,
        each(ran.channel.transactions),
        each(after.events - counts.events),
        each(after.posts - counts.posts),
        each(after.polls - counts.polls),
        ran.simulated.as_secs_f64() / seconds,
    );
}
