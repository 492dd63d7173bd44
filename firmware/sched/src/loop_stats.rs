//! Counters of the loop and where its time went: the state information from which the paper's latencies are
//! computed (C66).

use crate::loop_operation::OperationKind;
use aster_units::Duration;

/// What the core does in a pass of the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopPart {
    /// Looking for a command, taking it, completing commands.
    Commands,
    /// The FTL: slices, buffer, translation, garbage collection.
    Ftl,
    /// The status checker.
    Status,
    /// The dependency checker, the state manager and the priority manager.
    Order,
    /// The issuer.
    Issue,
}

/// Parts.
pub const PARTS: usize = 5;

impl LoopPart {
    /// All parts, in the order of their index.
    pub const ALL: [LoopPart; PARTS] =
        [LoopPart::Commands, LoopPart::Ftl, LoopPart::Status, LoopPart::Order, LoopPart::Issue];
}

/// Counters of the big loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoopStats {
    /// All passes. Skipped idle passes count as if each had been run.
    pub passes: u64,
    /// Passes that were only counted and not run: the core had nothing to do.
    pub idle_passes: u64,
    /// How often the status checker checked a busy way or a transfer in flight, in passes that were run.
    pub looks: u64,
    /// Heads that the priority manager compared.
    pub candidates: u64,
    /// Commands answered.
    pub commands: u64,
    /// Lists of addresses that the NVMe manager had fetched.
    pub lists: u64,
    /// The time for which it waited for them, FTL and scheduler with it (C86).
    pub list_time: Duration,
    /// System latency, summed over all commands: from when the firmware has read a command out of the
    /// controller to when it has sensed that the last of its data has been moved, which completes the command
    /// (P13), or to its completion if it has no data.
    pub system: Duration,
    /// Time from issue to sensed completion, summed over all operations of a kind, by
    /// [`OperationKind::code`].
    pub operation_time: [Duration; OperationKind::ALL.len()],
    /// Operations by kind.
    pub operations: [u64; OperationKind::ALL.len()],
    /// The core's time by [`LoopPart`].
    pub parts: [Duration; PARTS],
    /// Operations that the dependency checker held back until earlier ones of their set had been completed
    /// (C33).
    pub held_back: u64,
    /// Reads repeated because they could not be corrected (C39).
    pub retries: u64,
    /// Reads that were correct after a repetition.
    pub recovered: u64,
    /// Failures reported to the FTL for its bad blocks.
    pub reports: u64,
}

impl LoopStats {
    /// The counts since `before`.
    #[must_use]
    pub fn since(&self, before: &LoopStats) -> LoopStats {
        let mut all = *self;
        all.passes -= before.passes;
        all.idle_passes -= before.idle_passes;
        all.looks -= before.looks;
        all.candidates -= before.candidates;
        all.commands -= before.commands;
        all.lists -= before.lists;
        all.list_time = all.list_time.saturating_sub(before.list_time);
        all.system = all.system.saturating_sub(before.system);
        all.held_back -= before.held_back;
        all.retries -= before.retries;
        all.recovered -= before.recovered;
        all.reports -= before.reports;
        for (time, earlier) in all.operation_time.iter_mut().zip(before.operation_time) {
            *time = time.saturating_sub(earlier);
        }
        for (count, earlier) in all.operations.iter_mut().zip(before.operations) {
            *count -= earlier;
        }
        for (time, earlier) in all.parts.iter_mut().zip(before.parts) {
            *time = time.saturating_sub(earlier);
        }
        all
    }
    /// Time of host DMA: the latency of the host interface controller (Table 7's HIC).
    pub fn host_interface(&self) -> Duration {
        self.sum(|kind| kind.is_host_dma())
    }
    /// Time of flash operations and flash DMA: the latency of the storage controller (SC). A status-check is
    /// part of the operation that it asks about.
    pub fn storage_controller(&self) -> Duration {
        self.sum(|kind| !kind.is_host_dma() && kind != OperationKind::StatusCheck)
    }
    fn sum(&self, of: impl Fn(OperationKind) -> bool) -> Duration {
        let kinds = OperationKind::ALL.iter().filter(|kind| of(**kind));
        kinds.fold(Duration::ZERO, |sum, kind| sum + self.operation_time[*kind as usize])
    }
    /// The share of the core's time that a part takes, from 0 to 1.
    pub fn share(&self, part: LoopPart) -> f64 {
        let all = self.parts.iter().fold(Duration::ZERO, |sum, time| sum + *time);
        if all.is_zero() { 0.0 } else { self.parts[part as usize].as_secs_f64() / all.as_secs_f64() }
    }
}
