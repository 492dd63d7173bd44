//! The block group table of the paper's FTL (H24, H25): it is stored on flash, and NVRAM says where.

use aster_codec::checksum::crc32c;
use aster_device::profile::RaidName;
use aster_device::{Media, NVRAM_BYTES, Pieces, Profile};
use aster_driver::{Config, QueueId};
use aster_events::Recorder;
use aster_ports::medium::{Medium, Nvram, SharedNvram};
use aster_run_virtual::Machine;
use aster_tests::{SmallDisk, cases, config, drive, job, run, versioned};
use aster_units::{BlockAddr, Content, Duration, LunIndex, PageInBlock, Rng};
use aster_workload::runner::Contents;
use aster_workload::{Access, Extent, Job, Mix};
use std::cell::Cell;
use std::rc::Rc;

fn small() -> Profile {
    aster_device::profile::shipped("host-ftl-small").expect("a shipped profile")
}

/// A drive's media, which can be looked at and damaged.
struct Kept {
    profile: Profile,
    disk: SmallDisk,
    nvram: SharedNvram,
}

/// Bytes of the FTL's records in NVRAM: two places of the table, two roots, and a bit for each of 384 blocks.
const RECORDS: [usize; 3] = [2 * 48, 2 * 24, 4 + 384 / 8];

