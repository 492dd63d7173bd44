//! What NVMe 1.4 makes mandatory for an I/O controller, entry by entry: commands (§5, §6), identify
//! structures (§5.15), features (§5.21), log pages (§5.14), registers (§3.1).

use super::bench::{Bench, DATA, NAMESPACE_BYTES, config};
use crate::{BlockSize, HostIfConfig};
use alloc::vec::Vec;
use aster_parties::PreferredWrites;
use aster_wire::nvme::admin::{
    AbortDword10, AdminCommand, GetFeatures, GetFeaturesDword10, GetLogPage, Identify, IdentifyDword10,
    SetFeatures, SetFeaturesDword10,
};
use aster_wire::nvme::features::{FeatureId, FeatureSelect};
use aster_wire::nvme::identify::{
    Cns, IdentifyController, IdentifyNamespace, NamespaceDescriptor, NamespaceDescriptors, NamespaceList,
    ascii_text,
};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::log::{
    CommandsSupportedLog, ErrorEntry, FirmwareSlotLog, HealthLog, LogId, STATISTICS_BYTES,
};
use aster_wire::nvme::registers::{Cap, DoorbellKind, Register};
use aster_wire::nvme::{AdminOpcode, Cqe, IoOpcode, NSID_ALL, Sqe, Status, VERSION_1_4};
use zerocopy::FromBytes;

pub fn identify(cns: u8, nsid: u32) -> Sqe {
    let control = IdentifyDword10(0).with_cns(cns);
    AdminCommand::Identify(Identify { control, nvm_set: 0, command_set: 0 }).to_sqe(nsid, 0, DATA, 0)
}
pub fn log_page(log: u8, bytes: u64) -> Sqe {
    AdminCommand::GetLogPage(GetLogPage::new(log, bytes / 4)).to_sqe(NSID_ALL, 0, DATA, 0)
}
pub fn get_feature(feature: FeatureId, select: FeatureSelect, nsid: u32, dword11: u32) -> Sqe {
    let control = GetFeaturesDword10(0).with_feature_id(feature.raw()).with_select(select.raw());
    AdminCommand::GetFeatures(GetFeatures { control, dword11 }).to_sqe(nsid, 0, 0, 0)
}
pub fn set_feature(feature: FeatureId, nsid: u32, dword11: u32) -> Sqe {
    let control = SetFeaturesDword10(0).with_feature_id(feature.raw());
    AdminCommand::SetFeatures(SetFeatures { control, dword11 }).to_sqe(nsid, 0, 0, 0)
}
pub fn delete(opcode: AdminOpcode, queue: u32) -> Sqe {
    Sqe::new(opcode.raw(), 0).with_dword(10, queue)
}

type Check = fn(&mut Bench) -> Cqe;

/// The admin commands that §5's table of opcodes marks mandatory for I/O controllers.
const ADMIN: &[(AdminOpcode, Check)] = &[
    (AdminOpcode::DeleteIoSq, |b| b.send(0, delete(AdminOpcode::DeleteIoSq, 1))),
    (AdminOpcode::DeleteIoCq, |b| b.send(0, delete(AdminOpcode::DeleteIoCq, 1))),
    (AdminOpcode::CreateIoCq, |b| b.send(0, Bench::create_cq(2, 16, 2))),
    (AdminOpcode::CreateIoSq, |b| b.send(0, Bench::create_sq(2, 16, 2))),
    (AdminOpcode::GetLogPage, |b| b.send(0, log_page(2, 512))),
    (AdminOpcode::Identify, |b| b.send(0, identify(1, 0))),
    (AdminOpcode::Abort, |b| {
        b.send(0, AdminCommand::Abort(AbortDword10(0).with_cid(999)).to_sqe(0, 0, 0, 0))
    }),
    (AdminOpcode::SetFeatures, |b| b.send(0, set_feature(FeatureId::Arbitration, 0, 3))),
    (AdminOpcode::GetFeatures, |b| {
        b.send(0, get_feature(FeatureId::Arbitration, FeatureSelect::Current, 0, 0))
    }),
    (AdminOpcode::AsyncEventRequest, |b| {
        let cid = b.push(0, Sqe::new(AdminOpcode::AsyncEventRequest.raw(), 0));
        b.ring(0);
        b.run();
        assert_eq!(b.completion(0, cid), None, "it waits for an event");
        b.doorbell(60, DoorbellKind::SubmissionTail, 1);
        b.run();
        b.completion(0, cid).expect("an event")
    }),
];

