//! Features: identifiers and the dwords that carry their values (NVMe 1.4 §5.21.1).

use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

wire_enum! {
    /// Feature identifiers (NVMe 1.4 §5.21). C0h–FFh are vendor specific.
    pub enum FeatureId(u8) {
        Arbitration = 0x01, "Arbitration";
        PowerManagement = 0x02, "Power Management";
        LbaRangeType = 0x03, "LBA Range Type";
        TemperatureThreshold = 0x04, "Temperature Threshold";
        ErrorRecovery = 0x05, "Error Recovery";
        VolatileWriteCache = 0x06, "Volatile Write Cache";
        NumberOfQueues = 0x07, "Number of Queues";
        InterruptCoalescing = 0x08, "Interrupt Coalescing";
        InterruptVectorConfiguration = 0x09, "Interrupt Vector Configuration";
        WriteAtomicityNormal = 0x0a, "Write Atomicity Normal";
        AsyncEventConfiguration = 0x0b, "Asynchronous Event Configuration";
        AutonomousPowerStateTransition = 0x0c, "Autonomous Power State Transition";
        HostMemoryBuffer = 0x0d, "Host Memory Buffer";
        Timestamp = 0x0e, "Timestamp";
        KeepAliveTimer = 0x0f, "Keep Alive Timer";
        HostControlledThermalManagement = 0x10, "Host Controlled Thermal Management";
        NonOperationalPowerState = 0x11, "Non-Operational Power State Config";
        ReadRecoveryLevel = 0x12, "Read Recovery Level Config";
        PredictableLatencyConfig = 0x13, "Predictable Latency Mode Config";
        PredictableLatencyWindow = 0x14, "Predictable Latency Mode Window";
        LbaStatusReportInterval = 0x15, "LBA Status Information Report Interval";
        HostBehaviorSupport = 0x16, "Host Behavior Support";
        SanitizeConfig = 0x17, "Sanitize Config";
        EnduranceGroupEvents = 0x18, "Endurance Group Event Configuration";
        SoftwareProgressMarker = 0x80, "Software Progress Marker";
        HostIdentifier = 0x81, "Host Identifier";
        ReservationNotificationMask = 0x82, "Reservation Notification Mask";
        ReservationPersistence = 0x83, "Reservation Persistence";
        NamespaceWriteProtection = 0x84, "Namespace Write Protection Config";
    }
}

wire_enum! {
    /// Which of a feature's values Get Features returns (NVMe 1.4 §5.13).
    pub enum FeatureSelect(u8) {
        Current = 0b000, "current";
        Default = 0b001, "default";
        Saved = 0b010, "saved";
        Capabilities = 0b011, "supported capabilities";
    }
}

bit_fields! {
    /// What Get Features answers for [`FeatureSelect::Capabilities`] (NVMe 1.4 §5.13).
    pub struct FeatureCapabilities(u32) {
        /// The value can be saved over power cycles and resets.
        saveable, with_saveable: 0, 1 => bool;
        /// The feature belongs to a namespace, not to the controller.
        namespace_specific, with_namespace_specific: 1, 1 => bool;
        /// The value can be changed.
        changeable, with_changeable: 2, 1 => bool;
    }
}

bit_fields! {
    /// Arbitration (NVMe 1.4 §5.21.1.1).
    pub struct ArbitrationFeature(u32) {
        /// Arbitration burst: `2^AB` commands; 7 for no limit.
        burst, with_burst: 0, 3 => u8;
        /// Low priority weight, zero-based.
        low_weight, with_low_weight: 8, 8 => u8;
        /// Medium priority weight, zero-based.
        medium_weight, with_medium_weight: 16, 8 => u8;
        /// High priority weight, zero-based.
        high_weight, with_high_weight: 24, 8 => u8;
    }
}

/// The value of [`ArbitrationFeature::burst`] that stands for no limit (NVMe 1.4 §5.21.1.1).
pub const ARBITRATION_BURST_UNLIMITED: u8 = 0b111;

bit_fields! {
    /// Power Management (NVMe 1.4 §5.21.1.2).
    pub struct PowerManagement(u32) {
        /// Power state (PS).
        power_state, with_power_state: 0, 5 => u8;
        /// Workload hint (WH).
        workload_hint, with_workload_hint: 5, 3 => u8;
    }
}

bit_fields! {
    /// LBA Range Type (NVMe 1.4 §5.21.1.3); the ranges are data, see [`LbaRange`].
    pub struct LbaRangeType(u32) {
        /// Number of ranges, zero-based (NUM).
        number_of_ranges, with_number_of_ranges: 0, 6 => u8;
    }
}

/// One LBA range: 64 bytes (NVMe 1.4 §5.21.1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct LbaRange {
    /// What the range holds: 0 reserved, 1 file system, 2 RAID, 3 cache, 4 page or swap file.
    pub kind: u8,
    /// Bit 0: may be overwritten; bit 1: hidden from the operating system.
    pub attributes: u8,
    reserved_2: [u8; 14],
    /// Starting LBA.
    pub slba: U64,
    /// Number of logical blocks, zero-based.
    pub blocks_zero_based: U64,
    /// Unique identifier of the range.
    pub guid: [u8; 16],
    reserved_48: [u8; 16],
}

