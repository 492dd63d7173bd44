//! Recovery from a sudden loss of power, from what is on NAND.
//!
//! `Recovery::recover` is the list of these steps, in this order:
//!
//! | step | does | reads |
//! |---|---|---|
//! | `read_log` | reads the log back to the page that names the stored map | log slots |
//! | `load_map` | loads the stored map and its block table | the stored map |
//! | `replay_log` | applies the log's entries to both | |
//! | `probe_unlogged` | finds the pages that no log page tells of | blocks that the last log page lists |
//! | `take_over_log` | continues the log and sequence numbers after what was found | |
//! | `choose_versions` | chooses the pages found that are newer than the map's | the map's, in doubt |
//! | `map_versions` | maps these, and journals it | |
//! | `set_states` | gives each block a state that agrees with what was found | |
//! | `adopt_blocks` | hands the block table to the allocator, counts valid pages | |
//! | `mark_unverified` | marks free blocks that may not be erased | |
//! | `evacuate_torn` | has blocks with torn pages collected | |
//!
//! Without a hint from NVRAM, `read_log` looks for the log in the first line of each slot. Recovery writes
//! nothing, so another loss of power may interrupt it and it starts over. Of several versions of a logical
//! page, the one with the highest sequence number counts. A page whose program was cut off is not a version.
//! Blocks that were being written are closed, since programming them further would be risky. Those with a
//! torn page are collected.

use crate::journal::root::LogPlace;
use crate::mapping::Mapping;
use crate::recovery::log_read::{LogRead, NoRecovery};
use crate::recovery::state::Recovery;
use crate::terms::block::BlockEntry;
use alloc::vec::Vec;

impl<M: Mapping> Recovery<M> {
    /// Recovers from the log and the stored map. `hint` is where NVRAM says that the log is.
    pub(super) async fn recover(&self, hint: Option<&LogPlace>) -> Result<(), NoRecovery> {
        let log = self.read_log(hint).await?;
        let mut table = self.load_map(&log).await?;
        let trims = self.replay_log(&log, &mut table).await?;
        let probe = self.probe_unlogged(&log).await;
        self.take_over_log(&log, &probe);
        let newer = self.choose_versions(&log, &probe, &trims).await?;
        self.map_versions(&newer).await?;
        self.set_states(&log, &probe, &mut table);
        self.adopt_blocks(&log, &table).await?;
        self.mark_unverified(&log);
        self.evacuate_torn(&probe);
        Ok(())
    }
    async fn load_map(&self, log: &LogRead) -> Result<Vec<BlockEntry>, NoRecovery> {
        self.checkpoint.load_map(log.stored()).await.map_err(|_| NoRecovery::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    /// The table at the top is what a reader goes by.
    #[test]
    fn the_table_of_steps_names_the_steps_in_their_order() {
        let (head, code) = include_str!("recover.rs").split_once("\nuse ").unwrap();
        let listed: Vec<_> =
            head.lines().filter_map(|line| line.strip_prefix("//! | `")?.split('`').next()).collect();
        let (_, body) = code.split_once("async fn recover(").unwrap();
        let (body, _) = body.split_once("Ok(())").unwrap();
        let called: Vec<_> = body.split("self.").skip(1).filter_map(|call| call.split('(').next()).collect();
        assert_eq!(listed, called);
        assert_eq!(listed.len(), 11);
    }
}
