use crate::page::buffers::Granules;
use crate::terms::units::{Frame, Units};
use alloc::vec;
use alloc::vec::Vec;
use aster_units::mix64;

/// An entry of the data buffer. Its page lies in the DRAM's data buffer of the same number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EntryId(pub(crate) u32);

impl EntryId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

const NONE: u32 = u32::MAX;

// The lists of entries that aren't locked.
const CLEAN: usize = 0;
const DIRTY: usize = 1;
const EVICTED: usize = 2;

/// What a slice wants to do with an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    /// Read these granules.
    Read(Granules),
    /// Change the entry.
    Write,
}

/// How a slice holds an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lock {
    /// Together with other readers.
    Shared,
    /// Alone.
    Exclusive,
}

/// The result of a request for an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockResult {
    /// The caller holds it. `hit` is false when it was empty.
    Locked { entry: EntryId, lock: Lock, hit: bool },
    /// Others have locked it: wait for it.
    Busy(EntryId),
    /// The least recently used entry is dirty and now marked as being evicted. The caller must evict it.
    Evict(EntryId),
    /// All entries are in use: wait for any.
    None,
}

/// The result of a request to flush an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flush {
    /// There is nothing to do: the entry is clean, or it holds another page.
    Done,
    /// It is marked as being evicted. The caller must evict it.
    Evict,
    /// Others change or evict it: wait for it.
    Busy,
}

#[derive(Clone, Copy)]
struct BufferEntry {
    frame: Frame,
    valid: Granules,
    // The next one of its bucket in the index.
    chain: u32,
    readers: u16,
    in_use: bool,
    exclusive: bool,
    evicting: bool,
    dirty: bool,
    // The units that have changed since they were last written to flash.
    dirty_units: Units,
    // The stream of what was written last.
    stream: u8,
    // A writer waits, so no further reader gets in.
    writer_waits: bool,
    // Evicted because it was the least recently used.
    evicted_as_oldest: bool,
    order: InList,
}

/// An entry's place in the order of use.
#[derive(Clone, Copy)]
struct InList {
    used_at: u64,
    previous: u32,
    next: u32,
    list: u8,
    // The entry is in one of the lists: nobody has locked it.
    listed: bool,
}

#[derive(Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
}

/// The data buffer (C29): a fixed pool of entries, found by logical page, recycled least recently used first.
///
/// The entries that aren't locked are in two lists in order of use, one of clean and one of dirty entries.
/// The older of the two tails is the least recently used entry. An entry that was evicted as the oldest
/// waits in a third list, from which entries are recycled first.
pub(crate) struct DataBuffer {
    entries: Vec<BufferEntry>,
    buckets: Vec<u32>,
    free: Vec<u32>,
    lists: [List; 3],
    uses: u64,
    dirty: u32,
    // Entries that writers have reserved and not made dirty yet.
    reserved: u32,
    dirty_max: u32,
    // Entries that are being evicted.
    evicting: u32,
}

impl DataBuffer {
    pub(crate) fn new(entries: u32, dirty_max: u32) -> Self {
        let entry = BufferEntry {
            frame: Frame(NONE),
            valid: 0,
            chain: NONE,
            readers: 0,
            in_use: false,
            exclusive: false,
            evicting: false,
            dirty: false,
            dirty_units: 0,
            stream: 0,
            writer_waits: false,
            evicted_as_oldest: false,
            order: InList { used_at: 0, previous: NONE, next: NONE, list: CLEAN as u8, listed: false },
        };
        DataBuffer {
            entries: vec![entry; entries as usize],
            buckets: vec![NONE; (2 * entries as usize).next_power_of_two()],
            free: (0..entries).rev().collect(),
            lists: [List { head: NONE, tail: NONE }; 3],
            uses: 0,
            dirty: 0,
            reserved: 0,
            dirty_max,
            evicting: 0,
        }
    }

    // ---- index ----

