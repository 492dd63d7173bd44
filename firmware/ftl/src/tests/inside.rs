//! What tests of a whole drive see of its parts, and what they have them do. No other of these tests reaches
//! into the FTL; where its handle says a thing, they ask that.

use super::bench::AnyBench;
use crate::blocks::table::{Blocks, Destination};
use crate::checkpoint::store;
use crate::collector::{gc, idle_erase, scan};
use crate::host::{intake, worker};
use crate::journal::log;
use crate::journal::log_page::StoredMap;
use crate::journal::state::Journal;
use crate::terms::block::{BlockEntry, BlockIndex, Stream};
use crate::terms::cause::Cause;
use crate::terms::units::Frame;
use crate::{DriveState, Mapping, OobRecord};
use aster_units::{BufferId, Lpn, LunIndex, Ppa, Upa};
use std::cell::Cell;
use std::rc::Rc;
use std::vec::Vec;

impl<M: Mapping> AnyBench<M> {
    fn journal(&self) -> &Rc<Journal> {
        &self.ftl.parts().journal
    }
    fn blocks(&self) -> &Blocks {
        self.journal().blocks().table()
    }
}

/// The log.
impl<M: Mapping> AnyBench<M> {
    /// The number of its last page.
    pub fn log_number(&self) -> u64 {
        self.journal().log.state().number
    }
    /// The slot in use, and the next line in it.
    pub fn log_at(&self) -> Option<(usize, u32)> {
        self.journal().log.state().at
    }
    /// The block of each slot.
    pub fn log_slots(&self) -> Vec<BlockIndex> {
        self.journal().log.state().slots.iter().map(|slot| slot.block).collect()
    }
    /// Where the first copy of its last page is.
    pub fn last_log_page(&self) -> Ppa {
        let (slot, line) = self.log_at().expect("a page since power-on");
        self.journal().own.log_line(self.log_slots()[slot], line - 1)
    }
    /// All copies of each page that recovery needs.
    pub fn needed_log_pages(&self) -> Vec<Ppa> {
        let (log, copies) = (self.journal().log.state(), self.config.lines.log_copies());
        let first = |(slot, line): (usize, u32)| self.journal().own.log_line(log.slots[slot].block, line).0;
        log.needed_lines().map(first).flat_map(|first| (first..first + copies).map(Ppa)).collect()
    }
    /// The number of the page that names the stored map.
    pub fn naming_page(&self) -> u64 {
        self.journal().log.naming_page()
    }
    /// The number of the first page that recovery replays.
    pub fn replays_from(&self) -> u64 {
        self.journal().log.state().map.replay_from
    }
    pub fn has_room_in_log(&self) -> bool {
        self.journal().log.has_room()
    }
    pub fn has_log_ended(&self) -> bool {
        self.journal().log.has_ended()
    }
    /// Bytes of the entries that no log page has yet.
    pub fn unlogged_bytes(&self) -> usize {
        self.blocks().outbox.bytes()
    }
    /// Blocks opened since the last log page.
    pub fn unlogged_opened(&self) -> usize {
        self.blocks().outbox.opened()
    }
    pub fn ask_for_log(&self) {
        self.journal().due.ask_for_log();
    }
}

/// The map, and how it is stored.
impl<M: Mapping> AnyBench<M> {
    pub fn map(&self) -> &M {
        self.ftl.parts().mapping.map()
    }
    /// Where the first unit of a logical page is; takes the time that the map takes.
    pub fn place_of(&self, page: Lpn) -> Option<Ppa> {
        let unit = self.config.units().first_of(Frame(page.0));
        let found: Rc<Cell<Option<Upa>>> = Rc::default();
        let (into, mapping) = (Rc::clone(&found), Rc::clone(&self.ftl.parts().mapping));
        self.exec.spawn(async move { into.set(Some(mapping.look_up(unit).await.unwrap())) });
        self.exec.advance_to(self.exec.now());
        while found.get().is_none() {
            self.exec.advance_to(self.exec.next_deadline().expect("a look-up ends"));
        }
        found.get().filter(|at| at.is_some()).map(|at| self.config.units().page_of(at))
    }
    /// The map as it was stored last.
    pub fn stored_map(&self) -> StoredMap {
        self.journal().root.read_stored_map(Clone::clone)
    }
    /// The page in which a part of it is.
    pub fn map_page(&self, place: u32) -> Ppa {
        self.journal().own.map_place(&self.stored_map().blocks, place)
    }
    /// Of the newest stored map, or of the one that is being stored.
    pub fn generation(&self) -> u64 {
        self.ftl.parts().checkpoint.generation().get()
    }
    /// As attempts to store a map that came to nothing leave it.
    pub fn skip_generations(&self, count: u64) {
        self.ftl.parts().checkpoint.generation().set(self.generation() + count);
    }
    pub fn is_storing_map(&self) -> bool {
        self.journal().due.is_storing()
    }
    pub fn renew_map(&self) {
        self.journal().due.renew_map();
    }
    /// As when there is no room for a map.
    pub fn give_up_storing(&self) {
        self.journal().log_writer.give_up_storing();
    }
}

