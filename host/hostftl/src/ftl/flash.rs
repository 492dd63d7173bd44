//! The flash as the FTL uses it: pages of groups, by commands of frames.
//!
//! Operations reach the drive in the order in which they are asked for. As many tasks as the drive has slots
//! carry them out, each with one command at a time, so that no command waits for a slot behind another.

use super::groups::Members;
use super::oob::{Mark, RECORD_BYTES, SectorKind, SectorRecord};
pub(super) use super::operation::{Done, Operation, Records, RowSpan, SECTORS_MAX, Span};
use super::place::PagePlace;
use super::told::Told;
use crate::driver::{ArrayDriver, CommandTag, Ended, Gone, REGION_BYTES, TAGS};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::{Core, Exec, Ring, WaitCell};
use aster_parties::TargetMemory;
use aster_units::{BufferId, SECTOR_BYTES};
use aster_wire::array::{
    Blocks, Command, CommandFlags, HostAddress, LANES_MAX, Opcode, SectorSpan, StatusCode,
};
use aster_wire::ocssd::TableHeader;
use core::cell::{Cell, RefCell};

/// Bytes of the records of a command: of a page of each lane.
const RUN_BYTES: usize = LANES_MAX * SECTORS_MAX * RECORD_BYTES;
/// Where the report on a die's blocks lies in the byte region.
const REPORT_AT: usize = REGION_BYTES + TAGS * RUN_BYTES;
const OOB: CommandFlags = CommandFlags(0).with_oob(true);

/// An operation that was asked for.
#[derive(Default)]
pub(super) struct Ticket {
    done: Cell<Option<Done>>,
    /// What a read of a row found, by page.
    row: RefCell<Vec<Records>>,
    /// What is stored beside the sectors of a page, whatever it is.
    stored: RefCell<Vec<[u8; RECORD_BYTES]>>,
    waiter: WaitCell,
    /// The number by which it is told.
    job: u32,
    /// How often the drive had been lost when it was asked for.
    asked: u32,
}

impl Ticket {
    pub async fn done(&self, exec: &Exec) -> Done {
        self.waiter.wait(exec, || self.done.get()).await
    }
    /// What lies beside the `index`-th sector that [`read_all`](Flash::read_all) has brought.
    pub fn stored(&self, index: usize) -> [u8; RECORD_BYTES] {
        self.stored.borrow()[index]
    }
    /// The number of the firmware task in events.
    pub fn job(&self) -> u32 {
        self.job
    }
    /// Whether a program was lost with the drive's power, or will end so: the drive has been lost so often by
    /// now.
    pub fn is_lost(&self, losses: u32) -> bool {
        self.done.get().map_or(self.asked != losses, |done| done.lost)
    }
    /// What a read of a row, which has ended, found of its `index`-th page.
    pub fn of_row(&self, index: usize) -> Records {
        self.row.borrow()[index]
    }
}

/// A command on its way, and how often the drive had been lost before.
struct Submitted {
    command: CommandTag,
    losses: u32,
}

/// The flash.
pub(super) struct Flash {
    exec: Exec,
    driver: Rc<ArrayDriver>,
    memory: Rc<RefCell<TargetMemory>>,
    told: Rc<Told>,
    /// With how often the drive was lost before.
    asked: Ring<(Operation, Rc<Ticket>, u32)>,
    /// Is full while an operation is taken and submitted.
    turn: Ring<()>,
    /// Sectors of a page.
    sectors: u8,
    /// Records have the mark of their lane, since rows have sums.
    marked: bool,
    /// The highest sequence number of a record that was written otherwise.
    foreign: Cell<u64>,
    /// Dies of lanes that don't answer any more, in the order in which they were found.
    dead: RefCell<Vec<DeadLane>>,
    news: WaitCell,
}

/// A die of a lane: channel, die, lane.
pub(super) type DeadLane = (u8, u8, u8);

impl Flash {
    /// Bytes that it needs in the host's memory, with those of the driver.
    pub const fn memory_bytes(blocks: u32) -> usize {
        REPORT_AT + size_of::<TableHeader>() + blocks as usize
    }
    /// Spawns its tasks. `bound` is the most operations that are asked for at once; a page has `sectors`; if
    /// `marked`, rows have sums.
    pub fn start(
        core: &Core,
        driver: &Rc<ArrayDriver>,
        memory: &Rc<RefCell<TargetMemory>>,
        told: &Rc<Told>,
        (bound, sectors, marked): (usize, u8, bool),
    ) -> Rc<Self> {
        let flash = Rc::new(Flash {
            exec: core.exec().clone(),
            driver: Rc::clone(driver),
            memory: Rc::clone(memory),
            told: Rc::clone(told),
            asked: Ring::new(bound),
            turn: Ring::new(1),
            sectors,
            marked,
            foreign: Cell::new(0),
            dead: RefCell::new(Vec::new()),
            news: WaitCell::default(),
        });
        for _ in 0..TAGS {
            let flash = Rc::clone(&flash);
            core.spawn(async move { flash.work().await });
        }
        flash
    }