impl Kept {
    fn new(profile: Profile) -> Self {
        let size = aster_device::nand_image_bytes(&profile, Some(Content::Full)).expect("its size");
        let disk = SmallDisk::new(size, Rc::new(Cell::new(usize::MAX)));
        Kept { profile, disk, nvram: Nvram::volatile(NVRAM_BYTES) }
    }
    fn power_on(&self) -> Machine {
        let config = Config { depth: 32, ..config(&self.profile) };
        let media = Media::on_image(Box::new(self.disk.clone()), Rc::clone(&self.nvram));
        let content = Some(Content::Full);
        let machine = Machine::power_on("t", &self.profile, content, media, &Recorder::default(), config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
        machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
        machine
    }
    /// What NVRAM says of the table.
    fn named(&self) -> Vec<u8> {
        let mut bytes = vec![0; RECORDS[0]];
        self.nvram.read(Kept::records_at(), &mut bytes);
        bytes
    }
    /// The generation that NVRAM names.
    fn generation(&self) -> u64 {
        u64::from_le_bytes(self.named()[4..12].try_into().expect("eight bytes"))
    }
    /// The copies that NVRAM names can't be read any more. Returns how many there are.
    fn spoil_named(&self) -> u64 {
        let (generation, mut spoilt) = (self.generation().to_le_bytes(), 0);
        self.change_tables(|page| {
            if page[8..16] == generation {
                // It isn't what the records beside it say.
                page[15] ^= 0x80;
                spoilt += 1;
            }
        });
        spoilt
    }
    /// Where the FTL's records begin.
    fn records_at() -> usize {
        NVRAM_BYTES - 2 * 128 - RECORDS.iter().sum::<usize>()
    }
    /// The blocks of the group that has the table, two bytes each.
    fn table_blocks(&self) -> [u8; 16] {
        let mut blocks = [0; 16];
        self.nvram.read(Kept::records_at() + 24, &mut blocks);
        blocks
    }
    /// Changes each page with a table on the image. Its CRC stays right, as do the image's own. Returns how
    /// many there are.
    fn change_tables(&self, mut change: impl FnMut(&mut [u8])) -> u64 {
        let (mut disk, mut page) = (self.disk.clone(), vec![0; 16384]);
        let mut changed = 0;
        for at in (0..disk.size() - 16384).step_by(4096) {
            disk.read_at(at, &mut page).expect("the image");
            // 48 groups.
            if page[4..8] != 48u32.to_le_bytes() || page[..4] != crc32c(&page[4..]).to_le_bytes() {
                continue;
            }
            let before = crc32c(&page[..4096]);
            change(&mut page);
            restore_crc(&mut page[..4096], 2000..2004, before);
            assert_eq!(
                page[..4],
                crc32c(&page[4..]).to_le_bytes(),
                "as its beginning, whose CRC is as it was"
            );
            disk.write_at(at, &page).expect("the image");
            changed += 1;
        }
        changed
    }
    /// The FTL's first so many records are lost.
    fn lose(&self, records: usize) {
        let at = Kept::records_at();
        let bytes = RECORDS[..records].iter().sum();
        let mut before = vec![0; bytes];
        self.nvram.read(at, &mut before);
        assert!(before.iter().any(|&byte| byte != 0), "there are records");
        self.nvram.write(at, &vec![0; bytes]);
    }
}

fn counter(machine: &Machine, name: &str) -> u64 {
    machine.device().translation().counter(name).unwrap_or_else(|| panic!("it counts {name}"))
}
fn stored(machine: &Machine) -> u64 {
    counter(machine, "tables_stored")
}
fn idle(machine: &Machine) {
    machine.idle(Duration::from_millis(50));
}
fn everything(machine: &Machine) -> Job {
    let requests = drive(machine).bytes.div_ceil(64 << 10);
    job("everything", Access::Sequential, Mix::Read, 64 << 10, requests)
}
fn written(machine: &Machine, seed: u64, contents: Contents) -> Contents {
    let writes = Job { seed, ..job("writes", Access::Random, Mix::Write, 8192, 300) };
    let flush = Job { flush_every: 1, ..job("flush", Access::Random, Mix::Write, 4096, 1) };
    run(machine, &[writes, flush], contents)
}

/// H25: built at the first start, read at every other one, and found without NVRAM.
#[test]
fn the_table_is_stored_once_and_found_again_with_and_without_nvram() {
    let kept = Kept::new(small());
    let first = kept.power_on();
    idle(&first);
    assert_eq!(stored(&first), 1);
    let mut contents = written(&first, 1, versioned(&first));
    drop(first.cut_power());
    let next = kept.power_on();
    let first_reads = next.device().stats().ftl.boot_reads;
    contents = run(&next, &[everything(&next)], contents);
    drop(next.cut_power());
    for lost in [0, 1, 0, 3] {
        if lost > 0 {
            kept.lose(lost);
        }
        let next = kept.power_on();
        contents = run(&next, &[everything(&next)], contents);
        idle(&next);
        assert_eq!(stored(&next), 0, "{lost} records were lost, and the table was there");
        assert_eq!(counter(&next, "tables_searched"), u64::from(lost > 0));
        // A page of each of the die's 192 blocks, to find it.
        let reads = next.device().stats().ftl.boot_reads;
        assert_eq!(lost > 0, reads > 192 + first_reads, "{lost} records were lost, {reads} pages read");
        drop(next.cut_power());
    }
}

/// H25: whatever event of the first store is the last one, a table is stored in the end, and no data are
/// lost.
#[test]
fn a_first_store_that_is_cut_off_is_begun_anew() {
    let (mut cuts, mut without) = (0, 0);
    loop {
        let kept = Kept::new(small());
        let first = kept.power_on();
        assert_eq!(stored(&first), 0);
        for _ in 0..cuts {
            assert!(first.step());
        }
        let was_stored = stored(&first) == 1;
        drop(first.cut_power());
        let next = kept.power_on();
        idle(&next);
        without += stored(&next);
        assert!(!was_stored || stored(&next) == 0, "after {cuts} events");
        let contents = written(&next, 3, versioned(&next));
        drop(next.cut_power());
        let last = kept.power_on();
        run(&last, &[everything(&last)], contents);
        assert_eq!(stored(&last), 0);
        if was_stored {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 20 && without > 20, "{cuts} cuts, {without} of them before the table was whole");
}

/// The next program of each of these LUNs fails, so many times.
fn fail_programs(machine: &Machine, luns: std::ops::Range<u32>, times: u32) {
    let all = luns.flat_map(|lun| (0..times).map(move |_| LunIndex(lun)));
    all.for_each(|lun| machine.device().nand().fail_next_program(lun));
}

/// H25: the first table goes to another group if all blocks of an area fail, once. A group that doesn't
/// have the table is free.
#[test]
fn a_group_that_cannot_take_the_first_table_is_free_again_and_another_one_gets_it() {
    let free = |machine: &Machine| counter(machine, "free_groups");
    let kept = Kept::new(small());
    let good = kept.power_on();
    idle(&good);
    let without = free(&good);
    for (times, expected) in [(1, (1, 1, without)), (2, (0, 2, without + 1))] {
        let kept = Kept::new(small());
        let machine = kept.power_on();
        // The lanes of the area that is written first: those of the first die are the first LUNs.
        fail_programs(&machine, 0..4, times);
        idle(&machine);
        let failed = counter(&machine, "tables_failed");
        assert_eq!((stored(&machine), failed, free(&machine)), expected, "{times} failures of each lane");
        assert_eq!(machine.device().stats().ftl.grown_bad_blocks, u64::from(4 * times));
        let contents = written(&machine, 4, versioned(&machine));
        drop(machine.cut_power());
        // What power-on finds of tables that aren't whole counts for nothing.
        let next = kept.power_on();
        let contents = run(&next, &[everything(&next)], contents);
        idle(&next);
        let has = (counter(&next, "tables_failed"), stored(&next), counter(&next, "tables_searched"));
        assert_eq!(has, (0, u64::from(times == 2), 0), "{times} failures of each lane");
        drop(next.cut_power());
        let last = kept.power_on();
        run(&last, &[everything(&last)], contents);
        assert_eq!(stored(&last), 0);
    }
}

/// Changes four bytes, which hold nothing, so that all have the CRC that they had `before`.
fn restore_crc(bytes: &mut [u8], unused: std::ops::Range<usize>, before: u32) {
    // What each bit changes, and those bits that together change one bit alone that no other sum changes.
    let mut sums: Vec<(u32, u32)> = Vec::new();
    let with = |bytes: &[u8], bits: u32| {
        let mut bytes = bytes.to_vec();
        bytes[unused.clone()].copy_from_slice(&bits.to_le_bytes());
        crc32c(&bytes)
    };
    let plain = crc32c(bytes);
    let reduced = |sums: &[(u32, u32)], change: u32, bits: u32| {
        sums.iter().fold((change, bits), |(change, bits), &(of, with)| {
            let top = 31 - of.leading_zeros();
            if change >> top & 1 != 0 { (change ^ of, bits ^ with) } else { (change, bits) }
        })
    };
    for bit in 0..32 {
        sums.push(reduced(&sums, plain ^ with(bytes, 1 << bit), 1 << bit));
    }
    let (left, bits) = reduced(&sums, plain ^ before, 0);
    assert_eq!(left, 0, "32 bits make any change of a CRC");
    bytes[unused].copy_from_slice(&bits.to_le_bytes());
    assert_eq!(crc32c(bytes), before);
}
/// The group of a table's page, by its number among all, that has these blocks.
fn group_with(page: &[u8], blocks: &[u8]) -> usize {
    page[16..].chunks_exact(16).position(|group| group == blocks).expect("a group has them")
}

/// H25: one member that can't be costs neither the table nor data. The table is stored anew without it.
#[test]
fn a_table_with_a_member_that_cannot_be_counts_but_for_that_member() {
    type Damage = fn(&mut [u8], usize);
    let beyond: Damage = |page, _| page[16 + 16 * 24 + 6..][..2].copy_from_slice(&24u16.to_le_bytes());
    let twice: Damage = |page, _| page.copy_within(16 + 16 * 25 + 6..16 + 16 * 25 + 8, 16 + 16 * 24 + 6);
    // The first block of the group that has the table.
    let own: Damage = |page, table| page[16 + 16 * table..][..2].copy_from_slice(&[0x00, 0x77]);
    for (n, damage) in [beyond, twice, own].into_iter().enumerate() {
        for raid in [RaidName::Off, RaidName::Rotating] {
            for lost in [0, 1] {
                let what = format!("damage {n}, {raid:?}, {lost} records lost");
                let mut profile = small();
                profile.target.as_mut().expect("a target").raid = Some(raid);
                profile.ftl.over_provisioning_percent = 60.0;
                let kept = Kept::new(profile);
                let first = kept.power_on();
                idle(&first);
                let contents = written(&first, 1, versioned(&first));
                drop(first.cut_power());
                let blocks = kept.table_blocks();
                assert_eq!(kept.change_tables(|page| damage(page, group_with(page, &blocks))), 4, "{what}");
                if lost > 0 {
                    kept.lose(lost);
                }
                let next = kept.power_on();
                let counted = ["members_dropped", "tables_searched"].map(|name| counter(&next, name));
                assert_eq!(counted, [1, lost as u64], "{what}");
                let contents = run(&next, &[everything(&next)], contents);
                idle(&next);
                assert_eq!(stored(&next), 1, "{what}");
                let contents = written(&next, 2, contents);
                drop(next.cut_power());
                let last = kept.power_on();
                let counted = ["members_dropped", "tables_searched"].map(|name| counter(&last, name));
                assert_eq!(counted, [0, 0], "{what}");
                run(&last, &[everything(&last)], contents);
                idle(&last);
                assert_eq!(stored(&last), 0, "{what}");
            }
        }
    }
}

/// A drive of which blocks go bad all the time.
fn failing(raid: RaidName) -> Profile {
    let mut profile = small();
    profile.target.as_mut().expect("a target").raid = Some(raid);
    profile.package.program_failures_per_million = 2_000;
    profile.package.erase_failures_per_million = 2_000;
    // A page of a program that has failed is not read again and again.
    profile.scheduler.read_retries = 0;
    profile.ftl.over_provisioning_percent = 80.0;
    profile
}

/// Bad blocks and whole groups, after writes in which at least so many have gone bad.
fn after_failures(machine: &Machine, least: u64) -> (u64, u64) {
    let mut contents = versioned(machine);
    for seed in 0.. {
        contents = written(machine, seed, contents);
        if machine.device().stats().ftl.grown_bad_blocks >= least {
            break;
        }
    }
    idle(machine);
    run(machine, &[everything(machine)], contents);
    (machine.device().stats().ftl.grown_bad_blocks, counter(machine, "whole_groups"))
}

/// H25: a drive that keeps fingerprints stores no table, and repairs no groups.
#[test]
fn more_groups_stay_whole_than_without_repair() {
    for raid in [RaidName::Off, RaidName::Rotating] {
        let repaired = {
            let machine = Kept::new(failing(raid)).power_on();
            println!("{raid:?}: {} groups are whole at first", counter(&machine, "whole_groups"));
            let after = after_failures(&machine, 30);
            println!("{raid:?}: {} tables were stored", stored(&machine));
            assert!(stored(&machine) > 8);
            after
        };
        let profile = failing(raid);
        let (media, content) = (Media::fresh(), Some(Content::Fingerprint));
        let config = Config { depth: 32, ..config(&profile) };
        let machine = Machine::power_on("t", &profile, content, media, &Recorder::default(), config).unwrap();
        machine.boot().unwrap();
        let without = after_failures(&machine, 30);
        println!("{raid:?}: (bad blocks, whole groups) {repaired:?} with repair, {without:?} without");
        assert!(repaired.1 > without.1 + 5, "{repaired:?} with repair, {without:?} without");
    }
}

/// Searched, misnamed, and what power-on says.
fn told(machine: &Machine) -> (u64, u64, String) {
    let [searched, misnamed] = ["tables_searched", "tables_misnamed"].map(|name| counter(machine, name));
    (searched, misnamed, machine.device().recovery().expect("the power was lost"))
}
/// The drive goes on with its table, and its next power-on finds that one at once.
fn goes_on(kept: &Kept, machine: Machine, contents: Contents) {
    let contents = run(&machine, &[everything(&machine)], contents);
    idle(&machine);
    assert!(stored(&machine) > 0, "a table was stored");
    assert_eq!(counter(&machine, "tables_failed"), 0);
    let contents = written(&machine, 77, contents);
    drop(machine.cut_power());
    let last = kept.power_on();
    let (searched, misnamed, text) = told(&last);
    assert_eq!((searched, misnamed), (0, 0));
    assert!(!text.contains("table"), "{text}");
    run(&last, &[everything(&last)], contents);
}

/// H25: a table that NVRAM names and that can't be read is told of. If there is no other, one is built.
#[test]
fn a_table_that_cannot_be_read_is_built_anew_if_there_is_no_other_one() {
    let kept = Kept::new(small());
    let first = kept.power_on();
    idle(&first);
    let contents = written(&first, 1, versioned(&first));
    drop(first.cut_power());
    assert_eq!(kept.spoil_named(), 4);
    let next = kept.power_on();
    let (searched, misnamed, text) = told(&next);
    assert_eq!((searched, misnamed), (0, 1));
    let built = "the block group table that NVRAM names can't be read: since no other one is whole, the \
                 table was built as at the first start";
    assert!(text.ends_with(built), "{text}");
    goes_on(&kept, next, contents);
}

/// Writes until a table was stored.
fn until_stored(machine: &Machine, mut contents: Contents) -> Contents {
    let before = stored(machine);
    for seed in 0.. {
        contents = written(machine, seed, contents);
        idle(machine);
        if stored(machine) > before {
            break;
        }
    }
    contents
}

/// H25: the newest whole table of those that are on flash counts if NVRAM names another one, and is stored
/// once more, so that NVRAM names what counts.
#[test]
fn the_newest_table_on_flash_counts_where_nvram_names_another_one() {
    for raid in [RaidName::Off, RaidName::Rotating] {
        for older in [false, true] {
            let kept = Kept::new(failing(raid));
            let first = kept.power_on();
            idle(&first);
            let contents = until_stored(&first, versioned(&first));
            let before = (kept.generation(), kept.named());
            let contents = until_stored(&first, contents);
            let newest = kept.generation();
            assert!(before.0 < newest);
            drop(first.cut_power());
            let expected = if older {
                kept.nvram.write(Kept::records_at(), &before.1);
                "is older than what is on flash"
            } else {
                assert!(kept.spoil_named() > 0);
                "can't be read"
            };
            let next = kept.power_on();
            let (searched, misnamed, text) = told(&next);
            assert_eq!((searched, misnamed), (1, 1), "{text}");
            assert!(
                text.ends_with(&format!("{expected}: the newest whole one on flash was taken")),
                "{text}"
            );
            // The number of what was found or known isn't used again.
            idle(&next);
            assert!(kept.generation() > newest);
            goes_on(&kept, next, contents);
        }
    }
}

/// A place with a good CRC and numbers that nobody has given out counts as lost. When the generations have
/// run out, no other table is stored, and the one that is found counts.
#[test]
fn generations_that_cannot_be_are_not_believed_and_the_last_one_is_the_last() {
    let kept = Kept::new(small());
    let first = kept.power_on();
    idle(&first);
    let contents = written(&first, 1, versioned(&first));
    drop(first.cut_power());
    let before = kept.named();
    let change = |generation: Option<u64>, newest: u64| {
        let mut place = before[..48].to_vec();
        if let Some(generation) = generation {
            place[4..12].copy_from_slice(&generation.to_le_bytes());
        }
        place[12..20].copy_from_slice(&newest.to_le_bytes());
        let crc = crc32c(&place[..44]).to_le_bytes();
        place[44..].copy_from_slice(&crc);
        kept.nvram.write(Kept::records_at(), &[&place[..], &place[..]].concat());
    };
    let mut contents = contents;
    for (generation, newest) in [(None, 1 << 40), (None, u64::MAX), (Some(9), 8)] {
        change(generation, newest);
        let next = kept.power_on();
        assert_eq!(counter(&next, "tables_searched"), 1, "{generation:?}, {newest:x}");
        contents = run(&next, &[everything(&next)], contents);
        drop(next.cut_power());
    }
    change(Some((1 << 40) - 1), (1 << 40) - 1);
    let last = kept.power_on();
    idle(&last);
    assert_eq!((counter(&last, "tables_searched"), counter(&last, "tables_failed")), (1, 1));
    let contents = written(&last, 2, contents);
    run(&last, &[everything(&last)], contents);
}

/// H25, H27: a table that has moved is found by the records in the group that has it now.
#[test]
fn a_table_that_has_moved_counts_where_nvram_names_its_place_before() {
    let mut profile = small();
    profile.ftl.over_provisioning_percent = 80.0;
    profile.target.as_mut().expect("a target").wear_window = Some(24);
    let kept = Kept::new(profile);
    let machine = kept.power_on();
    idle(&machine);
    let before = kept.named();
    let size = Some(Extent::Bytes(drive(&machine).bytes / 10 / 65_536 * 65_536));
    let mut contents = versioned(&machine);
    for seed in 0.. {
        // The group that the table leaves is among the next ones to be opened.
        let requests = if counter(&machine, "erases_most") < 10 { 100 } else { 2 };
        let hot = job("hot", Access::Random, Mix::Write, 64 << 10, requests);
        contents = run(&machine, &[Job { size, seed, flush_every: requests, ..hot }], contents);
        if stored(&machine) > 1 {
            break;
        }
    }
    drop(machine.cut_power());
    kept.nvram.write(Kept::records_at(), &before);
    let next = kept.power_on();
    let (searched, misnamed, text) = told(&next);
    assert_eq!((searched, misnamed), (1, 1), "{text}");
    assert!(text.contains("is older than what is on flash"), "{text}");
    goes_on(&kept, next, contents);
}

/// H25, H32: a table whose bits fade is stored anew after power-on, and so is one that has lost a copy.
#[test]
fn a_table_that_fades_is_stored_anew_after_power_on() {
    let power_on = |profile: &Profile, media| {
        let config = Config { depth: 32, ..config(profile) };
        let content = Some(Content::Full);
        let machine = Machine::power_on("t", profile, content, media, &Recorder::default(), config).unwrap();
        machine.boot().unwrap();
        machine
    };
    // The ECC corrects 16 bits, of which 80 % are 13. A table has a copy on each of the first four LUNs.
    for (luns, bits, percent, expected) in
        [(0..4, 11, 80, 0), (0..4, 13, 80, 1), (0..1, 60, 80, 1), (0..4, 13, 0, 0), (1..4, 60, 80, 0)]
    {
        let what = format!("{bits} bits on {luns:?}, {percent} %");
        let mut profile = small();
        profile.ftl.refresh_corrected_percent = percent;
        let first = power_on(&profile, Media::fresh());
        idle(&first);
        assert_eq!(stored(&first), 1);
        let mut flipped = 0;
        for (lun, block) in luns.clone().flat_map(|lun| (0..24).map(move |block| (lun, block))) {
            let (lun, block, nand) = (LunIndex(lun), BlockAddr(block), first.device().nand());
            if nand.bad_blocks(lun).iter().any(|&(bad, _)| bad == block) {
                continue;
            }
            flipped += u32::from(nand.flip_random_bits(lun, block, PageInBlock(0), (0, 512), bits, 9));
        }
        assert_eq!(flipped, luns.end - luns.start, "nothing but the table is written");
        let contents = written(&first, 1, versioned(&first));
        let next = power_on(&profile, first.cut_power());
        let contents = run(&next, &[everything(&next)], contents);
        idle(&next);
        assert_eq!((stored(&next), counter(&next, "tables_searched")), (expected, 0), "{what}");
        let last = power_on(&profile, next.cut_power());
        run(&last, &[everything(&last)], contents);
        idle(&last);
        assert_eq!((stored(&last), counter(&last, "tables_searched")), (0, 0), "{what}");
    }
}

/// Writes to the second half of the drive, for ever.
fn write_on(machine: &Machine, seed: u64) {
    let (driver, sectors) = (Rc::clone(machine.driver()), drive(machine).bytes / 4096);
    machine.host().spawn(async move {
        let mut random = Rng::new(seed);
        let page = vec![0x5a; 16384];
        loop {
            let at = sectors / 2 + random.below(sectors / 2 - 4);
            if driver.write(QueueId(1), at, &page, false).await.is_err() {
                return;
            }
        }
    });
}
/// Writes to the first half, and a flush.
fn first_half(machine: &Machine, seed: u64, contents: Contents) -> Contents {
    let size = Some(Extent::Bytes(drive(machine).bytes / 2 / 8192 * 8192));
    let writes = Job { seed, size, ..job("writes", Access::Random, Mix::Write, 8192, 20) };
    let flush = Job { flush_every: 1, size, ..job("flush", Access::Random, Mix::Write, 4096, 1) };
    run(machine, &[writes, flush], contents)
}
fn check(machine: &Machine, contents: Contents) -> Contents {
    let size = drive(machine).bytes / 2 / 8192 * 8192;
    let read = job("first half", Access::Sequential, Mix::Read, 8192, size / 8192);
    run(machine, &[Job { size: Some(Extent::Bytes(size)), ..read }], contents)
}

/// H25: what was flushed outlasts losses of power of the host, of the drive, and of both, while groups are
/// repaired, and power-on never has to search for the table.
#[test]
fn repaired_groups_survive_cuts_at_any_event() {
    for (raid, window) in [(RaidName::Off, None), (RaidName::Rotating, None), (RaidName::Off, Some(4))] {
        let during: u64 = (0..cases(1, 8)).map(|seed| cut_while_repaired((raid, window), seed)).sum();
        println!("{raid:?}, window {window:?}: {during} cuts while a table was stored, or soon after");
        assert!(during > 3, "{during}");
    }
}
/// Cuts a drive again and again until few spare blocks are left. Returns how often a table was being stored,
/// or had just been.
fn cut_while_repaired((raid, window): (RaidName, Option<u32>), seed: u64) -> u64 {
    let mut profile = Profile { seed, ..failing(raid) };
    profile.target.as_mut().expect("a target").wear_window = window;
    let kept = Kept::new(profile);
    let mut now = kept.power_on();
    let mut contents = versioned(&now);
    let (mut during, mut random) = (0, Rng::new(seed));
    for round in 0..60 {
        contents = first_half(&now, round, contents);
        write_on(&now, round);
        // So many events after the first page of a table was sent.
        let pages = |now: &Machine| now.device().stats().ftl.flash_programs.metadata;
        let (before, mut left) = (pages(&now), random.below(80));
        for _ in 0..60_000 {
            assert!(now.step());
            if pages(&now) > before {
                if left == 0 {
                    during += 1;
                    break;
                }
                left -= 1;
            }
        }
        if counter(&now, "spare_percent") < 20 {
            break;
        }
        match round % 3 {
            0 => {
                drop(now.cut_power());
                now = kept.power_on();
            }
            1 => {
                let config = Config { depth: 32, ..config(&kept.profile) };
                let drive = now.cut_host().expect("there is a target");
                now = Machine::power_on_over(Pieces::default(), "t", &kept.profile, drive, config)
                    .unwrap_or_else(|e| panic!("power-on: {e}"));
                now.boot().unwrap_or_else(|e| panic!("boot: {e}"));
            }
            _ => now.restart_drive(Pieces::default(), "t", &kept.profile).unwrap(),
        }
        assert_eq!(counter(&now, "tables_searched"), 0);
        contents = check(&now, contents);
    }
    during
}

/// H27, H30: the table leaves its group for a more worn one, so that its group wears as well. It is found
/// there at power-on, and no data are lost.
#[test]
fn the_table_moves_so_that_its_group_wears_as_the_others_do() {
    let worn = |window: Option<u32>| {
        let mut profile = small();
        profile.ftl.over_provisioning_percent = 80.0;
        profile.target.as_mut().expect("a target").wear_window = window;
        let kept = Kept::new(profile);
        let machine = kept.power_on();
        let size = Some(Extent::Bytes(drive(&machine).bytes / 10 / 65_536 * 65_536));
        let hot = Job { size, verify: false, ..job("hot", Access::Random, Mix::Write, 64 << 10, 72_000) };
        let contents = run(&machine, &[hot], versioned(&machine));
        let spread = counter(&machine, "erases_most") - counter(&machine, "erases_least");
        let stored = stored(&machine);
        let contents = written(&machine, 5, contents);
        drop(machine.cut_power());
        let next = kept.power_on();
        run(&next, &[everything(&next)], contents);
        assert_eq!(counter(&next, "tables_searched"), 0);
        (stored, spread)
    };
    let (with, without) = (worn(Some(24)), worn(None));
    println!("(tables stored, most erases less fewest) {with:?} with levelling, {without:?} without");
    assert!(with.0 > 1 && without.0 == 1, "{with:?}, {without:?}");
    // How far blocks differ depends on what levelling may do beside that, in so short a life.
    assert!(with.1 <= without.1, "{with:?}, {without:?}");
}
