use crate::blocks::pool::BlockPool;
use crate::collector::activity::HostActivity;
use crate::collector::scan_place::ScanPlace;
use crate::journal::state::Journal;
use crate::mapping::Mapping;
use crate::mapping::mapped::Mapped;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::terms::bits::cells;
use crate::terms::block::{BlockIndex, PoolIndex};
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_exec::WaitCell;
use aster_units::LunIndex;
use core::cell::Cell;

/// A collector: its number, and the pool that it works for. There are as many as LUNs.
#[derive(Clone, Copy)]
pub(super) struct Post {
    pub(super) number: LunIndex,
    pub(super) pool: PoolIndex,
}

/// Moves data and erases blocks without being asked by the host.
pub(crate) struct Collector<M: Mapping> {
    pub(super) scan: ScanPlace,
    // Free blocks of a pool at which it collects; more than configured while room for the stored map is made.
    pub(super) gc_free_blocks: Cell<u32>,
    pub(super) gc_active: Cell<u32>,
    // Woken whenever a collector has finished a victim.
    pub(super) idle: Rc<WaitCell>,
    // Room is being made for a shutdown: the host programs nothing that would complete a word line.
    pub(super) collects_ahead: Cell<bool>,
    // The pools whose garbage collection may erase an empty block although nobody needs the room.
    pub(super) erases_ahead: Box<[Cell<bool>]>,
    // In a pool of several LUNs: the block out of which a collector completes its last page and
    // word line.
    pub(super) next_victims: Box<[Cell<Option<BlockIndex>>]>,
    // That block after the victim has been emptied: the collector's next victim, if it needs one.
    pub(super) begun: Box<[Cell<Option<BlockIndex>>]>,
    pub(super) host_activity: HostActivity,
    pub(super) mapping: Rc<Mapped<M>>,
    pub(super) journal: Rc<Journal>,
    pub(super) blocks: Rc<BlockPool>,
    pub(super) media: Rc<Media>,
    pub(super) pages: Rc<PageBuffers>,
    pub(super) runtime: Rc<Runtime>,
}

impl<M: Mapping> Collector<M> {
    pub(crate) fn new(mapping: &Rc<Mapped<M>>) -> Self {
        let (mapping, journal) = (Rc::clone(mapping), Rc::clone(&mapping.journal));
        let runtime = Rc::clone(journal.runtime());
        let idle = Rc::new(WaitCell::default());
        let (ended, of_end) = (Rc::clone(&idle), Rc::clone(&runtime));
        journal.log_writer.when_ended(Box::new(move || ended.wake(of_end.exec())));
        let (pools, luns) = {
            let layout = &journal.blocks().table().layout;
            (layout.all_pools(), layout.total_luns())
        };
        Collector {
            scan: ScanPlace::default(),
            gc_free_blocks: Cell::new(runtime.config.collects_at()),
            gc_active: Cell::new(0),
            idle,
            collects_ahead: Cell::new(false),
            erases_ahead: pools.map(|_| Cell::new(false)).collect(),
            next_victims: cells(luns, None),
            begun: cells(luns, None),
            host_activity: HostActivity::default(),
            mapping,
            blocks: Rc::clone(journal.blocks()),
            media: Rc::clone(journal.media()),
            pages: Rc::clone(journal.pages()),
            runtime,
            journal,
        }
    }

    /// Waits until `done` returns `Some`. It is called whenever a collector has finished a
    /// victim.
    pub(super) async fn collection_ended(&self, done: impl FnMut() -> Option<()>) {
        self.idle.wait(self.runtime.exec(), done).await;
    }

    // ---- what the host's side tells ----

    /// The host's side has taken a command.
    pub(crate) fn command_begins(&self) {
        let HostActivity { in_work, taken, .. } = &self.host_activity;
        in_work.set(in_work.get() + 1);
        taken.set(taken.get() + 1);
        self.scan.waiter.wake(self.runtime.exec());
    }
    /// A command has been completed. First `look` wakes other tasks that wait for this, then come those that
    /// wait for the host to leave the drive alone.
    pub(crate) fn command_ends(&self, look: impl FnOnce()) {
        let in_work = &self.host_activity.in_work;
        assert!(in_work.get() > 0, "a command ends that has not begun");
        in_work.set(in_work.get() - 1);
        look();
        if in_work.get() == 0 {
            self.look_for_rest();
        }
    }
    pub(crate) fn commands_in_work(&self) -> u32 {
        self.host_activity.in_work.get()
    }
    /// Something has ended that kept the drive from erasing ahead.
    pub(crate) fn look_for_rest(&self) {
        self.host_activity.rests.wake(self.runtime.exec());
    }
}
