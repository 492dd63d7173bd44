//! Host-FTL with parity (H33, G25): a lane of each group has the sum of the others, and pages that can't be
//! read are made of it.

use aster_device::profile::RaidName;
use aster_device::{Boot, Media, Profile};
use aster_driver::{Config, DriverError, QueueId};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{config, drive, job, run, run_with, versioned};
use aster_units::{BlockAddr, Content, Duration, LunIndex, PageInBlock};
use aster_wire::nvme::Status;
use aster_workload::{Access, Job, Mix};
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
/// Sectors of a page.
const SECTORS: u64 = 4;
/// Lanes of a channel.
const LANES: u32 = 8;

/// The small profile with parity, and groups of the blocks of one number.
fn profile(raid: RaidName) -> Profile {
    let mut profile = aster_device::profile::shipped("host-ftl-small").expect("a shipped profile");
    profile.target.as_mut().expect("a target").raid = Some(raid);
    profile.package.factory_bad_per_mille = 0;
    profile
}

fn machine(profile: &Profile, content: Content, media: Media) -> Machine {
    let config = Config { depth: 32, ..config(profile) };
    let machine = Machine::power_on("raid", profile, Some(content), media, &Recorder::default(), config)
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}

fn random(requests: u64, block: u32, mix: Mix) -> Job {
    Job { queue_depth: 16, ..job("random", Access::Random, mix, block, requests) }
}

/// The last one makes all durable.
fn flushed(requests: u64) -> Job {
    Job { flush_every: 1, ..random(requests, 4096, Mix::Write) }
}

fn everything(machine: &Machine, mix: Mix) -> Job {
    let requests = drive(machine).bytes.div_ceil(64 << 10);
    job("everything", Access::Sequential, mix, 64 << 10, requests)
}

fn counter(machine: &Machine, name: &str) -> u64 {
    machine.device().translation().counter(name).unwrap_or_else(|| panic!("it counts {name}"))
}

/// Lets time pass, in which collection may work.
fn idle(machine: &Machine) {
    let exec = machine.driver().exec().clone();
    let later = exec.now() + Duration::from_secs(3);
    machine.block_on("idling", async move { exec.sleep_until(later).await }).unwrap();
}

/// A lane's die as a LUN.
fn lun(lane: u32, die: u32) -> LunIndex {
    LunIndex(die * LANES + lane)
}

/// Makes a sector of a page unreadable, if the page is programmed.
fn damage(machine: &Machine, lun: LunIndex, (block, page): (u32, u16), sector: u32) -> bool {
    let nand = machine.device().nand();
    nand.flip_random_bits(lun, BlockAddr(block), PageInBlock(page), (sector * 4096, 512), 60, 9)
}

/// Makes a sector of one page of each row unreadable, on a lane that changes. Returns how many.
fn damage_a_page_of_each_row(machine: &Machine, seed: u32) -> u32 {
    let g = machine.device().below().map(|below| *below.geometry()).expect("a drive below");
    let mut damaged = 0;
    for die in 0..2 {
        for block in 0..g.blocks_per_lun {
            for page in 0..g.pages_per_block {
                let n = block + u32::from(page) + seed;
                damaged += u32::from(damage(machine, lun(n % LANES, die), (block, page), n % 4));
            }
        }
    }
    damaged
}

#[test]
fn rows_with_parity_work_and_survive_a_restart_in_both_contents() {
    for (raid, content) in [(RaidName::Fixed, Content::Fingerprint), (RaidName::Rotating, Content::Full)] {
        let mut profile = profile(raid);
        profile.package.factory_bad_per_mille = 10;
        let first = machine(&profile, content, Media::fresh());
        let without = {
            let mut profile = profile.clone();
            profile.target.as_mut().expect("a target").raid = None;
            drive(&machine(&profile, content, Media::fresh())).bytes
        };
        // G25: seven lanes of eight have data.
        assert!(without * 7 / 8 - drive(&first).bytes < 16 << 10, "{without} and {}", drive(&first).bytes);
        let jobs = [
            everything(&first, Mix::Write),
            random(3_000, 4096, Mix::ReadWrite),
            random(400, 64 << 10, Mix::ReadWrite),
            Job { flush_every: 10, ..random(300, 8192, Mix::Write) },
        ];
        let contents = run(&first, &jobs, versioned(&first));
        let ftl = first.device().stats().ftl;
        assert!(ftl.flash_erases.gc > 0 && ftl.flash_programs.gc > 0, "{ftl:?}");
        assert_eq!((counter(&first, "rebuilt_pages"), ftl.uncorrectable_sectors), (0, 0));
        let second = machine(&profile, content, first.shut_down().unwrap());
        assert_eq!(second.device().stats().ftl.boot, Boot::Clean);
        let contents = run(
            &second,
            &[everything(&second, Mix::Read), random(200, 4096, Mix::Write), flushed(1)],
            contents,
        );
        let third = machine(&profile, content, second.cut_power());
        run(&third, &[everything(&third, Mix::Read)], contents);
    }
}

