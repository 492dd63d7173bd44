//! Counters of the flash interface layer.

use aster_units::Duration;

/// What the layer has done so far. Arrays are by kind: reads, programs, erases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FilStats {
    /// Passes of the loop. Skipped ones count as if each had been run.
    pub passes: u64,
    /// Passes that were only counted and not run: nothing would have happened in them.
    pub idle_passes: u64,
    /// Transactions that have ended.
    pub transactions: [u64; 3],
    /// Those of them that went along with another one in a multi-plane operation; `None` if there are no such
    /// operations.
    pub joined: Option<u64>,
    /// Reads that were repeated because they couldn't be corrected (C39).
    pub repeated: u64,
    /// Reads that were correct after all.
    pub recovered: u64,
    /// Reads that were repeated as often as allowed and stayed uncorrectable.
    pub lost: u64,
    /// Statuses that were asked for.
    pub statuses: u64,
    /// Those of them that said busy.
    pub busy: u64,
    /// Time of execution and of transfer, summed over all transactions, from the command to when the layer
    /// has seen the end.
    pub phase_time: [[Duration; 3]; 2],
}

impl FilStats {
    /// Each counter by its name in reports; times in nanoseconds.
    pub fn each(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("fil_passes", self.passes);
        each("fil_idle_passes", self.idle_passes);
        each("fil_statuses", self.statuses);
        each("fil_statuses_busy", self.busy);
        const TRANSACTIONS: [&str; 3] = ["fil_reads", "fil_programs", "fil_erases"];
        TRANSACTIONS.into_iter().zip(self.transactions).for_each(|(name, count)| each(name, count));
        each("read_retries", self.repeated);
        each("reads_recovered", self.recovered);
        each("reads_lost", self.lost);
        if let Some(joined) = self.joined {
            each("fil_joined", joined);
        }
        const TIMES: [[&str; 3]; 2] = [
            ["fil_read_execution_ns", "fil_program_execution_ns", "fil_erase_execution_ns"],
            ["fil_read_transfer_ns", "fil_program_transfer_ns", "fil_erase_transfer_ns"],
        ];
        for (names, times) in TIMES.into_iter().zip(self.phase_time) {
            names.into_iter().zip(times).for_each(|(name, time)| each(name, time.as_nanos()));
        }
    }
}
