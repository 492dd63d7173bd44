//! Asynchronous events (NVMe 1.4 §5.2). The host gets each type once, until it reads the log page that the
//! event names.

use crate::config::ASYNC_EVENT_REQUESTS;
use alloc::vec::Vec;
use aster_parties::SetEvent;
use aster_wire::nvme::features::{AsyncEvent, AsyncEventType, ErrorEvent, HealthEvent};
use aster_wire::nvme::log::LogId;

/// A cause of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventSource {
    /// A doorbell of a queue that doesn't exist was written.
    InvalidDoorbellRegister,
    /// A doorbell got a value that its queue can't take.
    InvalidDoorbellValue,
    /// The media is degraded or read-only.
    Reliability,
    /// A temperature threshold was passed.
    Temperature,
    /// Spare is below its threshold.
    Spare,
    /// The disk under the media is full: writes wait.
    NoRoom,
    /// The command set has something to tell.
    CommandSet,
}

impl EventSource {
    const ALL: [EventSource; 7] = [
        EventSource::InvalidDoorbellRegister,
        EventSource::InvalidDoorbellValue,
        EventSource::Reliability,
        EventSource::Temperature,
        EventSource::Spare,
        EventSource::NoRoom,
        EventSource::CommandSet,
    ];
    const fn bit(self) -> u8 {
        1 << self as u8
    }
    const fn kind(self) -> AsyncEventType {
        match self {
            EventSource::InvalidDoorbellRegister
            | EventSource::InvalidDoorbellValue
            | EventSource::NoRoom => AsyncEventType::Error,
            EventSource::Reliability | EventSource::Temperature | EventSource::Spare => {
                AsyncEventType::Health
            }
            EventSource::CommandSet => AsyncEventType::Vendor,
        }
    }
    /// The event as the host gets it; `set` is that of the command set.
    const fn event(self, set: SetEvent) -> AsyncEvent {
        let information = match self {
            EventSource::InvalidDoorbellRegister => ErrorEvent::InvalidDoorbellRegister.raw(),
            EventSource::InvalidDoorbellValue => ErrorEvent::InvalidDoorbellValue.raw(),
            EventSource::NoRoom => ErrorEvent::TransientInternalError.raw(),
            EventSource::Reliability => HealthEvent::SubsystemReliability.raw(),
            EventSource::Temperature => HealthEvent::TemperatureThreshold.raw(),
            EventSource::Spare => HealthEvent::SpareBelowThreshold.raw(),
            EventSource::CommandSet => set.information,
        };
        let log = match self.kind() {
            AsyncEventType::Error => LogId::ErrorInformation.raw(),
            AsyncEventType::Vendor => set.log,
            _ => LogId::Health.raw(),
        };
        AsyncEvent::of(self.kind(), information, log)
    }
}

/// Requests that wait for an event, and events that wait for a request.
#[derive(Debug, Default)]
pub(crate) struct AsyncEvents {
    waiting: Vec<u16>,
    /// By [`EventSource::bit`].
    pending: u8,
    /// Types reported and not yet cleared, by type number.
    masked: u8,
    /// What [`EventSource::CommandSet`] tells.
    set: SetEvent,
}

impl AsyncEvents {
    pub fn reset(&mut self) {
        self.waiting.clear();
        (self.pending, self.masked) = (0, 0);
    }
    /// Removes a waiting request.
    pub fn forget(&mut self, id: u16) {
        self.waiting.retain(|&waiting| waiting != id);
    }
    /// Unmasks the events of a log page that the host has read without retaining the event.
    pub fn log_was_read(&mut self, log: LogId) {
        match log {
            LogId::ErrorInformation => self.masked &= !(1 << AsyncEventType::Error.raw()),
            LogId::Health => self.masked &= !(1 << AsyncEventType::Health.raw()),
            _ => {}
        }
    }
    /// Unmasks the event of the command set, if the host has read its log page, and withdraws one that it
    /// didn't get meanwhile.
    pub fn set_log_was_read(&mut self, log: u8) {
        if log == self.set.log {
            self.masked &= !(1 << AsyncEventType::Vendor.raw());
            self.pending &= !EventSource::CommandSet.bit();
        }
    }
    /// Adds a waiting request. Returns false if the maximum number is waiting already.
    pub fn wait(&mut self, id: u16) -> bool {
        let room = self.waiting.len() < usize::from(ASYNC_EVENT_REQUESTS);
        if room {
            self.waiting.push(id);
        }
        room
    }
    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
    /// Notes that something has happened.
    pub fn raise(&mut self, source: EventSource) {
        self.pending |= source.bit();
    }
    /// Notes that the command set has something to tell.
    pub fn raise_of_set(&mut self, event: SetEvent) {
        self.set = event;
        self.raise(EventSource::CommandSet);
    }
    /// Takes a request that ends now and the event that it reports.
    pub fn deliver(&mut self) -> Option<(u16, AsyncEvent)> {
        if self.waiting.is_empty() {
            return None;
        }
        let event = self.next()?;
        Some((self.waiting.remove(0), event))
    }
    fn next(&mut self) -> Option<AsyncEvent> {
        let source = EventSource::ALL
            .into_iter()
            .find(|s| self.pending & s.bit() != 0 && self.masked >> s.kind().raw() & 1 == 0)?;
        self.pending &= !source.bit();
        self.masked |= 1 << source.kind().raw();
        Some(source.event(self.set))
    }
}
