//! A workload in Python: an object that is asked for its next request whenever there is room for one, and is
//! told of each that has completed.

use crate::answers::{Raised, shown};
use crate::errors::UsageError;
use aster_workload::{Done, Drive, Request, RequestKind, Source, TIME_MAX};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::convert::Infallible;

/// What the report calls such a workload.
pub(crate) const NAME: &str = "workload";

/// The kinds of requests, as Python calls them.
const KINDS: [(&str, RequestKind); 4] = [
    ("read", RequestKind::Read),
    ("write", RequestKind::Write),
    ("trim", RequestKind::Trim),
    ("flush", RequestKind::Flush),
];

/// The answer of a workload that has no request now, but will have one after a completion.
#[pyclass(frozen, module = "aster._aster")]
pub(crate) struct Wait;

#[pymethods]
impl Wait {
    fn __repr__(&self) -> &'static str {
        "aster.WAIT"
    }
}

/// A request that has completed.
#[pyclass(frozen, get_all, module = "aster._aster")]
pub(crate) struct Completion {
    /// Which of the workload's requests it was, from 1.
    number: u64,
    /// What the workload gave.
    request: Py<PyAny>,
    /// When it completed, simulated, from the beginning of the work.
    at_us: f64,
    latency_us: f64,
    /// A command of it failed, or returned wrong content.
    failed: bool,
}

#[pymethods]
impl Completion {
    fn __repr__(&self, py: Python<'_>) -> String {
        let Completion { number, request, latency_us, failed, .. } = self;
        let failed = if *failed { ", failed" } else { "" };
        format!("<aster.Completion {number}: {} after {latency_us:.3} µs{failed}>", shown(request.bind(py)))
    }
}

/// A request as Python gives it: kind, offset, length, and perhaps a time.
#[derive(FromPyObject)]
enum Given {
    Timed((String, u64, u64, Option<f64>)),
    Untimed((String, u64, u64)),
    Flush((String,)),
}

/// Asks an object of Python. Its lock is taken for that alone. After an exception the run is about to end,
/// and nothing is asked or told any more.
pub(crate) struct PythonWorkload {
    next_request: Py<PyAny>,
    completed: Option<Py<PyAny>>,
    drive: Drive,
    raised: Raised,
    given: u64,
    /// The objects in flight, by their number.
    in_flight: HashMap<u64, Py<PyAny>>,
    waits: bool,
}

impl PythonWorkload {
    /// That of the object that `make` makes, on `drive`. What it raises later is put into `raised`.
    ///
    /// # Errors
    /// When there is no workload, by an exception.
    pub(crate) fn new(make: &Py<PyAny>, drive: Drive, raised: &Raised) -> PyResult<Self> {
        Python::attach(|py| {
            let workload = make.bind(py).call1((drive.bytes,))?;
            let next_request = workload.getattr("next_request")?.unbind();
            let completed = workload.getattr_opt("completed")?.map(Bound::unbind);
            let raised = Raised::clone(raised);
            let in_flight = HashMap::new();
            Ok(PythonWorkload { next_request, completed, drive, raised, given: 0, in_flight, waits: false })
        })
    }

    fn ask(&mut self, elapsed: aster_units::Duration) -> PyResult<Option<Request>> {
        Python::attach(|py| {
            self.waits = false;
            let answer = self.next_request.bind(py).call1((micros(elapsed),))?;
            if answer.is_none() {
                return Ok(None);
            }
            if answer.is_instance_of::<Wait>() {
                if self.in_flight.is_empty() {
                    return Err(UsageError::new_err(
                        "workload: next_request returned aster.WAIT, but no request is in flight whose \
                         completion it could wait for",
                    ));
                }
                self.waits = true;
                return Ok(None);
            }
            let request = self.request(&answer)?;
            self.given += 1;
            self.in_flight.insert(self.given, answer.unbind());
            Ok(Some(request))
        })
    }

    /// The request that Python has given, checked.
    fn request(&self, answer: &Bound<'_, PyAny>) -> PyResult<Request> {
        let refuse =
            |problem: String| UsageError::new_err(format!("workload: request {}: {problem}", self.given + 1));
        let (kind, offset, length, at_us) = match answer.extract::<Given>() {
            Ok(Given::Timed(all)) => all,
            Ok(Given::Untimed((kind, offset, length))) => (kind, offset, length, None),
            Ok(Given::Flush((kind,))) => (kind, 0, 0, None),
            Err(_) => {
                return Err(refuse(format!(
                    "expected a Request (kind, offset and length in whole bytes, and perhaps a time), \
                     aster.WAIT or None, but next_request returned {}",
                    shown(answer)
                )));
            }
        };
        let Some(&(_, kind)) = KINDS.iter().find(|(name, _)| *name == kind) else {
            let names = KINDS.map(|(name, _)| name).join(", ");
            return Err(refuse(format!("its kind must be one of {names}, but is \"{kind}\"")));
        };
        let at = match at_us {
            None => None,
            Some(us) if (0.0..=micros(TIME_MAX)).contains(&us) => {
                Some(aster_units::Duration::from_nanos_f64(us * 1e3))
            }
            Some(us) => {
                return Err(refuse(format!(
                    "at_us must be microseconds from 0 to {:.0}, but is {us}",
                    micros(TIME_MAX)
                )));
            }
        };
        if kind == RequestKind::Flush {
            return Ok(Request { at, ..Request::FLUSH });
        }
        let (bytes, block) = (self.drive.bytes, u64::from(self.drive.block_bytes));
        for (name, value) in [("offset", offset), ("length", length)] {
            if value % block != 0 {
                return Err(refuse(format!(
                    "its {name} must be a multiple of the drive's blocks of {block} bytes, but is {value}"
                )));
            }
        }
        let fits = u32::try_from(length).ok().filter(|&length| length > 0);
        let fits = fits.filter(|_| offset.checked_add(length).is_some_and(|end| end <= bytes));
        let Some(length) = fits else {
            return Err(refuse(format!(
                "{length} bytes at {offset} are none on this drive, which has {bytes} bytes and takes from \
                 {block} to {} at once",
                u64::from(u32::MAX) / block * block
            )));
        };
        Ok(Request { kind, offset, length, at, ..Request::FLUSH })
    }

    fn tell(&mut self, done: &Done) -> PyResult<()> {
        let request = self.in_flight.remove(&done.number);
        let (Some(completed), Some(request)) = (&self.completed, request) else { return Ok(()) };
        Python::attach(|py| {
            let Done { number, at, latency, failed, .. } = *done;
            let (at_us, latency_us) = (micros(at), micros(latency));
            completed.call1(py, (Completion { number, request, at_us, latency_us, failed },))?;
            Ok(())
        })
    }
}

fn micros(time: aster_units::Duration) -> f64 {
    time.as_picos() as f64 / 1e6
}

impl Source for PythonWorkload {
    type Error = Infallible;

    fn next_request(&mut self) -> Result<Option<Request>, Infallible> {
        self.next_request_at(aster_units::Duration::ZERO)
    }

    fn next_request_at(&mut self, elapsed: aster_units::Duration) -> Result<Option<Request>, Infallible> {
        if self.raised.borrow().is_some() {
            return Ok(None);
        }
        Ok(self.ask(elapsed).unwrap_or_else(|error| {
            *self.raised.borrow_mut() = Some(error);
            None
        }))
    }

    fn is_over(&self) -> bool {
        !self.waits
    }

    fn completed(&mut self, done: &Done) {
        if self.raised.borrow().is_some() {
            return;
        }
        if let Err(error) = self.tell(done) {
            *self.raised.borrow_mut() = Some(error);
        }
    }
}
