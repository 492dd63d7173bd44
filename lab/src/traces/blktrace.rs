//! blktrace's binary events, each as the line of text that `blkparse` makes of it.

use std::fmt::Write;
use std::io::{self, BufRead, Read};

/// An event is as long as `struct blk_io_trace` (linux/blktrace_api.h), and has `pdu_len` bytes behind it.
const EVENT_BYTES: usize = 48;
/// The version is the magic number's lowest byte.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 0x07;

/// The action's low half; its upper half has the categories.
const QUEUE: u32 = 1;
const IN_CGROUP: u32 = 1 << 8;
const CATEGORY_SHIFT: u32 = 16;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const SYNC: u32 = 1 << 3;
const NOTIFY: u32 = 1 << 10;
const AHEAD: u32 = 1 << 11;
const META: u32 = 1 << 12;
const DISCARD: u32 = 1 << 13;
const FUA: u32 = 1 << 15;

/// `dev_t` as the kernel keeps it.
const MINOR_BITS: u32 = 20;
const SECTOR_BYTES: u32 = 512;

/// The byte order of the machine that traced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The byte order of a file that begins so; `None` if it is no such file.
    pub(super) fn of(head: [u8; 4]) -> Option<Order> {
        let is_magic = |word: u32| word & !0xff == MAGIC;
        match () {
            () if is_magic(u32::from_le_bytes(head)) => Some(Order::Little),
            () if is_magic(u32::from_be_bytes(head)) => Some(Order::Big),
            () => None,
        }
    }
}

/// The fields of an event.
struct Event<'a> {
    bytes: &'a [u8; EVENT_BYTES],
    order: Order,
}

impl Event<'_> {
    fn u32(&self, at: usize) -> u32 {
        let field = self.bytes[at..at + 4].try_into().expect("four bytes");
        match self.order {
            Order::Little => u32::from_le_bytes(field),
            Order::Big => u32::from_be_bytes(field),
        }
    }
    fn u64(&self, at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(at)), u64::from(self.u32(at + 4)));
        match self.order {
            Order::Little => second << 32 | first,
            Order::Big => first << 32 | second,
        }
    }
    fn pdu_bytes(&self) -> u64 {
        let field = [self.bytes[46], self.bytes[47]];
        u64::from(match self.order {
            Order::Little => u16::from_le_bytes(field),
            Order::Big => u16::from_be_bytes(field),
        })
    }

    /// Puts its line into `line`, which stays empty for an event that is no request of the host.
    fn tell(&self, line: &mut String) {
        let (action, categories) = (self.u32(28) & 0xffff & !IN_CGROUP, self.u32(28) >> CATEGORY_SHIFT);
        if action != QUEUE || categories & NOTIFY != 0 {
            return;
        }
        let (sequence, time, sector, bytes) = (self.u32(4), self.u64(8), self.u64(16), self.u32(24));
        let (pid, device, cpu) = (self.u32(32), self.u32(36), self.u32(40));
        let is = |category: u32| categories & category != 0;
        let mut flags = String::new();
        if is(FLUSH) {
            flags.push('F');
        }
        flags.push(match bytes {
            _ if is(DISCARD) => 'D',
            _ if is(WRITE) && (bytes > 0 || !is(FLUSH)) => 'W',
            0 => 'N',
            _ => 'R',
        });
        let letters = [(FUA, 'F'), (AHEAD, 'A'), (SYNC, 'S'), (META, 'M')];
        flags.extend(letters.into_iter().filter(|(category, _)| is(*category)).map(|(_, letter)| letter));
        let (major, minor) = (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1));
        let (seconds, nanos) = (time / 1_000_000_000, time % 1_000_000_000);
        let told = write!(line, "{major},{minor} {cpu} {sequence} {seconds}.{nanos:09} {pid} Q {flags}");
        told.expect("a string has room");
        if bytes > 0 {
            // A request of a part of a sector touches it as a whole.
            write!(line, " {sector} + {}", bytes.div_ceil(SECTOR_BYTES)).expect("a string has room");
        }
    }
}

/// Why an event can't be read.
pub(super) enum Unreadable {
    /// The file can't be read, or not unpacked.
    File(io::Error),
    /// What is there is no event.
    Event(String),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Unreadable::File(error)
    }
}

/// The events of a file, one after the other.
pub(super) struct Events {
    order: Order,
    /// Bytes of the file that have been read.
    at: u64,
}

impl Events {
    pub(super) fn new(order: Order) -> Self {
        Events { order, at: 0 }
    }

