//! Whole drives that lose their power: flushed data survives, and the drive continues to work.

use aster_device::profile::{COSMOS, CellUse, ControllerName, OneShotProfile, Profile};
use aster_device::{DriveStats, Media};
use aster_events::Recorder;
use aster_tests::fuzz::Function;
use aster_tests::{cases, drive, job, machine, profile, run, small, versioned};
use aster_units::Content;
use aster_wire::nvme::admin::{AdminCommand, Identify, IdentifyDword10};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_workload::runner::Contents;
use aster_workload::{Access, Job, Mix};

/// Writes, trims, flushes, loses its power and recovers. Returns what the drive did until it serves again.
fn lost_and_back(profile: &Profile, content: Option<Content>, rounds: u64) -> Vec<DriveStats> {
    let (mut media, mut kept, mut stats) = (Media::fresh(), None, Vec::new());
    for round in 0..rounds {
        let m = machine(profile, content, media, &Recorder::default());
        if round > 0 {
            stats.push(m.device().stats());
        }
        let contents = kept.take().unwrap_or_else(|| versioned(&m));
        let work = |name, mix, block, requests| Job {
            seed: round,
            ..job(name, Access::Random, mix, block, requests)
        };
        let read =
            job("read back", Access::Sequential, Mix::Read, 64 << 10, drive(&m).bytes.div_ceil(64 << 10));
        let write = work("write", Mix::Write, 16 << 10, 300);
        let trim = work("trim", Mix::Trim, 32 << 10, 20);
        // The last command is a flush: everything before it must be there.
        let flush = Job { flush_every: 1, ..work("flush", Mix::Write, 4 << 10, 1) };
        kept = Some(run(&m, &[read, write, trim, flush], contents));
        media = m.cut_power();
    }
    stats
}

#[test]
fn what_was_flushed_is_there_after_each_loss_of_power() {
    for (name, pair_loss, content) in [
        ("tiny", false, Content::Full),
        ("tiny", true, Content::Full),
        ("tiny", true, Content::Fingerprint),
        ("softssd-small", true, Content::Full),
        ("softssd-small", true, Content::Fingerprint),
    ] {
        let profile = profile(name, |p| {
            p.package.pair_loss = pair_loss;
            p.host.block_bytes = 4096;
        });
        for stats in lost_and_back(&profile, Some(content), cases(4, 40)) {
            assert_eq!(format!("{:?} {:?}", stats.ftl.boot, stats.ftl.state), "Recovered Ready");
        }
    }
}

/// C83: a program that is cut off destroys its whole word line, of which no page was reported as written.
#[test]
fn word_lines_in_one_shot_lose_nothing_that_was_flushed() {
    let profile = profile("tiny", |p| {
        p.geometry.luns = 1;
        p.geometry.pages_per_block = 18;
        p.geometry.blocks_per_lun = 48;
        p.package.cells = CellUse::Tlc;
        p.package.read_us = vec![58.0, 78.0, 102.0];
        p.package.program_us = vec![481.0, 1_500.0, 2_295.0];
        p.package.one_shot =
            Some(OneShotProfile { prefixes: [1, 2, 3], load_confirm: 0x1A, program_us: 1_600.0 });
        p.channel.controller = ControllerName::Asynchronous;
        p.scheduler.policy = COSMOS.to_owned();
        p.scheduler.one_shot = true;
        p.ftl.gc_depth = 3;
        p.ftl.over_provisioning_percent = 45.0;
    });
    for stats in lost_and_back(&profile, None, cases(6, 60)) {
        assert_eq!(format!("{:?} {:?}", stats.ftl.boot, stats.ftl.state), "Recovered Ready");
    }
}

#[test]
fn nvram_with_a_capacitor_behind_it_spares_recovery_the_search_for_the_log() {
    let reads = |nvram_kept| {
        let drives = small(|p| (p.board.nvram_kept, p.geometry.blocks_per_lun) = (nvram_kept, 32));
        drives.map(|(name, profile)| {
            let lives = lost_and_back(&profile, None, 3);
            (name, lives.iter().map(|stats| stats.ftl.boot_reads).collect::<Vec<_>>())
        })
    };
    for ((name, without), (_, with)) in reads(false).iter().zip(&reads(true)) {
        let is_spared = with.iter().zip(without).all(|(with, without)| with < without);
        assert!(is_spared, "{name}: {with:?} {without:?}");
    }
}

