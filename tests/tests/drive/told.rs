//! Errors inside a drive are reported to its user in words.

use aster_device::profile::Profile;
use aster_device::{Device, Media, NVRAM_BYTES};
use aster_events::Recorder;
use aster_ports::medium::Nvram;
use aster_run_virtual::{Machine, RunError};
use aster_tests::{SMALL, SmallDisk, config, drive, job, machine, profile, run, small, versioned};
use aster_workload::runner::{HostTask, OnFailure, Runner};
use aster_workload::{Access, Mix};
use std::cell::Cell;
use std::rc::Rc;

fn boot(profile: &Profile, media: Media) -> Result<(), RunError> {
    let m = Machine::power_on("test", profile, None, media, &Recorder::default(), config(profile))?;
    m.boot()
}

fn told(result: Result<(), RunError>) -> String {
    match result {
        Err(RunError::Drive(words)) => words,
        other => panic!("expected the drive's own words, got {other:?}"),
    }
}

#[test]
fn media_of_another_drive_are_refused_in_words() {
    for (name, profile) in small(|_| {}) {
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let contents = versioned(&m);
        run(&m, &[job("write", Access::Random, Mix::Write, 4096, 100)], contents);
        let media = m.shut_down().unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut other = profile.clone();
        other.ftl.over_provisioning_percent = 60.0;
        let words = told(boot(&other, media));
        assert!(words.contains("another geometry, capacity, placement or content"), "{name}: {words}");
    }
}

#[test]
fn a_package_that_never_answers_is_named_by_channel_and_way() {
    for name in SMALL {
        let profile = profile(name, |_| {});
        // The package works, then its LUN hangs, and the power is cycled: the cells keep the fault.
        let device = Device::power_on("test", &profile, None, Media::fresh(), &Recorder::default())
            .unwrap_or_else(|e| panic!("{e}"));
        device.nand().force_busy(aster_units::LunIndex(0), true);
        let words = told(boot(&profile, device.power_off()));
        let is_named = words.contains("channel 0 way 0") && words.contains("never became ready");
        assert!(is_named, "{name}: {words}");
    }
}

#[test]
fn every_data_interface_boots_at_its_slowest_and_fastest_mode() {
    SMALL.into_iter().for_each(boots_at_each_mode);
}

fn boots_at_each_mode(name: &str) {
    use aster_device::profile::DataModeName::{NvDdr, NvDdr2, Sdr};
    let mut took = Vec::new();
    for (interface, mode) in [(Sdr, 0), (Sdr, 5), (NvDdr, 0), (NvDdr, 5), (NvDdr2, 0), (NvDdr2, 7)] {
        let profile = profile(name, |p| {
            p.channel.data_interface = interface;
            p.channel.timing_mode = mode;
        });
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let contents = versioned(&m);
        let from = m.now();
        run(&m, &[job("write", Access::Sequential, Mix::Write, 32 << 10, 40)], contents);
        took.push(m.now().since(from));
    }
    // A faster controller clock rounds less, but still keeps every wait.
    for clock_ns in [0.5, 3.3, 40.0] {
        let profile = profile(name, |p| p.channel.clock_ns = clock_ns);
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let contents = versioned(&m);
        run(&m, &[job("write", Access::Sequential, Mix::Write, 32 << 10, 40)], contents);
    }
    assert!(took[0] > took[1] && took[2] > took[3] && took[4] > took[5], "{name}: {took:?}");
}

#[test]
fn a_full_disk_is_told_with_the_place_that_it_refused() {
    for (name, profile) in small(|_| {}) {
        println!("{name}");
        is_told_with_the_place(&profile);
    }
}

fn is_told_with_the_place(profile: &Profile) {
    let size = aster_device::nand_image_bytes(profile, None).unwrap_or_else(|e| panic!("{e}"));
    let on_disk = |room| {
        let disk = SmallDisk::new(size, Rc::new(Cell::new(room)));
        let media = Media::on_image(Box::new(disk), Nvram::volatile(NVRAM_BYTES));
        machine(profile, None, media, &Recorder::default())
    };
    let work = |m: &Machine| {
        let job = job("write", Access::Random, Mix::Write, 16 << 10, 100);
        let tasks = HostTask::of_jobs(&[job], drive(m), 1).unwrap_or_else(|e| panic!("{e}"));
        let mut runner = Runner::new(m.driver(), tasks, versioned(m), (), OnFailure::Continue);
        m.run(&mut runner, |_| true)
    };
    let words = told(work(&on_disk(256 << 10)));
    assert!(
        words.contains("image") && words.contains("at byte 10995") && words.contains("no space left"),
        "{words}"
    );
    // The disk is just as full when the map is to be stored.
    let m = on_disk(256 << 10);
    assert!(work(&m).is_err());
    assert!(told(m.shut_down().map(drop)).contains("no space left"));
    let m = on_disk(usize::MAX);
    work(&m).and_then(|()| m.shut_down().map(drop)).unwrap_or_else(|e| panic!("{e}"));
}