#[test]
fn every_mandatory_admin_command_succeeds() {
    let mut bench = Bench::ready(config());
    for (opcode, check) in ADMIN {
        let status = check(&mut bench).status();
        assert!(status.is_success(), "{opcode}: {status}");
    }
}

#[test]
fn every_mandatory_and_advertised_io_command_succeeds() {
    let mut bench = Bench::ready(config());
    bench.memory.0[DATA as usize..][..512].fill(7);
    let range = BlockRange::new(5, 1);
    for command in [
        IoCommand::Flush,
        IoCommand::Write(range),
        IoCommand::Read(range),
        IoCommand::Compare(range),
        IoCommand::WriteZeroes(range),
        IoCommand::DatasetManagement(aster_wire::nvme::io::DatasetManagement::deallocate(1)),
    ] {
        if command.opcode() == IoOpcode::DatasetManagement {
            bench.memory.0[DATA as usize..][..512].fill(0);
        }
        let status = bench.status(1, command.to_sqe(1, 0, DATA, 0));
        assert!(status.is_success(), "{}: {status}", command.opcode());
    }
}

#[test]
fn the_registers_describe_the_controller() {
    let bench = Bench::new(HostIfConfig { queue_entries: 256, weighted_round_robin: true, ..config() });
    let cap = Cap(bench.read(Register::Capabilities));
    assert_eq!((cap.queue_entries_max(), cap.cqr(), cap.css_nvm()), (256, true, true));
    assert_eq!((cap.mpsmin(), cap.mpsmax(), cap.dstrd(), cap.nssrs()), (0, 0, 0, false));
    assert!(cap.ams_weighted_round_robin() && cap.timeout_500ms() > 0);
    assert_eq!(bench.read(Register::Version), VERSION_1_4.0.into());
    assert_eq!(bench.read(Register::SubsystemReset), 0);
    // Two dwords, two words and eight bytes of CAP all agree with the whole register.
    let upper = bench.front.mmio_read(4, 4);
    assert_eq!(bench.front.mmio_read(0, 4) | upper << 32, cap.0);
    assert_eq!(bench.front.mmio_read(6, 2), cap.0 >> 48);
    assert_eq!(bench.front.mmio_read(5, 1), cap.0 >> 40 & 0xff);
    assert_eq!(bench.front.mmio_read(2, 4), 0, "not aligned");
}

/// §5.15.2.2: fields marked mandatory, and those that later revisions require to be nonzero.
#[test]
fn identify_controller_has_every_mandatory_field() {
    let mut bench = Bench::ready(HostIfConfig { arbitration_burst_log2: 3, ..config() });
    let page = bench.fetch_page(identify(Cns::Controller.raw(), 0));
    let c = IdentifyController::view(page).unwrap();
    assert_eq!((c.vid.get(), c.ssvid.get()), (0x1234, 0x5678));
    assert_eq!(
        (ascii_text(&c.sn), ascii_text(&c.mn), ascii_text(&c.fr)),
        (Some("S0"), Some("Bench"), Some("1.0"))
    );
    assert_eq!((c.rab, c.ieee, c.cmic, c.mdts, c.cntlid.get()), (3, [1, 2, 3], 0, 8, 0));
    assert_eq!((c.ver.get(), c.oaes.get(), c.ctratt.get(), c.cntrltype), (0x0001_0400, 0, 1 << 6, 1));
    assert_eq!((c.oacs.get(), c.acl, c.aerl, c.frmw, c.lpa), (0b10, 3, 3, 0b011, 0b110));
    assert_eq!((c.elpe, c.npss, c.avscc, c.apsta), (63, 0, 0, 0));
    assert_eq!((c.kas.get(), c.crdt.map(|delay| delay.get())), (1, [0; 3]));
    assert!(c.wctemp.get() > 0 && c.cctemp.get() > c.wctemp.get());
    assert_eq!(c.tnvmcap.get(), NAMESPACE_BYTES.into());
    assert_eq!((c.sqes, c.cqes, c.nn.get()), (0x66, 0x44, 1));
    assert_eq!((c.oncs.get(), c.fuses.get(), c.fna, c.vwc), (0b1_1101, 0, 0b011, 0b111));
    assert_eq!((c.awun.get(), c.awupf.get(), c.acwu.get(), c.sgls.get()), (0, 0, 0, 0));
    assert!(c.subsystem_name().unwrap().starts_with("nqn.2014.08.org.nvmexpress:12345678S0 "));
}

