//! The operation monitor on whole drives (C45): it counts what the drive counts.

use aster_device::Media;
use aster_device::profile::Profile;
use aster_driver::{Moved, Vector};
use aster_events::Recorder;
use aster_observe::Spans;
use aster_observe::monitor::{OperationMonitor, Sample, ShippedModule, TableEntry, WriteAmplification};
use aster_run_virtual::Machine;
use aster_tests::{big_loop, drive, job, machine, profile, run, run_with, versioned};
use aster_units::{Content, Duration};
use aster_wire::ocssd::{AddressFormat, Place, io};
use aster_workload::{Access, Job, Mix};
use std::cell::RefCell;
use std::collections::BTreeMap;
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

/// What the monitor's table told last, by the names of its entries.
type Told = Rc<RefCell<BTreeMap<String, f64>>>;

/// Has the modules for commands, bytes and write amplification listen to a drive from now on.
fn watched(m: &Machine) -> (impl Fn(), Told) {
    let told = Told::default();
    let into = Rc::clone(&told);
    let each = move |entries: &[TableEntry], sample: Sample<'_>| {
        let values = sample.values.iter().copied();
        *into.borrow_mut() = entries.iter().map(|entry| entry.name.clone()).zip(values).collect();
    };
    let mut monitor = OperationMonitor::new(Duration::from_secs(1_000), m.now(), each);
    let device = m.device();
    for module in
        [ShippedModule::Bandwidth, ShippedModule::WriteAmplification, ShippedModule::OutstandingCommands]
    {
        monitor.insert(m.now(), module.build(device.geometry(), device.firmware(), false)).unwrap();
    }
    let monitor = Rc::new(RefCell::new(monitor));
    device.listen(Rc::clone(&monitor));
    let device = Rc::clone(device);
    (move || monitor.borrow_mut().sample_now(device.now()), told)
}

/// A job that asks for no more than this: nothing is read back.
fn unverified(name: &str, access: Access, mix: Mix, requests: u64) -> Job {
    Job { verify: false, ..job(name, access, mix, 16 << 10, requests) }
}

/// Bytes that the cells' programs have stored.
fn programmed(m: &Machine) -> u64 {
    m.device().stats().nand.programs * u64::from(m.device().geometry().page_bytes)
}

/// C45: commands and bytes are those of the disk that the host sees, whoever carries them out; bytes
/// programmed are those of the flash under it.
#[test]
fn with_every_ftl_on_the_host_the_monitor_counts_what_the_job_asked_for_and_what_the_flash_stored() {
    let target = |name: &str, kind: &str, cache_mib: Option<u32>| {
        profile(name, |p| {
            p.target.get_or_insert_default().kind = kind.to_owned();
            p.target.as_mut().unwrap().page_cache_mib = cache_mib;
        })
    };
    let cases = [
        ("the drive's own", profile("tiny", |_| {})),
        ("SoftSSD's", profile("softssd-small", |_| {})),
        ("pblk", target("pocket-ocssd", "pblk", None)),
        ("pblk under a page cache", target("pocket-ocssd", "pblk", Some(16))),
        ("page mapping", target("pocket-ocssd", "page-mapping", None)),
        ("Host-FTL", target("host-ftl-small", "hostftl", None)),
        ("a plain drive under a page cache", target("tiny", "block", Some(16))),
    ];
    for (name, profile) in cases {
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        m.idle(Duration::from_millis(10));
        let before = programmed(&m);
        let (sample, told) = watched(&m);
        let of_drive = drive(&m).bytes / (16 << 10);
        let (writes, reads) = (of_drive, of_drive / 2);
        let write = unverified("write", Access::Random, Mix::Write, writes);
        let read = unverified("read", Access::Sequential, Mix::Read, reads);
        let (statistics, _) = run_with(&m, &[write, read], versioned(&m), ());
        assert!(statistics.iter().all(|s| s.first_failure.is_none()), "{name}");
        // What was in flight ends.
        m.idle(Duration::from_secs(40));
        sample();
        let told = told.borrow();
        let is = |entry: &str, right: u64| assert_eq!(told[entry], right as f64, "{name}: {entry}");
        is("commands_total", writes + reads);
        is("write_bytes_total", writes * (16 << 10));
        is("read_bytes_total", reads * (16 << 10));
        let stored = programmed(&m) - before;
        assert!(stored > 0, "{name}");
        is("programmed_bytes_total", stored);
        assert_eq!(told["waf_in_all"], stored as f64 / (writes * (16 << 10)) as f64, "{name}");
        assert!(told["outstanding_command_seconds_total"] > 0.0, "{name}");
    }
}

/// A drive that has no FTL counts its vectors, and the sectors in them; their metadata aren't data.
#[test]
fn of_an_open_channel_drive_without_an_ftl_the_monitor_counts_vectors_and_their_sectors() {
    let bare = profile("pocket-ocssd", |p| {
        p.target = None;
        (p.geometry.page_bytes, p.geometry.spare_bytes) = (16_384, 1_664);
        p.package.factory_bad_per_mille = 0;
    });
    let m = machine(&bare, None, Media::fresh(), &Recorder::default());
    let before = programmed(&m);
    let (sample, told) = watched(&m);
    let geometry = *m.device().geometry();
    let format = AddressFormat::of_geometry(&geometry);
    let (sectors, pages) = (geometry.sectors_per_page(), 6);
    let page = move |page: u16| -> Vec<u64> {
        (0..sectors)
            .map(|sector| format.encode(Place { block: 3, page, sector, ..Place::default() }))
            .collect()
    };
    let driver = Rc::clone(m.driver());
    let work = async move {
        let queue = driver.queues().next().expect("an I/O queue");
        for n in 0..pages {
            let addresses = page(n);
            let (data, beside) = (vec![7; addresses.len() * 4096], vec![8; addresses.len() * 16]);
            let (data, metadata) = (Moved::ToDrive(&data), Moved::ToDrive(&beside));
            let vector = Vector { opcode: io::WRITE, control: 0, addresses: &addresses, data, metadata };
            assert!(driver.send_vector(queue, vector).await.unwrap().status.is_success());
        }
        // Two sectors of each page.
        for n in 0..pages {
            let addresses = &page(n)[..2];
            let mut data = vec![0; addresses.len() * 4096];
            let (data, metadata) = (Moved::FromDrive(&mut data), Moved::Nothing);
            let vector = Vector { opcode: io::READ, control: 0, addresses, data, metadata };
            assert!(driver.send_vector(queue, vector).await.unwrap().status.is_success());
        }
    };
    m.block_on("vectors", work).unwrap();
    m.idle(Duration::from_millis(1));
    sample();
    let told = told.borrow();
    let is = |entry: &str, right: u64| assert_eq!(told[entry], right as f64, "{entry}");
    let pages = u64::from(pages);
    is("commands_total", 2 * pages);
    is("write_bytes_total", pages * u64::from(geometry.page_bytes));
    is("read_bytes_total", pages * 2 * 4096);
    is("programmed_bytes_total", programmed(&m) - before);
    assert_eq!(told["waf_in_all"], 1.0);
}

/// Every command of a job is followed from its fetch to its completion, the last one too.
#[test]
fn there_are_as_many_spans_as_requests() {
    for (name, profile) in [
        ("the drive's own", profile("tiny", |_| {})),
        ("SoftSSD's", profile("softssd-small", |_| {})),
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