    /// Puts the next event's line into `line`; false at the end of the file.
    pub(super) fn read(&mut self, from: &mut dyn BufRead, line: &mut String) -> Result<bool, Unreadable> {
        line.clear();
        let mut bytes = [0; EVENT_BYTES];
        let n = fill(from, &mut bytes)?;
        if n == 0 {
            return Ok(false);
        }
        let event = Event { bytes: &bytes, order: self.order };
        // The magic number is there before the event is whole: what follows no event is no rest of one.
        if n >= 4 && event.u32(0) != MAGIC | VERSION {
            return Err(self.wrong(&format!(
                "expected an event of blktrace's version {VERSION}, whose first word is {:#010x}, found \
                 {:#010x}",
                MAGIC | VERSION,
                event.u32(0)
            )));
        }
        if n < EVENT_BYTES {
            return Err(
                self.wrong(&format!("the file ends in the middle of an event, after {n} bytes of it"))
            );
        }
        let behind = event.pdu_bytes();
        let skipped = io::copy(&mut (&mut *from).take(behind), &mut io::sink())?;
        if skipped < behind {
            return Err(self.wrong(&format!("the file ends within the {behind} bytes behind an event")));
        }
        event.tell(line);
        self.at += EVENT_BYTES as u64 + behind;
        Ok(true)
    }

    fn wrong(&self, what: &str) -> Unreadable {
        let from = self.at;
        Unreadable::Event(format!(
            "{what} (byte {from} of the trace); take a whole copy of what blktrace wrote"
        ))
    }
}

/// Reads as many bytes as there are, and says how many.
fn fill(from: &mut dyn BufRead, into: &mut [u8]) -> io::Result<usize> {
    let mut n = 0;
    while n < into.len() {
        match from.read(&mut into[n..]) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An event; typed by the header's layout.
    pub(in super::super) fn event(order: Order, fields: (u64, u64, u32, u32, u32), pdu: &[u8]) -> Vec<u8> {
        let (time, sector, bytes, action, device) = fields;
        let mut event = Vec::new();
        let mut put = |value: u64, length: usize| match order {
            Order::Little => event.extend(&value.to_le_bytes()[..length]),
            Order::Big => event.extend(&value.to_be_bytes()[8 - length..]),
        };
        put(0x6561_7407, 4);
        put(7, 4);
        put(time, 8);
        put(sector, 8);
        put(bytes.into(), 4);
        put(action.into(), 4);
        put(4711, 4);
        put(device.into(), 4);
        put(3, 4);
        put(0, 2);
        put(pdu.len() as u64, 2);
        event.extend(pdu);
        event
    }

    fn lines(mut bytes: &[u8]) -> Result<Vec<String>, String> {
        let order = Order::of(bytes[..4].try_into().unwrap()).expect("a magic number");
        let (mut events, mut all, mut line) = (Events::new(order), Vec::new(), String::new());
        loop {
            match events.read(&mut bytes, &mut line) {
                Ok(true) => all.push(line.clone()),
                Ok(false) => return Ok(all),
                Err(Unreadable::Event(what)) => return Err(what),
                Err(Unreadable::File(error)) => panic!("{error}"),
            }
        }
    }

    const SDA1: u32 = 8 << 20 | 1;

    #[test]
    fn an_event_is_the_line_that_blkparse_prints() {
        for order in [Order::Little, Order::Big] {
            let event = |at, sector, bytes, action: u32, pdu: &[u8]| {
                event(order, (at, sector, bytes, action, SDA1), pdu)
            };
            let trace = [
                event(1_000_000_009, 223_490, 4096, 1 | (1 << 1 | 1 << 3) << 16, &[]),
                // A completion, and a note of a process with its name.
                event(1_000_000_010, 223_490, 4096, 8 | 1 << 16, &[]),
                event(1_000_000_011, 0, 0, 1 << 10 << 16, b"kjournald"),
                event(2_500_000_000, 8, 512, 1 | 1 << 8 | 1 << 16, &[0; 8]),
                event(3_000_000_000, 16, 8192, 1 | (1 << 13 | 1 << 1) << 16, &[]),
                event(3_000_000_001, 0, 0, 1 | (1 << 2 | 1 << 1) << 16, &[]),
                event(3_000_000_002, 24, 4096, 1 | (1 << 2 | 1 << 1 | 1 << 15 | 1 << 12) << 16, &[]),
            ];
            let told = lines(&trace.concat()).unwrap();
            assert_eq!(
                told,
                [
                    "8,1 3 7 1.000000009 4711 Q WS 223490 + 8",
                    "",
                    "",
                    "8,1 3 7 2.500000000 4711 Q R 8 + 1",
                    "8,1 3 7 3.000000000 4711 Q D 16 + 16",
                    "8,1 3 7 3.000000001 4711 Q FN",
                    "8,1 3 7 3.000000002 4711 Q FWFM 24 + 8",
                ]
            );
        }
    }

    #[test]
    fn what_is_no_event_is_told_by_its_place() {
        let good = event(Order::Little, (1, 8, 512, 1 | 1 << 16, SDA1), b"xy");
        let cut = |n: usize| lines(&[&good, &good[..n]].concat()).unwrap_err();
        assert!(
            cut(20).contains("in the middle of an event, after 20 bytes of it (byte 50 of"),
            "{}",
            cut(20)
        );
        assert!(cut(49).contains("within the 2 bytes behind an event (byte 50"), "{}", cut(49));
        let mut old = good.clone();
        old[0] = 6;
        let error = lines(&old).unwrap_err();
        assert!(error.contains("version 7") && error.contains("found 0x65617406"), "{error}");
        assert_eq!(Order::of(*b"8,0 "), None);
    }
}
