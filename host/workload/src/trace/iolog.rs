use super::error::{At, Field, Words};
use super::record::{Line, TraceRecord};
use crate::RequestKind;

const VERSION_2: &str = "fio version 2 iolog";
const VERSION_3: &str = "fio version 3 iolog";

/// fio's iolog. The first line names the version: 2 has `file action [offset length]` and waits in
/// microseconds, 3 has a timestamp in microseconds before each line and no waits. A device is a file name.
#[derive(Clone, Debug, Default)]
pub(super) struct Iolog {
    version: Option<Version>,
    /// Microseconds waited so far, in version 2.
    waited: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    Two,
    Three,
}

/// True for the first line of an iolog.
pub(super) fn is_header(line: &str) -> bool {
    matches!(line.trim(), VERSION_2 | VERSION_3)
}

impl Iolog {
    pub(super) fn line<'a>(&mut self, line: &'a str) -> Result<Line<'a>, At> {
        let Some(version) = self.version else {
            self.version = match line.trim() {
                VERSION_2 => Some(Version::Two),
                VERSION_3 => Some(Version::Three),
                text => {
                    return Err(Field { byte: 0, text }
                        .expected("\"fio version 2 iolog\" or \"fio version 3 iolog\" as the first line"));
                }
            };
            return Ok(Line::Nothing);
        };
        if line.trim().is_empty() {
            return Ok(Line::Nothing);
        }
        let mut words = Words::new(line);
        let stamp = match version {
            Version::Two => None,
            Version::Three => Some(words.word().number("a time in microseconds")?),
        };
        let file = words.word();
        let action = words.word();
        let kind = match action.text {
            "add" | "open" | "close" => return Ok(Line::Nothing),
            "wait" if version == Version::Two => {
                let field = words.word();
                let wait = field.number("a wait in microseconds")?;
                let sum = self.waited.checked_add(wait);
                self.waited = sum.ok_or_else(|| field.expected("waits whose sum fits 64 bits"))?;
                return Ok(Line::Nothing);
            }
            "read" => RequestKind::Read,
            "write" => RequestKind::Write,
            "trim" => RequestKind::Trim,
            "sync" | "datasync" => RequestKind::Flush,
            _ if version == Version::Two => {
                return Err(action.expected("add, open, close, wait, read, write, trim, sync or datasync"));
            }
            _ => return Err(action.expected("add, open, close, read, write, trim, sync or datasync")),
        };
        let place = words.word();
        let (mut from, mut length) = (0, 0);
        // fio writes 0 0 after a sync; in files written by hand it may be missing.
        if kind != RequestKind::Flush {
            from = place.number("an offset in bytes")?;
            let size = words.word();
            length = size.number("a length in bytes")?;
            if length == 0 {
                return Err(size.expected("a length above 0"));
            }
        }
        Ok(Line::Request(TraceRecord {
            kind,
            offset: from,
            length,
            fua: false,
            flush_before: false,
            ticks: stamp.unwrap_or(self.waited),
            // A wait isn't part of the request's line.
            time_place: 0,
            device: file.text,
            place: place.byte,
        }))
    }
}
