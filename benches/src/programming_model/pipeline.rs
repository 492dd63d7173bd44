//! The read path as stages, as Cosmos+'s firmware has them (S36): a record per slot says how far its request
//! has come, and whoever hears that an operation has ended takes the record to its next stage.

use crate::ports::{ATTEMPTS, Ports, Request, Row, Slots};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What a slot's request waits for.
#[derive(Clone, Copy)]
enum Stage {
    Idle,
    /// The row of the map, which this slot reads.
    OwnRow,
    /// The row of the map, which another slot reads.
    OthersRow,
    Page,
    Transfer,
}

/// What is kept of a request between its stages.
#[derive(Clone, Copy)]
pub struct Record {
    request: Request,
    stage: Stage,
    place: u32,
    attempt: u32,
    sector: u32,
}

pub struct Pipeline {
    ports: Rc<Ports>,
    records: RefCell<Vec<Record>>,
    /// Slots whose row another one reads, for each row.
    parked: RefCell<Vec<VecDeque<u32>>>,
    /// Slots whose row has been read by another one.
    unparked: RefCell<VecDeque<u32>>,
}

impl Pipeline {
    pub fn new(ports: &Rc<Ports>, slots: u32, rows: u32) -> Rc<Self> {
        let idle =
            Record { request: Request::default(), stage: Stage::Idle, place: 0, attempt: 0, sector: 0 };
        Rc::new(Pipeline {
            ports: Rc::clone(ports),
            records: RefCell::new(vec![idle; slots as usize]),
            parked: RefCell::new(vec![VecDeque::with_capacity(slots as usize); rows as usize]),
            unparked: RefCell::new(VecDeque::with_capacity(slots as usize)),
        })
    }

    /// Gives each slot its first request.
    pub fn start(&self) {
        let slots = self.records.borrow().len() as u32;
        for slot in 0..slots {
            self.fetch(slot);
        }
    }

    fn record(&self, slot: u32) -> Record {
        self.records.borrow()[slot as usize]
    }
    fn change(&self, slot: u32, change: impl FnOnce(&mut Record)) {
        change(&mut self.records.borrow_mut()[slot as usize]);
    }

    fn fetch(&self, slot: u32) {
        match self.ports.fetch(slot) {
            None => self.change(slot, |record| record.stage = Stage::Idle),
            Some(request) => {
                self.change(slot, |record| (record.request, record.attempt, record.sector) = (request, 0, 0));
                self.look_up(slot);
            }
        }
    }

    fn look_up(&self, slot: u32) {
        let request = self.record(slot).request;
        let row = request.row();
        match self.ports.row(row) {
            Row::Present => {
                self.change(slot, |record| record.place = self.ports.place(request.page));
                self.read(slot);
            }
            Row::Reading => {
                self.change(slot, |record| record.stage = Stage::OthersRow);
                self.parked.borrow_mut()[row as usize].push_back(slot);
            }
            Row::Absent => {
                self.change(slot, |record| record.stage = Stage::OwnRow);
                self.ports.read_row(slot, row);
            }
        }
    }

    fn row_read(&self, slot: u32) {
        let row = self.record(slot).request.row();
        self.ports.fill(row);
        self.unparked.borrow_mut().extend(self.parked.borrow_mut()[row as usize].drain(..));
        self.look_up(slot);
    }

    fn read(&self, slot: u32) {
        self.change(slot, |record| record.stage = Stage::Page);
        self.ports.read_page(slot, self.record(slot).place);
    }

    fn page_read(&self, slot: u32) {
        let attempt = self.record(slot).attempt;
        if self.ports.is_good(slot, attempt) {
            self.change(slot, |record| record.stage = Stage::Transfer);
            self.ports.transfer(slot, 0);
        } else if attempt + 1 < ATTEMPTS {
            self.change(slot, |record| record.attempt += 1);
            self.read(slot);
        } else {
            self.complete(slot, false);
        }
    }

    fn transferred(&self, slot: u32) {
        self.change(slot, |record| record.sector += 1);
        let Record { request, sector, .. } = self.record(slot);
        if sector < request.sectors {
            self.ports.transfer(slot, sector);
        } else {
            self.complete(slot, true);
        }
    }

    fn complete(&self, slot: u32, is_good: bool) {
        self.ports.complete(slot, is_good);
        self.fetch(slot);
    }
}

impl Slots for Pipeline {
    fn ended(&self, slot: u32) {
        match self.record(slot).stage {
            Stage::OwnRow => self.row_read(slot),
            Stage::Page => self.page_read(slot),
            Stage::Transfer => self.transferred(slot),
            Stage::Idle | Stage::OthersRow => panic!("slot {slot} has no operation"),
        }
        loop {
            let Some(slot) = self.unparked.borrow_mut().pop_front() else { break };
            self.look_up(slot);
        }
    }
}