#[test]
fn identify_namespace_describes_formats_and_size() {
    let mut bench = Bench::ready(config());
    let page = bench.fetch_page(identify(Cns::Namespace.raw(), 1));
    let n = IdentifyNamespace::view(page).unwrap().clone();
    let blocks = NAMESPACE_BYTES / 512;
    assert_eq!((n.nsze.get(), n.ncap.get(), n.nuse.get()), (blocks, blocks, blocks));
    assert_eq!((n.nlbaf, n.mc, n.dpc, n.dps, n.nmic), (1, 0, 0, 0, 0));
    assert_eq!(n.current_format().unwrap().block_bytes(), Some(512));
    assert_eq!(n.format(1).unwrap().block_bytes(), Some(4096));
    assert_eq!((n.dlfeat, n.nvmcap.get()), (0b1001, NAMESPACE_BYTES.into()));
    let mut bench =
        Bench::ready(HostIfConfig { offers_512: false, block_size: BlockSize::Bytes4096, ..config() });
    let n = IdentifyNamespace::view(bench.fetch_page(identify(0, 1))).unwrap();
    assert_eq!((n.nlbaf, n.current_format().unwrap().block_bytes()), (0, Some(4096)));
}

/// NPWG, NPWA, NPDG, NPDA and NOWS are zero-based numbers of logical blocks (NVMe 1.4 §5.15.2.1).
#[test]
fn identify_tells_which_writes_suit_the_translation_best() {
    let writes = PreferredWrites { granularity_bytes: 4096, optimal_bytes: 16384 };
    let told = |preferred_writes, block_size| {
        let mut bench = Bench::ready(HostIfConfig { preferred_writes, block_size, ..config() });
        let n = IdentifyNamespace::view(bench.fetch_page(identify(Cns::Namespace.raw(), 1))).unwrap().clone();
        (n.nsfeat, [n.npwg, n.npwa, n.npdg, n.npda, n.nows].map(|field| field.get()))
    };
    assert_eq!(told(Some(writes), BlockSize::Bytes512), (0b1_0000, [7, 7, 7, 7, 31]));
    assert_eq!(told(Some(writes), BlockSize::Bytes4096), (0b1_0000, [0, 0, 0, 0, 3]));
    assert_eq!(told(None, BlockSize::Bytes512), (0, [0; 5]));
}

/// Linux 6.12 and SPDK 26.05, with the optional commands for which they look at Identify.
#[test]
fn what_hosts_ask_for_as_they_attach_leaves_no_entry_in_the_error_log() {
    let mut bench = Bench::new(config());
    bench.front.offer_doorbell_buffer();
    bench.enable();
    let get = |id, dword11| get_feature(id, FeatureSelect::Current, 0, dword11).with_prps(DATA, 0);
    let both_doorbells = AdminCommand::DoorbellBufferConfig.to_sqe(0, 0, DATA, DATA + 0x1000);
    for (what, sqe) in [
        ("the controller", identify(Cns::Controller.raw(), 0)),
        ("limits of the NVM command set", identify(Cns::CommandSetController.raw(), 0)),
        ("effects of commands", log_page(LogId::CommandsSupported.raw(), 4096)),
        ("events, with all warnings", set_feature(FeatureId::AsyncEventConfiguration, 0, 0x1f)),
        ("the Keep Alive Timer, for KAS", get(FeatureId::KeepAliveTimer, 0)),
        ("queues", set_feature(FeatureId::NumberOfQueues, 0, 0x03ff_03ff)),
        ("queues that there are", get(FeatureId::NumberOfQueues, 0)),
        ("doorbells", both_doorbells),
        ("namespaces", identify(Cns::ActiveNamespaces.raw(), 0)),
        ("descriptors of the namespace", identify(Cns::NamespaceDescriptors.raw(), 1)),
        ("the namespace", identify(Cns::Namespace.raw(), 1)),
        ("health", log_page(LogId::Health.raw(), 512)),
        ("a temperature that is too high", get(FeatureId::TemperatureThreshold, 0)),
        ("one that is too low", get(FeatureId::TemperatureThreshold, 1 << 20)),
        ("a host's behavior, as compliance tests do", get(FeatureId::HostBehaviorSupport, 0)),
        ("the write cache", get(FeatureId::VolatileWriteCache, 0)),
        ("arbitration", get(FeatureId::Arbitration, 0)),
        ("power", get(FeatureId::PowerManagement, 0)),
        ("firmware", log_page(LogId::FirmwareSlot.raw(), 512)),
    ] {
        let status = bench.status(0, sqe);
        assert!(status.is_success(), "{what}: {status}");
    }
    bench.create_pair(1, 64);
    let health = HealthLog::read_from_bytes(&bench.fetch_page(log_page(LogId::Health.raw(), 512))[..512]);
    assert_eq!(health.unwrap().error_log_entries.get(), 0);
}

