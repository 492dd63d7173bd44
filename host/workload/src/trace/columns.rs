//! Traces of comma-separated columns: a format is a table of what each column says.

use super::error::{At, Field};
use super::record::{Line, TraceRecord};
use crate::RequestKind;
use alloc::format;
use alloc::string::String;

/// The most columns of a line.
const COLUMNS_MAX: usize = 16;

/// Sectors of 512 bytes.
const SECTOR_BYTES: u32 = 512;

/// Nanoseconds of a unit of time, by its name.
const TIME_UNITS: [(&str, u32); 5] =
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("100ns", 100), ("ns", 1)];

/// How a column says whether a request reads or writes, by its name.
const KINDS: [(&str, Kinds); 3] = [("rw", Kinds::Letters), ("01", Kinds::ReadIs0), ("10", Kinds::ReadIs1)];

/// Bytes of a unit of places and sizes, by its name.
const UNITS: [(&str, u32); 2] = [("bytes", 1), ("sectors", SECTOR_BYTES)];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kinds {
    /// `R` or `Read`, `W` or `Write`, in letters of either size.
    Letters,
    /// 0 for a read, 1 for a write.
    ReadIs0,
    /// 1 for a read, 0 for a write.
    ReadIs1,
}

/// What a column says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    /// When the request came, in units of so many nanoseconds. A fraction may follow.
    Time(u32),
    Kind(Kinds),
    /// The first byte, in units of so many bytes.
    Offset(u32),
    /// The length, in units of so many bytes.
    Size(u32),
    /// What is requested of.
    Device,
    /// Nothing that a replay needs.
    Other,
}

/// What the columns of a trace say, from the first on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Columns {
    columns: [Column; COLUMNS_MAX],
    count: usize,
}

impl Columns {
    /// Alibaba's block traces: `device_id,opcode,offset,length,timestamp`.
    pub(super) const ALIBABA: Columns = Columns::of([
        Column::Device,
        Column::Kind(Kinds::Letters),
        Column::Offset(1),
        Column::Size(1),
        Column::Time(1_000),
    ]);
    /// Tencent's block traces (SNIA IOTTA): `Timestamp,Offset,Size,IOType,VolumeID`.
    pub(super) const TENCENT: Columns = Columns::of([
        Column::Time(1_000_000_000),
        Column::Offset(SECTOR_BYTES),
        Column::Size(SECTOR_BYTES),
        Column::Kind(Kinds::ReadIs0),
        Column::Device,
    ]);
    /// SYSTOR '17 (SNIA IOTTA): `Timestamp,Response,IOType,LUN,Offset,Size`.
    pub(super) const SYSTOR: Columns = Columns::of([
        Column::Time(1_000_000_000),
        Column::Other,
        Column::Kind(Kinds::Letters),
        Column::Device,
        Column::Offset(1),
        Column::Size(1),
    ]);

    const fn of<const N: usize>(from: [Column; N]) -> Self {
        let mut columns = [Column::Other; COLUMNS_MAX];
        let mut at = 0;
        while at < N {
            columns[at] = from[at];
            at += 1;
        }
        Columns { columns, count: N }
    }

    /// Columns as a user names them: `time:us,device,kind,offset,size:sectors,-`.
    ///
    /// # Errors
    /// What is wrong, as a message for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut columns = Columns { columns: [Column::Other; COLUMNS_MAX], count: 0 };
        for name in text.split(',').map(str::trim) {
            let column = column_named(name)?;
            let is_such = |other: &Column| core::mem::discriminant(other) == core::mem::discriminant(&column);
            if column != Column::Other && columns.all().iter().any(is_such) {
                return Err(format!("the column {name} is there twice"));
            }
            let place = columns.columns.get_mut(columns.count);
            *place.ok_or_else(|| format!("more than {COLUMNS_MAX} columns"))? = column;
            columns.count += 1;
        }
        let has = |is: fn(&Column) -> bool| columns.all().iter().any(is);
        for (name, there) in [
            ("time", has(|column| matches!(column, Column::Time(_)))),
            ("kind", has(|column| matches!(column, Column::Kind(_)))),
            ("offset", has(|column| matches!(column, Column::Offset(_)))),
            ("size", has(|column| matches!(column, Column::Size(_)))),
        ] {
            if !there {
                return Err(format!("the column {name} is missing"));
            }
        }
        Ok(columns)
    }

    fn all(&self) -> &[Column] {
        &self.columns[..self.count]
    }

    /// A line of a trace with these columns. Times are in nanoseconds.
    pub(super) fn line<'a>(&self, line: &'a str) -> Result<Line<'a>, At> {
        if line.trim().is_empty() {
            return Ok(Line::Nothing);
        }
        let end = line.trim_end().len();
        let mut fields = [Field { byte: end, text: "" }; COLUMNS_MAX];
        let mut byte = 0;
        for (n, text) in line[..end].split(',').enumerate() {
            let field = Field { byte, text };
            byte += text.len() + 1;
            if n >= self.count {
                return Err(field.expected("the end of the line"));
            }
            fields[n] = field;
        }
        let mut record = TraceRecord {
            kind: RequestKind::Read,
            offset: 0,
            length: 0,
            fua: false,
            flush_before: false,
            ticks: 0,
            time_place: 0,
            device: "disk",
            place: 0,
        };
        for (column, field) in self.all().iter().zip(fields) {
            match *column {
                Column::Time(unit) => (record.ticks, record.time_place) = (nanos(field, unit)?, field.byte),
                Column::Kind(kinds) => record.kind = kind(field, kinds)?,
                Column::Offset(unit) => {
                    record.offset = bytes(field, unit, "an offset")?;
                    record.place = field.byte;
                }
                Column::Size(unit) => {
                    record.length = bytes(field, unit, "a size")?;
                    if record.length == 0 {
                        return Err(field.expected("a size above 0"));
                    }
                }
                Column::Device if field.text.is_empty() => return Err(field.expected("a device")),
                Column::Device => record.device = field.text,
                Column::Other => {}
            }
        }
        Ok(Line::Request(record))
    }

    /// Whether a line names the columns: it has as many, and no number where a request has one.
    pub(super) fn is_header(&self, line: &str) -> bool {
        let is_number =
            |column: &Column| matches!(column, Column::Time(_) | Column::Offset(_) | Column::Size(_));
        let mut fields = line.trim_start_matches('\u{feff}').split(',');
        let is_word = |text: &str| text.trim().starts_with(|first: char| first.is_ascii_alphabetic());
        self.all().iter().all(|column| fields.next().is_some_and(|text| !is_number(column) || is_word(text)))
            && fields.next().is_none()
    }
}