#[test]
fn replaying_the_log_takes_the_time_that_its_entries_cost() {
    let took = |replay| {
        let drives = small(|p| (p.costs.replay, p.geometry.blocks_per_lun) = (replay, 32));
        drives.map(|(name, profile)| (name, lost_and_back(&profile, None, 2)[0].ftl.boot_nanos))
    };
    for ((name, with), (_, without)) in took(10_000).iter().zip(&took(0)) {
        assert!(*with > without + 100_000, "{name}: {with} {without}");
    }
}

/// The longest recovery is one just before the second map would be stored: every page of the first has to
/// be read, and the log is as long as it gets. The content of the map's pages doesn't matter, so the drive
/// need not be full.
#[test]
fn a_terabyte_of_cosmos_plus_comes_back_within_two_seconds() {
    let profile = profile("cosmos-plus", |p| p.restrict.blocks_per_lun = Some(cases(64, 4096) as u32));
    let m = machine(&profile, Some(Content::Fingerprint), Media::fresh(), &Recorder::default());
    let (page, bytes) = (u64::from(profile.geometry.page_bytes), drive(&m).bytes);
    let pages_of_map = (bytes / page * 4).div_ceil(page);
    // Its default: 256 pages of data for each page of the stored map.
    let between = 256 * pages_of_map;
    let write = |count| {
        let job = Job {
            verify: false,
            queue_depth: 64,
            ..job("write", Access::Random, Mix::Write, 16 << 10, count)
        };
        run(&m, &[job], Contents::unversioned(drive(&m), 1));
    };
    write(between * 102 / 100);
    let stored = m.device().stats().ftl.checkpoints;
    write(between * 94 / 100);
    let before = m.device().stats().ftl;
    assert!(before.checkpoints <= stored + 1, "{before:?}");
    let m = machine(&profile, Some(Content::Fingerprint), m.cut_power(), &Recorder::default());
    let ftl = m.device().stats().ftl;
    let seconds = ftl.boot_nanos as f64 / 1e9;
    eprintln!(
        "{:.2} TB came back in {seconds:.3} s, simulated, with {} page reads",
        bytes as f64 / 1e12,
        ftl.boot_reads
    );
    assert_eq!(format!("{:?} {:?}", ftl.boot, ftl.state), "Recovered Ready");
    assert!(ftl.boot_reads > pages_of_map, "every page of the map was read");
    assert!(seconds <= 2.0, "{seconds} s");
}

/// CSTS.RDY means that the controller processes commands (NVMe 1.4 §3.1.6), not that the media can be
/// read.
#[test]
fn a_host_that_comes_while_the_drive_recovers_is_heard_at_once_and_its_data_follows() {
    let mut function = Function::new();
    function.enable();
    function.create_pair(1);
    let (at, blocks) = (Function::data(), 8);
    for nth in 0..40 {
        function.memory.at(at, 4096).fill(nth + 1);
        let write = IoCommand::Write(BlockRange::new(u64::from(nth) * 64, blocks));
        assert!(function.send(1, write.to_sqe(1, 0, at, 0)).status().is_success());
    }
    assert!(function.send(1, IoCommand::Flush.to_sqe(1, 0, 0, 0)).status().is_success());
    let mut function = function.lose_power();
    function.enable();
    function.create_pair(1);
    let identify = Identify { control: IdentifyDword10(0).with_cns(1), nvm_set: 0, command_set: 0 };
    function.admin(AdminCommand::Identify(identify).to_sqe(0, 0, at, 0));
    assert!(function.device.is_booting(), "recovery was over before anybody could ask");
    for nth in [0, 39] {
        function.memory.at(at, 4096).fill(0xEE);
        let read = IoCommand::Read(BlockRange::new(u64::from(nth) * 64, blocks));
        assert!(function.send(1, read.to_sqe(1, 0, at, 0)).status().is_success());
        assert!(function.memory.at(at, 4096).iter().all(|&byte| byte == nth + 1));
    }
    assert!(function.device.recovery().is_some_and(|text| text.contains("recovered")));
}
