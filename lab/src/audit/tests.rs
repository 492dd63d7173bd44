use super::*;
use aster_device::Media;
use aster_device::profile::{EmmcProfile, MappingName, Profile, shipped};
use aster_driver::Config;
use aster_events::{EventKind, Recorder};
use aster_observe::Counters;
use aster_run_virtual::Machine;
use aster_workload::runner::{Contents, HostTask, OnFailure, Runner};
use aster_workload::{Access, BlockSizes, Drive, Extent, Job, Mix, PerDirection};

const REQUESTS: u64 = 400;

/// A drive with a host that has carried out random reads and writes, and its audit.
fn worked(profile: &Profile) -> (Machine, Audit) {
    worked_before(profile, &Rc::default())
}

/// The same, before a listener.
fn worked_before(profile: &Profile, counters: &Rc<RefCell<Counters>>) -> (Machine, Audit) {
    let config = Config { depth: 64, transfer_bytes_max: 128 << 10, ..Config::default() };
    let (media, recorder) = (Media::fresh(), Recorder::default());
    let machine = Machine::power_on("test", profile, None, media, &recorder, config).unwrap();
    let audit = Audit::listen(machine.device());
    machine.device().listen(Rc::clone(counters));
    machine.boot().unwrap();
    let job = Job {
        name: "work".into(),
        access: Access::Random,
        mix: Mix::ReadWrite,
        block_sizes: PerDirection::all(BlockSizes::Fixed(16 << 10)),
        number_ios: Some(REQUESTS),
        size: Some(Extent::Bytes(4 << 20)),
        io_size: Some(Extent::Bytes(REQUESTS << 14)),
        queue_depth: 16,
        random_map: false,
        ..Job::default()
    };
    let namespace = machine.driver().namespace();
    let block_bytes = namespace.block_bytes;
    let drive = Drive { bytes: namespace.blocks * u64::from(block_bytes), block_bytes, streams: 0 };
    let tasks = HostTask::of_jobs(&[job], drive, 1).unwrap();
    let contents = Contents::versioned(drive, 1);
    let mut runner = Runner::new(machine.driver(), tasks, contents, (), OnFailure::Continue);
    machine.run(&mut runner, |_| true).unwrap();
    (machine, audit)
}

/// Lets the drive end what it does by itself.
fn rest(machine: &Machine) {
    let driver = Rc::clone(machine.driver());
    let queue = driver.queues().next().unwrap();
    let flushed = async move {
        driver.flush(queue).await?;
        let later = driver.exec().now() + aster_units::Duration::from_millis(100);
        driver.exec().sleep_until(later).await;
        Ok::<_, aster_driver::DriverError>(())
    };
    machine.block_on("flush", flushed).unwrap().unwrap();
}

/// What stands behind a name at the beginning of a line.
fn after<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name));
    line.unwrap_or_else(|| panic!("no line \"{name}\":\n{text}")).trim()
}

/// The first number behind a name.
fn number(text: &str, name: &str) -> u64 {
    let told = after(text, name);
    let digits = told.split(|c: char| !c.is_ascii_digit()).next().unwrap();
    digits.parse().unwrap_or_else(|_| panic!("no number behind \"{name}\": {told}"))
}

