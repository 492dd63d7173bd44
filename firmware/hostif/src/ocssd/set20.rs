//! The command set of Open-Channel SSD 2.0 (P29).

use super::common::{METADATA_SEPARATE, RELATIVE_PERFORMANCE, address_of, flush, list_of, refuse};
use super::identity::OpenChannelFacts;
use super::notices::{self, Notices};
use aster_parties::{
    AdminAnswer, CommandSet, Decoded, Issued, ListAt, Operations, SetEvent, Source, status_of,
};
use aster_ports::host::{
    Completion, HostCommand, HostOp, HostStatus, ReportKind, VectorAddress, VectorFault, VectorMode,
};
use aster_wire::nvme::admin::{AdminCommand, GetLogPage};
use aster_wire::nvme::dsm::{RANGE_BYTES, ranges};
use aster_wire::nvme::identify::{
    Cns, DeallocateFeatures, IdentifyController, IdentifyNamespace, IoSupport, LbaFormat, NamespaceFeatures,
};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::log::{CommandEffects, CommandsSupportedLog, LogId};
use aster_wire::nvme::{IoOpcode, Sqe, Status};
use aster_wire::ocssd::v2::{
    CHUNK_REPORT, COPY, ChunkDescriptor, ChunkShape, MediaFeedback, NOTICES_LOG, NoticeState,
    VectorControl20, status,
};
use aster_wire::ocssd::{
    ADDRESSES_MAX, AddressFormat, METADATA_BYTES, Place, SECTOR_BYTES, VENDOR_SPECIFIC_VERSION, admin, io,
};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, IntoBytes};

/// DLFEAT: blocks that nobody wrote read as zeroes.
const READS_ZEROES: u8 = 1;
/// Bits of dword 12 between the number of blocks and what 1.2 has as control bits: reserved.
const COUNT_RESERVED: u32 = 0xffc0;

/// Geometry, chunk report, and vectors of up to 64 logical blocks; reads, writes and deallocations of NVMe as
/// vectors of consecutive blocks.
///
/// To the translation, logical blocks are the physical addresses of 1.2, so that a place in the array has one
/// address below I5.
///
/// The host is notified of blocks that could not be read, or only with many wrong bits.
#[derive(Debug)]
pub struct OpenChannel20 {
    facts: OpenChannelFacts,
    /// How the translation writes addresses.
    format: AddressFormat,
    shape: ChunkShape,
    feedback: MediaFeedback,
    notices: Notices,
}

/// Dwords 14 and 15 of a copy: the block that it writes, or the address of a list of them.
fn destination_of(sqe: &Sqe) -> u64 {
    u64::from(sqe.dword(14)) | u64::from(sqe.dword(15)) << 32
}

/// Whether a command is a vector, whose completion has a bit for each block.
fn is_vector(opcode: u8) -> bool {
    matches!(opcode, io::ERASE | io::READ | io::WRITE | COPY)
}

/// Whether a command reads blocks.
fn is_read(opcode: u8) -> bool {
    opcode == io::READ || opcode == IoOpcode::Read.raw()
}

/// The status of a command whose LUNs don't answer.
fn no_answer(opcode: u8) -> Status {
    let resets = opcode == io::ERASE || opcode == IoOpcode::DatasetManagement.raw();
    match resets {
        _ if is_read(opcode) => status::ECC_FAIL,
        true => status::OFFLINE,
        false => status::CLOSED_EARLY,
    }
}

impl OpenChannel20 {
    /// The command set of a drive with these facts.
    pub fn new(facts: OpenChannelFacts) -> Self {
        OpenChannel20 {
            facts,
            format: AddressFormat::of_geometry(&facts.geometry),
            shape: ChunkShape::of(&facts.geometry),
            feedback: MediaFeedback(0),
            notices: Notices::default(),
        }
    }

