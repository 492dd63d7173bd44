//! The operation monitor on whole drives (C45): it counts what the drive counts.

use aster_device::Media;
use aster_device::profile::Profile;
use aster_events::monitor::{OperationMonitor, Sample, TableEntry, WriteAmplification};
use aster_events::{Recorder, Spans};
use aster_tests::{big_loop, drive, job, machine, profile, run, versioned};
use aster_units::{Content, Duration};
use aster_workload::{Access, Job, Mix};
use std::cell::RefCell;
use std::rc::Rc;

/// Rewrites half of a drive, with comparisons between, some of which differ. Returns the total write
/// amplification by the monitor and by the drive.
fn amplification(profile: &Profile) -> (f64, f64) {
    let recorder = Recorder::default();
    let m = machine(profile, Some(Content::Full), Media::fresh(), &recorder);
    m.idle(Duration::from_millis(10));
    let before = m.device().stats().ftl;
    let last = Rc::new(RefCell::new(f64::NAN));
    let into = Rc::clone(&last);
    let each = move |_: &[TableEntry], sample: Sample<'_>| *into.borrow_mut() = sample.values[1];
    let mut monitor = OperationMonitor::new(Duration::from_secs(1_000), m.now(), each);
    monitor.insert(m.now(), Box::new(WriteAmplification::new(m.device().geometry()))).unwrap();
    let monitor = Rc::new(RefCell::new(monitor));
    recorder.attach(Rc::clone(&monitor));

    let pages = drive(&m).bytes / (16 << 10);
    run(&m, &[job("write", Access::Random, Mix::Write, 16 << 10, pages)], versioned(&m));
    let driver = Rc::clone(m.driver());
    let compared = m.block_on("compares", async move {
        let queue = driver.queues().next().expect("an I/O queue");
        let mut bytes = vec![0; 16 << 10];
        let mut differed = 0;
        for page in 0..pages / 2 {
            let slba = page * (16 << 10) / u64::from(driver.namespace().block_bytes);
            driver.read(queue, slba, &mut bytes).await.expect("a read");
            driver.compare(queue, slba, &bytes).await.expect("they are equal");
            bytes[0] ^= 1;
            differed += u64::from(driver.compare(queue, slba, &bytes).await.is_err());
        }
        driver.flush(queue).await.expect("a flush");
        (differed, pages / 2)
    });
    let (differed, asked) = compared.expect("the host goes on");
    assert_eq!(differed, asked);
    m.idle(Duration::from_millis(100));
    monitor.borrow_mut().sample_now(m.now());
    let after = m.device().stats().ftl;
    let (stored, written) = (
        after.flash_bytes_written - before.flash_bytes_written,
        after.host_bytes_written - before.host_bytes_written,
    );
    let told = *last.borrow();
    (told, stored as f64 / written as f64)
}

#[test]
fn the_monitors_write_amplification_is_the_drives_own() {
    let small = |change: fn(&mut Profile)| {
        profile("tiny", |p| {
            p.geometry.luns = 1;
            p.ftl.over_provisioning_percent = 45.0;
            change(p);
        })
    };
    for profile in [small(|_| {}), small(big_loop)] {
        let (told, right) = amplification(&profile);
        assert!((told - right).abs() < 1e-3 * right, "{told} for {right}");
    }
}

/// A job that asks for no more than this: nothing is read back.
fn unverified(name: &str, access: Access, mix: Mix, requests: u64) -> Job {
    Job { verify: false, ..job(name, access, mix, 16 << 10, requests) }
}

/// Every command of a job is followed from its fetch to its completion, the last one too.
#[test]
fn there_are_as_many_spans_as_requests() {
    for (name, profile) in [
        ("the drive's own", profile("tiny", |_| {})),
        ("pblk", profile("pocket-ocssd", |_| {})),
        ("Host-FTL", profile("host-ftl-small", |_| {})),
    ] {
        for requests in [1, 3, 16] {
            let m = machine(&profile, None, Media::fresh(), &Recorder::default());
            let seen = Rc::new(RefCell::new(0));
            let into = Rc::clone(&seen);
            let spans = Spans::new(8192, move |_| *into.borrow_mut() += 1);
            m.device().command_recorder().attach(spans);
            run(&m, &[unverified("write", Access::Sequential, Mix::Write, requests)], versioned(&m));
            assert_eq!(*seen.borrow(), requests, "{name}");
        }
    }
}
