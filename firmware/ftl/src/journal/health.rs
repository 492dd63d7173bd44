//! The state of the drive and of its media.

use crate::blocks::pool::BlockPool;
use crate::journal::due::Due;
use crate::journal::log_state::LogState;
use crate::journal::record::RootRecord;
use crate::terms::block::BlockIndex;
use crate::terms::oob::COUNT_SPENT;
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_events::Event;
use aster_parties::{Boot, DriveState, MediaState};
use aster_units::LunIndex;
use core::cell::RefCell;

type MediaWatcher = Box<dyn Fn(MediaState)>;

/// The drive's state, and who is told about it.
pub(crate) struct Health {
    runtime: Rc<Runtime>,
    blocks: Rc<BlockPool>,
    log: Rc<LogState>,
    root: Rc<RootRecord>,
    due: Rc<Due>,
    media_watcher: RefCell<Option<MediaWatcher>>,
}

impl Health {
    pub(crate) fn new(
        runtime: &Rc<Runtime>,
        blocks: &Rc<BlockPool>,
        log: &Rc<LogState>,
        root: &Rc<RootRecord>,
        due: &Rc<Due>,
    ) -> Self {
        Health {
            runtime: Rc::clone(runtime),
            blocks: Rc::clone(blocks),
            log: Rc::clone(log),
            root: Rc::clone(root),
            due: Rc::clone(due),
            media_watcher: RefCell::new(None),
        }
    }
    /// Calls `watcher` whenever [`MediaState`] changes.
    pub(crate) fn watch_media(&self, watcher: MediaWatcher) {
        *self.media_watcher.borrow_mut() = Some(watcher);
    }
    pub(crate) fn set_state(&self, state: DriveState) {
        self.runtime.count(|s| s.state = state);
        self.blocks.pacing.look_all();
        if state == DriveState::ReadOnly {
            self.blocks.table().evacuation.stop();
            // The read-only state must survive a loss of power, and so must the list of bad blocks. A drive
            // that was read-only before has recorded it already.
            if !self.log.was_read_only() {
                self.due.ask_for_log();
            }
        }
        self.media_changed();
    }
    /// Tells the watcher the state of the media.
    pub(crate) fn media_changed(&self) {
        if let Some(watcher) = self.media_watcher.borrow().as_ref() {
            let needed = self.runtime.config.areas().blocks_needed_per_pool() as u32;
            let blocks = self.blocks.table();
            // In percent of the spare blocks that the factory left. For a pool without any this is 100 until
            // one more block goes bad.
            let spare_percent = |pool| match blocks.states.factory_good_in(pool).saturating_sub(needed) {
                0 => 100 * u32::from(blocks.states.good_in(pool) == blocks.states.factory_good_in(pool)),
                spare => blocks.states.good_in(pool).saturating_sub(needed) * 100 / spare,
            };
            let available_spare = blocks.layout.all_pools().map(spare_percent).min().unwrap_or(0);
            watcher(MediaState {
                available_spare: available_spare.min(100) as u8,
                read_only: self.runtime.state() == DriveState::ReadOnly,
                rebuilt: self.runtime.stats().boot == Boot::Rebuilt,
                erases: self.runtime.stats().flash_erases.total(),
            });
        }
    }
    /// Takes a bad block out of use. If too few good blocks are left, the drive becomes read-only. Blocks
    /// that are about to go bad don't count as good, as at power-on and in SMART.
    pub(crate) fn retire(&self, lun: LunIndex, block: BlockIndex) {
        let (addr, good) = {
            let blocks = self.blocks.table();
            blocks.retire(block);
            (blocks.layout.block_addr(block), blocks.states.good_in(blocks.layout.pool_of(lun)))
        };
        self.runtime.count(|s| s.grown_bad_blocks += 1);
        self.runtime.emit(|| Event::BlockRetired {
            lun: self.runtime.config.planes().lun_and_plane(lun).0.0,
            block: self.runtime.config.planes().block_in_lun(lun, addr).0,
        });
        if u64::from(good) < self.runtime.config.areas().blocks_needed_per_pool()
            && self.runtime.state() == DriveState::Ready
        {
            self.set_state(DriveState::ReadOnly);
        } else {
            self.media_changed();
        }
    }
    /// A drive that has used up its numbers takes no more writes. It needs no page that says so, since each
    /// power-on notices it.
    pub(crate) fn note_counters(&self) {
        self.log.note_read_only(self.counters_exhausted());
    }
    pub(crate) fn counters_exhausted(&self) -> bool {
        let counts = [self.blocks.sequence.last(), self.log.state.borrow().number, self.root.generation()];
        counts.iter().any(|&count| count > COUNT_SPENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::bench::config;
    use crate::tests::parts::JournalAlone;
    use alloc::boxed::Box;
    use aster_units::Content;
    use core::cell::RefCell;
    use std::rc::Rc;
    use std::vec::Vec;

    const LUN: LunIndex = LunIndex(1);

    /// A journal, and the states that its watcher is told.
    fn watched() -> (JournalAlone, Rc<RefCell<Vec<MediaState>>>) {
        let parts = JournalAlone::new(config(Content::Fingerprint), 8);
        let told: Rc<RefCell<Vec<MediaState>>> = Rc::default();
        let watcher = Rc::clone(&told);
        parts.journal.health.watch_media(Box::new(move |state| watcher.borrow_mut().push(state)));
        (parts, told)
    }

    #[test]
    fn spare_blocks_are_those_of_the_lun_that_has_fewest() {
        let (parts, told) = watched();
        let (all, needed) = (
            parts.journal.runtime().geometry.blocks_per_lun,
            parts.journal.runtime().config.areas().blocks_needed_per_lun() as u32,
        );
        let spare = all - needed;
        let blocks = parts.journal.blocks().table();
        for bad in 0..=spare {
            let block = blocks.take_for_map(LUN, false).expect("a free block");
            blocks.release_from_map(block);
            parts.journal.health.retire(LUN, block);
            let state = *told.borrow().last().expect("the watcher was told");
            let left = spare.saturating_sub(bad + 1);
            assert_eq!(u32::from(state.available_spare), left * 100 / spare);
            // With one bad block more than there were spare ones, the LUN can't take the host's data any
            // more.
            assert_eq!(state.read_only, bad == spare, "{bad} of {spare}");
        }
        assert_eq!(parts.journal.runtime().stats().grown_bad_blocks, u64::from(spare + 1));
        assert_eq!(parts.journal.runtime().state(), DriveState::ReadOnly);
        assert!(parts.journal.log.state().page.asked, "a loss of power must not make the drive forget it");
    }

    #[test]
    fn a_drive_that_was_read_only_before_has_said_so() {
        let (parts, told) = watched();
        parts.journal.log.note_read_only(true);
        assert!(parts.journal.log.takes_no_writes());
        parts.journal.health.set_state(DriveState::ReadOnly);
        assert!(!parts.journal.log.state().page.asked && told.borrow().len() == 1);
    }

    #[test]
    fn a_drive_that_has_counted_to_its_end_takes_no_more_writes() {
        for (sequence, ends) in [(COUNT_SPENT, false), (COUNT_SPENT + 1, true)] {
            let (parts, _) = watched();
            parts.journal.blocks().sequence.set(sequence);
            parts.journal.health.note_counters();
            assert_eq!(parts.journal.log.takes_no_writes(), ends);
        }
    }
}
