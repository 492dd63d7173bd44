//! What the measured drives do.

use aster_benches::jobs::{drive_of, run};
use aster_device::Media;
use aster_device::profile::{CollectionName, Profile, shipped};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_units::Content;
use aster_workload::runner::Contents;
use aster_workload::{Access, BlockSizes, Extent, Job, Mix, PerDirection};

/// Work of a drive whose instructions are counted.
pub struct Work {
    /// Its name in the file of budgets.
    pub name: &'static str,
    /// What it is, and for what the instructions are given.
    pub what: &'static str,
    profile: fn() -> Profile,
    /// What comes before: how much of the drive is written in order, and requests of the measured kind.
    fill: Extent,
    before: u64,
    access: Access,
    mix: Mix,
    block: u32,
    queue_depth: u32,
    /// Requests of the first run of a pair.
    pub requests: u64,
    /// What the instructions are divided by.
    per: Per,
}

#[derive(Clone, Copy)]
enum Per {
    Request,
    /// A page of 16 KiB.
    Page,
    FlashOperation,
}

/// All of it.
pub const ALL: [Work; 5] = [
    Work {
        name: "read",
        what: "4 KiB random reads on ideal, 128 in flight, per read",
        profile: ideal,
        fill: Extent::Bytes(64 << 20),
        before: 0,
        access: Access::Random,
        mix: Mix::Read,
        block: 4 << 10,
        queue_depth: 128,
        requests: 8_000,
        per: Per::Request,
    },
    Work {
        name: "write",
        what: "16 KiB random writes on a full ideal of 2 x 2 x 64 blocks of 32 pages, per flash operation",
        profile: small_ideal,
        fill: Extent::Percent(100),
        before: 6_000,
        access: Access::Random,
        mix: Mix::Write,
        block: 16 << 10,
        queue_depth: 32,
        requests: 3_000,
        per: Per::FlashOperation,
    },
    Work {
        name: "sequential-read",
        what: "128 KiB sequential reads on ideal, 16 in flight, per page",
        profile: ideal,
        fill: Extent::Bytes(64 << 20),
        before: 0,
        access: Access::Sequential,
        mix: Mix::Read,
        block: 128 << 10,
        queue_depth: 16,
        requests: 500,
        per: Per::Page,
    },
    Work {
        name: "board-read",
        what: "128 KiB sequential reads on cosmos-board, 16 in flight, per page",
        profile: small_board,
        fill: Extent::Bytes(64 << 20),
        before: 0,
        access: Access::Sequential,
        mix: Mix::Read,
        block: 128 << 10,
        queue_depth: 16,
        requests: 300,
        per: Per::Page,
    },
    Work {
        name: "plus-read",
        what: "128 KiB sequential reads on cosmos-plus, 16 in flight, per page",
        profile: small_plus,
        fill: Extent::Bytes(64 << 20),
        before: 0,
        access: Access::Sequential,
        mix: Mix::Read,
        block: 128 << 10,
        queue_depth: 16,
        requests: 300,
        per: Per::Page,
    },
];

fn profile(name: &str) -> Profile {
    shipped(name).unwrap_or_else(|e| panic!("{e}"))
}
/// With pages as mapping units, a pool for each LUN, and collection on demand: what was counted before can be
/// compared.
fn ideal() -> Profile {
    let mut ideal = profile("ideal");
    (ideal.ftl.mapping_unit_bytes, ideal.ftl.placement) = (0, None);
    ideal.ftl.collection = CollectionName::OnDemand;
    ideal
}
fn small_ideal() -> Profile {
    let mut small = ideal();
    (small.geometry.channels, small.geometry.ways) = (2, 2);
    (small.geometry.blocks_per_lun, small.geometry.pages_per_block) = (64, 32);
    small
}
fn small_board() -> Profile {
    with_few_blocks("cosmos-board")
}
fn small_plus() -> Profile {
    with_few_blocks("cosmos-plus")
}
/// Boot reads the first pages of each block.
fn with_few_blocks(name: &str) -> Profile {
    let mut small = profile(name);
    small.restrict.blocks_per_lun = Some(40);
    small.package.factory_bad_per_mille = 0;
    small
}

impl Work {
    /// Has a drive do it, with so many requests. Returns what its instructions are divided by.
    pub fn run(&self, requests: u64) -> u64 {
        let profile = (self.profile)();
        let config = Config {
            depth: (profile.host.queue_entries - 1).min(self.queue_depth as u16),
            transfer_bytes_max: profile.host.transfer_bytes_max.min(128 << 10),
            ..Config::default()
        };
        let content = Some(Content::Fingerprint);
        let m = Machine::power_on(self.name, &profile, content, Media::fresh(), &Recorder::default(), config)
            .unwrap_or_else(|e| panic!("{e}"));
        m.boot().unwrap_or_else(|e| panic!("{e}"));
        let drive = drive_of(&m);
        let bytes = match self.fill {
            Extent::Bytes(bytes) => bytes,
            Extent::Percent(percent) => drive.bytes / 100 * u64::from(percent),
        };
        let fill = (Access::Sequential, Mix::Write, 128 << 10, bytes / (128 << 10));
        let of = |requests| (self.access, self.mix, self.block, requests);
        let mut contents = Contents::unversioned(drive, 1);
        let mut operations = 0;
        for (access, mix, block, number) in [fill, of(self.before), of(requests)] {
            if number == 0 {
                continue;
            }
            let job = Job {
                access,
                mix,
                block_sizes: PerDirection::all(BlockSizes::Fixed(block)),
                size: Some(self.fill),
                queue_depth: self.queue_depth,
                ..Job::default()
            };
            let counted = || {
                let nand = m.device().stats().nand;
                nand.reads + nand.programs + nand.erases
            };
            let before = counted();
            contents = run(&m, job, (block, number), contents);
            operations = counted() - before;
        }
        match self.per {
            Per::Request => requests,
            Per::Page => requests * u64::from(self.block) / (16 << 10),
            Per::FlashOperation => operations,
        }
    }
}