    fn ask(&self, operation: Operation) -> Rc<Ticket> {
        let job = self.told.number(&operation);
        self.told.queued(job, &operation);
        let losses = self.driver.losses();
        let ticket = Rc::new(Ticket { job, asked: losses, ..Ticket::default() });
        let asked = self.asked.try_push(&self.exec, (operation, Rc::clone(&ticket), losses));
        assert!(asked.is_ok(), "more operations than buffers and groups have");
        ticket
    }
    /// Reads sectors of a page into a buffer, from its sector `into` on.
    pub fn read(&self, span: Span, buffer: BufferId, into: u8) -> Rc<Ticket> {
        self.ask(Operation::Read { span, buffer, into, all: false })
    }
    /// Reads a page into a buffer, and keeps what lies beside its sectors even if it is no record.
    pub fn read_all(&self, span: Span, buffer: BufferId) -> Rc<Ticket> {
        self.ask(Operation::Read { span, buffer, into: 0, all: true })
    }
    /// Sectors of a page.
    pub fn sectors(&self) -> u8 {
        self.sectors
    }
    /// Whether the drive takes commands.
    pub fn is_attached(&self) -> bool {
        self.driver.is_attached()
    }
    /// Whether the drive has been given up: whatever it is asked for ends without an answer.
    pub fn is_gone(&self) -> bool {
        self.driver.fault().is_some()
    }
    /// Whether the drive takes no more writes, and refuses them all.
    pub fn is_read_only(&self) -> bool {
        self.driver.is_read_only()
    }
    /// How often the drive has lost its power.
    pub fn losses(&self) -> u32 {
        self.driver.losses()
    }
    /// The highest sequence number of a record that was read and written by an FTL with other rows.
    pub fn foreign(&self) -> u64 {
        self.foreign.get()
    }
    /// Waits for the `n`-th die of a lane that is found not to answer. For one waiter.
    pub async fn next_dead(&self, n: usize) -> DeadLane {
        self.news.wait(&self.exec, || self.dead.borrow().get(n).copied()).await
    }
    /// The dies of lanes that don't answer.
    pub fn dead(&self) -> Vec<DeadLane> {
        self.dead.borrow().clone()
    }
    /// Notes the lanes that an operation has found not to answer.
    fn note_dead(&self, operation: &Operation, failed: u8) {
        let (channel, die, lanes) = match operation {
            Operation::Read { span, .. } | Operation::Program { span, .. } => {
                (span.page.channel, span.page.die, 1 << span.page.lane)
            }
            Operation::ReadRow(row) | Operation::ProgramRow(row) => {
                (row.group.channel, row.group.die, failed)
            }
            Operation::Erase { channel, die, .. } => (*channel, *die, failed),
        };
        for lane in (0..LANES_MAX as u8).filter(|lane| lanes >> lane & 1 != 0) {
            let mut dead = self.dead.borrow_mut();
            if !dead.contains(&(channel, die, lane)) {
                dead.push((channel, die, lane));
                self.news.wake(&self.exec);
            }
        }
    }
    /// What is flipped in the records of a lane.
    pub fn mark(&self, lane: u8) -> Mark {
        if self.marked { Mark::of_lane(lane) } else { Mark::NONE }
    }
    /// Programs a whole page from a buffer, with these records.
    pub fn program(&self, span: Span, buffer: BufferId, records: Records) -> Rc<Ticket> {
        self.ask(Operation::Program { span, buffer, records })
    }
    /// Reads pages of a row.
    pub fn read_row(&self, row: RowSpan) -> Rc<Ticket> {
        self.ask(Operation::ReadRow(Rc::new(row)))
    }
    /// Programs pages of a row.
    pub fn program_row(&self, row: RowSpan) -> Rc<Ticket> {
        self.ask(Operation::ProgramRow(Rc::new(row)))
    }
    /// Erases the blocks of a group.
    pub fn erase(&self, channel: u8, die: u8, members: Members) -> Rc<Ticket> {
        self.ask(Operation::Erase { channel, die, members })
    }
    /// The drive's report on a die of a lane: a state for each block.
    pub async fn report(&self, channel: u8, die: u8, lane: u8, blocks: u32) -> Option<Vec<u8>> {
        let (at, bytes) = (self.at(REPORT_AT), size_of::<TableHeader>() + blocks as usize);
        let report = Command::new(Opcode::Report, 0, channel, die, Blocks::One { lane, block: 0 });
        let ended =
            self.driver.send(report.with_host(HostAddress::of(at, bytes.next_multiple_of(16) as u32)));
        if ended.await.ok()?.code != StatusCode::Done {
            return None;
        }
        let memory = self.memory.borrow();
        Some(memory.bytes(at, bytes).ok()?[size_of::<TableHeader>()..].to_vec())
    }

