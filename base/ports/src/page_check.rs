//! The check of whose page a read brings. A flash request says which owner it expects, and its outcome says
//! whether the page was that owner's.
//!
//! A part below the translation, such as a flash scheduler that chains a DMA behind a read, goes by the
//! outcome alone. It doesn't interpret a page's OOB.

use crate::dram::SharedDram;
use aster_units::BufferId;

/// Whose a page is. What the number means is the translation's alone.
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
    /// It is the expected owner's page, and all that was asked for of it has come.
    Expected,
    /// It is not, or not all of it has come.
    Other,
}

/// Tells from the OOB bytes of a page whether it is its owner's and holds nothing that is lost.
pub type CheckPage = fn(PageOwner, oob: &[u8]) -> bool;

/// A look at pages, and the pool of buffers that they are read into.
pub(crate) struct PageChecker {
    pool: SharedDram,
    check: CheckPage,
}

impl PageChecker {
    pub(crate) fn new(pool: &SharedDram, check: CheckPage) -> Self {
        PageChecker { pool: pool.clone(), check }
    }
    /// Looks at what has been read whole into `buffer`.
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
        port.check_pages(&pool, |owner, oob| u32::from(oob[0]) == owner.0);
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
