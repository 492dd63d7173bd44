//! Runs drives whose channels are the RTL of `rtl/`, cycle by cycle under Verilator. Everything else,
//! including the firmware, is the same as with the timed model, and so are all times.
#![forbid(unsafe_code)]

use aster_device::ChannelHardware;
use aster_rtl_cosim::RtlChannel;

/// Channels in RTL, for [`aster_device::Device::power_on_with`] and the functions above it.
pub const RTL: ChannelHardware = ChannelHardware::Cycles(|_| Box::new(RtlChannel::new()));
