//! Enabling, resetting and shutting down the controller (NVMe 1.4 §7.3, §7.6), and the reaction to a fatal
//! error.
//!
//! A reset raises the epoch and takes all commands away from the host. CSTS.RDY falls once no DMA is in
//! flight. Commands that the FTL has run on there; their slots become free when the FTL is done.

use crate::controller::Controller;
use crate::lifecycle::ShutdownEnd;
use crate::ports::ControllerPorts;
use aster_ports::host::{CommandId, HostCommand, HostOp, HostStatus};
use aster_wire::nvme::registers::Cc;

impl Controller {
    pub(crate) fn write_configuration(&mut self, ports: &mut ControllerPorts, written: Cc) {
        let asked = self.lifecycle.configure(written);
        if asked.enable {
            self.enable();
        }
        if asked.reset {
            self.reset(ports);
        }
        if asked.shutdown {
            self.begin_shutdown(ports);
        }
    }

    /// Enables the controller, if the host has set it up well.
    fn enable(&mut self) {
        if let Some(admin) = self.lifecycle.enable() {
            self.queues.enable(admin);
            self.reports.health_mut().set_shut_down(false);
        }
    }

    /// PCIe function level reset: a controller reset that also clears the admin queue registers (NVMe 1.4
    /// §7.3.1).
    pub(crate) fn reset_function(&mut self, ports: &mut ControllerPorts) {
        self.lifecycle.clear_configuration();
        self.reset(ports);
        self.pump(ports);
    }

    /// Controller level reset (NVMe 1.4 §7.3.2).
    fn reset(&mut self, ports: &mut ControllerPorts) {
        ports.link.raise_epoch();
        for id in self.slots.ids() {
            self.disown(ports, id);
        }
        for number in self.queues.numbers() {
            self.drop_stalled(ports, number);
        }
        self.queues.reset();
        self.interrupts.reset();
        self.reports.events().reset();
        self.settings.reset_features(&self.config);
        self.lifecycle.keep_alive().stop();
        self.set.reset();
        self.lifecycle.begin_reset();
        self.check_health(ports);
        self.pause.forget_all();
        self.pause.tell_again();
        self.tell_of_room(ports);
        self.check_reset();
    }

    /// Ends a reset when no DMA is in flight any more. The host may already have set EN again.
    #[inline]
    pub(crate) fn check_reset(&mut self) {
        if self.lifecycle.is_resetting() && self.dma.is_idle() && self.lifecycle.end_reset() {
            self.enable();
        }
    }

    /// Takes a command away from its deleted queue. It ends without a completion entry, now or when its
    /// current stage is over.
    pub(crate) fn disown(&mut self, ports: &ControllerPorts, id: u16) {
        if let Some(permit) = self.slots.disown(id) {
            self.drop_command(ports, permit);
        }
    }

    /// The identifier of the FTL's shutdown command. It has no slot, only a number.
    pub(crate) fn shutdown_id(&self) -> u16 {
        self.config.command_slots() - 1
    }

    fn begin_shutdown(&mut self, ports: &mut ControllerPorts) {
        let begins = self.lifecycle.begin_shutdown();
        // The host doesn't wait for parked writes (NVMe 1.4 §7.6.2), and nothing may be written after a
        // shutdown.
        self.pause.forget_all();
        if begins {
            self.push_shutdown(ports);
        }
    }

    fn push_shutdown(&mut self, ports: &mut ControllerPorts) {
        let id = CommandId(self.shutdown_id());
        ports.commands.push_command(HostCommand {
            id,
            op: HostOp::Shutdown,
            offset: 0,
            length: 0,
            fua: false,
        });
    }

    pub(crate) fn shutdown_completed(&mut self, ports: &mut ControllerPorts, status: HostStatus) {
        match self.lifecycle.end_shutdown(status == HostStatus::Success) {
            ShutdownEnd::Again => self.push_shutdown(ports),
            ShutdownEnd::Clean => self.reports.health_mut().set_shut_down(true),
            ShutdownEnd::Overtaken | ShutdownEnd::Unclean => {}
        }
    }
}