#[test]
fn a_controller_has_no_limits_of_the_nvm_command_set() {
    let mut bench = Bench::ready(config());
    let of_set = |set: u32| identify(Cns::CommandSetController.raw(), 0).with_dword(11, set << 24);
    assert!(bench.fetch_page(of_set(0)).iter().all(|&byte| byte == 0));
    assert!(bench.status(0, of_set(2)).is(Status::INVALID_FIELD), "zoned namespaces");
}

#[test]
fn identify_lists_the_namespace_and_names_it() {
    let mut bench = Bench::ready(config());
    let list = |page: &[u8]| NamespaceList::view(page).unwrap().iter().collect::<Vec<_>>();
    assert_eq!(list(bench.fetch_page(identify(Cns::ActiveNamespaces.raw(), 0))), [1]);
    assert_eq!(list(bench.fetch_page(identify(Cns::ActiveNamespaces.raw(), 1))), []);
    let descriptors = |page: &[u8]| NamespaceDescriptors::new(page).collect::<Result<Vec<_>, _>>().unwrap();
    let mine = descriptors(bench.fetch_page(identify(Cns::NamespaceDescriptors.raw(), 1)));
    assert!(matches!(mine[..], [NamespaceDescriptor::Uuid(id)] if id[6] >> 4 == 8 && id[8] >> 6 == 2));
    let mut other = Bench::ready(HostIfConfig { serial: "S1".into(), ..config() });
    assert_ne!(descriptors(other.fetch_page(identify(3, 1))), mine);
}

/// The features that §5.21's table marks mandatory, the write cache, since the drive has one, and the Keep
/// Alive Timer. Columns:
/// name, namespace, a value other than the default, the default.
const FEATURES: &[(FeatureId, u32, u32, u32)] = &[
    (FeatureId::Arbitration, 0, 0x0302_0103, 7),
    (FeatureId::PowerManagement, 0, 1 << 5, 0),
    (FeatureId::TemperatureThreshold, 0, 350, 343),
    (FeatureId::ErrorRecovery, 1, 5, 0),
    (FeatureId::VolatileWriteCache, 0, 0, 1),
    (FeatureId::NumberOfQueues, 0, 0x0001_0002, 0x0003_0003),
    (FeatureId::InterruptCoalescing, 0, 0x0102, 0),
    (FeatureId::InterruptVectorConfiguration, 0, 0x0001_0000, 0),
    (FeatureId::WriteAtomicityNormal, 0, 1, 0),
    (FeatureId::AsyncEventConfiguration, 0, 0x0f, 0),
    (FeatureId::KeepAliveTimer, 0, 120_000, 0),
];

#[test]
fn every_mandatory_feature_is_set_read_described_and_reset() {
    let mut bench = Bench::new(config());
    bench.enable();
    for &(feature, nsid, value, default) in FEATURES {
        let get = |bench: &mut Bench, select| {
            let reply = bench.send(0, get_feature(feature, select, nsid, 0));
            assert!(reply.status().is_success(), "{feature}: {}", reply.status());
            reply.result.get()
        };
        assert_eq!(get(&mut bench, FeatureSelect::Current), default, "{feature}");
        assert_eq!(bench.status(0, set_feature(feature, nsid, value)), Status::SUCCESS, "{feature}");
        assert_eq!(get(&mut bench, FeatureSelect::Current), value, "{feature}");
        assert_eq!(get(&mut bench, FeatureSelect::Default), default, "{feature}");
        assert_eq!(get(&mut bench, FeatureSelect::Saved), default, "{feature}");
        let capabilities = get(&mut bench, FeatureSelect::Capabilities);
        assert_eq!(capabilities, 0b100 | u32::from(nsid == 1) << 1, "{feature}");
    }
    bench.disable();
    bench.enable();
    for &(feature, nsid, _, default) in FEATURES {
        let reply = bench.send(0, get_feature(feature, FeatureSelect::Current, nsid, 0));
        assert_eq!(reply.result.get(), default, "{feature} after a reset");
    }
}

