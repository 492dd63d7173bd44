//! The flash scheduler of a profile.

use serde::{Deserialize, Serialize};

/// Which of the transactions that wait for a channel goes next (B18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionOrder {
    /// In the order of issue.
    #[default]
    Fifo,
    /// The LUNs take turns.
    RoundRobin,
    /// Transactions that start an array first, then status, data out, data in.
    ByClass,
    /// The fewest bytes first.
    ShortestFirst,
    /// The LUN that has moved the fewest bytes first.
    FairShare,
}

/// Flash scheduler.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulerProfile {
    /// The flash scheduler: `"fifo"` serves a LUN's requests in order of arrival, `"reads-first"` serves
    /// reads before programs and erases; `"cosmos"` is Cosmos+'s low-level scheduler, in one big loop with
    /// the FTL (C34–C44), for one LUN per way; `"pass-through"` hands requests on in order of arrival, as
    /// many at once as a channel has LUNs; `"fil"` is SoftSSD's flash interface layer, with seven queues per
    /// chip and two phases per transaction (S21–S23); or one of your own.
    #[serde(default = "default_policy")]
    pub policy: String,
    /// Operations that run at once behind one chip enable; 0 for as many as it has LUNs.
    #[serde(default)]
    pub package_operations_max: u32,
    /// Which of the transactions that wait for a channel goes next.
    #[serde(default)]
    pub transactions: TransactionOrder,
    /// Times that a read which can't be corrected is repeated (C39): by the big loop and by workers at the
    /// next level of `package.retry`, if the package has one, by the interface layer at the same level. A
    /// block is read at the level at which it was last correct, unless LUNs share its chip enable. Whatever
    /// had to be repeated is moved, like data with many wrong bits.
    #[serde(default = "default_retries")]
    pub read_retries: u8,
    /// Times that a worker suspends a program or an erase for reads of its LUN that wait; 0 for never. Needs
    /// `policy = "reads-first"`, channels in software and a package with `suspend`.
    #[serde(default)]
    pub suspends: u8,
    /// The big loop packs the programs of a TLC word line into one (C83). Needs a package with `one_shot`.
    #[serde(default)]
    pub one_shot: bool,
    /// Pause of the flash interface layer between two passes of its loop, nanoseconds (S23).
    #[serde(default = "default_pause")]
    pub poll_ns: u32,
    /// The flash interface layer joins what waits for the same page of different planes of a die into one
    /// multi-plane operation (S22). The package must have the command.
    #[serde(default)]
    pub multi_plane: bool,
}

impl Default for SchedulerProfile {
    fn default() -> Self {
        SchedulerProfile {
            policy: default_policy(),
            package_operations_max: 0,
            transactions: TransactionOrder::default(),
            read_retries: default_retries(),
            suspends: 0,
            one_shot: false,
            poll_ns: default_pause(),
            multi_plane: false,
        }
    }
}

fn default_policy() -> String {
    "fifo".to_owned()
}
fn default_pause() -> u32 {
    1_000
}
fn default_retries() -> u8 {
    aster_sched::cosmos::RETRY_LIMIT
}