/// H33, G25: whichever page of a row can't be read, the reader gets its data, and they are written elsewhere.
#[test]
fn a_page_of_each_row_may_be_unreadable() {
    for (raid, content) in [(RaidName::Fixed, Content::Fingerprint), (RaidName::Rotating, Content::Full)] {
        for seed in 0..LANES {
            let machine = machine(&profile(raid), content, Media::fresh());
            let write = [everything(&machine, Mix::Write), random(1_000, 4096, Mix::Write)];
            let contents = run(&machine, &write, versioned(&machine));
            let damaged = damage_a_page_of_each_row(&machine, seed);
            assert!(damaged > 2 * 16 * 8, "{damaged}");
            let contents = run(&machine, &[everything(&machine, Mix::Read)], contents);
            idle(&machine);
            // All but those of open groups, of two streams on two dies, have been found and are elsewhere.
            let rebuilt = counter(&machine, "rebuilt_pages");
            assert!(rebuilt > 150, "{rebuilt} of {damaged}");
            run(&machine, &[everything(&machine, Mix::Read)], contents);
            let again = counter(&machine, "rebuilt_pages") - rebuilt;
            assert!(again <= 2 * 2 * 8, "{again}");
            assert_eq!(machine.device().stats().ftl.uncorrectable_sectors, 0);
        }
    }
}

/// Power-on finds the records of pages that can't be read in those of the others, too.
#[test]
fn power_on_rebuilds_as_well() {
    for raid in [RaidName::Fixed, RaidName::Rotating] {
        let first = machine(&profile(raid), Content::Full, Media::fresh());
        let write = [everything(&first, Mix::Write), random(1_000, 4096, Mix::Write), flushed(1)];
        let contents = run(&first, &write, versioned(&first));
        assert!(damage_a_page_of_each_row(&first, 3) > 0);
        let drive_alone = first.cut_host().expect("there is a target");
        let next = config(&profile(raid));
        let second =
            Machine::power_on_over(aster_device::Pieces::default(), "h", &profile(raid), drive_alone, next)
                .unwrap_or_else(|e| panic!("power-on: {e}"));
        second.boot().unwrap_or_else(|e| panic!("boot: {e}"));
        assert_eq!(second.device().stats().ftl.boot, Boot::Recovered);
        run(&second, &[everything(&second, Mix::Read)], contents);
        assert!(counter(&second, "rebuilt_pages") > 0);
    }
}

fn read(machine: &Machine, block: u64) -> Result<u8, DriverError> {
    let driver = Rc::clone(machine.driver());
    let work = async move {
        let mut bytes = vec![0; 4096];
        driver.read(QUEUE, block, &mut bytes).await.map(|()| bytes)
    };
    let bytes = machine.block_on("reading", work).unwrap_or_else(|e| panic!("{e}"))?;
    Ok(bytes[0])
}

