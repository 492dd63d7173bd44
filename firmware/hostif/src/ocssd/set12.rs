//! The command set of Open-Channel SSD 1.2 (O1, O5, O6, P22 to P28).

use super::common::{METADATA_SEPARATE, RELATIVE_PERFORMANCE, address_of, flush, list_of, refuse};
use super::identity::OpenChannelFacts;
use aster_parties::{AdminAnswer, CommandSet, Decoded, Issued, Operations, Source, status_of};
use aster_ports::host::{
    BlockState, Completion, HostCommand, HostOp, HostStatus, ReportKind, VectorAddress, VectorFault,
    VectorMode,
};
use aster_wire::nvme::identify::{Cns, IdentifyNamespace, LbaFormat};
use aster_wire::nvme::log::{CommandEffects, CommandsSupportedLog, LogId};
use aster_wire::nvme::{IoOpcode, Sqe, Status};
use aster_wire::ocssd::vector::{TableControl, planes};
use aster_wire::ocssd::{
    ADDRESSES_MAX, AddressFormat, BlockFlags, METADATA_BYTES, SECTOR_BYTES, TableHeader,
    VENDOR_SPECIFIC_VERSION, VectorControl, admin, io, status,
};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

/// Vectors of up to 64 sectors by their physical addresses, Identify and bad-block tables. Raw vectors only
/// if the facts have a spare area for them (O1).
///
/// The bits for suspension and for the scrambler have no effect: the drive reports neither capability, and
/// LightNVM sets them on every command whatever is reported. The plane mode changes what an erase means;
/// reads and writes name every sector of both planes.
#[derive(Clone, Copy, Debug)]
pub struct OpenChannel12 {
    facts: OpenChannelFacts,
    format: AddressFormat,
}

impl OpenChannel12 {
    /// The command set of a drive with these facts.
    pub fn new(facts: OpenChannelFacts) -> Self {
        OpenChannel12 { facts, format: AddressFormat::of_geometry(&facts.geometry) }
    }

    /// How a vector is carried out, by its control bits.
    fn mode(&self, issued: &Issued) -> Result<VectorMode, Status> {
        let control = VectorControl(issued.sqe.dword(12));
        let all_planes = match (control.plane_mode(), self.facts.geometry.planes) {
            (planes::SINGLE, _) => false,
            (planes::DUAL, 2) | (planes::QUAD, 4) => true,
            _ => return Err(refuse(Status::INVALID_FIELD)),
        };
        if control.slc() {
            return Err(refuse(Status::INVALID_FIELD));
        }
        let metadata = issued.sqe.mptr.get() != 0;
        Ok(VectorMode { metadata, all_planes, ..VectorMode::default() })
    }

    /// A single address is in the command itself; several are in a list.
    fn addressed(&self, issued: &Issued) -> Result<Decoded, Status> {
        // Dword 12 has the number of addresses in the same bits for all commands that have a list.
        let count = usize::from(VectorControl(issued.sqe.dword(12)).addresses_less_one()) + 1;
        let first = address_of(issued.sqe);
        match count {
            1 => self.forward(issued, &[first.to_le_bytes()]),
            2..=ADDRESSES_MAX => Ok(list_of(issued, first, count * size_of::<u64>())),
            _ => Err(refuse(Status::INVALID_FIELD)),
        }
    }

