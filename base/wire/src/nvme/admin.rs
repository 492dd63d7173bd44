//! Admin commands, decoded (NVMe 1.4 §5).
//!
//! As in [`super::io`], each command is a value that encodes to a [`Sqe`] and decodes from one. Command
//! identifier, PRPs and namespace stay in the entry.

use super::directive::{Directive, DirectiveDword11};
use super::features::FeatureSelect;
use super::opcode::AdminOpcode;
use super::sqe::{DecodeError, Sqe};

bit_fields! {
    /// Command dword 10 of Create and Delete I/O Submission or Completion Queue: a queue
    /// and its size (NVMe 1.4 §5.3, §5.4).
    pub struct QueueDword10(u32) {
        /// Queue identifier (QID).
        queue_id, with_queue_id: 0, 16 => u16;
        /// Queue size, zero-based (QSIZE).
        size_zero_based, with_size_zero_based: 16, 16 => u16;
    }
}

impl QueueDword10 {
    /// A queue of `entries` entries. Asserts that `entries` is in 1..=65,536.
    pub const fn of(queue_id: u16, entries: u32) -> Self {
        assert!(entries >= 1 && entries <= 1 << 16, "a queue has 1 to 65,536 entries");
        QueueDword10(0).with_queue_id(queue_id).with_size_zero_based((entries - 1) as u16)
    }
    /// Entries of the queue: 1 to 65,536. The standard refuses 1 (Invalid Queue Size).
    pub const fn entries(self) -> u32 {
        self.size_zero_based() as u32 + 1
    }
}

bit_fields! {
    /// Command dword 11 of Create I/O Completion Queue (NVMe 1.4 §5.3).
    pub struct CreateCqDword11(u32) {
        /// Physically contiguous (PC).
        contiguous, with_contiguous: 0, 1 => bool;
        /// Interrupts enabled (IEN).
        interrupts_enabled, with_interrupts_enabled: 1, 1 => bool;
        /// Interrupt vector (IV).
        interrupt_vector, with_interrupt_vector: 16, 16 => u16;
    }
}

bit_fields! {
    /// Command dword 11 of Create I/O Submission Queue (NVMe 1.4 §5.4).
    pub struct CreateSqDword11(u32) {
        /// Physically contiguous (PC).
        contiguous, with_contiguous: 0, 1 => bool;
        /// Queue priority (QPRIO): 0 urgent to 3 low, for weighted round robin.
        priority, with_priority: 1, 2 => u8;
        /// Completion queue identifier (CQID).
        completion_queue_id, with_completion_queue_id: 16, 16 => u16;
    }
}

bit_fields! {
    /// Command dword 10 of Identify (NVMe 1.4 §5.15).
    pub struct IdentifyDword10(u32) {
        /// Controller or namespace structure (CNS), see [`super::identify::Cns`].
        cns, with_cns: 0, 8 => u8;
        /// Controller identifier (CNTID).
        controller_id, with_controller_id: 16, 16 => u16;
    }
}

bit_fields! {
    /// Command dword 10 of Get Features (NVMe 1.4 §5.13).
    pub struct GetFeaturesDword10(u32) {
        /// Feature identifier (FID), see [`super::features::FeatureId`].
        feature_id, with_feature_id: 0, 8 => u8;
        /// Select (SEL), see [`FeatureSelect`].
        select, with_select: 8, 3 => u8;
    }
}

bit_fields! {
    /// Command dword 10 of Set Features (NVMe 1.4 §5.21).
    pub struct SetFeaturesDword10(u32) {
        /// Feature identifier (FID), see [`super::features::FeatureId`].
        feature_id, with_feature_id: 0, 8 => u8;
        /// Save (SV): the value survives power cycles.
        save, with_save: 31, 1 => bool;
    }
}

bit_fields! {
    /// Command dword 10 of Get Log Page (NVMe 1.4 §5.14).
    pub struct LogDword10(u32) {
        /// Log page identifier (LID), see [`super::log::LogId`].
        log_id, with_log_id: 0, 8 => u8;
        /// Log specific field (LSP).
        specific, with_specific: 8, 4 => u8;
        /// Retain asynchronous event (RAE).
        retain_event, with_retain_event: 15, 1 => bool;
        /// Number of dwords, zero-based, lower half (NUMDL).
        dwords_lower, with_dwords_lower: 16, 16 => u16;
    }
}

