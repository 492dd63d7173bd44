//! The RTL channel of `rtl/`, built by Verilator, as a [`CycleChannel`](aster_ports::pins::CycleChannel).

mod model;

pub use model::RtlChannel;
