//! Open-Channel SSD: command sets whose host addresses flash directly (O1, P22 to P29).

mod common;
mod identity;
mod notices;
mod set12;
mod set20;
#[cfg(test)]
mod tests;

pub use identity::OpenChannelFacts;
pub use set12::OpenChannel12;
pub use set20::OpenChannel20;
