//! The cache: its pages, the target below, and who waits for what.

use crate::lower::{Ended, Lower, RUN, bytes_of};
use crate::pages::{Pages, Room};
use crate::readahead::Readahead;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Recorder;
use aster_exec::{Core, Exec, HandlerId, Ring, WaitQueue};
use aster_ports::dram::SharedDram;
use aster_ports::host::{CommandPort, HostOp, HostStatus};
use aster_units::Content;
use core::cell::{Cell, RefCell};
use core::ops::Range;

/// What the cache has done since power-on.
#[derive(Default)]
pub(crate) struct Counters {
    /// Blocks of reads that the cache held, and that it lacked.
    pub(crate) hits: Cell<u64>,
    pub(crate) misses: Cell<u64>,
    /// Blocks read ahead.
    pub(crate) read_ahead: Cell<u64>,
    /// Blocks written back, and the runs they went in.
    pub(crate) written_back: Cell<u64>,
    pub(crate) runs: Cell<u64>,
    /// Writes that waited until fewer pages were dirty.
    pub(crate) throttled: Cell<u64>,
}

pub(crate) fn count(counter: &Cell<u64>, by: u64) {
    counter.set(counter.get() + by);
}

/// What pages are to be written back for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Goal {
    /// Versions up to this number, since somebody waits for them or they are old.
    pub(crate) up_to: u64,
    /// Some version could not be written back, and why. Nothing is tried again until the next flush.
    pub(crate) failed: Option<HostStatus>,
}

/// Commands that are being served, for one that must be alone.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) closed: bool,
    pub(crate) inside: u32,
}

/// The cache at work.
pub(crate) struct Cache {
    pub(crate) exec: Exec,
    pub(crate) core: Core,
    pub(crate) commands: Rc<CommandPort>,
    pub(crate) command_cycles: u64,
    /// Page buffers for the data of commands, one for each worker.
    pub(crate) buffers: SharedDram,
    pub(crate) content: Content,
    pub(crate) lower: Rc<Lower>,
    /// Blocks of the drive.
    pub(crate) blocks: u32,
    /// Write-back begins when more pages than this are dirty.
    pub(crate) background: usize,
    /// Writers wait while more than this are.
    pub(crate) limit: usize,
    pub(crate) pages: RefCell<Pages>,
    pub(crate) readers: RefCell<Readahead>,
    /// Runs to read ahead.
    pub(crate) ahead: Ring<Range<u32>>,
    pub(crate) goal: Cell<Goal>,
    pub(crate) gate: RefCell<Gate>,
    /// Writers take turns: the next number to give out, and the one whose turn it is.
    pub(crate) turns: (Cell<u64>, Cell<u64>),
    /// Blocks that the target is told to zero or deallocate. Nobody writes them meanwhile.
    pub(crate) locked: RefCell<Vec<Range<u32>>>,
    pub(crate) timer: Cell<Option<HandlerId>>,
    pub(crate) is_timed: Cell<bool>,
    pub(crate) counters: Counters,
    pub(crate) recorder: Recorder,
    /// Those who wait for pages: read, replaceable or clean.
    pub(crate) changed: WaitQueue,
    /// Those who write pages back.
    pub(crate) work: WaitQueue,
    pub(crate) gates: WaitQueue,
}

impl Cache {
    /// Pages have been read or written back.
    pub(crate) fn tell(&self) {
        self.changed.wake_all(&self.exec);
    }

    /// Reads a run, whose pages are being read, and takes what comes. If it can't be read, the pages of the
    /// run are forgotten.
    pub(crate) async fn read_run(&self, run: Range<u32>) -> Ended {
        let under_way = self.lower.read(run.clone()).await;
        let len = self.content.sector_len();
        let take = |data: &[u8]| {
            let mut pages = self.pages.borrow_mut();
            for (block, data) in run.clone().zip(data.chunks_exact(len)) {
                pages.end_read(block, data);
            }
        };
        let ended = self.lower.end(under_way, take).await;
        if ended.is_err() {
            let mut pages = self.pages.borrow_mut();
            run.for_each(|block| pages.fail_read(block));
        }
        self.tell();
        ended
    }
    /// Takes pages for the blocks of a range that the cache lacks, as far as there are pages: the first run
    /// of them.
    pub(crate) fn begin_run(&self, blocks: Range<u32>) -> Option<Range<u32>> {
        let mut pages = self.pages.borrow_mut();
        let first = blocks.clone().find(|&block| !pages.knows(block))?;
        let end = blocks.end.min(first + RUN);
        let taken = (first..end).take_while(|&block| pages.begin_read(block) == Room::Taken).count();
        (taken > 0).then_some(first..first + taken as u32)
    }

    /// Writes a run back, whose pages are dirty.
    pub(crate) async fn write_run(&self, run: Range<u32>) -> Ended {
        let len = self.content.sector_len();
        let (offset, length) = bytes_of(&run);
        let count_of = (run.end - run.start) as usize;
        let under_way = {
            // The slot comes first: pages may change until then.
            let mut held = vec![0; count_of * len];
            self.pages.borrow_mut().begin_write(run.clone(), &mut held);
            let fill = move |data: &mut [u8]| data[..held.len()].copy_from_slice(&held);
            self.lower.send(HostOp::Write, offset, length, false, fill).await
        };
        let ended = self.lower.end(under_way, |_| ()).await;
        count(&self.counters.runs, 1);
        match ended {
            Ok(()) => count(&self.counters.written_back, count_of as u64),
            Err((status, _)) => self.goal.set(Goal { failed: Some(status), ..self.goal.get() }),
        }
        self.pages.borrow_mut().end_write(run, ended.is_err());
        self.tell();
        self.work.wake_all(&self.exec);
        ended
    }

    /// What could not be written doesn't count any more.
    pub(crate) fn forgive(&self) {
        self.goal.set(Goal { failed: None, ..self.goal.get() });
    }
    /// An error if the last version that was to be written back could not be.
    pub(crate) fn writable(&self) -> Ended {
        self.goal.get().failed.map_or(Ok(()), |status| Err((status, None)))
    }
}
