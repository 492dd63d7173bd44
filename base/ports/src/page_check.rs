//! The check of the owner of a page that was read. A flash request says which owner it expects, and its
//! outcome says whether the page is that owner's.
//!
//! A part below the translation, such as a flash scheduler that chains a DMA behind a read, goes by the
//! outcome alone. It doesn't interpret a page's OOB.

use crate::dram::SharedDram;
use alloc::boxed::Box;
use aster_units::BufferId;

/// The owner of a page. Only the translation knows what the number means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct PageOwner(pub u32);

impl PageOwner {
    /// No owner is expected: the page is not checked.
    pub const NONE: PageOwner = PageOwner(u32::MAX);
}

/// The outcome of checking a page that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PageCheck {
    /// The request expects no owner, or the port has no checker.
    #[default]
    NotAsked,
    /// The page is the expected owner's, and everything that was asked for was read.
    Expected,
    /// The page is not the expected owner's, or not all of it was read.
    Other,
}

/// Decides from the OOB bytes of a page whether the page is the owner's and none of its data are marked
/// as lost.
pub type CheckPage = Box<dyn Fn(PageOwner, &[u8]) -> bool>;

/// A page check, and the pool of buffers that pages are read into.
pub(crate) struct PageChecker {
    pool: SharedDram,
    check: CheckPage,
}

impl PageChecker {
    pub(crate) fn new(pool: &SharedDram, check: CheckPage) -> Self {
        PageChecker { pool: pool.clone(), check }
    }
    /// Checks the page in `buffer`, which has been read completely.
    #[inline]
    pub(crate) fn look(&self, owner: PageOwner, buffer: BufferId) -> PageCheck {
        match (self.check)(owner, self.pool.borrow().oob(buffer)) {
            true => PageCheck::Expected,
            false => PageCheck::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::Interrupt;
    use crate::dram::Dram;
    use crate::flash::{FlashOp, FlashPort, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, Target};
    use aster_exec::Exec;
    use aster_units::{Content, LunIndex, RowAddr, SectorRange};

    const BUFFER: BufferId = BufferId(0);

    fn request(phase: FlashOp) -> FlashRequest {
        let target = Target { row: RowAddr(0), sectors: SectorRange::whole(4), buffer: BUFFER };
        FlashRequest::single(phase, LunIndex(0), target)
    }

    fn sent_through(port: &FlashPort, request: FlashRequest, outcome: Outcome) -> PageCheck {
        let tag = port.submit(request).unwrap();
        port.complete(tag, [outcome; MAX_TARGETS]);
        port.try_take(tag).unwrap()[0].page
    }

    #[test]
    fn an_expected_page_is_looked_at_once_and_only_when_it_has_come_whole() {
        let port = FlashPort::new(&Exec::new(), 1, 1, Interrupt::default());
        let below = port.below(1, Interrupt::default());
        let pool = Dram::new(Content::Full, 4, 16, 1, 0, 0);
        let reads = |phase| request(phase).expecting(PageOwner(7));
        assert_eq!(
            sent_through(&port, reads(FlashOp::Read), Outcome::default()),
            PageCheck::NotAsked,
            "by nobody"
        );
        port.check_pages(&pool, Box::new(|owner, oob| u32::from(oob[0]) == owner.0));
        for port in [&port, &below] {
            pool.borrow_mut().oob_mut(BUFFER)[0] = 7;
            for phase in [FlashOp::Read, FlashOp::Transfer] {
                assert_eq!(sent_through(port, reads(phase), Outcome::default()), PageCheck::Expected);
                assert_eq!(sent_through(port, request(phase), Outcome::default()), PageCheck::NotAsked);
                let lost = Outcome { status: FlashStatus::Uncorrectable, ..Outcome::default() };
                assert_eq!(sent_through(port, reads(phase), lost), PageCheck::Other);
            }
            assert_eq!(sent_through(port, reads(FlashOp::Trigger), Outcome::default()), PageCheck::NotAsked);
            pool.borrow_mut().oob_mut(BUFFER)[0] = 8;
            assert_eq!(sent_through(port, reads(FlashOp::Read), Outcome::default()), PageCheck::Other);
            let seen = Outcome { page: PageCheck::Expected, ..Outcome::default() };
            assert_eq!(
                sent_through(port, reads(FlashOp::Read), seen),
                PageCheck::Expected,
                "it was seen below"
            );
        }
    }
}
