//! Open-Channel SSD: command sets whose host addresses flash directly (O1, P22 to P28).

mod identity;
mod set12;

pub use identity::OpenChannelFacts;
pub use set12::OpenChannel12;
