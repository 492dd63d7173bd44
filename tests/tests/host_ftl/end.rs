//! How the paper's FTL comes to its end: it has no number for another page, or the drive takes no more
//! writes. What was flushed by then stays.

use aster_codec::checksum::crc32c;
use aster_device::plug::DriveState;
use aster_device::profile::RaidName;
use aster_device::{Media, NVRAM_BYTES, Profile};
use aster_driver::{Config, QueueId};
use aster_events::Recorder;
use aster_ports::medium::{Nvram, SharedNvram};
use aster_run_virtual::Machine;
use aster_tests::{SmallDisk, config, drive, profile};
use aster_units::{Content, Duration, Rng};
use aster_wire::nvme::admin::SecureErase;
use std::cell::Cell;
use std::rc::Rc;

/// The highest sequence number of a record, and how many of the last ones no page of the host's gets.
const LAST: u64 = (1 << 40) - 1;
const KEPT_BACK: u64 = 1 << 24;

/// A drive's media, whose NVRAM can be written.
struct Kept {
    profile: Profile,
    disk: SmallDisk,
    nvram: SharedNvram,
}

impl Kept {
    fn new(profile: Profile) -> Self {
        let size = aster_device::nand_image_bytes(&profile, Some(Content::Fingerprint)).expect("its size");
        let disk = SmallDisk::new(size, Rc::new(Cell::new(usize::MAX)));
        Kept { profile, disk, nvram: Nvram::volatile(NVRAM_BYTES) }
    }
    fn power_on(&self) -> Machine {
        let config = Config { depth: 32, ..config(&self.profile) };
        let media = Media::on_image(Box::new(self.disk.clone()), Rc::clone(&self.nvram));
        let content = Some(Content::Fingerprint);
        let machine = Machine::power_on("t", &self.profile, content, media, &Recorder::default(), config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
        machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
        machine
    }
    /// Both copies of the root say that pages up to this number are from before a format. Their CRC is right.
    fn floor(&self, floor: u64) {
        // Behind two places of the table, and before a bit for each of 384 blocks.
        let first = NVRAM_BYTES - 2 * 128 - (2 * 24 + 4 + 384 / 8);
        for at in [first, first + 24] {
            let mut root = [0; 24];
            self.nvram.read(at, &mut root);
            let (content, crc) = root.split_at_mut(20);
            assert_eq!(crc, crc32c(content).to_le_bytes(), "there is a root");
            content[8..16].copy_from_slice(&floor.to_le_bytes());
            crc.copy_from_slice(&crc32c(content).to_le_bytes());
            self.nvram.write(at, &root);
        }
    }
}

fn state(machine: &Machine) -> DriveState {
    machine.device().stats().ftl.state
}

fn counter(machine: &Machine, name: &str) -> u64 {
    machine.device().translation().counter(name).unwrap_or_else(|| panic!("it counts {name}"))
}

/// Writes sectors from `first` on, each flushed, until one is refused. Returns the first one that was.
fn write_until_refused(machine: &Machine, first: u64, most: u64) -> u64 {
    let driver = Rc::clone(machine.driver());
    let end = drive(machine).bytes / 4096;
    let written = machine.block_on("writing", async move {
        for sector in first..first + most {
            let tags = [(sector + 1).to_le_bytes()];
            if driver.write_tags(QueueId(1), sector % end, &tags, true).await.is_err() {
                return sector;
            }
        }
        first + most
    });
    written.unwrap()
}

/// All sectors have what was written last before `end`, which itself may be there although it was refused.
fn assert_holds(machine: &Machine, end: u64) {
    let driver = Rc::clone(machine.driver());
    let sectors = drive(machine).bytes / 4096;
    let read = machine.block_on("reading", async move {
        for sector in 0..sectors {
            let mut found = [[0; 8]];
            driver
                .read_tags(QueueId(1), sector, &mut found)
                .await
                .unwrap_or_else(|e| panic!("{sector}: {e}"));
            let rounds = (end + sectors - 1 - sector) / sectors;
            let newest = rounds.checked_sub(1).map_or(0, |rounds| rounds * sectors + sector + 1);
            let found = u64::from_le_bytes(found[0]);
            let is_refused = sector == end % sectors && found == end + 1;
            assert!(found == newest || is_refused, "sector {sector}: {found} instead of {newest}");
        }
    });
    read.unwrap();
}

/// H20: a number that was used up would make an old version a new one.
#[test]
fn a_drive_whose_sequence_numbers_run_out_becomes_read_only() {
    let kept = Kept::new(profile("host-ftl-small", |_| {}));
    assert_eq!(write_until_refused(&kept.power_on(), 0, 20), 20);
    kept.floor(LAST - KEPT_BACK - 30);
    let machine = kept.power_on();
    assert_holds(&machine, 0);
    let end = write_until_refused(&machine, 0, 100);
    assert!((25..40).contains(&end), "{end} writes of a page each");
    assert_eq!(state(&machine), DriveState::ReadOnly);
    assert_holds(&machine, end);
    drop(machine.cut_power());
    let machine = kept.power_on();
    assert_eq!(state(&machine), DriveState::ReadOnly);
    assert_holds(&machine, end);
}

/// Its CRC is good, but nobody has given out that number.
#[test]
fn a_root_with_a_number_that_cannot_be_counts_as_lost() {
    let kept = Kept::new(profile("host-ftl-small", |_| {}));
    let machine = kept.power_on();
    let end = write_until_refused(&machine, 0, 20);
    drop(machine.cut_power());
    for floor in [LAST + 1, u64::MAX] {
        kept.floor(floor);
        let machine = kept.power_on();
        assert_eq!(state(&machine), DriveState::Ready);
        assert_holds(&machine, end);
        drop(machine.cut_power());
    }
}

/// A drive that can't keep another bad block refuses all writes: its blocks aren't bad for that.
#[test]
fn a_drive_that_takes_no_more_writes_costs_no_good_block() {
    let kept = Kept::new(profile("host-ftl-small", |p| {
        // 9,600 blocks, of which the table of bad ones holds 4,096.
        p.geometry.blocks_per_lun = 600;
        p.package.factory_bad_per_mille = 425;
        p.package.program_failures_per_million = 20_000;
        p.ftl.over_provisioning_percent = 400.0;
    }));
    let machine = kept.power_on();
    let factory = machine.device().stats().ftl.factory_bad_blocks;
    assert!((3_900..4_090).contains(&factory), "{factory} blocks are bad from the factory");
    let end = write_until_refused(&machine, 0, 40_000);
    assert!(end < 40_000, "it takes no more writes");
    assert_eq!(state(&machine), DriveState::ReadOnly);
    let stats = machine.device().stats().ftl;
    let bad = stats.factory_bad_blocks + stats.grown_bad_blocks;
    assert!((4_096..4_120).contains(&bad), "{bad}");
    assert!(counter(&machine, "spare_percent") > 50);
    assert_holds(&machine, end);
    drop(machine.cut_power());
    let machine = kept.power_on();
    assert_eq!(state(&machine), DriveState::ReadOnly);
    assert_holds(&machine, end);
}

/// Drives of many valid sectors, whose host waits for room most of the time.
fn nearly_full(raid: RaidName) -> Profile {
    profile("host-ftl-small", |p| {
        let target = p.target.as_mut().expect("a target");
        (target.raid, target.wear_window) = (Some(raid), None);
        p.ftl.over_provisioning_percent = 42.0;
        p.package.factory_bad_per_mille = 0;
    })
}

/// A format waits for what is in memory, which may need room that only collection makes. Commands that come
/// after it are carried out.
#[test]
fn a_format_ends_whatever_waits_for_room() {
    for (raid, erase) in [
        (RaidName::Off, SecureErase::None),
        (RaidName::Off, SecureErase::UserData),
        (RaidName::Fixed, SecureErase::None),
    ] {
        let machine = Kept::new(nearly_full(raid)).power_on();
        let (driver, exec) = (Rc::clone(machine.driver()), machine.driver().exec().clone());
        let sectors = drive(&machine).bytes / 4096;
        let (stopped, writes) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        for task in 0..WRITERS {
            let (driver, stopped, mine) = (Rc::clone(&driver), Rc::clone(&stopped), exec.clone());
            let writes = Rc::clone(&writes);
            let mut random = Rng::new(task);
            exec.spawn(async move {
                for n in 0..WRITES {
                    let sector =
                        if n * WRITERS < sectors { n * WRITERS + task } else { random.below(sectors) };
                    let tags = [[task as u8; 8]];
                    writes.set(writes.get() + 1);
                    let sector = sector.min(sectors - 1);
                    // The controller refuses what comes while a format is in progress.
                    while driver.write_tags(QueueId(1), sector, &tags, false).await.is_err() {
                        mine.sleep(Duration::from_micros(100)).await;
                    }
                }
                stopped.set(stopped.get() + 1);
            });
        }
        let mut random = Rng::new(5);
        let formats = machine.block_on("formatting", async move {
            let mut formats = 0;
            while stopped.get() < WRITERS {
                // The drive is full, and collects.
                let next = writes.get() + sectors + random.below(sectors);
                while stopped.get() < WRITERS && writes.get() < next {
                    exec.sleep(Duration::from_micros(random.below(40))).await;
                }
                driver.format(0, erase).await.unwrap();
                formats += 1;
            }
            formats
        });
        let formats = formats.unwrap();
        let stats = machine.device().stats().ftl;
        assert!(stats.flash_programs.gc > 0 && formats > 10, "{formats} formats, {stats:?}");
    }
}
/// Tasks that write, and writes of each.
const WRITERS: u64 = 24;
const WRITES: u64 = 10_000;
