//! Runs drives whose channels are the RTL of `rtl/`, cycle by cycle under Verilator. Everything else of the
//! drive, the firmware above all, is the same as with the timed model, and so is the time that passes.
#![forbid(unsafe_code)]

use aster_device::ChannelHardware;
use aster_rtl_cosim::RtlChannel;

/// Channels in RTL: what [`aster_device::Device::power_on_with`] and those above it take.
pub const RTL: ChannelHardware = ChannelHardware::Cycles(|_| Box::new(RtlChannel::new()));
