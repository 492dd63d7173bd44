//! The view of the transactions that wait for a channel, for who chooses among them
//! ([`crate::channel::Chooser`]).

use alloc::boxed::Box;
use aster_txn::{Direction, Op, Path, Txn};
use aster_units::Instant;
use core::cell::Ref;

/// How a transaction uses the bus, from the shortest use to the longest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TransactionClass {
    /// Register data only: a status, features, an identification.
    Status,
    /// Latches only, which make the array busy.
    Command,
    /// Data from the package.
    DataOut,
    /// Data to the package.
    DataIn,
}

/// A transaction that waits for its channel.
pub struct Waiting<'a> {
    /// When it was issued.
    pub issued: Instant,
    /// How often a transaction that was issued later was chosen.
    pub passed_over: u32,
    /// The transaction itself.
    pub txn: Ref<'a, Box<Txn>>,
}

impl Waiting<'_> {
    /// Bytes of all its bursts.
    pub fn bytes(&self) -> u64 {
        self.bursts().map(|(bytes, ..)| u64::from(bytes)).sum()
    }

    /// How it uses the bus.
    pub fn class(&self) -> TransactionClass {
        let of_burst = |(_, direction, path)| match (path, direction) {
            (Path::Mailbox, _) => TransactionClass::Status,
            (_, Direction::Out) => TransactionClass::DataOut,
            (_, Direction::In) => TransactionClass::DataIn,
        };
        self.bursts().map(of_burst).max().unwrap_or(TransactionClass::Command)
    }

    fn bursts(&self) -> impl Iterator<Item = (u32, Direction, Path)> {
        self.txn.ops().iter().filter_map(|op| match *op {
            Op::DataRead(bytes, d) | Op::DataWrite(bytes, d) => {
                self.txn.descriptors().get(usize::from(d)).map(|d| (bytes, d.direction, d.path))
            }
            _ => None,
        })
    }
}
