//! Power-on: how the drive learns its state.
//!
//! There are four ways, from the cheapest to the most expensive. Boot tries them in this order until one
//! leads to the drive's state.
//!
//! | way | tried if | the drive |
//! |---|---|---|
//! | `Shutdown` | the root record in NVRAM says that the drive was shut down | loads that map |
//! | `LogByHint` | the root record says where the log is | recovers (see `recover`) |
//! | `Log` | always | finds the log by its slots and recovers |
//! | `EveryPage` | always | reads all pages (see `rebuild`); if none has data, stores an empty map |

use crate::checkpoint::error::BootError;
use crate::journal::root::{LogPlace, Root, Stored};
use crate::mapping::Mapping;
use crate::prefill::fill::Filling;
use crate::recovery::log_read::NoRecovery;
use crate::recovery::state::Recovery;
use crate::terms::oob::OobRecord;
use alloc::rc::Rc;
use aster_parties::{Boot, DriveState};
use aster_units::{BufferId, Instant, LunIndex};

/// Spawns the task that boots the drive.
pub(crate) fn start<M: Mapping>(recovery: &Rc<Recovery<M>>) {
    let booting = Rc::clone(recovery);
    recovery.runtime.core.spawn(async move {
        let result = booting.boot().await;
        booting.finish_boot(result);
    });
}

