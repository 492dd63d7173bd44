use crate::mapping::{Mapping, MappingFault, NoMapRoom};
use alloc::vec;
use alloc::vec::Vec;
use aster_units::{Lpn, LunIndex, Upa};
use core::cell::RefCell;
use core::future::{Future, ready};

/// A map that is entirely in memory, 4 bytes per logical page (C54 has 8: here the inverse is in the pages'
/// OOB). A pin on it is the page's number, and costs nothing.
///
/// Entries are kept complemented, so that an unmapped page is zero and the table of an empty drive takes no
/// memory.
pub struct ResidentMap(RefCell<Vec<u32>>);

impl ResidentMap {
    /// An empty map.
    pub fn new(pages: u32) -> Self {
        ResidentMap(RefCell::new(vec![0; pages as usize]))
    }
}

impl Mapping for ResidentMap {
    type Pin = Lpn;
    type Room = ();
    const STORES_UNITS: bool = true;

    #[inline]
    fn pages(&self) -> u32 {
        self.0.borrow().len() as u32
    }
    #[inline]
    fn try_pin(&self, page: Lpn) -> Option<Lpn> {
        Some(page)
    }
    #[inline]
    fn pin(&self, page: Lpn) -> impl Future<Output = Result<Lpn, MappingFault>> {
        ready(Ok(page))
    }
    #[inline]
    fn page(&self, pin: &Lpn) -> Lpn {
        *pin
    }
    #[inline]
    fn get(&self, pin: &Lpn) -> Upa {
        Upa(!self.0.borrow()[pin.index()])
    }
    #[inline]
    fn set(&self, (): &(), pin: &Lpn, to: Upa) -> Upa {
        Upa(!core::mem::replace(&mut self.0.borrow_mut()[pin.index()], !to.0))
    }
    fn find(&self, at: Upa) -> impl Future<Output = Option<Lpn>> {
        let found = self.0.borrow().iter().position(|&entry| entry == !at.0);
        ready(found.map(|page| Lpn(page as u32)))
    }
    #[inline]
    fn try_room(&self, _: u32) -> Option<()> {
        Some(())
    }
    #[inline]
    fn room(&self, _: u32) -> impl Future<Output = Result<(), NoMapRoom>> {
        ready(Ok(()))
    }
    #[inline]
    fn room_to_collect(&self, _: LunIndex, _: u32) -> impl Future<Output = Result<(), NoMapRoom>> {
        ready(Ok(()))
    }
    #[inline]
    fn is_own(&self, _: Upa) -> bool {
        false
    }
    fn start(&self) {}
    fn idle(&self) -> impl Future<Output = ()> {
        ready(())
    }
    fn settled(&self) -> impl Future<Output = ()> {
        ready(())
    }
    fn counters(&self, _: &mut dyn FnMut(&'static str, u64)) {}
    fn restore(&self, page: Lpn, to: Upa, _: bool) -> impl Future<Output = Result<(), MappingFault>> {
        self.set(&(), &page, to);
        ready(Ok(()))
    }
    fn only_restored(&self) -> impl Future<Output = ()> {
        ready(())
    }
    fn walk(&self, mut each: impl FnMut(Lpn, Upa) -> bool) -> impl Future<Output = Result<(), MappingFault>> {
        let entries = self.0.borrow();
        let mapped = (0..).map(Lpn).zip(&*entries).filter(|(_, entry)| **entry != 0);
        mapped.map(|(page, &entry)| each(page, Upa(!entry))).find(|goes_on| !goes_on);
        ready(Ok(()))
    }
    fn booted(&self) {}
    fn give_up_own(&self) {}
    fn is_storable(&self) -> bool {
        true
    }
    fn clear(&self) {
        let pages = self.0.borrow().len();
        self.0.replace(vec![0; pages]);
    }
    fn is_empty(&self, first: Lpn, count: u32) -> bool {
        let entries = self.0.borrow();
        let entries = entries.get(first.index()..).unwrap_or_default();
        entries.iter().take(count as usize).all(|&entry| entry == 0)
    }
    fn encode(&self, first: Lpn, into: &mut [u8]) -> impl Future<Output = ()> {
        let entries = self.0.borrow();
        let mut entries = entries.get(first.index()..).unwrap_or_default().iter();
        for bytes in into.chunks_exact_mut(4) {
            bytes.copy_from_slice(&entries.next().copied().unwrap_or(0).to_le_bytes());
        }
        ready(())
    }
    fn load(&self, first: Lpn, from: &[u8]) -> impl Future<Output = ()> {
        let mut entries = self.0.borrow_mut();
        let entries = entries.get_mut(first.index()..).unwrap_or_default();
        for (entry, bytes) in entries.iter_mut().zip(from.chunks_exact(4)) {
            let stored = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            // Untouched entries take no memory.
            if stored != *entry {
                *entry = stored;
            }
        }
        ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::parts::now;

    #[test]
    fn a_page_is_where_it_was_put_last() {
        let map = ResidentMap::new(5);
        let pin = map.try_pin(Lpn(3)).unwrap();
        assert_eq!(map.get(&pin), Upa::NONE);
        assert_eq!(map.set(&(), &pin, Upa(0)), Upa::NONE);
        assert_eq!(map.set(&(), &pin, Upa(70)), Upa(0));
        let found = (map.get(&pin), now(map.find(Upa(70))), now(map.find(Upa(0))));
        assert_eq!(found, (Upa(70), Some(Lpn(3)), None));
        assert!(map.is_empty(Lpn(0), 3) && !map.is_empty(Lpn(3), 1) && map.is_empty(Lpn(4), 8));
        map.clear();
        assert!(map.is_empty(Lpn(0), 5));
    }

    #[test]
    fn what_is_stored_page_by_page_comes_back_also_where_the_last_one_is_not_full() {
        let map = ResidentMap::new(5);
        for (page, at) in [(0, 9), (2, 0), (4, 7)] {
            map.set(&(), &Lpn(page), Upa(at));
        }
        let back = ResidentMap::new(5);
        for first in [0, 4].map(Lpn) {
            let mut page = [0xEE; 16];
            now(map.encode(first, &mut page));
            now(back.load(first, &page));
        }
        assert_eq!(*back.0.borrow(), *map.0.borrow());
    }
}
