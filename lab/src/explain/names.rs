//! What instants of a command's life are called.

use aster_events::Wait;
use aster_observe::Activity;

pub(super) const QUEUE: &str = "submission queue, fetching the entry";
pub(super) const FRONT: &str = "front end: decoding, checking, waiting for the FTL";
pub(super) const DIVIDE: &str = "FTL: dividing the command, waiting for a worker";
pub(super) const FIRMWARE: &str = "FTL: firmware at work";
pub(super) const CORE: &str = "FTL: waiting for the core";
pub(super) const LUN: &str = "waiting for the LUN";
pub(super) const DEPENDENCY: &str = "big loop: waiting for the dependency checker";
pub(super) const STATION: &str = "big loop: waiting in the reservation station";
pub(super) const READ_ARRAY: &str = "array: reading";
pub(super) const PROGRAM_ARRAY: &str = "array: programming";
pub(super) const ERASE_ARRAY: &str = "array: erasing";
pub(super) const CHANNEL: &str = "channel: commands and data";
pub(super) const OPERATION: &str = "flash operation: waiting for the channel, polling, ECC, firmware";
pub(super) const CORRECTION: &str = "ECC engine: correcting the page in software";
pub(super) const MAP: &str = "FTL: waiting for the map, a translation page of which is read from flash";
pub(super) const LINK_QUEUED: &str = "host DMA: waiting for the link";
pub(super) const LINK: &str = "host DMA: on the link";
pub(super) const TRANSFER: &str = "host DMA: what the front end adds";
pub(super) const LAST: &str = "FTL: the command's end";
pub(super) const COMPLETION: &str = "completion entry, in its turn on the link";
pub(super) const REST: &str = "FTL";
/// All that is done for the command.
pub(super) const AT_WORK: &str = "FTL at work";

/// What a slice waits for.
pub(super) const fn wait_name(reason: Wait) -> &'static str {
    match reason {
        Wait::BufferEntry => "FTL: waiting for a data buffer entry that others hold or bring to flash",
        Wait::Room => "FTL: waiting for garbage collection to make room",
        Wait::LogPage => "FTL: waiting for a log page",
        Wait::MergeBuffer => "FTL: waiting for a merge buffer",
        Wait::FlashQueue => "FTL: waiting for room in the queue of flash requests",
        Wait::Slices => "FTL: waiting for the command's other slices",
        Wait::WordLine => "FTL: waiting for others' pages of the same word line",
        Wait::WriteBuffer => "FTL: waiting for room in the write buffer",
        Wait::Flush => "FTL: waiting for what is in the write buffer to be programmed",
        Wait::PageCache => "host: waiting for a page of the page cache",
        Wait::Drive => "host: waiting for the drive's answer",
        Wait::Erase => "FTL: waiting for the erase of what is written next",
        Wait::MapRoom => "FTL: waiting for room for changes of the map, until translation pages are written",
    }
}

/// Who has what a slice waits for, if somebody has.
pub(super) const fn holder_name(reason: Wait) -> Option<&'static str> {
    match reason {
        Wait::BufferEntry => Some("waiting for a data buffer entry, its holder"),
        Wait::WriteBuffer => Some("waiting for room in the write buffer, the program before"),
        Wait::Flush => Some("waiting for the write buffer to be programmed, the last program"),
        _ => None,
    }
}

/// All names of shares, in the order of the report.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let first = [QUEUE, FRONT, REST, DIVIDE, FIRMWARE, CORE, MAP];
    let last = [
        DEPENDENCY,
        STATION,
        LUN,
        READ_ARRAY,
        PROGRAM_ARRAY,
        ERASE_ARRAY,
        CHANNEL,
        OPERATION,
        CORRECTION,
        LINK_QUEUED,
        LINK,
        TRANSFER,
        LAST,
        COMPLETION,
    ];
    first.into_iter().chain(Wait::ALL.map(wait_name)).chain(last)
}

/// What an instant within a slice is spent on. If several activities go on at once, the highest number
/// counts.
pub(super) fn rank(activity: &Activity) -> Option<(u8, &'static str)> {
    Some(match *activity {
        // The reads and waits in it are the map's.
        Activity::MapRead { .. } => (10, MAP),
        Activity::Link { .. } => (9, LINK),
        Activity::LinkQueued { .. } => (8, LINK_QUEUED),
        // While a host DMA operation waits, its task's transfer has begun, too, so these rank above it.
        Activity::Dependent { kind: 0 | 1 } => (7, DEPENDENCY),
        Activity::Reserved { kind: 0 | 1 } => (7, STATION),
        Activity::Transfer { .. } => (6, TRANSFER),
        Activity::Array { kind: 0, .. } => (5, READ_ARRAY),
        Activity::Array { kind: 1, .. } => (5, PROGRAM_ARRAY),
        Activity::Array { kind: 2, .. } => (5, ERASE_ARRAY),
        Activity::Transaction { .. } => (4, CHANNEL),
        Activity::Dependent { .. } => (3, DEPENDENCY),
        Activity::Reserved { .. } => (3, STATION),
        Activity::Flash { .. } => (2, OPERATION),
        Activity::Corrected { .. } => (2, CORRECTION),
        Activity::Queued { .. } => (1, LUN),
        Activity::Waiting { reason, .. } => (1, wait_name(reason)),
        Activity::Firmware { .. } => (0, FIRMWARE),
        Activity::Array { .. } | Activity::Command(_) | Activity::Slice { .. } => return None,
    })
}

/// What shares and steps are called where they are of the host's software, which serves the command itself.
const ON_HOST: [(&str, &str); 8] = [
    (FRONT, "host: waiting for its software to take the command"),
    (DIVIDE, "host: dividing the command, waiting for a worker"),
    (CORE, "host: its software at work, or waiting for it (target.command_ns)"),
    (LINK, "host: copying the data"),
    (TRANSFER, "host: waiting for its software to copy the data"),
    (LAST, "host: the command's end"),
    (REST, "host: its software"),
    (AT_WORK, "host's software at work"),
];

/// A name of ours where the command is served by the host's software, if it is `on_host`.
pub(super) fn served(name: &str, on_host: bool) -> &str {
    let other = ON_HOST.iter().find(|(of_drive, _)| on_host && *of_drive == name);
    other.map_or(name, |(_, of_host)| of_host)
}
