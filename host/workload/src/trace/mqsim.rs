use super::error::{At, Words};
use super::record::{Line, TraceRecord};
use crate::RequestKind;

/// MQSim counts in sectors of 512 bytes.
const SECTOR_BYTES: u64 = 512;

/// A line of MQSim's ASCII traces: `time device sector sectors type`, where type 0 is a write and 1 a read. A
/// device is its number.
pub(super) fn line(line: &str) -> Result<Line<'_>, At> {
    if line.trim().is_empty() {
        return Ok(Line::Nothing);
    }
    let mut words = Words::new(line);
    let time = words.word();
    let ticks = time.number("a time of arrival")?;
    let device = words.word();
    device.number("the number of a device")?;
    let place = words.word();
    let sector = place.number("a sector number")?;
    let count = words.word();
    let sectors = count.number("a number of sectors")?;
    if sectors == 0 {
        return Err(count.expected("a number of sectors above 0"));
    }
    let kind = words.word();
    let kind = match kind.text {
        "0" => RequestKind::Write,
        "1" => RequestKind::Read,
        _ => return Err(kind.expected("0 for a write or 1 for a read")),
    };
    let more = words.word();
    if !more.text.is_empty() {
        return Err(more.expected("the end of the line after five fields"));
    }
    Ok(Line::Request(TraceRecord {
        kind,
        offset: sector
            .checked_mul(SECTOR_BYTES)
            .ok_or_else(|| place.expected("a sector number below 2^55"))?,
        length: sectors
            .checked_mul(SECTOR_BYTES)
            .ok_or_else(|| count.expected("a number of sectors below 2^55"))?,
        fua: false,
        flush_before: false,
        ticks,
        time_place: time.byte,
        device: device.text,
        place: place.byte,
    }))
}
