//! Bad input and the status that the standard gives it.

use super::bench::{Bench, DATA, HOST_BYTES, NAMESPACE_BYTES, config};
use super::mandatory::{delete, get_feature, identify, log_page, set_feature};
use crate::HostIfConfig;
use aster_wire::nvme::admin::{AdminCommand, FormatDword10, GetLogPage};
use aster_wire::nvme::features::{FeatureId, FeatureSelect};
use aster_wire::nvme::io::{BlockRange, DatasetManagement, IoCommand, RangeDword12};
use aster_wire::nvme::sqe::{DataTransfer, Fuse};
use aster_wire::nvme::{AdminOpcode, NSID_ALL, Sqe, Status};

const BLOCKS: u64 = NAMESPACE_BYTES / 512;

fn read(slba: u64, blocks: u32) -> Sqe {
    IoCommand::Read(BlockRange::new(slba, blocks)).to_sqe(1, 0, DATA, DATA + 0x1000)
}
fn write_with(control: RangeDword12) -> Sqe {
    let range = BlockRange { control, ..BlockRange::new(0, 1) };
    IoCommand::Write(range).to_sqe(1, 0, DATA, 0)
}
fn format(dword10: FormatDword10, nsid: u32) -> Sqe {
    AdminCommand::FormatNvm(dword10).to_sqe(nsid, 0, 0, 0)
}
fn log_at(offset: u64) -> Sqe {
    let log = GetLogPage { offset, ..GetLogPage::new(2, 1) };
    AdminCommand::GetLogPage(log).to_sqe(0, 0, DATA, 0)
}

