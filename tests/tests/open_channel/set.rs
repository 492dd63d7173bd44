//! The command set: vectors of pages, a geometry, bad-block tables and chunks, as Open-Channel SSD 1.2 lays
//! them out (and the chunks of 2.0's log page).

use super::shape::Shape;
use aster_device::plug::{
    AdminAnswer, BlockState, CommandSet, Completion, Decoded, HostCommand, HostOp, Issued, ListAt,
    Operations, ReportKind, Source, Sqe, Status, VECTOR_MAX, VectorAddress, VectorMode, status_of,
};
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::identify::Cns;

pub const ERASE: u8 = 0x90;
pub const WRITE: u8 = 0x91;
pub const READ: u8 = 0x92;
/// The list names sources, then as many destinations.
pub const COPY: u8 = 0x93;
pub const IDENTITY: u8 = 0xe2;
pub const SET_STATES: u8 = 0xf1;
pub const GET_STATES: u8 = 0xf2;
/// Log page Chunk Information.
pub const CHUNKS: u8 = 0xca;
/// The first vendor specific byte of Identify Namespace. Hosts recognise a 1.2 drive by a one here.
pub const VENDOR_SPECIFIC: usize = 384;
/// Bytes beside each page.
pub const METADATA_BYTES: u32 = 16;
/// Bytes before the states of a bad-block table.
pub const TABLE_HEADER_BYTES: usize = 64;
/// Bytes of a chunk's descriptor.
pub const CHUNK_BYTES: usize = 32;

/// A block's state as tables number it.
pub fn state_of(code: u8) -> Option<BlockState> {
    Some(match code {
        0 => BlockState::Free,
        1 => BlockState::FactoryBad,
        2 => BlockState::GrownBad,
        4 => BlockState::Device,
        8 => BlockState::Host,
        _ => return None,
    })
}
pub fn code_of(state: BlockState) -> u8 {
    match state {
        BlockState::Free => 0,
        BlockState::FactoryBad => 1,
        BlockState::GrownBad => 2,
        BlockState::Device => 4,
        BlockState::Host => 8,
    }
}

#[derive(Debug)]
pub struct OpenChannel(pub Shape);

fn units(sqe: &Sqe) -> usize {
    usize::from(sqe.dword(12) as u16) + 1
}
fn address(sqe: &Sqe) -> u64 {
    u64::from(sqe.dword(10)) | u64::from(sqe.dword(11)) << 32
}

impl OpenChannel {
    /// The operation for the translation, once the addresses have been fetched. All addresses are valid,
    /// and none occurs twice in a vector.
    fn forward(&self, issued: &Issued, addresses: &[u64]) -> Result<Decoded, Status> {
        let twice = addresses.iter().enumerate().any(|(n, a)| addresses[..n].contains(a));
        if twice || addresses.iter().any(|&address| self.0.page(VectorAddress(address)).is_none()) {
            return Err(Status::LBA_OUT_OF_RANGE.with_dnr(true));
        }
        issued.commands.set_addresses(issued.id, addresses.iter().copied().map(VectorAddress));
        let length = addresses.len() as u64 * u64::from(self.0.geometry.page_bytes);
        let command = |op, length| HostCommand { id: issued.id, op, offset: 0, length, fua: false };
        let moves = |op| {
            let bytes = METADATA_BYTES * addresses.len() as u32;
            Decoded::TransferWithMetadata { command: command(op, length), bytes }
        };
        let pairs_up = addresses.len().is_multiple_of(2);
        match (issued.from, issued.sqe.opcode()) {
            (Source::Io, COPY) if pairs_up => Ok(Decoded::Forward(command(HostOp::VectorCopy, 0))),
            (Source::Io, COPY) => Err(Status::INVALID_FIELD.with_dnr(true)),
            (Source::Io, READ | WRITE) if length > issued.namespace.transfer_bytes_max => {
                Err(Status::INVALID_FIELD.with_dnr(true))
            }
            (Source::Io, READ) => Ok(moves(HostOp::VectorRead(VectorMode::default()))),
            (Source::Io, WRITE) => Ok(moves(HostOp::VectorWrite(VectorMode::default()))),
            (Source::Io, ERASE) => {
                Ok(Decoded::Forward(command(HostOp::VectorErase(VectorMode::default()), 0)))
            }
            (Source::Admin, SET_STATES) => match state_of(issued.sqe.dword(12).to_le_bytes()[2]) {
                Some(state) => Ok(Decoded::Forward(command(HostOp::SetBlockState(state), 0))),
                None => Err(Status::INVALID_FIELD.with_dnr(true)),
            },
            (Source::Admin, GET_STATES) => {
                let length = TABLE_HEADER_BYTES as u64 + u64::from(self.0.geometry.blocks_per_lun);
                Ok(Decoded::Transfer(command(HostOp::Report(ReportKind::BlockStates), length)))
            }
            _ => Err(Status::INVALID_OPCODE.with_dnr(true)),
        }
    }
    /// A single address is in the command; several are in a list.
    fn addressed(&self, issued: &Issued) -> Result<Decoded, Status> {
        match units(issued.sqe) {
            1 => self.forward(issued, &[address(issued.sqe)]),
            units if units <= VECTOR_MAX => {
                let from = ListAt::Address(address(issued.sqe));
                Ok(Decoded::Fetch { from, bytes: (units * size_of::<u64>()) as u16, managed: false })
            }
            _ => Err(Status::INVALID_FIELD.with_dnr(true)),
        }
    }
}

