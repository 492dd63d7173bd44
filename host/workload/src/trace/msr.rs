use super::error::{At, Field};
use super::record::{Line, TraceRecord};
use crate::RequestKind;

/// Fields of a line.
const FIELDS: usize = 7;

/// The names of the fields, for a file whose first line has them. The published files have no such line;
/// spreadsheets add one.
const NAMES: [&str; FIELDS] =
    ["Timestamp", "Hostname", "DiskNumber", "Type", "Offset", "Size", "ResponseTime"];

/// Whether a line names the fields.
pub(super) fn is_header(line: &str) -> bool {
    // Some spreadsheets put a byte order mark in front.
    let mut fields = line.trim_start_matches('\u{feff}').split(',');
    NAMES.iter().all(|name| fields.next().is_some_and(|field| field.trim().eq_ignore_ascii_case(name)))
        && fields.next().is_none()
}

/// A line of the MSR Cambridge traces (SNIA IOTTA):
/// `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`. The timestamp is a Windows file time, in
/// units of 100 ns; offset and size are bytes. A device is `hostname,disk`.
pub(super) fn line(line: &str) -> Result<Line<'_>, At> {
    if line.trim().is_empty() {
        return Ok(Line::Nothing);
    }
    // The timestamps of requests are numbers: only a line that begins with something else can be a header.
    if !line.starts_with(|c: char| c.is_ascii_digit()) && is_header(line) {
        return Ok(Line::Nothing);
    }
    let mut fields = [Field { byte: line.len(), text: "" }; FIELDS];
    let mut byte = 0;
    for (i, text) in line.trim_end().split(',').enumerate() {
        let field = Field { byte, text };
        byte += text.len() + 1;
        *fields.get_mut(i).ok_or_else(|| field.expected("the end of the line after seven fields"))? = field;
    }
    let [time, host, disk, kind, offset, size, response] = fields;
    let ticks = time.number("a timestamp in units of 100 ns")?;
    if host.text.is_empty() {
        return Err(host.expected("a host name"));
    }
    disk.number("the number of a disk")?;
    let kind = match kind.text {
        text if text.eq_ignore_ascii_case("read") => RequestKind::Read,
        text if text.eq_ignore_ascii_case("write") => RequestKind::Write,
        _ => return Err(kind.expected("Read or Write")),
    };
    let from = offset.number("an offset in bytes")?;
    let length = size.number("a size in bytes")?;
    if length == 0 {
        return Err(size.expected("a size above 0"));
    }
    response.number("a response time")?;
    Ok(Line::Request(TraceRecord {
        kind,
        offset: from,
        length,
        fua: false,
        flush_before: false,
        ticks,
        time_place: time.byte,
        device: &line[host.byte..disk.byte + disk.text.len()],
        place: offset.byte,
    }))
}