/// A column by its name and, behind a colon, its unit.
fn column_named(text: &str) -> Result<Column, String> {
    let (name, unit) = text.split_once(':').map_or((text, None), |(name, unit)| (name, Some(unit)));
    fn of<T: Copy>(known: &[(&str, T)], text: &str, unit: Option<&str>) -> Result<T, String> {
        let Some(unit) = unit else { return Ok(known[0].1) };
        let found = known.iter().find(|(name, _)| *name == unit).map(|(_, value)| *value);
        let names: alloc::vec::Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        found.ok_or_else(|| format!("{text}: expected one of {} behind the colon", names.join(", ")))
    }
    match (name, unit) {
        ("time", unit) => Ok(Column::Time(of(&TIME_UNITS, text, unit)?)),
        ("kind", unit) => Ok(Column::Kind(of(&KINDS, text, unit)?)),
        ("offset", unit) => Ok(Column::Offset(of(&UNITS, text, unit)?)),
        ("size", unit) => Ok(Column::Size(of(&UNITS, text, unit)?)),
        ("device", None) => Ok(Column::Device),
        ("-", None) => Ok(Column::Other),
        _ => Err(format!(
            "\"{text}\" is no column; they are time[:s|ms|us|100ns|ns], kind[:rw|01|10], \
             offset[:bytes|sectors], size[:bytes|sectors], device, and - for what isn't needed"
        )),
    }
}

fn kind(field: Field<'_>, kinds: Kinds) -> Result<RequestKind, At> {
    let is = |words: [&str; 2]| words.iter().any(|word| field.text.eq_ignore_ascii_case(word));
    let (read, write, what) = match kinds {
        Kinds::Letters => (["R", "Read"], ["W", "Write"], "R or Read, W or Write"),
        Kinds::ReadIs0 => (["0", "0"], ["1", "1"], "0 for a read or 1 for a write"),
        Kinds::ReadIs1 => (["1", "1"], ["0", "0"], "0 for a write or 1 for a read"),
    };
    match () {
        () if is(read) => Ok(RequestKind::Read),
        () if is(write) => Ok(RequestKind::Write),
        () => Err(field.expected(what)),
    }
}

fn bytes(field: Field<'_>, unit: u32, what: &'static str) -> Result<u64, At> {
    let number = field.number(what)?;
    number.checked_mul(unit.into()).ok_or_else(|| field.expected("a place on a disk below 2^64 bytes"))
}

/// A time in nanoseconds. A fraction may follow the number, of which what is below a nanosecond is left out.
fn nanos(field: Field<'_>, unit: u32) -> Result<u64, At> {
    const WHAT: &str = "a time";
    let (whole, fraction) = field.text.split_once('.').unwrap_or((field.text, "0"));
    let whole = Field { byte: field.byte, text: whole }.number(WHAT)?;
    let known = fraction.get(..fraction.len().min(18)).unwrap_or_default();
    let parts = Field { byte: field.byte, text: known }.number(WHAT).map_err(|_| field.expected(WHAT))?;
    let below = u128::from(parts) * u128::from(unit) / 10u128.pow(known.len() as u32);
    let whole = whole.checked_mul(unit.into()).and_then(|whole| whole.checked_add(below as u64));
    whole.ok_or_else(|| field.expected("a time below 584 years"))
}

/// Reads a trace of columns, of which the first line may name them.
#[derive(Clone, Debug)]
pub(super) struct Table {
    columns: Columns,
    is_first: bool,
}

