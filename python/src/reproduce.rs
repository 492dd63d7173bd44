//! The papers' measurements beside Aster's, as `aster reproduce` has them.

use crate::asking::Asking;
use crate::errors::{UsageError, json, raised};
use aster_lab::asked::failure::Failure;
use aster_lab::{babol, cosmos, hostftl, ocssd, softssd};
use pyo3::prelude::*;
use std::ops::ControlFlow;

/// What there is to reproduce without further tools.
const PAPERS: [&str; 5] = ["babol", "cosmos", "softssd", "ocssd", "host-ftl"];

/// Carries the experiment of that name out. Returns its report as JSON and as the table that the command line
/// prints.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    what: &str,
    quick: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String)> {
    if !PAPERS.contains(&what) {
        let known = PAPERS.join(", ");
        return Err(UsageError::new_err(format!("reproduce: there are {known}, but no \"{what}\"")));
    }
    let done = Asking::while_detached(py, |asking| {
        let mut follow =
            |part: &'static str, share: f64| match asking.goes_on(progress.as_ref(), Some(part), share) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            };
        carry_out(what, quick, &mut follow)
    })?;
    done.map_err(|failure| raised(&failure))?
}

/// An experiment's progress: the current part, and the share of it that is done.
type Follow<'a> = &'a mut dyn FnMut(&'static str, f64) -> ControlFlow<()>;

/// The report as JSON, and its table.
type Done = PyResult<(String, String)>;

fn carry_out(what: &str, quick: bool, follow: Follow<'_>) -> Result<Done, Failure> {
    Ok(match what {
        "babol" => {
            let plan = babol::Plan::shipped()?;
            let plan = if quick { plan.quick() } else { plan };
            let report = babol::run(&plan, follow)?;
            json(&report).map(|text| (text, babol::table(&report)))
        }
        "cosmos" => {
            let plan = cosmos::Plan::shipped()?;
            let plan = if quick { plan.quick() } else { plan };
            let report = cosmos::run(&plan, follow)?;
            json(&cosmos::json(&report, &plan)).map(|text| (text, cosmos::table(&report, &plan)))
        }
        "softssd" => {
            let plan = softssd::Plan::shipped()?;
            let plan = if quick { plan.quick() } else { plan };
            let report = softssd::run(&plan, follow)?;
            json(&softssd::json(&report, &plan)).map(|text| (text, softssd::table(&report, &plan)))
        }
        "ocssd" => {
            let plan = ocssd::Plan::shipped()?;
            let plan = if quick { plan.quick() } else { plan };
            let report = ocssd::run(&plan, follow)?;
            json(&ocssd::json(&report, &plan)).map(|text| (text, ocssd::table(&report, &plan)))
        }
        _ => {
            let plan = hostftl::Plan::shipped()?;
            let plan = if quick { plan.quick() } else { plan };
            let report = hostftl::run(&plan, follow)?;
            json(&hostftl::json(&report, &plan)).map(|text| (text, hostftl::table(&report, &plan)))
        }
    })
}
