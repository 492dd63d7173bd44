//! What papers measured, beside what comes out here.

use crate::args::{Experiment, ReproduceArgs};
use crate::console;
use crate::failure::Failure;
use aster_lab::area;

/// Carries an experiment out and prints it.
///
/// # Errors
/// When a tool is missing or fails.
pub(crate) fn run(args: &ReproduceArgs) -> Result<(), Failure> {
    match args.what {
        Experiment::BabolArea => {
            console::note("synthesising the channel controller");
            let report = area::babol_area(&args.rtl).map_err(Failure::run)?;
            if args.json { console::json(&report) } else { console::line(&area::table(&report)) }
        }
    }
}
