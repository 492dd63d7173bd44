use super::error::{At, TraceProblem};
use super::record::Line;
use super::{blkparse, iolog, mqsim, msr};

/// A line has seven fields. It may have lost some, or have one more.
const MSR_COMMAS_MIN: usize = 4;
/// A request's line has ten words or more.
const BLKPARSE_WORDS_MIN: usize = 6;
/// A line has five words.
const MQSIM_WORDS_MIN: usize = 4;
const MQSIM_WORDS_MAX: usize = 6;

/// How a trace is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// The default text of `blkparse`.
    Blkparse,
    /// MSR Cambridge CSV.
    Msr,
    /// fio's iolog, version 2 or 3.
    Iolog,
    /// MQSim's ASCII, times in nanoseconds.
    Mqsim,
    /// MQSim's ASCII, times in microseconds.
    MqsimMicros,
    /// MQSim's ASCII, times in picoseconds.
    MqsimPicos,
}

impl Format {
    /// The format that this first line may belong to.
    pub fn detect(first_line: &str) -> Option<Format> {
        if iolog::is_header(first_line) {
            Some(Format::Iolog)
        } else if msr::is_header(first_line) || matches!(msr::line(first_line), Ok(Line::Request(_))) {
            Some(Format::Msr)
        } else if matches!(mqsim::line(first_line), Ok(Line::Request(_))) {
            Some(Format::Mqsim)
        } else if !first_line.trim().is_empty() && blkparse::Blkparse::default().line(first_line).is_ok() {
            Some(Format::Blkparse)
        } else {
            None
        }
    }

    /// For a first line of no known format ([`Format::detect`]): the nearest format by the line's separators,
    /// and what is wrong with the line in that format; `None` if no format is near.
    pub fn nearest(first_line: &str) -> Option<(Format, TraceProblem)> {
        let (commas, words) = (first_line.matches(',').count(), first_line.split_whitespace());
        let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let (numbers, words) = (words.clone().filter(is_number).count(), words.count());
        let is_iolog = first_line.trim_start().to_ascii_lowercase().starts_with("fio version");
        let nearest = match (commas, words) {
            _ if is_iolog => Format::Iolog,
            (MSR_COMMAS_MIN.., _) => Format::Msr,
            (1, n) if n >= BLKPARSE_WORDS_MIN => Format::Blkparse,
            (_, MQSIM_WORDS_MIN..=MQSIM_WORDS_MAX) if numbers + 1 >= words => Format::Mqsim,
            _ => return None,
        };
        Parser::new(nearest).line(first_line).err().map(|at| (nearest, at.problem))
    }

    /// A word for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Blkparse => "blktrace",
            Format::Msr => "msr",
            Format::Iolog => "iolog",
            Format::Mqsim => "mqsim",
            Format::MqsimMicros => "mqsim-us",
            Format::MqsimPicos => "mqsim-ps",
        }
    }

    /// Picoseconds per tick of the format's timestamps.
    pub(super) const fn tick_picos(self) -> u64 {
        match self {
            Format::Blkparse | Format::Mqsim => 1_000,
            Format::Msr => 100_000,
            Format::Iolog | Format::MqsimMicros => 1_000_000,
            Format::MqsimPicos => 1,
        }
    }
}

/// A format's state from line to line.
#[derive(Clone, Debug)]
pub(super) enum Parser {
    Blkparse(blkparse::Blkparse),
    Msr,
    Iolog(iolog::Iolog),
    Mqsim,
}

impl Parser {
    pub(super) fn new(format: Format) -> Self {
        match format {
            Format::Blkparse => Parser::Blkparse(blkparse::Blkparse::default()),
            Format::Msr => Parser::Msr,
            Format::Iolog => Parser::Iolog(iolog::Iolog::default()),
            Format::Mqsim | Format::MqsimMicros | Format::MqsimPicos => Parser::Mqsim,
        }
    }

    pub(super) fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, At> {
        match self {
            Parser::Blkparse(parser) => parser.line(text),
            Parser::Msr => msr::line(text),
            Parser::Iolog(parser) => parser.line(text),
            Parser::Mqsim => mqsim::line(text),
        }
    }
}
