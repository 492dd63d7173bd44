//! The host's accesses to registers as packets that firmware serves (S3): a whole drive does what it does
//! where they come as calls.

use aster_device::Media;
use aster_device::plug::{BarRead, POSTED_WRITES, ReadTag};
use aster_device::profile::{Profile, TransportName};
use aster_events::Recorder;
use aster_ports::tlp::{RequestStats, TlpStats};
use aster_tests::front_ends::registers_for_free;
use aster_tests::fuzz::Function;
use aster_tests::mixed::{keeps_every_byte_over_losses_of_power, mixed};
use aster_tests::{drive, events_of, job, machine, profile, run_with};
use aster_units::{Duration, Instant};
use aster_wire::nvme::admin::{AdminCommand, Identify, IdentifyDword10};
use aster_wire::nvme::registers::Register;
use aster_workload::runner::{Contents, Statistics};
use aster_workload::{Access, Extent, Job, Mix, RequestKind};

/// SoftSSD in small, whose host reaches registers by packets.
fn packets(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("softssd-small", |p| {
        assert!(p.host.transport == TransportName::Tlp && p.host.register_packets);
        change(p);
    })
}

#[test]
fn every_byte_is_kept_over_losses_of_power() {
    for cycles in [0, 2_000] {
        let profile = packets(|p| p.costs.nvme_register = cycles);
        keeps_every_byte_over_losses_of_power(&profile);
    }
}

#[test]
fn two_runs_agree_in_every_event() {
    let profile = packets(|p| p.costs.nvme_register = 700);
    let (first, second) = (events_of(&profile, &mixed(200, 1)), events_of(&profile, &mixed(200, 1)));
    assert!(first.len() > 100_000, "{} events", first.len());
    assert!(first == second);
}

/// The statistics of a job, and the packets since power-on.
fn outcome(profile: &Profile, job: Job) -> (Statistics, TlpStats, Duration) {
    let m = machine(profile, None, Media::fresh(), &Recorder::default());
    let began = m.now();
    let (all, _) = run_with(&m, &[job], Contents::versioned(drive(&m), 1), ());
    assert!(all[0].first_failure.is_none(), "{:?}", all[0].first_failure);
    (all[0].clone(), m.device().stats().packets.expect("it sends packets"), m.now().since(began))
}

/// The same data by the same commands; each doorbell is a packet that firmware looks at, at the cost of one.
#[test]
fn it_does_what_it_does_where_accesses_are_calls() {
    let calls = outcome(&profile("softssd-small", registers_for_free), mixed(500, 7));
    assert_eq!(calls.1.requests, None);
    let ours = outcome(&packets(|_| {}), mixed(500, 7));
    for kind in Statistics::KINDS {
        let (a, b) = (ours.0.of(kind), calls.0.of(kind));
        assert_eq!((a.requests, a.bytes), (b.requests, b.bytes), "{kind:?}");
    }
    assert_eq!((ours.0.failures, ours.1.failed), (0, 0));
    let requests = ours.1.requests.expect("firmware serves them");
    let doorbells = requests.handled - requests.answered;
    assert!(doorbells > 1_000 && requests.answered > 2, "{requests:?}");
    assert_eq!((requests.refused, requests.poisoned), (0, 0));
    // Writes that stay in the data buffer: the first core is all that limits them.
    let hot = || {
        let size = Some(Extent::Bytes(256 << 10));
        Job { size, queue_depth: 64, ..job("hot", Access::Random, Mix::Write, 4096, 500) }
    };
    let plain = outcome(&packets(|_| {}), hot()).2;
    let slower = outcome(&packets(|p| p.costs.tlp_receive += 3_000), hot()).2;
    assert!(slower > plain, "{slower} at a higher cost, {plain} without");
}

/// The host's driver waits for its reads also where the host is a target.
#[test]
fn a_host_with_a_target_reaches_registers_by_packets() {
    let profile = packets(|p| p.target.get_or_insert_default().kind = "block".to_owned());
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    let (all, _) = run_with(&m, &[mixed(300, 3)], Contents::versioned(drive(&m), 1), ());
    assert_eq!(all[0].failures, 0);
    assert!(all[0].of(RequestKind::Read).requests > 50);
    let packets =
        m.device().stats().packets.and_then(|packets| packets.requests).expect("of the drive below");
    assert!(packets.handled > 500, "{packets:?}");
}

// ---- a host that plays with registers ----