/// §5.21.1: the reserved bits of each feature's dword 11. Number of Queues has none and is left out.
#[test]
fn reserved_bits_of_a_feature_are_ignored_and_never_come_back() {
    let mut bench = Bench::ready(config());
    for (feature, nsid, value, reserved) in [
        (FeatureId::Arbitration, 0, 0x0302_0103, 0x0000_00f8),
        (FeatureId::PowerManagement, 0, 1 << 5, 0xffff_ff00),
        (FeatureId::TemperatureThreshold, 0, 350, 0xffc0_0000),
        (FeatureId::ErrorRecovery, 1, 5, 0xfffe_0000),
        (FeatureId::VolatileWriteCache, 0, 0, 0xffff_fffe),
        (FeatureId::VolatileWriteCache, 0, 1, 0xffff_fffe),
        (FeatureId::InterruptCoalescing, 0, 0x0102, 0xffff_0000),
        (FeatureId::InterruptVectorConfiguration, 0, 0x0001_0000, 0xfffe_0000),
        (FeatureId::WriteAtomicityNormal, 0, 1, 0xffff_fffe),
        (FeatureId::AsyncEventConfiguration, 0, 0x0f, 0xffff_8000_u32),
    ] {
        let status = bench.status(0, set_feature(feature, nsid, value | reserved));
        assert!(status.is_success(), "{feature}: {status}");
        let reply = bench.send(0, get_feature(feature, FeatureSelect::Current, nsid, 0));
        assert_eq!(reply.result.get(), value, "{feature}");
    }
}

/// §7.8, §6.1.5: the scope of a feature decides which NSIDs are accepted.
#[test]
fn a_namespaces_feature_wants_a_namespace_and_a_controllers_feature_wants_none() {
    let mut bench = Bench::ready(config());
    for &(feature, owner, value, _) in FEATURES {
        for nsid in [0, 1, 2, NSID_ALL] {
            let get = bench.status(0, get_feature(feature, FeatureSelect::Current, nsid, 0));
            let got = match (owner, nsid) {
                (1, 1) | (0, 0 | 1 | NSID_ALL) => Status::SUCCESS,
                _ => Status::INVALID_NAMESPACE_OR_FORMAT,
            };
            assert!(get.is(got), "Get Features of {feature} with NSID {nsid:#x}: {get}");
            // Queue pair 1 exists, so the number of queues can't be changed any more.
            if feature == FeatureId::NumberOfQueues {
                continue;
            }
            let set = bench.status(0, set_feature(feature, nsid, value));
            let done = match (owner, nsid) {
                (1, 1 | NSID_ALL) | (0, 0 | NSID_ALL) => Status::SUCCESS,
                (0, 1) => Status::FEATURE_NOT_NAMESPACE_SPECIFIC,
                _ => Status::INVALID_NAMESPACE_OR_FORMAT,
            };
            assert!(set.is(done), "Set Features of {feature} with NSID {nsid:#x}: {set}");
        }
    }
}

#[test]
fn the_under_temperature_threshold_is_a_value_of_its_own() {
    let mut bench = Bench::ready(config());
    assert!(bench.status(0, set_feature(FeatureId::TemperatureThreshold, 0, 1 << 20 | 200)).is_success());
    let get = |b: &mut Bench, dword11| {
        b.send(0, get_feature(FeatureId::TemperatureThreshold, FeatureSelect::Current, 0, dword11))
            .result
            .get()
    };
    assert_eq!(get(&mut bench, 1 << 20), 200);
    assert_eq!(get(&mut bench, 0), 343);
}