bit_fields! {
    /// Command dword 11 of Get Log Page (NVMe 1.4 §5.14).
    pub struct LogDword11(u32) {
        /// Number of dwords, upper half (NUMDU).
        dwords_upper, with_dwords_upper: 0, 16 => u16;
        /// Log specific identifier (LSI).
        specific_id, with_specific_id: 16, 16 => u16;
    }
}

bit_fields! {
    /// Command dword 10 of Abort (NVMe 1.4 §5.1).
    pub struct AbortDword10(u32) {
        /// Submission queue of the command to abort (SQID).
        sq_id, with_sq_id: 0, 16 => u16;
        /// Identifier of the command to abort (CID).
        cid, with_cid: 16, 16 => u16;
    }
}

bit_fields! {
    /// Command dword 10 of Format NVM (NVMe 1.4 §5.23).
    pub struct FormatDword10(u32) {
        /// LBA format index (LBAF).
        lba_format, with_lba_format: 0, 4 => u8;
        /// Metadata goes inside an extended LBA (MSET).
        metadata_extended, with_metadata_extended: 4, 1 => bool;
        /// Protection information type (PI).
        protection, with_protection: 5, 3 => u8;
        /// Protection information is first in the metadata (PIL).
        protection_first, with_protection_first: 8, 1 => bool;
        /// Secure erase settings (SES), see [`SecureErase`].
        secure_erase, with_secure_erase: 9, 3 => u8;
    }
}

wire_enum! {
    /// Secure erase settings of Format NVM (NVMe 1.4 §5.23).
    pub enum SecureErase(u8) {
        None = 0b000, "no secure erase";
        UserData = 0b001, "user data erase";
        Cryptographic = 0b010, "cryptographic erase";
    }
}

bit_fields! {
    /// Command dword 10 of Firmware Commit (NVMe 1.4 §5.11).
    pub struct FirmwareCommitDword10(u32) {
        /// Firmware slot (FS); 0 lets the controller choose.
        slot, with_slot: 0, 3 => u8;
        /// Commit action (CA), see [`CommitAction`].
        action, with_action: 3, 3 => u8;
        /// Boot partition (BPID).
        boot_partition, with_boot_partition: 31, 1 => bool;
    }
}

wire_enum! {
    /// Commit action of Firmware Commit (NVMe 1.4 §5.11).
    pub enum CommitAction(u8) {
        Replace = 0b000, "replace the image in the slot, do not activate";
        ReplaceAndActivate = 0b001, "replace the image in the slot, activate at the next reset";
        Activate = 0b010, "activate the slot at the next reset";
        ActivateNow = 0b011, "activate the slot without reset";
        ReplaceBootPartition = 0b110, "replace a boot partition";
        ActivateBootPartition = 0b111, "mark a boot partition active";
    }
}

/// Create I/O Completion Queue (NVMe 1.4 §5.3). PRP1 is the queue's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreateIoCq {
    /// Identifier and size.
    pub queue: QueueDword10,
    /// Flags and vector.
    pub control: CreateCqDword11,
}

/// Create I/O Submission Queue (NVMe 1.4 §5.4). PRP1 is the queue's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreateIoSq {
    /// Identifier and size.
    pub queue: QueueDword10,
    /// Flags and completion queue.
    pub control: CreateSqDword11,
    /// NVM set (command dword 12, bits 15:0); 0 for none.
    pub nvm_set: u16,
}

/// Identify (NVMe 1.4 §5.15).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identify {
    /// Which structure.
    pub control: IdentifyDword10,
    /// NVM set identifier (command dword 11, bits 15:0).
    pub nvm_set: u16,
    /// Command set identifier (bits 31:24 of the same; NVMe 2.0 §5.17): 0 is the NVM command set.
    pub command_set: u8,
}

/// Get Features (NVMe 1.4 §5.13).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GetFeatures {
    /// Which feature and which of its values.
    pub control: GetFeaturesDword10,
    /// Feature specific (command dword 11).
    pub dword11: u32,
}

impl GetFeatures {
    /// Which of the feature's values the host asks for; `None` if reserved.
    pub const fn select(&self) -> Option<FeatureSelect> {
        FeatureSelect::from_raw(self.control.select())
    }
}

/// Set Features (NVMe 1.4 §5.21).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetFeatures {
    /// Which feature, and whether to save.
    pub control: SetFeaturesDword10,
    /// The value (command dword 11).
    pub dword11: u32,
}

