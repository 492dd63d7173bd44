//! Asynchronous Event Request (NVMe 1.4 §5.2).

use super::{Answer, Reply, refuse};
use crate::async_events::EventSource;
use crate::controller::Controller;
use crate::ports::ControllerPorts;
use crate::slots::CommandStage;
use aster_wire::nvme::Status;

impl Controller {
    pub(super) fn request_event(&mut self, id: u16) -> Answer {
        if !self.reports.events().wait(id) {
            return refuse(Status::ASYNC_EVENT_LIMIT_EXCEEDED);
        }
        Ok(Reply::AwaitsEvent)
    }

    pub(crate) fn raise_event(&mut self, ports: &mut ControllerPorts, source: EventSource) {
        self.reports.events().raise(source);
        self.deliver_events(ports);
    }

    /// Raises the event that the command set has, if any.
    pub(crate) fn look_at_set(&mut self, ports: &mut ControllerPorts) {
        if let Some(event) = self.set.event() {
            self.reports.events().raise_of_set(event);
        }
        self.deliver_events(ports);
    }

    /// Completes waiting requests with waiting events.
    pub(super) fn deliver_events(&mut self, ports: &mut ControllerPorts) {
        while let Some((id, event)) = self.reports.events().deliver() {
            let permit = self.slots.resume(id, CommandStage::AwaitsEvent);
            self.finish(ports, permit, Status::SUCCESS, event.0.into());
        }
    }
}