/// Texts for a serial line, in which something is said of every part.
fn texts(audit: &Audit, device: &Device) -> [String; 4] {
    let texts = [audit.report(device), audit.queues(device), audit.map(device), audit.gc(device)];
    for text in &texts {
        assert!(text.ends_with('\n') && text.is_ascii(), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
    texts
}

/// S27: what the console says is what the drive's parts have counted.
#[test]
fn counts_are_those_of_the_drives_parts() {
    let mut profile = shipped("softssd-small").unwrap();
    profile.ftl.mapping = MappingName::DemandPaged;
    profile.ftl.over_provisioning_percent = 50.0;
    profile.board.emmc = Some(EmmcProfile { read_us: 150.0, write_us: 400.0 });
    let counters = Rc::default();
    let (machine, audit) = worked_before(&profile, &counters);
    rest(&machine);
    let device = machine.device();
    let [report, queues, map, gc] = texts(&audit, device);
    let (stats, counter) = (device.stats(), |name: &str| device.translation().counter(name).unwrap());

    let requests = number(&report, "Read ") + number(&report, "Write ");
    assert_eq!(requests, REQUESTS, "{report}");
    assert_eq!(number(&report, "completion entry written"), REQUESTS + 1, "and a flush: {report}");
    let of_layer = |name| stats.scheduler.iter().find(|(counted, _)| *counted == name).unwrap().1;
    for (phase, counted) in [("read", "fil_reads"), ("program", "fil_programs"), ("erase", "fil_erases")] {
        assert!(of_layer(counted) > 0, "{counted}");
        assert_eq!(number(&report, &format!("{phase}, command")), of_layer(counted), "{report}");
    }
    assert_eq!(number(&report, "read, transfer"), of_layer("fil_reads"));
    assert_eq!(number(&report, "program, transfer"), of_layer("fil_programs"));
    let transactions: u64 = stats.channels.iter().map(|channel| channel.transactions).sum();
    assert_eq!(number(&report, "transaction on a channel"), transactions, "{report}");
    let ecc = stats.ecc.as_ref().unwrap();
    // The channel itself finds wrong bits of erased pages.
    let bits = |kind| counters.borrow().sum(kind, "corrected").unwrap();
    let corrected = bits(EventKind::FlashFinished) + bits(EventKind::PageCorrected);
    assert!(ecc.corrected > 0 && bits(EventKind::PageCorrected) == ecc.corrected);
    assert_eq!(number(&report, "ECC: corrected bits"), corrected, "{report}");
    let flagged = number(&report, "ECC: with wrong bits");
    assert!(flagged >= ecc.reads && flagged <= ecc.reads + bits(EventKind::FlashFinished), "{report}");
    assert_eq!(number(&report, "ECC: frames in software"), ecc.frames);
    assert_eq!(number(&report, "data buffer"), stats.ftl.buffer_hits);
    assert_eq!(number(&report, "packets sent"), stats.packets.as_ref().unwrap().sent);

    assert_eq!(number(&queues, "commands in the drive"), 0, "{queues}");
    assert_eq!(after(&queues, "flash operations"), "0 wait, 0 are under way");
    let fetched: Vec<&str> = after(&queues, "1 ").split_whitespace().collect();
    assert_eq!(fetched, [(REQUESTS + 1).to_string().as_str(), &(REQUESTS + 1).to_string(), "0", "-"]);

    assert_eq!(number(&map, "look-ups"), counter("map_hits"));
    assert!(counter("map_hits") > 0 && map.contains(&format!(", {} misses", counter("map_misses"))), "{map}");
    assert_eq!(number(&map, "translation pages programmed"), counter("map_page_programs"));
    assert_eq!(after(&map, "directory at power-on"), "from NAND", "a drive from the factory");
    assert_eq!(number(&map, "copies of it written"), counter("gtd_copies_written"));
    // 4 MiB in units of 16 KiB, and pages of the map.
    let own = counter("map_pages");
    assert!((1..=256 + own).contains(&number(&map, "units on flash that count")), "{map}");
    assert_eq!(number(&gc, "free blocks "), counter("free_blocks"));
    assert_eq!(number(&gc, "blocks collected"), stats.ftl.gc_runs);
    assert_eq!(number(&gc, "pages programmed for the host"), stats.ftl.flash_programs.host);
    assert_eq!(number(&gc, "blocks erased"), stats.nand.erases);
}

/// A unit counts once, however often it was written, and no longer when it was deallocated.
#[test]
fn units_that_count_are_those_that_are_mapped() {
    let (machine, audit) = worked(&shipped("tiny").unwrap());
    rest(&machine);
    let device = machine.device();
    let mapped =
        (0..).map(aster_units::Lpn).take(number(&audit.map(device), "logical units of the host") as usize);
    let mapped = mapped.filter(|&unit| device.translation().location_of(unit).is_some()).count();
    assert!(mapped > 0);
    assert_eq!(number(&audit.map(device), "units on flash that count"), mapped as u64);
}

/// Commands on their way are in the drive, each in its queue, with the age of the oldest.
#[test]
fn what_is_under_way_is_told_while_it_is() {
    let (machine, audit) = worked(&shipped("tiny").unwrap());
    let driver = Rc::clone(machine.driver());
    let queue = driver.queues().next().unwrap();
    // The flush has to program what is in the data buffer, which takes more than a program.
    let seen = Rc::new(RefCell::new(String::new()));
    let (into, device) = (Rc::clone(&seen), Rc::clone(machine.device()));
    let exec = driver.exec().clone();
    exec.clone().spawn(async move {
        exec.sleep_until(exec.now() + aster_units::Duration::from_micros(200)).await;
        *into.borrow_mut() = audit.queues(&device);
    });
    let flush = async move { driver.flush(queue).await };
    machine.block_on("flush", flush).unwrap().unwrap();
    let told = seen.borrow();
    assert_eq!(number(&told, "commands in the drive"), 1, "{told}");
    let row: Vec<&str> = after(&told, "1 ").split_whitespace().collect();
    assert_eq!(row[2], "1", "{told}");
    assert!((50.0..200.0).contains(&row[3].parse::<f64>().unwrap()), "{told}");
    assert!(!after(&told, "flash operations").starts_with("0 wait, 0 are"), "{told}");
}

/// Every kind of drive that `aster serve` takes, with a target and without one.
#[test]
fn what_a_drive_does_not_have_is_said() {
    let report = |name: &str| {
        let (machine, audit) = worked(&shipped(name).unwrap());
        texts(&audit, machine.device())
    };
    let [hardware, queues, map, _] = report("tiny");
    assert!(hardware.contains("none: the channels correct"), "{hardware}");
    assert!(after(&hardware, "packets ").starts_with("carried by hardware"), "{hardware}");
    assert!(!hardware.contains("phases of flash transactions"), "{hardware}");
    assert!(map.contains("as a whole in memory") && queues.contains("0 (admin)"), "{map}{queues}");
    for name in ["pocket-ocssd", "host-ftl-small"] {
        let [report, queues, map, gc] = report(name);
        assert!(after(&map, "map").starts_with("not told"), "{map}");
        assert!(after(&gc, "free blocks").starts_with("not told"), "{gc}");
        assert!(number(&report, "Read ") + number(&report, "Write ") > 0, "{report}");
        assert!(number(&queues, "1 ") > 0, "{queues}");
    }
    // A drive of frames before a host has come.
    let profile = Profile { target: None, ..shipped("host-ftl-small").unwrap() };
    let (media, recorder) = (Media::fresh(), Recorder::default());
    let device = Device::power_on("frames", &profile, None, media, &recorder).unwrap();
    let audit = Audit::listen(&device);
    let [report, queues, ..] = texts(&audit, &device);
    assert!(after(&report, "requests").contains("no NVMe commands"), "{report}");
    assert!(queues.contains("no NVMe commands"), "{queues}");
}
