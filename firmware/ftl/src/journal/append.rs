//! Programs and erases, all of which the log has to account for. A program goes to the next page of an open
//! block. The first change after power-on marks the root record as outdated.

use crate::blocks::pool::BlockPool;
use crate::blocks::table::{Destination, Next};
use crate::journal::due::Due;
use crate::journal::health::Health;
use crate::journal::record::RootRecord;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::terms::block::Stream;
use crate::terms::cause::Cause;
use crate::terms::runtime::Runtime;
use crate::terms::sizes::PAGES_PER_WORD_LINE_MAX;
use crate::terms::units::Units;
use alloc::rc::Rc;
use aster_events::Wait;
use aster_ports::flash::{Outcome, Tag};
use aster_units::{BlockAddr, BufferId, Lpn, LunIndex, Ppa, Upa};

/// Programs of consecutive pages that have begun together: one page or a whole word line.
pub(crate) struct Programs {
    first: Ppa,
    tags: [Option<Tag>; PAGES_PER_WORD_LINE_MAX],
    // How many of them hold data; the others are padding.
    data: usize,
}

impl Programs {
    #[inline]
    fn all(&self) -> impl Iterator<Item = (Ppa, Tag)> + use<> {
        let first = self.first.0;
        (first..).zip(self.tags).map_while(|(page, tag)| Some((Ppa(page), tag?)))
    }
    /// Pages that hold data, in the order in which their buffers were given.
    #[inline]
    pub(crate) fn data(&self) -> impl Iterator<Item = (Ppa, Tag)> + use<> {
        self.all().take(self.data)
    }
    /// The page that holds the first data.
    pub(crate) fn first(&self) -> (Ppa, Tag) {
        (self.first, self.tags[0].expect("programs that have begun are one at least"))
    }
    /// Pages that complete the line. The caller waits for the data first and for these, with
    /// [`Writer::padded`], afterwards.
    pub(crate) fn padding(&self) -> impl Iterator<Item = (Ppa, Tag)> + use<> {
        self.all().skip(self.data)
    }
}

/// The result of an attempt to begin programs.
enum Begun {
    Programs(Programs),
    NotFreeListed,
    NoRoom,
}

/// Programs and erases blocks. Tells the block table about each, and sees to it that the log is written in
/// time.
pub(crate) struct Writer {
    pub(super) runtime: Rc<Runtime>,
    pub(super) pages: Rc<PageBuffers>,
    pub(super) media: Rc<Media>,
    pub(super) blocks: Rc<BlockPool>,
    pub(super) root: Rc<RootRecord>,
    pub(super) due: Rc<Due>,
    pub(super) health: Rc<Health>,
}

