//! One option of fio and how it is treated.

/// How an option is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Treatment {
    /// It changes the workload.
    Effect {
        /// A valid value, `None` if the bare name is the value.
        example: Option<&'static str>,
    },
    /// It is accepted and changes nothing, because it controls something that this drive's host doesn't have.
    NoMeaning,
    /// It is refused: accepting it would pretend that it has its effect.
    Refused,
}

/// One option of fio job files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FioOption {
    /// Its name.
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// How it is treated.
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

/// Why options of the submission path mean nothing here.
pub(super) const SUBMISSION: &str = "how a Linux host submits; the driver of the simulated host has one way";
/// Why options of processes mean nothing here.
pub(super) const PROCESS: &str =
    "about the processes of a Linux host; jobs here are values in simulated time";
/// Why options of output mean nothing here.
pub(super) const REPORT: &str = "about fio's own output; the report here has one form";