impl Table {
    pub(super) fn new(columns: Columns) -> Self {
        Table { columns, is_first: true }
    }
    pub(super) fn line<'a>(&mut self, text: &'a str) -> Result<Line<'a>, At> {
        let is_first = self.is_first;
        self.is_first &= text.trim().is_empty();
        if is_first && self.columns.is_header(text) {
            return Ok(Line::Nothing);
        }
        self.columns.line(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn record<'a>(columns: &Columns, line: &'a str) -> TraceRecord<'a> {
        match columns.line(line) {
            Ok(Line::Request(record)) => record,
            other => panic!("{line}: {other:?}"),
        }
    }
    fn wrong(columns: &Columns, line: &str) -> (usize, String) {
        let at = columns.line(line).unwrap_err();
        (at.byte, at.problem.to_string())
    }

    #[test]
    fn the_published_tables_are_read() {
        let alibaba = record(&Columns::ALIBABA, "419,W,8792731648,16384,1577808144360767");
        assert_eq!((alibaba.kind, alibaba.device), (RequestKind::Write, "419"));
        assert_eq!((alibaba.offset, alibaba.length), (8_792_731_648, 16_384));
        assert_eq!((alibaba.ticks, alibaba.time_place, alibaba.place), (1_577_808_144_360_767_000, 23, 6));
        let tencent = record(&Columns::TENCENT, "1538323199,105352008,584,1,1576");
        assert_eq!((tencent.kind, tencent.device), (RequestKind::Write, "1576"));
        assert_eq!((tencent.offset, tencent.length), (105_352_008 * 512, 584 * 512));
        assert_eq!(tencent.ticks, 1_538_323_199_000_000_000);
        let systor = record(&Columns::SYSTOR, "1455508800.004377,0.000325,R,2,17099317760,36864\r");
        assert_eq!((systor.kind, systor.device), (RequestKind::Read, "2"));
        assert_eq!((systor.offset, systor.length), (17_099_317_760, 36_864));
        assert_eq!(systor.ticks, 1_455_508_800_004_377_000);
        // Some lines of these traces have no response time.
        assert_eq!(record(&Columns::SYSTOR, "1455508800.5,,W,0,4096,512").kind, RequestKind::Write);
    }

    #[test]
    fn a_first_line_may_name_the_columns() {
        let mut table = Table::new(Columns::SYSTOR);
        let header = "Timestamp,Response,IOType,LUN,Offset,Size";
        assert!(matches!(table.line(header), Ok(Line::Nothing)));
        assert!(table.line(header).is_err(), "only the first");
        assert!(Columns::ALIBABA.is_header("device_id,opcode,offset,length,timestamp"));
        assert!(!Columns::ALIBABA.is_header("419,W,8792731648,16384,1577808144360767"));
    }

    #[test]
    fn columns_are_named_by_the_user() {
        let columns = Columns::parse("-,time:ms, kind:10,device,size:sectors,offset").unwrap();
        let found = record(&columns, "x,12.5,0,sda,8,4096");
        assert_eq!((found.ticks, found.kind, found.device), (12_500_000, RequestKind::Write, "sda"));
        assert_eq!((found.offset, found.length), (4096, 4096));
        let least = Columns::parse("time,kind,offset,size").unwrap();
        assert_eq!(record(&least, "3,read,0,512").device, "disk");
        for (text, says) in [
            ("time,kind,offset", "the column size is missing"),
            ("time,time:us,kind,offset,size", "the column time:us is there twice"),
            ("time:h,kind,offset,size", "time:h: expected one of s, ms, us, 100ns, ns behind the colon"),
            ("when,kind,offset,size", "\"when\" is no column; they are time["),
            ("device:x,time,kind,offset,size", "\"device:x\" is no column"),
            ("-,-,-,-,-,-,-,-,-,-,-,-,-,time,kind,offset,size", "more than 16 columns"),
        ] {
            let error = Columns::parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let columns = &Columns::ALIBABA;
        for (line, byte, says) in [
            ("419,W,8792731648,16384,x", 23, "expected a time, found \"x\""),
            ("419,W,8792731648,16384,1.x", 23, "expected a time, found \"1.x\""),
            ("419,W,8792731648,16384", 22, "expected a time, found the end of the line"),
            ("419,W,8792731648,0,7", 17, "expected a size above 0, found \"0\""),
            ("419,T,8792731648,512,7", 4, "expected R or Read, W or Write, found \"T\""),
            (",W,8792731648,512,7", 0, "expected a device"),
            ("419,W,-1,512,7", 6, "expected an offset, found \"-1\""),
            ("419,W,0,512,7,8", 14, "expected the end of the line, found \"8\""),
            ("419,W,0,512,99999999999999999999", 12, "expected a time"),
            ("419,W,0,512,9999999999999999999", 12, "expected a time below 584 years"),
        ] {
            let (at, problem) = wrong(columns, line);
            assert!(at == byte && problem.contains(says), "{line}: {at}: {problem}");
        }
        let (_, problem) = wrong(&Columns::TENCENT, "1,36028797018963968,8,0,1");
        assert!(problem.contains("below 2^64 bytes"), "{problem}");
    }
}
