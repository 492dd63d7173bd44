//! Makes the modules that ship with the drive.

use super::module::MonitorModule;
use super::names::ShippedModule;
use super::{
    Bandwidth, BitErrors, Channels, FirmwareTime, FlashLatency, MapCache, OutstandingCommands, Packets,
    Temperature, Ways, WriteAmplification,
};
use alloc::boxed::Box;
use aster_events::{DriveCounters, Firmware};
use aster_units::Geometry;

impl ShippedModule {
    /// Makes the module for a drive of this geometry and firmware. With `each_way`, every way has an
    /// entry of its own. What drives count beside their events goes by [`ShippedModule::build_with`].
    pub fn build(self, geometry: &Geometry, firmware: &Firmware, each_way: bool) -> Box<dyn MonitorModule> {
        self.build_with(geometry, firmware, &DriveCounters::default(), each_way)
    }
    /// The same for a drive that counts this beside its events.
    pub fn build_with(
        self,
        geometry: &Geometry,
        firmware: &Firmware,
        counters: &DriveCounters,
        each_way: bool,
    ) -> Box<dyn MonitorModule> {
        match self {
            ShippedModule::Bandwidth => Box::new(Bandwidth::default()),
            ShippedModule::WriteAmplification => Box::new(WriteAmplification::new(geometry)),
            ShippedModule::OutstandingCommands => Box::new(OutstandingCommands::default()),
            ShippedModule::Channels => Box::new(Channels::new(geometry)),
            ShippedModule::Ways => Box::new(Ways::new(geometry, each_way)),
            ShippedModule::FlashLatency => Box::new(FlashLatency::new(geometry)),
            ShippedModule::BitErrors => Box::new(BitErrors::default()),
            ShippedModule::FirmwareTime => Box::new(FirmwareTime::new(firmware)),
            ShippedModule::Temperature => Box::new(Temperature::default()),
            ShippedModule::Packets => Box::new(Packets::new(counters)),
            ShippedModule::MapCache => Box::new(MapCache::new(counters)),
        }
    }
}
