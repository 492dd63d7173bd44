//! Log pages (NVMe 1.4 §5.14.1).

use super::status::Status;
use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

pub use super::identify::NamespaceList as ChangedNamespaces;

wire_enum! {
    /// Log page identifiers (NVMe 1.4 §5.14.1). C0h–FFh are vendor specific.
    pub enum LogId(u8) {
        ErrorInformation = 0x01, "Error Information";
        Health = 0x02, "SMART / Health Information";
        FirmwareSlot = 0x03, "Firmware Slot Information";
        ChangedNamespaces = 0x04, "Changed Namespace List";
        CommandsSupported = 0x05, "Commands Supported and Effects";
        DeviceSelfTest = 0x06, "Device Self-test";
        TelemetryHost = 0x07, "Telemetry Host-Initiated";
        TelemetryController = 0x08, "Telemetry Controller-Initiated";
        EnduranceGroup = 0x09, "Endurance Group Information";
        PredictableLatencySet = 0x0a, "Predictable Latency Per NVM Set";
        PredictableLatencyAggregate = 0x0b, "Predictable Latency Event Aggregate";
        AsymmetricAccess = 0x0c, "Asymmetric Namespace Access";
        PersistentEvent = 0x0d, "Persistent Event Log";
        LbaStatus = 0x0e, "LBA Status Information";
        EnduranceGroupAggregate = 0x0f, "Endurance Group Event Aggregate";
        Discovery = 0x70, "Discovery";
        ReservationNotification = 0x80, "Reservation Notification";
        SanitizeStatus = 0x81, "Sanitize Status";
        Statistics = 0xc0, "Operation Monitor";
    }
}

/// Bytes of the operation monitor's log, which is specific to this drive (C46): the latest sample as one
/// line of JSON, followed by zeroes.
pub const STATISTICS_BYTES: usize = 4096;

bit_fields! {
    /// Where in a command the error is (NVMe 1.4 §5.14.1.1, bytes 15:14).
    pub struct ErrorLocation(u16) {
        /// Byte of the command, 0 to 63.
        byte, with_byte: 0, 8 => u8;
        /// Bit of the byte.
        bit, with_bit: 8, 3 => u8;
    }
}

impl ErrorLocation {
    /// The error is not in one field of the command.
    pub const NONE: ErrorLocation = ErrorLocation(0xffff);
    /// The error is at a byte and bit of the command.
    pub const fn of(byte: u8, bit: u8) -> Self {
        ErrorLocation(0).with_byte(byte).with_bit(bit)
    }
}

/// SQID and CID of an error that belongs to no command (NVMe 1.4 §5.14.1.1).
pub const NO_COMMAND: u16 = 0xffff;

/// An error information log entry: 64 bytes (NVMe 1.4 §5.14.1.1). All zeroes is an unused entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ErrorEntry {
    /// Counts errors over the controller's life; 0 marks an unused entry.
    pub error_count: U64,
    /// Submission queue of the command, or [`NO_COMMAND`].
    pub sq_id: U16,
    /// Identifier of the command, or [`NO_COMMAND`].
    pub cid: U16,
    /// Status field with phase tag, as in the completion.
    pub status_and_phase: U16,
    /// Parameter error location, see [`ErrorLocation`].
    pub location: U16,
    /// First LBA with the error.
    pub lba: U64,
    /// Namespace.
    pub nsid: U32,
    /// Log page with vendor specific information; 0 for none.
    pub vendor_log: u8,
    /// Transport type; 0 when not reported.
    pub transport: u8,
    reserved_30: [u8; 2],
    /// Command specific information.
    pub command_information: U64,
    /// Transport specific information.
    pub transport_information: U16,
    reserved_42: [u8; 22],
}

impl ErrorEntry {
    /// Bytes of an entry.
    pub const BYTES: usize = 64;
    /// An entry for the error number `error_count` of a command.
    pub const fn new(error_count: u64, sq_id: u16, cid: u16, status: Status, phase: bool) -> Self {
        ErrorEntry {
            error_count: U64::new(error_count),
            sq_id: U16::new(sq_id),
            cid: U16::new(cid),
            status_and_phase: U16::new(status.with_phase_tag(phase)),
            location: U16::new(ErrorLocation::NONE.0),
            lba: U64::ZERO,
            nsid: U32::ZERO,
            vendor_log: 0,
            transport: 0,
            reserved_30: [0; 2],
            command_information: U64::ZERO,
            transport_information: U16::ZERO,
            reserved_42: [0; 22],
        }
    }
    /// The status of the command.
    pub const fn status(&self) -> Status {
        Status::from_wire(self.status_and_phase.get()).0
    }
}

