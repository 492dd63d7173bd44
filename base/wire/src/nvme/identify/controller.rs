use zerocopy::little_endian::{U16, U32, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

bit_fields! {
    /// Optional asynchronous events supported (OAES).
    pub struct AsyncEventsSupported(u32) {
        /// Namespace attribute notices.
        namespace_attributes, with_namespace_attributes: 8, 1 => bool;
        /// Firmware activation notices.
        firmware_activation, with_firmware_activation: 9, 1 => bool;
        /// Asymmetric namespace access change notices.
        asymmetric_access, with_asymmetric_access: 11, 1 => bool;
        /// Predictable latency event aggregate log notices.
        predictable_latency, with_predictable_latency: 12, 1 => bool;
        /// LBA status information notices.
        lba_status, with_lba_status: 13, 1 => bool;
        /// Endurance group event aggregate log notices.
        endurance_group, with_endurance_group: 14, 1 => bool;
    }
}

bit_fields! {
    /// Controller attributes (CTRATT); of them those that a controller here may have.
    pub struct ControllerAttributes(u32) {
        /// Any command tells that the host is alive (TBKAS).
        traffic_based_keep_alive, with_traffic_based_keep_alive: 6, 1 => bool;
    }
}

bit_fields! {
    /// Optional admin command support (OACS).
    pub struct AdminSupport(u16) {
        /// Security Send and Security Receive.
        security, with_security: 0, 1 => bool;
        /// Format NVM.
        format, with_format: 1, 1 => bool;
        /// Firmware Commit and Firmware Image Download.
        firmware, with_firmware: 2, 1 => bool;
        /// Namespace Management and Namespace Attachment.
        namespace_management, with_namespace_management: 3, 1 => bool;
        /// Device Self-test.
        self_test, with_self_test: 4, 1 => bool;
        /// Directives.
        directives, with_directives: 5, 1 => bool;
        /// NVMe-MI Send and NVMe-MI Receive.
        management_interface, with_management_interface: 6, 1 => bool;
        /// Virtualization Management.
        virtualization, with_virtualization: 7, 1 => bool;
        /// Doorbell Buffer Config.
        doorbell_buffer, with_doorbell_buffer: 8, 1 => bool;
        /// Get LBA Status.
        lba_status, with_lba_status: 9, 1 => bool;
    }
}

bit_fields! {
    /// Firmware updates (FRMW).
    pub struct FirmwareUpdates(u8) {
        /// Slot 1 is read only.
        first_slot_read_only, with_first_slot_read_only: 0, 1 => bool;
        /// Number of slots, 1 to 7.
        slots, with_slots: 1, 3 => u8;
        /// Activation without a reset is possible.
        activate_without_reset, with_activate_without_reset: 4, 1 => bool;
    }
}

bit_fields! {
    /// Log page attributes (LPA).
    pub struct LogAttributes(u8) {
        /// SMART / health information per namespace.
        health_per_namespace, with_health_per_namespace: 0, 1 => bool;
        /// Commands supported and effects log page.
        commands_supported, with_commands_supported: 1, 1 => bool;
        /// Extended data for Get Log Page: 32-bit length and offset.
        extended_data, with_extended_data: 2, 1 => bool;
        /// Telemetry log pages.
        telemetry, with_telemetry: 3, 1 => bool;
        /// Persistent event log.
        persistent_events, with_persistent_events: 4, 1 => bool;
    }
}

bit_fields! {
    /// Submission or completion queue entry size (SQES, CQES).
    pub struct QueueEntrySizes(u8) {
        /// Smallest size as a power of two.
        required_log2, with_required_log2: 0, 4 => u8;
        /// Largest size as a power of two.
        maximum_log2, with_maximum_log2: 4, 4 => u8;
    }
}

impl QueueEntrySizes {
    /// Exactly `2^log2` bytes.
    pub const fn exactly(log2: u8) -> Self {
        QueueEntrySizes(0).with_required_log2(log2).with_maximum_log2(log2)
    }
}

bit_fields! {
    /// Optional NVM command support (ONCS).
    pub struct IoSupport(u16) {
        /// Compare.
        compare, with_compare: 0, 1 => bool;
        /// Write Uncorrectable.
        write_uncorrectable, with_write_uncorrectable: 1, 1 => bool;
        /// Dataset Management.
        dataset_management, with_dataset_management: 2, 1 => bool;
        /// Write Zeroes.
        write_zeroes, with_write_zeroes: 3, 1 => bool;
        /// Save in Set Features, Select in Get Features.
        feature_save_select, with_feature_save_select: 4, 1 => bool;
        /// Reservations.
        reservations, with_reservations: 5, 1 => bool;
        /// Timestamp feature.
        timestamp, with_timestamp: 6, 1 => bool;
        /// Verify.
        verify, with_verify: 7, 1 => bool;
    }
}

bit_fields! {
    /// Format NVM attributes (FNA).
    pub struct FormatAttributes(u8) {
        /// A format applies to all namespaces.
        all_namespaces, with_all_namespaces: 0, 1 => bool;
        /// A secure erase applies to all namespaces.
        erase_all_namespaces, with_erase_all_namespaces: 1, 1 => bool;
        /// Cryptographic erase is supported.
        cryptographic_erase, with_cryptographic_erase: 2, 1 => bool;
    }
}

bit_fields! {
    /// Volatile write cache (VWC).
    pub struct WriteCacheAttributes(u8) {
        /// A volatile write cache is present.
        present, with_present: 0, 1 => bool;
        /// Flush with NSID FFFFFFFFh: 0 not reported, 2 not supported, 3 supported.
        flush_all_namespaces, with_flush_all_namespaces: 1, 2 => u8;
    }
}

bit_fields! {
    /// Sanitize capabilities (SANICAP).
    pub struct SanitizeCapabilities(u32) {
        /// Crypto erase.
        crypto_erase, with_crypto_erase: 0, 1 => bool;
        /// Block erase.
        block_erase, with_block_erase: 1, 1 => bool;
        /// Overwrite.
        overwrite, with_overwrite: 2, 1 => bool;
    }
}

bit_fields! {
    /// Flags of a power state descriptor (byte 3; NVMe 1.4 §5.15.2.2).
    pub struct PowerStateFlags(u8) {
        /// Maximum power is in 0.0001 W rather than 0.01 W (MXPS).
        fine_scale, with_fine_scale: 0, 1 => bool;
        /// No I/O commands in this state (NOPS).
        non_operational, with_non_operational: 1, 1 => bool;
    }
}

/// A power state descriptor: 32 bytes (NVMe 1.4 §5.15.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct PowerState {
    /// Maximum power, in the unit that the flags name (MP).
    pub mp: U16,
    reserved_2: u8,
    /// Scale and kind, see [`PowerStateFlags`].
    pub flags: u8,
    /// Entry latency in microseconds (ENLAT).
    pub enlat: U32,
    /// Exit latency in microseconds (EXLAT).
    pub exlat: U32,
    /// Relative read throughput, bits 4:0 (RRT).
    pub rrt: u8,
    /// Relative read latency, bits 4:0 (RRL).
    pub rrl: u8,
    /// Relative write throughput, bits 4:0 (RWT).
    pub rwt: u8,
    /// Relative write latency, bits 4:0 (RWL).
    pub rwl: u8,
    /// Idle power (IDLP).
    pub idlp: U16,
    /// Idle power scale, bits 7:6 (IPS).
    pub ips: u8,
    reserved_19: u8,
    /// Active power (ACTP).
    pub actp: U16,
    /// Active power workload, bits 2:0, and scale, bits 7:6 (APW, APS).
    pub apw_aps: u8,
    reserved_23: [u8; 9],
}

