//! A victim policy in Python.

use crate::answers::{Raised, shown};
use crate::errors::UsageError;
use aster_device::Pieces;
use aster_device::plug::{ClosedBlocks, VictimPolicy};
use aster_units::BlockAddr;
use pyo3::prelude::*;
use std::rc::Rc;

/// What reports and the profile call such a policy.
pub(crate) const NAME: &str = "python";

/// A block that may be emptied.
#[pyclass(frozen, get_all, module = "aster._aster")]
pub(crate) struct Block {
    /// Its number in its LUN.
    block: u32,
    lun: u32,
    /// Mapping units of it that must be copied, and those that it has.
    valid: u32,
    units: u32,
    /// How many blocks the drive has filled since this one was.
    age: u64,
    erases: u32,
}

#[pymethods]
impl Block {
    fn __repr__(&self) -> String {
        let Block { block, lun, valid, units, age, erases } = self;
        format!("<aster.Block {block} of LUN {lun}: {valid} of {units} valid, age {age}, {erases} erases>")
    }
}

/// What a policy answers.
#[derive(FromPyObject)]
enum Answer<'py> {
    Block(PyRef<'py, Block>),
    Number(u32),
}

/// Asks a callable of Python, which gets a list of blocks and returns one of them or its number. Python's
/// lock is taken for that alone. After an exception the run is about to end, and nothing is asked any more.
pub(crate) struct PythonVictims {
    choose: Py<PyAny>,
    raised: Raised,
}

impl PythonVictims {
    /// `pieces` with the policy under [`NAME`]. What it raises is put into `raised`.
    pub(crate) fn put_into(pieces: Pieces, choose: &Py<PyAny>, raised: &Raised) -> Pieces {
        let (choose, raised) = (Python::attach(|py| choose.clone_ref(py)), Rc::clone(raised));
        pieces.victims(NAME, move |_| {
            let choose = Python::attach(|py| choose.clone_ref(py));
            Ok(Box::new(PythonVictims { choose, raised: Rc::clone(&raised) }))
        })
    }

    fn ask(&self, closed: &ClosedBlocks<'_>) -> PyResult<BlockAddr> {
        Python::attach(|py| {
            let blocks: Vec<Block> = closed
                .iter()
                .map(|facts| Block {
                    block: facts.block.0,
                    lun: closed.lun().0,
                    valid: facts.valid,
                    units: facts.units,
                    age: facts.age,
                    erases: facts.erases,
                })
                .collect();
            let answer = self.choose.bind(py).call1((blocks,))?;
            let block = match answer.extract::<Answer<'_>>() {
                Ok(Answer::Block(block)) => Some(block.block),
                Ok(Answer::Number(number)) => Some(number),
                Err(_) => None,
            };
            block.map(BlockAddr).filter(|&block| closed.offers(block)).ok_or_else(|| {
                UsageError::new_err(format!(
                    "victims: expected one of the blocks that were offered for LUN {}, or its number, but it \
                     returned {}",
                    closed.lun().0,
                    shown(&answer),
                ))
            })
        })
    }
}

impl std::fmt::Debug for PythonVictims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PythonVictims")
    }
}

impl VictimPolicy for PythonVictims {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        if self.raised.borrow().is_none() {
            match self.ask(closed) {
                Ok(block) => return block,
                Err(error) => *self.raised.borrow_mut() = Some(error),
            }
        }
        closed.oldest_of_fewest_valid()
    }
}
