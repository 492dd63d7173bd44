//! The modules that ship with the drive, by name.

/// A module that ships with the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShippedModule {
    /// [`Bandwidth`](super::Bandwidth).
    Bandwidth,
    /// [`WriteAmplification`](super::WriteAmplification).
    WriteAmplification,
    /// [`OutstandingCommands`](super::OutstandingCommands).
    OutstandingCommands,
    /// [`Channels`](super::Channels).
    Channels,
    /// [`Ways`](super::Ways).
    Ways,
    /// [`FlashLatency`](super::FlashLatency).
    FlashLatency,
    /// [`BitErrors`](super::BitErrors).
    BitErrors,
    /// [`FirmwareTime`](super::FirmwareTime).
    FirmwareTime,
    /// [`Temperature`](super::Temperature).
    Temperature,
    /// [`Packets`](super::Packets).
    Packets,
    /// [`MapCache`](super::MapCache).
    MapCache,
}

impl ShippedModule {
    /// All of them.
    pub const ALL: [ShippedModule; 11] = [
        ShippedModule::Bandwidth,
        ShippedModule::WriteAmplification,
        ShippedModule::OutstandingCommands,
        ShippedModule::Channels,
        ShippedModule::Ways,
        ShippedModule::FlashLatency,
        ShippedModule::BitErrors,
        ShippedModule::FirmwareTime,
        ShippedModule::Temperature,
        ShippedModule::Packets,
        ShippedModule::MapCache,
    ];

    /// The name by which it is chosen and removed.
    pub const fn name(self) -> &'static str {
        match self {
            ShippedModule::Bandwidth => "bandwidth",
            ShippedModule::WriteAmplification => "write_amplification",
            ShippedModule::OutstandingCommands => "outstanding_commands",
            ShippedModule::Channels => "channels",
            ShippedModule::Ways => "ways",
            ShippedModule::FlashLatency => "flash_latency",
            ShippedModule::BitErrors => "bit_errors",
            ShippedModule::FirmwareTime => "firmware_time",
            ShippedModule::Temperature => "temperature",
            ShippedModule::Packets => "packets",
            ShippedModule::MapCache => "map_cache",
        }
    }

    /// What it measures, in a few words.
    pub const fn summary(self) -> &'static str {
        match self {
            ShippedModule::Bandwidth => "data and commands of the host",
            ShippedModule::WriteAmplification => "bytes programmed for each byte that the host wrote",
            ShippedModule::OutstandingCommands => "commands between fetch and completion",
            ShippedModule::Channels => "how busy channels are, together and each",
            ShippedModule::Ways => "how busy the arrays behind chip enables are",
            ShippedModule::FlashLatency => "how many flash operations there are, and how long they take",
            ShippedModule::BitErrors => "what the ECC corrects, and what it can't",
            ShippedModule::FirmwareTime => "the cores' time, each core's and by function of the firmware",
            ShippedModule::Temperature => "how warm the drive is, if it has a temperature sensor",
            ShippedModule::Packets => "packets, where firmware is PCIe's transaction layer",
            ShippedModule::MapCache => "what a map on flash finds in memory",
        }
    }
}
