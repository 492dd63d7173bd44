//! What FLUSH and force unit access promise: no loss of power takes it back.
//!
//! A page that is programmed can still be lost with its word line (see `unsafe_programs`), until the line is
//! complete. Where nothing else comes to complete it, padding does.

use crate::blocks::unsafe_programs::Safety;
use crate::journal::state::Journal;
use crate::terms::block::{BlockState, Stream};
use alloc::vec::Vec;
use aster_ports::flash::{FlashStatus, Tag};
use aster_units::{LunIndex, Ppa};

const STREAMS: [Stream; 2] = [Stream::Host, Stream::Gc];

impl Journal {
    /// Waits for a program; a failed one closes its block. True when it succeeded: then `Mapped::moved` or
    /// `BlockPool::line_durable` must follow at once.
    pub(crate) async fn program_done(&self, ppa: Ppa, tag: Tag) -> bool {
        let outcome = self.media.done(tag).await;
        let done = outcome.status == FlashStatus::Done;
        let (ended, durable, failing, lun) = {
            let mut blocks = self.blocks.table_mut();
            let block = blocks.block_of(ppa);
            let ended = blocks.program_ended(ppa, !done);
            let failing = ended && blocks.state(block) == BlockState::Failing;
            (ended, !done && blocks.block_durable(block), failing, blocks.lun_of(block))
        };
        if failing {
            self.media_changed();
        }
        if ended || durable {
            self.blocks.ask_collector(lun);
        }
        if !done {
            self.blocks.durable_changed(lun);
        }
        done
    }
    /// Waits for padding that has begun.
    pub(crate) async fn padded(&self, begun: impl IntoIterator<Item = (Ppa, Tag)>) {
        for (ppa, tag) in begun {
            if self.program_done(ppa, tag).await {
                self.blocks.line_durable(ppa);
            }
        }
    }
    /// Waits until a loss of power can't undo a page that the host wrote, completing its word line where
    /// nothing else does.
    pub(crate) async fn make_page_durable(&self, ppa: Ppa) {
        let lun = {
            let blocks = self.blocks.table();
            blocks.lun_of(blocks.block_of(ppa))
        };
        loop {
            let safety = self.blocks.table().safety(ppa);
            match safety {
                Safety::Safe => return,
                Safety::Pending => self.blocks.wait_durable(lun).await,
                Safety::Open if !self.is_hosts_line(lun, ppa) => return,
                // `None` when others have completed the line while this one waited for the LUN's queue.
                Safety::Open => {
                    if let Some(padding) = self.begin_padding(lun, Stream::Host).await {
                        self.padded([padding]).await;
                    }
                }
            }
        }
    }
    /// False for garbage collection's own line: what it copies stays where it was until that is complete.
    fn is_hosts_line(&self, lun: LunIndex, ppa: Ppa) -> bool {
        let blocks = self.blocks.table();
        let next = blocks.next_of_line(lun, Stream::Host);
        next.is_some_and(|next| blocks.block_of(next) == blocks.block_of(ppa))
    }
    /// Completes the word line that a stream has begun in a LUN, if any, with padding.
    pub(crate) async fn pad_line(&self, lun: LunIndex, stream: Stream) {
        while let Some(padding) = self.begin_padding(lun, stream).await {
            self.padded([padding]).await;
        }
    }
    /// Completes all word lines that are begun. Nothing else may be in work.
    pub(crate) async fn pad_lines(&self) {
        loop {
            let mut begun = Vec::new();
            for lun in (0..self.geometry.total_luns()).map(LunIndex) {
                for stream in STREAMS {
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
