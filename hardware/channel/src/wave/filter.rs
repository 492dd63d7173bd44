use alloc::vec::Vec;
use aster_ports::package::BurstTiming;
use aster_txn::Latch;
use aster_units::RowAddr;
use aster_wire::onfi::{Status, command};

/// What a capture keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WaveFilter {
    /// Every transaction.
    Everything,
    /// Whole operations: from a transaction of one of these names, through that LUN's status polls and
    /// transfers, to the end of the operation.
    Operations {
        /// Names of the transactions that operations begin with.
        begin: Vec<&'static str>,
        /// How many operations of each name.
        each: usize,
    },
}

impl WaveFilter {
    /// The first READ, PROGRAM and ERASE.
    pub fn first_of_each() -> Self {
        WaveFilter::Operations { begin: ["read", "program", "erase"].into(), each: 1 }
    }
}

/// What a transaction's cycles say about the operation that it belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) name: &'static str,
    pub(super) chips: u32,
    command: Option<u8>,
    addresses: u8,
    row: u32,
    ready: bool,
    fetched: bool,
}

impl Seen {
    pub(super) fn new(name: &'static str) -> Self {
        Seen { name, ..Seen::default() }
    }

    pub(super) fn latch(&mut self, latch: Latch) {
        match latch {
            Latch::Command(byte) => {
                self.command.get_or_insert(byte);
            }
            // Whether three or five cycles, the last three are the row (ONFI 5.1 §3.1).
            Latch::Address(byte) => {
                self.addresses = self.addresses.saturating_add(1);
                self.row = self.row >> 8 | u32::from(byte) << 16;
            }
        }
    }

    pub(super) fn burst(&mut self, _timing: BurstTiming, out: bool, bytes: &[u8]) {
        if !out {
            return;
        }
        match self.command {
            Some(command::READ_STATUS | command::READ_STATUS_ENHANCED) => {
                self.ready = bytes.first().is_some_and(|&status| Status(status).ready());
            }
            _ => self.fetched = true,
        }
    }

    fn row(&self) -> Option<RowAddr> {
        (self.addresses >= 3).then_some(RowAddr(self.row))
    }
    /// Whether the command continues an operation: status, column changes and the return to data output
    /// do. Other commands begin an operation.
    fn goes_on(&self) -> bool {
        match self.command {
            Some(
                command::READ_STATUS
                | command::READ_STATUS_ENHANCED
                | command::CHANGE_READ_COLUMN
                | command::CHANGE_READ_COLUMN_ENHANCED,
            ) => true,
            Some(command::READ) => self.addresses == 0,
            _ => false,
        }
    }
}

/// An operation that is being kept.
struct KeptOperation {
    chips: u32,
    row: Option<RowAddr>,
    /// It ends with data output, not with ready.
    fetches: bool,
    /// Another operation has begun behind the same chip enable: either the LUNs there take turns, or this
    /// operation was abandoned.
    passed: bool,
}

impl KeptOperation {
    fn ended_by(&self, seen: &Seen) -> bool {
        if self.fetches { seen.fetched } else { seen.ready }
    }
}

/// Decides for each transaction whether it belongs to an operation that the filter asks for.
pub(super) struct Follow {
    filter: WaveFilter,
    begun: Vec<usize>,
    open: Vec<KeptOperation>,
}

impl Follow {
    pub(super) fn new(filter: WaveFilter) -> Self {
        let names = if let WaveFilter::Operations { begin, .. } = &filter { begin.len() } else { 0 };
        Follow { filter, begun: alloc::vec![0; names], open: Vec::new() }
    }

    /// Whether no further transaction would be kept.
    pub(super) fn complete(&self) -> bool {
        match &self.filter {
            WaveFilter::Everything => false,
            WaveFilter::Operations { each, .. } => {
                self.open.is_empty() && self.begun.iter().all(|begun| begun >= each)
            }
        }
    }

    /// Whether an operation that is kept uses this way.
    pub(super) fn watches(&self, way: usize) -> bool {
        self.filter == WaveFilter::Everything || self.open.iter().any(|o| o.chips >> way & 1 == 1)
    }

    /// Whether the transaction is kept. Called once, at its end.
    pub(super) fn keeps(&mut self, seen: &Seen) -> bool {
        let WaveFilter::Operations { begin, each } = &self.filter else { return true };
        if seen.goes_on() {
            if seen.row().is_none() {
                // Status or column without a row: there is one LUN behind the chip enable, so an
                // operation that was passed is over.
                self.open.retain(|o| !(o.passed && o.chips == seen.chips));
            }
            let same =
                |o: &KeptOperation| o.chips == seen.chips && seen.row().is_none_or(|row| o.row == Some(row));
            let Some(at) = self.open.iter().position(same) else { return false };
            if self.open[at].ended_by(seen) {
                self.open.remove(at);
            }
            return true;
        }
        let row = seen.row();
        self.open.retain(|o| o.chips != seen.chips || o.row != row);
        for operation in self.open.iter_mut().filter(|o| o.chips == seen.chips) {
            operation.passed = true;
        }
        let Some(at) = begin.iter().position(|&name| name == seen.name) else { return false };
        if self.begun[at] >= *each {
            return false;
        }
        self.begun[at] += 1;
        let fetches = matches!(
            seen.command,
            Some(command::READ | command::READ_ID | command::READ_PARAMETER_PAGE | command::GET_FEATURES)
        );
        let operation = KeptOperation { chips: seen.chips, row, fetches, passed: false };
        if !operation.ended_by(seen) {
            self.open.push(operation);
        }
        true
    }
}