/// What two pages of a row have lost of the same sectors is lost, and nothing else.
#[test]
fn two_unreadable_pages_of_a_row_lose_their_own_sectors_alone() {
    let machine = machine(&profile(RaidName::Fixed), Content::Full, Media::fresh());
    let per_row = SECTORS * u64::from(LANES - 1);
    let driver = Rc::clone(machine.driver());
    let fill = async move {
        for block in 0..per_row {
            driver.write(QUEUE, block, &[block as u8 + 1; 4096], false).await?;
        }
        driver.flush(QUEUE).await
    };
    machine.block_on("filling", fill).unwrap().unwrap_or_else(|e| panic!("{e}"));
    for (lane, sector) in [(2, 1), (5, 1), (6, 3)] {
        assert!(damage(&machine, lun(lane, 0), (0, 0), sector));
    }
    for block in 0..per_row {
        let is_lost = [2 * SECTORS + 1, 5 * SECTORS + 1].contains(&block);
        match read(&machine, block) {
            Ok(byte) => assert_eq!((byte, is_lost), (block as u8 + 1, false), "{block}"),
            Err(DriverError::Command { status, .. }) => {
                assert!(is_lost && status.is(Status::UNRECOVERED_READ_ERROR), "{block}: {status}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(machine.device().stats().ftl.uncorrectable_sectors, 2);
}

/// Without parity an unreadable sector is lost, after a loss of power as well. It costs no other one, and its
/// older version doesn't come back.
#[test]
fn a_sector_that_cannot_be_read_is_lost_alone_and_power_on_goes_on() {
    const BLOCKS: u64 = 1024;
    let mut profile = profile(RaidName::Off);
    profile.target.as_mut().unwrap().composite_bytes = None;
    let fill = |machine: &Machine, version: u8| {
        let driver = Rc::clone(machine.driver());
        let work = async move {
            for block in 0..BLOCKS {
                driver.write(QUEUE, block, &[block as u8 ^ version; 4096], false).await?;
            }
            driver.flush(QUEUE).await
        };
        machine.block_on("filling", work).unwrap().unwrap_or_else(|e| panic!("{e}"));
    };
    let lost = |machine: &Machine| -> Vec<u64> {
        let lost = (0..BLOCKS).filter(|&block| match read(machine, block) {
            Ok(byte) => {
                assert_eq!(byte, block as u8 ^ 2, "{block}");
                false
            }
            Err(DriverError::Command { status, .. }) => {
                assert!(status.is(Status::UNRECOVERED_READ_ERROR), "{block}: {status}");
                true
            }
            Err(other) => panic!("{other}"),
        });
        lost.collect()
    };
    let first = machine(&profile, Content::Full, Media::fresh());
    fill(&first, 1);
    fill(&first, 2);
    let mut damaged = 0;
    for n in 0..2 * LANES {
        for block in 0..profile.geometry.blocks_per_lun {
            damaged += u32::from(damage(&first, LunIndex(n), (block, 3), n % 4));
        }
    }
    let before = lost(&first);
    assert!(damaged > 16 && (8..damaged as usize).contains(&before.len()), "{} of {damaged}", before.len());
    let second = machine(&profile, Content::Full, first.cut_power());
    assert_eq!(second.device().stats().ftl.boot, Boot::Recovered);
    assert_eq!(lost(&second), before);
    fill(&second, 2);
    assert!(lost(&second).is_empty(), "what is written anew can be read");
}

/// Blocks in which programs and erases fail take rows along, and no data.
#[test]
fn blocks_that_fail_lose_nothing() {
    let mut profile = profile(RaidName::Rotating);
    profile.package.program_failures_per_million = 1_000;
    profile.package.erase_failures_per_million = 1_000;
    let mut now = machine(&profile, Content::Full, Media::fresh());
    let mut contents = versioned(&now);
    for seed in 0..4 {
        let writes = Job { seed, ..random(1_500, 8192, Mix::ReadWrite) };
        let (statistics, after) = run_with(&now, &[writes, flushed(1)], contents, ());
        assert_eq!(statistics[0].failures, 0, "{:?}", statistics[0].first_failure);
        let media = if seed % 2 == 0 { now.shut_down().unwrap() } else { now.cut_power() };
        now = machine(&profile, Content::Full, media);
        contents = run(&now, &[everything(&now, Mix::Read)], after);
    }
    assert!(
        now.device().stats().ftl.grown_bad_blocks + now.device().nand().totals_of_drive().program_failures
            > 3
    );
}

/// A drive that was written with another kind of rows is refused, and not taken for an empty one.
#[test]
fn a_drive_written_otherwise_is_refused_in_words() {
    let mut without = profile(RaidName::Fixed);
    without.target.as_mut().expect("a target").raid = None;
    let with = profile(RaidName::Fixed);
    for (first, second) in [(&with, &without), (&without, &with)] {
        let written = machine(first, Content::Full, Media::fresh());
        let write = Job { flush_every: 10, ..random(10, 4096, Mix::Write) };
        run(&written, &[write], versioned(&written));
        let media = written.shut_down().unwrap();
        let (recorder, config) = (Recorder::default(), config(second));
        let next = Machine::power_on("raid", second, Some(Content::Full), media, &recorder, config);
        let error = next.and_then(|next| next.boot()).unwrap_err().to_string();
        assert!(error.contains("another target.raid"), "{error}");
    }
}
