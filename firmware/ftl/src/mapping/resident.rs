use alloc::vec;
use alloc::vec::Vec;
use aster_units::{Lpn, Ppa};

/// Logical to physical pages, 4 bytes each (C54 has 8: the inverse stands in the pages' OOB here).
///
/// Entries are kept complemented, so that an unmapped page is zero and the table of an empty drive takes no
/// memory.
pub(crate) struct Map(Vec<u32>);

impl Map {
    pub(crate) fn new(pages: u32) -> Self {
        Map(vec![0; pages as usize])
    }
    #[inline]
    pub(crate) fn get(&self, lpn: Lpn) -> Ppa {
        Ppa(!self.0[lpn.index()])
    }
    /// Maps a page and gives back where it was before.
    #[inline]
    pub(crate) fn set(&mut self, lpn: Lpn, ppa: Ppa) -> Ppa {
        Ppa(!core::mem::replace(&mut self.0[lpn.index()], !ppa.0))
    }
    pub(crate) fn len(&self) -> u32 {
        self.0.len() as u32
    }
    /// The logical page at `ppa`, by looking at all of them: for a page whose OOB can't be read any more.
    pub(crate) fn find(&self, ppa: Ppa) -> Option<Lpn> {
        self.0.iter().position(|&entry| entry == !ppa.0).map(|lpn| Lpn(lpn as u32))
    }
    /// True when none of `count` logical pages from `first` on is mapped.
    pub(crate) fn is_empty(&self, first: usize, count: usize) -> bool {
        let entries = self.0.get(first..).unwrap_or_default();
        entries.iter().take(count).all(|&entry| entry == 0)
    }
    /// Little-endian entries from `first` on, as far as `into` reaches; entries behind the last are zero.
    pub(crate) fn store(&self, first: usize, into: &mut [u8]) {
        let mut entries = self.0.get(first..).unwrap_or_default().iter();
        for bytes in into.chunks_exact_mut(4) {
            bytes.copy_from_slice(&entries.next().copied().unwrap_or(0).to_le_bytes());
        }
    }
    /// The inverse of [`Map::store`].
    pub(crate) fn load(&mut self, first: usize, from: &[u8]) {
        let entries = self.0.get_mut(first..).unwrap_or_default();
        for (entry, bytes) in entries.iter_mut().zip(from.chunks_exact(4)) {
            let stored = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            // Untouched entries take no memory.
            if stored != *entry {
                *entry = stored;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_where_it_was_put_last() {
        let mut map = Map::new(5);
        assert_eq!(map.get(Lpn(3)), Ppa::NONE);
        assert_eq!(map.set(Lpn(3), Ppa(0)), Ppa::NONE);
        assert_eq!(map.set(Lpn(3), Ppa(70)), Ppa(0));
        assert_eq!((map.get(Lpn(3)), map.find(Ppa(70)), map.find(Ppa(0))), (Ppa(70), Some(Lpn(3)), None));
        assert!(map.is_empty(0, 3) && !map.is_empty(3, 1) && map.is_empty(4, 8));
    }

    #[test]
    fn what_is_stored_page_by_page_comes_back_also_where_the_last_one_is_not_full() {
        let mut map = Map::new(5);
        for (page, at) in [(0, 9), (2, 0), (4, 7)] {
            map.set(Lpn(page), Ppa(at));
        }
        let mut back = Map::new(5);
        for first in [0, 4] {
            let mut page = [0xEE; 16];
            map.store(first, &mut page);
            back.load(first, &page);
        }
        assert_eq!(back.0, map.0);
    }
}