    /// A single block is in the command itself; several are in a list.
    fn addressed(&self, issued: &Issued) -> Result<Decoded, Status> {
        let dword12 = issued.sqe.dword(12);
        if dword12 & COUNT_RESERVED != 0 {
            return Err(refuse(Status::INVALID_FIELD));
        }
        let first = address_of(issued.sqe);
        match usize::from(VectorControl20(dword12).blocks_less_one()) + 1 {
            1 if issued.sqe.opcode() == COPY => {
                self.vector(issued, [first, destination_of(issued.sqe)].into_iter())
            }
            1 => self.vector(issued, core::iter::once(first)),
            count => Ok(list_of(issued, first, count * size_of::<u64>())),
        }
    }
    /// Names the blocks for the translation. Returns how many they are.
    fn set_blocks(
        &self,
        issued: &Issued,
        mut blocks: impl Iterator<Item = u64> + Clone,
    ) -> Result<u32, Status> {
        if blocks.clone().any(|block| self.shape.decode(block).is_none()) {
            return Err(status::OUT_OF_RANGE);
        }
        let count = blocks.clone().count() as u32;
        let addresses = core::iter::from_fn(|| {
            let place = self.shape.decode(blocks.next()?)?;
            Some(VectorAddress(self.format.encode(place)))
        });
        issued.commands.set_addresses(issued.id, addresses);
        Ok(count)
    }
    /// The operation for the translation, with all blocks checked.
    fn vector(&self, issued: &Issued, blocks: impl Iterator<Item = u64> + Clone) -> Result<Decoded, Status> {
        let count = self.set_blocks(issued, blocks)?;
        match issued.sqe.opcode() {
            io::ERASE => Ok(self.reset(issued, count)),
            io::READ => Ok(self.transfer(issued, count, false)),
            COPY => {
                let op = HostOp::VectorCopy;
                Ok(Decoded::Forward(HostCommand { id: issued.id, op, offset: 0, length: 0, fua: false }))
            }
            _ => Ok(self.transfer(issued, count, true)),
        }
    }
    /// Resets the chunks that were named. With a metadata pointer the host gets their descriptors.
    fn reset(&self, issued: &Issued, count: u32) -> Decoded {
        let metadata = is_vector(issued.sqe.opcode()) && issued.sqe.mptr.get() != 0;
        let op = HostOp::VectorErase(VectorMode { metadata, all_planes: true, ..VectorMode::default() });
        let command = HostCommand { id: issued.id, op, offset: 0, length: 0, fua: false };
        match metadata {
            true => {
                Decoded::TransferWithMetadata { command, bytes: count * size_of::<ChunkDescriptor>() as u32 }
            }
            false => Decoded::Forward(command),
        }
    }
    /// Reads or writes the blocks that were named.
    fn transfer(&self, issued: &Issued, count: u32, writes: bool) -> Decoded {
        let mode = VectorMode {
            metadata: issued.sqe.mptr.get() != 0,
            unwritten_is_zero: !writes && !issued.namespace.unwritten_fails,
            ..VectorMode::default()
        };
        let op = if writes { HostOp::VectorWrite(mode) } else { HostOp::VectorRead(mode) };
        let length = u64::from(count) * u64::from(SECTOR_BYTES);
        let command = HostCommand { id: issued.id, op, offset: 0, length, fua: false };
        match mode.metadata {
            true => Decoded::TransferWithMetadata { command, bytes: count * METADATA_BYTES },
            false => Decoded::Transfer(command),
        }
    }
    /// A read or write of NVMe: consecutive blocks, not more than a vector has.
    fn of_range(&self, issued: &Issued, range: &BlockRange, writes: bool) -> Result<Decoded, Status> {
        if range.control.protection() != 0 {
            return Err(refuse(Status::INVALID_PROTECTION_INFORMATION));
        }
        if range.blocks() as usize > ADDRESSES_MAX {
            return Err(refuse(Status::INVALID_FIELD));
        }
        let end = range.end().ok_or(status::OUT_OF_RANGE)?;
        let count = self.set_blocks(issued, range.slba..end)?;
        Ok(self.transfer(issued, count, writes))
    }
    /// Deallocation: resets the chunks that the ranges name, each a whole one.
    fn deallocate(&self, issued: &Issued, bytes: &[u8]) -> Result<Decoded, Status> {
        let blocks = self.shape.chunk_blocks();
        let list = ranges(bytes);
        let is_chunk = |slba| self.shape.decode(slba).is_some_and(|place| is_first(&place));
        let whole = list.iter().all(|range| is_chunk(range.slba.get()) && range.blocks.get() == blocks);
        if !whole {
            return Err(status::OUT_OF_RANGE);
        }
        let count = self.set_blocks(issued, list.iter().map(|range| range.slba.get()))?;
        Ok(self.reset(issued, count))
    }
    /// Notifies the host of the blocks that `bits` names, one time for each run of consecutive ones.
    fn notify(&mut self, issued: &Issued, bits: u64, state: NoticeState) {
        let (shape, format, geometry) = (self.shape, self.format, self.facts.geometry);
        let named = (0..u64::BITS as usize).filter(|n| bits >> n & 1 != 0);
        let blocks = named.filter_map(|n| {
            let address = issued.commands.address(issued.id, n)?;
            Some(shape.encode(format.decode(address.0, &geometry)?))
        });
        let mut run: Option<(u64, u16)> = None;
        for block in blocks {
            run = Some(match run {
                Some((first, blocks)) if first + u64::from(blocks) == block => (first, blocks + 1),
                before => {
                    before.into_iter().for_each(|(first, blocks)| {
                        self.notices.add(issued.namespace.nsid, first, blocks, state);
                    });
                    (block, 1)
                }
            });
        }
        if let Some((first, blocks)) = run {
            self.notices.add(issued.namespace.nsid, first, blocks, state);
        }
    }
    /// The part of the chunk report that the host asks for.
    fn report(&self, issued: &Issued, asked: &GetLogPage) -> Result<Decoded, Status> {
        let all = u64::from(self.shape.all_chunks()) * size_of::<ChunkDescriptor>() as u64;
        let is_good = issued.sqe.nsid.get() == issued.namespace.nsid
            && asked.offset.is_multiple_of(size_of::<u32>() as u64)
            && asked.offset <= all
            && asked.bytes() <= issued.namespace.transfer_bytes_max;
        if !is_good {
            return Err(refuse(Status::INVALID_FIELD));
        }
        // Bytes past the log's end are undefined (NVMe 1.4 §5.14), so none are sent.
        let length = asked.bytes().min(all - asked.offset);
        if length == 0 {
            return Ok(Decoded::Done { result: 0 });
        }
        let anywhere = VectorAddress(self.format.encode(Place::default()));
        issued.commands.set_addresses(issued.id, core::iter::once(anywhere));
        let op = HostOp::Report(ReportKind::Chunks);
        Ok(Decoded::Transfer(HostCommand { id: issued.id, op, offset: asked.offset, length, fua: false }))
    }
}

