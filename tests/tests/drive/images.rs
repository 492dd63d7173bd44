//! Images that another program has changed.

use aster_device::profile::Profile;
use aster_events::Recorder;
use aster_image::{ImageError, check_image, open_image};
use aster_run_virtual::{Machine, RunError};
use aster_tests::{config, drive, job, small, versioned};
use aster_units::{Content, Rng};
use aster_workload::runner::{Failure, HostTask, OnFailure, Runner};
use aster_workload::{Access, Mix};
use rustix::fs::{SeekFrom, seek};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

/// Offsets of data in the last part of the file, which holds the pages.
fn places(file: &File) -> Vec<u64> {
    let (mut places, mut at) = (Vec::new(), 2 << 20);
    while let Ok(data) = seek(file, SeekFrom::Data(at)) {
        at = seek(file, SeekFrom::Hole(data)).expect("the end is a hole");
        places.extend((data..at).step_by(4096));
    }
    places
}

#[test]
fn a_page_that_something_else_wrote_to_is_found_by_its_place_and_never_read_as_data() {
    for (name, profile) in small(|p| (p.geometry.channels, p.geometry.ways) = (1, 1)) {
        println!("{name}");
        is_found(&profile);
    }
}

fn is_found(profile: &Profile) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("drive.aster");
    let content = Some(Content::Full);
    let boot = || -> Result<Machine, RunError> {
        let media = open_image(&path, profile, content).unwrap_or_else(|e| panic!("{e}"));
        let machine = Machine::power_on("t", profile, content, media, &Recorder::default(), config(profile))?;
        machine.boot()?;
        Ok(machine)
    };
    let machine = boot().unwrap_or_else(|e| panic!("{e}"));
    let jobs = [job("fill", Access::Random, Mix::Write, 4096, 300)];
    let contents = aster_tests::run(&machine, &jobs, versioned(&machine));
    machine.shut_down().map(drop).unwrap_or_else(|e| panic!("{e}"));
    let check = || check_image(&path, profile, content, |_, _| true);
    let pages = check().unwrap_or_else(|e| panic!("{e}")).pages;
    assert!(pages > 0);

    let file = OpenOptions::new().read(true).write(true).open(&path).expect("the image");
    let (places, mut random, mut told) = (places(&file), Rng::new(5), 0);
    let whole = std::fs::read(&path).expect("the image");
    let (mut contents, mut found) = (Some(contents), 0);
    for _ in 0..24 {
        let at = places[random.below(places.len() as u64) as usize] + random.below(4096);
        file.write_all_at(&[whole[at as usize] ^ 4], at).expect("in the image");
        let damaged = match check() {
            Err(ImageError::DamagedPages { pages, .. }) => {
                assert_eq!(pages.len(), 1);
                assert!((pages[0].offset..pages[0].offset + 4096).contains(&at), "{at}: {pages:?}");
                found += 1;
                true
            }
            // Padding after a page and erased blocks hold no data.
            checked => checked.is_err(),
        };
        let ran = boot().and_then(|machine| {
            let jobs = [job("read", Access::Sequential, Mix::Read, 4096, drive(&machine).bytes / 4096)];
            let tasks = HostTask::of_jobs(&jobs, drive(&machine), 1).unwrap_or_else(|e| panic!("{e}"));
            let kept = contents.take().expect("given back");
            let mut runner = Runner::new(machine.driver(), tasks, kept, (), OnFailure::Continue);
            let ran = machine.run(&mut runner, |_| true);
            let (statistics, kept, _) = runner.finish();
            contents = Some(kept);
            let failure = &statistics[0].first_failure;
            assert!(matches!(failure, None | Some(Failure::Command { .. })), "damage at {at}: {failure:?}");
            ran
        });
        if let Err(error) = ran {
            assert!(damaged, "{at}: {error}");
            assert!(error.to_string().contains("isn't what was programmed"), "{at}: {error}");
            told += 1;
        }
        file.set_len(0).expect("shorter");
        file.write_all_at(&whole, 0).expect("as it was");
    }
    assert!(found > 4 && told > 4, "{found} found, {told} told");
}
