use alloc::string::String;
use core::fmt;

/// Why a job file is not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobFileError {
    /// The line, from 1; for an error of the whole file, its last.
    pub line: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What can be wrong with a job file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// An option stands before the first section.
    OutsideSection {
        /// Its name.
        option: String,
    },
    /// A section header without its closing bracket, or without a name.
    BadHeader,
    /// No fio option that is known here.
    UnknownOption {
        /// As it was written.
        option: String,
        /// The nearest one that is taken.
        nearest: Option<&'static str>,
    },
    /// A fio option that is refused on purpose.
    Refused {
        /// As it was written.
        option: String,
        /// Why, and what to do instead.
        reason: &'static str,
    },
    /// A value outside what the option allows.
    BadValue {
        /// The option.
        option: String,
        /// As it was written; `None` if it is missing.
        value: Option<String>,
        /// What is allowed.
        allowed: &'static str,
    },
    /// An option that needs another one.
    Needs {
        /// The option that stands there.
        option: &'static str,
        /// The one that is missing.
        needs: &'static str,
    },
    /// Options, or their values, that can't be true together.
    Contradiction {
        /// Which, and what to do.
        what: &'static str,
    },
    /// No section but `[global]`.
    NoJobs,
}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.problem {
            Problem::OutsideSection { option } => {
                write!(
                    f,
                    "option \"{option}\" stands before the first section: begin with [global] or a job's [name]"
                )
            }
            Problem::BadHeader => {
                write!(f, "a section is a name in brackets, such as [global] or [randread]")
            }
            Problem::UnknownOption { option, nearest: Some(nearest) } => {
                write!(f, "unknown option \"{option}\"; did you mean \"{nearest}\"?")
            }
            Problem::UnknownOption { option, nearest: None } => {
                write!(f, "option \"{option}\" is not one of those that Aster takes")
            }
            Problem::Refused { option, reason } => write!(f, "option \"{option}\" is refused: {reason}"),
            Problem::BadValue { option, value: Some(value), allowed } => {
                write!(f, "{option}={value}: expected {allowed}")
            }
            Problem::BadValue { option, value: None, allowed } => {
                write!(f, "{option} has no value: expected {allowed}")
            }
            Problem::Needs { option, needs } => write!(f, "{option} needs {needs}"),
            Problem::Contradiction { what } => write!(f, "{what}"),
            Problem::NoJobs => write!(f, "no job: a file needs a section besides [global]"),
        }
    }
}
impl core::error::Error for JobFileError {}
