//! The state of recovery.

use crate::blocks::pool::BlockPool;
use crate::checkpoint::error::BootError;
use crate::checkpoint::state::Checkpoint;
use crate::journal::state::Journal;
use crate::mapping::Mapping;
use crate::mapping::mapped::Mapped;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use aster_parties::Prefill;
use core::cell::{Cell, RefCell};

/// Finds the drive's state on NAND at power-on.
pub(crate) struct Recovery<M: Mapping> {
    pub(super) boot_error: RefCell<Option<BootError>>,
    pub(super) checkpoint: Rc<Checkpoint<M>>,
    pub(super) mapping: Rc<Mapped<M>>,
    pub(super) journal: Rc<Journal>,
    pub(super) blocks: Rc<BlockPool>,
    pub(super) media: Rc<Media>,
    pub(super) pages: Rc<PageBuffers>,
    pub(super) runtime: Rc<Runtime>,
    /// What a fresh drive is filled with.
    pub(super) prefill: RefCell<Option<Prefill>>,
    /// The share that is done of it, while that is under way.
    pub(super) filled: Cell<Option<f64>>,
}

impl<M: Mapping> Recovery<M> {
    pub(crate) fn new(checkpoint: &Rc<Checkpoint<M>>, prefill: Option<Prefill>) -> Self {
        Recovery {
            boot_error: RefCell::new(None),
            checkpoint: Rc::clone(checkpoint),
            mapping: Rc::clone(&checkpoint.mapping),
            journal: Rc::clone(&checkpoint.journal),
            blocks: Rc::clone(checkpoint.journal.blocks()),
            media: Rc::clone(checkpoint.journal.media()),
            pages: Rc::clone(checkpoint.journal.pages()),
            runtime: Rc::clone(checkpoint.journal.runtime()),
            prefill: RefCell::new(prefill),
            filled: Cell::new(None),
        }
    }
    /// The share that is done of filling the drive, while that is under way.
    pub(crate) fn filled_share(&self) -> Option<f64> {
        self.filled.get()
    }
    /// Why the drive could not boot.
    pub(crate) fn boot_error(&self) -> Option<BootError> {
        self.boot_error.borrow().clone()
    }
}
