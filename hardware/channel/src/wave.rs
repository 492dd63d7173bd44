//! A channel's activity as ONFI pin waveforms: what a logic analyser on the board would show, and in
//! addition the name of the transaction and the decoded cycle.
//!
//! [`WaveTap`] listens to the channel and draws. [`Waveform`] is the result: plain data that can be
//! written in any format.

mod capture;
mod draw;
mod filter;

pub use capture::WaveTap;
pub use filter::WaveFilter;

use alloc::vec::Vec;
use aster_units::{ChannelId, Instant};
use core::fmt;

/// The most pin changes that a capture keeps (a page read in NV-DDR2 takes about 55,000). A transaction
/// that would exceed it is left out as a whole, and so are all later ones.
pub const MAX_CHANGES: usize = 1 << 19;

/// A pin or a decoded signal of a channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Signal {
    /// CE# of a way, low when selected.
    ChipEnable(u8),
    /// CLE: high in a command cycle.
    CommandLatchEnable,
    /// ALE: high in an address cycle.
    AddressLatchEnable,
    /// WE#: its rising edge latches; CLK in NV-DDR, drawn by its latching edges.
    WriteEnable,
    /// RE#: a low pulse per byte in SDR, an edge per byte in NV-DDR2; W/R# in NV-DDR, low while the
    /// package drives.
    ReadEnable,
    /// DQ\[7:0\], high impedance between cycles.
    Data,
    /// DQS: an edge per byte in the synchronous modes. It is low when idle; preamble and postamble are
    /// not drawn.
    Strobe,
    /// R/B# of a way, low while an array behind it works.
    Ready(u8),
    /// The name of the transaction that owns the channel.
    Transaction,
    /// The bus cycle or burst, decoded.
    Cycle,
}

/// What a signal carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// A low pin.
    Low,
    /// A high pin.
    High,
    /// A byte on DQ; `None` when it isn't driven.
    Byte(Option<u8>),
    /// The text of a decoded signal.
    Text(Label),
}

/// The text of a decoded signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// No activity.
    Idle,
    /// A transaction's name.
    Name(&'static str),
    /// A command cycle.
    Command(u8),
    /// An address cycle.
    Address(u8),
    /// The package sends this many bytes.
    DataOut(u32),
    /// The controller sends this many bytes.
    DataIn(u32),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Idle => f.write_str("-"),
            Label::Name(name) => f.write_str(name),
            Label::Command(byte) => match aster_wire::onfi::command::name(*byte) {
                Some(name) => write!(f, "CMD {byte:02X}h {name}"),
                None => write!(f, "CMD {byte:02X}h"),
            },
            Label::Address(byte) => write!(f, "ADDR {byte:02X}h"),
            Label::DataOut(bytes) => write!(f, "DATA OUT {bytes}"),
            Label::DataIn(bytes) => write!(f, "DATA IN {bytes}"),
        }
    }
}

/// A change of a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// When.
    pub at: Instant,
    /// Which signal.
    pub signal: Signal,
    /// Its new level.
    pub level: Level,
}

/// The waveforms of one channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waveform {
    channel: ChannelId,
    ways: u8,
    changes: Vec<Change>,
    truncated: bool,
}

impl Waveform {
    /// The channel.
    pub fn channel(&self) -> ChannelId {
        self.channel
    }
    /// Every signal with its level before its first change: chips are not selected and are ready, DQ is
    /// not driven.
    pub fn signals(&self) -> impl Iterator<Item = (Signal, Level)> + use<> {
        use Signal::*;
        let per_way = |signal: fn(u8) -> Signal| move |way| (signal(way), Level::High);
        let bus = [
            (CommandLatchEnable, Level::Low),
            (AddressLatchEnable, Level::Low),
            (WriteEnable, Level::High),
            (ReadEnable, Level::High),
            (Data, Level::Byte(None)),
            (Strobe, Level::Low),
        ];
        let decoded = [(Transaction, Level::Text(Label::Idle)), (Cycle, Level::Text(Label::Idle))];
        let ways = self.ways;
        decoded
            .into_iter()
            .chain((0..ways).map(per_way(ChipEnable)))
            .chain(bus)
            .chain((0..ways).map(per_way(Ready)))
    }
    /// All changes in the order of time. Changes at the same instant are in the order in which they were
    /// drawn.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }
    /// True if there were more than [`MAX_CHANGES`].
    pub fn truncated(&self) -> bool {
        self.truncated
    }
}

#[cfg(test)]
mod tests;