/// Identify controller: 4,096 bytes (NVMe 1.4 §5.15.2.2). Fields carry the standard's mnemonics.
#[derive(Clone, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IdentifyController {
    /// PCI vendor ID (VID).
    pub vid: U16,
    /// PCI subsystem vendor ID (SSVID).
    pub ssvid: U16,
    /// Serial number, ASCII (SN); see [`super::ascii_field`].
    pub sn: [u8; 20],
    /// Model number, ASCII (MN).
    pub mn: [u8; 40],
    /// Firmware revision, ASCII (FR).
    pub fr: [u8; 8],
    /// Recommended arbitration burst as a power of two (RAB).
    pub rab: u8,
    /// IEEE OUI, little-endian (IEEE).
    pub ieee: [u8; 3],
    /// Multi-path I/O and namespace sharing (CMIC).
    pub cmic: u8,
    /// Maximum data transfer size, `2^MDTS` smallest memory pages; 0 for no limit (MDTS).
    pub mdts: u8,
    /// Controller identifier (CNTLID).
    pub cntlid: U16,
    /// Version, as the VS register (VER).
    pub ver: U32,
    /// RTD3 resume latency in microseconds (RTD3R).
    pub rtd3r: U32,
    /// RTD3 entry latency in microseconds (RTD3E).
    pub rtd3e: U32,
    /// Optional asynchronous events, see [`AsyncEventsSupported`] (OAES).
    pub oaes: U32,
    /// Controller attributes (CTRATT).
    pub ctratt: U32,
    /// Read recovery levels supported (RRLS).
    pub rrls: U16,
    reserved_102: [u8; 9],
    /// Controller type: 1 I/O, 2 discovery, 3 administrative (CNTRLTYPE).
    pub cntrltype: u8,
    /// FRU globally unique identifier (FGUID).
    pub fguid: [u8; 16],
    /// Command retry delay times 1 to 3 in 100 ms (CRDT1–CRDT3).
    pub crdt: [U16; 3],
    reserved_134: [u8; 106],
    /// Bytes that NVMe-MI defines.
    pub management_interface: [u8; 16],
    /// Optional admin commands, see [`AdminSupport`] (OACS).
    pub oacs: U16,
    /// Abort command limit, zero-based (ACL).
    pub acl: u8,
    /// Asynchronous event request limit, zero-based (AERL).
    pub aerl: u8,
    /// Firmware updates, see [`FirmwareUpdates`] (FRMW).
    pub frmw: u8,
    /// Log page attributes, see [`LogAttributes`] (LPA).
    pub lpa: u8,
    /// Error log page entries, zero-based (ELPE).
    pub elpe: u8,
    /// Number of power states, zero-based (NPSS).
    pub npss: u8,
    /// Admin vendor specific command configuration (AVSCC).
    pub avscc: u8,
    /// Autonomous power state transition attributes (APSTA).
    pub apsta: u8,
    /// Warning composite temperature threshold in kelvins (WCTEMP).
    pub wctemp: U16,
    /// Critical composite temperature threshold in kelvins (CCTEMP).
    pub cctemp: U16,
    /// Maximum time for firmware activation in 100 ms (MTFA).
    pub mtfa: U16,
    /// Host memory buffer preferred size in 4 KiB (HMPRE).
    pub hmpre: U32,
    /// Host memory buffer minimum size in 4 KiB (HMMIN).
    pub hmmin: U32,
    /// Total NVM capacity in bytes (TNVMCAP).
    pub tnvmcap: U128,
    /// Unallocated NVM capacity in bytes (UNVMCAP).
    pub unvmcap: U128,
    /// Replay protected memory block support (RPMBS).
    pub rpmbs: U32,
    /// Extended device self-test time in minutes (EDSTT).
    pub edstt: U16,
    /// Device self-test options (DSTO).
    pub dsto: u8,
    /// Firmware update granularity in 4 KiB; 0 not reported, FFh none (FWUG).
    pub fwug: u8,
    /// Keep alive granularity in 100 ms; 0 for no keep alive (KAS).
    pub kas: U16,
    /// Host controlled thermal management attributes (HCTMA).
    pub hctma: U16,
    /// Minimum thermal management temperature in kelvins (MNTMT).
    pub mntmt: U16,
    /// Maximum thermal management temperature in kelvins (MXTMT).
    pub mxtmt: U16,
    /// Sanitize capabilities, see [`SanitizeCapabilities`] (SANICAP).
    pub sanicap: U32,
    /// Host memory buffer minimum descriptor entry size in 4 KiB (HMMINDS).
    pub hmminds: U32,
    /// Host memory buffer maximum descriptor entries (HMMAXD).
    pub hmmaxd: U16,
    /// NVM set identifier maximum (NSETIDMAX).
    pub nsetidmax: U16,
    /// Endurance group identifier maximum (ENDGIDMAX).
    pub endgidmax: U16,
    /// ANA transition time in seconds (ANATT).
    pub anatt: u8,
    /// Asymmetric namespace access capabilities (ANACAP).
    pub anacap: u8,
    /// ANA group identifier maximum (ANAGRPMAX).
    pub anagrpmax: U32,
    /// Number of ANA group identifiers (NANAGRPID).
    pub nanagrpid: U32,
    /// Persistent event log size in 64 KiB (PELS).
    pub pels: U32,
    reserved_356: [u8; 156],
    /// Submission queue entry sizes, see [`QueueEntrySizes`] (SQES).
    pub sqes: u8,
    /// Completion queue entry sizes, see [`QueueEntrySizes`] (CQES).
    pub cqes: u8,
    /// Maximum outstanding commands; 0 not reported (MAXCMD).
    pub maxcmd: U16,
    /// Number of namespaces (NN).
    pub nn: U32,
    /// Optional NVM commands, see [`IoSupport`] (ONCS).
    pub oncs: U16,
    /// Fused operation support: bit 0 Compare and Write (FUSES).
    pub fuses: U16,
    /// Format NVM attributes, see [`FormatAttributes`] (FNA).
    pub fna: u8,
    /// Volatile write cache, see [`WriteCacheAttributes`] (VWC).
    pub vwc: u8,
    /// Atomic write unit normal in logical blocks, zero-based (AWUN).
    pub awun: U16,
    /// Atomic write unit power fail in logical blocks, zero-based (AWUPF).
    pub awupf: U16,
    /// NVM vendor specific command configuration (NVSCC).
    pub nvscc: u8,
    /// Namespace write protection capabilities (NWPC).
    pub nwpc: u8,
    /// Atomic compare and write unit in logical blocks, zero-based (ACWU).
    pub acwu: U16,
    reserved_534: [u8; 2],
    /// SGL support; 0 for none (SGLS).
    pub sgls: U32,
    /// Maximum number of allowed namespaces (MNAN).
    pub mnan: U32,
    reserved_544: [u8; 224],
    /// NVM subsystem qualified name, UTF-8, null-terminated (SUBNQN).
    pub subnqn: [u8; 256],
    reserved_1024: [u8; 768],
    /// Bytes that NVMe over Fabrics defines.
    pub fabrics: [u8; 256],
    /// Power state descriptors (PSD0 to PSD31).
    pub psd: [PowerState; 32],
    /// Vendor specific.
    pub vendor: [u8; 1024],
}

