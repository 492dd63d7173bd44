//! The page mapping of our drives, unchanged, at work on the host of an open-channel drive (O1, P22 to P27).

use aster_device::profile::{MappingName, Profile, TargetProfile};
use aster_device::{Boot, DriveState, Media};
use aster_driver::{Config, DriverError, QueueId};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{cases, config, drive, job, profile, run, versioned};
use aster_units::{Content, Lpn};
use aster_wire::nvme::Status;
use aster_workload::runner::Contents;
use aster_workload::{Access, Job, Mix};
use std::rc::Rc;

/// A drive of four LUNs with pages of one sector.
fn pocket(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("pocket-ocssd", |p| {
        p.target = Some(TargetProfile { kind: "page-mapping".to_owned(), ..TargetProfile::default() });
        p.package.factory_bad_per_mille = 10;
        change(p);
    })
}
/// A drive with pages of four sectors, as the board has them.
fn large_pages(change: impl FnOnce(&mut Profile)) -> Profile {
    pocket(|p| {
        p.host.transfer_bytes_max = 1 << 20;
        (p.geometry.page_bytes, p.geometry.spare_bytes) = (16_384, 1_664);
        p.geometry.pages_per_block = 16;
        change(p);
    })
}

fn power_on_as(profile: &Profile, media: Media) -> Result<Machine, String> {
    let config = Config { depth: 31, ..config(profile) };
    let recorder = Recorder::default();
    let machine = Machine::power_on("places", profile, Some(Content::Full), media, &recorder, config);
    machine.map_err(|error| error.to_string())
}
fn power_on(profile: &Profile, media: Media) -> Machine {
    let machine = power_on_as(profile, media).unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}
fn random(mix: Mix, block: u32, requests: u64) -> Job {
    job("random", Access::Random, mix, block, requests)
}
fn everything(machine: &Machine) -> Job {
    let requests = drive(machine).bytes.div_ceil(64 << 10);
    job("everything", Access::Sequential, Mix::Read, 64 << 10, requests)
}
fn pages(machine: &Machine) -> u64 {
    drive(machine).bytes / 4096
}

#[test]
fn jobs_are_written_and_read_back_for_many_times_the_capacity() {
    for profile in [pocket(|_| ()), large_pages(|_| ())] {
        let machine = power_on(&profile, Media::fresh());
        let ftl = machine.device().stats().ftl;
        assert_eq!((ftl.boot, ftl.state), (Boot::Fresh, DriveState::Ready));
        let below = machine.device().below().expect("the drive");
        assert!(below.translation().location_of(Lpn(0)).is_none(), "it has no map");
        let write = random(Mix::Write, 4096, 3 * pages(&machine));
        let mixed = Job { seed: 5, ..random(Mix::ReadWrite, 32 << 10, 400) };
        let contents = run(&machine, &[write, mixed], versioned(&machine));
        run(&machine, &[everything(&machine)], contents);
        let ftl = machine.device().stats().ftl;
        assert!(ftl.gc_runs > 10 && ftl.waf() > 1.0, "{ftl:?}");
    }
}

/// The map lies on flash, with as little of it in the host's memory as works.
fn demand_paged(p: &mut Profile) {
    p.ftl.mapping = MappingName::DemandPaged;
}

#[test]
fn a_map_that_does_not_fit_into_the_hosts_memory_lies_on_flash() {
    let large = pocket(|p| {
        demand_paged(p);
        p.geometry.blocks_per_lun = 512;
    });
    let machine = power_on(&large, Media::fresh());
    let write = random(Mix::Write, 4096, pages(&machine));
    let contents = run(&machine, &[write], versioned(&machine));
    run(&machine, &[everything(&machine)], contents);
    let ftl = machine.device().stats().ftl;
    assert!(ftl.flash_reads.metadata - ftl.boot_reads > 1000, "parts of the map are read: {ftl:?}");
}

#[test]
fn all_is_there_after_a_shutdown_and_what_was_flushed_after_a_loss_of_power() {
    for profile in [pocket(|_| ()), pocket(demand_paged), large_pages(|_| ())] {
        let mut machine = power_on(&profile, Media::fresh());
        let mut contents: Contents = versioned(&machine);
        for round in 0..cases(6, 40) {
            let write = Job { seed: round, ..random(Mix::Write, 8192, 400) };
            let flush = Job { flush_every: 1, seed: round, ..random(Mix::Write, 4096, 2) };
            contents = run(&machine, &[write, flush], contents);
            let media = if round % 2 == 0 { machine.shut_down().unwrap() } else { machine.cut_power() };
            machine = power_on(&profile, media);
            // What the FTL keeps in NVRAM is the host's memory here, and is lost with either.
            let ftl = machine.device().stats().ftl;
            assert_eq!((ftl.boot, ftl.state), (Boot::Recovered, DriveState::Ready), "round {round}");
            contents = run(&machine, &[everything(&machine)], contents);
        }
    }
}

/// The drive marks blocks that fail, and the FTL moves what they hold.
#[test]
fn failing_programs_and_erases_lose_nothing() {
    let profile = pocket(|p| {
        p.package.program_failures_per_million = 500;
        p.package.erase_failures_per_million = 6_000;
        p.ftl.over_provisioning_percent = 60.0;
    });
    let machine = power_on(&profile, Media::fresh());
    let write = random(Mix::Write, 4096, 6 * pages(&machine));
    let contents = run(&machine, &[write], versioned(&machine));
    let contents = run(&machine, &[everything(&machine)], contents);
    let totals = machine.device().nand().totals_of_drive();
    assert!(totals.program_failures > 0 && totals.erase_failures > 0, "{totals:?}");
    let ftl = machine.device().stats().ftl;
    assert!(ftl.grown_bad_blocks > 0, "{ftl:?}");
    let again = power_on(&profile, machine.cut_power());
    run(&again, &[everything(&again)], contents);
}