bit_fields! {
    /// Temperature Threshold (NVMe 1.4 §5.21.1.4).
    pub struct TemperatureThreshold(u32) {
        /// Threshold in kelvins (TMPTH).
        kelvins, with_kelvins: 0, 16 => u16;
        /// Sensor: 0 composite, 1 to 8 a sensor, 15 all (TMPSEL).
        sensor, with_sensor: 16, 4 => u8;
        /// 0 over, 1 under temperature (THSEL).
        kind, with_kind: 20, 2 => u8;
    }
}

bit_fields! {
    /// Error Recovery (NVMe 1.4 §5.21.1.5).
    pub struct ErrorRecovery(u32) {
        /// Time limited error recovery in 100 ms; 0 for no limit (TLER).
        time_limit_100ms, with_time_limit_100ms: 0, 16 => u16;
        /// Reads of deallocated or unwritten blocks fail (DULBE).
        deallocated_error, with_deallocated_error: 16, 1 => bool;
    }
}

bit_fields! {
    /// Volatile Write Cache (NVMe 1.4 §5.21.1.6).
    pub struct VolatileWriteCache(u32) {
        /// The cache is enabled (WCE).
        enabled, with_enabled: 0, 1 => bool;
    }
}

bit_fields! {
    /// Number of Queues (NVMe 1.4 §5.21.1.7): as requested in Set Features, as allocated in the completion.
    pub struct NumberOfQueues(u32) {
        /// I/O submission queues, zero-based (NSQR, NSQA).
        submission_zero_based, with_submission_zero_based: 0, 16 => u16;
        /// I/O completion queues, zero-based (NCQR, NCQA).
        completion_zero_based, with_completion_zero_based: 16, 16 => u16;
    }
}

impl NumberOfQueues {
    /// Counts of I/O queues. Asserts that both are in 1..=65,535: 65,535 zero-based is reserved for an error.
    pub const fn of(submission: u16, completion: u16) -> Self {
        assert!(submission >= 1 && completion >= 1, "at least one I/O queue of each kind");
        NumberOfQueues(0)
            .with_submission_zero_based(submission - 1)
            .with_completion_zero_based(completion - 1)
    }
    /// Submission queues: 1 to 65,536; 65,536 is Invalid Field.
    pub const fn submission(self) -> u32 {
        self.submission_zero_based() as u32 + 1
    }
    /// Completion queues: 1 to 65,536; 65,536 is Invalid Field.
    pub const fn completion(self) -> u32 {
        self.completion_zero_based() as u32 + 1
    }
}

bit_fields! {
    /// Interrupt Coalescing (NVMe 1.4 §5.21.1.8).
    pub struct InterruptCoalescing(u32) {
        /// Aggregation threshold in completions, zero-based (THR).
        threshold_zero_based, with_threshold_zero_based: 0, 8 => u8;
        /// Aggregation time in 100 µs; 0 for none (TIME).
        time_100us, with_time_100us: 8, 8 => u8;
    }
}

bit_fields! {
    /// Interrupt Vector Configuration (NVMe 1.4 §5.21.1.9).
    pub struct InterruptVectorConfiguration(u32) {
        /// The vector (IV).
        vector, with_vector: 0, 16 => u16;
        /// Coalescing is disabled for it (CD).
        coalescing_disabled, with_coalescing_disabled: 16, 1 => bool;
    }
}

bit_fields! {
    /// Write Atomicity Normal (NVMe 1.4 §5.21.1.10).
    pub struct WriteAtomicityNormal(u32) {
        /// The host needs atomicity only at power fail (DN).
        disable_normal, with_disable_normal: 0, 1 => bool;
    }
}

