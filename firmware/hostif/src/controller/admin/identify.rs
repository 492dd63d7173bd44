//! Identify (NVMe 1.4 §5.15).

use super::abort::ABORT_LIMIT;
use super::{Answer, Reply, refuse};
use crate::config::{ASYNC_EVENT_REQUESTS, HostIfConfig};
use crate::controller::Controller;
use crate::error_log::ERROR_ENTRIES;
use crate::keep_alive::GRANULARITY_100MS;
use crate::nvm::NSID;
use crate::ports::ControllerPorts;
use alloc::format;
use alloc::vec::Vec;
use aster_parties::PreferredWrites;
use aster_units::mix64;
use aster_wire::nvme::admin::Identify;
use aster_wire::nvme::cqe::CQE_LOG2;
use aster_wire::nvme::identify::{
    AdminSupport, Cns, ControllerAttributes, DeallocateFeatures, FirmwareUpdates, FormatAttributes,
    FormattedSize, IDENTIFY_BYTES, IdentifyController, IdentifyNamespace, IoSupport, LogAttributes,
    NamespaceDescriptor, NamespaceFeatures, NamespaceList, QueueEntrySizes, WriteCacheAttributes,
    ascii_field, write_descriptors,
};
use aster_wire::nvme::sqe::SQE_LOG2;
use aster_wire::nvme::{Sqe, Status, VERSION_1_4};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U32, U64, U128};

/// CNTRLTYPE: I/O controller.
const IO_CONTROLLER: u8 = 1;
/// VWC bits 2:1: Flush takes the broadcast namespace.
const FLUSH_ALL_SUPPORTED: u8 = 0b11;
/// DLFEAT: deallocated blocks read as zeroes.
const READS_ZEROES: u8 = 1;
/// Namespace identifiers from here on are not allowed in an active namespace list request (NVMe 1.4
/// §5.15.2.3).
const LIST_NSID_LIMIT: u32 = 0xffff_fffe;

/// The identifier of the NVM command set (NVMe 2.0, figure 274).
const NVM_COMMAND_SET: u8 = 0;

impl Controller {
    pub(super) fn identify(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        sqe: &Sqe,
        command: Identify,
    ) -> Answer {
        let nsid = sqe.nsid.get();
        let Some(structure) = Cns::from_raw(command.control.cns()) else {
            return refuse(Status::INVALID_FIELD);
        };
        let scratch = self.scratch(ports, id);
        match structure {
            Cns::Controller => scratch.copy_from_slice(self.identify_controller().as_bytes()),
            // With the broadcast NSID the host asks for what all namespaces have in common. This is only
            // defined where namespaces can be managed (NVMe 1.4 §5.15.2.1), which is not the case here.
            // The command may then be refused as Invalid Namespace or Format. The NVM Command Set
            // Specification, which now holds that structure, says so explicitly for CNS 00h.
            Cns::Namespace if nsid == NSID => {
                scratch.copy_from_slice(self.identify_namespace().as_bytes());
            }
            Cns::ActiveNamespaces if nsid < LIST_NSID_LIMIT => {
                scratch.copy_from_slice(NamespaceList::after(nsid, [NSID]).as_bytes());
            }
            Cns::NamespaceDescriptors if nsid == NSID => {
                write_descriptors(&[NamespaceDescriptor::Uuid(uuid(&self.config))], scratch);
            }
            // Limits beside MDTS: none. NVMe 1.4 doesn't know the structure, but hosts of today ask any
            // controller for it, and a refusal would stand in the error log of each.
            Cns::CommandSetController if command.command_set == NVM_COMMAND_SET => scratch.fill(0),
            Cns::Namespace | Cns::ActiveNamespaces | Cns::NamespaceDescriptors => {
                return refuse(Status::INVALID_NAMESPACE_OR_FORMAT);
            }
            _ => return refuse(Status::INVALID_FIELD),
        }
        self.set.identify(structure, scratch);
        Ok(Reply::Data(IDENTIFY_BYTES))
    }