impl Default for IdentifyController {
    fn default() -> Self {
        IdentifyController::new_zeroed()
    }
}

impl IdentifyController {
    /// Views the structure in bytes from outside; `None` unless there are at least 4,096.
    pub fn view(bytes: &[u8]) -> Option<&Self> {
        Self::ref_from_prefix(bytes).ok().map(|(view, _)| view)
    }
    /// Sets SUBNQN. Asserts that the name with its terminator fits 224 bytes (NVMe 1.4 §7.9).
    pub fn set_subsystem_name(&mut self, name: &str) {
        assert!(name.len() < 224, "an NQN has at most 223 bytes");
        self.subnqn = [0; 256];
        self.subnqn[..name.len()].copy_from_slice(name.as_bytes());
    }
    /// SUBNQN as text; `None` when it is not UTF-8.
    pub fn subsystem_name(&self) -> Option<&str> {
        let end = self.subnqn.iter().position(|&b| b == 0).unwrap_or(self.subnqn.len());
        core::str::from_utf8(&self.subnqn[..end]).ok()
    }
    /// The most bytes that one command may transfer, given CAP.MPSMIN; `None` for no limit.
    pub const fn transfer_bytes_max(&self, mpsmin: u8) -> Option<u64> {
        let log2 = self.mdts as u32 + 12 + mpsmin as u32;
        if self.mdts == 0 || log2 > 63 { None } else { Some(1 << log2) }
    }
}