    /// The operation for the translation, with all addresses checked.
    fn forward(&self, issued: &Issued, list: &[[u8; 8]]) -> Result<Decoded, Status> {
        let addresses = || list.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let geometry = &self.facts.geometry;
        let source = issued.from;
        let opcode = issued.sqe.opcode();
        // An erase, or a table, is of blocks: what the address says of pages and sectors is stale (O9).
        let of_blocks = source != Source::Io || opcode == io::ERASE;
        let exists = |address| self.format.decode(self.of_unit(address, of_blocks), geometry).is_some();
        if !addresses().all(exists) {
            return Err(status::OUT_OF_GEOMETRY);
        }
        let units = addresses().map(|address| VectorAddress(self.of_unit(address, of_blocks)));
        issued.commands.set_addresses(issued.id, units);
        let command = |op, length| HostCommand { id: issued.id, op, offset: 0, length, fua: false };
        let bytes = list.len() as u64 * u64::from(SECTOR_BYTES);
        match (source, opcode) {
            (Source::Io, io::ERASE) => {
                // An erase has no metadata, whatever its pointer says.
                let mode = VectorMode { metadata: false, ..self.mode(issued)? };
                Ok(Decoded::Forward(command(HostOp::VectorErase(mode), 0)))
            }
            (Source::Io, io::READ | io::WRITE | io::READ_RAW | io::WRITE_RAW) => {
                let raw = matches!(opcode, io::READ_RAW | io::WRITE_RAW);
                let reads = matches!(opcode, io::READ | io::READ_RAW);
                let mode = VectorMode { all_planes: false, raw, ..self.mode(issued)? };
                let op = if reads { HostOp::VectorRead(mode) } else { HostOp::VectorWrite(mode) };
                let command = command(op, bytes);
                let beside = if raw { self.facts.raw_spare_bytes.into() } else { METADATA_BYTES };
                let metadata = beside * list.len() as u32;
                Ok(match mode.metadata {
                    true => Decoded::TransferWithMetadata { command, bytes: metadata },
                    false => Decoded::Transfer(command),
                })
            }
            (Source::Admin, admin::SET_TABLE) => {
                let state = match BlockFlags::from_raw(TableControl(issued.sqe.dword(12)).state()) {
                    Some(BlockFlags::Free) => BlockState::Free,
                    Some(BlockFlags::FactoryBad) => BlockState::FactoryBad,
                    Some(BlockFlags::GrownBad) => BlockState::GrownBad,
                    Some(BlockFlags::Device) => BlockState::Device,
                    Some(BlockFlags::Host) => BlockState::Host,
                    None => return Err(refuse(Status::INVALID_FIELD)),
                };
                Ok(Decoded::Forward(command(HostOp::SetBlockState(state), 0)))
            }
            _ => Err(refuse(Status::INVALID_OPCODE)),
        }
    }
    /// The address, or that of its block.
    fn of_unit(&self, address: u64, of_blocks: bool) -> u64 {
        match of_blocks {
            true => self.format.of_block(address),
            false => address,
        }
    }
    /// The table of the LUN that the address names.
    fn get_table(&self, issued: &Issued) -> Result<Decoded, Status> {
        let address = self.of_unit(address_of(issued.sqe), true);
        if self.format.decode(address, &self.facts.geometry).is_none() {
            return Err(status::OUT_OF_GEOMETRY);
        }
        issued.commands.set_addresses(issued.id, core::iter::once(VectorAddress(address)));
        let length = size_of::<TableHeader>() as u64 + u64::from(self.facts.geometry.blocks_per_lun);
        let op = HostOp::Report(ReportKind::BlockStates);
        Ok(Decoded::Transfer(HostCommand { id: issued.id, op, offset: 0, length, fua: false }))
    }
}