bit_fields! {
    /// Asynchronous Event Configuration (NVMe 1.4 §5.21.1.11): which events the host wants.
    pub struct AsyncEventConfiguration(u32) {
        /// SMART critical warnings, the bits of [`super::log::CriticalWarning`].
        critical_warnings, with_critical_warnings: 0, 8 => u8;
        /// Namespace attribute notices.
        namespace_attributes, with_namespace_attributes: 8, 1 => bool;
        /// Firmware activation notices.
        firmware_activation, with_firmware_activation: 9, 1 => bool;
        /// Telemetry log notices.
        telemetry, with_telemetry: 10, 1 => bool;
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

/// Host Behavior Support (NVMe 1.4 §5.21.1.22): 512 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct HostBehavior {
    /// Whether the host waits as a completion's CRD says before it repeats the command (ACRE): 0 or 1.
    pub acre: u8,
    reserved_1: [u8; 511],
}

impl HostBehavior {
    /// Bytes of the structure.
    pub const BYTES: usize = 512;

    /// A host that waits before it repeats commands, or doesn't.
    pub const fn of(retries_later: bool) -> Self {
        HostBehavior { acre: retries_later as u8, reserved_1: [0; 511] }
    }
    /// ACRE; `None` for a reserved value.
    pub const fn retries_later(&self) -> Option<bool> {
        match self.acre {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

bit_fields! {
    /// Completion dword 0 of Asynchronous Event Request (NVMe 1.4 §5.2.1).
    pub struct AsyncEvent(u32) {
        /// Event type, see [`AsyncEventType`].
        kind, with_kind: 0, 3 => u8;
        /// Event information, meaningful within its type.
        information, with_information: 8, 8 => u8;
        /// The log page to read.
        log_id, with_log_id: 16, 8 => u8;
    }
}

wire_enum! {
    /// Type of an asynchronous event (NVMe 1.4 §5.2.1).
    pub enum AsyncEventType(u8) {
        Error = 0b000, "error status";
        Health = 0b001, "SMART / health status";
        Notice = 0b010, "notice";
        CommandSet = 0b110, "I/O command set specific status";
        Vendor = 0b111, "vendor specific";
    }
}

wire_enum! {
    /// Information of an error status event (NVMe 1.4 §5.2.1).
    pub enum ErrorEvent(u8) {
        InvalidDoorbellRegister = 0x00, "write to invalid doorbell register";
        InvalidDoorbellValue = 0x01, "invalid doorbell write value";
        DiagnosticFailure = 0x02, "diagnostic failure";
        PersistentInternalError = 0x03, "persistent internal error";
        TransientInternalError = 0x04, "transient internal error";
        FirmwareImageLoadError = 0x05, "firmware image load error";
    }
}

wire_enum! {
    /// Information of a SMART / health status event (NVMe 1.4 §5.2.1).
    pub enum HealthEvent(u8) {
        SubsystemReliability = 0x00, "NVM subsystem reliability";
        TemperatureThreshold = 0x01, "temperature threshold";
        SpareBelowThreshold = 0x02, "spare below threshold";
    }
}

wire_enum! {
    /// Information of a notice event (NVMe 1.4 §5.2.1).
    pub enum NoticeEvent(u8) {
        NamespaceAttributeChanged = 0x00, "namespace attribute changed";
        FirmwareActivationStarting = 0x01, "firmware activation starting";
        TelemetryLogChanged = 0x02, "telemetry log changed";
        AsymmetricAccessChange = 0x03, "asymmetric namespace access change";
        PredictableLatencyChange = 0x04, "predictable latency event aggregate log change";
        LbaStatusAlert = 0x05, "LBA status information alert";
        EnduranceGroupChange = 0x06, "endurance group event aggregate log page change";
    }
}

impl AsyncEvent {
    /// An event with its type, information and log page.
    pub const fn of(kind: AsyncEventType, information: u8, log_id: u8) -> Self {
        AsyncEvent(0).with_kind(kind.raw()).with_information(information).with_log_id(log_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_in_their_dwords_as_section_5_21_says() {
        assert_eq!(NumberOfQueues::of(64, 32).0, 0x001f_003f);
        assert_eq!(NumberOfQueues(u32::MAX).submission(), 65_536);
        let arbitration = ArbitrationFeature(0).with_burst(3).with_low_weight(1).with_high_weight(0xff);
        assert_eq!(arbitration.0, 0xff00_0103);
        assert_eq!(TemperatureThreshold(0).with_kelvins(343).with_kind(1).0, 0x0010_0157);
        assert_eq!(ErrorRecovery(0x0001_0005).time_limit_100ms(), 5);
        assert!(ErrorRecovery(0x0001_0005).deallocated_error());
        assert_eq!(InterruptCoalescing(0x0204).time_100us(), 2);
        assert!(InterruptVectorConfiguration(0x0001_0003).coalescing_disabled());
        assert_eq!(AsyncEvent::of(AsyncEventType::Health, 1, 2).0, 0x0002_0101);
    }

    #[test]
    fn an_lba_range_is_64_bytes_with_its_start_at_16() {
        let mut bytes = [0u8; 64];
        bytes[16] = 9;
        bytes[24] = 7;
        let range = LbaRange::ref_from_bytes(&bytes).unwrap();
        assert_eq!((range.slba.get(), range.blocks_zero_based.get()), (9, 7));
    }

    #[test]
    fn host_behavior_is_512_bytes_that_begin_with_acre() {
        assert_eq!(size_of::<HostBehavior>(), HostBehavior::BYTES);
        assert_eq!(HostBehavior::of(true).as_bytes()[..2], [1, 0]);
        assert_eq!(HostBehavior::of(true).retries_later(), Some(true));
        assert_eq!(HostBehavior { acre: 2, ..HostBehavior::of(false) }.retries_later(), None);
    }

    #[test]
    fn identifiers_round_trip_and_reserved_ones_are_none() {
        for &id in FeatureId::ALL {
            assert_eq!(FeatureId::from_raw(id.raw()), Some(id));
        }
        assert_eq!(FeatureId::from_raw(0), None);
        assert_eq!(FeatureId::from_raw(0x7f), None);
    }
}
