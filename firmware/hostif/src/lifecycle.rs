//! Where the controller is between reset and shutdown (NVMe 1.4 §7.3, §7.6). CC asks, CSTS answers.

use crate::config::HostIfConfig;
use crate::keep_alive::KeepAlive;
use crate::queues::{AdminQueue, RingAt};
use crate::registers::Registers;
use aster_wire::nvme::registers::{
    Arbitration, Cc, CommandSet, Register, ShutdownNotification, ShutdownStatus,
};
use aster_wire::nvme::sqe::SQE_LOG2;
use aster_wire::nvme::{cqe::CQE_LOG2, prp::PageSize};

/// Where the controller is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// CSTS.RDY is 0.
    Disabled,
    /// CSTS.RDY is 1.
    Ready,
    /// CC.EN has fallen, but CSTS.RDY is still 1 because DMA is in flight.
    Resetting,
}

/// The shutdown that CC.SHN asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shutdown {
    Idle,
    /// The FTL is shutting down.
    Running,
    /// The FTL is still doing a shutdown that was requested before a reset. Another one must follow.
    Again,
}

/// What a write of CC asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub enable: bool,
    pub reset: bool,
    pub shutdown: bool,
}

/// What follows from the end of a shutdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShutdownEnd {
    /// The host has asked again: another one begins.
    Again,
    /// A reset came between.
    Overtaken,
    /// The drive is shut down.
    Clean,
    /// The drive could not write its state. That is reported as a fatal error.
    Unclean,
}

/// The registers and the state behind them.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    registers: Registers,
    phase: Phase,
    shutdown: Shutdown,
    keep_alive: KeepAlive,
}

impl Lifecycle {
    /// A controller after power-on.
    pub fn new(config: &HostIfConfig) -> Self {
        Lifecycle {
            registers: Registers::new(config),
            phase: Phase::Disabled,
            shutdown: Shutdown::Idle,
            keep_alive: KeepAlive::default(),
        }
    }
    /// The timer by which a silent host is given up.
    pub fn keep_alive(&mut self) -> &mut KeepAlive {
        &mut self.keep_alive
    }
    /// A register's value. Those that don't exist are zero.
    pub fn read(&self, register: Register) -> u64 {
        self.registers.read(register)
    }
    /// The host writes half of a register of the admin queue, which is fixed while the controller is enabled
    /// (NVMe 1.4 §3.1.8).
    pub fn write_admin_queue(&mut self, register: Register, from: u8, half: u32) {
        if !self.registers.cc().en() {
            self.registers.write_admin_queue(register, from, half);
        }
    }
    /// True between CSTS.RDY rising and falling.
    pub fn is_ready(&self) -> bool {
        self.registers.csts().rdy()
    }
    /// Whether doorbells have an effect.
    #[inline]
    pub fn takes_doorbells(&self) -> bool {
        self.phase == Phase::Ready
    }
    /// Whether commands are fetched. They are not after a fatal error or once the host has announced a
    /// shutdown.
    #[inline]
    pub fn takes_commands(&self) -> bool {
        self.phase == Phase::Ready && !self.registers.csts().cfs() && !self.has_shutdown()
    }
    /// Whether the host has announced a shutdown.
    #[inline]
    pub fn has_shutdown(&self) -> bool {
        self.registers.csts().shst() != ShutdownStatus::Normal.raw()
    }
    #[inline]
    pub fn is_resetting(&self) -> bool {
        self.phase == Phase::Resetting
    }
    /// Whether the submission and completion entry sizes are the ones that the NVM command set defines.
    pub fn entry_sizes(&self) -> (bool, bool) {
        let cc = self.registers.cc();
        (cc.iosqes() == SQE_LOG2, cc.iocqes() == CQE_LOG2)
    }