/// What the set needs from a translation, and [`Direct`](super::direct::Direct) offers.
pub const OPERATIONS: Operations =
    Operations { blocks: false, vectors: true, copies: true, reports: true, block_states: true };

impl CommandSet for OpenChannel {
    fn needs(&self) -> Operations {
        OPERATIONS
    }
    fn decode(&mut self, issued: &Issued) -> Result<Decoded, Status> {
        match issued.sqe.opcode() {
            READ | WRITE | ERASE | COPY => self.addressed(issued),
            _ => Err(Status::INVALID_OPCODE.with_dnr(true)),
        }
    }
    fn admin(&mut self, issued: &Issued, scratch: &mut [u8]) -> Option<Result<AdminAnswer, Status>> {
        let answer = match (issued.sqe.opcode(), AdminCommand::decode(issued.sqe)) {
            (IDENTITY, _) => {
                self.0.identity(scratch);
                return Some(Ok(AdminAnswer::Data { bytes: scratch.len() as u16 }));
            }
            (SET_STATES | GET_STATES, _) => self.addressed(issued),
            (_, Ok(AdminCommand::GetLogPage(log))) if log.control.log_id() == CHUNKS => {
                let all = (self.0.geometry.total_luns() * self.0.geometry.blocks_per_lun) as u64;
                let end = log.offset.checked_add(log.bytes());
                if end.is_none_or(|end| end > all * CHUNK_BYTES as u64) {
                    return Some(Err(Status::INVALID_FIELD.with_dnr(true)));
                }
                issued.commands.set_addresses(issued.id, std::iter::once(VectorAddress(0)));
                let op = HostOp::Report(ReportKind::Chunks);
                let (id, offset, length) = (issued.id, log.offset, log.bytes());
                Ok(Decoded::Transfer(HostCommand { id, op, offset, length, fua: false }))
            }
            _ => return None,
        };
        Some(answer.map(AdminAnswer::Decoded))
    }
    fn fetched(&mut self, issued: &Issued, bytes: &[u8]) -> Result<Decoded, Status> {
        let (list, _) = bytes.as_chunks::<8>();
        let addresses: Vec<u64> = list.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        self.forward(issued, &addresses)
    }
    fn completed(&mut self, _: Source, _: &Sqe, ended: &Completion) -> (Status, u64) {
        (status_of(ended.status), ended.result)
    }
    fn identify(&self, structure: Cns, bytes: &mut [u8]) {
        if structure == Cns::Namespace {
            bytes[VENDOR_SPECIFIC] = 1;
        }
    }
}
