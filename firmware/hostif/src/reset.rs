//! Enabling, resetting and shutting down the controller (NVMe 1.4 §7.3, §7.6), and the reaction to a fatal
//! error.
//!
//! A reset raises the epoch and takes all commands away from the host. CSTS.RDY falls once no DMA is in
//! flight. Commands that the FTL has run on there; their slots become free when the FTL is done.

use crate::controller::Controller;
use crate::features::Features;
use crate::phase::{ControllerPhase, Shutdown};
use crate::ports::ControllerPorts;
use crate::queues::{AdminQueue, RingAt};
use aster_ports::host::{CommandId, HostCommand, HostOp, HostStatus};
use aster_wire::nvme::registers::{
    AdminQueueBase, Arbitration, Cc, CommandSet, Csts, ShutdownNotification, ShutdownStatus,
};
use aster_wire::nvme::sqe::SQE_LOG2;
use aster_wire::nvme::{cqe::CQE_LOG2, prp::PageSize};

impl Controller {
    pub(crate) fn write_configuration(&mut self, ports: &mut ControllerPorts, written: Cc) {
        let old = self.registers.cc;
        // While enabled only these fields may change (NVMe 1.4 §3.1.5).
        let new = if old.en() && written.en() {
            old.with_shn(written.shn()).with_iosqes(written.iosqes()).with_iocqes(written.iocqes())
        } else {
            written
        };
        self.registers.cc = new;
        match (old.en(), new.en()) {
            (false, true) if self.phase == ControllerPhase::Disabled => self.enable(),
            (true, false) => self.reset(ports),
            _ => {}
        }
        let asked =
            matches!(new.shutdown(), Some(ShutdownNotification::Normal | ShutdownNotification::Abrupt));
        if asked && new.shn() != old.shn() {
            self.begin_shutdown(ports);
        }
    }

    /// CC.EN has risen: checks the host's settings and enables the controller (NVMe 1.4 §7.6.1).
    fn enable(&mut self) {
        let registers = &mut self.registers;
        let (cc, aqa) = (registers.cc, registers.aqa);
        // This also clears the status of a shutdown that was requested while the controller was disabled.
        registers.csts = Csts(0);
        let arbitration = match cc.arbitration() {
            Some(Arbitration::RoundRobin) => Some(false),
            Some(Arbitration::WeightedRoundRobin) if registers.weighted_round_robin_offered() => Some(true),
            _ => None,
        };
        let queue_is_good = |base: AdminQueueBase, entries: u16| entries >= 2 && base.address() != 0;
        let good = cc.command_set() == Some(CommandSet::Nvm)
            && u64::from(cc.page_bytes()) == PageSize::FOUR_KIB.bytes()
            && queue_is_good(registers.asq, aqa.submission_entries())
            && queue_is_good(registers.acq, aqa.completion_entries());
        let (Some(weighted), true) = (arbitration, good) else { return self.fail() };
        self.queues.enable(AdminQueue {
            submission: RingAt { address: registers.asq.address(), entries: aqa.submission_entries().into() },
            completion: RingAt { address: registers.acq.address(), entries: aqa.completion_entries().into() },
            weighted,
        });
        self.health.set_shut_down(false);
        registers.csts = registers.csts.with_rdy(true);
        self.phase = ControllerPhase::Ready;
    }

    /// Whether the submission and completion entry sizes are the ones that the NVM command set defines.
    pub(crate) fn entry_sizes(&self) -> (bool, bool) {
        let cc = self.registers.cc;
        (cc.iosqes() == SQE_LOG2, cc.iocqes() == CQE_LOG2)
    }

    /// Whether commands are fetched. They are not after a fatal error or once the host has announced a
    /// shutdown.
    #[inline]
    pub(crate) fn takes_commands(&self) -> bool {
        self.phase == ControllerPhase::Ready
            && !self.registers.csts.cfs()
            && self.registers.csts.shst() == ShutdownStatus::Normal.raw()
    }

    /// Reports a fatal error: CSTS.CFS stays set until the next reset (NVMe 1.4 §9.5).
    pub(crate) fn fail(&mut self) {
        self.registers.csts = self.registers.csts.with_cfs(true);
    }

    /// PCIe function level reset: a controller reset that also clears the admin queue registers (NVMe 1.4
    /// §7.3.1).
    pub(crate) fn reset_function(&mut self, ports: &mut ControllerPorts) {
        self.registers.cc = Cc(0);
        self.registers.reset_admin_queue();
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
        self.events.reset();
        self.features = Features::new(&self.config);
        self.set.reset();
        self.registers.csts = Csts(0).with_rdy(self.registers.csts.rdy());
        self.phase = ControllerPhase::Resetting;
        self.check_health(ports);
        self.pause.forget_all();
        self.pause.tell_again();
        self.tell_of_room(ports);
        if self.in_flight == 0 {
            self.finish_reset();
        }
    }

    /// Lets RDY fall, since no DMA is in flight any more. The host may already have set EN again.
    pub(crate) fn finish_reset(&mut self) {
        self.phase = ControllerPhase::Disabled;
        self.registers.csts = self.registers.csts.with_rdy(false);
        if self.registers.cc.en() {
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
        self.registers.csts = self.registers.csts.with_shutdown(ShutdownStatus::Occurring);
        // The host doesn't wait for parked writes (NVMe 1.4 §7.6.2), and nothing may be written after a
        // shutdown.
        self.pause.forget_all();
        match self.shutdown {
            Shutdown::Idle => self.push_shutdown(ports),
            Shutdown::Running | Shutdown::Again => self.shutdown = Shutdown::Again,
        }
    }

    fn push_shutdown(&mut self, ports: &mut ControllerPorts) {
        self.shutdown = Shutdown::Running;
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
        if core::mem::replace(&mut self.shutdown, Shutdown::Idle) == Shutdown::Again {
            return self.push_shutdown(ports);
        }
        if self.registers.csts.shutdown() != Some(ShutdownStatus::Occurring) {
            return; // a reset came between
        }
        // A shutdown that could not write its state is complete, but not clean.
        if status == HostStatus::Success {
            self.health.set_shut_down(true)
        } else {
            self.fail()
        }
        self.registers.csts = self.registers.csts.with_shutdown(ShutdownStatus::Complete);
    }
}
