//! What ends a command early, and the exit status that goes with it.

use crate::demo::DemoError;
use crate::experiment::ExperimentError;
use crate::own::WorkError;
use crate::watch::WatchError;
use aster_device::BuildError;
use aster_image::ImageError;
use aster_run_bench::BenchError;
use aster_run_virtual::RunError;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line, a profile, a job file or a trace is wrong.
    #[error("{0}")]
    Usage(String),
    /// The work began and failed.
    #[error("{0}")]
    Run(String),
    /// The reader of standard output has gone.
    #[error("standard output was closed")]
    Closed,
    /// The user stopped it; the work until then has been reported.
    #[error("interrupted")]
    Interrupted,
    /// The user stopped it before there was a report.
    #[error("{0}")]
    InterruptedEarly(String),
}

impl Failure {
    /// What stopped a run on the drive in the file `image`.
    pub fn on_image(image: Option<&Path>, error: RunError) -> Self {
        match (image, error) {
            (Some(image), error @ (RunError::Drive(_) | RunError::Build(BuildError::Nand(_)))) => {
                Failure::run(format!("{}: {error}", image.display()))
            }
            (_, error) => error.into(),
        }
    }
    /// The user stopped a command that has no partial result.
    pub fn stopped() -> Self {
        Failure::InterruptedEarly("interrupted: nothing came of it".to_owned())
    }
    /// What the user has named is wrong.
    pub fn usage(problem: impl Display) -> Self {
        Failure::Usage(without_number(&problem.to_string()))
    }
    /// The work failed.
    pub fn run(problem: impl Display) -> Self {
        Failure::Run(without_number(&problem.to_string()))
    }
    /// A file that the user named can't be used.
    pub fn file(path: &Path, problem: impl Display) -> Self {
        Failure::usage(format!("{}: {problem}", path.display()))
    }

    /// 128 and the signal's number for the last two, as a shell would say it.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Run(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Interrupted | Failure::InterruptedEarly(_) => 130,
            Failure::Closed => 141,
        })
    }
}

/// A message without the operating system's error numbers; their text stays.
pub fn without_number(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(')'));
    }
    plain
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Failure::usage(error)
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::BringUp(_) => Failure::run(error),
            BenchError::Build(error) => error.into(),
            BenchError::Work(_) => Failure::usage(error),
        }
    }
}

impl From<ImageError> for Failure {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::Interrupted => Failure::InterruptedEarly(error.to_string()),
            // Errors that a check is meant to find.
            error @ (ImageError::Damaged { .. }
            | ImageError::DamagedPages { .. }
            | ImageError::Kept { .. }) => Failure::run(error),
            error => Failure::usage(error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Build(error) => error.into(),
            error @ RunError::Interrupted(_) => Failure::InterruptedEarly(error.to_string()),
            error => Failure::run(error),
        }
    }
}

impl From<WorkError> for Failure {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::Run(error) => error.into(),
            WorkError::Image(error) => error.into(),
            WorkError::Watch(error) => error.into(),
            WorkError::Interrupted => Failure::InterruptedEarly(error.to_string()),
            error @ WorkError::Age(_) => Failure::run(error),
            error @ WorkError::Plan(_) => Failure::usage(error),
        }
    }
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::File { .. } => Failure::usage(error),
            WatchError::Write { .. } => Failure::run(error),
        }
    }
}

impl From<DemoError> for Failure {
    fn from(error: DemoError) -> Self {
        match error {
            DemoError::Run(error) => error.into(),
            DemoError::Stopped => Failure::InterruptedEarly(error.to_string()),
            error @ (DemoError::Driver(_) | DemoError::Plan(_)) => Failure::run(error),
            error => Failure::usage(error),
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Stopped => Failure::stopped(),
            error => Failure::run(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_number;

    #[test]
    fn what_the_system_says_is_told_in_words_alone() {
        let missing = std::io::Error::from_raw_os_error(2);
        assert_eq!(without_number(&format!("a.toml: {missing}")), "a.toml: No such file or directory");
        assert_eq!(without_number("x (os error 17): y (os error 2)"), "x: y");
        assert_eq!(without_number("plain"), "plain");
    }
}