    #[inline]
    fn bucket(&self, frame: Frame) -> usize {
        mix64(u64::from(frame.0)) as usize & (self.buckets.len() - 1)
    }
    #[inline]
    pub(crate) fn find(&self, frame: Frame) -> Option<EntryId> {
        let mut at = self.buckets[self.bucket(frame)];
        while at != NONE {
            let entry = &self.entries[at as usize];
            if entry.frame == frame {
                return Some(EntryId(at));
            }
            at = entry.chain;
        }
        None
    }
    fn insert(&mut self, id: u32, frame: Frame) {
        debug_assert!(self.find(frame).is_none(), "{frame:?} has an entry already");
        let bucket = self.bucket(frame);
        let entry = &mut self.entries[id as usize];
        assert!(!entry.in_use && !entry.dirty, "entry {id} is given to another page while it has one");
        (entry.frame, entry.valid, entry.in_use) = (frame, 0, true);
        entry.chain = core::mem::replace(&mut self.buckets[bucket], id);
    }
    #[inline]
    fn remove(&mut self, id: u32) {
        let entry = &self.entries[id as usize];
        assert!(entry.in_use && entry.readers == 0 && !entry.evicting, "entry {id} is taken from its users");
        debug_assert!(!entry.dirty, "entry {id} is emptied with what only it has");
        let (frame, chain) = (entry.frame, entry.chain);
        let bucket = self.bucket(frame);
        if self.buckets[bucket] == id {
            self.buckets[bucket] = chain;
        } else {
            let mut at = self.buckets[bucket];
            while self.entries[at as usize].chain != id {
                at = self.entries[at as usize].chain;
            }
            self.entries[at as usize].chain = chain;
        }
        self.entries[id as usize].in_use = false;
        self.entries[id as usize].frame = Frame(NONE);
    }

    // ---- order of use ----

    /// Puts an entry into its list as the most recently used.
    #[inline]
    fn link(&mut self, id: u32) {
        self.uses += 1;
        let entry = &mut self.entries[id as usize];
        entry.order.used_at = self.uses;
        entry.order.list = if entry.dirty { DIRTY } else { CLEAN } as u8;
        self.link_at_head(id);
    }
    fn link_at_head(&mut self, id: u32) {
        let entry = &mut self.entries[id as usize];
        debug_assert!(entry.in_use && !entry.order.listed, "entry {id} is listed once, and for its page");
        let List { head, tail } = &mut self.lists[entry.order.list as usize];
        let next = core::mem::replace(head, id);
        (entry.order.previous, entry.order.next, entry.order.listed) = (NONE, next, true);
        match next {
            NONE => *tail = id,
            _ => self.entries[next as usize].order.previous = id,
        }
    }
    #[inline]
    fn unlink(&mut self, id: u32) {
        let entry = &mut self.entries[id as usize];
        if !entry.order.listed {
            return;
        }
        entry.order.listed = false;
        let (previous, next, list) = (entry.order.previous, entry.order.next, entry.order.list as usize);
        match previous {
            NONE => self.lists[list].head = next,
            _ => self.entries[previous as usize].order.next = next,
        }
        match next {
            NONE => self.lists[list].tail = previous,
            _ => self.entries[next as usize].order.previous = previous,
        }
    }
    fn is_idle(&self, id: EntryId) -> bool {
        let entry = &self.entries[id.index()];
        entry.in_use && entry.readers == 0 && !entry.exclusive && !entry.evicting && !entry.order.listed
    }

    // ---- holding entries ----

