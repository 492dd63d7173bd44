//! Keep Alive: what restarts the timer, and what happens when it expires (NVMe 1.4 §5.16, §7.12).

use crate::controller::Controller;
use crate::keep_alive::Found;
use crate::ports::{ControllerPorts, Timer};
use aster_parties::HostTrouble;
use aster_wire::nvme::Status;

impl Controller {
    /// The commands that the host has sent and that are done, and those that wait for an event.
    fn traffic(&mut self) -> u64 {
        self.slots.completed() + self.reports.events().waiting() as u64
    }
    /// An interval begins with the command that is being carried out. That one's own completion is still to
    /// come and is no traffic of the interval.
    pub(crate) fn begin_interval(&mut self, ports: &ControllerPorts) {
        let traffic = self.traffic() + 1;
        if let Some(at) = self.lifecycle.keep_alive().begin(ports.now(), traffic) {
            ports.wake_at(at, Timer::KeepAlive);
        }
    }
    /// Looks at the timer. It doesn't run after a fatal error, and not once the host has announced a
    /// shutdown.
    #[cold]
    pub(crate) fn look_at_host(&mut self, ports: &ControllerPorts) {
        if !self.lifecycle.takes_commands() {
            self.lifecycle.keep_alive().stop();
        }
        // A write that waits for room on the disk is the drive's to carry out.
        let is_working = self.slots.is_working() || self.pause.has_parked();
        let traffic = self.traffic();
        match self.lifecycle.keep_alive().look(ports.now(), traffic, is_working) {
            Found::Off => {}
            Found::LookAt(at) => ports.wake_at(at, Timer::KeepAlive),
            Found::Expired => self.give_host_up(),
        }
    }
    /// The drive stood still and could not hear the host: that is no silence of the host's.
    pub(crate) fn excuse_host(&mut self) {
        self.lifecycle.keep_alive().excuse();
    }
    /// The timer has expired: no command is processed until a reset.
    fn give_host_up(&mut self) {
        let timeout_ms = self.settings.features().keep_alive_ms();
        self.reports.note_trouble(HostTrouble::Silent { timeout_ms });
        self.reports.log_error(Status::KEEP_ALIVE_TIMER_EXPIRED);
        self.lifecycle.fail();
        self.pause.forget_all();
    }
}
