//! An arbiter in Python: which transaction has a channel next.

use crate::answers::{Raised, shown};
use crate::errors::UsageError;
use aster_device::plug::{Arbiter, ChannelPort, TransactionClass};
use aster_units::{ChannelId, Geometry, LunAddr};
use pyo3::prelude::*;

/// A transaction that waits for its channel.
#[pyclass(frozen, get_all, module = "aster._aster")]
pub(crate) struct Transaction {
    /// The LUN that it is for.
    lun: u32,
    /// What it does, in words.
    name: &'static str,
    /// `status`, `command`, `data-out` or `data-in`.
    kind: &'static str,
    /// Of all its bursts.
    bytes: u64,
    /// When it was issued, simulated, from power-on.
    issued_us: f64,
    /// How often one that was issued later went before it.
    passed_over: u32,
    /// Its place among those that wait, in the order of issue.
    place: usize,
}

#[pymethods]
impl Transaction {
    fn __repr__(&self) -> String {
        let Transaction { lun, name, kind, bytes, .. } = self;
        format!("<aster.Transaction \"{name}\" ({kind}) of {bytes} bytes for LUN {lun}>")
    }
}

/// What an arbiter answers.
#[derive(FromPyObject)]
enum Answer<'py> {
    Transaction(PyRef<'py, Transaction>),
    Place(usize),
}

/// Asks a callable of Python, which gets a channel's number and a list of transactions, and returns one of
/// them or its place in the list. Python's lock is taken for that alone. After an exception the run is about
/// to end, and transactions go in the order of issue.
pub(crate) struct PythonArbiter {
    grant: Py<PyAny>,
    channel: ChannelId,
    geometry: Geometry,
    raised: Raised,
}

impl PythonArbiter {
    /// That of `channel` in an array of packages of `geometry`. What it raises is put into `raised`.
    pub(crate) fn new(grant: Py<PyAny>, channel: ChannelId, geometry: Geometry, raised: Raised) -> Self {
        PythonArbiter { grant, channel, geometry, raised }
    }

    /// The LUN of a slot: a channel's slots count its ways first.
    fn lun_of(&self, slot: u16) -> u32 {
        let ways = u16::from(self.geometry.ways);
        let at = LunAddr { channel: self.channel.0, way: (slot % ways) as u8, lun: (slot / ways) as u8 };
        self.geometry.lun_index(at).0
    }

    fn ask(&self, channel: &ChannelPort, waiting: &[u16]) -> PyResult<usize> {
        Python::attach(|py| {
            let transactions: Vec<Transaction> = waiting
                .iter()
                .enumerate()
                .map(|(place, &slot)| {
                    let waits = channel.waiting(slot);
                    Transaction {
                        lun: self.lun_of(slot),
                        name: waits.txn.name(),
                        kind: match waits.class() {
                            TransactionClass::Status => "status",
                            TransactionClass::Command => "command",
                            TransactionClass::DataOut => "data-out",
                            TransactionClass::DataIn => "data-in",
                        },
                        bytes: waits.bytes(),
                        issued_us: waits.issued.as_picos() as f64 / 1e6,
                        passed_over: waits.passed_over,
                        place,
                    }
                })
                .collect();
            let answer = self.grant.bind(py).call1((self.channel.0, transactions))?;
            let place = match answer.extract::<Answer<'_>>() {
                Ok(Answer::Transaction(transaction)) => Some(transaction.place),
                Ok(Answer::Place(place)) => Some(place),
                Err(_) => None,
            };
            place.filter(|&place| place < waiting.len()).ok_or_else(|| {
                UsageError::new_err(format!(
                    "arbiter: expected one of the {} transactions that wait for channel {}, or its place \
                     among them, but it returned {}",
                    waiting.len(),
                    self.channel.0,
                    shown(&answer),
                ))
            })
        })
    }
}

impl Arbiter for PythonArbiter {
    fn grant(&mut self, channel: &ChannelPort, waiting: &[u16]) -> usize {
        if self.raised.borrow().is_none() {
            match self.ask(channel, waiting) {
                Ok(place) => return place,
                Err(error) => *self.raised.borrow_mut() = Some(error),
            }
        }
        0
    }
}