/// The blocks.
impl<M: Mapping> AnyBench<M> {
    pub fn block_of(&self, page: Ppa) -> BlockIndex {
        self.blocks().layout.block_of(page)
    }
    pub fn lun_of(&self, block: BlockIndex) -> LunIndex {
        self.blocks().layout.lun_of(block)
    }
    /// All blocks as they would be stored.
    pub fn block_table(&self) -> Vec<BlockEntry> {
        let blocks = self.blocks();
        (0..blocks.layout.total()).map(|block| blocks.entry(BlockIndex(block))).collect()
    }
    pub fn good_blocks(&self, lun: LunIndex) -> u32 {
        self.blocks().states.good(lun)
    }
    pub fn factory_good_blocks(&self, lun: LunIndex) -> u32 {
        self.blocks().states.factory_good(lun)
    }
    /// Units of a block that may not be lost.
    pub fn valid_units_in(&self, block: BlockIndex) -> u32 {
        self.blocks().valid.in_block(block)
    }
    /// Whether a LUN takes no more pages.
    pub fn is_full(&self, lun: LunIndex) -> bool {
        self.blocks().room.is_full(self.blocks().layout.pool_of(lun))
    }
    /// Pages of a LUN that a loss of power could undo.
    pub fn unsafe_pages(&self, lun: LunIndex) -> Vec<Ppa> {
        self.blocks().durability.unsafe_pages(lun)
    }
    /// The last sequence number given to a page.
    pub fn last_sequence(&self) -> u64 {
        self.journal().blocks().sequence.last()
    }
    /// Takes a free block for a map. It is about to go bad from now on.
    pub fn fail_block(&self, lun: LunIndex) {
        self.blocks().fail_map_block(self.blocks().take_for_map(lun, false).expect("a free block"));
    }
    /// Takes a free block for a map and gives it back as a bad one.
    pub fn retire_block(&self, lun: LunIndex) {
        let block = self.blocks().take_for_map(lun, false).expect("a free block");
        self.blocks().release_from_map(block);
        self.journal().health.retire(lun, block);
    }
    /// As when there are too few good blocks.
    pub fn make_read_only(&self) {
        self.journal().health.set_state(DriveState::ReadOnly);
    }
}

/// The data buffer.
impl<M: Mapping> AnyBench<M> {
    pub fn dirty_entries(&self) -> u32 {
        self.ftl.parts().cache.entries.counts().0
    }
    /// The buffer of the entry that a frame has.
    pub fn buffer_of(&self, frame: Frame) -> Option<BufferId> {
        self.ftl.parts().cache.entries.find(frame).map(|entry| BufferId(entry.0))
    }
}

