//! The channel's encoding, registers and cycle table.
//!
//! Generated from rtl/interface.toml by `cargo xtask generate`; edit that and run it again.

use crate::Field;

/// Sizes of the controller.
pub mod limits {
    /// The most instruction words of a transaction.
    pub const WORDS: usize = 32;
    /// The most descriptors of a transaction.
    pub const DESCRIPTORS: usize = 8;
    /// Transactions that queue in the controller.
    pub const SLOTS: usize = 4;
    /// Cycle tables, one for each interface and timing mode in use.
    pub const TABLES: usize = 4;
    /// Words of eight bytes in each of the Packetizer's FIFOs.
    pub const FIFO_WORDS: usize = 512;
    /// Phases of a controller cycle, as the output serialiser gives them.
    pub const PHASES: usize = 8;
    /// Cycles from a push being sampled to the first cycle of an idle channel's transaction.
    pub const FIFO_LATENCY: usize = 2;
    /// Bytes that fit into a transaction's result, or into a descriptor's immediate value.
    pub const MAILBOX_BYTES: usize = 8;
}

/// Opcodes of instruction words (G17).
pub mod opcode {
    /// Chip Control: the operand is a bitmap, one bit per chip enable (B7). Opens a transaction.
    pub const BEGIN: u8 = 1;
    /// C/A Writer: the length counts latches, which follow, four per word (B4).
    pub const COMMAND_ADDRESS: u8 = 2;
    /// Data Writer: the length counts bytes; the descriptor field names their source (B5).
    pub const DATA_WRITE: u8 = 3;
    /// Data Reader: the length counts bytes; the descriptor field names their destination (B6).
    pub const DATA_READ: u8 = 4;
    /// Timer: pause for at least the operand's nanoseconds (B8).
    pub const TIMER: u8 = 5;
    /// Chip Control with an empty bitmap: closes the transaction.
    pub const END: u8 = 6;
}

/// Fields of a word word.
pub mod word {
    use super::Field;
    /// Chip bitmap or nanoseconds.
    pub const OPERAND: Field = Field { lsb: 0, width: 32 };
    /// Bytes, or latches.
    pub const LENGTH: Field = Field { lsb: 32, width: 20 };
    /// Index of the descriptor of a burst.
    pub const DESCRIPTOR: Field = Field { lsb: 52, width: 4 };
    /// What the word asks for.
    pub const OPCODE: Field = Field { lsb: 60, width: 4 };
}

/// Fields of a latch word.
pub mod latch {
    use super::Field;
    /// The byte on DQ.
    pub const VALUE: Field = Field { lsb: 0, width: 8 };
    /// 1 for a command latch (CLE), 0 for an address latch (ALE).
    pub const COMMAND: Field = Field { lsb: 8, width: 1 };
    /// Zero; any other value is not a latch.
    pub const RESERVED: Field = Field { lsb: 9, width: 7 };
}

/// Fields of a descriptor word.
pub mod descriptor {
    use super::Field;
    /// Byte address in memory of the first byte, a multiple of 8.
    pub const ADDRESS: Field = Field { lsb: 0, width: 48 };
    /// AXI ID that its memory accesses carry.
    pub const TAG: Field = Field { lsb: 48, width: 4 };
    /// 1 when bytes go into the package (Data Writer).
    pub const INWARD: Field = Field { lsb: 52, width: 1 };
    /// 1 when bytes come from the immediate value or go to the result, instead of memory.
    pub const MAILBOX: Field = Field { lsb: 53, width: 1 };
}

/// Fields of a push word.
pub mod push {
    use super::Field;
    /// The cycle table that the transaction uses.
    pub const TABLE: Field = Field { lsb: 0, width: 2 };
}

/// Fields of a config word.
pub mod config {
    use super::Field;
    /// The longest burst in bytes: page and spare.
    pub const LONGEST: Field = Field { lsb: 0, width: 20 };
    /// Chip enables in use.
    pub const WAYS: Field = Field { lsb: 32, width: 6 };
}

/// Fields of a status word.
pub mod status {
    use super::Field;
    /// Slots in which a transaction can be opened.
    pub const FREE: Field = Field { lsb: 0, width: 3 };
    /// Results that wait to be read.
    pub const RESULTS: Field = Field { lsb: 4, width: 3 };
    /// A transaction owns the channel.
    pub const BUSY: Field = Field { lsb: 8, width: 1 };
    /// The R/B# pins, one bit per way.
    pub const READY: Field = Field { lsb: 32, width: 32 };
}

