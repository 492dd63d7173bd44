use core::fmt;

/// Opcodes: bits 63:60 of an instruction word (G17). Bits 59:52 are flags, 51:32 a length, 31:0 an operand.
pub mod opcode {
    /// Chip Control: the operand is a bitmap, one bit a chip enable (B7). Opens a transaction.
    pub const BEGIN: u8 = 1;
    /// C/A Writer: the length counts latches; they follow four to a word (B4).
    pub const COMMAND_ADDRESS: u8 = 2;
    /// Data Writer: the length counts bytes, the flags' low bits name the descriptor (B5).
    pub const DATA_WRITE: u8 = 3;
    /// Data Reader: the length counts bytes, the flags' low bits name the descriptor (B6).
    pub const DATA_READ: u8 = 4;
    /// Timer: pause for at least the operand's nanoseconds (B8).
    pub const TIMER: u8 = 5;
    /// Chip Control with an empty bitmap: closes the transaction.
    pub const END: u8 = 6;
}

/// One latch cycle: CLE or ALE with a byte on DQ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Latch {
    /// A command latch.
    Command(u8),
    /// An address latch.
    Address(u8),
}

impl Latch {
    pub(crate) const fn pack(self) -> u64 {
        match self {
            Latch::Command(v) => 0x100 | v as u64,
            Latch::Address(v) => v as u64,
        }
    }
    const fn unpack(bits: u64) -> Option<Self> {
        match bits & 0xffff {
            b if b < 0x100 => Some(Latch::Address(b as u8)),
            b if b < 0x200 => Some(Latch::Command(b as u8)),
            _ => None,
        }
    }
}

/// An instruction as a µFSM receives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instruction<'a> {
    /// Assert the chip enables of the bitmap.
    Begin {
        /// One bit a chip enable.
        chips: u32,
    },
    /// Emit command and address latches.
    CommandAddress(Latches<'a>),
    /// Send bytes to the package.
    DataWrite {
        /// How many.
        bytes: u32,
        /// Index of the descriptor they come from.
        descriptor: u8,
    },
    /// Fetch bytes from the package.
    DataRead {
        /// How many.
        bytes: u32,
        /// Index of the descriptor they go to.
        descriptor: u8,
    },
    /// Wait.
    Timer {
        /// At least this many nanoseconds.
        nanoseconds: u32,
    },
    /// Release the chip enables and the channel.
    End,
}

/// The latches of one C/A Writer instruction, in bus order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latches<'a> {
    words: &'a [u64],
    next: usize,
    count: usize,
}

impl Latches<'_> {
    /// How many are left.
    pub const fn len(&self) -> usize {
        self.count - self.next
    }
    /// True when none is left.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Iterator for Latches<'_> {
    type Item = Latch;
    #[inline]
    fn next(&mut self) -> Option<Latch> {
        if self.next == self.count {
            return None;
        }
        let bits = self.words[self.next / 4] >> (16 * (self.next % 4));
        self.next += 1;
        // Checked when the instruction was decoded.
        Latch::unpack(bits)
    }
}

/// Why a word stream is no transaction. The index counts words from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordError {
    /// The offending word.
    pub index: u8,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instruction word {}: {}", self.index, self.reason)
    }
}

/// Decodes a word stream instruction by instruction.
#[derive(Clone)]
pub struct Instructions<'a> {
    words: &'a [u64],
    at: usize,
}

impl<'a> Instructions<'a> {
    /// Decodes `words`.
    pub const fn new(words: &'a [u64]) -> Self {
        Instructions { words, at: 0 }
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>, WordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let word = *self.words.get(self.at)?;
        let index = self.at as u8;
        self.at += 1;
        let length = ((word >> 32) & 0xf_ffff) as u32;
        let operand = word as u32;
        let descriptor = ((word >> 52) & 0xf) as u8;
        let fail = |reason| Some(Err(WordError { index, reason }));
        Some(Ok(match (word >> 60) as u8 {
            opcode::BEGIN if operand == 0 => return fail("Chip Control selects no chip"),
            opcode::BEGIN => Instruction::Begin { chips: operand },
            opcode::COMMAND_ADDRESS => {
                let count = length as usize;
                let packed = count.div_ceil(4);
                let Some(words) = self.words.get(self.at..self.at + packed) else {
                    self.at = self.words.len();
                    return fail("the C/A Writer's latches run past the end");
                };
                if count == 0 {
                    return fail("the C/A Writer has nothing to latch");
                }
                let good = (0..count).all(|i| Latch::unpack(words[i / 4] >> (16 * (i % 4))).is_some());
                if !good {
                    return fail("a latch is neither command nor address");
                }
                self.at += packed;
                Instruction::CommandAddress(Latches { words, next: 0, count })
            }
            opcode::DATA_WRITE if length > 0 => Instruction::DataWrite { bytes: length, descriptor },
            opcode::DATA_READ if length > 0 => Instruction::DataRead { bytes: length, descriptor },
            opcode::DATA_WRITE | opcode::DATA_READ => return fail("a burst of no bytes"),
            opcode::TIMER => Instruction::Timer { nanoseconds: operand },
            opcode::END => Instruction::End,
            _ => return fail("unknown opcode"),
        }))
    }
}
