//! What the loop has done, and where its time went: the state information that the paper's latencies come
//! from (C66).

use super::operation::OperationKind;
use aster_units::Duration;

/// What the core does in a pass of the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Looking for a command, taking it, answering commands that are done.
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

impl Part {
    /// All parts, in the order of their index.
    pub const ALL: [Part; PARTS] = [Part::Commands, Part::Ftl, Part::Status, Part::Order, Part::Issue];
}

/// Counters of the big loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoopStats {
    /// Passes, those among them in which the core found nothing to do counted as if each had been run by
    /// itself.
    pub passes: u64,
    /// Those among them that were only counted: the core found nothing to do.
    pub idle_passes: u64,
    /// Times that the status checker looked at a way that works or a transfer in flight, in passes that were
    /// executed.
    pub looks: u64,
    /// Heads that the priority manager compared.
    pub candidates: u64,
    /// Commands answered.
    pub commands: u64,
    /// From the firmware's having read a command out of the controller to its having sensed that the last of
    /// its data had been moved, which completes the command (P13), or to its answer where no data are: the
    /// system latency, all commands together.
    pub system: Duration,
    /// From issue to completion sensed, all operations of a kind together, by [`OperationKind::code`].
    pub operation_time: [Duration; OperationKind::ALL.len()],
    /// Operations by kind.
    pub operations: [u64; OperationKind::ALL.len()],
    /// The core's time by [`Part`].
    pub parts: [Duration; PARTS],
    /// Operations that the dependency checker held until those before them in their set had been completed
    /// (C33).
    pub held_back: u64,
    /// Reads done again because they could not be corrected (C39).
    pub retries: u64,
    /// Reads that were correct once they had been done again.
    pub recovered: u64,
    /// Failures reported to the FTL, to update its bad blocks.
    pub reports: u64,
}

impl LoopStats {
    /// What was done since `before`.
    #[must_use]
    pub fn since(&self, before: &LoopStats) -> LoopStats {
        let mut all = *self;
        all.passes -= before.passes;
        all.idle_passes -= before.idle_passes;
        all.looks -= before.looks;
        all.candidates -= before.candidates;
        all.commands -= before.commands;
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
    pub fn share(&self, part: Part) -> f64 {
        let all = self.parts.iter().fold(Duration::ZERO, |sum, time| sum + *time);
        if all.is_zero() { 0.0 } else { self.parts[part as usize].as_secs_f64() / all.as_secs_f64() }
    }
}
