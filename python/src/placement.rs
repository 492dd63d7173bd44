//! A placement in Python.

use crate::answers::{Raised, shown};
use crate::errors::UsageError;
use aster_device::Pieces;
use aster_device::plug::{PLACEMENT_ROUNDS_MAX, Placement};
use aster_units::{LunAddr, LunIndex};
use pyo3::prelude::*;
use std::rc::Rc;

/// What reports and the profile call such a placement.
pub(crate) const NAME: &str = "python";

/// The array that pages are placed on.
#[pyclass(frozen, get_all, module = "aster._aster")]
pub(crate) struct Geometry {
    channels: u16,
    /// Chip enables per channel.
    ways: u8,
    /// LUNs behind a chip enable.
    luns: u8,
    planes: u8,
    blocks_per_lun: u32,
    pages_per_block: u16,
    page_bytes: u32,
    /// LUNs of the whole array.
    total_luns: u32,
}

impl Geometry {
    fn of(of: &aster_units::Geometry) -> Self {
        Geometry {
            channels: of.channels,
            ways: of.ways,
            luns: of.luns,
            planes: of.planes,
            blocks_per_lun: of.blocks_per_lun,
            pages_per_block: of.pages_per_block,
            page_bytes: of.page_bytes,
            total_luns: of.total_luns(),
        }
    }
}

#[pymethods]
impl Geometry {
    /// The number of a LUN.
    #[pyo3(signature = (channel, way, lun = 0))]
    fn lun_index(&self, channel: u16, way: u8, lun: u8) -> PyResult<u32> {
        let Geometry { channels, ways, luns, .. } = *self;
        if channel >= channels || way >= ways || lun >= luns {
            return Err(UsageError::new_err(format!(
                "lun_index: there is no LUN {lun} at way {way} of channel {channel}; the array has \
                 {channels} channels of {ways} ways with {luns} LUNs each"
            )));
        }
        let array = aster_units::Geometry {
            channels,
            ways,
            luns,
            planes: self.planes,
            blocks_per_lun: self.blocks_per_lun,
            pages_per_block: self.pages_per_block,
            page_bytes: self.page_bytes,
            spare_bytes: 0,
        };
        Ok(array.lun_index(LunAddr { channel, way, lun }).0)
    }

    fn __repr__(&self) -> String {
        let Geometry { channels, ways, luns, .. } = self;
        format!("<aster.Geometry {channels} channels, {ways} ways, {luns} LUNs each>")
    }
}

/// Asks a callable of Python, which gets the array and returns the numbers of the LUNs to which logical
/// pages go. It is asked whenever a drive is built. After an exception the run is about to end, and pages go
/// to the LUNs in turn.
pub(crate) struct PythonPlacement {
    order: Py<PyAny>,
    raised: Raised,
}

impl PythonPlacement {
    /// `pieces` with the placement under [`NAME`]. What it raises is put into `raised`.
    pub(crate) fn put_into(pieces: Pieces, order: &Py<PyAny>, raised: &Raised) -> Pieces {
        let (order, raised) = (Python::attach(|py| order.clone_ref(py)), Rc::clone(raised));
        pieces.placement(NAME, move |_| {
            let order = Python::attach(|py| order.clone_ref(py));
            Ok(Box::new(PythonPlacement { order, raised: Rc::clone(&raised) }))
        })
    }

    fn ask(&self, geometry: &aster_units::Geometry) -> PyResult<Vec<LunIndex>> {
        Python::attach(|py| {
            let answer = self.order.bind(py).call1((Geometry::of(geometry),))?;
            let refuse = |problem: String| Err(UsageError::new_err(format!("placement: {problem}")));
            let Ok(order) = answer.extract::<Vec<u32>>() else {
                return refuse(format!(
                    "expected a list of the LUNs to which pages go, by their numbers, but it returned {}",
                    shown(&answer)
                ));
            };
            let luns = geometry.total_luns();
            let mut times = vec![0u32; luns as usize];
            for (place, &lun) in order.iter().enumerate() {
                let Some(times) = times.get_mut(lun as usize) else {
                    return refuse(format!(
                        "its entry {place} is LUN {lun}, and the array has the LUNs 0 to {}",
                        luns - 1
                    ));
                };
                *times += 1;
            }
            let first = times[0];
            if let Some(other) = times.iter().position(|&of| of != first) {
                return refuse(format!(
                    "each LUN must come equally often, or one would run full before the others, but LUN 0 \
                     comes {first} times and LUN {other} {} times",
                    times[other]
                ));
            }
            if !(1..=PLACEMENT_ROUNDS_MAX).contains(&first) {
                return refuse(format!(
                    "each LUN must come 1 to {PLACEMENT_ROUNDS_MAX} times, but comes {first} times"
                ));
            }
            Ok(order.into_iter().map(LunIndex).collect())
        })
    }
}

impl std::fmt::Debug for PythonPlacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PythonPlacement")
    }
}

impl Placement for PythonPlacement {
    fn order(&self, geometry: &aster_units::Geometry) -> Vec<LunIndex> {
        if self.raised.borrow().is_none() {
            match self.ask(geometry) {
                Ok(order) => return order,
                Err(error) => *self.raised.borrow_mut() = Some(error),
            }
        }
        (0..geometry.total_luns()).map(LunIndex).collect()
    }
}