/// §5.14, table of log pages: error information, SMART, firmware slot; commands supported since LPA shows it.
#[test]
fn every_mandatory_and_advertised_log_page_is_there() {
    let mut bench = Bench::ready(config());
    assert!(bench.status(0, Sqe::new(0xff, 0)).is(Status::INVALID_OPCODE));
    let page = bench.fetch_page(log_page(LogId::ErrorInformation.raw(), 4096));
    let first = ErrorEntry::read_from_bytes(&page[..64]).unwrap();
    assert_eq!((first.error_count.get(), first.sq_id.get()), (1, 0));
    assert!(first.status().is(Status::INVALID_OPCODE) && first.status().bits().more());
    assert!(page[64..].iter().all(|&b| b == 0));

    let page = bench.fetch_page(log_page(LogId::Health.raw(), 512));
    let health = HealthLog::read_from_bytes(&page[..512]).unwrap();
    assert_eq!((health.critical_warning, health.composite_temperature.get()), (0, 298));
    assert_eq!((health.available_spare, health.percentage_used), (100, 0));
    assert_eq!((health.power_cycles.get(), health.error_log_entries.get()), (1, 1));
    assert!(page[512..].iter().all(|&b| b == 0xee), "no more than what was asked for");

    let page = bench.fetch_page(log_page(LogId::FirmwareSlot.raw(), 512));
    let firmware = FirmwareSlotLog::read_from_bytes(&page[..512]).unwrap();
    assert_eq!((firmware.active, &firmware.revisions[0]), (1, b"1.0     "));
    assert_eq!(firmware.revisions[1], [0; 8]);
}

/// The effects log lists exactly the commands that aren't answered with Invalid Command Opcode.
#[test]
fn the_commands_supported_log_tells_the_truth() {
    let mut bench = Bench::ready(config());
    let page = bench.fetch_page(log_page(LogId::CommandsSupported.raw(), 4096));
    let log = CommandsSupportedLog::read_from_bytes(page).unwrap();
    for opcode in 0..=255u8 {
        if opcode == AdminOpcode::AsyncEventRequest.raw() {
            continue; // it would wait
        }
        let admin = bench.status(0, Sqe::new(opcode, 0));
        let supported = log.admin[usize::from(opcode)].get() & 1 == 1;
        assert_eq!(!admin.is(Status::INVALID_OPCODE), supported, "admin {opcode:02x}h: {admin}");
        let io = bench.status(1, Sqe::new(opcode, 1).with_prps(DATA, 0));
        let supported = log.io[usize::from(opcode)].get() & 1 == 1;
        assert_eq!(!io.is(Status::INVALID_OPCODE), supported, "I/O {opcode:02x}h: {io}");
    }
}

#[test]
fn the_monitors_latest_sample_is_a_log_that_hosts_fetch() {
    let mut bench = Bench::ready(config());
    for sample in [&b"{\"waf\":1}\n"[..], b"{}\n", &[b'x'; STATISTICS_BYTES + 9]] {
        bench.front.set_statistics(sample);
        let page = bench.fetch_page(log_page(LogId::Statistics.raw(), STATISTICS_BYTES as u64));
        let shown = sample.len().min(STATISTICS_BYTES);
        assert_eq!(page[..shown], sample[..shown]);
        assert!(
            page[shown..STATISTICS_BYTES].iter().all(|byte| *byte == 0),
            "nothing is left of the one before"
        );
    }
}

#[test]
fn a_log_page_is_read_in_pieces() {
    let mut bench = Bench::ready(config());
    let whole = bench.fetch_page(log_page(LogId::CommandsSupported.raw(), 4096)).to_vec();
    let mut piece = GetLogPage::new(LogId::CommandsSupported.raw(), 8);
    piece.offset = 1024;
    let sqe = AdminCommand::GetLogPage(piece).to_sqe(0, 0, DATA, 0);
    let page = bench.fetch_page(sqe);
    assert_eq!((&page[..32], page[32]), (&whole[1024..1056], 0xee));
    // Nothing is sent past the end, and the bytes before it still arrive.
    let mut long = GetLogPage::new(LogId::Health.raw(), 1024);
    long.offset = 508;
    let page = bench.fetch_page(AdminCommand::GetLogPage(long).to_sqe(0, 0, DATA, 0));
    assert_eq!((&page[..4], page[4]), (&[0; 4][..], 0xee));
}