/// A drive without a driver, whose firmware has nothing to do.
fn idle(profile: Profile) -> Function {
    let mut function = Function::of(profile);
    function.run_for(Duration::from_millis(20));
    function
}
fn begin(function: &Function, offset: u32, size: u8) -> ReadTag {
    match function.device.begin_bar_read(0, offset, size) {
        BarRead::Later(tag) => tag,
        BarRead::Now(value) => panic!("{offset:#x} was answered at once: {value:#x}"),
    }
}
fn requests(function: &Function) -> RequestStats {
    function.device.stats().packets.and_then(|packets| packets.requests).expect("firmware serves them")
}
/// The host's time until an answer, and the answer.
fn timed(function: &mut Function, tag: ReadTag) -> (Duration, u64) {
    let began = function.device.now();
    loop {
        if let Some(value) = function.device.take_bar_read(tag) {
            return (function.device.now().since(began), value);
        }
        assert!(function.step(Instant::MAX), "it waits for ever");
    }
}

/// Two ways of the wire, both packets on it, and the core's cycles.
#[test]
fn a_read_takes_both_ways_and_the_cores_time() {
    let of = |change: fn(&mut Profile)| {
        let mut function = idle(packets(change));
        let tag = begin(&function, Register::Version.offset() as u32, 4);
        timed(&mut function, tag)
    };
    let (plain, slow) = (of(|_| {}), of(|p| p.costs.nvme_register += 1_200));
    assert_eq!((plain.1, slow.1), (0x0001_0400, 0x0001_0400));
    let mhz = profile("softssd-small", |_| {}).cores.frequency_mhz;
    assert_eq!((slow.0 - plain.0).as_picos(), (1_200.0 * 1e6 / mhz) as u64);
    let latency = u64::from(profile("softssd-small", |_| {}).link.latency_ns);
    assert!(plain.0 > Duration::from_nanos(2 * latency), "{}", plain.0);
}

/// PCIe 4.0 §2.4.1: a read doesn't pass the writes before it, and what is read has not seen those behind it.
#[test]
fn a_read_stands_between_the_writes_around_it() {
    let mut function = idle(packets(|_| {}));
    let mask = |function: &Function, value| function.set_register(Register::InterruptMaskSet, value);
    mask(&function, 1);
    let first = begin(&function, Register::InterruptMaskSet.offset() as u32, 4);
    mask(&function, 2);
    let second = begin(&function, Register::InterruptMaskSet.offset() as u32, 4);
    assert_eq!((timed(&mut function, second).1, timed(&mut function, first).1), (3, 1));
}

/// What no BAR has is unsupported, an access over two registers is not one of NVMe's, and a table of MSI-X is
/// the board's.
#[test]
fn firmware_hears_of_its_own_registers_alone() {
    let mut function = idle(packets(|_| {}));
    let before = requests(&function);
    let mut read = |offset, size| {
        let tag = begin(&function, offset, size);
        timed(&mut function, tag).1
    };
    let beyond = read(0x4000, 4);
    let table = read(0x2000, 8);
    let across = read(0x0a, 4);
    assert_eq!((beyond, table, across), (u64::MAX, 0, u64::MAX));
    function.device.bar_write(0, 0x4000, 4, 1);
    function.device.bar_write(0, 0x2000, 8, 0xfee0_0000);
    function.run_for(Duration::from_micros(10));
    assert_eq!(function.device.bar_read(0, 0x2000, 8), 0xfee0_0000);
    let now = requests(&function);
    assert_eq!((now.handled - before.handled, now.refused - before.refused), (1, 1));
    function.must_work_after_a_reset();
}

/// PCIe 4.0 §2.8: firmware that needs longer than 10 ms for an answer has given none.
#[test]
fn a_host_gives_a_read_up_after_ten_milliseconds() {
    // 15 ms at 1.2 GHz.
    let slow = packets(|p| (p.costs.tlp_receive, p.costs.nvme_register) = (9_000_000, 9_000_000));
    let mut function = idle(slow);
    let began = function.device.now();
    let tag = begin(&function, Register::Version.offset() as u32, 4);
    assert_eq!(timed(&mut function, tag).1, u64::MAX);
    assert_eq!(function.device.now().since(began), Duration::from_millis(10));
    function.run_for(Duration::from_millis(10));
    assert_eq!(requests(&function).answered, 1, "nobody waits for that any more");
}