    /// Requests the entry of `frame`. With `clean_only`, no dirty entry is evicted to make room for it.
    #[inline]
    pub(crate) fn request(&mut self, frame: Frame, want: Want, clean_only: bool) -> LockResult {
        match self.find(frame) {
            Some(entry) => self.request_present(entry, want),
            None => self.request_absent(frame, clean_only),
        }
    }
    #[inline]
    fn request_present(&mut self, id: EntryId, want: Want) -> LockResult {
        let entry = &mut self.entries[id.index()];
        if let Want::Read(granules) = want
            && granules & !entry.valid == 0
        {
            if entry.exclusive || entry.writer_waits {
                return LockResult::Busy(id);
            }
            entry.readers += 1;
            self.unlink(id.0);
            return LockResult::Locked { entry: id, lock: Lock::Shared, hit: true };
        }
        if entry.exclusive || entry.evicting || entry.readers > 0 {
            entry.writer_waits = entry.readers > 0;
            return LockResult::Busy(id);
        }
        entry.exclusive = true;
        let hit = entry.valid != 0;
        self.unlink(id.0);
        LockResult::Locked { entry: id, lock: Lock::Exclusive, hit }
    }
    #[inline]
    fn request_absent(&mut self, frame: Frame, clean_only: bool) -> LockResult {
        let id = if let Some(id) = self.free.pop() {
            id
        } else {
            let tail = |list: usize| self.lists[list].tail;
            let age = |id: u32| if id == NONE { u64::MAX } else { self.entries[id as usize].order.used_at };
            let clean = if tail(EVICTED) == NONE { tail(CLEAN) } else { tail(EVICTED) };
            if tail(EVICTED) == NONE && !clean_only && age(tail(DIRTY)) < age(clean) {
                return self.evict_oldest().map_or(LockResult::None, LockResult::Evict);
            }
            if clean == NONE {
                return LockResult::None;
            }
            self.unlink(clean);
            self.remove(clean);
            clean
        };
        self.insert(id, frame);
        self.entries[id as usize].exclusive = true;
        LockResult::Locked { entry: EntryId(id), lock: Lock::Exclusive, hit: false }
    }
    /// Releases a lock.
    #[inline]
    pub(crate) fn release(&mut self, id: EntryId, lock: Lock) {
        let entry = &mut self.entries[id.index()];
        match lock {
            Lock::Shared => {
                assert!(entry.readers > 0, "{id:?} is let go of by more readers than it has");
                entry.readers -= 1;
            }
            Lock::Exclusive => {
                assert!(entry.exclusive, "{id:?} is let go of by a writer that doesn't hold it");
                entry.exclusive = false;
            }
        }
        if entry.readers == 0 {
            entry.writer_waits = false;
        }
        if self.is_idle(id) {
            self.link(id.0);
        }
    }
    /// Turns an exclusive lock into a shared one.
    #[inline]
    pub(crate) fn share(&mut self, id: EntryId) {
        let entry = &mut self.entries[id.index()];
        assert!(entry.exclusive && entry.readers == 0, "{id:?} is shared by who doesn't hold it alone");
        entry.exclusive = false;
        entry.readers = 1;
    }
    /// Empties and frees an exclusively locked entry. Returns true if it held data that was not on flash.
    pub(crate) fn discard(&mut self, id: EntryId) -> bool {
        let entry = &mut self.entries[id.index()];
        assert!(entry.exclusive, "{id:?} is emptied by who doesn't hold it");
        entry.dirty_units = 0;
        let dirty = core::mem::replace(&mut entry.dirty, false);
        assert!(self.dirty >= u32::from(dirty), "more entries become clean than are dirty");
        self.dirty -= u32::from(dirty);
        self.remove(id.0);
        self.entries[id.index()].exclusive = false;
        self.free.push(id.0);
        dirty
    }

    // ---- evicting ----

    /// Marks the least recently used dirty entry as being evicted.
    pub(crate) fn evict_oldest(&mut self) -> Option<EntryId> {
        self.evict_oldest_of(1, |_, _, _| true)
    }
    /// As [`DataBuffer::evict_oldest`], but only for an entry whose frame, dirty units and stream
    /// `fit`. Looks at no more than `search` entries.
    pub(crate) fn evict_oldest_of(
        &mut self,
        search: u32,
        fit: impl Fn(Frame, Units, u8) -> bool,
    ) -> Option<EntryId> {
        let mut at = self.lists[DIRTY].tail;
        for _ in 0..search {
            if at == NONE {
                return None;
            }
            let entry = &self.entries[at as usize];
            if fit(entry.frame, entry.dirty_units, entry.stream) {
                self.unlink(at);
                let entry = &mut self.entries[at as usize];
                (entry.evicting, entry.evicted_as_oldest) = (true, true);
                self.evicting += 1;
                return Some(EntryId(at));
            }
            at = entry.order.previous;
        }
        None
    }
    /// Whether an eviction would fill a page of `units` units, or there is none yet: of the `search` least
    /// recently used dirty entries, those of the oldest one's stream have as many.
    pub(crate) fn is_eviction_due(&self, units: u32, search: u32) -> bool {
        if self.evicting == 0 {
            return true;
        }
        let (mut at, mut found) = (self.lists[DIRTY].tail, 0);
        let Some(BufferEntry { stream, .. }) = self.entries.get(at as usize).copied() else { return false };
        for _ in 0..search {
            let Some(entry) = self.entries.get(at as usize) else { return false };
            found += if entry.stream == stream { entry.dirty_units.count_ones() } else { 0 };
            if found >= units {
                return true;
            }
            at = entry.order.previous;
        }
        false
    }
    /// Marks an entry as being evicted if it holds `frame`, is dirty, and isn't being changed or evicted.
    pub(crate) fn flush(&mut self, id: EntryId, frame: Frame) -> Flush {
        let entry = &self.entries[id.index()];
        if entry.frame != frame || !entry.dirty {
            return Flush::Done;
        }
        if entry.exclusive || entry.evicting {
            return Flush::Busy;
        }
        self.unlink(id.0);
        let entry = &mut self.entries[id.index()];
        (entry.evicting, entry.evicted_as_oldest) = (true, false);
        self.evicting += 1;
        Flush::Evict
    }
    /// Turns an exclusive lock into an eviction.
    pub(crate) fn evict_locked(&mut self, id: EntryId) {
        let entry = &mut self.entries[id.index()];
        assert!(entry.exclusive && entry.dirty, "{id:?} is evicted by who hasn't changed it");
        (entry.exclusive, entry.evicting, entry.evicted_as_oldest) = (false, true, false);
        self.evicting += 1;
    }
    /// Ends an eviction. An entry that was evicted as the oldest and not used meanwhile is recycled before
    /// all others. An entry that could not be written stays dirty.
    pub(crate) fn end_evicting(&mut self, id: EntryId, clean: bool) {
        let entry = &mut self.entries[id.index()];
        assert!(entry.evicting, "an eviction of {id:?} ends that has not begun");
        entry.evicting = false;
        self.evicting -= 1;
        if clean {
            assert!(entry.dirty && self.dirty > 0, "{id:?} becomes clean and was so before");
            (entry.dirty, entry.dirty_units) = (false, 0);
            self.dirty -= 1;
        }
        let evicted = clean && entry.evicted_as_oldest;
        if evicted {
            entry.order.list = EVICTED as u8;
        }
        match self.is_idle(id) {
            true if evicted => self.link_at_head(id.0),
            true => self.link(id.0),
            false => {}
        }
    }

