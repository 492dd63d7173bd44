use crate::interface::{Verdict, limits, word};
use crate::{Descriptor, Instruction, Instructions, Latch, Shape, WordError, opcode};
use aster_units::{Column, Duration, RowAddr};

/// The most words of a transaction: the depth of the RTL's instruction buffer.
pub const MAX_WORDS: usize = limits::WORDS;
/// The most descriptors of a transaction.
pub const MAX_DESCRIPTORS: usize = limits::DESCRIPTORS;

/// The most operations of a transaction: as many as there are latches in [`MAX_WORDS`] words.
pub const MAX_OPS: usize = 4 * MAX_WORDS;

/// One step of a transaction, decoded. The timed engine works on these; [`Txn::words`] gives the words
/// that the RTL takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A command latch.
    Command(u8),
    /// Address latches in a row, in bus order.
    Addresses(AddressRun),
    /// Bytes to the package, from the descriptor of this index.
    DataWrite(u32, u8),
    /// Bytes from the package, to the descriptor of this index.
    DataRead(u32, u8),
    /// A pause of at least this many nanoseconds.
    Timer(u32),
}

/// The most address latches of one operation. With this, an [`Op`] is one machine word, and the longest
/// ONFI address, column and row, fits (ONFI 5.1 §3.1).
pub const MAX_ADDRESS_RUN: usize = 6;

/// Consecutive address latches, which the engine plans as one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressRun {
    count: u8,
    bytes: [u8; MAX_ADDRESS_RUN],
}

impl AddressRun {
    /// The bytes in bus order; at least one.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.count).min(MAX_ADDRESS_RUN)]
    }
    /// A column: two address cycles, low byte first.
    #[inline]
    pub const fn column(column: Column) -> Self {
        let [low, high] = column.0.to_le_bytes();
        AddressRun { count: 2, bytes: [low, high, 0, 0, 0, 0] }
    }
    /// A row: three address cycles, low byte first.
    #[inline]
    pub const fn row(row: RowAddr) -> Self {
        let [a, b, c, _] = row.0.to_le_bytes();
        AddressRun { count: 3, bytes: [a, b, c, 0, 0, 0] }
    }
    /// Column and row: the five address cycles of READ and PROGRAM.
    #[inline]
    pub const fn column_and_row(column: Column, row: RowAddr) -> Self {
        let [low, high] = column.0.to_le_bytes();
        let [a, b, c, _] = row.0.to_le_bytes();
        AddressRun { count: 5, bytes: [low, high, a, b, c, 0] }
    }
}

/// A transaction under construction or in flight. The builder methods append steps. A step that doesn't
/// fit sets a flag, which the engine turns into an error, so that the code that builds a transaction
/// needs no error handling.
#[derive(Clone, Debug)]
pub struct Txn {
    name: &'static str,
    chips: u32,
    length: u16,
    described: u8,
    ended: bool,
    overflowed: bool,
    fault: Option<Fault>,
    shape: Option<Shape>,
    // Of the shape, or `NO_NUMBER`.
    number: u16,
    // Set if `ops` holds the words of a stream that isn't a transaction, each as the operands of two
    // Timers, lower half first.
    kept: bool,
    ops: [Op; MAX_OPS],
    descriptors: [Descriptor; MAX_DESCRIPTORS],
}

/// No shape, or one without a number.
const NO_NUMBER: u16 = u16::MAX;
const _: () = assert!(Shape::COUNT < NO_NUMBER as usize);

/// Why a word stream isn't a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A word is illegal.
    Word(WordError),
    /// The stream doesn't begin with BEGIN, doesn't end with END, or continues after END.
    Unframed,
}

impl Default for Txn {
    fn default() -> Self {
        Txn {
            name: "",
            chips: 0,
            length: 0,
            described: 0,
            ended: false,
            overflowed: false,
            fault: None,
            shape: None,
            number: NO_NUMBER,
            kept: false,
            ops: [Op::Timer(0); MAX_OPS],
            descriptors: [Descriptor::mailbox_out(); MAX_DESCRIPTORS],
        }
    }
}

/// The latches of an operation; none if it has none.
fn latches_of(op: &Op) -> impl Iterator<Item = Latch> {
    let (command, run): (Option<u8>, &[u8]) = match op {
        Op::Command(c) => (Some(*c), &[]),
        Op::Addresses(run) => (None, run.bytes()),
        _ => (None, &[]),
    };
    command.map(Latch::Command).into_iter().chain(run.iter().map(|&a| Latch::Address(a)))
}

const fn word(opcode: u8, descriptor: u8, length: u32, operand: u32) -> u64 {
    word::OPCODE.put(opcode as u64)
        | word::DESCRIPTOR.put(descriptor as u64)
        | word::LENGTH.put(length as u64)
        | word::OPERAND.put(operand as u64)
}

