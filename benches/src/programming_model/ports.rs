//! What the read path stands between, scripted: a queue of commands, a map of which a few rows are in memory,
//! flash, and the host's memory. Each operation of a slot ends after a time that follows from its request.

use aster_exec::{Exec, Handler, HandlerId};
use aster_units::{Duration, Instant, mix64};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Logical pages of a row of the map.
const PAGES_PER_ROW: u32 = 64;
/// Rows of the map.
pub const ROWS: u32 = 24;
/// Rows in memory at most.
const ROWS_PRESENT: usize = 8;
/// A page is read so often before it is given up.
pub const ATTEMPTS: u32 = 3;

/// A read of up to four sectors of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// Its number, from 0.
    pub number: u32,
    /// Logical page.
    pub page: u32,
    /// Sectors, each of which is a transfer.
    pub sectors: u32,
}

impl Request {
    /// The row of the map that says where its page is.
    pub const fn row(&self) -> u32 {
        self.page / PAGES_PER_ROW
    }
}

/// A call of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Took the next command.
    Fetch,
    /// Reads a row of the map from flash.
    ReadRow(u32),
    /// Reads a page from its place on flash.
    ReadPage(u32),
    /// Moves a sector to the host.
    Transfer(u32),
    /// Answers the command: whether the page could be read.
    Complete(bool),
}

/// Where a row of the map is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Row {
    /// On flash only.
    Absent,
    /// Some slot reads it.
    Reading,
    /// In memory.
    Present,
}

/// Is told when the operation of a slot has ended.
pub trait Slots {
    /// The operation that `slot` began last has ended.
    fn ended(&self, slot: u32);
}

/// The ports. One operation per slot at a time.
pub struct Ports {
    exec: Exec,
    handler: OnceCell<HandlerId>,
    requests: u32,
    next: Cell<u32>,
    /// The request in each slot.
    in_work: RefCell<Vec<Request>>,
    rows: RefCell<Vec<Row>>,
    present: RefCell<VecDeque<u32>>,
    calls: RefCell<Vec<(Instant, u32, Call)>>,
    waits: Cell<u64>,
}

impl Ports {
    /// Ports with `requests` commands for `slots` slots.
    pub fn new(exec: &Exec, requests: u32, slots: u32) -> Rc<Self> {
        Rc::new(Ports {
            exec: exec.clone(),
            handler: OnceCell::new(),
            requests,
            next: Cell::new(0),
            in_work: RefCell::new(vec![Request::default(); slots as usize]),
            rows: RefCell::new(vec![Row::Absent; ROWS as usize]),
            present: RefCell::default(),
            calls: RefCell::new(Vec::with_capacity(16 * requests as usize)),
            waits: Cell::new(0),
        })
    }
    /// Has `slots` told of what ends.
    pub fn tell(&self, slots: Rc<dyn Slots>) {
        let handler = self.exec.register(Rc::new(Told(slots)));
        assert!(self.handler.set(handler).is_ok(), "somebody is told already");
    }
    /// The calls so far, with their times and slots.
    pub fn calls(&self) -> Vec<(Instant, u32, Call)> {
        self.calls.take()
    }
    /// Operations that somebody had to wait for.
    pub fn waits(&self) -> u64 {
        self.waits.get()
    }

    /// The next command, for `slot`.
    pub fn fetch(&self, slot: u32) -> Option<Request> {
        let number = self.next.get();
        if number == self.requests {
            return None;
        }
        self.next.set(number + 1);
        let drawn = mix64(u64::from(number));
        let request = Request {
            number,
            page: (drawn % u64::from(ROWS * PAGES_PER_ROW)) as u32,
            sectors: 1 + (drawn >> 32) as u32 % 4,
        };
        self.in_work.borrow_mut()[slot as usize] = request;
        self.log(slot, Call::Fetch);
        Some(request)
    }
    /// Where `row` is.
    pub fn row(&self, row: u32) -> Row {
        self.rows.borrow()[row as usize]
    }
    /// Where the page is, whose row is present.
    pub fn place(&self, page: u32) -> u32 {
        assert_eq!(self.row(page / PAGES_PER_ROW), Row::Present, "its row isn't there");
        mix64(!u64::from(page)) as u32
    }
    /// Begins to read a row that is absent.
    pub fn read_row(&self, slot: u32, row: u32) {
        let before = std::mem::replace(&mut self.rows.borrow_mut()[row as usize], Row::Reading);
        assert_eq!(before, Row::Absent, "a row that is there or comes");
        self.begin(slot, Call::ReadRow(row), 60_000);
    }
    /// Takes over a row that has been read. The oldest one makes room.
    pub fn fill(&self, row: u32) {
        let (mut rows, mut present) = (self.rows.borrow_mut(), self.present.borrow_mut());
        if present.len() == ROWS_PRESENT
            && let Some(oldest) = present.pop_front()
        {
            rows[oldest as usize] = Row::Absent;
        }
        rows[row as usize] = Row::Present;
        present.push_back(row);
    }
    /// Begins to read the page at `place`.
    pub fn read_page(&self, slot: u32, place: u32) {
        self.begin(slot, Call::ReadPage(place), 60_000);
    }
    /// Whether the page could be corrected, at its `attempt`th reading.
    pub fn is_good(&self, slot: u32, attempt: u32) -> bool {
        let request = self.in_work.borrow()[slot as usize].number;
        !mix64(u64::from(request) << 8 | u64::from(attempt)).is_multiple_of(4)
    }
    /// Begins to move a sector to the host.
    pub fn transfer(&self, slot: u32, sector: u32) {
        self.begin(slot, Call::Transfer(sector), 2_000);
    }
    /// Answers the command.
    pub fn complete(&self, slot: u32, is_good: bool) {
        self.log(slot, Call::Complete(is_good));
    }

    fn begin(&self, slot: u32, call: Call, nanoseconds: u64) {
        self.log(slot, call);
        self.waits.set(self.waits.get() + 1);
        let drawn = mix64(u64::from(self.in_work.borrow()[slot as usize].number) ^ self.waits.get() << 32);
        let after = Duration::from_nanos(nanoseconds + drawn % nanoseconds);
        let handler = *self.handler.get().expect("somebody is told");
        self.exec.schedule(self.exec.now() + after, handler, u64::from(slot));
    }
    fn log(&self, slot: u32, call: Call) {
        self.calls.borrow_mut().push((self.exec.now(), slot, call));
    }
}

struct Told(Rc<dyn Slots>);

impl Handler for Told {
    fn fire(&self, token: u64) {
        self.0.ended(token as u32);
    }
}