impl Writer {
    /// Begins to program the next pages of an open block there from the buffers in `from`, one per page, and
    /// at most as many as begin together. If whole lines are programmed, padding completes them. For each
    /// slot of each buffer `copies` has the logical unit that it copies and the place that it comes from. A
    /// unit that isn't `is_current` any more is removed from the page's record, so that no loss of power
    /// brings it back. Nothing may happen between the choice of the pages and their submission. Returns
    /// `None` if there is no room.
    pub(crate) async fn begin_programs(
        &self,
        to: Destination,
        stream: Stream,
        from: &[BufferId],
        copies: &[(Lpn, Upa)],
        is_current: impl Fn(Lpn, Upa) -> bool,
        cause: Cause,
    ) -> Option<Programs> {
        self.runtime.core.settle().await;
        loop {
            let tried = self.media.queued(|| self.try_programs(to, stream, from, copies, &is_current));
            let begun = self.runtime.waiting(Wait::FlashQueue, tried).await;
            match begun {
                Begun::Programs(programs) => {
                    for at in 0..programs.all().count() {
                        self.count_program(if at < from.len() { cause } else { Cause::Padding });
                    }
                    self.due.after_program(self.blocks.table().layout.lun_of_page(programs.first));
                    return Some(programs);
                }
                Begun::NotFreeListed => self.due.next_log_page().await,
                Begun::NoRoom => return None,
            }
        }
    }
    /// As [`Writer::begin_programs`] for one page, but only into a block that the log already lists. Returns
    /// `None` if there is none.
    pub(crate) async fn begin_in_listed_block(&self, lun: LunIndex, from: BufferId) -> Option<Programs> {
        let begin = || self.try_programs(Destination::Lun(lun), Stream::Host(0), &[from], &[], |_, _| true);
        let Begun::Programs(programs) = self.media.queued(begin).await else {
            return None;
        };
        self.count_program(Cause::Metadata);
        (1..programs.all().count()).for_each(|_| self.count_program(Cause::Padding));
        Some(programs)
    }
    fn try_programs(
        &self,
        to: Destination,
        stream: Stream,
        from: &[BufferId],
        copies: &[(Lpn, Upa)],
        is_current: impl Fn(Lpn, Upa) -> bool,
    ) -> Option<Begun> {
        let count = self.runtime.config.lines.at_once() as usize;
        let next = self.blocks.table().next_page(to, stream);
        let first = match next {
            Next::Page(first) => first,
            Next::NotFreeListed => return Some(Begun::NotFreeListed),
            Next::None => return Some(Begun::NoRoom),
        };
        if self.media.room() < count {
            return None;
        }
        // A stream may continue in the block of another one: all programs of a block have the same source.
        let source = self.blocks.table().open.filled_by(first).source();
        let padding = BufferId(self.runtime.buffers.padding());
        let per_page = self.runtime.units.per_page() as usize;
        let mut tags = [None; PAGES_PER_WORD_LINE_MAX];
        for (page, tag) in (first.0..).zip(&mut tags[..count]) {
            let nth = (page - first.0) as usize;
            let buffer = from.get(nth).copied().unwrap_or(padding);
            let copy_of = copies.get(nth * per_page..(nth + 1) * per_page).unwrap_or_default();
            let is_stale = |&(lpn, from): &(Lpn, Upa)| from.is_some() && !is_current(lpn, from);
            let stale = copy_of.iter().rev().fold(0, |all, copy| all << 1 | Units::from(is_stale(copy)));
            if stale != 0 {
                self.pages.drop_units(buffer, stale);
            }
            *tag = self.media.try_program(Ppa(page), buffer, source);
            self.blocks.take_page(Ppa(page), copy_of);
        }
        Some(Begun::Programs(Programs { first, tags, data: from.len() }))
    }
    /// Begins to program a padding page in the word line that the stream has begun in a LUN. Returns `None`
    /// if it has begun none.
    pub(crate) async fn begin_padding(&self, lun: LunIndex, stream: Stream) -> Option<(Ppa, Tag)> {
        let from = BufferId(self.runtime.buffers.padding());
        let tried = self.media.queued(|| {
            let next = self.blocks.table().open.next_of_line(lun, stream);
            let Some(ppa) = next else { return Some(None) };
            let tag = self.media.try_program(ppa, from, stream.source())?;
            self.blocks.take_page(ppa, &[]);
            Some(Some((ppa, tag)))
        });
        let begun = self.runtime.waiting(Wait::FlashQueue, tried).await;
        begun.inspect(|_| self.count_program(Cause::Padding))
    }
    #[inline]
    fn count_program(&self, cause: Cause) {
        self.root.mark_dirty();
        self.media.count_program(cause);
    }
    /// Begins to program a page of the stored map or of the log, or the padding after it.
    pub(crate) async fn begin_map_program(&self, ppa: Ppa, from: BufferId, cause: Cause) -> Tag {
        self.root.mark_dirty();
        self.media.begin_map_program(ppa, from, cause).await
    }
    /// Begins to erase a block.
    pub(crate) async fn begin_erase(
        &self,
        lun: LunIndex,
        block: BlockAddr,
        buffer: BufferId,
        cause: Cause,
    ) -> Tag {
        self.root.mark_dirty();
        self.media.begin_erase(lun, block, buffer, cause).await
    }
    /// Erases a block that is to be written again.
    pub(crate) async fn erase(&self, lun: LunIndex, block: BlockAddr, buffer: BufferId) -> Outcome {
        let tag = self.begin_erase(lun, block, buffer, Cause::Gc).await;
        self.media.done(tag).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::root::Stored;
    use crate::journal::state::Journal;
    use crate::tests::bench::config;
    use crate::tests::parts::JournalAlone;
    use aster_units::Content;
    use std::rc::Rc;

    fn is_outdated(journal: &Journal) -> bool {
        matches!(journal.root.load(), Stored::Root(root) if !root.clean)
    }

    /// No change of flash is submitted before NVRAM says that its root record is outdated.
    #[test]
    fn each_change_of_flash_marks_the_root_record_first() {
        for erases in [false, true] {
            let parts = JournalAlone::new(config(Content::Fingerprint), 8);
            let (changing, lun) = (Rc::clone(&parts.journal), LunIndex(0));
            assert!(!is_outdated(&parts.journal));
            parts.exec.spawn(async move {
                if erases {
                    changing.writer.begin_erase(lun, BlockAddr(3), BufferId(0), Cause::Gc).await;
                } else {
                    changing.writer.begin_map_program(Ppa(0), BufferId(0), Cause::Metadata).await;
                }
            });
            parts.run();
            assert_eq!(parts.journal.media().room(), 7);
            assert!(is_outdated(&parts.journal));
            let stats = parts.journal.runtime().stats();
            let counts = (stats.flash_erases.gc, stats.flash_programs.metadata);
            assert_eq!(counts, if erases { (1, 0) } else { (0, 1) });
        }
    }

    /// A stream without a listed block gets no page: instead, the log is asked to list one.
    #[test]
    fn a_program_waits_for_the_log_to_list_a_block() {
        let parts = JournalAlone::new(config(Content::Fingerprint), 8);
        let (appending, lun) = (Rc::clone(&parts.journal), LunIndex(0));
        parts.exec.spawn(async move {
            let current = |_, _| true;
            appending
                .writer
                .begin_programs(
                    Destination::Lun(lun),
                    Stream::Host(0),
                    &[BufferId(0)],
                    &[],
                    current,
                    Cause::Host,
                )
                .await;
        });
        parts.run();
        assert_eq!((parts.journal.media().room(), parts.journal.log.state().page.asked), (8, true));
    }
}