/// Whether a sector is the first of its chunk.
fn is_first(place: &Place) -> bool {
    *place == place.block_start() && place.plane == 0
}

impl CommandSet for OpenChannel20 {
    fn needs(&self) -> Operations {
        Operations { blocks: false, vectors: true, copies: true, reports: true, block_states: false }
    }
    fn smallest_block_bytes(&self) -> u32 {
        SECTOR_BYTES
    }
    fn marks_logged_errors(&self) -> bool {
        false
    }
    fn tells_unwritten(&self) -> bool {
        true
    }
    fn decode(&mut self, issued: &Issued) -> Result<Decoded, Status> {
        if let Some(flush) = flush(issued)? {
            return Ok(flush);
        }
        let opcode = issued.sqe.opcode();
        if is_vector(opcode) {
            return self.addressed(issued);
        }
        match IoCommand::decode(issued.sqe).map_err(|error| error.status())? {
            IoCommand::Read(range) => self.of_range(issued, &range, false),
            IoCommand::Write(range) => self.of_range(issued, &range, true),
            IoCommand::DatasetManagement(dsm) if !dsm.attributes.deallocate() => {
                Ok(Decoded::Done { result: 0 })
            }
            IoCommand::DatasetManagement(dsm) if usize::from(dsm.range_count()) <= ADDRESSES_MAX => {
                let bytes = dsm.range_count() * RANGE_BYTES as u16;
                Ok(Decoded::Fetch { from: ListAt::DataPointer, bytes, managed: false })
            }
            IoCommand::DatasetManagement(_) => Err(refuse(Status::INVALID_FIELD)),
            _ => Err(refuse(Status::INVALID_OPCODE)),
        }
    }
    fn admin(&mut self, issued: &Issued, scratch: &mut [u8]) -> Option<Result<AdminAnswer, Status>> {
        let opcode = issued.sqe.opcode();
        if opcode == admin::IDENTITY {
            let geometry = self.facts.geometry20();
            scratch[..size_of_val(&geometry)].copy_from_slice(geometry.as_bytes());
            return Some(Ok(AdminAnswer::Data { bytes: size_of_val(&geometry) as u16 }));
        }
        match AdminCommand::decode(issued.sqe).ok()? {
            AdminCommand::GetLogPage(asked) if asked.control.log_id() == CHUNK_REPORT => {
                Some(self.report(issued, &asked).map(AdminAnswer::Decoded))
            }
            AdminCommand::GetLogPage(asked) if asked.control.log_id() == NOTICES_LOG => {
                Some(self.notices.log(issued.sqe, &asked, scratch))
            }
            command => notices::feature(&mut self.feedback, issued.sqe, &command),
        }
    }
    fn fetched(&mut self, issued: &Issued, bytes: &[u8]) -> Result<Decoded, Status> {
        if issued.sqe.opcode() == IoOpcode::DatasetManagement.raw() {
            return self.deallocate(issued, bytes);
        }
        // A copy has two lists of the same length, the sources first.
        let count = usize::from(VectorControl20(issued.sqe.dword(12)).blocks_less_one()) + 1;
        if issued.sqe.opcode() == COPY && bytes.len() == count * size_of::<u64>() {
            return Ok(list_of(issued, destination_of(issued.sqe), bytes.len()));
        }
        let list = bytes.as_chunks().0;
        self.vector(issued, list.iter().map(|bytes| u64::from_le_bytes(*bytes)))
    }
    fn failed(&mut self, issued: &Issued, ended: &Completion) {
        let state = match ended.status {
            HostStatus::UnrecoveredRead => NoticeState(0).with_unrecoverable(true),
            HostStatus::Vector(VectorFault::NoAnswer) if is_read(issued.sqe.opcode()) => {
                NoticeState(0).with_unrecoverable(true)
            }
            HostStatus::Vector(VectorFault::Marginal) => NoticeState(0).with_high_ecc(true),
            _ => return,
        };
        if issued.from == Source::Io {
            self.notify(issued, ended.result, state);
        }
    }
    fn event(&self) -> Option<SetEvent> {
        self.notices.event()
    }
    /// Of LUNs that don't answer nothing can be read, and nothing more be written to their chunks.
    fn completed(&mut self, from: Source, sqe: &Sqe, ended: &Completion) -> (Status, u64) {
        let wanted =
            if is_vector(sqe.opcode()) { self.feedback.vector_reads() } else { self.feedback.reads() };
        if ended.status == HostStatus::Vector(VectorFault::Marginal) && !wanted {
            return (Status::SUCCESS, 0);
        }
        let told = match ended.status {
            HostStatus::UnrecoveredRead => status::ECC_FAIL,
            HostStatus::Vector(VectorFault::NoAnswer) => no_answer(sqe.opcode()),
            HostStatus::Vector(VectorFault::Empty) => status::UNWRITTEN,
            HostStatus::Vector(VectorFault::Marginal) => status::HIGH_ECC,
            HostStatus::Vector(VectorFault::BadBlock | VectorFault::Offline) => status::OFFLINE,
            HostStatus::Vector(VectorFault::OutOfOrder) => status::OUT_OF_ORDER,
            HostStatus::Vector(VectorFault::NotResettable) => status::INVALID_RESET,
            HostStatus::Vector(VectorFault::ClosedEarly) => status::CLOSED_EARLY,
            HostStatus::Vector(VectorFault::NextUnit) => status::WRITE_NEXT_UNIT,
            other => status_of(other),
        };
        let bits = if from == Source::Io && is_vector(sqe.opcode()) { ended.result } else { 0 };
        (told, bits)
    }
    fn reset(&mut self) {
        self.feedback = MediaFeedback(0);
    }
    fn identify(&self, structure: Cns, bytes: &mut [u8]) {
        match structure {
            Cns::Controller => {
                let Ok(controller) = IdentifyController::mut_from_bytes(bytes) else { return };
                let support = IoSupport(controller.oncs.get()).with_dataset_management(true);
                controller.oncs = U16::new(support.0);
            }
            Cns::Namespace => {
                let Ok(namespace) = IdentifyNamespace::mut_from_bytes(bytes) else { return };
                let format = LbaFormat::of_log2(SECTOR_BYTES.trailing_zeros() as u8)
                    .with_metadata_bytes(METADATA_BYTES as u16)
                    .with_relative_performance(RELATIVE_PERFORMANCE);
                namespace.set_formats(&[format]);
                namespace.mc = METADATA_SEPARATE;
                // Fields of an address may hold more values than there are: then some blocks don't exist.
                namespace.nsze = U64::new(1 << self.shape.format().bits());
                namespace.nsfeat = NamespaceFeatures(namespace.nsfeat).with_deallocated_error(true).0;
                namespace.dlfeat = DeallocateFeatures(0).with_read_behavior(READS_ZEROES).0;
                namespace.vendor[VENDOR_SPECIFIC_VERSION] = 1;
            }
            _ => {}
        }
    }
    fn log_page(&self, log: LogId, bytes: &mut [u8]) {
        let Ok(effects) = CommandsSupportedLog::mut_from_bytes(bytes) else { return };
        if log != LogId::CommandsSupported {
            return;
        }
        let plain = CommandEffects(0).with_supported(true);
        let changes = plain.with_block_content_change(true);
        for (opcode, effect) in [
            (IoOpcode::Flush.raw(), plain),
            (IoOpcode::Read.raw(), plain),
            (IoOpcode::Write.raw(), changes),
            (IoOpcode::DatasetManagement.raw(), changes),
            (io::READ, plain),
            (io::WRITE, changes),
            (io::ERASE, changes),
            (COPY, changes),
        ] {
            effects.io[usize::from(opcode)] = U32::new(effect.0);
        }
        effects.admin[usize::from(admin::IDENTITY)] = U32::new(plain.0);
    }
}