type Case = (&'static str, Sqe, Status);

fn io_cases() -> [Case; 25] {
    let far = HOST_BYTES as u64;
    let read_nsid = |nsid| IoCommand::Read(BlockRange::new(0, 1)).to_sqe(nsid, 0, DATA, 0);
    let protection = RangeDword12(0).with_protection(0b1000);
    let directive = RangeDword12(0).with_directive_type(1);
    let zeroes = |slba, blocks| IoCommand::WriteZeroes(BlockRange::new(slba, blocks)).to_sqe(1, 0, 0, 0);
    let dsm = |prp1| IoCommand::DatasetManagement(DatasetManagement::deallocate(256)).to_sqe(1, 0, prp1, 0);
    [
        ("reserved opcode", Sqe::new(0x7f, 1), Status::INVALID_OPCODE),
        ("vendor opcode", Sqe::new(0xc1, 1), Status::INVALID_OPCODE),
        ("write uncorrectable", Sqe::new(0x04, 1), Status::INVALID_OPCODE),
        ("verify", Sqe::new(0x0c, 1), Status::INVALID_OPCODE),
        ("reservation", Sqe::new(0x0d, 1), Status::INVALID_OPCODE),
        ("fused", read(0, 1).with_fuse(Fuse::First), Status::INVALID_FIELD),
        ("SGL", read(0, 1).with_data_transfer(DataTransfer::SglContiguousMetadata), Status::INVALID_FIELD),
        ("namespace 0", read_nsid(0), Status::INVALID_NAMESPACE_OR_FORMAT),
        ("namespace 2", read_nsid(2), Status::INVALID_NAMESPACE_OR_FORMAT),
        ("read of all namespaces", read_nsid(NSID_ALL), Status::INVALID_NAMESPACE_OR_FORMAT),
        ("flush of namespace 3", Sqe::new(0, 3), Status::INVALID_NAMESPACE_OR_FORMAT),
        ("first block past the end", read(BLOCKS, 1), Status::LBA_OUT_OF_RANGE),
        ("last block past the end", read(BLOCKS - 1, 2), Status::LBA_OUT_OF_RANGE),
        ("range that wraps", read(u64::MAX, 1), Status::LBA_OUT_OF_RANGE),
        ("zeroes past the end", zeroes(BLOCKS - 8, 9), Status::LBA_OUT_OF_RANGE),
        ("zeroes that wrap", zeroes(u64::MAX - 3, 65_536), Status::LBA_OUT_OF_RANGE),
        ("more than MDTS", read(0, 2049), Status::INVALID_FIELD),
        ("protection", write_with(protection), Status::INVALID_PROTECTION_INFORMATION),
        ("directive", write_with(directive), Status::INVALID_FIELD),
        ("PRP1 no multiple of 4", read(0, 1).with_prps(DATA + 2, 0), Status::PRP_OFFSET_INVALID),
        ("PRP2 with an offset", read(0, 16).with_prps(DATA, DATA + 0x1004), Status::PRP_OFFSET_INVALID),
        ("list no multiple of 8", read(0, 32).with_prps(DATA, DATA + 4), Status::PRP_OFFSET_INVALID),
        ("PRP1 outside memory", read(0, 1).with_prps(far, 0), Status::DATA_TRANSFER_ERROR),
        ("list outside memory", read(0, 32).with_prps(DATA, far), Status::DATA_TRANSFER_ERROR),
        ("ranges outside memory", dsm(far), Status::DATA_TRANSFER_ERROR),
    ]
}

fn admin_cases() -> [Case; 48] {
    use Status as S;
    let queue_dword = |id: u32, entries: u32| id | (entries - 1) << 16;
    let cq = Bench::create_cq;
    let sq = Bench::create_sq;
    let feature = |id: u8| Sqe::new(AdminOpcode::GetFeatures.raw(), 0).with_dword(10, id.into());
    let saved = set_feature(FeatureId::Arbitration, 0, 0);
    let set = |id, value| set_feature(id, 0, value);
    let get = |id, nsid, dword11| get_feature(id, FeatureSelect::Current, nsid, dword11);
    let erase = |settings| FormatDword10(0).with_secure_erase(settings);
    let mut health_of_one = log_page(2, 512);
    health_of_one.nsid = 1.into();
    [
        ("reserved opcode", Sqe::new(0x7b, 0), S::INVALID_OPCODE),
        ("vendor opcode", Sqe::new(0xc0, 0), S::INVALID_OPCODE),
        ("firmware download", Sqe::new(0x11, 0), S::INVALID_OPCODE),
        ("firmware commit", Sqe::new(0x10, 0), S::INVALID_OPCODE),
        ("fused", identify(1, 0).with_fuse(Fuse::Second), S::INVALID_FIELD),
        ("SGL", identify(1, 0).with_data_transfer(DataTransfer::SglMetadataSgl), S::INVALID_FIELD),
        ("identify reserved CNS", identify(0xaa, 1), S::INVALID_FIELD),
        ("identify NVM sets", identify(0x04, 1), S::INVALID_FIELD),
        ("identify namespace 0", identify(0, 0), S::INVALID_NAMESPACE_OR_FORMAT),
        ("identify namespace 2", identify(0, 2), S::INVALID_NAMESPACE_OR_FORMAT),
        (
            "what all namespaces share, which can't be managed",
            identify(0, NSID_ALL),
            S::INVALID_NAMESPACE_OR_FORMAT,
        ),
        ("list after the last", identify(2, NSID_ALL), S::INVALID_NAMESPACE_OR_FORMAT),
        ("list after the last but one", identify(2, NSID_ALL - 1), S::INVALID_NAMESPACE_OR_FORMAT),
        ("descriptors of namespace 2", identify(3, 2), S::INVALID_NAMESPACE_OR_FORMAT),
        ("identify to an odd address", identify(1, 0).with_prps(DATA + 1, 0), S::PRP_OFFSET_INVALID),
        (
            "identify over two pages, the second not aligned",
            identify(1, 0).with_prps(DATA + 8, DATA + 8),
            S::PRP_OFFSET_INVALID,
        ),
        ("identify outside memory", identify(1, 0).with_prps(HOST_BYTES as u64, 0), S::DATA_TRANSFER_ERROR),
        ("log page 0", log_page(0, 512), S::INVALID_LOG_PAGE),
        ("changed namespaces, not advertised", log_page(4, 4096), S::INVALID_LOG_PAGE),
        ("vendor log page, without a monitor", log_page(0xc0, 512), S::INVALID_LOG_PAGE),
        ("health of one namespace", health_of_one, S::INVALID_FIELD),
        ("log offset past the end", log_at(516), S::INVALID_FIELD),
        ("log offset no multiple of 4", log_at(2), S::INVALID_FIELD),
        ("log longer than MDTS", log_page(2, 2 << 20), S::INVALID_FIELD),
        ("CQ 0", cq(0, 16, 0), S::INVALID_QUEUE_IDENTIFIER),
        ("CQ past the last", cq(5, 16, 0), S::INVALID_QUEUE_IDENTIFIER),
        ("CQ that exists", cq(1, 16, 0), S::INVALID_QUEUE_IDENTIFIER),
        ("CQ of one entry", cq(2, 16, 0).with_dword(10, queue_dword(2, 1)), S::INVALID_QUEUE_SIZE),
        ("CQ past MQES", cq(2, 1025, 0), S::INVALID_QUEUE_SIZE),
        ("CQ not contiguous", cq(2, 16, 0).with_dword(11, 2), S::INVALID_FIELD),
        ("CQ with an offset", cq(2, 16, 0).with_prps(DATA + 8, 0), S::PRP_OFFSET_INVALID),
        ("CQ with a vector past the last", cq(2, 16, 5), S::INVALID_INTERRUPT_VECTOR),
        ("SQ 0", sq(0, 16, 1), S::INVALID_QUEUE_IDENTIFIER),
        ("SQ that exists", sq(1, 16, 1), S::INVALID_QUEUE_IDENTIFIER),
        ("SQ past MQES", sq(2, 1025, 1), S::INVALID_QUEUE_SIZE),
        ("SQ to the admin CQ", sq(2, 16, 0), S::INVALID_QUEUE_IDENTIFIER),
        ("SQ to a CQ past the last", sq(2, 16, 9), S::INVALID_QUEUE_IDENTIFIER),
        ("SQ to a CQ that doesn't exist", sq(2, 16, 3), S::COMPLETION_QUEUE_INVALID),
        ("delete SQ 0", delete(AdminOpcode::DeleteIoSq, 0), S::INVALID_QUEUE_IDENTIFIER),
        ("delete a CQ that doesn't exist", delete(AdminOpcode::DeleteIoCq, 3), S::INVALID_QUEUE_IDENTIFIER),
        ("delete a CQ in use", delete(AdminOpcode::DeleteIoCq, 1), S::INVALID_QUEUE_DELETION),
        ("feature 0", feature(0), S::INVALID_FIELD),
        ("feature not supported", feature(0x0d), S::INVALID_FIELD),
        ("saved feature", saved.with_dword(10, saved.dword(10) | 1 << 31), S::FEATURE_NOT_SAVEABLE),
        ("power state 1", set(FeatureId::PowerManagement, 1), S::INVALID_FIELD),
        (
            "error recovery of no namespace",
            get(FeatureId::ErrorRecovery, 0, 0),
            S::INVALID_NAMESPACE_OR_FORMAT,
        ),
        ("cryptographic erase", format(erase(2), 1), S::INVALID_FIELD),
        ("reserved secure erase", format(erase(3), 1), S::INVALID_FIELD),
    ]
}

fn more_admin_cases() -> [Case; 12] {
    use Status as S;
    let set = |id, value| set_feature(id, 0, value);
    let get = |id, nsid, dword11| get_feature(id, FeatureSelect::Current, nsid, dword11);
    let protected = FormatDword10(0).with_protection(1);
    let reserved_select = get(FeatureId::Arbitration, 0, 0).with_dword(10, 0x0501);
    [
        ("sensor 3", set(FeatureId::TemperatureThreshold, 3 << 16 | 300), S::INVALID_FIELD),
        ("deallocated error", set_feature(FeatureId::ErrorRecovery, 1, 1 << 16), S::INVALID_FIELD),
        ("vector past the last", set(FeatureId::InterruptVectorConfiguration, 5), S::INVALID_FIELD),
        ("vector past the last, read", get(FeatureId::InterruptVectorConfiguration, 0, 5), S::INVALID_FIELD),
        ("notices", set(FeatureId::AsyncEventConfiguration, 1 << 9), S::INVALID_FIELD),
        ("queues after creation", set(FeatureId::NumberOfQueues, 0), S::COMMAND_SEQUENCE_ERROR),
        (
            "namespace of a controller feature",
            set_feature(FeatureId::Arbitration, 1, 0),
            S::FEATURE_NOT_NAMESPACE_SPECIFIC,
        ),
        ("too long a keep alive", set(FeatureId::KeepAliveTimer, u32::MAX), S::KEEP_ALIVE_TIMEOUT_INVALID),
        ("reserved select", reserved_select, S::INVALID_FIELD),
        ("format that isn't offered", format(FormatDword10(2), 1), S::INVALID_FORMAT),
        ("format with protection", format(protected, 1), S::INVALID_FORMAT),
        ("format of namespace 2", format(FormatDword10(0), 2), S::INVALID_NAMESPACE_OR_FORMAT),
    ]
}

#[test]
fn bad_io_commands_get_the_standards_status() {
    let mut bench = Bench::ready(config());
    for (name, sqe, expected) in io_cases() {
        let status = bench.status(1, sqe);
        assert!(status.is(expected), "{name}: {status}, not {expected}");
    }
    assert_eq!(bench.ftl.seen.borrow().len(), 1, "only the unreachable PRP1 got as far as the FTL");
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
}

#[test]
fn bad_admin_commands_get_the_standards_status() {
    let mut bench = Bench::ready(config());
    for (name, sqe, expected) in admin_cases().into_iter().chain(more_admin_cases()) {
        let status = bench.status(0, sqe);
        assert!(status.is(expected), "{name}: {status}, not {expected}");
    }
    assert!(bench.ftl.seen.borrow().is_empty());
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
}

#[test]
fn queue_creation_wants_the_entry_sizes_in_cc() {
    let mut bench = Bench::ready(config());
    let cc = bench.cc().with_iosqes(0).with_iocqes(0);
    bench.write(aster_wire::nvme::registers::Register::Configuration, cc.0.into());
    assert!(bench.status(0, Bench::create_cq(2, 16, 0)).is(Status::INVALID_QUEUE_SIZE));
    assert!(bench.status(0, Bench::create_sq(2, 16, 1)).is(Status::INVALID_QUEUE_SIZE));
}

#[test]
fn a_drive_without_write_cache_has_no_such_feature() {
    let mut bench = Bench::ready(HostIfConfig { volatile_write_cache: false, ..config() });
    let get = get_feature(FeatureId::VolatileWriteCache, FeatureSelect::Current, 0, 0);
    assert!(bench.status(0, get).is(Status::INVALID_FIELD));
    assert!(bench.status(0, set_feature(FeatureId::VolatileWriteCache, 0, 0)).is(Status::INVALID_FIELD));
}

#[test]
fn a_bad_entry_deep_in_a_prp_list_is_found() {
    let mut bench = Bench::ready(config());
    let list = DATA + 0x10_0000;
    for n in 0..31u64 {
        let entry = DATA + 0x1000 * (n + 1) + if n == 20 { 8 } else { 0 };
        let at = (list + n * 8) as usize;
        bench.memory.0[at..at + 8].copy_from_slice(&entry.to_le_bytes());
    }
    let status = bench.status(1, read(0, 256).with_prps(DATA, list));
    assert!(status.is(Status::PRP_OFFSET_INVALID), "{status}");
}

#[test]
fn every_bad_configuration_names_its_field() {
    type Spoil = fn(&mut HostIfConfig);
    let cases: [(&str, Spoil); 13] = [
        ("queue_pairs", |c| c.queue_pairs = 0),
        ("queue_entries", |c| c.queue_entries = 1),
        ("slots", |c| c.slots = 0),
        ("dma_requests", |c| c.dma_requests = 0),
        ("transfer_pages_log2", |c| c.transfer_pages_log2 = 11),
        ("arbitration_burst_log2", |c| c.arbitration_burst_log2 = 8),
        ("fetch_batch", |c| c.fetch_batch = 0),
        ("vectors", |c| c.vectors = 0),
        ("serial", |c| c.serial = "an overlong serial number".into()),
        ("model", |c| c.model = "µ".into()),
        ("firmware_revision", |c| c.firmware_revision = "".into()),
        ("namespace_bytes", |c| c.namespace_bytes = 4097),
        ("block_size", |c| c.offers_512 = false),
    ];
    assert_eq!(config().check(), Ok(()));
    for (name, spoil) in cases {
        let mut config = config();
        spoil(&mut config);
        let error = alloc::string::ToString::to_string(&config.check().unwrap_err());
        assert!(error.starts_with(name), "{error}");
    }
}
