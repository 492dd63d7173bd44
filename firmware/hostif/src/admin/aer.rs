//! Asynchronous events (NVMe 1.4 §5.2): reported once a type until the host reads the log page that it names.

use super::{Answer, Reply, refuse};
use crate::config::ASYNC_EVENT_REQUESTS;
use crate::controller::Controller;
use crate::ports::Ports;
use crate::slots::Stage;
use alloc::vec::Vec;
use aster_wire::nvme::Status;
use aster_wire::nvme::features::{AsyncEvent, AsyncEventType, ErrorEvent, HealthEvent};
use aster_wire::nvme::log::LogId;

/// What may happen.
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
}

impl EventSource {
    const ALL: [EventSource; 6] = [
        EventSource::InvalidDoorbellRegister,
        EventSource::InvalidDoorbellValue,
        EventSource::Reliability,
        EventSource::Temperature,
        EventSource::Spare,
        EventSource::NoRoom,
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
        }
    }
    const fn event(self) -> AsyncEvent {
        let information = match self {
            EventSource::InvalidDoorbellRegister => ErrorEvent::InvalidDoorbellRegister.raw(),
            EventSource::InvalidDoorbellValue => ErrorEvent::InvalidDoorbellValue.raw(),
            EventSource::NoRoom => ErrorEvent::TransientInternalError.raw(),
            EventSource::Reliability => HealthEvent::SubsystemReliability.raw(),
            EventSource::Temperature => HealthEvent::TemperatureThreshold.raw(),
            EventSource::Spare => HealthEvent::SpareBelowThreshold.raw(),
        };
        let log = match self.kind() {
            AsyncEventType::Error => LogId::ErrorInformation,
            _ => LogId::Health,
        };
        AsyncEvent::of(self.kind(), information, log.raw())
    }
}

/// Requests that wait, and events that wait for a request.
#[derive(Debug, Default)]
pub(crate) struct AsyncEvents {
    waiting: Vec<u16>,
    /// By [`EventSource::bit`].
    pending: u8,
    /// Types reported and not yet cleared, by type number.
    masked: u8,
}

impl AsyncEvents {
    pub fn reset(&mut self) {
        self.waiting.clear();
        (self.pending, self.masked) = (0, 0);
    }
    /// A request that waited is gone.
    pub fn forget(&mut self, id: u16) {
        self.waiting.retain(|&waiting| waiting != id);
    }
    /// The host has read a log page and does not want the event retained.
    pub fn log_was_read(&mut self, log: LogId) {
        match log {
            LogId::ErrorInformation => self.masked &= !(1 << AsyncEventType::Error.raw()),
            LogId::Health => self.masked &= !(1 << AsyncEventType::Health.raw()),
            _ => {}
        }
    }
    fn next(&mut self) -> Option<AsyncEvent> {
        let source = EventSource::ALL
            .into_iter()
            .find(|s| self.pending & s.bit() != 0 && self.masked >> s.kind().raw() & 1 == 0)?;
        self.pending &= !source.bit();
        self.masked |= 1 << source.kind().raw();
        Some(source.event())
    }
}

impl Controller {
    pub(super) fn request_event(&mut self, ports: &mut Ports, id: u16) -> Answer {
        if self.events.waiting.len() >= usize::from(ASYNC_EVENT_REQUESTS) {
            return refuse(Status::ASYNC_EVENT_LIMIT_EXCEEDED);
        }
        self.slots[id].stage = Stage::AwaitsEvent;
        self.events.waiting.push(id);
        self.deliver_events(ports);
        Ok(Reply::Later)
    }

    pub(crate) fn raise_event(&mut self, ports: &mut Ports, source: EventSource) {
        self.events.pending |= source.bit();
        self.deliver_events(ports);
    }

    /// Completes waiting requests with waiting events.
    pub(super) fn deliver_events(&mut self, ports: &mut Ports) {
        while !self.events.waiting.is_empty() {
            let Some(event) = self.events.next() else { return };
            let id = self.events.waiting.remove(0);
            self.finish(ports, id, Status::SUCCESS, event.0.into());
        }
    }
}
