//! Command opcodes (NVMe 1.4 §5, §6).

wire_enum! {
    /// Opcodes of the admin command set (NVMe 1.4 §5). C0h–FFh are vendor specific.
    pub enum AdminOpcode(u8) {
        DeleteIoSq = 0x00, "Delete I/O Submission Queue";
        CreateIoSq = 0x01, "Create I/O Submission Queue";
        GetLogPage = 0x02, "Get Log Page";
        DeleteIoCq = 0x04, "Delete I/O Completion Queue";
        CreateIoCq = 0x05, "Create I/O Completion Queue";
        Identify = 0x06, "Identify";
        Abort = 0x08, "Abort";
        SetFeatures = 0x09, "Set Features";
        GetFeatures = 0x0a, "Get Features";
        AsyncEventRequest = 0x0c, "Asynchronous Event Request";
        NamespaceManagement = 0x0d, "Namespace Management";
        FirmwareCommit = 0x10, "Firmware Commit";
        FirmwareImageDownload = 0x11, "Firmware Image Download";
        DeviceSelfTest = 0x14, "Device Self-test";
        NamespaceAttachment = 0x15, "Namespace Attachment";
        KeepAlive = 0x18, "Keep Alive";
        DirectiveSend = 0x19, "Directive Send";
        DirectiveReceive = 0x1a, "Directive Receive";
        VirtualizationManagement = 0x1c, "Virtualization Management";
        NvmeMiSend = 0x1d, "NVMe-MI Send";
        NvmeMiReceive = 0x1e, "NVMe-MI Receive";
        DoorbellBufferConfig = 0x7c, "Doorbell Buffer Config";
        FormatNvm = 0x80, "Format NVM";
        SecuritySend = 0x81, "Security Send";
        SecurityReceive = 0x82, "Security Receive";
        Sanitize = 0x84, "Sanitize";
        GetLbaStatus = 0x86, "Get LBA Status";
    }
}

wire_enum! {
    /// Opcodes of the NVM command set (NVMe 1.4 §6). 80h–FFh are vendor specific.
    pub enum IoOpcode(u8) {
        Flush = 0x00, "Flush";
        Write = 0x01, "Write";
        Read = 0x02, "Read";
        WriteUncorrectable = 0x04, "Write Uncorrectable";
        Compare = 0x05, "Compare";
        WriteZeroes = 0x08, "Write Zeroes";
        DatasetManagement = 0x09, "Dataset Management";
        Verify = 0x0c, "Verify";
        ReservationRegister = 0x0d, "Reservation Register";
        ReservationReport = 0x0e, "Reservation Report";
        ReservationAcquire = 0x11, "Reservation Acquire";
        ReservationRelease = 0x15, "Reservation Release";
    }
}

/// Which way a command moves data: the two low bits of its opcode (NVMe 1.4 §5, §6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataDirection {
    /// 00b: no data.
    None,
    /// 01b: host memory to controller.
    HostToController,
    /// 10b: controller to host memory.
    ControllerToHost,
    /// 11b: both ways.
    Bidirectional,
}

impl DataDirection {
    /// The direction that an opcode encodes. Some commands with a direction still move nothing.
    pub const fn of_opcode(opcode: u8) -> Self {
        match opcode & 0b11 {
            0 => DataDirection::None,
            1 => DataDirection::HostToController,
            2 => DataDirection::ControllerToHost,
            _ => DataDirection::Bidirectional,
        }
    }
}
