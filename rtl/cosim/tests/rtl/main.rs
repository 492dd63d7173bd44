//! The channel in RTL, with the packages of `hardware/nand` at its pins, and whole drives whose channels are
//! the RTL: everything else, including the firmware, is the same as with the timed model, and so are all
//! times.

mod algorithms;
mod bench;
mod drive;
mod equality;
mod stream;
mod wave;
mod words;

use aster_device::ChannelHardware;

/// Channels in RTL.
const RTL: ChannelHardware = ChannelHardware::Cycles(|_| Box::new(aster_rtl_cosim::RtlChannel::new()));
