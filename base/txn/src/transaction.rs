use crate::{Descriptor, Instructions, Latch, opcode};
use aster_units::{Column, Duration, RowAddr};

/// Words a transaction holds at most: the depth of the RTL's instruction buffer.
pub const MAX_WORDS: usize = 32;
/// Descriptors a transaction holds at most.
pub const MAX_DESCRIPTORS: usize = 8;

/// A transaction under construction or in flight. The builder methods append; one that doesn't fit sets a flag which
/// the engine turns into an error, so that building stays free of branches for the author.
#[derive(Clone, Debug)]
pub struct Txn {
    name: &'static str,
    words: [u64; MAX_WORDS],
    descriptors: [Descriptor; MAX_DESCRIPTORS],
    length: u8,
    described: u8,
    // The word of the C/A Writer instruction that further latches extend; 0 when there is none (word 0 is BEGIN).
    latching: u8,
    overflowed: bool,
}

impl Default for Txn {
    fn default() -> Self {
        Txn {
            name: "",
            words: [0; MAX_WORDS],
            descriptors: [Descriptor::mailbox_out(); MAX_DESCRIPTORS],
            length: 0,
            described: 0,
            latching: 0,
            overflowed: false,
        }
    }
}

const fn word(op: u8, flags: u8, length: u32, operand: u32) -> u64 {
    ((op as u64) << 60) | ((flags as u64) << 52) | ((length as u64 & 0xf_ffff) << 32) | operand as u64
}

impl Txn {
    /// Starts over: a transaction called `name` in waveforms and errors, on the chip enables of `chips`.
    #[inline]
    pub fn begin(&mut self, name: &'static str, chips: u32) -> &mut Self {
        self.name = name;
        self.length = 0;
        self.described = 0;
        self.latching = 0;
        self.overflowed = false;
        self.push(word(opcode::BEGIN, 0, 0, chips));
        self
    }

    /// The name given at the beginning.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// The words so far.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words[..usize::from(self.length)]
    }
    /// Decodes the words.
    #[inline]
    pub fn instructions(&self) -> Instructions<'_> {
        Instructions::new(self.words())
    }
    /// The descriptors that its bursts refer to.
    #[inline]
    pub fn descriptors(&self) -> &[Descriptor] {
        &self.descriptors[..usize::from(self.described)]
    }
    /// True when something did not fit.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Replaces the words: for tests of the engine's checks and for operations that bring their own encoding.
    pub fn set_words(&mut self, name: &'static str, words: &[u64]) -> &mut Self {
        self.begin(name, 1);
        self.length = 0;
        for &w in words {
            self.push(w);
        }
        self
    }

    #[inline]
    fn push(&mut self, w: u64) {
        match self.words.get_mut(usize::from(self.length)) {
            Some(slot) => {
                *slot = w;
                self.length += 1;
            }
            None => self.overflowed = true,
        }
    }

    /// One more latch; neighbours share a C/A Writer instruction.
    #[inline]
    pub fn latch(&mut self, latch: Latch) -> &mut Self {
        if self.latching == 0 {
            self.latching = self.length;
            self.push(word(opcode::COMMAND_ADDRESS, 0, 0, 0));
        }
        let Some(&header) = self.words.get(usize::from(self.latching)) else {
            self.overflowed = true;
            return self;
        };
        let count = (header >> 32) as usize & 0xf_ffff;
        if count.is_multiple_of(4) {
            self.push(latch.pack());
        } else {
            self.words[usize::from(self.length) - 1] |= latch.pack() << (16 * (count % 4));
        }
        if !self.overflowed {
            self.words[usize::from(self.latching)] = word(opcode::COMMAND_ADDRESS, 0, count as u32 + 1, 0);
        }
        self
    }
    /// Latches a command.
    #[inline]
    pub fn cmd(&mut self, command: u8) -> &mut Self {
        self.latch(Latch::Command(command))
    }
    /// Latches one address byte.
    #[inline]
    pub fn addr(&mut self, byte: u8) -> &mut Self {
        self.latch(Latch::Address(byte))
    }
    /// Latches a column: two address cycles, low byte first.
    #[inline]
    pub fn column(&mut self, column: Column) -> &mut Self {
        let [low, high] = column.0.to_le_bytes();
        self.addr(low).addr(high)
    }
    /// Latches a row: three address cycles, low byte first.
    #[inline]
    pub fn row(&mut self, row: RowAddr) -> &mut Self {
        let [a, b, c, _] = row.0.to_le_bytes();
        self.addr(a).addr(b).addr(c)
    }
    /// Latches column and row: the five address cycles of READ and PROGRAM.
    #[inline]
    pub fn col_row(&mut self, column: Column, row: RowAddr) -> &mut Self {
        self.column(column).row(row)
    }
    /// Pauses for at least `duration` (rounded up to the nanosecond).
    pub fn timer(&mut self, duration: Duration) -> &mut Self {
        self.latching = 0;
        let nanoseconds = duration.as_picos().div_ceil(1_000).min(u64::from(u32::MAX));
        self.push(word(opcode::TIMER, 0, 0, nanoseconds as u32));
        self
    }

    /// Names where the data of following bursts comes from or goes to.
    #[inline]
    pub fn describe(&mut self, descriptor: Descriptor) -> &mut Self {
        match self.descriptors.get_mut(usize::from(self.described)) {
            Some(slot) => {
                *slot = descriptor;
                self.described += 1;
            }
            None => self.overflowed = true,
        }
        self
    }
    /// Fetches `bytes` for the descriptor named last.
    #[inline]
    pub fn data_read(&mut self, bytes: u32) -> &mut Self {
        self.burst(opcode::DATA_READ, bytes)
    }
    /// Sends `bytes` of the descriptor named last.
    #[inline]
    pub fn data_write(&mut self, bytes: u32) -> &mut Self {
        self.burst(opcode::DATA_WRITE, bytes)
    }
    #[inline]
    fn burst(&mut self, op: u8, bytes: u32) -> &mut Self {
        self.latching = 0;
        if bytes > 0xf_ffff {
            self.overflowed = true;
        }
        // Without a descriptor the index is out of range, which the engine reports.
        self.push(word(op, self.described.wrapping_sub(1) & 0xf, bytes, 0));
        self
    }

    /// Releases the chips.
    #[inline]
    pub fn end(&mut self) -> &mut Self {
        self.latching = 0;
        self.push(word(opcode::END, 0, 0, 0));
        self
    }
}
