//! SoftSSD's parts stand beside those of any other drive: each front end over each mapping, under each flash
//! scheduler, with each form of tasks (S8, S13, S24), and with correction in software (S9).

use aster_device::profile::{ControllerName, CorrectionName, MappingName, Profile, TasksName};
use aster_device::{DriveStats, Media, check};
use aster_events::{Event, EventSink, Recorder};
use aster_tests::front_ends::{Kind, NVME};
use aster_tests::{as_in_papers, big_loop, cases, drive, job, machine, profile, run, versioned};
use aster_units::{Instant, mix64};
use aster_workload::{Access, BlockSizes, Job, Mix, PerDirection};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// The cache is too small for the whole map.
fn demand_paged(p: &mut Profile) {
    p.ftl.mapping = MappingName::DemandPaged;
    p.ftl.slice_workers = 4;
    p.ftl.map_cache_bytes = Some(80_000);
}

const MAPPINGS: [Kind; 2] = [("resident", |_| {}), ("demand-paged", demand_paged)];

fn interface_layer(p: &mut Profile) {
    p.scheduler.policy = "fil".to_owned();
    p.channel.controller = ControllerName::Asynchronous;
    (p.costs.fil_take, p.costs.fil_dispatch, p.costs.fil_poll, p.costs.fil_finish) = (100, 100, 50, 100);
}

const SCHEDULERS: [Kind; 3] = [("tasks", |_| {}), ("cosmos", big_loop), ("fil", interface_layer)];

/// Correction in software, on pages that have wrong bits.
fn on_demand(p: &mut Profile) {
    p.ecc.correction = CorrectionName::OnDemand;
    (p.ecc.scrambler, p.ecc.correct_ns) = (false, 0);
    p.package.errors.fresh = 1e-4;
    (p.costs.ecc_submit, p.costs.ecc_frame, p.costs.ecc_error) = (100, 2_000, 500);
}

/// One die per chip, so that all schedulers can have it, and a map of several pages.
fn base() -> Profile {
    profile("tiny", |p| {
        as_in_papers(p);
        p.geometry.luns = 1;
        p.geometry.page_bytes = 4096;
        p.geometry.spare_bytes = 448;
        p.geometry.pages_per_block = 64;
        p.geometry.blocks_per_lun = 48;
        p.host.block_bytes = 4096;
        p.ftl.over_provisioning_percent = 40.0;
    })
}

#[derive(Default)]
struct Digest {
    events: u64,
    of: u64,
    text: String,
}

impl EventSink for Digest {
    fn event(&mut self, at: Instant, event: &Event) {
        self.text.clear();
        write!(self.text, "{} {event:?}", at.as_picos()).expect("a string takes everything");
        self.of = self.text.bytes().fold(self.of, |of, byte| mix64(of ^ u64::from(byte)));
        self.events += 1;
    }
}

/// What a drive did before it lost its power and after: how many events, which, and its statistics.
struct Life {
    events: u64,
    digest: u64,
    stats: [DriveStats; 2],
    /// Pages of the map that it has read after that, if its map is on flash.
    map_reads: Option<u64>,
}

/// Reads, writes, trims and flushes, loses the power, and reads everything back.
fn live(profile: &Profile) -> Life {
    let (digest, recorder) = (Rc::new(RefCell::new(Digest::default())), Recorder::default());
    recorder.attach(Rc::clone(&digest));
    let m = machine(profile, None, Media::fresh(), &recorder);
    let bytes = drive(&m).bytes;
    let mixed = Job {
        block_sizes: PerDirection::all(BlockSizes::Range { min: 4096, max: 64 << 10 }),
        read_percent: 40,
        flush_every: 61,
        queue_depth: 32,
        ..job("mixed", Access::Random, Mix::ReadWrite, 4096, cases(300, 3_000))
    };
    let trim = job("trim", Access::Random, Mix::Trim, 32 << 10, 10);
    // The last command is a flush: everything before it must be there.
    let flush = Job { flush_every: 1, ..job("flush", Access::Random, Mix::Write, 4096, 1) };
    let contents = run(&m, &[mixed, trim, flush], versioned(&m));
    let before = m.device().stats();
    let m = machine(profile, None, m.cut_power(), &recorder);
    let read = job("read back", Access::Sequential, Mix::Read, 64 << 10, bytes.div_ceil(64 << 10));
    run(&m, &[read], contents);
    let after = m.device().stats();
    let map_reads = m.device().translation().counter("map_page_reads");
    drop((m, recorder.detach()));
    let digest = digest.borrow();
    Life { events: digest.events, digest: digest.of, stats: [before, after], map_reads }
}

#[test]
fn each_front_end_works_over_each_mapping_and_scheduler_in_both_forms_of_tasks() {
    for (front_end, front) in NVME {
        for map in MAPPINGS {
            for schedule in SCHEDULERS {
                in_both_forms_of_tasks((front_end, front), map, schedule, |_| {});
            }
        }
    }
}

/// The big loop needs correction in hardware.
#[test]
fn correction_in_software_stands_beside_parts_of_other_drives() {
    let [hardware, by_link, _, by_registers] = NVME;
    let ([resident, paged], [tasks, _, fil]) = (MAPPINGS, SCHEDULERS);
    for (front, map, schedule) in [
        (hardware, resident, tasks),
        (hardware, paged, fil),
        (by_link, paged, tasks),
        (by_registers, resident, fil),
    ] {
        let [stats, _] = in_both_forms_of_tasks(front, map, schedule, on_demand);
        let ecc = stats.ecc.expect("it corrects in software");
        assert!(
            ecc.corrected > 500 && ecc.uncorrectable == 0,
            "{}, {}, {}: {ecc:?}",
            front.0,
            map.0,
            schedule.0
        );
    }
}

/// Gives what the drive did before it lost its power and after.
fn in_both_forms_of_tasks(
    (front_end, front): Kind,
    (mapping, map): Kind,
    (scheduler, schedule): Kind,
    change: fn(&mut Profile),
) -> [DriveStats; 2] {
    let what = format!("{front_end}, {mapping}, {scheduler}");
    let mut profile = base();
    [front, map, schedule, change].into_iter().for_each(|choose| choose(&mut profile));
    check(&profile, None).unwrap_or_else(|e| panic!("{what}: {e}"));
    let plain = live(&profile);
    profile.cores.tasks = TasksName::Stackful;
    let mut stackful = live(&profile);

    let [stats, _] = &plain.stats;
    assert_eq!(stats.packets.is_some(), front_end.contains("packets"), "{what}");
    assert_eq!(stats.big_loop.is_some(), scheduler == "cosmos", "{what}");
    assert_eq!(
        stats.scheduler.iter().any(|(name, _)| name.starts_with("fil_")),
        scheduler == "fil",
        "{what}"
    );
    assert_eq!(stats.ecc.is_some(), profile.ecc.correction == CorrectionName::OnDemand, "{what}");
    // The rows that the cache lacks are read from flash.
    match (mapping, plain.map_reads) {
        ("resident", None) => {}
        ("demand-paged", Some(read)) => assert!(read > 10, "{what}: {read} pages of the map"),
        (_, read) => panic!("{what}: {read:?} pages of the map"),
    }
    for stats in &mut stackful.stats {
        let stacks = stats.stacks.take().expect("tasks have stacks");
        assert!(stacks.switches > 1_000, "{what}: {stacks:?}");
    }
    let [one, other] =
        [&plain, &stackful].map(|life| (life.events, life.digest, format!("{:?}", life.stats)));
    assert_eq!(one, other, "{what}");
    plain.stats
}
