//! `aster sweep`: finds the command of the Python package, which sweeps.

use crate::args::SweepArgs;
use aster_lab::asked::failure::Failure;
use std::io::ErrorKind;
use std::process::{Command, ExitCode};

/// The package's command.
const PROGRAM: &str = "aster-sweep";

/// Runs the package's command with the same arguments, and ends with its exit status.
///
/// # Errors
/// When it isn't installed, or ended by a signal.
pub(crate) fn run(args: &SweepArgs) -> Result<ExitCode, Failure> {
    let ran = Command::new(PROGRAM).args(&args.arguments).status();
    let status = ran.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::usage(format!(
            "sweep: sweeps are of Aster's Python package, and its command {PROGRAM} is not on the PATH: \
             `pip install './python[sweep]'` in Aster's source installs it (docs/python.md), and an \
             environment that has it must be active"
        )),
        _ => Failure::run(format!("{PROGRAM}: {error}")),
    })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map(ExitCode::from).ok_or_else(|| Failure::run(format!("{PROGRAM} ended by a signal: {status}")))
}
