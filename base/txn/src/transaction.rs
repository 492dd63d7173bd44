use crate::{Descriptor, Instruction, Instructions, Latch, WordError, opcode};
use aster_units::{Column, Duration, RowAddr};

/// Words a transaction holds at most: the depth of the RTL's instruction buffer.
pub const MAX_WORDS: usize = 32;
/// Descriptors a transaction holds at most.
pub const MAX_DESCRIPTORS: usize = 8;

/// Operations a transaction holds at most; as many latches as fit into [`MAX_WORDS`] words.
pub const MAX_OPS: usize = 4 * MAX_WORDS;

/// One step of a transaction: what a word stream says, taken apart. The timed engine works on these; [`Txn::words`] gives
/// the words that the RTL takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A command latch.
    Command(u8),
    /// An address latch.
    Address(u8),
    /// Bytes to the package, from the descriptor of this index.
    DataWrite(u32, u8),
    /// Bytes from the package, to the descriptor of this index.
    DataRead(u32, u8),
    /// A pause of at least so many nanoseconds.
    Timer(u32),
}

/// A transaction under construction or in flight. The builder methods append; one that doesn't fit sets a flag which
/// the engine turns into an error, so that building stays free of branches for the author.
#[derive(Clone, Debug)]
pub struct Txn {
    name: &'static str,
    chips: u32,
    length: u16,
    described: u8,
    // Words that the operations take when encoded; kept so that the RTL's limit holds for the timed engine too.
    encoded: u16,
    // Latches since the last operation that was none.
    latches: u16,
    ended: bool,
    overflowed: bool,
    fault: Option<Fault>,
    ops: [Op; MAX_OPS],
    descriptors: [Descriptor; MAX_DESCRIPTORS],
}

/// Why a word stream is no transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A word is illegal.
    Word(WordError),
    /// The stream doesn't begin with BEGIN, doesn't end with END, or goes on after it.
    Unframed,
}

