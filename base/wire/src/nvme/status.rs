//! The status field of a completion (NVMe 1.4 §4.6.1).

use core::fmt;

bit_fields! {
    /// A status field without its phase tag: 15 bits (NVMe 1.4 §4.6.1).
    ///
    /// Compare with [`Status::is`], which checks only type and code: a controller is free to set the
    /// other bits.
    pub struct StatusBits(u16) {
        /// Status code, meaningful within its type.
        code, with_code: 0, 8 => u8;
        /// Status code type.
        code_type, with_code_type: 8, 3 => u8;
        /// Command retry delay: 0 for none, else which of CRDT1–3 applies.
        retry_delay, with_retry_delay: 11, 2 => u8;
        /// More information is in the error information log.
        more, with_more: 13, 1 => bool;
        /// Do not retry: the same command would fail again.
        dnr, with_dnr: 14, 1 => bool;
    }
}

wire_enum! {
    /// Status code type (NVMe 1.4 §4.6.1.1).
    pub enum StatusType(u8) {
        Generic = 0x0, "Generic Command Status";
        CommandSpecific = 0x1, "Command Specific Status";
        Media = 0x2, "Media and Data Integrity Errors";
        Path = 0x3, "Path Related Status";
        Vendor = 0x7, "Vendor Specific";
    }
}

/// A command's outcome: status code type, status code, and the retry hints. The default is success.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(StatusBits);

impl Status {
    /// The status of a type and code, with "more" and "do not retry" clear.
    pub const fn new(code_type: StatusType, code: u8) -> Self {
        Status(StatusBits(0).with_code_type(code_type.raw()).with_code(code))
    }
    /// The status of a raw 15-bit field (bit 15 of `raw` is ignored).
    pub const fn from_raw(raw: u16) -> Self {
        Status(StatusBits(raw & 0x7fff))
    }
    /// The raw 15-bit field.
    pub const fn raw(self) -> u16 {
        self.0.0
    }
    /// Splits the halfword of a completion entry or error log entry into status and phase tag.
    pub const fn from_wire(halfword: u16) -> (Self, bool) {
        (Status(StatusBits(halfword >> 1)), halfword & 1 != 0)
    }
    /// The halfword as a completion entry or error log entry carries it: phase tag in bit 0.
    pub const fn with_phase_tag(self, phase: bool) -> u16 {
        (self.0.0 << 1) | phase as u16
    }
    /// The fields.
    pub const fn bits(self) -> StatusBits {
        self.0
    }
    /// The status code type; `None` when the standard reserves it.
    pub const fn code_type(self) -> Option<StatusType> {
        StatusType::from_raw(self.0.code_type())
    }
    /// The status code.
    pub const fn code(self) -> u8 {
        self.0.code()
    }
    /// Whether type and code are those of `other`; the hints don't matter.
    pub const fn is(self, other: Status) -> bool {
        self.0.code() == other.0.code() && self.0.code_type() == other.0.code_type()
    }
    /// Whether the command succeeded.
    pub const fn is_success(self) -> bool {
        self.is(Status::SUCCESS)
    }
    /// This status with "do not retry" set or cleared.
    #[must_use]
    pub const fn with_dnr(self, dnr: bool) -> Self {
        Status(self.0.with_dnr(dnr))
    }
    /// This status with "more" set or cleared.
    #[must_use]
    pub const fn with_more(self, more: bool) -> Self {
        Status(self.0.with_more(more))
    }
}

