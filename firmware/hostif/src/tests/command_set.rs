//! The controller with a command set other than NVM. As on an open-channel drive, it has vectors of single
//! blocks with metadata, and its own admin commands, log page and feature.

use super::bench::{Bench, DATA, METADATA_BYTES, config};
use super::pause::Disk;
use crate::Nvm;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::{AdminAnswer, CommandSet, Decoded, Issued, ListAt, Operations, Source, status_of};
use aster_ports::host::{
    BlockState, Completion, HostCommand, HostOp, HostStatus, ReportKind, VECTOR_MAX, VectorAddress,
    VectorMode,
};
use aster_wire::nvme::admin::{
    AbortDword10, AdminCommand, FormatDword10, GetFeatures, GetFeaturesDword10, GetLogPage, Identify,
    IdentifyDword10, SetFeatures, SetFeaturesDword10,
};
use aster_wire::nvme::identify::{Cns, IdentifyController};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::log::{CommandsSupportedLog, LogId};
use aster_wire::nvme::status::StatusType;
use aster_wire::nvme::{IoOpcode, Sqe, Status};
use zerocopy::FromBytes;

pub(super) const ERASE: u8 = 0x90;
const WRITE: u8 = 0x91;
pub(super) const READ: u8 = 0x92;
pub(super) const COPY: u8 = 0x93;
/// As an I/O command it forwards an operation reserved for the controller, as an admin command one that
/// only an I/O queue may forward.
const STRAY: u8 = 0x94;
const IDENTITY: u8 = 0xe2;
pub(super) const SET_STATE: u8 = 0xf1;
const STATES: u8 = 0xf2;
/// A log page and a feature. The feature makes reads that nearly failed report so.
const CHUNKS: u8 = 0xca;
const NEARLY: Status = Status::new(StatusType::Vendor, 0);
const ADDRESS_BYTES: usize = 8;
/// Where lists of addresses and metadata lie.
pub(super) const LIST: u64 = DATA + 0x10_0000;
pub(super) const LIST_TO: u64 = LIST + 0x1000;
const BESIDE: u64 = LIST + 0x2000;

#[derive(Debug, Default)]
pub(super) struct Vectors {
    warns: bool,
}

fn pointer(sqe: &Sqe, low: usize) -> u64 {
    u64::from(sqe.dword(low)) | u64::from(sqe.dword(low + 1)) << 32
}
fn count(sqe: &Sqe) -> usize {
    sqe.dword(12) as usize + 1
}

/// The command that goes to the translation once the addresses are there.
fn vector(issued: &Issued, addresses: impl Iterator<Item = u64> + Clone) -> Result<Decoded, Status> {
    let &Issued { id, sqe, namespace, .. } = issued;
    if addresses.clone().any(|address| address >= namespace.blocks) {
        return Err(Status::LBA_OUT_OF_RANGE);
    }
    issued.commands.set_addresses(id, addresses.map(VectorAddress));
    let command = |op, length| HostCommand { id, op, offset: 0, length, fua: false };
    let units = count(sqe) as u64;
    let moves = |op| Decoded::TransferWithMetadata {
        command: command(op, units << namespace.block_bytes_log2),
        bytes: units as u32 * METADATA_BYTES,
    };
    Ok(match (issued.from, sqe.opcode()) {
        (Source::Io, READ) => moves(HostOp::VectorRead(VectorMode::default())),
        (Source::Io, WRITE) => moves(HostOp::VectorWrite(VectorMode::default())),
        (Source::Io, ERASE) => Decoded::Forward(command(HostOp::VectorErase(VectorMode::default()), 0)),
        (Source::Io, COPY) => Decoded::Forward(command(HostOp::VectorCopy, 0)),
        (Source::Admin, SET_STATE) => {
            Decoded::Forward(command(HostOp::SetBlockState(BlockState::GrownBad), 0))
        }
        _ => unreachable!("only these are fetched for"),
    })
}

