//! `aster sweep`, `aster fit` and `aster compare` of sweeps: find the commands of the Python package, which
//! do the work.

use aster_lab::asked::failure::Failure;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::{Command, ExitCode};

/// A command of the package.
pub(crate) struct Program {
    /// Its name.
    name: &'static str,
    /// What does it, in an error.
    what: &'static str,
    /// The package's extras that it needs.
    extras: &'static str,
}

/// Sweeps.
pub(crate) const SWEEP: Program = Program { name: "aster-sweep", what: "sweep: sweeps are", extras: "sweep" };
/// Fits to a real drive.
pub(crate) const FIT: Program =
    Program { name: "aster-fit", what: "fit: fits to a real drive are", extras: "sweep,search" };
/// Sweeps side by side.
pub(crate) const COMPARE: Program =
    Program { name: "aster-compare", what: "compare: sweeps side by side are", extras: "sweep" };

/// Runs the package's command with `arguments`, and ends with its exit status.
///
/// # Errors
/// When it isn't installed, or ended by a signal.
pub(crate) fn run(program: &Program, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let Program { name, what, extras } = program;
    let ran = Command::new(name).args(arguments).status();
    let status = ran.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::usage(format!(
            "{what} of Aster's Python package, and its command {name} is not on the PATH: \
             `pip install './python[{extras}]'` in Aster's source installs it (docs/python.md), and an \
             environment that has it must be active"
        )),
        _ => Failure::run(format!("{name}: {error}")),
    })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map(ExitCode::from).ok_or_else(|| Failure::run(format!("{name} ended by a signal: {status}")))
}
