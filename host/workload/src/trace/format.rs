use super::columns::{Columns, Table};
use super::error::{At, TraceProblem};
use super::record::Line;
use super::{blkparse, iolog, mqsim, msr};

/// A line has seven fields. It may have lost some, or have one more.
const MSR_COMMAS_MIN: usize = 4;
/// Lines of tables that have no header.
const ALIBABA_COMMAS: usize = 4;
const TENCENT_COMMAS: usize = 4;
const SYSTOR_COMMAS: usize = 5;
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
    /// Alibaba's block traces.
    Alibaba,
    /// Tencent's block traces.
    Tencent,
    /// SYSTOR '17.
    Systor,
    /// Columns that the user has named.
    Columns(Columns),
}

/// Published tables, in the order in which a first line is held against them.
const TABLES: [Format; 3] = [Format::Alibaba, Format::Tencent, Format::Systor];
/// The names of their columns, where a first line has them.
const HEADERS: [&str; 3] = [
    "device_id,opcode,offset,length,timestamp",
    "Timestamp,Offset,Size,IOType,VolumeID",
    "Timestamp,Response,IOType,LUN,Offset,Size",
];

impl Format {
    /// The format that this first line may belong to.
    pub fn detect(first_line: &str) -> Option<Format> {
        if iolog::is_header(first_line) {
            Some(Format::Iolog)
        } else if msr::is_header(first_line) || matches!(msr::line(first_line), Ok(Line::Request(_))) {
            Some(Format::Msr)
        } else if let Some(table) = Format::table_of(first_line) {
            Some(table)
        } else if matches!(mqsim::line(first_line), Ok(Line::Request(_))) {
            Some(Format::Mqsim)
        } else if !first_line.trim().is_empty() && blkparse::Blkparse::default().line(first_line).is_ok() {
            Some(Format::Blkparse)
        } else {
            None
        }
    }

    /// The published table that a first line is of: it names the columns, or is a request.
    fn table_of(first_line: &str) -> Option<Format> {
        let names = first_line.trim_start_matches('\u{feff}').trim();
        let named = HEADERS.iter().position(|header| names.eq_ignore_ascii_case(header));
        let is_request =
            |&table: &Format| matches!(Parser::new(table).line(first_line), Ok(Line::Request(_)));
        named.map(|at| TABLES[at]).or_else(|| TABLES.into_iter().find(is_request))
    }

    /// For a first line of no known format ([`Format::detect`]): the nearest format by the line's separators,
    /// and what is wrong with the line in that format; `None` if no format is near.
    pub fn nearest(first_line: &str) -> Option<(Format, TraceProblem)> {
        let (commas, words) = (first_line.matches(',').count(), first_line.split_whitespace());
        let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let (numbers, words) = (words.clone().filter(is_number).count(), words.count());
        let fields = || first_line.split(',').map(str::trim);
        let kind_at = |n| fields().nth(n).is_some_and(|field| matches!(field, "R" | "W" | "r" | "w"));
        let has_digits = |field: &&str| field.starts_with(|c: char| c.is_ascii_digit());
        let fields_with_digits = fields().filter(has_digits).count();
        let is_iolog = first_line.trim_start().to_ascii_lowercase().starts_with("fio version");
        let nearest = match (commas, words) {
            _ if is_iolog => Format::Iolog,
            (TENCENT_COMMAS, _) if fields_with_digits == TENCENT_COMMAS + 1 => Format::Tencent,
            (ALIBABA_COMMAS, _) if kind_at(1) => Format::Alibaba,
            (SYSTOR_COMMAS, _) if kind_at(2) => Format::Systor,
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
            Format::Alibaba => "alibaba",
            Format::Tencent => "tencent",
            Format::Systor => "systor",
            Format::Columns(_) => "columns",
        }
    }

    /// Picoseconds per tick of the format's timestamps.
    pub(super) const fn tick_picos(self) -> u64 {
        match self {
            Format::Blkparse | Format::Mqsim => 1_000,
            Format::Alibaba | Format::Tencent | Format::Systor | Format::Columns(_) => 1_000,
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
    Table(Table),
}

impl Parser {
    pub(super) fn new(format: Format) -> Self {
        match format {
            Format::Blkparse => Parser::Blkparse(blkparse::Blkparse::default()),
            Format::Msr => Parser::Msr,
            Format::Iolog => Parser::Iolog(iolog::Iolog::default()),
            Format::Mqsim | Format::MqsimMicros | Format::MqsimPicos => Parser::Mqsim,
            Format::Alibaba => Parser::Table(Table::new(Columns::ALIBABA)),
            Format::Tencent => Parser::Table(Table::new(Columns::TENCENT)),
            Format::Systor => Parser::Table(Table::new(Columns::SYSTOR)),
            Format::Columns(columns) => Parser::Table(Table::new(columns)),
        }
    }

    pub(super) fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, At> {
        match self {
            Parser::Blkparse(parser) => parser.line(text),
            Parser::Msr => msr::line(text),
            Parser::Iolog(parser) => parser.line(text),
            Parser::Mqsim => mqsim::line(text),
            Parser::Table(table) => table.line(text),
        }
    }
}
