use super::error::At;
use super::record::Line;
use super::{blkparse, iolog, mqsim, msr};

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
    /// The format whose first line this can be.
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

    /// Picoseconds of a tick of its timestamps.
    pub(super) const fn tick_picos(self) -> u64 {
        match self {
            Format::Blkparse | Format::Mqsim => 1_000,
            Format::Msr => 100_000,
            Format::Iolog | Format::MqsimMicros => 1_000_000,
            Format::MqsimPicos => 1,
        }
    }
}

/// What a format remembers from line to line.
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