/// The collector.
impl<M: Mapping> AnyBench<M> {
    pub fn commands_in_work(&self) -> u32 {
        self.ftl.parts().collector.commands_in_work()
    }
    pub fn has_victim(&self, lun: LunIndex) -> bool {
        self.blocks().has_victim(self.blocks().layout.pool_of(lun))
    }
    /// Whether a LUN has a block to be erased that holds nothing.
    pub fn has_empty_block(&self, lun: LunIndex) -> bool {
        self.blocks().candidates.has_empty(self.blocks().layout.pool_of(lun))
    }
    /// Blocks that were collected and not erased since, as long as the log lacks some of their moves.
    pub fn collected(&self) -> Vec<BlockIndex> {
        self.blocks().durability.collected()
    }
    pub fn pause_collection(&self) {
        self.journal().blocks().collection.pause();
    }
    /// Collects until each LUN has more than `free` free blocks, as a shutdown does. Says when that has
    /// ended.
    pub fn collect_ahead(&self, free: u32) -> Rc<Cell<bool>> {
        let parts = self.ftl.parts();
        let ended = Rc::new(Cell::new(false));
        let (collector, end) = (Rc::clone(&parts.collector), Rc::clone(&ended));
        parts.journal.runtime().core.spawn(async move {
            collector.collect_ahead(free).await;
            end.set(true);
        });
        ended
    }
    /// Programs a copy of a logical page that was at `from`, as garbage collection does. Says where it is.
    pub fn program_copy(&self, page: Lpn, from: Ppa, record: &OobRecord) -> Rc<Cell<Option<Ppa>>> {
        let (journal, mapping) = (Rc::clone(self.journal()), Rc::clone(&self.ftl.parts().mapping));
        let buffer = BufferId(self.config.buffers().gc(LunIndex(0), 0));
        journal.pages().put_record(buffer, record);
        let mut copies = std::vec![(page, self.config.units().first_in(from))];
        copies.resize(self.config.units().per_page() as usize, (page, Upa::NONE));
        let programmed: Rc<Cell<Option<Ppa>>> = Rc::default();
        let place = Rc::clone(&programmed);
        self.journal().runtime().core.spawn(async move {
            let to = Destination::Pool(journal.blocks().pool_of(Frame(page.0)));
            let is_current = |unit, from| mapping.place_of_pinned(unit) == from;
            let (writer, from) = (&journal.writer, [buffer]);
            let begun = writer.begin_programs(to, Stream::Gc, &from, &copies, is_current, Cause::Gc).await;
            let (ppa, tag) = begun.expect("there is room").first();
            let done = writer.program_done(ppa, tag).await.expect("the program succeeds");
            journal.blocks().line_durable(done);
            place.set(Some(ppa));
        });
        programmed
    }
}

/// All of it.
impl<M: Mapping> AnyBench<M> {
    /// What the drive is doing.
    pub fn dump(&self) -> std::string::String {
        let (parts, journal) = (self.ftl.parts(), self.journal());
        let (blocks, log) = (journal.blocks().table(), journal.log.state());
        let lun = |lun| {
            let (free, good) = (blocks.free.len(lun), blocks.states.good(lun));
            let pool = blocks.layout.pool_of(lun);
            (free, good, blocks.room.is_full(pool), blocks.evacuation.has_any(pool))
        };
        let wait = |lun| {
            let pool = blocks.layout.pool_of(lun);
            let is_room_wanted = journal.blocks().queues.is_room_wanted(pool);
            (is_room_wanted, journal.blocks().is_durable_wanted(pool), blocks.durability.unsafe_pages(lun))
        };
        let luns: Vec<_> = blocks.layout.all_luns().map(lun).collect();
        let waiting: Vec<_> = blocks.layout.all_luns().map(wait).collect();
        let slots = log.slots.iter().filter(|slot| slot.good).count();
        let (is_wanted, is_storing) = (journal.due.log_is_wanted(), journal.due.is_storing());
        std::format!(
            "at {}, {} commands in work, {} slices queued, (dirty, free) entries {:?}, \
             (free, good, full, failing) of LUNs {luns:?}, (waits for room, for safety, pages not safe) \
             {waiting:?}, (waits for the log, a map is being stored, free lines, good slots, given up) \
             {:?}, {:?}, boot error {:?}",
            self.exec.now(),
            parts.collector.commands_in_work(),
            parts.host.slices_queued(),
            parts.cache.entries.counts(),
            (is_wanted, is_storing, log.free_lines(), slots, log.ended),
            self.ftl.stats(),
            self.ftl.boot_error(),
        )
    }
    /// Has reads take the general way, also where a shorter one does the same.
    pub fn read_in_steps(&self) {
        self.ftl.parts().host.in_steps.set(true);
    }
    /// Bytes of each kind of task.
    pub fn task_sizes(&self) -> [(&'static str, usize); 7] {
        let parts = self.ftl.parts();
        [
            ("slice worker", size_of_val(&worker::run(Rc::clone(&parts.host), 0))),
            ("intake", size_of_val(&intake::run(Rc::clone(&parts.host)))),
            ("garbage collection", size_of_val(&gc::run(Rc::clone(&parts.collector), LunIndex(0)))),
            ("log", size_of_val(&log::run(Rc::clone(&parts.journal.log_writer)))),
            ("checkpoints", size_of_val(&store::run_checkpoints(Rc::clone(&parts.checkpoint)))),
            ("erasing ahead", size_of_val(&idle_erase::run(Rc::clone(&parts.collector)))),
            ("scan", size_of_val(&scan::run(Rc::clone(&parts.collector)))),
        ]
    }
}
