//! The modules that come along, by name.

use super::{
    Bandwidth, BitErrors, Channels, FirmwareTime, FlashLatency, MonitorModule, OutstandingCommands, Ways,
    WriteAmplification,
};
use crate::Firmware;
use alloc::boxed::Box;
use aster_units::Geometry;

/// A module that comes along.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShippedModule {
    /// [`Bandwidth`].
    Bandwidth,
    /// [`WriteAmplification`].
    WriteAmplification,
    /// [`OutstandingCommands`].
    OutstandingCommands,
    /// [`Channels`].
    Channels,
    /// [`Ways`].
    Ways,
    /// [`FlashLatency`].
    FlashLatency,
    /// [`BitErrors`].
    BitErrors,
    /// [`FirmwareTime`].
    FirmwareTime,
}

impl ShippedModule {
    /// All of them.
    pub const ALL: [ShippedModule; 8] = [
        ShippedModule::Bandwidth,
        ShippedModule::WriteAmplification,
        ShippedModule::OutstandingCommands,
        ShippedModule::Channels,
        ShippedModule::Ways,
        ShippedModule::FlashLatency,
        ShippedModule::BitErrors,
        ShippedModule::FirmwareTime,
    ];

    /// By which it is chosen, and removed.
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
        }
    }

    /// What it tells of.
    pub const fn summary(self) -> &'static str {
        match self {
            ShippedModule::Bandwidth => "data and commands of the host",
            ShippedModule::WriteAmplification => "bytes programmed for each byte that the host wrote",
            ShippedModule::OutstandingCommands => "commands between fetch and completion",
            ShippedModule::Channels => "how busy channels are, together and each",
            ShippedModule::Ways => "how busy the arrays behind chip enables are",
            ShippedModule::FlashLatency => "how many flash operations there are, and how long they take",
            ShippedModule::BitErrors => "what the ECC corrects, and what it can't",
            ShippedModule::FirmwareTime => "the cores' time by function of the firmware",
        }
    }

    /// For a drive of this shape and firmware; with `each_way` the ways have an entry each.
    pub fn build(self, geometry: &Geometry, firmware: &Firmware, each_way: bool) -> Box<dyn MonitorModule> {
        match self {
            ShippedModule::Bandwidth => Box::new(Bandwidth::default()),
            ShippedModule::WriteAmplification => Box::new(WriteAmplification::new(geometry)),
            ShippedModule::OutstandingCommands => Box::new(OutstandingCommands::default()),
            ShippedModule::Channels => Box::new(Channels::new(geometry)),
            ShippedModule::Ways => Box::new(Ways::new(geometry, each_way)),
            ShippedModule::FlashLatency => Box::new(FlashLatency::new(geometry)),
            ShippedModule::BitErrors => Box::new(BitErrors::default()),
            ShippedModule::FirmwareTime => Box::new(FirmwareTime::new(firmware)),
        }
    }
}