    // ---- content ----

    pub(crate) fn len(&self) -> u32 {
        self.entries.len() as u32
    }
    pub(crate) fn frame(&self, id: EntryId) -> Frame {
        self.entries[id.index()].frame
    }
    pub(crate) fn valid(&self, id: EntryId) -> Granules {
        self.entries[id.index()].valid
    }
    #[inline]
    pub(crate) fn add_valid(&mut self, id: EntryId, granules: Granules) {
        self.entries[id.index()].valid |= granules;
    }
    /// Forgets granules that are also on flash.
    pub(crate) fn forget(&mut self, id: EntryId, granules: Granules) {
        self.entries[id.index()].valid &= !granules;
    }
    /// Empties units of an exclusively locked entry, and with them these granules.
    pub(crate) fn discard_units(&mut self, id: EntryId, units: Units, granules: Granules) {
        let entry = &mut self.entries[id.index()];
        assert!(entry.exclusive, "units of {id:?} are dropped by who doesn't hold it");
        entry.valid &= !granules;
        entry.dirty_units &= !units;
        if entry.dirty && entry.dirty_units == 0 {
            entry.dirty = false;
            self.dirty -= 1;
        }
    }
    /// The units of an entry that have changed since they were last written to flash.
    pub(crate) fn dirty_units(&self, id: EntryId) -> Units {
        self.entries[id.index()].dirty_units
    }
    /// The stream of an entry that is dirty.
    pub(crate) fn stream(&self, id: EntryId) -> u8 {
        self.entries[id.index()].stream
    }
    pub(crate) fn is_dirty(&self, id: EntryId) -> bool {
        self.entries[id.index()].dirty
    }
    /// Reserves the right to make one more entry dirty. Returns false if the bound is reached.
    pub(crate) fn reserve_dirty(&mut self) -> bool {
        let room = self.dirty + self.reserved < self.dirty_max;
        self.reserved += u32::from(room);
        debug_assert!(self.dirty + self.reserved <= self.dirty_max, "more entries are dirty than may be");
        room
    }
    /// Makes units of an exclusively locked entry dirty, which uses up a reservation. From now on the entry
    /// belongs to this stream.
    pub(crate) fn make_dirty(&mut self, id: EntryId, units: Units, stream: u8) {
        assert!(self.reserved > 0, "{id:?} becomes dirty without the right to");
        self.reserved -= 1;
        let entry = &mut self.entries[id.index()];
        debug_assert!(entry.exclusive && units != 0, "{id:?} is changed by who doesn't hold it");
        self.dirty += u32::from(!entry.dirty);
        entry.dirty = true;
        entry.dirty_units |= units;
        entry.stream = stream;
    }
    /// Returns a reservation that wasn't used.
    pub(crate) fn return_reserve(&mut self) {
        assert!(self.reserved > 0, "a right to make an entry dirty is returned that nobody has");
        self.reserved -= 1;
    }
    /// (dirty, free) entries.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (u32, usize) {
        (self.dirty, self.free.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Granules = 0xFF;

    fn held(step: LockResult) -> (EntryId, Lock) {
        let LockResult::Locked { entry, lock, .. } = step else { panic!("{step:?}") };
        (entry, lock)
    }
    /// A clean, unlocked entry that holds a page.
    fn filled(buffer: &mut DataBuffer, page: u32) -> EntryId {
        let (entry, lock) = held(buffer.request(Frame(page), Want::Write, false));
        buffer.add_valid(entry, ALL);
        buffer.release(entry, lock);
        entry
    }
    fn dirty(buffer: &mut DataBuffer, page: u32) -> EntryId {
        assert!(buffer.reserve_dirty());
        let (entry, lock) = held(buffer.request(Frame(page), Want::Write, false));
        buffer.add_valid(entry, ALL);
        buffer.make_dirty(entry, 1, 0);
        buffer.release(entry, lock);
        entry
    }

    #[test]
    fn a_writer_that_waits_lets_no_further_reader_in() {
        let mut buffer = DataBuffer::new(2, 2);
        let entry = filled(&mut buffer, 7);
        let read = Want::Read(ALL);
        assert_eq!(held(buffer.request(Frame(7), read, false)), (entry, Lock::Shared));
        assert_eq!(held(buffer.request(Frame(7), read, false)), (entry, Lock::Shared));
        assert_eq!(buffer.request(Frame(7), Want::Write, false), LockResult::Busy(entry));
        assert_eq!(buffer.request(Frame(7), read, false), LockResult::Busy(entry));
        buffer.release(entry, Lock::Shared);
        buffer.release(entry, Lock::Shared);
        assert_eq!(held(buffer.request(Frame(7), Want::Write, false)), (entry, Lock::Exclusive));
    }

    #[test]
    fn the_least_recently_used_entry_goes_and_a_dirty_one_only_by_eviction() {
        let mut buffer = DataBuffer::new(2, 2);
        let (one, two) = (dirty(&mut buffer, 1), filled(&mut buffer, 2));
        assert_eq!(
            buffer.request(Frame(3), Want::Write, true),
            LockResult::Locked { entry: two, lock: Lock::Exclusive, hit: false }
        );
        buffer.release(two, Lock::Exclusive);
        assert_eq!(buffer.request(Frame(4), Want::Write, false), LockResult::Evict(one));
        // While it is being evicted it can be read, but neither changed nor evicted again.
        assert_eq!(held(buffer.request(Frame(1), Want::Read(ALL), false)), (one, Lock::Shared));
        buffer.release(one, Lock::Shared);
        assert_eq!(buffer.request(Frame(1), Want::Write, false), LockResult::Busy(one));
        assert_eq!(buffer.flush(one, Frame(1)), Flush::Busy);
        buffer.end_evicting(one, true);
        assert_eq!(buffer.flush(one, Frame(1)), Flush::Done);
        // An entry that was evicted as the oldest is recycled before older ones.
        assert_eq!(held(buffer.request(Frame(4), Want::Write, false)).0, one);
    }

    #[test]
    fn another_eviction_is_due_when_it_fills_a_page() {
        let mut buffer = DataBuffer::new(6, 6);
        let first = dirty(&mut buffer, 1);
        assert!(buffer.is_eviction_due(3, 9), "the first one waits for nothing");
        assert_eq!(buffer.evict_oldest(), Some(first));
        assert!(!buffer.is_eviction_due(1, 9), "nothing else is dirty");
        dirty(&mut buffer, 2);
        dirty(&mut buffer, 3);
        assert!(!buffer.is_eviction_due(3, 9));
        dirty(&mut buffer, 4);
        assert!(buffer.is_eviction_due(3, 9) && !buffer.is_eviction_due(3, 2));
        let (entry, lock) = held(buffer.request(Frame(3), Want::Write, false));
        assert!(!buffer.is_eviction_due(3, 9), "one is being changed");
        assert!(buffer.reserve_dirty());
        buffer.make_dirty(entry, 2, 1);
        buffer.release(entry, lock);
        assert!(!buffer.is_eviction_due(3, 9), "it belongs to another stream now");
        assert!(buffer.is_eviction_due(2, 9));
        buffer.end_evicting(first, true);
        assert!(buffer.is_eviction_due(3, 9));
    }

    #[test]
    fn no_more_entries_become_dirty_than_may() {
        let mut buffer = DataBuffer::new(4, 2);
        dirty(&mut buffer, 1);
        assert!(buffer.reserve_dirty());
        assert!(!buffer.reserve_dirty());
        buffer.return_reserve();
        assert!(buffer.reserve_dirty());
    }
}
