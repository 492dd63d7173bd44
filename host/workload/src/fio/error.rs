use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Why a job file is refused: its mistakes, in the order in which they are found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobFileError {
    /// At least one, and not more than a person would read.
    pub mistakes: Vec<Mistake>,
    /// Mistakes beyond those.
    pub more: usize,
}

/// One mistake in a job file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// The line, from 1; for an error of the whole file, its last.
    pub line: usize,
    /// What is wrong there.
    pub problem: Problem,
    /// The job in which it shows, if that isn't the section of the line.
    pub job: Option<String>,
}

impl Mistake {
    pub(super) fn at(line: usize, problem: Problem) -> Self {
        Mistake { line, problem, job: None }
    }
}

/// The most mistakes of a file that are reported.
const TOLD_MAX: usize = 20;

/// Mistakes as they are found.
#[derive(Default)]
pub(super) struct Mistakes {
    found: Vec<Mistake>,
    more: usize,
}

impl Mistakes {
    pub(super) fn add(&mut self, mistake: Mistake) {
        if self.found.len() < TOLD_MAX {
            self.found.push(mistake);
        } else {
            self.more += 1;
        }
    }

    /// How many mistakes were found.
    pub(super) fn count(&self) -> usize {
        self.found.len() + self.more
    }

    /// `Ok` if there are no mistakes.
    ///
    /// # Errors
    /// All mistakes.
    pub(super) fn verdict(self) -> Result<(), JobFileError> {
        match self.found.is_empty() {
            true => Ok(()),
            false => Err(JobFileError { mistakes: self.found, more: self.more }),
        }
    }
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
    /// An unknown option.
    UnknownOption {
        /// As it was written.
        option: String,
        /// The nearest accepted option.
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
    /// A value with an environment variable that isn't set.
    NoVariable {
        /// The option.
        option: String,
        /// The variable.
        variable: String,
    },
    /// An option that needs another one.
    Needs {
        /// The option that was given.
        option: &'static str,
        /// The one that is missing.
        needs: &'static str,
    },
    /// Options, or values of them, that contradict each other.
    Contradiction {
        /// Which, and what to do.
        what: &'static str,
    },
    /// No section but `[global]`.
    NoJobs,
}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ([mistake], 0) = (&self.mistakes[..], self.more) {
            return mistake.fmt(f);
        }
        write!(f, "{} mistakes", self.mistakes.len() + self.more)?;
        for mistake in &self.mistakes {
            write!(f, "\n  {mistake}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}
impl core::error::Error for JobFileError {}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)?;
        match &self.job {
            Some(job) => write!(f, " (in job \"{job}\")"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::OutsideSection { option } => {
                write!(
                    f,
                    "option \"{option}\" stands before the first section: begin with [global] or a job's \
                     [name]"
                )
            }
            Problem::BadHeader => {
                write!(f, "a section is a name in brackets, such as [global] or [randread]")
            }
            Problem::UnknownOption { option, nearest: Some(nearest) } => {
                write!(f, "unknown option \"{option}\"; did you mean \"{nearest}\"?")
            }
            Problem::UnknownOption { option, nearest: None } => {
                write!(f, "unknown option \"{option}\": fio has none of that name")
            }
            Problem::Refused { option, reason } => write!(f, "option \"{option}\" is refused: {reason}"),
            Problem::BadValue { option, value: Some(value), allowed } => {
                write!(f, "{option}={value}: expected {allowed}")
            }
            Problem::BadValue { option, value: None, allowed } => {
                write!(f, "{option} has no value: expected {allowed}")
            }
            Problem::NoVariable { option, variable } => {
                write!(f, "{option}: there is no environment variable \"{variable}\" of one line")
            }
            Problem::Needs { option, needs } => write!(f, "{option} needs {needs}"),
            Problem::Contradiction { what } => write!(f, "{what}"),
            Problem::NoJobs => write!(f, "no job: a file needs a section besides [global]"),
        }
    }
}
