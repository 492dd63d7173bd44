//! A whole drive on RTL channels: written, overwritten until garbage is collected, read back and checked, by
//! the same firmware as on the timed model.

use aster_device::profile::{ControllerName, shipped};
use aster_device::{ChannelHardware, Media, Profile};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{config, drive, job, run, versioned};
use aster_units::{Content, Instant};
use aster_workload::{Access, Mix};

fn machine(hardware: ChannelHardware, profile: &Profile) -> Machine {
    let config = config(profile);
    let media = Media::fresh();
    let machine =
        Machine::power_on_with(hardware, "pocket", profile, None, media, &Recorder::default(), config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}

/// What a drive has done, and when it finished.
#[derive(PartialEq, Debug)]
struct Done {
    collections: u64,
    transactions: u64,
    bytes: u64,
    end: Instant,
}

fn write_collect_and_verify(hardware: ChannelHardware, profile: &Profile) -> Done {
    let machine = machine(hardware, profile);
    let blocks = drive(&machine).bytes / 4096;
    let fill = job("fill", Access::Sequential, Mix::Write, 4096, blocks);
    let churn = job("churn", Access::Random, Mix::Write, 4096, 2 * blocks);
    // Each job reads back what it wrote, and checks it.
    let contents = run(&machine, &[fill, churn], versioned(&machine));
    let check = job("check", Access::Sequential, Mix::Read, 4096, blocks);
    run(&machine, &[check], contents);
    let stats = machine.device().stats();
    let channel = stats.channels[0];
    assert_eq!(channel.failed, 0, "no package objected");
    Done {
        collections: stats.ftl.gc_runs,
        transactions: channel.transactions,
        bytes: channel.bytes,
        end: machine.now(),
    }
}

#[test]
fn a_whole_drive_on_rtl_writes_collects_garbage_and_reads_back_in_the_same_time_as_on_the_timed_model() {
    let profile = shipped("pocket").unwrap();
    let rtl = write_collect_and_verify(crate::RTL, &profile);
    assert!(rtl.collections > 0, "garbage was collected: {rtl:?}");
    assert_eq!(write_collect_and_verify(ChannelHardware::Timed, &profile), rtl);
}

fn refusal(profile: &Profile, content: Option<Content>) -> String {
    let recorder = Recorder::default();
    let (media, config) = (Media::fresh(), config(profile));
    let refused = Machine::power_on_with(crate::RTL, "x", profile, content, media, &recorder, config);
    refused.err().expect("RTL channels can't do that").to_string()
}

#[test]
fn a_drive_that_keeps_fingerprints_has_no_bytes_for_rtl_channels() {
    let error = refusal(&shipped("cosmos-plus").unwrap(), Some(Content::Fingerprint));
    assert!(error.contains("content") && error.contains("full"), "{error}");
}

#[test]
fn a_controller_of_another_kind_is_not_what_the_rtl_is() {
    let mut profile = shipped("pocket").unwrap();
    profile.channel.controller = ControllerName::Synchronous;
    let error = refusal(&profile, None);
    assert!(error.contains("channel.controller") && error.contains("software"), "{error}");
}