/// Get Log Page (NVMe 1.4 §5.14).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GetLogPage {
    /// Log and lower length.
    pub control: LogDword10,
    /// Upper length and log specific identifier.
    pub control_upper: LogDword11,
    /// Byte offset into the log (LPOU, LPOL); a multiple of 4, else Invalid Field.
    pub offset: u64,
}

impl GetLogPage {
    /// Reads `dwords` dwords of a log from its start. Asserts that `dwords` is in 1..=2³².
    pub const fn new(log_id: u8, dwords: u64) -> Self {
        assert!(dwords >= 1 && dwords <= 1 << 32, "a log page transfer has 1 to 2^32 dwords");
        let count = dwords - 1;
        GetLogPage {
            control: LogDword10(0).with_log_id(log_id).with_dwords_lower(count as u16),
            control_upper: LogDword11(0).with_dwords_upper((count >> 16) as u16),
            offset: 0,
        }
    }
    /// Bytes that the host asks for: 4 to 2³⁴.
    pub const fn bytes(&self) -> u64 {
        ((self.control.dwords_lower() as u64 | (self.control_upper.dwords_upper() as u64) << 16) + 1) * 4
    }
}

/// Firmware Image Download (NVMe 1.4 §5.12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirmwareImageDownload {
    /// Number of dwords, zero-based (NUMD).
    pub dwords_zero_based: u32,
    /// Offset in dwords (OFST).
    pub offset_dwords: u32,
}

/// An admin command that this module decodes in full; others are [`AdminCommand::Other`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminCommand {
    /// Delete an I/O submission queue (§5.6): its identifier.
    DeleteIoSq(u16),
    /// Create an I/O submission queue.
    CreateIoSq(CreateIoSq),
    /// Read a log page.
    GetLogPage(GetLogPage),
    /// Delete an I/O completion queue (§5.5): its identifier.
    DeleteIoCq(u16),
    /// Create an I/O completion queue.
    CreateIoCq(CreateIoCq),
    /// Read an identify structure.
    Identify(Identify),
    /// Abort a command (§5.1).
    Abort(AbortDword10),
    /// Set a feature.
    SetFeatures(SetFeatures),
    /// Get a feature.
    GetFeatures(GetFeatures),
    /// Wait for an event (§5.2).
    AsyncEventRequest,
    /// Commit a firmware image (§5.11).
    FirmwareCommit(FirmwareCommitDword10),
    /// Transfer a part of a firmware image.
    FirmwareImageDownload(FirmwareImageDownload),
    /// Keep doorbells in host memory (§5.7): PRP1 is the shadow doorbell buffer, PRP2 the event index buffer.
    DoorbellBufferConfig,
    /// Tell that the host is alive (§5.16).
    KeepAlive,
    /// Tell a directive something (§5.10).
    DirectiveSend(Directive),
    /// Ask a directive something (§5.9).
    DirectiveReceive(Directive),
    /// Format a namespace (§5.23).
    FormatNvm(FormatDword10),
    /// A command of the standard that this module doesn't decode; optional in NVMe 1.4.
    Other(AdminOpcode),
}

