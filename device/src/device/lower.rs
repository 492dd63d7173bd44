//! A drive as the host's side over it sees it ([`Lower`]), and as a host that works with it directly.

use super::Device;
use crate::media::Media;
use crate::target::Lower;
use aster_parties::{BarRead, DriveFunction, FunctionSpec, ReadTag};
use aster_ports::dram::Dram;
use aster_ports::link::{BadAddress, LinkOp};
use aster_units::Instant;

impl Lower for Device {
    fn reset_function(&self) {
        Device::reset_function(self);
    }
    fn now(&self) -> Instant {
        Device::now(self)
    }
    fn next_deadline(&self) -> Option<Instant> {
        Device::next_deadline(self)
    }
    fn advance_to(&self, until: Instant) {
        Device::advance_to(self, until);
    }
    fn catch_up(&self, at: Instant) {
        Device::catch_up(self, at);
    }
    fn next_out(&self) -> Option<LinkOp> {
        Device::next_out(self)
    }
    fn done(&self, op: &LinkOp, result: Result<(), BadAddress>) {
        Device::done(self, op, result);
    }
    fn is_bus_master(&self) -> bool {
        Device::is_bus_master(self)
    }
    fn message(&self, vector: u16) -> Option<(u64, u32)> {
        Device::message(self, vector)
    }
    fn dram(&self) -> &Dram {
        Device::dram(self)
    }
    fn power_off(self) -> Media {
        Device::power_off(self)
    }
}

/// The host that works with a drive directly. Accesses happen at the present time of the drive.
impl DriveFunction for Device {
    fn spec(&self) -> FunctionSpec {
        self.function()
    }
    fn config_read(&self, offset: u16, size: u8) -> u32 {
        Device::config_read(self, offset, size)
    }
    fn config_write(&self, offset: u16, size: u8, value: u32) {
        Device::config_write(self, offset, size, value);
    }
    fn bar_read(&self, bar: u8, offset: u32, size: u8) -> u64 {
        Device::bar_read(self, bar, offset, size)
    }
    fn begin_bar_read(&self, bar: u8, offset: u32, size: u8) -> BarRead {
        Device::begin_bar_read(self, bar, offset, size)
    }
    fn take_bar_read(&self, tag: ReadTag) -> Option<u64> {
        Device::take_bar_read(self, tag)
    }
    fn bar_write(&self, bar: u8, offset: u32, size: u8, value: u64) {
        Device::bar_write(self, bar, offset, size, value);
    }
    fn fault(&self) -> Option<String> {
        Device::fault(self)
    }
}
