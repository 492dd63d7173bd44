//! Which of two drives a listener hears where one of them stands over the other: a target of the host over
//! the drive with the flash.

use crate::{Event, EventKind, EventSink};
use aster_units::Instant;

/// What an event is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// The commands of a host, their slices, and their data. Command slots, tasks and buffers are those of
    /// the drive that the host sees.
    Commands,
    /// A translation and where it has put data. Target and drive may both have one.
    Translation,
    /// Flash, the firmware that works on it, and the link to the drive.
    Drive,
}

impl EventKind {
    /// What events of this kind are of.
    pub const fn level(self) -> Level {
        match self {
            EventKind::DoorbellWritten
            | EventKind::CommandFetched
            | EventKind::CommandStarted
            | EventKind::CommandAnswered
            | EventKind::CommandFinished
            | EventKind::CommandCompleted
            | EventKind::CommandDropped
            | EventKind::CommandParked
            | EventKind::CommandResumed
            | EventKind::SliceStarted
            | EventKind::SliceEnded
            | EventKind::TransferQueued
            | EventKind::TransferEnded
            | EventKind::WaitStarted
            | EventKind::WaitEnded
            | EventKind::BufferHit
            | EventKind::BufferMissed
            | EventKind::EntryReleased
            | EventKind::MapMissed
            | EventKind::MapBrought => Level::Commands,
            EventKind::PageEvicted
            | EventKind::MapUpdated
            | EventKind::VictimChosen
            | EventKind::PageMoved
            | EventKind::BlockRetired => Level::Translation,
            EventKind::FlashQueued
            | EventKind::FlashIssued
            | EventKind::FlashFinished
            | EventKind::FirmwareWorked
            | EventKind::OperationDelivered
            | EventKind::OperationIssued
            | EventKind::OperationEnded
            | EventKind::TransactionStarted
            | EventKind::TransactionEnded
            | EventKind::TransactionFailed
            | EventKind::ArrayBusy
            | EventKind::DmaStarted
            | EventKind::DmaFinished
            | EventKind::InterruptSent
            | EventKind::PhaseBegan
            | EventKind::PhaseEnded
            | EventKind::PageCorrected
            | EventKind::TemperatureRead => Level::Drive,
        }
    }
}

/// Passes on what the drive above tells: everything but flash, firmware and link, which are the lower one's.
pub struct Above<S>(pub S);

impl<S: EventSink> EventSink for Above<S> {
    fn event(&mut self, at: Instant, event: &Event) {
        if event.kind().level() != Level::Drive {
            self.0.event(at, event);
        }
    }
}

/// Passes on what the drive below tells: everything but its commands, which are those of the drive above and
/// no host's.
pub struct Below<S>(pub S);

impl<S: EventSink> EventSink for Below<S> {
    fn event(&mut self, at: Instant, event: &Event) {
        if event.kind().level() != Level::Commands {
            self.0.event(at, event);
        }
    }
}