impl Default for ErrorEntry {
    fn default() -> Self {
        ErrorEntry::new_zeroed()
    }
}

bit_fields! {
    /// Critical warnings (NVMe 1.4 §5.14.1.2, byte 0).
    pub struct CriticalWarning(u8) {
        /// Available spare is below its threshold.
        spare_low, with_spare_low: 0, 1 => bool;
        /// A temperature is past its threshold.
        temperature, with_temperature: 1, 1 => bool;
        /// Reliability is degraded by media or internal errors.
        reliability_degraded, with_reliability_degraded: 2, 1 => bool;
        /// The media is read only.
        read_only, with_read_only: 3, 1 => bool;
        /// The volatile memory backup failed.
        backup_failed, with_backup_failed: 4, 1 => bool;
        /// The persistent memory region is read only or unreliable.
        persistent_region, with_persistent_region: 5, 1 => bool;
    }
}

/// SMART / health information: 512 bytes (NVMe 1.4 §5.14.1.2).
#[derive(Clone, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct HealthLog {
    /// See [`CriticalWarning`].
    pub critical_warning: u8,
    /// Composite temperature in kelvins.
    pub composite_temperature: U16,
    /// Remaining spare, 0 to 100 %.
    pub available_spare: u8,
    /// Spare below which a warning is raised, 0 to 100 %.
    pub available_spare_threshold: u8,
    /// Estimated life used in percent; may pass 100, 255 stands for more.
    pub percentage_used: u8,
    /// Endurance group critical warning summary.
    pub endurance_group_warning: u8,
    reserved_7: [u8; 25],
    /// Thousands of 512-byte units read, rounded up.
    pub data_units_read: U128,
    /// Thousands of 512-byte units written, rounded up.
    pub data_units_written: U128,
    /// Read and Compare commands.
    pub host_read_commands: U128,
    /// Write commands.
    pub host_write_commands: U128,
    /// Minutes that the controller was busy with I/O.
    pub controller_busy_minutes: U128,
    /// Power cycles.
    pub power_cycles: U128,
    /// Power-on hours.
    pub power_on_hours: U128,
    /// Power losses without a shutdown notification.
    pub unsafe_shutdowns: U128,
    /// Unrecovered data integrity errors.
    pub media_errors: U128,
    /// Error information log entries over the controller's life.
    pub error_log_entries: U128,
    /// Minutes above the warning temperature.
    pub warning_temperature_minutes: U32,
    /// Minutes above the critical temperature.
    pub critical_temperature_minutes: U32,
    /// Temperature sensors 1 to 8 in kelvins; 0 for an absent one.
    pub temperature_sensors: [U16; 8],
    /// Transitions to thermal management states 1 and 2.
    pub thermal_transitions: [U32; 2],
    /// Seconds in thermal management states 1 and 2.
    pub thermal_seconds: [U32; 2],
    reserved_232: [u8; 280],
}

impl HealthLog {
    /// Bytes of the log.
    pub const BYTES: usize = 512;
    /// The log's data units for a byte count: thousands of 512 bytes, rounded up.
    pub const fn data_units(bytes: u128) -> u128 {
        bytes.div_ceil(512_000)
    }
}

impl Default for HealthLog {
    fn default() -> Self {
        HealthLog::new_zeroed()
    }
}

bit_fields! {
    /// Active firmware information (NVMe 1.4 §5.14.1.3, byte 0).
    pub struct ActiveFirmware(u8) {
        /// The slot that runs, 1 to 7.
        active_slot, with_active_slot: 0, 3 => u8;
        /// The slot of the next reset; 0 when not indicated.
        next_slot, with_next_slot: 4, 3 => u8;
    }
}

/// Firmware slot information: 512 bytes (NVMe 1.4 §5.14.1.3).
#[derive(Clone, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct FirmwareSlotLog {
    /// See [`ActiveFirmware`].
    pub active: u8,
    reserved_1: [u8; 7],
    /// Firmware revisions of slots 1 to 7, ASCII; all zeroes for an empty slot.
    pub revisions: [[u8; 8]; 7],
    reserved_64: [u8; 448],
}

