//! A disk that can be full.

use aster_ports::medium::{Medium, MediumError};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

const PAGE_BYTES: u64 = 4096;

type Page = Box<[u8; PAGE_BYTES as usize]>;

/// An image of NAND on a disk with room for a settable number of further bytes. It starts at byte 2⁴⁰. A
/// clone is the same image, opened again.
#[derive(Clone, Debug)]
pub struct SmallDisk {
    pages: Rc<RefCell<BTreeMap<u64, Page>>>,
    size: u64,
    room: Rc<Cell<usize>>,
}

impl SmallDisk {
    /// An empty image of `size` bytes.
    pub fn new(size: u64, room: Rc<Cell<usize>>) -> Self {
        SmallDisk { pages: Rc::default(), size, room }
    }
    /// Visits the range page by page: the page's number, where in it, and which of the bytes.
    fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let at = offset + done as u64;
            let inside = (at % PAGE_BYTES) as usize;
            let bytes = (PAGE_BYTES as usize - inside).min(length - done);
            done += bytes;
            (bytes > 0).then(|| (at / PAGE_BYTES, inside, done - bytes..done))
        })
    }
}

impl Medium for SmallDisk {
    fn size(&self) -> u64 {
        self.size
    }
    fn origin(&self) -> u64 {
        1 << 40
    }
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), MediumError> {
        for (page, inside, bytes) in SmallDisk::pieces(offset, into.len()) {
            let into = &mut into[bytes];
            match self.pages.borrow().get(&page) {
                Some(page) => into.copy_from_slice(&page[inside..][..into.len()]),
                None => into.fill(0),
            }
        }
        Ok(())
    }
    fn write_at(&mut self, offset: u64, from: &[u8]) -> Result<(), MediumError> {
        let Some(room) = self.room.get().checked_sub(from.len()) else {
            return Err(MediumError { offset: self.origin() + offset, reason: "no space left".into() });
        };
        self.room.set(room);
        for (page, inside, bytes) in SmallDisk::pieces(offset, from.len()) {
            let mut pages = self.pages.borrow_mut();
            let page = pages.entry(page).or_insert_with(|| Box::new([0; PAGE_BYTES as usize]));
            page[inside..][..bytes.len()].copy_from_slice(&from[bytes]);
        }
        Ok(())
    }
    fn discard(&mut self, offset: u64, length: u64) -> Result<(), MediumError> {
        for (page, inside, bytes) in SmallDisk::pieces(offset, length as usize) {
            if let Some(page) = self.pages.borrow_mut().get_mut(&page) {
                page[inside..][..bytes.len()].fill(0);
            }
        }
        Ok(())
    }
}
