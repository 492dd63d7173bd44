//! One option of fio and what becomes of it.

/// What becomes of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Treatment {
    /// It changes the workload; the example is a value that does.
    Effect {
        /// A valid value, `None` where the bare name is the value.
        example: Option<&'static str>,
    },
    /// It is taken and changes nothing, because it steers something that this drive's host does not have.
    NoMeaning,
    /// It is refused: taking it would pretend to do what is not done.
    Refused,
}

/// One option of fio job files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FioOption {
    /// Its name.
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// What becomes of it.
    pub treatment: Treatment,
    /// What it means here, or why it is ignored or refused.
    pub meaning: &'static str,
}

pub(super) const fn effect(
    name: &'static str,
    aliases: &'static [&'static str],
    example: &'static str,
    meaning: &'static str,
) -> FioOption {
    FioOption { name, aliases, treatment: Treatment::Effect { example: Some(example) }, meaning }
}

pub(super) const fn flag(
    name: &'static str,
    aliases: &'static [&'static str],
    meaning: &'static str,
) -> FioOption {
    FioOption { name, aliases, treatment: Treatment::Effect { example: None }, meaning }
}

pub(super) const fn no_meaning(
    name: &'static str,
    aliases: &'static [&'static str],
    meaning: &'static str,
) -> FioOption {
    FioOption { name, aliases, treatment: Treatment::NoMeaning, meaning }
}

pub(super) const fn refused(
    name: &'static str,
    aliases: &'static [&'static str],
    meaning: &'static str,
) -> FioOption {
    FioOption { name, aliases, treatment: Treatment::Refused, meaning }
}

/// Why the options of a submission path say nothing here.
pub(super) const SUBMISSION: &str = "how a Linux host submits; the driver of the simulated host has one way";
/// Why the options of processes say nothing here.
pub(super) const PROCESS: &str =
    "about the processes of a Linux host; jobs here are values in simulated time";
/// Why the options of output say nothing here.
pub(super) const REPORT: &str = "about fio's own output; the report here has one form";