impl FirmwareSlotLog {
    /// Bytes of the log.
    pub const BYTES: usize = 512;
}

impl Default for FirmwareSlotLog {
    fn default() -> Self {
        FirmwareSlotLog::new_zeroed()
    }
}

bit_fields! {
    /// What a command does to the drive (NVMe 1.4 §5.14.1.5).
    pub struct CommandEffects(u32) {
        /// The command is supported (CSUPP).
        supported, with_supported: 0, 1 => bool;
        /// It may change logical block content (LBCC).
        block_content_change, with_block_content_change: 1, 1 => bool;
        /// It may change a namespace's capabilities (NCC).
        namespace_capability_change, with_namespace_capability_change: 2, 1 => bool;
        /// It may change the number of namespaces (NIC).
        namespace_inventory_change, with_namespace_inventory_change: 3, 1 => bool;
        /// It may change the controller's capabilities (CCC).
        controller_capability_change, with_controller_capability_change: 4, 1 => bool;
        /// 0 none, 1 no other command to the namespace, 2 no other command at all (CSE).
        exclusion, with_exclusion: 16, 3 => u8;
        /// A UUID can be selected.
        uuid_selection, with_uuid_selection: 19, 1 => bool;
    }
}

/// Commands supported and effects: 4,096 bytes (NVMe 1.4 §5.14.1.5).
#[derive(Clone, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CommandsSupportedLog {
    /// [`CommandEffects`] of each admin opcode.
    pub admin: [U32; 256],
    /// [`CommandEffects`] of each I/O opcode.
    pub io: [U32; 256],
    reserved_2048: [u8; 2048],
}

impl Default for CommandsSupportedLog {
    fn default() -> Self {
        CommandsSupportedLog::new_zeroed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::{offset_of, size_of};

    #[test]
    fn the_logs_have_their_sizes() {
        assert_eq!(size_of::<ErrorEntry>(), ErrorEntry::BYTES);
        assert_eq!(size_of::<HealthLog>(), HealthLog::BYTES);
        assert_eq!(size_of::<FirmwareSlotLog>(), FirmwareSlotLog::BYTES);
        assert_eq!(size_of::<CommandsSupportedLog>(), 4096);
        assert_eq!(size_of::<ChangedNamespaces>(), 4096);
    }

    #[test]
    fn fields_lie_where_the_standard_puts_them() {
        assert_eq!(offset_of!(ErrorEntry, status_and_phase), 12);
        assert_eq!(offset_of!(ErrorEntry, lba), 16);
        assert_eq!(offset_of!(ErrorEntry, vendor_log), 28);
        assert_eq!(offset_of!(ErrorEntry, command_information), 32);
        assert_eq!(offset_of!(ErrorEntry, transport_information), 40);
        assert_eq!(offset_of!(HealthLog, composite_temperature), 1);
        assert_eq!(offset_of!(HealthLog, percentage_used), 5);
        assert_eq!(offset_of!(HealthLog, data_units_read), 32);
        assert_eq!(offset_of!(HealthLog, power_cycles), 112);
        assert_eq!(offset_of!(HealthLog, error_log_entries), 176);
        assert_eq!(offset_of!(HealthLog, warning_temperature_minutes), 192);
        assert_eq!(offset_of!(HealthLog, temperature_sensors), 200);
        assert_eq!(offset_of!(HealthLog, thermal_seconds), 224);
        assert_eq!(offset_of!(FirmwareSlotLog, revisions), 8);
    }

    #[test]
    fn an_error_entry_keeps_the_completions_status() {
        let status = Status::INVALID_FIELD.with_dnr(true).with_more(true);
        let entry = ErrorEntry::new(9, 1, 2, status, true);
        let bytes = ErrorEntry::read_from_bytes(entry.as_bytes()).unwrap();
        assert_eq!(bytes.status(), status);
        assert_eq!(entry.as_bytes()[14..16], [0xff, 0xff]);
        assert_eq!(ErrorLocation::of(40, 7).0, 0x0728);
    }

    #[test]
    fn data_units_are_thousands_of_512_bytes_rounded_up() {
        assert_eq!([0, 1, 512_000, 512_001].map(HealthLog::data_units), [0, 1, 1, 2]);
    }
}