    fn identify_controller(&self) -> IdentifyController {
        let config = &self.config;
        let mut c = IdentifyController::default();
        c.vid = U16::new(config.vendor_id);
        c.ssvid = U16::new(config.subsystem_vendor_id);
        c.sn = ascii_field(&config.serial);
        c.mn = ascii_field(&config.model);
        c.fr = ascii_field(&config.firmware_revision);
        c.rab = config.arbitration_burst_log2;
        c.ieee = config.ieee_oui;
        c.mdts = config.transfer_pages_log2;
        c.ver = U32::new(VERSION_1_4.0);
        c.cntrltype = IO_CONTROLLER;
        c.ctratt = U32::new(ControllerAttributes(0).with_traffic_based_keep_alive(true).0);
        c.kas = U16::new(GRANULARITY_100MS);
        c.oacs = U16::new(
            AdminSupport(0).with_format(true).with_doorbell_buffer(self.queues.offers_doorbell_buffer()).0,
        );
        c.acl = ABORT_LIMIT;
        c.aerl = ASYNC_EVENT_REQUESTS - 1;
        c.frmw = FirmwareUpdates(0).with_first_slot_read_only(true).with_slots(1).0;
        c.lpa = LogAttributes(0).with_commands_supported(true).with_extended_data(true).0;
        c.elpe = (ERROR_ENTRIES - 1) as u8;
        c.wctemp = U16::new(config.warning_kelvins);
        c.cctemp = U16::new(config.critical_kelvins);
        c.tnvmcap = U128::new(config.namespace_bytes.into());
        c.sqes = QueueEntrySizes::exactly(SQE_LOG2).0;
        c.cqes = QueueEntrySizes::exactly(CQE_LOG2).0;
        c.nn = U32::new(NSID);
        c.oncs = U16::new(IoSupport(0).with_feature_save_select(true).0);
        c.fna = FormatAttributes(0).with_all_namespaces(true).with_erase_all_namespaces(true).0;
        c.vwc = WriteCacheAttributes(0)
            .with_present(config.volatile_write_cache)
            .with_flush_all_namespaces(FLUSH_ALL_SUPPORTED)
            .0;
        c.set_subsystem_name(&subsystem_name(config));
        c
    }

    fn identify_namespace(&self) -> IdentifyNamespace {
        let blocks = U64::new(self.blocks());
        let index = self.config.formats().iter().position(|size| *size == self.settings.block_size());
        let index = index.expect("the block size in use is offered") as u8;
        let mut namespace = IdentifyNamespace::default();
        namespace.nsze = blocks;
        namespace.ncap = blocks;
        namespace.nuse = blocks;
        namespace.flbas = FormattedSize(0).with_format(index).0;
        // DEAC deallocates: each whole page of the range is unmapped, and the ends are written with zeroes.
        namespace.dlfeat =
            DeallocateFeatures(0).with_read_behavior(READS_ZEROES).with_write_zeroes_deallocates(true).0;
        if let Some(PreferredWrites { granularity_bytes, optimal_bytes }) = self.config.preferred_writes {
            // Zero-based numbers of logical blocks (NVMe 1.4 §5.15.2.1, figure 245).
            let blocks = |bytes: u32| {
                U16::new(((bytes >> self.settings.block_size().log2()).clamp(1, 1 << 16) - 1) as u16)
            };
            let granularity = blocks(granularity_bytes);
            namespace.nsfeat = NamespaceFeatures(0).with_optimal_performance(true).0;
            (namespace.npwg, namespace.npwa) = (granularity, granularity);
            (namespace.npdg, namespace.npda) = (granularity, granularity);
            namespace.nows = blocks(optimal_bytes);
        }
        namespace.nvmcap = U128::new(self.config.namespace_bytes.into());
        let formats: Vec<_> = self.config.wire_formats().collect();
        namespace.set_formats(&formats);
        namespace
    }
}

/// The NQN that the standard prescribes for a subsystem without a domain of its own (NVMe 1.4 §7.9).
fn subsystem_name(config: &HostIfConfig) -> alloc::string::String {
    format!(
        "nqn.2014.08.org.nvmexpress:{:04x}{:04x}{:<20}{:<40}",
        config.vendor_id, config.subsystem_vendor_id, config.serial, config.model
    )
}

/// The namespace's UUID. It depends on model and serial number alone and is marked as vendor defined (RFC
/// 9562 version 8).
fn uuid(config: &HostIfConfig) -> [u8; 16] {
    let fold = |seed: u64| {
        let text = config.model.bytes().chain([0]).chain(config.serial.bytes());
        text.fold(mix64(seed), |hash, byte| mix64(hash ^ u64::from(byte)))
    };
    let mut uuid = [0; 16];
    uuid[..8].copy_from_slice(&fold(1).to_be_bytes());
    uuid[8..].copy_from_slice(&fold(2).to_be_bytes());
    uuid[6] = uuid[6] & 0x0f | 0x80;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}
