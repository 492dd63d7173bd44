//! NVMe in software (S1, S8, S13, S18) on a whole drive: it does what NVMe in hardware does, and its steps
//! cost the core's time.

use aster_device::Media;
use aster_device::plug::{BarRead, ReadTag};
use aster_device::profile::{NVME_SOFTWARE, Profile};
use aster_events::{Event, Function as Task, Recorder};
use aster_tests::front_ends::{by_operations, in_hardware, registers_for_free};
use aster_tests::fuzz::Function;
use aster_tests::mixed::mixed;
use aster_tests::{cases, drive, events_of, job, machine, profile, run, run_with, versioned};
use aster_units::{Duration, Instant};
use aster_wire::nvme::registers::Register;
use aster_workload::runner::{Contents, Statistics};
use aster_workload::{Access, Job, Mix, RequestKind};

fn software(change: impl FnOnce(&mut Profile)) -> Profile {
    let profile = profile("softssd-small", change);
    assert_eq!(profile.host.front_end, NVME_SOFTWARE);
    profile
}

#[test]
fn it_keeps_every_byte_over_losses_of_power() {
    let profile = software(|_| {});
    let (mut media, mut kept) = (Media::fresh(), None);
    for round in 0..cases(6, 60) {
        let m = machine(&profile, None, media, &Recorder::default());
        let contents = kept.take().unwrap_or_else(|| versioned(&m));
        let read =
            job("read back", Access::Sequential, Mix::Read, 64 << 10, drive(&m).bytes.div_ceil(64 << 10));
        let trim = Job { seed: round, ..job("trim", Access::Random, Mix::Trim, 32 << 10, 20) };
        // The last command is a flush.
        let flush = Job { flush_every: 1, ..job("flush", Access::Random, Mix::Write, 4096, 1) };
        kept = Some(run(&m, &[read, mixed(500, round), trim, flush], contents));
        media = m.cut_power();
    }
}

#[test]
fn two_runs_agree_in_every_event() {
    let profile = software(|_| {});
    let (first, second) = (events_of(&profile, &mixed(400, 1)), events_of(&profile, &mixed(400, 1)));
    assert!(first.len() > 10_000, "{} events", first.len());
    assert!(first == second);
    let worked = |(_, event): &(_, Event)| match event {
        Event::FirmwareWorked { core, function, .. } if *function == Task::NvmeSoftware.number() => {
            Some(*core)
        }
        _ => None,
    };
    let cores: Vec<u8> = first.iter().filter_map(worked).collect();
    assert!(cores.len() > 1_000 && cores.iter().all(|core| *core == 0), "it is on the first core (S15)");
}

/// The statistics of one job over the whole drive.
fn statistics(profile: &Profile, job: Job) -> (Statistics, Instant) {
    let m = machine(profile, None, Media::fresh(), &Recorder::default());
    let (all, _) = run_with(&m, &[job], Contents::versioned(drive(&m), 1), ());
    assert!(all[0].first_failure.is_none(), "{:?}", all[0].first_failure);
    (all[0].clone(), m.now())
}

/// With costs of 0 and one worker, every command gets the answer that it gets from NVMe in hardware, and
/// what it read is checked; only times differ.
#[test]
fn it_answers_as_nvme_in_hardware_does() {
    let one = software(|p| {
        let c = &mut p.costs;
        (c.nvme_fetch, c.nvme_parse, c.nvme_transfer, c.nvme_complete, c.nvme_interrupt) = (0, 0, 0, 0, 0);
        (c.tlp_build, c.tlp_receive, c.tlp_copy_kib, c.tlp_describe, c.tlp_notice) = (0, 0, 0, 0, 0);
        c.nvme_register = 0;
        p.host.workers_per_queue = Some(1);
    });
    let hardware = profile("softssd-small", in_hardware);
    let (ours, theirs) = (statistics(&one, mixed(600, 7)).0, statistics(&hardware, mixed(600, 7)).0);
    for kind in Statistics::KINDS {
        let (a, b) = (ours.of(kind), theirs.of(kind));
        assert_eq!((a.requests, a.bytes), (b.requests, b.bytes), "{kind:?}");
    }
    assert_eq!(ours.failures, theirs.failures);
}

/// The latency of a read of a page that was never written, alone in the drive.
fn latency(change: impl FnOnce(&mut Profile)) -> Duration {
    let read = Job { queue_depth: 1, ..job("read", Access::Sequential, Mix::Read, 4096, 1) };
    statistics(&software(change), read).0.of(RequestKind::Read).latency_max
}

