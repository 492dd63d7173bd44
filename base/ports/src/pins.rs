//! I1 at the level of clock cycles: a channel controller in hardware, seen at its pins.
//!
//! A cycle is one cycle of the controller clock. It has eight phases, as an 8:1 output serialiser gives
//! (`rtl/README.md`, Pins): bit 0 of a pin's byte is the first phase. Everything here is plain data, so
//! that code that drives packages through pins doesn't depend on the simulator behind [`CycleChannel`].

/// What a channel drives towards its packages in one cycle. Signals with `_n` are low when active, as on the
/// package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PinsOut {
    /// CE#, one bit per way.
    pub ce_n: u32,
    /// CLE.
    pub cle: u8,
    /// ALE.
    pub ale: u8,
    /// WE#; CLK in NV-DDR.
    pub we_n: u8,
    /// RE#; W/R# in NV-DDR.
    pub re_n: u8,
    /// DQS as the controller drives it.
    pub dqs: u8,
    /// Whether the controller drives DQS.
    pub dqs_enable: bool,
    /// DQ, one byte per phase, phase 0 in the lowest.
    pub dq: u64,
    /// Whether the controller drives DQ.
    pub dq_enable: bool,
}

impl PinsOut {
    /// Nothing selected, nothing strobed.
    pub const IDLE: PinsOut = PinsOut {
        ce_n: u32::MAX,
        cle: 0,
        ale: 0,
        we_n: 0xff,
        re_n: 0xff,
        dqs: 0,
        dqs_enable: false,
        dq: 0,
        dq_enable: false,
    };
}

impl Default for PinsOut {
    fn default() -> Self {
        PinsOut::IDLE
    }
}

/// What the packages drive in one cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PinsIn {
    /// The bytes strobed in this cycle, the first one lowest, as the deserialiser gives them.
    pub dq: u64,
    /// R/B#, one bit per way, high when ready.
    pub ready: u32,
}

/// An AXI4 address channel: AR or AW.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AxiAddress {
    /// VALID.
    pub valid: bool,
    /// ID.
    pub id: u8,
    /// ADDR, in bytes.
    pub address: u64,
    /// LEN: the number of beats minus one.
    pub length: u8,
    /// SIZE: bytes per beat, as a power of two.
    pub size: u8,
    /// BURST: 1 is INCR.
    pub burst: u8,
}

/// AXI4's write data channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AxiWrite {
    /// VALID.
    pub valid: bool,
    /// DATA.
    pub data: u64,
    /// STRB, one bit per byte.
    pub strobes: u8,
    /// LAST.
    pub last: bool,
}

/// AXI4's read data channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AxiRead {
    /// VALID.
    pub valid: bool,
    /// ID.
    pub id: u8,
    /// DATA.
    pub data: u64,
    /// RESP: 0 is OKAY, 2 is SLVERR.
    pub response: u8,
    /// LAST.
    pub last: bool,
}

/// AXI4's write response channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AxiAnswer {
    /// VALID.
    pub valid: bool,
    /// ID.
    pub id: u8,
    /// RESP.
    pub response: u8,
}

/// The memory port as the channel, its master, drives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AxiMaster {
    /// AR: where to read.
    pub read_at: AxiAddress,
    /// RREADY.
    pub read_ready: bool,
    /// AW: where to write.
    pub write_at: AxiAddress,
    /// W.
    pub write: AxiWrite,
    /// BREADY.
    pub answer_ready: bool,
}

/// The memory port as memory drives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AxiSlave {
    /// ARREADY.
    pub read_at_ready: bool,
    /// R.
    pub read: AxiRead,
    /// AWREADY.
    pub write_at_ready: bool,
    /// WREADY.
    pub write_ready: bool,
    /// B.
    pub answer: AxiAnswer,
}

/// How a transaction ended, as the hardware reports it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Over {
    /// The slot that it was pushed from.
    pub slot: u8,
    /// A code of `aster_txn::interface::Verdict`.
    pub verdict: u8,
    /// The offending word.
    pub index: u8,
    /// Bytes asked for, when a burst was too long.
    pub length: u32,
    /// The mailbox bytes read, first byte lowest.
    pub mailbox: u64,
    /// Memory answered an access with an error.
    pub memory_error: bool,
}

/// All outputs of a channel in one cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelOut {
    /// Towards the packages.
    pub pins: PinsOut,
    /// Towards memory.
    pub memory: AxiMaster,
    /// This is the first cycle of a transaction.
    pub begin: bool,
    /// A transaction is over.
    pub over: Option<Over>,
}

/// All inputs of a channel in one cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelIn {
    /// From the packages.
    pub pins: PinsIn,
    /// From memory.
    pub memory: AxiSlave,
}

/// A channel controller that is simulated cycle by cycle. Its register bus has a clock of its own:
/// register accesses take no cycles of the channel.
///
/// Each cycle takes three calls: [`CycleChannel::outputs`] returns what the channel drives,
/// [`CycleChannel::evaluate`] applies the inputs, and [`CycleChannel::edge`] ends the cycle.
pub trait CycleChannel {
    /// Writes a register; offsets are those of `aster_txn::interface::register`.
    fn write_register(&mut self, offset: u16, value: u64);
    /// Reads a register. Reading some has effects.
    fn read_register(&mut self, offset: u16) -> u64;
    /// The outputs in this cycle.
    fn outputs(&self) -> &ChannelOut;
    /// Applies the inputs of this cycle. Returns the outputs again: those that depend on this cycle's
    /// inputs without a register in between have settled.
    fn evaluate(&mut self, inputs: &ChannelIn) -> &ChannelOut;
    /// The clock edge that ends this cycle.
    fn edge(&mut self);
}
