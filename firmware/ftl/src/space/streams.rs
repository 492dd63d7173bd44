//! The host's streams: which one a write belongs to, and how long their blocks live.

use crate::terms::block::{BlockIndex, Stream};
use crate::terms::units::Frame;
use alloc::boxed::Box;
use aster_parties::{EmptiedBlock, HostWrite, StreamPolicy};
use aster_units::Lpn;
use core::cell::{Cell, RefCell};

/// The streams of what the host writes.
pub(crate) struct HostStreams {
    count: u8,
    policy: RefCell<Box<dyn StreamPolicy>>,
    // Writes of the host, counted by page.
    writes: Cell<u64>,
    // For each block that the host fills or has filled: its stream, and the writes before it was opened.
    // Empty with a single stream.
    opened: Box<[Cell<Option<Opened>>]>,
}

#[derive(Clone, Copy)]
struct Opened {
    stream: u8,
    writes: u64,
}

impl HostStreams {
    /// `count` streams of a drive with so many blocks, in which the host sees `pages` pages.
    pub(crate) fn new(count: u8, blocks: u32, pages: u32, mut policy: Box<dyn StreamPolicy>) -> Self {
        policy.prepare(count, pages);
        let blocks = if count > 1 { blocks } else { 0 };
        HostStreams {
            count,
            policy: RefCell::new(policy),
            writes: Cell::new(0),
            opened: (0..blocks).map(|_| Cell::new(None)).collect(),
        }
    }
    pub(crate) fn forget(&self) {
        self.opened.iter().for_each(|opened| opened.set(None));
    }
    /// The stream of a page that the host writes. `named` tells the stream that the host has named for it; 0
    /// for none.
    #[inline]
    pub(crate) fn of_write(&self, frame: Frame, named: impl FnOnce() -> u8) -> u8 {
        if self.count == 1 { 0 } else { self.choose(frame, named()) }
    }
    fn choose(&self, frame: Frame, named: u8) -> u8 {
        let writes = self.writes.get();
        self.writes.set(writes + 1);
        let chosen = self.policy.borrow_mut().choose(&HostWrite { page: Lpn(frame.0), writes, named });
        chosen.min(self.count - 1)
    }
    /// A stream begins to fill a block.
    pub(crate) fn opened(&self, block: BlockIndex, stream: Stream) {
        if let (Some(opened), Stream::Host(number)) = (self.opened.get(block.at()), stream) {
            opened.set(Some(Opened { stream: number, writes: self.writes.get() }));
        }
    }
    /// A block was erased.
    pub(crate) fn erased(&self, block: BlockIndex) {
        if let Some(Opened { stream, writes }) = self.opened.get(block.at()).and_then(Cell::take) {
            let lived = self.writes.get() - writes;
            self.policy.borrow_mut().emptied(&EmptiedBlock { stream, lived });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use std::rc::Rc;

    /// Chooses what it is told to, and notes what it hears.
    #[derive(Debug)]
    struct Noting(Rc<RefCell<Vec<EmptiedBlock>>>);
    impl StreamPolicy for Noting {
        fn prepare(&mut self, streams: u8, pages: u32) {
            assert_eq!((streams, pages), (3, 100));
        }
        fn choose(&mut self, write: &HostWrite) -> u8 {
            write.page.0 as u8
        }
        fn emptied(&mut self, block: &EmptiedBlock) {
            self.0.borrow_mut().push(*block);
        }
    }

    #[test]
    fn a_policy_chooses_and_hears_how_long_the_host_s_blocks_lived() {
        let heard = Rc::default();
        let streams = HostStreams::new(3, 8, 100, Box::new(Noting(Rc::clone(&heard))));
        let write = |page| streams.of_write(Frame(page), || 0);
        assert_eq!([write(0), write(1), write(2), write(9)], [0, 1, 2, 2], "the last one at most");
        streams.opened(BlockIndex(5), Stream::Host(1));
        streams.opened(BlockIndex(6), Stream::Gc);
        assert_eq!((0..7).map(write).max(), Some(2));
        streams.erased(BlockIndex(6));
        assert!(heard.borrow().is_empty(), "what was copied belongs to no stream");
        streams.erased(BlockIndex(5));
        streams.erased(BlockIndex(5));
        assert_eq!(*heard.borrow(), [EmptiedBlock { stream: 1, lived: 7 }]);
        streams.opened(BlockIndex(5), Stream::Host(0));
        streams.forget();
        streams.erased(BlockIndex(5));
        assert_eq!(heard.borrow().len(), 1, "nothing is known of blocks of before a loss of power");
    }
}