impl CommandSet for Vectors {
    fn needs(&self) -> Operations {
        Operations { blocks: false, vectors: true, copies: true, reports: true, block_states: true }
    }
    fn decode(&mut self, issued: &Issued) -> Result<Decoded, Status> {
        let sqe = issued.sqe;
        if sqe.opcode() == STRAY {
            let op = if count(sqe) == 1 { HostOp::Format { erase: false } } else { HostOp::Shutdown };
            let id = issued.id;
            return Ok(Decoded::Forward(HostCommand { id, op, offset: 0, length: 0, fua: false }));
        }
        if !matches!(sqe.opcode(), READ | WRITE | ERASE | COPY) {
            return Err(Status::INVALID_OPCODE);
        }
        match count(sqe) {
            // A single address is in the command itself.
            1 if sqe.opcode() != COPY => vector(issued, core::iter::once(pointer(sqe, 10))),
            units if units <= VECTOR_MAX => {
                let bytes = (units * ADDRESS_BYTES) as u16;
                Ok(Decoded::Fetch { from: ListAt::Address(pointer(sqe, 10)), bytes, managed: true })
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }
    fn admin(&mut self, issued: &Issued, scratch: &mut [u8]) -> Option<Result<AdminAnswer, Status>> {
        let &Issued { id, sqe, commands, .. } = issued;
        let report = |kind, offset, length| {
            commands.set_addresses(id, core::iter::once(VectorAddress(pointer(sqe, 10))));
            let op = HostOp::Report(kind);
            AdminAnswer::Decoded(Decoded::Transfer(HostCommand { id, op, offset, length, fua: false }))
        };
        let answer = match (sqe.opcode(), AdminCommand::decode(sqe)) {
            (IDENTITY, _) => {
                scratch[..4].copy_from_slice(b"\x01vec");
                AdminAnswer::Data { bytes: scratch.len() as u16 }
            }
            (SET_STATE, _) => {
                let bytes = (count(sqe) * ADDRESS_BYTES) as u16;
                AdminAnswer::Decoded(Decoded::Fetch { from: ListAt::DataPointer, bytes, managed: false })
            }
            (STRAY, _) => {
                let op = [HostOp::Write, HostOp::VectorWrite(VectorMode::default()), HostOp::VectorCopy]
                    [count(sqe) - 1];
                let command = HostCommand { id, op, offset: 0, length: 4096, fua: false };
                AdminAnswer::Decoded(Decoded::Transfer(command))
            }
            (STATES, _) => report(ReportKind::BlockStates, 0, 256),
            (_, Ok(AdminCommand::GetLogPage(log))) if log.control.log_id() == CHUNKS => {
                commands.set_addresses(id, core::iter::once(VectorAddress(0)));
                let op = HostOp::Report(ReportKind::Chunks);
                let command = HostCommand { id, op, offset: log.offset, length: log.bytes(), fua: false };
                AdminAnswer::Decoded(Decoded::Transfer(command))
            }
            (_, Ok(AdminCommand::SetFeatures(set))) if set.control.feature_id() == CHUNKS => {
                self.warns = set.dword11 & 1 == 1;
                AdminAnswer::Decoded(Decoded::Done { result: 0 })
            }
            (_, Ok(AdminCommand::GetFeatures(get))) if get.control.feature_id() == CHUNKS => {
                AdminAnswer::Decoded(Decoded::Done { result: self.warns.into() })
            }
            _ => return None,
        };
        Some(Ok(answer))
    }
    fn fetched(&mut self, issued: &Issued, bytes: &[u8]) -> Result<Decoded, Status> {
        let (addresses, _) = bytes.as_chunks::<ADDRESS_BYTES>();
        if issued.sqe.opcode() == COPY && addresses.len() == count(issued.sqe) {
            return Ok(Decoded::Fetch {
                from: ListAt::Address(pointer(issued.sqe, 14)),
                bytes: bytes.len() as u16,
                managed: true,
            });
        }
        vector(issued, addresses.iter().map(|address| u64::from_le_bytes(*address)))
    }
    fn completed(&mut self, from: Source, _: &Sqe, ended: &Completion) -> (Status, u64) {
        assert!(from == Source::Io || ended.result == 0, "no admin command of it has a result");
        match ended.status {
            HostStatus::UnrecoveredRead if !self.warns => (Status::UNRECOVERED_READ_ERROR, ended.result),
            HostStatus::UnrecoveredRead => (NEARLY, ended.result),
            other => (status_of(other), ended.result),
        }
    }
    fn identify(&self, structure: Cns, bytes: &mut [u8]) {
        if structure == Cns::Namespace {
            bytes[384] = 1;
        }
    }
    fn reset(&mut self) {
        self.warns = false;
    }
}

pub(super) fn bench() -> Bench {
    let mut bench = Bench::with_set(config(), Box::new(Vectors::default()));
    bench.enable();
    bench.create_pair(1, 64);
    bench
}

/// A vector over these units, with a list of its own if there are several.
pub(super) fn of(bench: &mut Bench, opcode: u8, units: &[u64]) -> Sqe {
    let mut sqe = Sqe::new(opcode, 1);
    (sqe.prp1, sqe.mptr) = (DATA.into(), BESIDE.into());
    sqe.dwords_10_15[2] = (units.len() as u32 - 1).into();
    let spba = if units.len() == 1 { units[0] } else { LIST };
    sqe.dwords_10_15[0] = (spba as u32).into();
    sqe.dwords_10_15[1] = ((spba >> 32) as u32).into();
    put(bench, LIST, units);
    sqe
}
pub(super) fn put(bench: &mut Bench, at: u64, units: &[u64]) {
    let list: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    bench.memory.0[at as usize..][..list.len()].copy_from_slice(&list);
}
fn memory(bench: &Bench, at: u64, bytes: usize) -> Vec<u8> {
    bench.memory.0[at as usize..][..bytes].to_vec()
}
fn fill(bench: &mut Bench, at: u64, bytes: usize, of: impl Fn(usize) -> u8) {
    bench.memory.0[at as usize..][..bytes].iter_mut().enumerate().for_each(|(n, byte)| *byte = of(n));
}
fn result(bench: &mut Bench, sqe: Sqe) -> (Status, u64) {
    let ended = bench.send(1, sqe);
    (ended.status(), u64::from(ended.result.get()) | u64::from(ended.result_high.get()) << 32)
}

#[test]
fn a_vector_moves_data_and_metadata_of_each_unit_it_names() {
    let mut bench = bench();
    let block = 1 << bench.front.lba_format().log2();
    let units: Vec<u64> = (0..VECTOR_MAX as u64).map(|n| 3 + 97 * n).collect();
    let (bytes, beside) = (units.len() * block, units.len() * METADATA_BYTES as usize);
    fill(&mut bench, DATA, bytes, |n| (n / block + 1) as u8);
    fill(&mut bench, BESIDE, beside, |n| !((n / METADATA_BYTES as usize) as u8));
    // Scattered pages: the data are neither contiguous nor in the order of addresses.
    let pages = bytes as u64 / 4096;
    let list: Vec<u64> = (1..pages).map(|page| DATA + page * 4096).collect();
    put(&mut bench, LIST_TO, &list);
    let with_list = |mut sqe: Sqe| {
        sqe.prp2 = LIST_TO.into();
        sqe
    };
    let sqe = with_list(of(&mut bench, WRITE, &units));
    assert_eq!(result(&mut bench, sqe), (Status::SUCCESS, 0));
    for (n, &unit) in units.iter().enumerate() {
        assert_eq!(bench.ftl.disk.borrow()[unit as usize * block], n as u8 + 1, "unit {unit}");
        assert_eq!(bench.ftl.metadata.borrow()[&unit], [!(n as u8); METADATA_BYTES as usize]);
    }
    fill(&mut bench, DATA, bytes, |_| 0);
    fill(&mut bench, BESIDE, beside, |_| 0);
    let sqe = with_list(of(&mut bench, READ, &units));
    assert_eq!(result(&mut bench, sqe), (Status::SUCCESS, 0));
    assert!(memory(&bench, DATA, bytes).chunks(block).enumerate().all(|(n, b)| b[block - 1] == n as u8 + 1));
    let metadata = memory(&bench, BESIDE, beside);
    assert!(metadata.chunks(METADATA_BYTES as usize).enumerate().all(|(n, b)| b[15] == !(n as u8)));

    // One unit has its address in the command. A copy has two lists.
    let sqe = of(&mut bench, READ, &units[7..8]);
    assert_eq!(result(&mut bench, sqe), (Status::SUCCESS, 0));
    assert_eq!(memory(&bench, DATA, 1)[0], 8);
    let mut sqe = of(&mut bench, COPY, &units[..2]);
    put(&mut bench, LIST_TO, &[1, 2]);
    sqe.dwords_10_15[4] = (LIST_TO as u32).into();
    assert_eq!(result(&mut bench, sqe), (Status::SUCCESS, 0));
    assert_eq!(bench.ftl.metadata.borrow()[&2], bench.ftl.metadata.borrow()[&units[1]]);
    // The result's 64 bits name the units that failed.
    bench.ftl.broken.set(Some(units[40]));
    let sqe = of(&mut bench, ERASE, &units);
    assert_eq!(result(&mut bench, sqe), (Status::UNRECOVERED_READ_ERROR.with_more(true), 1 << 40));
    assert_eq!(bench.ftl.metadata.borrow().keys().copied().collect::<Vec<_>>(), [1, 2, units[40]]);
}

#[test]
fn what_is_no_vector_gets_a_status_and_never_reaches_the_translation() {
    let mut bench = bench();
    let blocks = config().namespace_bytes >> bench.front.lba_format().log2();
    let sqe = of(&mut bench, ERASE, &[1, blocks]);
    assert!(bench.status(1, sqe).is(Status::LBA_OUT_OF_RANGE));
    let sqe = of(&mut bench, ERASE, &[blocks]);
    assert!(bench.status(1, sqe).is(Status::LBA_OUT_OF_RANGE));
    let sqe = of(&mut bench, ERASE, &[0; VECTOR_MAX + 1]);
    assert!(bench.status(1, sqe).is(Status::INVALID_FIELD));
    let mut sqe = of(&mut bench, WRITE, &[5, 6]);
    sqe.mptr = (BESIDE + 2).into();
    assert!(bench.status(1, sqe).is(Status::INVALID_FIELD), "metadata begin at a dword");
    let mut sqe = of(&mut bench, ERASE, &[1, 2]);
    sqe.dwords_10_15[1] = u32::MAX.into();
    assert!(bench.status(1, sqe).is(Status::DATA_TRANSFER_ERROR), "no list is there");
    let read = IoCommand::Read(BlockRange::new(0, 1)).to_sqe(1, 0, DATA, 0);
    assert!(bench.status(1, read).is(Status::INVALID_OPCODE), "that is NVM's");
    assert!(bench.ftl.seen.borrow().is_empty());
    // Unreachable metadata are an error, like unreachable data.
    let mut sqe = of(&mut bench, WRITE, &[5, 6]);
    sqe.mptr = (u64::MAX - 3).into();
    assert!(bench.status(1, sqe).is(Status::DATA_TRANSFER_ERROR));

    // The host aborts the command while its list is being fetched.
    let seen = bench.ftl.seen.borrow().len();
    bench.hold_link = true;
    let sqe = of(&mut bench, ERASE, &[1, 2]);
    let cid = bench.push(1, sqe);
    bench.ring(1);
    bench.run();
    bench.carry_out_one();
    bench.run();
    let abort = AdminCommand::Abort(AbortDword10(0).with_sq_id(1).with_cid(cid));
    let aborted = bench.push(0, abort.to_sqe(0, 0, 0, 0));
    bench.ring(0);
    bench.run();
    bench.set_one_aside();
    bench.carry_out_one();
    bench.run();
    bench.release_link();
    bench.run();
    assert_eq!(bench.completion(0, aborted).expect("the Abort ends").result.get(), 0, "it was aborted");
    assert!(bench.completion(1, cid).expect("so does the vector").status().is(Status::ABORT_REQUESTED));
    assert_eq!(bench.ftl.seen.borrow().len(), seen);

    let mut bench = Bench::with_set(config(), Box::new(Nvm::default()));
    bench.enable();
    bench.create_pair(1, 64);
    let sqe = of(&mut bench, ERASE, &[3]);
    assert!(bench.status(1, sqe).is(Status::INVALID_OPCODE), "NVM knows no vectors");
    let sqe = of(&mut bench, IDENTITY, &[3]);
    assert!(bench.status(0, sqe).is(Status::INVALID_OPCODE), "nor their admin commands");
}

#[test]
fn what_a_set_may_not_forward_ends_with_an_error_and_changes_nothing_of_the_controllers() {
    let mut bench = bench();
    let format = bench.front.lba_format();
    for (queue, strays) in [(1, 1..=2), (0, 1..=3)] {
        for units in strays {
            let sqe = of(&mut bench, STRAY, &vec![0; units]);
            assert!(bench.status(queue, sqe).is(Status::INTERNAL_ERROR), "{units} by queue {queue}");
        }
    }
    assert!(bench.ftl.seen.borrow().is_empty());
    assert_eq!(bench.front.lba_format(), format);
    let sqe = of(&mut bench, WRITE, &[5]);
    assert!(bench.status(1, sqe).is_success(), "the controller goes on");
}

#[test]
fn nothing_of_a_set_reaches_another_namespace_or_one_that_is_being_formatted() {
    let mut bench = bench();
    for nsid in [0, 2] {
        let mut sqe = of(&mut bench, ERASE, &[3]);
        sqe.nsid = nsid.into();
        assert!(bench.status(1, sqe).is(Status::INVALID_NAMESPACE_OR_FORMAT), "namespace {nsid}");
    }
    // The lists of a vector and of an admin command are being fetched when the format begins.
    bench.hold_link = true;
    let arrive = |bench: &mut Bench, queue, sqe| {
        let cid = bench.push(queue, sqe);
        bench.ring(queue);
        bench.run();
        bench.carry_out_one();
        bench.run();
        cid
    };
    let vector = of(&mut bench, ERASE, &[1, 2]);
    let vector = arrive(&mut bench, 1, vector);
    bench.set_one_aside();
    let set = of(&mut bench, SET_STATE, &[2, 200]);
    let set = arrive(&mut bench, 0, set);
    bench.set_one_aside();
    bench.ftl.paused.set(true);
    let format = AdminCommand::FormatNvm(FormatDword10(1)).to_sqe(1, 0, 0, 0);
    let format = arrive(&mut bench, 0, format);
    bench.release_link();
    bench.run();
    for (queue, cid) in [(1, vector), (0, set)] {
        assert!(bench.completion(queue, cid).expect("it ends").status().is(Status::FORMAT_IN_PROGRESS));
    }
    let sqe = of(&mut bench, READ, &[3]);
    assert!(bench.status(1, sqe).is(Status::FORMAT_IN_PROGRESS));
    let states = of(&mut bench, STATES, &[0]);
    let states = arrive(&mut bench, 0, states);
    bench.ftl.paused.set(false);
    bench.run();
    for cid in [format, states] {
        assert!(bench.completion(0, cid).expect("it ends").status().is_success());
    }
    let seen: Vec<_> = bench.ftl.seen.borrow().iter().map(|command| command.op).collect();
    assert_eq!(seen, [HostOp::Format { erase: false }, HostOp::Report(ReportKind::BlockStates)]);
}

#[test]
fn a_set_answers_admin_commands_log_pages_and_features_of_its_own() {
    let mut bench = bench();
    let identity = of(&mut bench, IDENTITY, &[0]);
    fill(&mut bench, DATA, 4096, |_| 0xee);
    assert!(bench.status(0, identity).is_success());
    let mut expected = [0; 4096];
    expected[..4].copy_from_slice(b"\x01vec");
    assert_eq!(memory(&bench, DATA, 4096), expected, "and nothing of what the memory held before");

    // A list at the data pointer sets states. A report reads all or part of them.
    let set = of(&mut bench, SET_STATE, &[2, 200]);
    put(&mut bench, DATA, &[2, 200]);
    assert!(bench.status(0, set).is_success());
    let states = of(&mut bench, STATES, &[0]);
    assert!(bench.status(0, states).is_success());
    let found = memory(&bench, DATA, 256);
    let bad = |n: &usize| found[*n] == BlockState::GrownBad as u8;
    assert_eq!((0..256).filter(bad).collect::<Vec<_>>(), [2, 200]);
    let log = GetLogPage { offset: 196, ..GetLogPage::new(CHUNKS, 3) };
    assert!(bench.status(0, AdminCommand::GetLogPage(log).to_sqe(0, 0, DATA, 0)).is_success());
    // The set passes on any length that the host names. The controller refuses more than a transfer may
    // have.
    let seen = bench.ftl.seen.borrow().len();
    let most = config().transfer_bytes_max() / 4;
    let log = AdminCommand::GetLogPage(GetLogPage::new(CHUNKS, most + 1));
    assert!(bench.status(0, log.to_sqe(0, 0, DATA, 0)).is(Status::INVALID_FIELD));
    assert_eq!(bench.ftl.seen.borrow().len(), seen);
    assert_eq!(memory(&bench, DATA, 12)[4], BlockState::GrownBad as u8);

    // The feature changes which statuses the host gets, until a reset.
    let get = AdminCommand::GetFeatures(GetFeatures {
        control: GetFeaturesDword10(0).with_feature_id(CHUNKS),
        dword11: 0,
    });
    let set = AdminCommand::SetFeatures(SetFeatures {
        control: SetFeaturesDword10(0).with_feature_id(CHUNKS),
        dword11: 1,
    });
    bench.ftl.broken.set(Some(9));
    let sqe = of(&mut bench, READ, &[9]);
    assert_eq!(result(&mut bench, sqe), (Status::UNRECOVERED_READ_ERROR.with_more(true), 1));
    assert!(bench.status(0, set.to_sqe(0, 0, 0, 0)).is_success());
    assert_eq!(bench.send(0, get.to_sqe(0, 0, 0, 0)).result.get(), 1);
    assert!(bench.status(1, sqe).is(NEARLY));
    bench.disable();
    bench.enable();
    assert_eq!(bench.send(0, get.to_sqe(0, 0, 0, 0)).result.get(), 0);
}

#[test]
fn a_set_adds_to_what_the_controller_says_of_itself() {
    let identify = |bench: &mut Bench, cns: Cns, nsid| {
        let command = AdminCommand::Identify(Identify {
            control: IdentifyDword10(0).with_cns(cns.raw()),
            nvm_set: 0,
            command_set: 0,
        });
        assert!(bench.status(0, command.to_sqe(nsid, 0, DATA, 0)).is_success());
        memory(bench, DATA, 4096)
    };
    let supported = |bench: &mut Bench| {
        let log = AdminCommand::GetLogPage(GetLogPage::new(LogId::CommandsSupported.raw(), 1024));
        assert!(bench.status(0, log.to_sqe(0, 0, DATA, 0)).is_success());
        let log = CommandsSupportedLog::read_from_bytes(&memory(bench, DATA, 4096)).unwrap();
        log.io[usize::from(IoOpcode::Compare.raw())].get() & 1 == 1
    };
    let compares = |controller: Vec<u8>| {
        let controller = IdentifyController::read_from_bytes(&controller).unwrap();
        aster_wire::nvme::identify::IoSupport(controller.oncs.get()).compare()
    };
    let mut own = bench();
    assert_eq!(identify(&mut own, Cns::Namespace, 1)[384], 1);
    assert!(!compares(identify(&mut own, Cns::Controller, 0)) && !supported(&mut own));
    let mut nvm = Bench::ready(config());
    assert_eq!(identify(&mut nvm, Cns::Namespace, 1)[384], 0);
    assert!(compares(identify(&mut nvm, Cns::Controller, 0)) && supported(&mut nvm));
}

#[test]
fn vectors_that_write_wait_for_room_and_fetch_their_lists_again() {
    let (mut bench, disk) = (bench(), Rc::new(Disk::default()));
    bench.front.pause_with(Some(disk.clone()));
    disk.say(&mut bench, true, 0);
    let seen = |bench: &Bench| bench.ftl.seen.borrow().iter().map(|c| c.op).collect::<Vec<_>>();
    let push = |bench: &mut Bench, opcode, units: &[u64]| {
        let sqe = of(bench, opcode, units);
        let cid = bench.push(1, sqe);
        bench.ring(1);
        bench.run();
        cid
    };
    let write = push(&mut bench, WRITE, &[5, 6]);
    let copy = push(&mut bench, COPY, &[5, 6]);
    let read = push(&mut bench, READ, &[5, 6]);
    assert_eq!(seen(&bench), [HostOp::VectorRead(VectorMode::default())], "only what writes waits");
    assert!(bench.completion(1, read).is_some());
    // The lists of resumed commands are fetched again, with their content at that time.
    put(&mut bench, LIST, &[7, u64::MAX]);
    disk.say(&mut bench, false, 0);
    for cid in [write, copy] {
        assert!(bench.completion(1, cid).unwrap().status().is(Status::LBA_OUT_OF_RANGE));
    }
    // The next commands in those slots behave like any other.
    disk.say(&mut bench, true, 0);
    let write = push(&mut bench, WRITE, &[8, 9]);
    disk.say(&mut bench, false, 0);
    assert!(bench.completion(1, write).unwrap().status().is_success());
    assert_eq!(
        seen(&bench),
        [HostOp::VectorRead(VectorMode::default()), HostOp::VectorWrite(VectorMode::default())]
    );
    assert_eq!(bench.ftl.metadata.borrow().keys().copied().collect::<Vec<_>>(), [8, 9]);
}
