//! `aster compare`: reports side by side.

use crate::args::CompareArgs;
use crate::console;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::read_text;
use aster_lab::compare::{Read, compare, compare_text};

/// The longest report that is read: one with many tasks and their histograms.
const REPORT_MAX: u64 = 256 << 20;

/// Reads the reports and prints them side by side.
///
/// # Errors
/// When one can't be read, or is no report.
pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let reads = args.reports.iter().map(|path| {
        let text = read_text(path, REPORT_MAX, "a report of `aster run --json`")?;
        let report = serde_json::from_str(&text).map_err(|error| {
            Failure::file(path, format!("{error}: a report of `aster run --json` is expected here"))
        })?;
        Ok(Read { file: path.display().to_string(), report })
    });
    let compared = compare(reads.collect::<Result<_, Failure>>()?).map_err(Failure::usage)?;
    if args.json { console::json(&compared) } else { console::print(&compare_text(&compared, args.all)) }
}
