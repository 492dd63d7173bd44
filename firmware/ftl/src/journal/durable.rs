//! What FLUSH and force unit access promise: no loss of power takes it back.
//!
//! Until its word line is complete, a page that was programmed can still be lost with it (see
//! `unsafe_programs`). If nothing else completes the line, padding does.

use crate::blocks::programmed::Programmed;
use crate::durability::unsafe_programs::Safety;
use crate::journal::append::Writer;
use crate::terms::block::{BlockState, Stream};
use alloc::vec::Vec;
use aster_ports::flash::{FlashStatus, Tag};
use aster_units::{LunIndex, Ppa};

impl Writer {
    /// Waits for a program. Returns `None` if it failed, which closes its block.
    pub(crate) async fn program_done(&self, ppa: Ppa, tag: Tag) -> Option<Programmed> {
        let outcome = self.media.done(tag).await;
        let done = outcome.status == FlashStatus::Done;
        let (ended, durable, failing, pool) = {
            let blocks = self.blocks.table();
            let block = blocks.layout.block_of(ppa);
            let ended = blocks.program_ended(ppa, !done);
            let failing = ended && blocks.states.of(block) == BlockState::Failing;
            let durable = !done && blocks.durability.block_durable(block);
            (ended, durable, failing, blocks.layout.pool_of_block(block))
        };
        if failing {
            self.health.media_changed();
        }
        if ended || durable {
            self.blocks.collection.ask(pool);
        }
        if !done {
            self.blocks.durable_changed(pool);
        }
        done.then(|| Programmed::new(ppa))
    }
    /// Waits for padding that has begun.
    pub(crate) async fn padded(&self, begun: impl IntoIterator<Item = (Ppa, Tag)>) {
        for (ppa, tag) in begun {
            if let Some(programmed) = self.program_done(ppa, tag).await {
                self.blocks.line_durable(programmed);
            }
        }
    }
    /// Waits until a loss of power can't undo a page that the host wrote. Completes its word line if nothing
    /// else does.
    pub(crate) async fn make_page_durable(&self, ppa: Ppa) {
        let (lun, pool) = {
            let layout = &self.blocks.table().layout;
            let lun = layout.lun_of_page(ppa);
            (lun, layout.pool_of(lun))
        };
        loop {
            let safety = self.blocks.table().durability.safety(ppa);
            match safety {
                Safety::Safe => return,
                Safety::Pending => self.blocks.wait_durable(pool).await,
                Safety::Open => {
                    let Some(stream) = self.stream_of_line(lun, ppa) else { return };
                    // `None` if other tasks have completed the line while this one waited for the LUN's
                    // queue.
                    if let Some(padding) = self.begin_padding(lun, stream).await {
                        self.padded([padding]).await;
                    }
                }
            }
        }
    }
    /// The stream whose line a page is in. `None` for garbage collection's: until its line is complete, the
    /// originals of the copies stay in place.
    fn stream_of_line(&self, lun: LunIndex, ppa: Ppa) -> Option<Stream> {
        let blocks = self.blocks.table();
        let is_of = |stream: &Stream| {
            let next = blocks.open.next_of_line(lun, *stream);
            next.is_some_and(|next| blocks.layout.block_of(next) == blocks.layout.block_of(ppa))
        };
        blocks.open.streams().filter(|&stream| stream != Stream::Gc).find(is_of)
    }
    /// If a stream has begun a word line in a LUN, completes it with padding.
    pub(crate) async fn pad_line(&self, lun: LunIndex, stream: Stream) {
        while let Some(padding) = self.begin_padding(lun, stream).await {
            self.padded([padding]).await;
        }
    }
    /// Begins to program a padding page in a word line that one of the host's streams has begun in a LUN.
    /// Returns `None` if none of them has begun any.
    pub(crate) async fn begin_host_padding(&self, lun: LunIndex) -> Option<(Ppa, Tag)> {
        for stream in (0..self.runtime.config.streams).map(Stream::Host) {
            let begun = self.begin_padding(lun, stream).await;
            if begun.is_some() {
                return begun;
            }
        }
        None
    }
    /// Completes the word lines that the host's streams have begun in a LUN.
    pub(crate) async fn pad_host_lines(&self, lun: LunIndex) {
        for stream in (0..self.runtime.config.streams).map(Stream::Host) {
            self.pad_line(lun, stream).await;
        }
    }
    /// Completes all word lines that have been begun. Nothing else may be in progress.
    pub(crate) async fn pad_lines(&self) {
        loop {
            let mut begun = Vec::new();
            for lun in (0..self.runtime.geometry.total_luns()).map(LunIndex) {
                for stream in self.blocks.table().open.streams() {
                    begun.extend(self.begin_padding(lun, stream).await);
                }
            }
            if begun.is_empty() {
                return;
            }
            self.padded(begun).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::table::Destination;
    use crate::durability::unsafe_programs::Change;
    use crate::terms::cause::Cause;
    use crate::terms::config::{FtlConfig, LineConfig};
    use crate::tests::bench::config;
    use crate::tests::parts::JournalAlone;
    use aster_units::{BufferId, Content, Lpn, Upa};
    use core::cell::Cell;
    use std::rc::Rc;

    const LUN: LunIndex = LunIndex(1);

    /// A journal with two pages per word line, of which the first has been programmed in a line of `stream`.
    fn half_a_line(stream: Stream) -> (JournalAlone, Ppa) {
        let config = FtlConfig {
            lines: LineConfig { pages: 2, ..config(Content::Fingerprint).lines },
            ..config(Content::Fingerprint)
        };
        let parts = JournalAlone::new(config, 8);
        parts.list_free_blocks();
        let (journal, at) = (Rc::clone(&parts.journal), Rc::new(Cell::new(Ppa::NONE)));
        let programmed = Rc::clone(&at);
        parts.exec.spawn(async move {
            let current = |_, _| true;
            let begun = journal
                .writer
                .begin_programs(Destination::Lun(LUN), stream, &[BufferId(0)], &[], current, Cause::Host)
                .await;
            let (ppa, tag) = begun.expect("there is room").first();
            let done = journal.writer.program_done(ppa, tag).await.expect("the program succeeds");
            let change = Change { lpn: Lpn(1), from: Upa::NONE, to: journal.runtime().units.first_in(ppa) };
            journal.blocks().table().durability.moved(change);
            journal.blocks().line_durable(done);
            programmed.set(ppa);
        });
        assert_eq!(parts.answer(FlashStatus::Done), 1);
        (parts, at.get())
    }
    /// Makes a page durable. Returns how many programs that took, and whether it finished.
    fn made_durable(parts: &JournalAlone, page: Ppa) -> (usize, bool) {
        let (journal, done) = (Rc::clone(&parts.journal), Rc::new(Cell::new(false)));
        let ended = Rc::clone(&done);
        parts.exec.spawn(async move {
            journal.writer.make_page_durable(page).await;
            ended.set(true);
        });
        (parts.answer(FlashStatus::Done), done.get())
    }

    #[test]
    fn padding_completes_the_line_of_a_page_that_is_to_be_durable() {
        let (parts, page) = half_a_line(Stream::Host(0));
        assert_eq!(parts.journal.blocks().table().durability.safety(page), Safety::Open);
        assert_eq!(made_durable(&parts, page), (1, true));
        assert_eq!(parts.journal.blocks().table().durability.safety(page), Safety::Safe);
        assert_eq!(parts.journal.runtime().stats().flash_programs.padding, 1);
        assert_eq!(made_durable(&parts, page), (0, true), "once is enough");
    }

    /// The originals of garbage collection's copies stay in place until the line is complete.
    #[test]
    fn a_line_of_copies_is_not_padded_for_the_host() {
        let (parts, page) = half_a_line(Stream::Gc);
        assert_eq!(made_durable(&parts, page), (0, true));
        assert_eq!(parts.journal.blocks().table().durability.safety(page), Safety::Open);
    }

    #[test]
    fn all_lines_that_are_begun_are_completed_before_a_shutdown() {
        let (parts, page) = half_a_line(Stream::Gc);
        let journal = Rc::clone(&parts.journal);
        parts.exec.spawn(async move { journal.writer.pad_lines().await });
        assert_eq!(parts.answer(FlashStatus::Done), 1);
        assert_eq!(parts.journal.blocks().table().durability.safety(page), Safety::Safe);
    }

    #[test]
    fn a_block_takes_no_more_pages_after_a_program_in_it_has_failed() {
        let (parts, page) = half_a_line(Stream::Host(0));
        let block = parts.journal.blocks().table().layout.block_of(page);
        let journal = Rc::clone(&parts.journal);
        parts.exec.spawn(async move { journal.writer.pad_line(LUN, Stream::Host(0)).await });
        assert_eq!(parts.answer(FlashStatus::Failed), 1);
        let blocks = parts.journal.blocks().table();
        assert_eq!(
            (blocks.states.of(block), blocks.open.next_of_line(LUN, Stream::Host(0))),
            (BlockState::Failing, None)
        );
        assert_eq!(blocks.durability.safety(page), Safety::Safe, "no further program can take it along");
    }
}
