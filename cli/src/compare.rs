//! `aster compare`: reports side by side, or sweeps.

use crate::args::CompareArgs;
use crate::{console, package};
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::read_text;
use aster_lab::compare::{Read, compare, compare_text};
use std::ffi::OsString;
use std::process::ExitCode;

/// The longest report that is read: one with many tasks and their histograms.
const REPORT_MAX: u64 = 256 << 20;

/// Reads the reports and prints them side by side. Sweeps are the Python package's.
///
/// # Errors
/// When one can't be read, or is no report.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let is_folder: Vec<bool> = args.reports.iter().map(|path| path.is_dir()).collect();
    if is_folder.iter().all(|&folder| folder) {
        return package::run(&package::COMPARE, &of_sweeps(args));
    }
    if let Some(folder) =
        args.reports.iter().zip(&is_folder).find_map(|(path, &folder)| folder.then_some(path))
    {
        return Err(Failure::file(
            folder,
            "is a folder, and others are reports: compare reports with reports, or sweeps with sweeps",
        ));
    }
    let reads = args.reports.iter().map(|path| {
        let text = read_text(path, REPORT_MAX, "a report of `aster run --json`")?;
        let report = serde_json::from_str(&text).map_err(|error| {
            Failure::file(path, format!("{error}: a report of `aster run --json` is expected here"))
        })?;
        Ok(Read { file: path.display().to_string(), report })
    });
    let compared = compare(reads.collect::<Result<_, Failure>>()?).map_err(Failure::usage)?;
    if args.json { console::json(&compared) } else { console::print(&compare_text(&compared, args.all)) }?;
    Ok(ExitCode::SUCCESS)
}

/// The arguments of the package's command. Folders come last, behind what ends the options.
fn of_sweeps(args: &CompareArgs) -> Vec<OsString> {
    let options = [(args.all, "--all"), (args.json, "--json"), (true, "--")];
    let options = options.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, option)| option.into());
    options.chain(args.reports.iter().map(|path| path.clone().into_os_string())).collect()
}