impl AdminCommand {
    /// Decodes an entry of the admin submission queue.
    ///
    /// # Errors
    /// [`DecodeError::UnknownOpcode`] for vendor specific and reserved opcodes;
    /// [`DecodeError::ReservedValue`] for fused commands and SGLs.
    pub fn decode(sqe: &Sqe) -> Result<Self, DecodeError> {
        let opcode = AdminOpcode::from_raw(sqe.opcode()).ok_or(DecodeError::UnknownOpcode(sqe.opcode()))?;
        sqe.check_plain()?;
        let (dword10, dword11) = (sqe.dword(10), sqe.dword(11));
        Ok(match opcode {
            AdminOpcode::DeleteIoSq => AdminCommand::DeleteIoSq(QueueDword10(dword10).queue_id()),
            AdminOpcode::CreateIoSq => AdminCommand::CreateIoSq(CreateIoSq {
                queue: QueueDword10(dword10),
                control: CreateSqDword11(dword11),
                nvm_set: sqe.dword(12) as u16,
            }),
            AdminOpcode::GetLogPage => AdminCommand::GetLogPage(GetLogPage {
                control: LogDword10(dword10),
                control_upper: LogDword11(dword11),
                offset: u64::from(sqe.dword(12)) | u64::from(sqe.dword(13)) << 32,
            }),
            AdminOpcode::DeleteIoCq => AdminCommand::DeleteIoCq(QueueDword10(dword10).queue_id()),
            AdminOpcode::CreateIoCq => AdminCommand::CreateIoCq(CreateIoCq {
                queue: QueueDword10(dword10),
                control: CreateCqDword11(dword11),
            }),
            AdminOpcode::Identify => AdminCommand::Identify(Identify {
                control: IdentifyDword10(dword10),
                nvm_set: dword11 as u16,
                command_set: (dword11 >> 24) as u8,
            }),
            AdminOpcode::Abort => AdminCommand::Abort(AbortDword10(dword10)),
            AdminOpcode::SetFeatures => {
                AdminCommand::SetFeatures(SetFeatures { control: SetFeaturesDword10(dword10), dword11 })
            }
            AdminOpcode::GetFeatures => {
                AdminCommand::GetFeatures(GetFeatures { control: GetFeaturesDword10(dword10), dword11 })
            }
            AdminOpcode::AsyncEventRequest => AdminCommand::AsyncEventRequest,
            AdminOpcode::FirmwareCommit => AdminCommand::FirmwareCommit(FirmwareCommitDword10(dword10)),
            AdminOpcode::FirmwareImageDownload => {
                AdminCommand::FirmwareImageDownload(FirmwareImageDownload {
                    dwords_zero_based: dword10,
                    offset_dwords: dword11,
                })
            }
            AdminOpcode::DoorbellBufferConfig => AdminCommand::DoorbellBufferConfig,
            AdminOpcode::KeepAlive => AdminCommand::KeepAlive,
            AdminOpcode::DirectiveSend | AdminOpcode::DirectiveReceive => {
                let directive = Directive {
                    dwords_zero_based: dword10,
                    control: DirectiveDword11(dword11),
                    dword12: sqe.dword(12),
                };
                match opcode {
                    AdminOpcode::DirectiveSend => AdminCommand::DirectiveSend(directive),
                    _ => AdminCommand::DirectiveReceive(directive),
                }
            }
            AdminOpcode::FormatNvm => AdminCommand::FormatNvm(FormatDword10(dword10)),
            other => AdminCommand::Other(other),
        })
    }

    /// The opcode.
    pub const fn opcode(&self) -> AdminOpcode {
        match self {
            AdminCommand::DeleteIoSq(_) => AdminOpcode::DeleteIoSq,
            AdminCommand::CreateIoSq(_) => AdminOpcode::CreateIoSq,
            AdminCommand::GetLogPage(_) => AdminOpcode::GetLogPage,
            AdminCommand::DeleteIoCq(_) => AdminOpcode::DeleteIoCq,
            AdminCommand::CreateIoCq(_) => AdminOpcode::CreateIoCq,
            AdminCommand::Identify(_) => AdminOpcode::Identify,
            AdminCommand::Abort(_) => AdminOpcode::Abort,
            AdminCommand::SetFeatures(_) => AdminOpcode::SetFeatures,
            AdminCommand::GetFeatures(_) => AdminOpcode::GetFeatures,
            AdminCommand::AsyncEventRequest => AdminOpcode::AsyncEventRequest,
            AdminCommand::FirmwareCommit(_) => AdminOpcode::FirmwareCommit,
            AdminCommand::FirmwareImageDownload(_) => AdminOpcode::FirmwareImageDownload,
            AdminCommand::DoorbellBufferConfig => AdminOpcode::DoorbellBufferConfig,
            AdminCommand::KeepAlive => AdminOpcode::KeepAlive,
            AdminCommand::DirectiveSend(_) => AdminOpcode::DirectiveSend,
            AdminCommand::DirectiveReceive(_) => AdminOpcode::DirectiveReceive,
            AdminCommand::FormatNvm(_) => AdminOpcode::FormatNvm,
            AdminCommand::Other(opcode) => *opcode,
        }
    }