/// A way to the drive's state.
enum Way<'a> {
    /// Load the map that the root record names.
    Shutdown(&'a Root),
    /// Recover from the log at this place. If there is none, another way may still find it.
    LogByHint(&'a LogPlace),
    /// Recover from the log, found by the first line of each of its slots.
    Log,
    /// Read every page of the drive.
    EveryPage,
}

/// Why a way didn't lead to the drive's state.
enum NoBoot {
    /// This way doesn't lead there, but a later one may.
    ThisWay,
    /// No way leads there.
    AnyWay(BootError),
}

impl<M: Mapping> Recovery<M> {
    /// Tries the ways to the drive's state in their order until one leads there.
    async fn boot(&self) -> Result<Boot, BootError> {
        self.checkpoint.find_copies().await;
        let root = match self.journal.root.load() {
            Stored::Root(root) => Some(root),
            Stored::Empty | Stored::Damaged => None,
        };
        let shape = self.journal.own.shape();
        let ours = root.as_ref().filter(|root| root.shape == shape);
        if let Some(root) = ours {
            self.journal.log.set_was_read_only(root.log.read_only || root.log.ended);
        }
        let hint = ours.filter(|root| !root.clean && !root.log.ended);
        let ways = [
            root.as_ref().filter(|root| root.clean).map(Way::Shutdown),
            hint.map(|root| Way::LogByHint(&root.log)),
            Some(Way::Log),
            Some(Way::EveryPage),
        ];
        for way in ways.into_iter().flatten() {
            self.forget_everything();
            match self.boot_by(way).await {
                Err(NoBoot::ThisWay) => {}
                Err(NoBoot::AnyWay(error)) => return Err(error),
                Ok(_) if self.prefill.borrow().is_some() => {
                    return Err(BootError::NotFilled { why: "it has been used before" });
                }
                Ok(boot) => return Ok(boot),
            }
        }
        unreachable!("looking at every page finds a state, or says why no way leads to one")
    }
    async fn boot_by(&self, way: Way<'_>) -> Result<Boot, NoBoot> {
        match way {
            Way::Shutdown(root) => match self.load_clean(root).await {
                Ok(()) => Ok(Boot::Clean),
                Err(BootError::MapUnreadable { .. }) => Err(NoBoot::ThisWay),
                Err(error) => Err(NoBoot::AnyWay(error)),
            },
            Way::LogByHint(hint) => self.boot_by_log(Some(hint)).await,
            Way::Log => self.boot_by_log(None).await,
            Way::EveryPage => self.boot_by_scan().await.map_err(NoBoot::AnyWay),
        }
    }
    async fn boot_by_log(&self, hint: Option<&LogPlace>) -> Result<Boot, NoBoot> {
        match self.recover(hint).await {
            Ok(()) => {}
            Err(NoRecovery::Other(error)) => return Err(NoBoot::AnyWay(error)),
            Err(NoRecovery::NoLog | NoRecovery::Unreadable) => return Err(NoBoot::ThisWay),
        }
        self.journal.root.mark_dirty();
        self.journal.health.note_counters();
        // A read-only drive writes no further log page, so its log needs no room.
        if self.journal.log.is_half_full() && !self.journal.log.was_read_only() {
            self.checkpoint.store_map(false).await;
        }
        Ok(Boot::Recovered)
    }
    async fn boot_by_scan(&self) -> Result<Boot, BootError> {
        let boot = self.scan().await?;
        self.journal.root.mark_dirty();
        self.journal.health.note_counters();
        if boot == Boot::Fresh {
            // Checked before the map is stored: with too few good blocks there may be no room for it.
            self.check_good_blocks(boot)?;
            self.fill_fresh().await?;
        }
        if self.checkpoint.store_map(true).await && boot == Boot::Fresh {
            self.journal.root.store_clean();
        }
        Ok(boot)
    }
    /// Fills a fresh drive, if it is to be filled.
    async fn fill_fresh(&self) -> Result<(), BootError> {
        let Some(mut prefill) = self.prefill.take() else { return Ok(()) };
        let filling = Filling {
            runtime: Rc::clone(&self.runtime),
            blocks: Rc::clone(&self.blocks),
            media: Rc::clone(&self.media),
        };
        let units = self.journal.own.host_units();
        for (unit, at) in filling.fill(&mut prefill, units, &self.filled).await? {
            let restored = self.mapping.restore(unit, at, true).await;
            restored.map_err(|_| BootError::NotFilled { why: "its map has no room" })?;
        }
        self.mapping.map().only_restored().await;
        self.filled.set(None);
        self.count_valid_units().await
    }
    /// Clears what a failed way has left behind, so that the next one starts afresh.
    fn forget_everything(&self) {
        self.mapping.forget_everything();
        self.blocks.clear();
        self.journal.log.forget();
        let padding = BufferId(self.runtime.buffers.padding());
        self.pages.put_record(padding, &OobRecord::padding());
    }
    /// Loads the state that a shutdown has stored.
    async fn load_clean(&self, root: &Root) -> Result<(), BootError> {
        if root.shape != self.journal.own.shape() {
            return Err(BootError::OtherDrive);
        }
        self.blocks.sequence.set(root.sequence);
        let table = self.checkpoint.load_map(&root.stored).await?;
        self.adopt_table(&table)?;
        self.count_valid_units().await?;
        self.journal.root.replace_stored_map(root.stored.clone());
        self.journal.log.resume(&root.log);
        Ok(())
    }
    fn finish_boot(&self, result: Result<Boot, BootError>) {
        let result = result.and_then(|boot| Ok((boot, self.check_good_blocks(boot)?)));
        for lun in (0..self.runtime.geometry.total_luns()).map(LunIndex) {
            self.blocks.table().map.set_aside(lun);
        }
        self.journal.log.end_boot();
        self.mapping.map().booted();
        let boot_nanos = self.runtime.core.now().since(Instant::ZERO).as_nanos();
        self.runtime.count(|s| (s.boot_nanos, s.boot_reads) = (boot_nanos, s.flash_reads.total()));
        match result {
            Ok((boot, state)) => {
                self.runtime.count(|s| s.boot = boot);
                self.journal.health.note_counters();
                let read_only = self.journal.log.has_ended() || self.journal.log.was_read_only();
                self.journal.health.set_state(if read_only { DriveState::ReadOnly } else { state });
                // Have the map stored again before it loses more pages than its parities can restore.
                if self.runtime.state() == DriveState::Ready && self.runtime.stats().map_pages_restored > 0 {
                    self.journal.due.renew_map();
                }
            }
            Err(error) => {
                *self.boot_error.borrow_mut() = Some(error);
                self.journal.health.set_state(DriveState::Failed);
            }
        }
        self.runtime.end_boot();
        self.blocks.queues.ask_flush();
    }
    /// Checks that each pool has the blocks that the capacity needs. A fresh drive without them fails to
    /// boot; one that has been written becomes read-only. Failing blocks don't count. A pool of several LUNs
    /// whose reserve was lost to one erase after the other has blocks enough, and none to copy to: it stays
    /// read-only.
    fn check_good_blocks(&self, boot: Boot) -> Result<DriveState, BootError> {
        let needed = self.runtime.config.areas().blocks_needed_per_pool();
        let blocks = self.blocks.table();
        for pool in blocks.layout.all_pools() {
            let good = blocks.states.good_in(pool);
            if u64::from(good) < needed {
                let luns = (blocks.layout.first_lun(pool), self.runtime.config.luns_per_pool());
                let error = BootError::TooFewBlocks { luns, good, needed };
                return if boot == Boot::Fresh { Err(error) } else { Ok(DriveState::ReadOnly) };
            }
            if !blocks.layout.has_one_lun() && !blocks.may_collect(pool) {
                return Ok(DriveState::ReadOnly);
            }
        }
        Ok(DriveState::Ready)
    }
}