impl CommandSet for OpenChannel12 {
    fn needs(&self) -> Operations {
        Operations { blocks: false, vectors: true, copies: false, reports: true, block_states: true }
    }
    fn smallest_block_bytes(&self) -> u32 {
        SECTOR_BYTES
    }
    fn marks_logged_errors(&self) -> bool {
        false
    }
    /// Reads and writes of logical blocks get what the board's firmware answers (P28): Access Denied. It
    /// knows no Dataset Management.
    fn decode(&mut self, issued: &Issued) -> Result<Decoded, Status> {
        if let Some(flush) = flush(issued)? {
            return Ok(flush);
        }
        let opcode = issued.sqe.opcode();
        let has_raw = self.facts.raw_spare_bytes > 0;
        match opcode {
            io::READ_RAW | io::WRITE_RAW if !has_raw => Err(refuse(Status::INVALID_OPCODE)),
            io::ERASE | io::READ | io::WRITE | io::READ_RAW | io::WRITE_RAW => {
                self.mode(issued)?;
                self.addressed(issued)
            }
            _ if [IoOpcode::Read.raw(), IoOpcode::Write.raw()].contains(&opcode) => {
                Err(refuse(Status::ACCESS_DENIED))
            }
            _ => Err(refuse(Status::INVALID_OPCODE)),
        }
    }
    fn admin(&mut self, issued: &Issued, scratch: &mut [u8]) -> Option<Result<AdminAnswer, Status>> {
        let decoded = match issued.sqe.opcode() {
            admin::IDENTITY => {
                let identity = self.facts.identity();
                scratch[..size_of_val(&identity)].copy_from_slice(identity.as_bytes());
                return Some(Ok(AdminAnswer::Data { bytes: size_of_val(&identity) as u16 }));
            }
            admin::SET_TABLE => self.addressed(issued),
            admin::GET_TABLE => self.get_table(issued),
            _ => return None,
        };
        Some(decoded.map(AdminAnswer::Decoded))
    }
    fn fetched(&mut self, issued: &Issued, bytes: &[u8]) -> Result<Decoded, Status> {
        self.forward(issued, bytes.as_chunks().0)
    }
    /// Of LUNs that don't answer nothing can be read or written: 1.2 has no status of its own for them.
    fn completed(&mut self, _: Source, sqe: &Sqe, ended: &Completion) -> (Status, u64) {
        let reads = matches!(sqe.opcode(), io::READ | io::READ_RAW);
        let told = match ended.status {
            HostStatus::Vector(VectorFault::NoAnswer) if reads => status::ECC_FAIL,
            HostStatus::Vector(VectorFault::NoAnswer) => status::WRITE_FAIL,
            HostStatus::WriteFault => status::WRITE_FAIL,
            HostStatus::UnrecoveredRead => status::ECC_FAIL,
            HostStatus::DataTransfer => status::TRANSFER_FAIL,
            HostStatus::Vector(VectorFault::Empty) => status::EMPTY_PAGE,
            HostStatus::Vector(VectorFault::Marginal) => status::HIGH_ECC,
            HostStatus::Vector(VectorFault::BadBlock) => status::PROTECTED_BLOCK,
            HostStatus::Vector(VectorFault::OutOfOrder) => status::OUT_OF_ORDER,
            other => status_of(other),
        };
        (told, ended.result)
    }
    fn identify(&self, structure: Cns, bytes: &mut [u8]) {
        if structure != Cns::Namespace {
            return;
        }
        let Ok(namespace) = IdentifyNamespace::mut_from_bytes(bytes) else { return };
        let format = LbaFormat::of_log2(SECTOR_BYTES.trailing_zeros() as u8)
            .with_metadata_bytes(METADATA_BYTES as u16)
            .with_relative_performance(RELATIVE_PERFORMANCE);
        namespace.set_formats(&[format]);
        namespace.mc = METADATA_SEPARATE;
        // What nobody wrote can't be read.
        namespace.dlfeat = 0;
        namespace.vendor[VENDOR_SPECIFIC_VERSION] = 1;
    }
    fn log_page(&self, log: LogId, bytes: &mut [u8]) {
        let Ok(effects) = CommandsSupportedLog::mut_from_bytes(bytes) else { return };
        if log != LogId::CommandsSupported {
            return;
        }
        let plain = CommandEffects(0).with_supported(true);
        let changes = plain.with_block_content_change(true);
        for (opcode, effect) in
            [(IoOpcode::Flush.raw(), plain), (io::READ, plain), (io::WRITE, changes), (io::ERASE, changes)]
        {
            effects.io[usize::from(opcode)] = U32::new(effect.0);
        }
        if self.facts.raw_spare_bytes > 0 {
            effects.io[usize::from(io::READ_RAW)] = U32::new(plain.0);
            effects.io[usize::from(io::WRITE_RAW)] = U32::new(changes.0);
        }
        for opcode in [admin::IDENTITY, admin::GET_TABLE, admin::SET_TABLE] {
            effects.admin[usize::from(opcode)] = U32::new(plain.0);
        }
    }
}
