//! The RTL and the timed model give the same waveform files. The pictures in the documentation are such
//! files.

use aster_channel::{WaveFilter, WaveTap, Waveform};
use aster_device::profile::shipped;
use aster_device::{ChannelHardware, Media};
use aster_events::Recorder;
use aster_lab::wave::{write_svg, write_vcd};
use aster_run_virtual::Machine;
use aster_tests::{config, drive, job, run, versioned};
use aster_units::ChannelId;
use aster_workload::{Access, Mix};
use std::path::Path;

/// What channel 0 shows of the first READ after a fill.
fn first_read(hardware: ChannelHardware) -> Waveform {
    let profile = shipped("pocket").unwrap();
    let (recorder, config) = (Recorder::default(), config(&profile));
    let machine =
        Machine::power_on_with(hardware, "pocket", &profile, None, Media::fresh(), &recorder, config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    let blocks = drive(&machine).bytes / 4096;
    let fill = job("fill", Access::Sequential, Mix::Write, 4096, blocks);
    let contents = run(&machine, &[fill], versioned(&machine));
    let ways = machine.device().geometry().ways;
    let tap = WaveTap::new(ChannelId(0), ways, WaveFilter::first_of_each());
    machine.device().set_tap(0, Some(Box::new(tap.clone())));
    recorder.attach(tap.clone());
    let read = job("read", Access::Random, Mix::Read, 4096, 4);
    run(&machine, &[read], contents);
    recorder.detach();
    tap.waveform()
}

#[test]
fn waveforms_of_both_are_the_same_files_and_those_of_the_documentation() {
    let [timed, rtl] = [ChannelHardware::Timed, crate::RTL].map(first_read);
    let vcd = |wave: &Waveform| {
        let mut file = Vec::new();
        write_vcd(&mut file, wave).unwrap();
        String::from_utf8(file).unwrap()
    };
    assert!(vcd(&timed).contains("sread_transfer"), "the transaction's name is a signal");
    assert!(vcd(&timed) == vcd(&rtl));
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (name, wave) in [("wave-timed.svg", &timed), ("wave-rtl.svg", &rtl)] {
        let mut picture = Vec::new();
        write_svg(&mut picture, wave).unwrap();
        let path = docs.join(name);
        if std::env::var_os("ASTER_WRITE_DOCS").is_some() {
            std::fs::write(&path, &picture).unwrap();
        }
        let found = std::fs::read(&path).unwrap_or_default();
        assert!(found == picture, "docs/{name} is stale: run this test with ASTER_WRITE_DOCS=1");
    }
}