/// One FTL, two places: the same job takes nearly the same programs and erases. Times differ, and with them
/// what is in the write buffer together: 1.1 % of the programs, and 1.2 % of the erases.
#[test]
fn the_ftl_does_the_same_work_in_both_places() {
    let in_drive = large_pages(|p| {
        p.target = None;
        p.ftl.kind = "page-mapping".to_owned();
        p.host.command_set = "nvm".to_owned();
    });
    let mut work = Vec::new();
    for profile in [in_drive, large_pages(|_| ())] {
        let machine = power_on(&profile, Media::fresh());
        let capacity = drive(&machine).bytes;
        let write = random(Mix::Write, 16 << 10, 4 * capacity / (16 << 10));
        run(&machine, &[write], versioned(&machine));
        let totals = machine.device().nand().totals_of_drive();
        work.push((capacity, totals.programs as f64, totals.erases as f64));
    }
    let [(bytes, programs, erases), (host_bytes, host_programs, host_erases)] = work[..] else { panic!() };
    assert_eq!(bytes, host_bytes);

    assert!((host_programs / programs - 1.0).abs() < 0.03, "{programs} and {host_programs} programs");
    assert!((host_erases / erases - 1.0).abs() < 0.03, "{erases} and {host_erases} erases");
}

const QUEUE: QueueId = QueueId(1);
/// Bytes of a chunk of the code, and of its parity.
const CHUNK: (u32, u32) = (256, 21);

fn read(machine: &Machine, block: u64) -> Result<u8, DriverError> {
    let driver = Rc::clone(machine.driver());
    let work = async move {
        let mut bytes = vec![0; 4096];
        driver.read(QUEUE, block, &mut bytes).await.map(|()| bytes)
    };
    let bytes = machine.block_on("reading", work).unwrap_or_else(|e| panic!("{e}"))?;
    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "block {block} is torn");
    Ok(bytes[0])
}

/// P27: a sector that can't be corrected is lost, and its neighbours on the page are not. One that could only
/// just be corrected is moved.
#[test]
fn reads_that_fail_and_reads_that_warn_are_told_apart() {
    let profile = large_pages(|_| ());
    let machine = power_on(&profile, Media::fresh());
    let all = pages(&machine);
    let driver = Rc::clone(machine.driver());
    let fill = async move {
        for block in 0..all {
            driver.write(QUEUE, block, &[block as u8; 4096], false).await?;
        }
        driver.flush(QUEUE).await
    };
    machine.block_on("filling", fill).unwrap().unwrap_or_else(|e| panic!("{e}"));
    let at = |page| machine.device().translation().location_of(Lpn(page)).expect("it is mapped");
    // The second sector of one page, and the first of another.
    let (lost, fading) = (40, 60);
    for (page, sector, bits) in [(lost, 1, 60), (fading, 0, 13)] {
        let (lun, block, of_block) = machine.device().geometry().split_ppa(at(page));
        let first = sector * 16 * (CHUNK.0 + CHUNK.1);
        let nand = machine.device().nand();
        assert!(nand.flip_random_bits(lun, block, of_block, (first, CHUNK.0), bits, 9), "it is programmed");
    }
    // Other pages replace them in the page buffers.
    for block in 400..1200 {
        read(&machine, block).unwrap_or_else(|e| panic!("{e}"));
    }
    let before = at(fading);
    for sector in 0..4 {
        let block = u64::from(4 * lost + sector);
        match read(&machine, block) {
            Ok(byte) => assert_eq!((byte, sector == 1), (block as u8, false)),
            Err(DriverError::Command { status, .. }) => {
                assert!(sector == 1 && status.is(Status::UNRECOVERED_READ_ERROR), "{sector}: {status}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(read(&machine, u64::from(4 * fading)), Ok((4 * fading) as u8));
    // It is moved while the host is idle.
    let exec = machine.driver().exec().clone();
    let later = exec.now() + aster_units::Duration::from_secs(2);
    machine.block_on("idling", async move { exec.sleep_until(later).await }).unwrap();
    assert_ne!(at(fading), before, "{:?}", machine.device().stats().ftl);
    assert!(machine.device().stats().ftl.refreshed > 0);
    assert_eq!(read(&machine, u64::from(4 * fading)), Ok((4 * fading) as u8));
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let refused =
        |change: fn(&mut Profile)| power_on_as(&large_pages(change), Media::fresh()).map(|_| ()).unwrap_err();
    let set = refused(|p| {
        p.host.command_set = "open-channel-2.0".to_owned();
    });
    assert!(set.starts_with("host.command_set: must be \"open-channel-1.2\" of an NVMe"), "{set}");
    let front_end = refused(|p| p.host.front_end = "nvme-software".to_owned());
    assert!(front_end.starts_with("host.front_end: must be \"message-unit\" or \"nvme\""), "{front_end}");
    let queues = refused(|p| p.host.queue_pairs = 1);
    assert!(queues.starts_with("host.queue_pairs: must be 2 at least under target.kind"), "{queues}");
    let units = refused(|p| p.ftl.mapping_unit_bytes = 4096);
    assert!(units.contains("mapping_unit_bytes"), "{units}");
    let profile = pocket(|_| ());
    let (content, media) = (Some(Content::Fingerprint), Media::fresh());
    let tags = Machine::power_on("tags", &profile, content, media, &Recorder::default(), config(&profile));
    let tags = tags.map(|_| ()).unwrap_err().to_string();
    assert!(tags.starts_with("content: must be \"full\" under target.kind"), "{tags}");
}
