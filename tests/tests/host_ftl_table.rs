//! The block group table of the paper's FTL (H24, H25): it is stored on flash, and NVRAM says where.

use aster_device::{Media, NVRAM_BYTES, Profile};
use aster_driver::Config;
use aster_events::Recorder;
use aster_ports::medium::{Nvram, SharedNvram};
use aster_run_virtual::Machine;
use aster_tests::{SmallDisk, config, drive, job, run, versioned};
use aster_units::{Content, Duration};
use aster_workload::runner::Contents;
use aster_workload::{Access, Job, Mix};
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
    /// The FTL's first so many records are lost.
    fn lose(&self, records: usize) {
        let at = NVRAM_BYTES - 2 * 128 - RECORDS.iter().sum::<usize>();
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