/// Fields of a result word.
pub mod result {
    use super::Field;
    /// 1 when this is a result; 0 when none waits.
    pub const VALID: Field = Field { lsb: 0, width: 1 };
    /// The slot that it was pushed from.
    pub const SLOT: Field = Field { lsb: 4, width: 2 };
    /// Its result: a verdict code.
    pub const VERDICT: Field = Field { lsb: 8, width: 8 };
    /// The offending word.
    pub const INDEX: Field = Field { lsb: 16, width: 8 };
    /// Bytes asked for, when a burst was too long.
    pub const LENGTH: Field = Field { lsb: 32, width: 20 };
    /// Memory answered an access with an error.
    pub const MEMORY_ERROR: Field = Field { lsb: 24, width: 1 };
}

/// What becomes of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It ran.
    Good = 0,
    /// More words or descriptors than a transaction holds.
    TooLong = 1,
    /// Chip Control selects no chip.
    NoChip = 2,
    /// A C/A Writer instruction lacks some of its latches.
    LatchesPastEnd = 3,
    /// A C/A Writer instruction without a latch.
    NoLatches = 4,
    /// A latch that is neither command nor address.
    BadLatch = 5,
    /// A burst without a byte.
    NoBytes = 6,
    /// An unknown opcode.
    UnknownOpcode = 7,
    /// Two Timers in succession.
    TimerAfterTimer = 8,
    /// No BEGIN first, no END last, or something after END.
    Unframed = 9,
    /// Chip Control names a chip that isn't there.
    Chip = 10,
    /// A burst without its descriptor, or with one of the other direction.
    Descriptor = 11,
    /// A burst longer than page and spare.
    Length = 12,
    /// A mailbox burst of more bytes than an immediate value holds.
    Frame = 13,
}

impl Verdict {
    /// All of them, in the order of their codes.
    pub const ALL: &'static [Verdict] = &[
        Verdict::Good,
        Verdict::TooLong,
        Verdict::NoChip,
        Verdict::LatchesPastEnd,
        Verdict::NoLatches,
        Verdict::BadLatch,
        Verdict::NoBytes,
        Verdict::UnknownOpcode,
        Verdict::TimerAfterTimer,
        Verdict::Unframed,
        Verdict::Chip,
        Verdict::Descriptor,
        Verdict::Length,
        Verdict::Frame,
    ];
    /// The verdict of a code.
    pub fn of(code: u8) -> Option<Verdict> {
        Self::ALL.iter().copied().find(|v| *v as u8 == code)
    }
    /// What is wrong with the word, where a word is wrong.
    pub const fn word_reason(self) -> Option<&'static str> {
        match self {
            Verdict::NoChip => Some("Chip Control selects no chip"),
            Verdict::LatchesPastEnd => Some("the C/A Writer's latches run past the end"),
            Verdict::NoLatches => Some("the C/A Writer has nothing to latch"),
            Verdict::BadLatch => Some("a latch is neither command nor address"),
            Verdict::NoBytes => Some("a burst of no bytes"),
            Verdict::UnknownOpcode => Some("unknown opcode"),
            Verdict::TimerAfterTimer => Some("a Timer follows a Timer"),
            _ => None,
        }
    }
}

/// Byte offsets of the registers, 64 bits each.
pub mod register {
    /// 0x4153_5445_5200_0001: ASTER, version 1. Read only.
    pub const IDENT: u16 = 0x000;
    /// Longest burst and ways. Read and write.
    pub const CONFIG: u16 = 0x008;
    /// The controller clock's period in picoseconds, for TIMER. Read and write.
    pub const PERIOD: u16 = 0x010;
    /// Begins a transaction. Ignored when no slot is free. Write only.
    pub const OPEN: u16 = 0x018;
    /// Appends an instruction word. Write only.
    pub const WORD: u16 = 0x020;
    /// Appends half a descriptor: first its fields, then its immediate value. Write only.
    pub const DESCRIPTOR: u16 = 0x028;
    /// Queues the open transaction. Write only.
    pub const PUSH: u16 = 0x030;
    /// Queue and R/B#. Read only.
    pub const STATUS: u16 = 0x038;
    /// The oldest result. Read only.
    pub const RESULT: u16 = 0x040;
    /// The oldest result's mailbox bytes, first byte lowest. Reading it removes the result. Read only.
    pub const MAILBOX: u16 = 0x048;
    /// Cycle tables, one word after the other. Read and write.
    pub const TABLE: u16 = 0x100;
    /// Bytes from one of the 4 to the next.
    pub const TABLE_STRIDE: u16 = 0x20;
}

