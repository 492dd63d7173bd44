//! A drive whose firmware is the transaction layer (I6, S3 to S8): it sends packets and answers for every
//! byte as one whose link carries whole operations does.

use aster_device::Media;
use aster_device::profile::{Profile, TransportName};
use aster_events::{Event, Function, Recorder};
use aster_ports::tlp::TlpStats;
use aster_tests::front_ends::by_operations;
use aster_tests::mixed::{keeps_every_byte_over_losses_of_power, mixed};
use aster_tests::{drive, events_of, job, machine, profile, run, run_with, versioned};
use aster_units::{Content, Duration};
use aster_workload::runner::{Contents, Statistics};
use aster_workload::{Access, BlockSizes, Extent, Job, Mix, PerDirection};

/// Device Control of our functions.
const DEVICE_CONTROL: u16 = 0x58;

/// Max_Payload_Size as offered, Max_Read_Request_Size 512, Extended Tag Enable (PCIe 4.0 §7.5.3.4).
#[test]
fn the_hosts_pci_layer_sets_device_control() {
    for (payload, code) in [(256, 1), (1024, 3)] {
        let drive = packets(true, |p| p.link.packet_payload = payload);
        let drive = machine(&drive, None, Media::fresh(), &Recorder::default());
        let control = drive.device().config_read(DEVICE_CONTROL, 2);
        assert_eq!((control >> 5 & 7, control >> 8 & 1, control >> 12 & 7), (code, 1, 2), "{control:#06x}");
    }
}

/// SoftSSD in small, which sends packets.
fn packets(offload: bool, change: impl FnOnce(&mut Profile)) -> Profile {
    profile("softssd-small", |p| {
        assert_eq!(p.host.transport, TransportName::Tlp);
        p.host.completion_offload = Some(offload);
        change(p);
    })
}

/// The same drive over operations of the link.
fn operations() -> Profile {
    profile("softssd-small", by_operations)
}

#[test]
fn every_byte_is_kept_over_losses_of_power() {
    for offload in [true, false] {
        let profile = packets(offload, |_| {});
        keeps_every_byte_over_losses_of_power(&profile);
    }
}

/// Of each sector only a fingerprint is kept, and the packet with its end carries it.
#[test]
fn a_drive_of_fingerprints_is_checked_as_well() {
    for offload in [true, false] {
        let profile = packets(offload, |p| p.host.block_bytes = 4096);
        let m = machine(&profile, Some(Content::Fingerprint), Media::fresh(), &Recorder::default());
        let sizes = BlockSizes::Range { min: 4096, max: 200 << 10 };
        let job = Job { block_sizes: PerDirection::all(sizes), ..mixed(600, 3) };
        run(&m, &[job], versioned(&m));
        let stats = m.device().stats().packets.expect("it sends packets");
        assert!(stats.sent > 100_000, "{stats:?}");
    }
}

#[test]
fn two_runs_agree_in_every_event() {
    for offload in [true, false] {
        let profile = packets(offload, |_| {});
        let (first, second) = (events_of(&profile, &mixed(200, 1)), events_of(&profile, &mixed(200, 1)));
        assert!(first.len() > 100_000, "{} events", first.len());
        assert!(first == second);
        let layer = Function::TransactionLayer.number();
        let on_first_core = first.iter().any(|(_, event)| {
            matches!(event, Event::FirmwareWorked { core: 0, function, .. } if *function == layer)
        });
        assert!(on_first_core, "it is on the first core (S15)");
    }
}

/// The statistics of a job, and the packets since power-on.
fn outcome(profile: &Profile, job: Job) -> (Statistics, Option<TlpStats>, Duration) {
    let m = machine(profile, None, Media::fresh(), &Recorder::default());
    let began = m.now();
    let (all, _) = run_with(&m, &[job], Contents::versioned(drive(&m), 1), ());
    assert!(all[0].first_failure.is_none(), "{:?}", all[0].first_failure);
    (all[0].clone(), m.device().stats().packets, m.now().since(began))
}

/// S8: what NVMe does doesn't depend on the transport; only times differ.
#[test]
fn it_answers_as_a_link_of_operations_does() {
    let link = outcome(&operations(), mixed(500, 7));
    assert_eq!(link.1, None);
    for offload in [true, false] {
        let ours = outcome(&packets(offload, |_| {}), mixed(500, 7));
        for kind in Statistics::KINDS {
            let (a, b) = (ours.0.of(kind), link.0.of(kind));
            assert_eq!((a.requests, a.bytes), (b.requests, b.bytes), "{kind:?}");
        }
        assert_eq!(ours.0.failures, 0);
    }
}

/// Writes of 4 KiB that stay in the data buffer, each read again: the first core is all that limits them.
fn hot_writes(requests: u64) -> Job {
    let size = Some(Extent::Bytes(256 << 10));
    Job { size, queue_depth: 64, ..job("hot", Access::Random, Mix::Write, 4096, requests) }
}

/// Packets that came, of these what firmware had in hand, copies, bytes copied and moved.
type Counts = (u64, u64, u64, u64, u64);

/// S6 and S7, Fig 3: with the offload, firmware has fewer packets in hand and copies nothing, and a job that
/// the core limits is faster. A write of 4 KiB takes nine reads of at most 512 bytes, one of them for its
/// entry, which are answered by 17 completions of at most 256. The read that checks it has an entry, too.
#[test]
fn the_completion_offload_saves_packets_copies_and_time() {
    const WRITES: u64 = 2_000;
    let of = |offload| -> (Counts, Duration) {
        let profile = packets(offload, |_| {});
        let before = outcome(&profile, hot_writes(1)).1.unwrap_or_default();
        let (_, stats, took) = outcome(&profile, hot_writes(1 + WRITES));
        let stats = stats.unwrap_or_default();
        let since = |of: fn(&TlpStats) -> u64| of(&stats) - of(&before);
        let doorbells = since(|s| s.requests.map_or(0, |requests| requests.handled));
        assert!(doorbells >= 2 * WRITES, "each command has one before it and one behind it: {doorbells}");
        let handled = since(TlpStats::touched) - since(|s| s.sent) - doorbells;
        let bytes = (since(|s| s.copied_bytes), since(|s| s.moved_bytes));
        ((since(|s| s.received), handled, since(|s| s.copies), bytes.0, bytes.1), took)
    };
    let (with, without) = (of(true), of(false));
    let (packets, bytes) = (WRITES * 18, WRITES * (4096 + 64 + 64));
    assert_eq!(with.0, (packets, 0, 0, 0, bytes));
    assert_eq!(without.0, (packets, packets, packets, bytes, 0));
    assert!(with.1 < without.1, "{} with the offload, {} without", with.1, without.1);
}