    /// The host writes CC.
    pub fn configure(&mut self, written: Cc) -> Asked {
        let old = self.registers.cc();
        // While enabled only these fields may change (NVMe 1.4 §3.1.5).
        let new = if old.en() && written.en() {
            old.with_shn(written.shn()).with_iosqes(written.iosqes()).with_iocqes(written.iocqes())
        } else {
            written
        };
        self.registers.set_cc(new);
        let announced =
            matches!(new.shutdown(), Some(ShutdownNotification::Normal | ShutdownNotification::Abrupt));
        Asked {
            enable: !old.en() && new.en() && self.phase == Phase::Disabled,
            reset: old.en() && !new.en(),
            shutdown: announced && new.shn() != old.shn(),
        }
    }
    /// A function level reset clears CC and the admin queue registers.
    pub fn clear_configuration(&mut self) {
        self.registers.set_cc(Cc(0));
        self.registers.reset_admin_queue();
    }
    /// CC.EN has risen: checks the host's settings and becomes ready (NVMe 1.4 §7.6.1). With bad settings the
    /// controller fails and there is no admin queue.
    pub fn enable(&mut self) -> Option<AdminQueue> {
        assert!(self.phase == Phase::Disabled, "a controller is enabled once");
        assert!(self.registers.cc().en() && !self.is_ready(), "CC.EN has risen and CSTS.RDY has fallen");
        // This also clears the status of a shutdown that was requested while the controller was disabled.
        self.registers.clear_status(false);
        let admin = self.admin_queue();
        match admin {
            Some(_) => {
                self.registers.set_ready(true);
                self.phase = Phase::Ready;
            }
            None => self.fail(),
        }
        admin
    }
    fn admin_queue(&self) -> Option<AdminQueue> {
        let cc = self.registers.cc();
        let weighted = match cc.arbitration() {
            Some(Arbitration::RoundRobin) => false,
            Some(Arbitration::WeightedRoundRobin) if self.registers.weighted_round_robin_offered() => true,
            _ => return None,
        };
        let (submission, completion) = self.registers.admin_rings();
        let is_good = |at: RingAt| at.entries >= 2 && at.address != 0;
        let good = cc.command_set() == Some(CommandSet::Nvm)
            && u64::from(cc.page_bytes()) == PageSize::FOUR_KIB.bytes()
            && is_good(submission)
            && is_good(completion);
        good.then_some(AdminQueue { submission, completion, weighted })
    }
    /// Reports a fatal error: CSTS.CFS stays set until the next reset (NVMe 1.4 §9.5).
    pub fn fail(&mut self) {
        self.registers.set_fatal();
    }

    /// A reset begins: of the status only RDY is left.
    pub fn begin_reset(&mut self) {
        assert!(!self.registers.cc().en(), "a reset begins when CC.EN falls");
        self.registers.clear_status(self.is_ready());
        self.phase = Phase::Resetting;
    }
    /// Lets RDY fall, since no DMA is in flight any more. Returns whether the host has set EN again already.
    pub fn end_reset(&mut self) -> bool {
        assert!(self.phase == Phase::Resetting, "a reset ends once");
        self.phase = Phase::Disabled;
        self.registers.set_ready(false);
        self.registers.cc().en()
    }

    /// The host has announced a shutdown. Returns whether the FTL must be told now.
    pub fn begin_shutdown(&mut self) -> bool {
        self.registers.set_shutdown(ShutdownStatus::Occurring);
        debug_assert!(!self.takes_commands(), "no command is fetched after the announcement");
        let begins = self.shutdown == Shutdown::Idle;
        self.shutdown = if begins { Shutdown::Running } else { Shutdown::Again };
        begins
    }
    /// The FTL has ended a shutdown.
    pub fn end_shutdown(&mut self, is_clean: bool) -> ShutdownEnd {
        debug_assert!(self.shutdown != Shutdown::Idle, "the FTL was told to shut down");
        if self.shutdown == Shutdown::Again {
            self.shutdown = Shutdown::Running;
            return ShutdownEnd::Again;
        }
        self.shutdown = Shutdown::Idle;
        if self.registers.csts().shutdown() != Some(ShutdownStatus::Occurring) {
            return ShutdownEnd::Overtaken;
        }
        self.registers.set_shutdown(ShutdownStatus::Complete);
        // A shutdown that could not write its state is complete, but not clean.
        if is_clean {
            return ShutdownEnd::Clean;
        }
        self.fail();
        ShutdownEnd::Unclean
    }
}