/// A read of 4 KiB has each step once. 1,200 cycles of a core of 1,200 MHz are a microsecond.
#[test]
fn each_step_takes_its_cycles() {
    type Cost = (&'static str, fn(&mut Profile));
    let steps: [Cost; 6] = [
        ("fetch", |p| p.costs.nvme_fetch += 1_200),
        ("parse", |p| p.costs.nvme_parse += 1_200),
        ("transfer", |p| p.costs.nvme_transfer += 1_200),
        ("complete", |p| p.costs.nvme_complete += 1_200),
        ("interrupt", |p| p.costs.nvme_interrupt += 1_200),
        // The doorbell.
        ("register", |p| p.costs.nvme_register += 1_200),
    ];
    assert_eq!(software(|_| {}).cores.frequency_mhz, 1_200.0);
    let plain = latency(|_| {});
    for (step, change) in steps {
        assert_eq!(latency(change), plain + Duration::from_micros(1), "{step}");
    }
}

/// S13 and S18: a command is one worker's, so one worker per queue carries one command at a time, and eight
/// carry eight.
#[test]
fn more_workers_have_more_commands_in_work() {
    let took = |workers| {
        let profile = software(|p| p.host.workers_per_queue = Some(workers));
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let page = 16 << 10;
        let fill = job("fill", Access::Sequential, Mix::Write, page, 600);
        let read = Job { queue_depth: 16, ..job("read", Access::Random, Mix::Read, page, 300) };
        let contents = run(&m, &[Job { flush_every: 600, ..fill }], versioned(&m));
        let began = m.now();
        run(&m, &[read], contents);
        m.now().since(began)
    };
    let (one, eight) = (took(1), took(8));
    assert!(one > eight + eight, "{one} with one worker, {eight} with eight");
}

// ---- NVMe in hardware, whose commands wait in a FIFO ----

/// SoftSSD in small with NVMe in hardware, on a board whose registers take time.
fn hardware(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("softssd-small", |p| {
        in_hardware(p);
        let b = &mut p.board.buses;
        (b.processor_mhz, b.central_mhz, b.control_mhz, b.register_cycles) = (300.0, 200.0, 200.0, 4.0);
        change(p);
    })
}

/// S35: alone in the drive, a command takes a read of a register and a write longer.
#[test]
fn commands_from_a_fifo_take_two_register_accesses_longer() {
    for (mix, kind) in [(Mix::Read, RequestKind::Read), (Mix::Write, RequestKind::Write)] {
        let one = |fifo: bool, mhz: f64| {
            let profile = hardware(|p| {
                p.host.command_fifo = fifo;
                (p.board.buses.central_mhz, p.board.buses.control_mhz) = (mhz, mhz);
            });
            let job = Job { queue_depth: 1, ..job("one", Access::Sequential, mix, 16 << 10, 1) };
            let (statistics, _) = statistics(&profile, job);
            statistics.of(kind).latency_max
        };
        // There and back, 4 cycles on each of three buses.
        let plain = one(false, 200.0);
        let access = |mhz: f64| {
            let crossing = |mhz: f64| Duration::from_nanos_f64(4e3 / mhz);
            (crossing(300.0) + crossing(mhz) * 2) * 2
        };
        for mhz in [200.0, 50.0] {
            assert_eq!(one(true, mhz), plain + access(mhz) * 2, "{kind:?} at {mhz} MHz");
        }
    }
}

/// Many commands at once move the same data, which is checked.
#[test]
fn commands_from_a_fifo_do_what_they_do_without() {
    let (with, without) = (hardware(|p| p.host.command_fifo = true), hardware(|_| {}));
    let ((ours, slow), (theirs, fast)) =
        (statistics(&with, mixed(600, 9)), statistics(&without, mixed(600, 9)));
    for kind in Statistics::KINDS {
        let (a, b) = (ours.of(kind), theirs.of(kind));
        assert_eq!((a.requests, a.bytes), (b.requests, b.bytes), "{kind:?}");
    }
    assert_eq!((ours.failures, theirs.failures), (0, 0));
    assert_ne!(slow, fast, "accesses take time");
}

#[test]
fn the_fifo_is_refused_where_nobody_reads_it() {
    let refused = |change: fn(&mut Profile)| {
        let mut profile = hardware(|p| p.host.command_fifo = true);
        change(&mut profile);
        let error = Profile::parse("mine.toml", &profile.to_toml().unwrap()).unwrap_err();
        assert_eq!(error.key.as_deref(), Some("host.command_fifo"), "{error}");
        error.reason
    };
    let software = refused(|p| p.host.front_end = "nvme-software".to_owned());
    assert_eq!(software, "must go with host.front_end = \"nvme\", which alone has it");
    assert!(refused(|p| p.board.buses.register_cycles = 0.0).contains("board.buses.register_cycles"));
}

// ---- registers that firmware answers, by calls; tests/register_packets.rs has packets ----

/// Cycles of a register access; the core has 1,200 in a microsecond.
const ACCESS: u64 = 2_400;

/// SoftSSD in small whose firmware spends time on each access to a register, which is a call.
fn with_registers() -> Profile {
    software(|p| {
        registers_for_free(p);
        p.costs.nvme_register = ACCESS;
    })
}

/// A drive without a host, whose firmware has nothing to do.
fn idle(profile: Profile) -> Function {
    let mut function = Function::of(profile);
    function.run_for(Duration::from_millis(20));
    function
}

/// Begins a read of a register.
fn begin(function: &Function, register: Register) -> ReadTag {
    match function.device.begin_bar_read(0, register.offset() as u32, register.bytes() as u8) {
        BarRead::Later(tag) => tag,
        BarRead::Now(value) => panic!("{register:?} was answered at once: {value:#x}"),
    }
}

/// S3, S8: a read of a register is answered by a task, when it has spent the cycles.
#[test]
fn a_register_read_takes_the_cores_time() {
    let mut function = idle(with_registers());
    let expected = idle(software(registers_for_free)).register(Register::Capabilities);
    let tags = [begin(&function, Register::Capabilities), begin(&function, Register::Capabilities)];
    for tag in tags {
        function.run_for(Duration::from_micros(2) - Duration::from_picos(1));
        assert_eq!(function.device.take_bar_read(tag), None, "they are served one after the other");
        function.run_for(Duration::from_picos(1));
        assert_eq!(function.device.take_bar_read(tag), Some(expected));
        assert_eq!(function.device.take_bar_read(tag), Some(u64::MAX), "it has been answered");
    }
}

/// PCIe 4.0 §2.4.1: a read doesn't pass the writes before it, and what is read has not seen those behind it.
#[test]
fn a_register_read_stands_between_the_writes_around_it() {
    let mut function = idle(with_registers());
    let mask = |function: &Function, value| function.set_register(Register::InterruptMaskSet, value);
    mask(&function, 1);
    let read = begin(&function, Register::InterruptMaskSet);
    mask(&function, 2);
    let last = function.register(Register::InterruptMaskSet);
    assert_eq!((function.device.take_bar_read(read), last), (Some(1), 3));
}

/// A function-level reset ends what has arrived: reads with all ones, and writes without effect.
#[test]
fn a_reset_ends_the_register_accesses_that_have_arrived() {
    let mut function = idle(with_registers());
    function.set_register(Register::InterruptMaskSet, 1);
    let read = begin(&function, Register::Capabilities);
    function.run_for(Duration::from_micros(1));
    function.reset_function();
    assert_eq!(function.device.take_bar_read(read), Some(u64::MAX));
    function.enable_function();
    assert_eq!(function.register(Register::InterruptMaskSet), 0);
    function.must_work_after_a_reset();
}

/// A host that never takes its answers doesn't use the drive's memory up, and others are still answered.
#[test]
fn a_drive_holds_the_answers_of_32_register_reads() {
    let mut function = idle(with_registers());
    let first = begin(&function, Register::Version);
    for _ in 1..32 {
        begin(&function, Register::Version);
    }
    let one_more = function.device.begin_bar_read(0, Register::Version.offset() as u32, 4);
    assert_eq!(one_more, BarRead::Now(u64::MAX), "nobody has answered one of the 32");
    function.run_for(Duration::from_micros(100));
    let version = function.register(Register::Version);
    assert_eq!(version, 0x0001_0400);
    assert_eq!(function.device.take_bar_read(first), Some(u64::MAX), "the oldest answer made room");
}

/// The host's driver waits for its reads, whatever the transport and also from a target.
#[test]
fn a_host_boots_and_keeps_its_data_over_registers_in_firmware() {
    let under_target = |p: &mut Profile| {
        registers_for_free(p);
        p.target.get_or_insert_default().kind = "block".to_owned();
    };
    let changes: [&dyn Fn(&mut Profile); 3] = [&registers_for_free, &by_operations, &under_target];
    for (case, change) in changes.into_iter().enumerate() {
        let profile = software(|p| {
            change(p);
            p.costs.nvme_register = ACCESS;
        });
        let (statistics, _) = statistics(&profile, mixed(300, 3));
        assert_eq!(statistics.failures, 0, "case {case}");
        assert!(statistics.of(RequestKind::Read).requests > 50, "case {case}");
    }
}
