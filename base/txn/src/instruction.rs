use crate::interface::{Verdict, latch, opcode, word};
use core::fmt;

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
            Latch::Command(v) => latch::COMMAND.put(1) | latch::VALUE.put(v as u64),
            Latch::Address(v) => latch::VALUE.put(v as u64),
        }
    }
    const fn unpack(bits: u64) -> Option<Self> {
        if latch::RESERVED.get(bits) != 0 {
            return None;
        }
        let value = latch::VALUE.get(bits) as u8;
        Some(if latch::COMMAND.get(bits) == 1 { Latch::Command(value) } else { Latch::Address(value) })
    }
}

/// An instruction as a µFSM receives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instruction<'a> {
    /// Assert the chip enables of the bitmap.
    Begin {
        /// One bit per chip enable.
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

/// Why a word stream isn't a transaction. The index counts words from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordError {
    /// The offending word.
    pub index: u8,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl WordError {
    /// The word at `index` is wrong for the reason that `verdict` names.
    pub fn new(index: u8, verdict: Verdict) -> Self {
        WordError { index, reason: verdict.word_reason().expect("a verdict on a word") }
    }
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
    after_timer: bool,
}

impl<'a> Instructions<'a> {
    /// Decodes `words`.
    pub const fn new(words: &'a [u64]) -> Self {
        Instructions { words, at: 0, after_timer: false }
    }

    /// The latches of the C/A Writer instruction whose header has just been taken.
    fn latches(&mut self, count: usize) -> Result<Latches<'a>, Verdict> {
        if count == 0 {
            return Err(Verdict::NoLatches);
        }
        let packed = count.div_ceil(4);
        let rest = &self.words[self.at..];
        let words = &rest[..packed.min(rest.len())];
        let there = count.min(4 * words.len());
        if (0..there).any(|i| Latch::unpack(words[i / 4] >> (16 * (i % 4))).is_none()) {
            return Err(Verdict::BadLatch);
        }
        if words.len() < packed {
            return Err(Verdict::LatchesPastEnd);
        }
        self.at += packed;
        Ok(Latches { words, next: 0, count })
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>, WordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let word = *self.words.get(self.at)?;
        let index = self.at as u8;
        self.at += 1;
        let length = word::LENGTH.get(word) as u32;
        let operand = word::OPERAND.get(word) as u32;
        let descriptor = word::DESCRIPTOR.get(word) as u8;
        let after_timer = core::mem::take(&mut self.after_timer);
        let instruction = match word::OPCODE.get(word) as u8 {
            opcode::BEGIN if operand == 0 => Err(Verdict::NoChip),
            opcode::BEGIN => Ok(Instruction::Begin { chips: operand }),
            opcode::COMMAND_ADDRESS => self.latches(length as usize).map(Instruction::CommandAddress),
            opcode::DATA_WRITE if length > 0 => Ok(Instruction::DataWrite { bytes: length, descriptor }),
            opcode::DATA_READ if length > 0 => Ok(Instruction::DataRead { bytes: length, descriptor }),
            opcode::DATA_WRITE | opcode::DATA_READ => Err(Verdict::NoBytes),
            opcode::TIMER if after_timer => Err(Verdict::TimerAfterTimer),
            opcode::TIMER => {
                self.after_timer = true;
                Ok(Instruction::Timer { nanoseconds: operand })
            }
            opcode::END => Ok(Instruction::End),
            _ => Err(Verdict::UnknownOpcode),
        };
        Some(instruction.map_err(|verdict| WordError::new(index, verdict)))
    }
}
