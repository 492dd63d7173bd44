//! What FLUSH and force unit access promise: no loss of power takes it back.
//!
//! A page that is programmed can still be lost with its word line (see `unsettled`), until the line is
//! complete. Where nothing else comes to complete it, padding does.

use crate::blocks::unsettled::Safety;
use crate::drive::Drive;
use crate::terms::block::Stream;
use alloc::vec::Vec;
use aster_events::Wait;
use aster_ports::flash::Tag;
use aster_ports::host::{CommandId, HostStatus};
use aster_units::{LunIndex, Ppa};

const STREAMS: [Stream; 2] = [Stream::Host, Stream::Gc];

impl Drive {
    /// The end of a flush: waits for its other slices, and makes safe what they, and whatever came before,
    /// have written.
    ///
    /// # Errors
    /// When the log can't be told of a trim any more.
    pub(crate) async fn settle_flush(&self, command: CommandId) -> Result<(), HostStatus> {
        let others = self.flush_waiters.wait(self.exec(), || self.is_last_slice(command).then_some(()));
        self.waiting(Wait::Slices, others).await;
        let order = self.blocks.borrow().unsettled.begun();
        let unsafe_luns = |lun: &LunIndex| !self.is_safe(*lun, order);
        let luns: Vec<LunIndex> = (0..self.geometry.total_luns()).map(LunIndex).filter(unsafe_luns).collect();
        let mut begun = Vec::with_capacity(luns.len());
        for &lun in &luns {
            begun.extend(self.begin_padding(lun, Stream::Host).await);
        }
        self.padded(begun).await;
        for lun in luns {
            while !self.is_safe(lun, order) {
                // Others may have begun another line, or pages of one are still in flight.
                match self.begin_padding(lun, Stream::Host).await {
                    Some(padding) => self.padded([padding]).await,
                    // The line may have been completed, and even settled, while this one waited for the LUN's
                    // queue.
                    None if self.is_safe(lun, order) => break,
                    None => self.wait_once(&self.settle_waiters[lun.index()], Wait::WordLine).await,
                }
            }
        }
        self.log_trims().await
    }
    fn is_safe(&self, lun: LunIndex, order: u64) -> bool {
        self.blocks.borrow().unsettled.all_safe(lun, order)
    }
    /// Waits for padding that has begun.
    pub(crate) async fn padded(&self, begun: impl IntoIterator<Item = (Ppa, Tag)>) {
        for (ppa, tag) in begun {
            if self.program_done(ppa, tag).await {
                self.settle_line(ppa);
            }
        }
    }

    /// Waits until a loss of power can't undo a page that the host wrote, completing its word line where
    /// nothing else does.
    pub(crate) async fn settled(&self, ppa: Ppa) {
        let lun = {
            let blocks = self.blocks.borrow();
            blocks.lun_of(blocks.block_of(ppa))
        };
        loop {
            let safety = self.blocks.borrow().safety(ppa);
            match safety {
                Safety::Safe => return,
                Safety::Pending => self.wait_once(&self.settle_waiters[lun.index()], Wait::WordLine).await,
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
        let blocks = self.blocks.borrow();
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