/// Words that a packed cycle table takes.
pub const TABLE_WORDS: usize = 4;

/// The cycle table of one interface and timing mode, as the controller keeps it. In
/// cycles unless it says phases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CycleRegisters {
    /// 0 SDR, 1 NV-DDR, 2 NV-DDR2.
    pub mode: u16,
    /// Cycles that every step is a multiple of: a CLK period in NV-DDR, 1 in the others.
    pub grain: u16,
    /// tCS: CE# low to the first latch cycle.
    pub chip_setup: u16,
    /// tCH: the last cycle to CE# high.
    pub chip_hold: u16,
    /// From a transaction's end to the next one's start: the controller's own gap, or tCEH if that is more.
    pub gap: u16,
    /// tWC (tCAD in NV-DDR): one latch.
    pub latch: u16,
    /// Phases from a latch's beginning to its CLE, ALE and DQ.
    pub latch_from: u16,
    /// Phases that CLE, ALE and DQ stay after the edge: tCLH, tALH, tDH (tCALH, tCAH).
    pub latch_hold: u16,
    /// tWPRE, tCDQSS.
    pub write_preamble: u16,
    /// tWPST.
    pub write_postamble: u16,
    /// tRPRE, and the strobe's way to the package and back.
    pub read_preamble: u16,
    /// tRPST.
    pub read_postamble: u16,
    /// Phases of one transfer of data output.
    pub byte_phases_out: u16,
    /// Phases of one transfer of data input.
    pub byte_phases_in: u16,
    /// tWB: last latch to the release of the chip.
    pub t_wb: u16,
    /// tWHR: latch to data output.
    pub t_whr: u16,
    /// tADL: latch to data input.
    pub t_adl: u16,
    /// tCCS: column change to data.
    pub t_ccs: u16,
    /// tRHW: data output to a latch.
    pub t_rhw: u16,
    /// Minimum from the channel's release to the next transaction's first latch on WE# (CLK in NV-DDR).
    pub lead: u16,
}

impl CycleRegisters {
    /// The table as register words.
    ///
    /// # Errors
    /// The name of an entry that is too great for its field.
    pub fn pack(&self) -> Result<[u64; TABLE_WORDS], &'static str> {
        let mut words = [0; TABLE_WORDS];
        for (name, word, field, value) in [
            ("mode", 0usize, Field { lsb: 0, width: 2 }, self.mode),
            ("grain", 0usize, Field { lsb: 2, width: 8 }, self.grain),
            ("chip_setup", 0usize, Field { lsb: 10, width: 8 }, self.chip_setup),
            ("chip_hold", 0usize, Field { lsb: 18, width: 8 }, self.chip_hold),
            ("gap", 0usize, Field { lsb: 26, width: 8 }, self.gap),
            ("latch", 0usize, Field { lsb: 34, width: 8 }, self.latch),
            ("latch_from", 0usize, Field { lsb: 42, width: 10 }, self.latch_from),
            ("latch_hold", 0usize, Field { lsb: 52, width: 10 }, self.latch_hold),
            ("write_preamble", 1usize, Field { lsb: 0, width: 8 }, self.write_preamble),
            ("write_postamble", 1usize, Field { lsb: 8, width: 8 }, self.write_postamble),
            ("read_preamble", 1usize, Field { lsb: 16, width: 8 }, self.read_preamble),
            ("read_postamble", 1usize, Field { lsb: 24, width: 8 }, self.read_postamble),
            ("byte_phases_out", 1usize, Field { lsb: 32, width: 12 }, self.byte_phases_out),
            ("byte_phases_in", 1usize, Field { lsb: 44, width: 12 }, self.byte_phases_in),
            ("t_wb", 2usize, Field { lsb: 0, width: 12 }, self.t_wb),
            ("t_whr", 2usize, Field { lsb: 12, width: 12 }, self.t_whr),
            ("t_adl", 2usize, Field { lsb: 24, width: 12 }, self.t_adl),
            ("t_ccs", 2usize, Field { lsb: 36, width: 12 }, self.t_ccs),
            ("t_rhw", 2usize, Field { lsb: 48, width: 12 }, self.t_rhw),
            ("lead", 3usize, Field { lsb: 0, width: 12 }, self.lead),
        ] {
            if u64::from(value) > field.max() {
                return Err(name);
            }
            words[word] |= field.put(u64::from(value));
        }
        Ok(words)
    }
}