macro_rules! status_codes {
    ($( $(#[$meta:meta])* $name:ident = $kind:ident, $code:literal, $text:literal; )*) => {
        impl Status {
            $( $(#[$meta])* #[doc = concat!("Code `", stringify!($code), "`: ", $text, ".")]
               pub const $name: Status = Status::new(StatusType::$kind, $code); )*

            /// Every status that NVMe 1.4 names.
            pub const NAMED: &'static [Status] = &[$( Status::$name, )*];

            /// The standard's words for the status; `None` when it names none.
            pub const fn text(self) -> Option<&'static str> {
                match (self.code_type(), self.code()) {
                    $( (Some(StatusType::$kind), $code) => Some($text), )*
                    _ => None,
                }
            }
        }
    };
}

status_codes! {
    SUCCESS = Generic, 0x00, "Successful Completion";
    INVALID_OPCODE = Generic, 0x01, "Invalid Command Opcode";
    INVALID_FIELD = Generic, 0x02, "Invalid Field in Command";
    COMMAND_ID_CONFLICT = Generic, 0x03, "Command ID Conflict";
    DATA_TRANSFER_ERROR = Generic, 0x04, "Data Transfer Error";
    ABORTED_POWER_LOSS = Generic, 0x05, "Commands Aborted due to Power Loss Notification";
    INTERNAL_ERROR = Generic, 0x06, "Internal Error";
    ABORT_REQUESTED = Generic, 0x07, "Command Abort Requested";
    ABORTED_SQ_DELETION = Generic, 0x08, "Command Aborted due to SQ Deletion";
    ABORTED_FAILED_FUSED = Generic, 0x09, "Command Aborted due to Failed Fused Command";
    ABORTED_MISSING_FUSED = Generic, 0x0a, "Command Aborted due to Missing Fused Command";
    INVALID_NAMESPACE_OR_FORMAT = Generic, 0x0b, "Invalid Namespace or Format";
    COMMAND_SEQUENCE_ERROR = Generic, 0x0c, "Command Sequence Error";
    INVALID_SGL_SEGMENT_DESCRIPTOR = Generic, 0x0d, "Invalid SGL Segment Descriptor";
    INVALID_SGL_DESCRIPTOR_COUNT = Generic, 0x0e, "Invalid Number of SGL Descriptors";
    DATA_SGL_LENGTH_INVALID = Generic, 0x0f, "Data SGL Length Invalid";
    METADATA_SGL_LENGTH_INVALID = Generic, 0x10, "Metadata SGL Length Invalid";
    SGL_DESCRIPTOR_TYPE_INVALID = Generic, 0x11, "SGL Descriptor Type Invalid";
    INVALID_CMB_USE = Generic, 0x12, "Invalid Use of Controller Memory Buffer";
    PRP_OFFSET_INVALID = Generic, 0x13, "PRP Offset Invalid";
    ATOMIC_WRITE_UNIT_EXCEEDED = Generic, 0x14, "Atomic Write Unit Exceeded";
    OPERATION_DENIED = Generic, 0x15, "Operation Denied";
    SGL_OFFSET_INVALID = Generic, 0x16, "SGL Offset Invalid";
    HOST_IDENTIFIER_INCONSISTENT = Generic, 0x18, "Host Identifier Inconsistent Format";
    KEEP_ALIVE_TIMER_EXPIRED = Generic, 0x19, "Keep Alive Timer Expired";
    KEEP_ALIVE_TIMEOUT_INVALID = Generic, 0x1a, "Keep Alive Timeout Invalid";
    ABORTED_PREEMPT_AND_ABORT = Generic, 0x1b, "Command Aborted due to Preempt and Abort";
    SANITIZE_FAILED = Generic, 0x1c, "Sanitize Failed";
    SANITIZE_IN_PROGRESS = Generic, 0x1d, "Sanitize In Progress";
    SGL_GRANULARITY_INVALID = Generic, 0x1e, "SGL Data Block Granularity Invalid";
    NOT_SUPPORTED_IN_CMB_QUEUE = Generic, 0x1f, "Command Not Supported for Queue in CMB";
    NAMESPACE_WRITE_PROTECTED = Generic, 0x20, "Namespace is Write Protected";
    COMMAND_INTERRUPTED = Generic, 0x21, "Command Interrupted";
    TRANSIENT_TRANSPORT_ERROR = Generic, 0x22, "Transient Transport Error";
    LBA_OUT_OF_RANGE = Generic, 0x80, "LBA Out of Range";
    CAPACITY_EXCEEDED = Generic, 0x81, "Capacity Exceeded";
    NAMESPACE_NOT_READY = Generic, 0x82, "Namespace Not Ready";
    RESERVATION_CONFLICT = Generic, 0x83, "Reservation Conflict";
    FORMAT_IN_PROGRESS = Generic, 0x84, "Format In Progress";

    COMPLETION_QUEUE_INVALID = CommandSpecific, 0x00, "Completion Queue Invalid";
    INVALID_QUEUE_IDENTIFIER = CommandSpecific, 0x01, "Invalid Queue Identifier";
    INVALID_QUEUE_SIZE = CommandSpecific, 0x02, "Invalid Queue Size";
    ABORT_LIMIT_EXCEEDED = CommandSpecific, 0x03, "Abort Command Limit Exceeded";
    ASYNC_EVENT_LIMIT_EXCEEDED = CommandSpecific, 0x05, "Asynchronous Event Request Limit Exceeded";
    INVALID_FIRMWARE_SLOT = CommandSpecific, 0x06, "Invalid Firmware Slot";
    INVALID_FIRMWARE_IMAGE = CommandSpecific, 0x07, "Invalid Firmware Image";
    INVALID_INTERRUPT_VECTOR = CommandSpecific, 0x08, "Invalid Interrupt Vector";
    INVALID_LOG_PAGE = CommandSpecific, 0x09, "Invalid Log Page";
    INVALID_FORMAT = CommandSpecific, 0x0a, "Invalid Format";
    FIRMWARE_NEEDS_CONVENTIONAL_RESET = CommandSpecific, 0x0b, "Firmware Activation Requires Conventional \
        Reset";
    INVALID_QUEUE_DELETION = CommandSpecific, 0x0c, "Invalid Queue Deletion";
    FEATURE_NOT_SAVEABLE = CommandSpecific, 0x0d, "Feature Identifier Not Saveable";
    FEATURE_NOT_CHANGEABLE = CommandSpecific, 0x0e, "Feature Not Changeable";
    FEATURE_NOT_NAMESPACE_SPECIFIC = CommandSpecific, 0x0f, "Feature Not Namespace Specific";
    FIRMWARE_NEEDS_SUBSYSTEM_RESET = CommandSpecific, 0x10, "Firmware Activation Requires NVM Subsystem \
        Reset";
    FIRMWARE_NEEDS_CONTROLLER_RESET = CommandSpecific, 0x11, "Firmware Activation Requires Controller Level \
        Reset";
    FIRMWARE_NEEDS_MAXIMUM_TIME = CommandSpecific, 0x12, "Firmware Activation Requires Maximum Time \
        Violation";
    FIRMWARE_ACTIVATION_PROHIBITED = CommandSpecific, 0x13, "Firmware Activation Prohibited";
    OVERLAPPING_RANGE = CommandSpecific, 0x14, "Overlapping Range";
    NAMESPACE_INSUFFICIENT_CAPACITY = CommandSpecific, 0x15, "Namespace Insufficient Capacity";
    NAMESPACE_ID_UNAVAILABLE = CommandSpecific, 0x16, "Namespace Identifier Unavailable";
    NAMESPACE_ALREADY_ATTACHED = CommandSpecific, 0x18, "Namespace Already Attached";
    NAMESPACE_IS_PRIVATE = CommandSpecific, 0x19, "Namespace Is Private";
    NAMESPACE_NOT_ATTACHED = CommandSpecific, 0x1a, "Namespace Not Attached";
    THIN_PROVISIONING_NOT_SUPPORTED = CommandSpecific, 0x1b, "Thin Provisioning Not Supported";
    CONTROLLER_LIST_INVALID = CommandSpecific, 0x1c, "Controller List Invalid";
    SELF_TEST_IN_PROGRESS = CommandSpecific, 0x1d, "Device Self-test In Progress";
    BOOT_PARTITION_WRITE_PROHIBITED = CommandSpecific, 0x1e, "Boot Partition Write Prohibited";
    INVALID_CONTROLLER_IDENTIFIER = CommandSpecific, 0x1f, "Invalid Controller Identifier";
    INVALID_SECONDARY_CONTROLLER_STATE = CommandSpecific, 0x20, "Invalid Secondary Controller State";
    INVALID_CONTROLLER_RESOURCE_COUNT = CommandSpecific, 0x21, "Invalid Number of Controller Resources";
    INVALID_RESOURCE_IDENTIFIER = CommandSpecific, 0x22, "Invalid Resource Identifier";
    SANITIZE_PROHIBITED_PMR = CommandSpecific, 0x23, "Sanitize Prohibited While Persistent Memory Region is \
        Enabled";
    ANA_GROUP_INVALID = CommandSpecific, 0x24, "ANA Group Identifier Invalid";
    ANA_ATTACH_FAILED = CommandSpecific, 0x25, "ANA Attach Failed";
    STREAM_ALLOCATION_FAILED = CommandSpecific, 0x7f, "Stream Resource Allocation Failed";
    CONFLICTING_ATTRIBUTES = CommandSpecific, 0x80, "Conflicting Attributes";
    INVALID_PROTECTION_INFORMATION = CommandSpecific, 0x81, "Invalid Protection Information";
    WRITE_TO_READ_ONLY_RANGE = CommandSpecific, 0x82, "Attempted Write to Read Only Range";

    WRITE_FAULT = Media, 0x80, "Write Fault";
    UNRECOVERED_READ_ERROR = Media, 0x81, "Unrecovered Read Error";
    GUARD_CHECK_ERROR = Media, 0x82, "End-to-end Guard Check Error";
    APPLICATION_TAG_CHECK_ERROR = Media, 0x83, "End-to-end Application Tag Check Error";
    REFERENCE_TAG_CHECK_ERROR = Media, 0x84, "End-to-end Reference Tag Check Error";
    COMPARE_FAILURE = Media, 0x85, "Compare Failure";
    ACCESS_DENIED = Media, 0x86, "Access Denied";
    DEALLOCATED_OR_UNWRITTEN = Media, 0x87, "Deallocated or Unwritten Logical Block";

    INTERNAL_PATH_ERROR = Path, 0x00, "Internal Path Error";
    ANA_PERSISTENT_LOSS = Path, 0x01, "Asymmetric Access Persistent Loss";
    ANA_INACCESSIBLE = Path, 0x02, "Asymmetric Access Inaccessible";
    ANA_TRANSITION = Path, 0x03, "Asymmetric Access Transition";
    CONTROLLER_PATHING_ERROR = Path, 0x60, "Controller Pathing Error";
    HOST_PATHING_ERROR = Path, 0x70, "Host Pathing Error";
    ABORTED_BY_HOST = Path, 0x71, "Command Aborted By Host";
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, code) = (self.0.code_type(), self.code());
        match self.text() {
            Some(text) => write!(f, "{text} (type {kind:X}h, code {code:02X}h)")?,
            None => write!(f, "status type {kind:X}h, code {code:02X}h")?,
        }
        if self.0.dnr() { f.write_str(", do not retry") } else { Ok(()) }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_status_prints_the_standards_words_and_its_numbers() {
        let s = Status::LBA_OUT_OF_RANGE.with_dnr(true);
        assert_eq!(s.to_string(), "LBA Out of Range (type 0h, code 80h), do not retry");
        assert_eq!(Status::from_raw(0x7c2).to_string(), "status type 7h, code C2h");
    }

    #[test]
    fn the_hints_do_not_change_which_status_it_is() {
        let s = Status::COMPARE_FAILURE.with_dnr(true).with_more(true);
        assert!(s.is(Status::COMPARE_FAILURE) && s != Status::COMPARE_FAILURE);
        assert!(!s.is(Status::INVALID_NAMESPACE_OR_FORMAT) && !s.is_success());
        assert!(Status::SUCCESS.with_more(true).is_success());
    }

    #[test]
    fn every_named_status_is_distinct_and_has_text() {
        for (i, a) in Status::NAMED.iter().enumerate() {
            assert!(a.text().is_some());
            assert!(Status::NAMED[..i].iter().all(|b| !a.is(*b)), "{a} appears twice");
        }
    }

    #[test]
    fn every_halfword_splits_and_joins_again() {
        for halfword in 0..=u16::MAX {
            let (status, phase) = Status::from_wire(halfword);
            assert_eq!(status.with_phase_tag(phase), halfword);
        }
    }
}
