//! The register file (NVMe 1.4 §3.1).

use crate::bar::DOORBELL_STRIDE;
use crate::config::HostIfConfig;
use crate::queues::RingAt;
use aster_wire::nvme::VERSION_1_4;
use aster_wire::nvme::registers::{AdminQueueBase, Aqa, Cap, Cc, Csts, Register, ShutdownStatus};

/// CAP.TO in units of 500 ms. RDY follows EN as soon as the link has answered everything in flight.
const READY_TIMEOUT_500MS: u8 = 20;

/// The registers' values.
#[derive(Debug)]
pub(crate) struct Registers {
    cap: Cap,
    cc: Cc,
    csts: Csts,
    aqa: Aqa,
    asq: AdminQueueBase,
    acq: AdminQueueBase,
}

fn replace_half(value: u64, from: u8, half: u32) -> u64 {
    let shift = u32::from(from) * 8;
    value & !(0xffff_ffff << shift) | u64::from(half) << shift
}

impl Registers {
    pub fn new(config: &HostIfConfig) -> Self {
        let cap = Cap(0)
            .with_queue_entries_max(config.queue_entries)
            .with_cqr(true)
            .with_ams_weighted_round_robin(config.weighted_round_robin)
            .with_timeout_500ms(READY_TIMEOUT_500MS)
            .with_dstrd(DOORBELL_STRIDE)
            .with_css_nvm(true);
        Registers {
            cap,
            cc: Cc(0),
            csts: Csts(0),
            aqa: Aqa(0),
            asq: AdminQueueBase(0),
            acq: AdminQueueBase(0),
        }
    }
    /// A register's value. Optional registers whose capability CAP doesn't show are reserved.
    pub fn read(&self, register: Register) -> u64 {
        match register {
            Register::Capabilities => self.cap.0,
            Register::Version => VERSION_1_4.0.into(),
            Register::Configuration => self.cc.0.into(),
            Register::Status => self.csts.0.into(),
            Register::AdminQueueAttributes => self.aqa.0.into(),
            Register::AdminSubmissionQueue => self.asq.address(),
            Register::AdminCompletionQueue => self.acq.address(),
            _ => 0,
        }
    }
    /// Writes half of a register of the admin queue.
    pub fn write_admin_queue(&mut self, register: Register, from: u8, half: u32) {
        match register {
            Register::AdminQueueAttributes => self.aqa = Aqa(half),
            Register::AdminSubmissionQueue => {
                self.asq = AdminQueueBase(replace_half(self.asq.0, from, half));
            }
            Register::AdminCompletionQueue => {
                self.acq = AdminQueueBase(replace_half(self.acq.0, from, half));
            }
            _ => {}
        }
    }
    pub fn weighted_round_robin_offered(&self) -> bool {
        self.cap.ams_weighted_round_robin()
    }
    /// Submission and completion queue of the admin queue.
    pub fn admin_rings(&self) -> (RingAt, RingAt) {
        let submission =
            RingAt { address: self.asq.address(), entries: self.aqa.submission_entries().into() };
        let completion =
            RingAt { address: self.acq.address(), entries: self.aqa.completion_entries().into() };
        (submission, completion)
    }
    /// Resets the registers that a function reset clears and a controller reset keeps (NVMe 1.4 §7.3.2).
    pub fn reset_admin_queue(&mut self) {
        (self.aqa, self.asq, self.acq) = (Aqa(0), AdminQueueBase(0), AdminQueueBase(0));
    }
    #[inline]
    pub fn cc(&self) -> Cc {
        self.cc
    }
    pub fn set_cc(&mut self, cc: Cc) {
        self.cc = cc;
    }
    #[inline]
    pub fn csts(&self) -> Csts {
        self.csts
    }
    /// Clears CSTS but for RDY.
    pub fn clear_status(&mut self, ready: bool) {
        self.csts = Csts(0).with_rdy(ready);
    }
    pub fn set_ready(&mut self, ready: bool) {
        self.csts = self.csts.with_rdy(ready);
    }
    pub fn set_fatal(&mut self) {
        self.csts = self.csts.with_cfs(true);
    }
    pub fn set_shutdown(&mut self, status: ShutdownStatus) {
        self.csts = self.csts.with_shutdown(status);
    }
}