    async fn work(&self) {
        loop {
            // One task at a time takes an operation and submits it, so that the drive gets them in the order
            // in which they were asked for: a group is erased before it is written.
            self.turn.push(&self.exec, ()).await;
            let (operation, ticket, asked) = self.asked.pop(&self.exec).await;
            let sent = self.submit(&operation, asked).await;
            self.turn.try_pop(&self.exec);
            self.told.issued(&operation);
            let done = self.carry_out(&operation, &ticket, asked, sent).await;
            self.told.finished(&operation, &done);
            ticket.done.set(Some(done));
            ticket.waiter.wake(&self.exec);
        }
    }
    /// Submits an operation once the drive takes commands. `None` for a program or an erase that was asked
    /// for before the drive has lost its power: its group may not go on.
    async fn submit(&self, operation: &Operation, asked: u32) -> Option<Submitted> {
        let is_read = matches!(operation, Operation::Read { .. } | Operation::ReadRow(_));
        loop {
            let losses = self.driver.losses();
            if losses != asked && !is_read {
                return None;
            }
            self.driver.attached().await;
            if self.driver.losses() == losses {
                let command = self.driver.submit_made_soon(|tag| self.command(tag, operation)).await;
                return Some(Submitted { command, losses });
            }
        }
    }
    /// Awaits the end of an operation. A read that is lost with the drive's power is carried out again.
    async fn carry_out(
        &self,
        operation: &Operation,
        ticket: &Ticket,
        asked: u32,
        mut sent: Option<Submitted>,
    ) -> Done {
        while let Some(Submitted { command, losses }) = sent {
            let ended = self.driver.finished(command).await;
            if ended.is_ok() || self.driver.losses() == losses {
                return self.done(command, operation, ended, ticket);
            }
            sent = self.submit(operation, asked).await;
        }
        Done::LOST
    }
    fn at(&self, offset: usize) -> u64 {
        TargetMemory::BYTES_BASE + offset as u64
    }
    fn run(&self, tag: CommandTag) -> u64 {
        self.at(REGION_BYTES + tag.index() * RUN_BYTES)
    }
    /// The command of an operation: what it names, the page buffers, and the run of its records.
    fn command(&self, tag: CommandTag, operation: &Operation) -> Command {
        let (opcode, span) = match operation {
            Operation::Erase { channel, die, members } => {
                return Command::new(Opcode::Erase, 0, *channel, *die, Blocks::Group(*members));
            }
            Operation::ReadRow(row) => return self.of_row(tag, Opcode::Read, row),
            Operation::ProgramRow(row) => return self.of_row(tag, Opcode::Write, row),
            Operation::Read { span, .. } => (Opcode::Read, span),
            Operation::Program { span, .. } => (Opcode::Write, span),
        };
        let (buffer, into) = match operation {
            &Operation::Read { buffer, into, .. } => (buffer, into),
            Operation::Program { buffer, records, .. } => {
                self.put_records(tag, [(span.page.lane, records)].into_iter(), span.count);
                (*buffer, 0)
            }
            _ => unreachable!("operations of no page have commands by now"),
        };
        if opcode == Opcode::Read {
            self.clear_records(tag, span.count.into());
        }
        let PagePlace { channel, die, lane, page, .. } = span.page;
        let sector = SECTOR_BYTES as u32;
        let data = self.memory.borrow().address_of(buffer, u32::from(into) * sector);
        Command::new(opcode, 0, channel, die, Blocks::One { lane, block: span.block })
            .at(page, SectorSpan::of(span.first, span.count))
            .with_flags(OOB)
            .with_host(HostAddress::of(data, u32::from(span.count) * sector))
            .with_host(HostAddress::of(self.run(tag), u32::from(span.count) * RECORD_BYTES as u32))
    }
    fn of_row(&self, tag: CommandTag, opcode: Opcode, row: &RowSpan) -> Command {
        let pages = row.buffers.len();
        let run = pages * usize::from(self.sectors) * RECORD_BYTES;
        match opcode {
            Opcode::Read => self.clear_records(tag, pages * usize::from(self.sectors)),
            _ => self.put_records(tag, row.lanes().zip(&row.records), self.sectors),
        }
        let page_bytes = u32::from(self.sectors) * SECTOR_BYTES as u32;
        let memory = self.memory.borrow();
        let command = Command::new(opcode, 0, row.group.channel, row.group.die, Blocks::Group(row.members))
            .at(row.page, SectorSpan::of(0, self.sectors))
            .with_flags(OOB);
        let of_page = |command: Command, buffer: &BufferId| {
            command.with_host(HostAddress::of(memory.address_of(*buffer, 0), page_bytes))
        };
        let command = row.buffers.iter().fold(command, of_page);
        let command = command.with_host(HostAddress::of(self.run(tag), run as u32));
        row.parity.map_or(command, |lane| command.with_parity_on(lane))
    }
    /// Writes the records of pages, of so many sectors each, into the command's run.
    fn put_records<'a>(&self, tag: CommandTag, pages: impl Iterator<Item = (u8, &'a Records)>, sectors: u8) {
        let mut memory = self.memory.borrow_mut();
        let run = memory.bytes_mut(self.run(tag), RUN_BYTES).expect("the command's run is in memory");
        for (run, (lane, page)) in run.chunks_exact_mut(usize::from(sectors) * RECORD_BYTES).zip(pages) {
            for (bytes, record) in run.chunks_exact_mut(RECORD_BYTES).zip(page) {
                let record = record.unwrap_or(SectorRecord::PADDING);
                let mark = if record.kind == SectorKind::Table { Mark::NONE } else { self.mark(lane) };
                bytes.copy_from_slice(&record.encode(mark));
            }
        }
    }
    /// What an earlier page has left in the command's run must not be taken for this one's.
    fn clear_records(&self, tag: CommandTag, sectors: usize) {
        let mut memory = self.memory.borrow_mut();
        let run = memory.bytes_mut(self.run(tag), sectors * RECORD_BYTES);
        run.expect("the command's run is in memory").fill(0);
    }
    fn done(
        &self,
        tag: CommandTag,
        operation: &Operation,
        ended: Result<Ended, Gone>,
        ticket: &Ticket,
    ) -> Done {
        let failed = ended.map_or(0, |ended| ended.failed);
        let (code, records) = (ended.map(|ended| ended.code), [None; SECTORS_MAX]);
        let unread = records;
        let corrected = match code {
            Ok(StatusCode::Uncorrectable | StatusCode::OobLost) => u8::MAX,
            _ => ended.map_or(0, |ended| ended.corrected),
        };
        let mut done = Done { code, failed, records, unread, corrected, lost: false };
        if code == Ok(StatusCode::LaneDead) {
            self.note_dead(operation, failed);
        }
        match operation {
            Operation::Read { span, all, .. } => self.stored(tag, span.count, |n, bytes| {
                let sector = span.first + n as u8;
                let of = if done.has(sector) { &mut done.records } else { &mut done.unread };
                of[usize::from(sector)] = self.record(bytes, span.page.lane);
                if *all {
                    ticket.stored.borrow_mut().push(*bytes);
                }
            }),
            Operation::ReadRow(row) => {
                let sectors = usize::from(self.sectors);
                let mut pages = vec![[None; SECTORS_MAX]; row.buffers.len()];
                let lanes: Vec<u8> = row.lanes().collect();
                self.stored(tag, (pages.len() * sectors) as u8, |n, bytes| {
                    pages[n / sectors][n % sectors] = self.record(bytes, lanes[n / sectors]);
                });
                *ticket.row.borrow_mut() = pages;
            }
            _ => {}
        }
        done
    }
    /// Calls `each` with what a read has brought of what is beside the sectors.
    fn stored(&self, tag: CommandTag, sectors: u8, mut each: impl FnMut(usize, &[u8; RECORD_BYTES])) {
        let memory = self.memory.borrow();
        let run = memory.bytes(self.run(tag), usize::from(sectors) * RECORD_BYTES);
        let (records, _) = run.expect("the command's run is in memory").as_chunks::<RECORD_BYTES>();
        records.iter().enumerate().for_each(|(n, bytes)| each(n, bytes));
    }
    /// The record in these bytes of a lane. Pages of the table have no sums, and no marks. A
    /// record of other rows is remembered.
    fn record(&self, bytes: &[u8; RECORD_BYTES], lane: u8) -> Option<SectorRecord> {
        let is_table = |record: &SectorRecord| record.kind == SectorKind::Table;
        let record = SectorRecord::decode(bytes, self.mark(lane));
        let record = record.or_else(|| SectorRecord::decode(bytes, Mark::NONE).filter(is_table));
        let other = if self.marked { Mark::NONE } else { Mark::of_lane(lane) };
        if record.is_none()
            && let Some(foreign) = SectorRecord::decode(bytes, other)
        {
            self.foreign.set(self.foreign.get().max(foreign.sequence));
        }
        record
    }
}