impl Txn {
    /// Starts over with a transaction called `name` in waveforms and errors, on the chip enables of
    /// `chips`.
    #[inline]
    pub fn begin(&mut self, name: &'static str, chips: u32) -> &mut Self {
        self.name = name;
        self.chips = chips;
        self.length = 0;
        self.described = 0;
        self.ended = false;
        self.overflowed = false;
        self.fault = None;
        self.shape = None;
        self.number = NO_NUMBER;
        self.kept = false;
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
    /// Its shape, if whoever has built it has named that.
    #[inline]
    pub fn shape(&self) -> Option<Shape> {
        self.shape
    }
    /// The number of its shape ([`Shape::number`]), if it has both.
    #[inline]
    pub fn shape_number(&self) -> Option<usize> {
        (self.number != NO_NUMBER).then_some(usize::from(self.number))
    }
    /// Says what shape it has, with nothing to be added behind that.
    #[inline]
    pub fn shaped(&mut self, shape: Shape) -> &mut Self {
        self.shape = Some(shape);
        self.number = shape.number().map_or(NO_NUMBER, |number| number as u16);
        self
    }
    /// True when something did not fit. It counts the words, so that the RTL's limit applies to the timed
    /// engine, too.
    pub fn overflowed(&self) -> bool {
        // A stream that is kept as it came is no longer than fits, or is flagged.
        self.overflowed || !self.kept && self.encoded() > MAX_WORDS
    }
    /// True when an operation or a descriptor did not fit. That is all that [`Txn::overflowed`] can find in a
    /// transaction whose shape another one has had that did not overflow.
    #[inline]
    pub fn lacks_operations(&self) -> bool {
        self.overflowed
    }
    /// Words that it takes when encoded: BEGIN, a header for each run of latches and a word for every four
    /// of them, one for everything else, END.
    fn encoded(&self) -> usize {
        let (mut words, mut latches) = (1 + usize::from(self.ended), 0);
        for op in self.ops() {
            let more = match op {
                Op::Command(_) => 1,
                Op::Addresses(run) => run.bytes().len(),
                Op::DataWrite(..) | Op::DataRead(..) | Op::Timer(_) => {
                    words += 1;
                    latches = 0;
                    continue;
                }
            };
            words += usize::from(latches == 0);
            words += (latches + more).div_ceil(4) - latches.div_ceil(4);
            latches += more;
        }
        words
    }
    /// What is wrong with it, other than its length.
    #[inline]
    pub fn fault(&self) -> Option<Fault> {
        if self.fault.is_some() {
            return self.fault;
        }
        if self.chips == 0 {
            return Some(Fault::Word(WordError::new(0, Verdict::NoChip)));
        }
        (!self.ended).then_some(Fault::Unframed)
    }

    /// Encodes the transaction as words for the RTL's instruction queue, and returns their number. `into`
    /// needs room for [`MAX_WORDS`].
    pub fn words(&self, into: &mut [u64; MAX_WORDS]) -> usize {
        let mut at = 0;
        let mut push = |w: u64| {
            if let Some(slot) = into.get_mut(at) {
                *slot = w;
                at += 1;
            }
        };
        if self.kept {
            for halves in self.ops().chunks_exact(2) {
                if let [Op::Timer(low), Op::Timer(high)] = halves {
                    push(u64::from(*high) << 32 | u64::from(*low));
                }
            }
            return at;
        }
        push(word(opcode::BEGIN, 0, 0, self.chips));
        let mut ops = self.ops();
        while let Some((&op, rest)) = ops.split_first() {
            match op {
                Op::Command(_) | Op::Addresses(_) => {
                    let run =
                        ops.iter().take_while(|o| matches!(o, Op::Command(_) | Op::Addresses(_))).count();
                    let count = ops[..run].iter().map(latches_of).map(Iterator::count).sum::<usize>();
                    push(word(opcode::COMMAND_ADDRESS, 0, count as u32, 0));
                    let mut latches = ops[..run].iter().flat_map(latches_of);
                    for _ in 0..count.div_ceil(4) {
                        let four = latches.by_ref().take(4).enumerate();
                        push(four.fold(0, |w, (i, latch)| w | latch.pack() << (16 * i)));
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

    /// Takes a word stream, for operations that bring their own encoding. If the stream is wrong,
    /// [`Txn::fault`] says so when it is issued.
    pub fn load_words(&mut self, name: &'static str, words: &[u64]) -> &mut Self {
        self.begin(name, 0);
        self.overflowed = words.len() > MAX_WORDS;
        let mut open = false;
        for instruction in Instructions::new(words) {
            let instruction = match instruction {
                Ok(instruction) => instruction,
                Err(error) => return self.keep(words, Fault::Word(error)),
            };
            if self.ended || open == matches!(instruction, Instruction::Begin { .. }) {
                return self.keep(words, Fault::Unframed);
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
        if self.ended { self } else { self.keep(words, Fault::Unframed) }
    }

    /// Keeps a stream that isn't a transaction. Hardware gets its words unchanged, and finds the same
    /// fault.
    fn keep(&mut self, words: &[u64], fault: Fault) -> &mut Self {
        self.fault = Some(fault);
        self.kept = true;
        let words = &words[..words.len().min(MAX_WORDS)];
        let halves = words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]);
        self.ops.iter_mut().zip(halves).for_each(|(op, half)| *op = Op::Timer(half));
        self.length = 2 * words.len() as u16;
        self
    }

    #[inline]
    fn push(&mut self, op: Op) {
        match self.ops.get_mut(usize::from(self.length)) {
            Some(slot) => {
                *slot = op;
                self.length += 1;
            }
            None => self.overflowed = true,
        }
    }

    /// Adds a latch. Consecutive latches share a C/A Writer instruction.
    #[inline]
    pub fn latch(&mut self, latch: Latch) -> &mut Self {
        match latch {
            Latch::Command(c) => self.cmd(c),
            Latch::Address(a) => self.addr(a),
        }
    }
    /// Latches a command.
    #[inline]
    pub fn cmd(&mut self, command: u8) -> &mut Self {
        match self.ops.get_mut(usize::from(self.length)) {
            Some(slot) => {
                *slot = Op::Command(command);
                self.length += 1;
            }
            None => self.overflowed = true,
        }
        self
    }
    /// Latches one address byte.
    #[inline]
    pub fn addr(&mut self, byte: u8) -> &mut Self {
        if let Some(Op::Addresses(run)) = self.ops[..usize::from(self.length)].last_mut()
            && let Some(slot) = run.bytes.get_mut(usize::from(run.count))
        {
            *slot = byte;
            run.count += 1;
            return self;
        }
        self.addresses(AddressRun { count: 1, bytes: [byte, 0, 0, 0, 0, 0] })
    }
    /// Adds address latches after a command, as a run of their own.
    #[inline]
    fn addresses(&mut self, run: AddressRun) -> &mut Self {
        match self.ops.get_mut(usize::from(self.length)) {
            Some(slot) => {
                *slot = Op::Addresses(run);
                self.length += 1;
            }
            None => self.overflowed = true,
        }
        self
    }
    /// Whether an address latch now would continue a run.
    #[inline]
    fn ends_in_address(&self) -> bool {
        matches!(self.ops[..usize::from(self.length)].last(), Some(Op::Addresses(_)))
    }
    /// Latches a command of three steps: its first cycle, its addresses, its second cycle.
    #[inline]
    pub fn command(&mut self, first: u8, run: AddressRun, second: u8) -> &mut Self {
        match self.ops[usize::from(self.length)..].first_chunk_mut() {
            Some(ops) => {
                *ops = [Op::Command(first), Op::Addresses(run), Op::Command(second)];
                self.length += 3;
            }
            None => self.overflowed = true,
        }
        self
    }
    /// Latches a column: two address cycles, low byte first.
    #[inline]
    pub fn column(&mut self, column: Column) -> &mut Self {
        let [low, high] = column.0.to_le_bytes();
        if self.ends_in_address() {
            return self.addr(low).addr(high);
        }
        self.addresses(AddressRun::column(column))
    }
    /// Latches a row: three address cycles, low byte first.
    #[inline]
    pub fn row(&mut self, row: RowAddr) -> &mut Self {
        let [a, b, c, _] = row.0.to_le_bytes();
        if self.ends_in_address() {
            return self.addr(a).addr(b).addr(c);
        }
        self.addresses(AddressRun::row(row))
    }
    /// Latches column and row: the five address cycles of READ and PROGRAM.
    #[inline]
    pub fn col_row(&mut self, column: Column, row: RowAddr) -> &mut Self {
        if self.ends_in_address() {
            return self.column(column).row(row);
        }
        self.addresses(AddressRun::column_and_row(column, row))
    }
    /// Pauses for at least `duration` (rounded up to the nanosecond). If two pauses follow a latch, the
    /// longer one counts, since both are measured from the latch. Elsewhere they add up.
    #[inline]
    pub fn timer(&mut self, duration: Duration) -> &mut Self {
        let nanoseconds = duration.as_picos().div_ceil(1_000).min(u64::from(u32::MAX)) as u32;
        match self.ops().last() {
            Some(Op::Timer(pause)) => self.lengthen(*pause, nanoseconds),
            _ => self.push(Op::Timer(nanoseconds)),
        }
        self
    }
    /// A pause follows another one, which is the last operation.
    fn lengthen(&mut self, pause: u32, nanoseconds: u32) {
        let (before, last) = self.ops[..usize::from(self.length)].split_at_mut(usize::from(self.length) - 1);
        let after_latch = before.last().is_some_and(|op| latches_of(op).next().is_some());
        last[0] = Op::Timer(match after_latch {
            true => nanoseconds.max(pause),
            false => pause.saturating_add(nanoseconds),
        });
    }

    /// Sets where the data of the following bursts come from or go to.
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
            self.fault = Some(Fault::Word(WordError::new(self.encoded() as u8, Verdict::NoBytes)));
        }
        self.overflowed |= u64::from(bytes) > word::LENGTH.max();
    }
    // Without a descriptor the index is out of range, which the engine reports.
    #[inline]
    fn last_descriptor(&self) -> u8 {
        self.described.wrapping_sub(1) & 0xf
    }

    /// Releases the chips.
    #[inline]
    pub fn end(&mut self) -> &mut Self {
        self.ended = true;
        self
    }
}