    /// The entry for a namespace (0 for none), with command identifier and PRPs still zero.
    pub fn encode(&self, nsid: u32) -> Sqe {
        let sqe = Sqe::new(self.opcode().raw(), nsid);
        match self {
            AdminCommand::DeleteIoSq(id) | AdminCommand::DeleteIoCq(id) => {
                sqe.with_dword(10, QueueDword10(0).with_queue_id(*id).0)
            }
            AdminCommand::CreateIoSq(c) => {
                sqe.with_dword(10, c.queue.0).with_dword(11, c.control.0).with_dword(12, u32::from(c.nvm_set))
            }
            AdminCommand::GetLogPage(c) => sqe
                .with_dword(10, c.control.0)
                .with_dword(11, c.control_upper.0)
                .with_dword(12, c.offset as u32)
                .with_dword(13, (c.offset >> 32) as u32),
            AdminCommand::CreateIoCq(c) => sqe.with_dword(10, c.queue.0).with_dword(11, c.control.0),
            AdminCommand::Identify(c) => sqe
                .with_dword(10, c.control.0)
                .with_dword(11, u32::from(c.command_set) << 24 | u32::from(c.nvm_set)),
            AdminCommand::Abort(c) => sqe.with_dword(10, c.0),
            AdminCommand::SetFeatures(c) => sqe.with_dword(10, c.control.0).with_dword(11, c.dword11),
            AdminCommand::GetFeatures(c) => sqe.with_dword(10, c.control.0).with_dword(11, c.dword11),
            AdminCommand::FirmwareCommit(c) => sqe.with_dword(10, c.0),
            AdminCommand::FirmwareImageDownload(c) => {
                sqe.with_dword(10, c.dwords_zero_based).with_dword(11, c.offset_dwords)
            }
            AdminCommand::DirectiveSend(c) | AdminCommand::DirectiveReceive(c) => {
                sqe.with_dword(10, c.dwords_zero_based).with_dword(11, c.control.0).with_dword(12, c.dword12)
            }
            AdminCommand::FormatNvm(c) => sqe.with_dword(10, c.0),
            AdminCommand::AsyncEventRequest
            | AdminCommand::DoorbellBufferConfig
            | AdminCommand::KeepAlive
            | AdminCommand::Other(_) => sqe,
        }
    }

    /// The entry with command identifier and PRPs filled in.
    pub fn to_sqe(&self, nsid: u32, cid: u16, prp1: u64, prp2: u64) -> Sqe {
        self.encode(nsid).with_cid(cid).with_prps(prp1, prp2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zerocopy::FromBytes;

    #[test]
    fn queue_creation_lies_in_the_dwords_of_sections_5_3_and_5_4() {
        let cq = AdminCommand::CreateIoCq(CreateIoCq {
            queue: QueueDword10::of(3, 1024),
            control: CreateCqDword11(0)
                .with_contiguous(true)
                .with_interrupts_enabled(true)
                .with_interrupt_vector(9),
        });
        let sqe = cq.to_sqe(0, 1, 0x1000, 0);
        assert_eq!((sqe.opcode(), sqe.dword(10), sqe.dword(11)), (0x05, 0x03ff_0003, 0x0009_0003));
        let sq = AdminCommand::CreateIoSq(CreateIoSq {
            queue: QueueDword10::of(3, 65_536),
            control: CreateSqDword11(0).with_contiguous(true).with_priority(2).with_completion_queue_id(3),
            nvm_set: 0,
        });
        let sqe = sq.to_sqe(0, 2, 0x2000, 0);
        assert_eq!((sqe.opcode(), sqe.dword(10), sqe.dword(11)), (0x01, 0xffff_0003, 0x0003_0005));
    }

    #[test]
    fn a_log_page_length_is_spread_over_two_dwords() {
        let log = GetLogPage::new(2, 128);
        assert_eq!((log.control.0, log.control_upper.0, log.bytes()), (0x007f_0002, 0, 512));
        assert_eq!(GetLogPage::new(2, 1 << 32).bytes(), 1 << 34);
    }

    proptest! {
        #[test]
        fn whatever_decodes_encodes_to_the_same_command(low: [u8; 32], high: [u8; 32], plain: bool) {
            let mut bytes = [0; 64];
            bytes[..32].copy_from_slice(&low);
            bytes[32..].copy_from_slice(&high);
            if plain {
                bytes[1] &= 0x3c;
                bytes[0] = AdminOpcode::ALL[bytes[0] as usize % AdminOpcode::ALL.len()].raw();
            }
            let sqe = Sqe::read_from_bytes(&bytes).unwrap();
            match AdminCommand::decode(&sqe) {
                Ok(command) => {
                    prop_assert_eq!(AdminCommand::decode(&command.encode(sqe.nsid.get())), Ok(command));
                }
                Err(_) => prop_assert!(!plain),
            }
        }
    }
}