/// Reads end, writes have no effect, and the function works for its next host.
#[test]
fn a_reset_ends_what_is_on_its_way() {
    let mut function = idle(packets(|p| p.costs.nvme_register = 2_400));
    for after in [0, 100, 1_000, 3_000] {
        let tags: Vec<_> = (0..20)
            .map(|_| {
                function.set_register(Register::InterruptMaskSet, 1);
                begin(&function, 0, 8)
            })
            .collect();
        function.run_for(Duration::from_nanos(after));
        function.reset_function();
        for tag in tags {
            let answer = function.device.take_bar_read(tag);
            assert!(answer.is_some(), "{after} ns");
        }
        function.enable_function();
        assert_eq!(function.register(Register::InterruptMaskSet), 0, "{after} ns");
    }
    function.must_work_after_a_reset();
}

/// 32 reads, whether or not they are answered. One more is like one that nobody answers.
#[test]
fn a_host_has_32_reads_outstanding() {
    let mut function = idle(packets(|_| {}));
    let first = begin(&function, 8, 4);
    (1..32).for_each(|_| _ = begin(&function, 8, 4));
    assert_eq!(function.device.begin_bar_read(0, 8, 4), BarRead::Now(u64::MAX));
    function.run_for(Duration::from_micros(200));
    assert_eq!(function.register(Register::Version), 0x0001_0400);
    assert_eq!(function.device.take_bar_read(first), Some(u64::MAX), "the oldest answer made room");
}

/// A host that rings one doorbell over and over, for commands that it gives meanwhile. With credits it
/// waits, and what is under way never grows; each command is carried out.
#[test]
fn a_host_that_rings_without_end_waits_for_credits_and_loses_no_doorbell() {
    for as_packets in [true, false] {
        let mut function = Function::of(packets(|p| {
            p.host.register_packets = as_packets;
            p.costs.nvme_register = 6_000;
        }));
        function.must_come_up_after_a_reset();
        let (mut most, mut ended) = (0, 0);
        for command in 0..150u16 {
            let identify =
                AdminCommand::Identify(Identify { control: IdentifyDword10(1), nvm_set: 0, command_set: 0 });
            function.push(0, identify.to_sqe(0, command, Function::data(), 0));
            for _ in 0..30 {
                assert!(function.ring_with_credits(0), "{command}");
                most = most.max(function.device.register_writes());
            }
            // The queue has 16 entries.
            function.run_until("room for a command", |f| {
                ended += u16::from(f.reap(0).is_some());
                command - ended <= 12
            });
        }
        function.run_until("the last one", |f| {
            ended += u16::from(f.reap(0).is_some());
            ended == 150
        });
        assert!((32..=POSTED_WRITES + 16).contains(&most), "packets {as_packets}: {most}");
    }
}

/// A host that rings as often as firmware can take a doorbell: the command is carried out beside that.
#[test]
fn accesses_without_a_pause_leave_commands_their_turns() {
    for as_packets in [true, false] {
        let mut function = Function::of(packets(|p| {
            p.host.register_packets = as_packets;
            // Longer than the host's pause, at 1.2 GHz.
            p.costs.nvme_register = 6_000;
        }));
        function.must_come_up_after_a_reset();
        let identify =
            AdminCommand::Identify(Identify { control: IdentifyDword10(1), nvm_set: 0, command_set: 0 });
        function.push(0, identify.to_sqe(0, 7, Function::data(), 0));
        let ended = (0..1_000).any(|_| {
            assert!(function.ring_with_credits(0));
            function.run_for(Duration::from_micros(4));
            function.reap(0).is_some()
        });
        assert!(ended, "packets {as_packets}: no command is carried out");
    }
}

/// More writes than there are credits: those wait for firmware, and none is lost.
#[test]
fn more_doorbells_than_credits_reach_firmware_in_order() {
    let mut function = idle(packets(|p| p.costs.nvme_register = 2_400));
    let before = requests(&function).handled;
    (0..200u64).for_each(|n| function.set_register(Register::AdminQueueAttributes, n << 16 | n));
    function.run_for(Duration::from_micros(50));
    let early = requests(&function).handled - before;
    assert!((10..40).contains(&early), "{early}");
    function.run_for(Duration::from_millis(1));
    assert_eq!(requests(&function).handled - before, 200);
    assert_eq!(function.register(Register::AdminQueueAttributes), 199 << 16 | 199);
}