impl Default for Txn {
    fn default() -> Self {
        Txn {
            name: "",
            chips: 0,
            length: 0,
            described: 0,
            encoded: 0,
            latches: 0,
            ended: false,
            overflowed: false,
            fault: None,
            ops: [Op::Timer(0); MAX_OPS],
            descriptors: [Descriptor::mailbox_out(); MAX_DESCRIPTORS],
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
        self.chips = chips;
        self.length = 0;
        self.described = 0;
        self.encoded = 1;
        self.latches = 0;
        self.ended = false;
        self.overflowed = false;
        self.fault = None;
        self
    }

    /// The name given at the beginning.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// The chip enables, one bit each.
    #[inline]
    pub fn chips(&self) -> u32 {
        self.chips
    }
    /// What happens between BEGIN and END.
    #[inline]
    pub fn ops(&self) -> &[Op] {
        &self.ops[..usize::from(self.length)]
    }
    /// The descriptors that its bursts refer to.
    #[inline]
    pub fn descriptors(&self) -> &[Descriptor] {
        &self.descriptors[..usize::from(self.described)]
    }
    /// True when something did not fit.
    #[inline]
    pub fn overflowed(&self) -> bool {
        self.overflowed || usize::from(self.encoded) > MAX_WORDS
    }
    /// What is wrong with it, apart from its length.
    #[inline]
    pub fn fault(&self) -> Option<Fault> {
        if self.fault.is_some() {
            return self.fault;
        }
        if self.chips == 0 {
            return Some(Fault::Word(WordError { index: 0, reason: "Chip Control selects no chip" }));
        }
        (!self.ended).then_some(Fault::Unframed)
    }

    /// Encodes the transaction as the words of the RTL's instruction queue; gives how many there are. `into` needs room
    /// for [`MAX_WORDS`].
    pub fn words(&self, into: &mut [u64; MAX_WORDS]) -> usize {
        let mut at = 0;
        let mut push = |w: u64| {
            if let Some(slot) = into.get_mut(at) {
                *slot = w;
                at += 1;
            }
        };
        push(word(opcode::BEGIN, 0, 0, self.chips));
        let mut ops = self.ops();
        while let Some((&op, rest)) = ops.split_first() {
            match op {
                Op::Command(_) | Op::Address(_) => {
                    let run = ops.iter().take_while(|o| matches!(o, Op::Command(_) | Op::Address(_))).count();
                    push(word(opcode::COMMAND_ADDRESS, 0, run as u32, 0));
                    for four in ops[..run].chunks(4) {
                        push(four.iter().enumerate().fold(0, |w, (i, op)| {
                            let latch = match *op {
                                Op::Command(c) => Latch::Command(c),
                                Op::Address(a) => Latch::Address(a),
                                _ => return w,
                            };
                            w | latch.pack() << (16 * i)
                        }));
                    }
                    ops = &ops[run..];
                    continue;
                }
                Op::DataWrite(bytes, descriptor) => {
                    push(word(opcode::DATA_WRITE, descriptor & 0xf, bytes, 0))
                }
                Op::DataRead(bytes, descriptor) => push(word(opcode::DATA_READ, descriptor & 0xf, bytes, 0)),
                Op::Timer(nanoseconds) => push(word(opcode::TIMER, 0, 0, nanoseconds)),
            }
            ops = rest;
        }
        if self.ended {
            push(word(opcode::END, 0, 0, 0));
        }
        at
    }

    /// Takes a word stream: for operations that bring their own encoding. What is wrong with it shows as
    /// [`Txn::fault`] when it is issued.
    pub fn load_words(&mut self, name: &'static str, words: &[u64]) -> &mut Self {
        self.begin(name, 0);
        self.overflowed = words.len() > MAX_WORDS;
        let mut open = false;
        for instruction in Instructions::new(words) {
            let instruction = match instruction {
                Ok(instruction) => instruction,
                Err(error) => {
                    self.fault = Some(Fault::Word(error));
                    return self;
                }
            };
            if self.ended || open == matches!(instruction, Instruction::Begin { .. }) {
                self.fault = Some(Fault::Unframed);
                return self;
            }
            match instruction {
                Instruction::Begin { chips } => {
                    open = true;
                    self.chips = chips;
                }
                Instruction::CommandAddress(latches) => {
                    for latch in latches {
                        self.latch(latch);
                    }
                }
                Instruction::DataWrite { bytes, descriptor } => self.push(Op::DataWrite(bytes, descriptor)),
                Instruction::DataRead { bytes, descriptor } => self.push(Op::DataRead(bytes, descriptor)),
                Instruction::Timer { nanoseconds } => self.push(Op::Timer(nanoseconds)),
                Instruction::End => {
                    self.end();
                }
            }
        }
        if !open {
            self.fault = Some(Fault::Unframed);
        }
        self
    }

    #[inline]
    fn push(&mut self, op: Op) {
        match self.ops.get_mut(usize::from(self.length)) {
            Some(slot) => {
                *slot = op;
                self.length += 1;
                self.encoded += 1;
                self.latches = 0;
            }
            None => self.overflowed = true,
        }
    }

    /// One more latch; neighbours share a C/A Writer instruction.
    #[inline]
    pub fn latch(&mut self, latch: Latch) -> &mut Self {
        match self.ops.get_mut(usize::from(self.length)) {
            Some(slot) => {
                *slot = match latch {
                    Latch::Command(c) => Op::Command(c),
                    Latch::Address(a) => Op::Address(a),
                };
                self.length += 1;
                // A header, and a word for every four latches.
                self.encoded += u16::from(self.latches == 0) + u16::from(self.latches & 3 == 0);
                self.latches += 1;
            }
            None => self.overflowed = true,
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
        let nanoseconds = duration.as_picos().div_ceil(1_000).min(u64::from(u32::MAX));
        self.push(Op::Timer(nanoseconds as u32));
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
        self.check_burst(bytes);
        self.push(Op::DataRead(bytes, self.last_descriptor()));
        self
    }
    /// Sends `bytes` of the descriptor named last.
    #[inline]
    pub fn data_write(&mut self, bytes: u32) -> &mut Self {
        self.check_burst(bytes);
        self.push(Op::DataWrite(bytes, self.last_descriptor()));
        self
    }
    #[inline]
    fn check_burst(&mut self, bytes: u32) {
        if bytes == 0 {
            self.fault =
                Some(Fault::Word(WordError { index: self.encoded as u8, reason: "a burst of no bytes" }));
        }
        self.overflowed |= bytes > 0xf_ffff;
    }
    // Without a descriptor the index is out of range, which the engine reports.
    #[inline]
    fn last_descriptor(&self) -> u8 {
        self.described.wrapping_sub(1) & 0xf
    }

    /// Releases the chips.
    #[inline]
    pub fn end(&mut self) -> &mut Self {
        self.encoded += 1;
        self.ended = true;
        self
    }
}
