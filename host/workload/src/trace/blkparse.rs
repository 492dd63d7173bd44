use super::error::{At, Field, Words};
use super::record::{Line, TraceRecord};
use crate::RequestKind;

/// blktrace counts in sectors of 512 bytes whatever the device's block is.
const SECTOR_BYTES: u64 = 512;
const NANO_DIGITS: usize = 9;

/// The text that `blkparse` prints by default: `maj,min cpu sequence seconds.nanoseconds pid action rwbs
/// sector + n [command]`. Queue events (action Q) are the host's requests; all others are skipped, as is the
/// summary at the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Blkparse {
    in_summary: bool,
}

impl Blkparse {
    pub(super) fn line<'a>(&mut self, line: &'a str) -> Result<Line<'a>, At> {
        let mut words = Words::new(line);
        let device = words.word();
        if self.in_summary || device.text.is_empty() {
            return Ok(Line::Nothing);
        }
        if device.text.starts_with("CPU") || device.text == "Total" {
            self.in_summary = true;
            return Ok(Line::Nothing);
        }
        if !is_device(device.text) {
            return Err(device.expected("a device as major,minor, such as 8,0"));
        }
        words.word().number("the number of a CPU")?;
        words.word().number("a sequence number")?;
        let time = words.word();
        let ticks = nanoseconds(time)?;
        words.word().number("a process id")?;
        let action = words.word();
        if action.text.is_empty() {
            return Err(action.expected("an action such as Q or C"));
        }
        if action.text != "Q" {
            return Ok(Line::Nothing);
        }
        let flags = Flags::parse(words.word())?;
        let place = words.word();
        let has_place = !place.text.is_empty() && !place.text.starts_with('[');
        let (sector, sectors) = if has_place {
            let sector = place.number("a sector number")?;
            let plus = words.word();
            if plus.text != "+" {
                return Err(plus.expected("+"));
            }
            let count = words.word();
            let sectors = count.number("a number of sectors")?;
            (
                sector
                    .checked_mul(SECTOR_BYTES)
                    .ok_or_else(|| place.expected("a sector number below 2^55"))?,
                {
                    sectors
                        .checked_mul(SECTOR_BYTES)
                        .ok_or_else(|| count.expected("a number of sectors below 2^55"))?
                },
            )
        } else {
            (0, 0)
        };
        let Some(kind) = flags.kind else { return Ok(Line::Nothing) };
        let (kind, flush_before) = match (kind, sectors, flags.flush_first) {
            (RequestKind::Flush, _, _) | (_, 0, true) => (RequestKind::Flush, false),
            (_, 0, false) => return Err(place.expected("sector + count with a count above 0")),
            (kind, _, flush_first) => (kind, flush_first),
        };
        let is_flush = kind == RequestKind::Flush;
        Ok(Line::Request(TraceRecord {
            kind,
            offset: if is_flush { 0 } else { sector },
            length: if is_flush { 0 } else { sectors },
            fua: flags.fua && kind == RequestKind::Write,
            flush_before,
            ticks,
            time_place: time.byte,
            device: device.text,
            place: place.byte,
        }))
    }
}

fn is_device(text: &str) -> bool {
    let number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    text.split_once(',').is_some_and(|(major, minor)| number(major) && number(minor))
}

fn nanoseconds(field: Field<'_>) -> Result<u64, At> {
    const WHAT: &str = "a time as seconds.nanoseconds";
    let bad = || field.expected(WHAT);
    let (whole, fraction) = field.text.split_once('.').ok_or_else(bad)?;
    if fraction.len() != NANO_DIGITS {
        return Err(bad());
    }
    let whole = Field { byte: field.byte, text: whole }.number(WHAT).map_err(|_| bad())?;
    let nanos = field.from(field.text.len() - NANO_DIGITS).number(WHAT).map_err(|_| bad())?;
    whole.checked_mul(1_000_000_000).and_then(|s| s.checked_add(nanos)).ok_or_else(bad)
}

/// The RWBS field: an F before the operation asks for a flush first, one after it for force unit access.
struct Flags {
    /// `None` for events without data (N).
    kind: Option<RequestKind>,
    flush_first: bool,
    fua: bool,
}

impl Flags {
    fn parse(field: Field<'_>) -> Result<Self, At> {
        const WHAT: &str = "read/write flags: an optional F, one of R W D N F, then any of F A S M";
        let (flush_first, rest) = match field.text.strip_prefix('F') {
            Some(rest) => (true, rest),
            None => (false, field.text),
        };
        let mut letters = rest.char_indices().map(|(i, c)| (i + field.text.len() - rest.len(), c)).peekable();
        let kind = match letters.next() {
            Some((_, 'R')) => Some(RequestKind::Read),
            Some((_, 'W')) => Some(RequestKind::Write),
            Some((_, 'D')) => {
                // DE is a secure discard.
                letters.next_if(|(_, c)| *c == 'E');
                Some(RequestKind::Trim)
            }
            Some((_, 'F')) => Some(RequestKind::Flush),
            Some((_, 'N')) => flush_first.then_some(RequestKind::Flush),
            None if flush_first => Some(RequestKind::Flush),
            Some((i, _)) => return Err(field.from(i).expected(WHAT)),
            None => return Err(field.expected(WHAT)),
        };
        let mut fua = false;
        for (i, letter) in letters {
            match letter {
                'F' => fua = true,
                'A' | 'S' | 'M' => {}
                _ => return Err(field.from(i).expected(WHAT)),
            }
        }
        Ok(Flags { kind, flush_first, fua })
    }
}
